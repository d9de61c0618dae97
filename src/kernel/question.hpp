// One user's whole question, as Python checked it: views of arrays that outlive the solve.
#pragma once

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

// What all categories of an attribute have that the target does not list.
struct Unlisted {
    double high = 0.0;     // they may have shares from 0 to this
    double divisor = 1.0;  // of their weights
};

// Candidate i has the score `scores[i]` and is the row `items[i]` of the table of category shares.
//
// What the target says is sparse: of the categories that it lists, in rising order. Nothing here, and nothing that a solve
// needs, is as long as there are categories, but for what is the same for all users.
struct Question {
    Reals scores;
    Indices items;
    SparseView table;
    std::size_t r = 0;       // how many categories there are
    Indices listed;          // those of which the target says what this page should show, …
    Reals low, high;         // … the band to keep to, without what was shown before, …
    Reals base;              // … what was shown before, in units of this page; empty for nothing, …
    Reals divisors;          // … and what their weights are divided by; empty for 1
    std::span<const std::int64_t> ends;  // where the categories of each attribute end
    std::span<const Unlisted> unlisted;  // by attribute; empty where no share is wanted of what is not listed
    Reals weights;           // (r,) what a unit of deviation of each category costs; empty for 1, as in the paper
    Reals floors, caps;      // (r,) hard limits of expected shares, −∞ and ∞ for none; empty for none at all
    Indices floored;         // the categories whose floor is beyond rounding
    double smoothing = 0.0;  // 0 for L1, Steck's α for KL
    Reals item_prices;       // by row of the table, subtracted from the gains whatever the trade-off; empty for none
    std::span<const unsigned char> unavailable;   // (n,) who must not be shown; empty for nobody
    Indices pinned_slots, pinned_candidates;      // which candidate keeps which slot
    std::span<const std::int32_t> group_of_item;  // group of each row of the table, −1 for none; empty for none at all
    Indices group_limits;                         // how many of each group a ranking may have
    Reals position_weights;                       // (k,) sums to 1

    std::size_t n() const { return scores.size(); }
    std::size_t k() const { return position_weights.size(); }

    // The entries of a candidate's row, by their places in the table.
    std::pair<Index, Index> entries_of(Index candidate) const {
        const Index item = items[candidate];
        return {table.starts[item], table.starts[item + 1]};
    }
};

}  // namespace excalibr
