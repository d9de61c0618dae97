// From a face of the permutohedron to a lottery of at most r + 1 rankings, heaviest first.
#pragma once

#include <algorithm>
#include <vector>

#include "program.hpp"
#include "proximal.hpp"

namespace excalibr {

// Rankings of k candidates each, one after another, and their probabilities.
struct Lottery {
    std::size_t k = 0;
    std::vector<Index> rankings;
    std::vector<double> weights;

    std::size_t size() const { return weights.size(); }
    Indices ranking(std::size_t at) const { return std::span(rankings).subspan(at * k, k); }
    void clear(std::size_t slots) {
        k = slots;
        rankings.clear();
        weights.clear();
    }
    void add(Indices ranking, double weight) {
        rankings.insert(rankings.end(), ranking.begin(), ranking.end());
        weights.push_back(weight);
    }
    // The same for a ranking that may be among them already.
    void add_or_merge(Indices ranking, double weight) {
        for (std::size_t at = 0; at < size(); ++at)
            if (std::ranges::equal(this->ranking(at), ranking)) {
                weights[at] += weight;
                return;
            }
        add(ranking, weight);
    }
};

class LotteryMaker {
  public:
    // The best exposure as a lottery of rankings by slot, with at most `most` of them and a sum of weights of 1.
    void from_point(const ScaledProgram& program, const BestPoint& point, std::size_t most, Lottery& lottery);

    // Make rankings by rank a lottery by slot: at most `most` of them, heaviest first, with a sum of weights of 1. One more
    // than there are independent categories always suffices.
    void tidy(const ScaledProgram& program, const Lottery& by_rank, std::size_t most, Lottery& lottery);

  private:
    void decompose(const ScaledProgram& program, const BestPoint& point);
    std::size_t sort_by_weight();
    void reduce(const ScaledProgram& program, std::size_t count);

    // the walk through a face
    Lottery found_;
    std::vector<double> values_, moved_;
    std::vector<Index> places_, sorted_, edges_;

    // the reduction
    std::vector<double> weights_, kept_;
    std::vector<Index> order_;
    SortScratch scratch_;
    Matrix tableau_;
    std::vector<double> shares_;
};

}  // namespace excalibr
