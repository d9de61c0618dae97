#include "projection.hpp"

#include <algorithm>

namespace excalibr {
namespace {

// Pool adjacent violators: the projection is u minus the best non-increasing fit of u − e. Invariant: the means of the
// blocks so far fall strictly.
void pool_adjacent_violators(Reals point, Reals slots, Indices order, Blocks& blocks) {
    const MutableIndices starts = blocks.starts;
    const MutableReals means = blocks.means, sums = blocks.sums;
    std::size_t count = 0;
    std::size_t end = order.size();
    for (std::size_t rank = 0; rank < order.size(); ++rank) {
        double excess = point[order[rank]];
        if (rank < slots.size()) {
            excess -= slots[rank];
        } else if (excess < means[count - 1]) {  // and so are all that follow
            end = rank;
            break;
        }
        starts[count] = static_cast<Index>(rank);
        sums[count] = means[count] = excess;
        ++count;
        while (count > 1 && means[count - 1] >= means[count - 2]) {
            --count;
            sums[count - 1] += sums[count];
            means[count - 1] = sums[count - 1] / static_cast<double>(rank + 1 - starts[count - 1]);
        }
    }
    starts[count] = static_cast<Index>(end);
    blocks.count = count;
}

// Without a branch: which of many blocks are the few pooled ones nobody could guess.
void list_pooled(Blocks& blocks) {
    std::size_t found = 0;
    for (Index block = 0; block < blocks.count; ++block) {
        blocks.pooled_blocks[found] = block;
        found += blocks.starts[block + 1] - blocks.starts[block] > 1;
    }
    blocks.pooled_count = found;
}

}  // namespace

void project(Reals point, Reals slots, Indices order, Blocks& blocks, MutableReals exposure) {
    pool_adjacent_violators(point, slots, order, blocks);
    list_pooled(blocks);
    // who is alone has exactly its weight, without the rounding of a large point
    const std::size_t shown = std::min(slots.size(), order.size());
    for (std::size_t rank = 0; rank < shown; ++rank) exposure[order[rank]] = slots[rank];
    for (std::size_t rank = shown; rank < order.size(); ++rank) exposure[order[rank]] = 0.0;
    for (const Index block : blocks.pooled())
        for (Index rank = blocks.starts[block]; rank < blocks.starts[block + 1]; ++rank)
            exposure[order[rank]] = point[order[rank]] - blocks.means[block];
}

}  // namespace excalibr
