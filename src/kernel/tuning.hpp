// Every constant of the kernel that is a choice and not mathematics, with its reason and what it was tried against.
//
// "Tried" figures are ratios of the mean time of streams of distinct problems, on one machine.
#pragma once

#include <cstddef>
#include <cstdint>

namespace excalibr::tuning {

// Sorting.
inline constexpr std::size_t sorting_run = 12;       // runs sorted by insertion before they are merged; 8 to 16 are alike
inline constexpr std::size_t moves_a_candidate = 8;  // insertion is given up for merging after so many moves a candidate
inline constexpr std::size_t worth_selecting = 5;    // from so many candidates a slot on, the best are selected, then sorted

// Local search.
inline constexpr std::uint64_t operations_a_move = 8;
inline constexpr std::uint64_t most_rankings_tried = 100'000;  // up to so many rankings, all of them are tried: 5 to 20 ms
inline constexpr std::size_t descents_budget = 2400;  // over k·√n, as a descent's time grows: 20 for 10 slots out of 150
inline constexpr std::size_t fewest_descents = 3, most_descents = 24;
inline constexpr double least_gain = 1e-13;  // a move must gain this part of the value, which rounding alone does not
inline constexpr std::size_t pairs_compared = 12;  // after so many other values of a category, an entry's is called new
inline constexpr std::uint64_t ranking_operations = 100'000'000;

inline constexpr double even_slack = 1e-3, even_margin = 1e-2, even_surcharge = 1e-6, even_worthwhile = 1e-7;
inline constexpr double negligible_weight = 1e-12, even_hard_tolerance = 1e-9, even_no_spread = 1e-13;
inline constexpr std::size_t even_steps_budget = 3000, even_fewest_steps = 100, even_most_steps = 150;
inline constexpr double even_step = 8.0, even_step_decay = 3.0;
inline constexpr std::size_t even_rounds = 6;
inline constexpr std::uint64_t even_operations = 100'000'000;
inline constexpr double even_entering = 1e-10, even_listing = 0.2, even_least_pivot = 1e-9, even_trifle = 1e-12;
inline constexpr double even_perturbation = 1e-3, even_stalled = 1e-14, even_singular = 1e-13;
inline constexpr std::size_t even_list_length = 8, even_refactor = 100;

}  // namespace excalibr::tuning
