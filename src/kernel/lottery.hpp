// From a face of the permutohedron to a lottery of at most r + 1 rankings, heaviest first.
//
// Mixing steps lead from the ranking that sorts like a point to the point: each brings the exposures of two candidates
// nearer to each other (Hardy, Littlewood and Pólya 1934, "Inequalities", section 2.19). Played on a mixture of rankings, a
// step exchanges the two in some of them and splits one. All that a lottery does is its category shares and its relevance,
// so that rankings beyond r + 1 are superfluous (Carathéodory 1911, "Über den Variabilitätsbereich der Fourierschen
// Konstanten von positiven harmonischen Funktionen"), and the mixture is thinned whenever there are twice as many.
#pragma once

#include <algorithm>
#include <utility>
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
    explicit LotteryMaker(Watcher& watcher) : watcher_(watcher) {}

    // The best exposure as a lottery of rankings by slot, with at most `most` of them and a sum of weights of 1. Where it is
    // late, a lottery whose exposure is on the way to the best.
    void from_point(const ScaledProgram& program, const BestPoint& point, std::size_t most, Lottery& lottery);

    // Make rankings by rank a lottery by slot: at most `most` of them, heaviest first, with a sum of weights of 1. One more
    // than there are independent categories always suffices.
    void tidy(const ScaledProgram& program, const Lottery& by_rank, std::size_t most, Lottery& lottery);

    // About how many multiplications it took since this was last asked.
    double take_operations() { return std::exchange(operations_, 0.0); }

  private:
    // The taker gets this part of what the giver has more. Candidates are known by the ranks that they begin with.
    struct MixingStep {
        Index giver, taker;
        double part;
    };
    // A ranking of the mixture, with the ranks of the present giver and taker, and how much heavier the giver's slot is.
    struct Component {
        double weight, lead;
        Index giver_rank, taker_rank;
        Index settled;  // its last entry among `settled_`
    };
    // Where a candidate ends in a ranking, and the entry of the candidate that ended before.
    struct Settled {
        Index candidate, rank, before;
    };

    void plan_steps(const ScaledProgram& program, const BestPoint& point);
    void foresee(const ScaledProgram& program, const BestPoint& point);
    void take_up(Index candidate, Index& present, Index Component::* rank);
    void play(const MixingStep& step, Reals difference);
    std::size_t split(std::size_t ranking, double fraction);
    void thin_mixture();
    void write_mixture(const ScaledProgram& program, const BestPoint& point);
    std::size_t sort_by_weight();
    void thin();
    std::size_t make_basic();
    void give_away(std::size_t column, std::size_t rank);
    bool is_late(double operations) { return heeds_lateness_ && watcher_.late(operations); }

    Watcher& watcher_;

    // the mixing steps
    std::vector<MixingStep> steps_;
    std::vector<double> weight_of_rank_, exposure_;
    std::vector<Index> givers_, moved_, place_of_category_;
    Matrix foreseen_, differences_;  // of candidates, and between the two of each step

    // the mixture that they are played on
    std::vector<Component> mixture_;
    Matrix effects_;  // of each ranking: how much more relevance and shares than the point it will have after all steps
    std::vector<Settled> settled_;
    std::vector<double> alignments_;
    Lottery found_;

    // thinning
    Matrix tableau_;
    std::vector<Index> columns_;  // the ranking of each of its columns; the first ones are basic, row by row
    std::vector<double> weights_, shares_;
    std::vector<Index> order_;
    SortScratch scratch_;
    bool heeds_lateness_ = false;
    double operations_ = 0.0;
};

}  // namespace excalibr
