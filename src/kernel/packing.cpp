#include "packing.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace excalibr {
namespace {

constexpr std::size_t block = 4;      // cells that are passed over together when all are 0, as most are
constexpr std::size_t stretch = 512;  // cells that are looked at together, whichever rows they are of

bool is_zero(std::uint64_t bits) { return bits << 1 == 0; }  // without the sign: −0 is 0

bool all_zero(std::span<const double, block> cells) {
    std::uint64_t bits = 0;
    for (const double cell : cells) bits |= std::bit_cast<std::uint64_t>(cell);
    return is_zero(bits);
}

using Places = std::array<Index, stretch + 1>;  // one more than cells, as the last one written may not count

// List where the non-zeros of a stretch are; returns how many. Places are written always and kept if they count, as a branch
// for each would be guessed wrong: first those of blocks that are not all 0, then those of cells.
std::size_t list_non_zeros(Reals cells, Places& places) {
    std::array<Index, stretch / block + 1> blocks;
    const std::size_t whole = cells.size() - cells.size() % block;
    std::size_t filled = 0, count = 0;
    for (std::size_t at = 0; at < whole; at += block) {
        blocks[filled] = static_cast<Index>(at);
        filled += all_zero(cells.subspan(at).first<block>()) ? 0 : 1;
    }
    for (std::size_t each = 0; each < filled; ++each) {
        const double* const first = cells.data() + blocks[each];
        for (std::size_t at = 0; at < block; ++at) {
            places[count] = blocks[each] + static_cast<Index>(at);
            count += is_zero(std::bit_cast<std::uint64_t>(first[at])) ? 0 : 1;
        }
    }
    for (std::size_t at = whole; at < cells.size(); ++at) {
        places[count] = static_cast<Index>(at);
        count += is_zero(std::bit_cast<std::uint64_t>(cells[at])) ? 0 : 1;
    }
    return count;
}

}  // namespace

SparseRows pack_rows(Reals cells, std::size_t rows, std::size_t columns) {
    SparseRows packed{std::vector<Index>(rows + 1), {}, {}, std::vector<double>(rows)};
    const std::size_t likely = std::min(3 * rows, cells.size());  // most rows have one to three entries
    packed.columns.reserve(likely);
    packed.values.reserve(likely);
    Places places;
    for (std::size_t first = 0; first < cells.size(); first += stretch) {
        const std::size_t before = packed.values.size();
        const std::size_t count = list_non_zeros(cells.subspan(first, std::min(stretch, cells.size() - first)), places);
        packed.columns.resize(before + count);
        packed.values.resize(before + count);
        for (std::size_t each = 0; each < count; ++each) {
            const Index cell = static_cast<Index>(first) + places[each], row = cell / static_cast<Index>(columns);
            packed.columns[before + each] = cell - row * static_cast<Index>(columns);
            packed.values[before + each] = cells[cell];
            packed.starts[row + 1] = static_cast<Index>(before + each + 1);
            packed.sums[row] += cells[cell];
        }
    }
    for (std::size_t row = 0; row < rows; ++row)  // a row without entries ends where the one before it does
        packed.starts[row + 1] = std::max(packed.starts[row + 1], packed.starts[row]);
    return packed;
}

std::vector<double> exposure_of(Indices rankings, Reals weights, Reals position_weights, std::size_t n) {
    std::vector<double> exposure(n);
    const std::size_t slots = position_weights.size();
    for (std::size_t ranking = 0; ranking < weights.size(); ++ranking)
        for (std::size_t slot = 0; slot < slots; ++slot)
            exposure[rankings[ranking * slots + slot]] += weights[ranking] * position_weights[slot];
    return exposure;
}

std::vector<double> shares_of(const SparseView& rows, std::size_t categories, Reals exposure) {
    std::vector<double> shares(categories);
    for (std::size_t row = 0; row < exposure.size(); ++row)
        for (Index place = rows.starts[row]; place < rows.starts[row + 1]; ++place)
            shares[rows.columns[place]] += rows.values[place] * exposure[row];
    return shares;
}

}  // namespace excalibr
