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

}  // namespace excalibr::tuning
