#include "projection.hpp"

namespace excalibr {
namespace {

// Pool adjacent violators: the projection is u minus the best non-increasing fit of u − e. Invariant: the means of the
// blocks so far fall strictly.
std::size_t pool_adjacent_violators(Reals point, Reals slots, Indices order, Blocks& blocks) {
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
    return end;
}

}  // namespace

void project(Reals point, Reals slots, Indices order, Blocks& blocks, MutableReals exposure) {
    const std::size_t end = pool_adjacent_violators(point, slots, order, blocks);
    for (std::size_t block = 0; block < blocks.count; ++block) {
        const std::size_t first = blocks.starts[block], last = blocks.starts[block + 1];
        if (last == first + 1) {  // exactly its weight, without the rounding of a large point
            exposure[order[first]] = first < slots.size() ? slots[first] : 0.0;
            continue;
        }
        for (std::size_t rank = first; rank < last; ++rank) exposure[order[rank]] = point[order[rank]] - blocks.means[block];
    }
    for (std::size_t rank = end; rank < order.size(); ++rank) exposure[order[rank]] = 0.0;
}

}  // namespace excalibr
