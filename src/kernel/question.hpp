// One user's whole question, as Python checked it: views of arrays that outlive the solve.
#pragma once

#include <cmath>

#include "arrays.hpp"

namespace excalibr {

enum class Aim : int { trade_off = 0, relevance_loss = 1, max_deviation = 2 };
enum class Draws : int { lottery = 0, single = 1, even = 2 };

// What relevance and calibration count in the objective: 1 − λ and λ, or, a little inside an end of the trade-off, numbers
// that no λ can tell apart.
struct Balance {
    double relevance = 0.5, calibration = 0.5;

    static Balance of(double trade_off) { return {1.0 - trade_off, trade_off}; }
};

// Candidate i has the score `scores[i]` and is the row `items[i]` of the table of category shares.
struct Question {
    Reals scores;
    Indices items;
    SparseView table;
    Reals low, high;         // (r,) the band that this page should keep to, without what was shown before
    Reals weights;           // (r,) what a unit of deviation of each category costs, against 1 in the paper
    Reals base;              // (r,) what was shown before, in units of this page; empty for nothing
    Reals floors, caps;      // (r,) hard limits of expected shares, −∞ and ∞ for none; empty for none at all
    double smoothing = 0.0;  // 0 for L1, Steck's α for KL
    Reals item_prices;       // by row of the table, subtracted from the gains whatever the trade-off; empty for none
    std::span<const unsigned char> unavailable;   // (n,) who must not be shown; empty for nobody
    Indices pinned_slots, pinned_candidates;      // which candidate keeps which slot
    std::span<const std::int32_t> group_of_item;  // group of each row of the table, −1 for none; empty for none at all
    Indices group_limits;                         // how many of each group a ranking may have
    Reals position_weights;                       // (k,) sums to 1
    double trade_off = 0.5;

    // Whether all numbers are numbers, and none is larger: what is made of them must not overflow.
    bool is_bounded(double most) const {
        for (const Reals numbers : {scores, low, high, weights, base})
            for (const double number : numbers)
                if (!(std::abs(number) <= most)) return false;
        return true;
    }

    std::size_t n() const { return scores.size(); }
    std::size_t r() const { return low.size(); }
    std::size_t k() const { return position_weights.size(); }
};

}  // namespace excalibr
