// The greedy baselines: one candidate at a time, by a value that leaves out what is the same for all of a step.
//
// Two values within `greedy_tie` of each other, relative to the size of what is compared, are a tie, and ties go to the
// lower index: rounding then cannot decide between candidates that are equal.
#pragma once

#include "arrays.hpp"

namespace excalibr {

inline constexpr double greedy_tie = 1e-12;             // part of the methods' definition: docs of `baselines.greedy`
inline constexpr double negligible_target = 1e-300;     // a target below it counts as 0: a ratio to it could overflow

struct CalibratedGreedy {
    Reals gains;                 // (1 − λ)·s of all candidates
    SparseView rows;             // their memberships
    Reals target;                // q
    Reals weights;               // of the slots, heaviest first
    double trade_off = 0.0;      // λ
    double smoothing = 0.0;      // α > 0
    bool projected = false;      // whether unfilled slots are taken to match the target, or left out of the shares
};

// Select, by gain and smoothed KL, one of the `candidates` (in rising order) for each slot in turn.
std::vector<Index> calibrated_order(Indices candidates, const CalibratedGreedy& question);

// Select `slots` candidates in turn, by gain − λ·(largest overlap of memberships with one chosen before).
std::vector<Index> marginal_order(Reals gains, const SparseView& rows, std::size_t categories, std::size_t slots,
                                  double trade_off);

}  // namespace excalibr
