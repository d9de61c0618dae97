// The rankings that column generation has found so far, and what each does. It can outlive a solve: only the objective
// depends on the trade-off, so that rankings found for one are columns for every other.
#pragma once

#include <algorithm>

#include "program.hpp"

namespace excalibr {

struct RankingPool {
    std::size_t k = 0, count = 0;
    std::vector<Index> rankings;    // by rank, one after another
    Matrix shares;                  // a row a category, so that pricing all rankings runs along memory
    std::vector<double> relevance;  // by the scores less the best one

    void reset(std::size_t slots, std::size_t categories, std::size_t capacity) {
        k = slots;
        count = 0;
        rankings.resize(capacity * slots);
        shares.resize(categories, capacity);
        relevance.resize(capacity);
        effect_.resize(2 * categories);
    }
    std::size_t capacity() const { return relevance.size(); }
    bool full() const { return count == capacity(); }
    Indices ranking(std::size_t at) const { return std::span(rankings).subspan(at * k, k); }

    // Put a ranking (by rank) in, which must have room; returns its place.
    std::size_t add(const ScaledProgram& program, Reals centred_scores, Indices ranking) {
        const std::size_t place = count++;
        std::copy_n(ranking.begin(), k, rankings.begin() + static_cast<std::ptrdiff_t>(place * k));
        relevance[place] = ranking_effect(program, centred_scores, ranking, effect_);
        for (std::size_t category = 0; category < shares.rows(); ++category) shares(category, place) = effect_[category];
        return place;
    }

    // Move a ranking to an earlier place.
    void move(std::size_t from, std::size_t to) {
        if (from == to) return;
        std::copy_n(rankings.begin() + static_cast<std::ptrdiff_t>(from * k), k,
                    rankings.begin() + static_cast<std::ptrdiff_t>(to * k));
        for (std::size_t category = 0; category < shares.rows(); ++category)
            shares(category, to) = shares(category, from);
        relevance[to] = relevance[from];
    }

  private:
    std::vector<double> effect_;
};

}  // namespace excalibr
