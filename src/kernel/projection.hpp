// The permutohedron of the position weights: the set of exposures of lotteries over rankings, and projecting on it.
//
// Its faces are ordered partitions of the candidates into blocks: a block of g candidates shares the weights of g
// neighbouring ranks, and only inside a block can rankings differ.
#pragma once

#include "arrays.hpp"

namespace excalibr {

// The blocks of a point: block b has the ranks `starts[b]` to `starts[b + 1]` − 1 of an order of the candidates.
struct Blocks {
    std::vector<Index> starts;
    std::vector<double> means, sums;
    std::size_t count = 0;
    std::vector<Index> pooled_blocks;  // those of more than one candidate: few, and what is left to work on
    std::size_t pooled_count = 0;

    Indices pooled() const { return std::span(pooled_blocks).first(pooled_count); }
    void resize(std::size_t n) {
        starts.resize(n + 1);
        pooled_blocks.resize(n + 1);
        means.resize(n);
        sums.resize(n);
    }
};

// Project `point`, sorted by `order` (largest first), on the permutohedron: fills `blocks` and the `exposure` of the
// candidates in `order`. The last block has the last rank that is seen, and who comes after it has no exposure.
void project(Reals point, Reals slots, Indices order, Blocks& blocks, MutableReals exposure);

}  // namespace excalibr
