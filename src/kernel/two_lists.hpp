// The best ranking where every candidate has one of two categories: two lists that are sorted once, and merged at any prices.
//
// A price moves all candidates of its category alike, so that they never pass one another. The ranking is the one that
// sorting gives, ties by the lower index.
#pragma once

#include "program.hpp"

namespace excalibr {

class TwoLists {
  public:
    // Sort the lists of a program; false where it has no such two.
    bool load(const ScaledProgram& program, SortScratch& scratch);

    // Make `order[:count]` the best ranking at the program's adjusted scores, of as many slots as it has.
    void best_ranking(Reals adjusted, std::size_t count, MutableIndices order, SortScratch& scratch);

  private:
    std::vector<KeyedCandidate> first_, second_;  // of each list as many as can be shown and one more, best first
    std::vector<Index> sorted_, never_shown_;
};

}  // namespace excalibr
