// Every ranking tried: a depth-first walk in which each rank takes each candidate in turn.
#pragma once

#include "effort.hpp"
#include "search_program.hpp"

namespace excalibr {

// What the walk keeps of each depth d: the candidate that stands there, and shares and gain of the ranks before it.
struct ExhaustiveScratch {
    std::vector<Index> chosen, group_counts;
    std::vector<bool> used;
    std::vector<double> gains;
    Matrix shares;
};

// Whether there are at most so many rankings of k out of n candidates.
bool few_rankings(std::size_t n, std::size_t k, std::uint64_t most);

// Make `best` (by rank) the best ranking that the groups allow, the first one in a tie, and return its value. Where they
// allow none that is −∞, and `best` holds the first candidates. Where the watcher stops it, the best so far.
double best_of_all(const RankedProgram& program, MutableIndices best, ExhaustiveScratch& scratch, Watcher& watcher);

}  // namespace excalibr
