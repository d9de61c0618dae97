#include "packing.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace excalibr {
namespace {

constexpr std::size_t block = 4;      // cells that are passed over together when all are 0, as most are
constexpr std::size_t stretch = 256;  // cells whose blocks are listed together

bool all_zero(std::span<const double, block> cells) {
    std::uint64_t bits = 0;
    for (const double cell : cells) bits |= std::bit_cast<std::uint64_t>(cell);
    return bits << 1 == 0;  // without the sign: −0 is 0
}

void make_room(SparseRows& packed, std::size_t entries) {
    if (entries <= packed.values.size()) return;
    packed.columns.resize(2 * entries);
    packed.values.resize(2 * entries);
}

// Written always and kept if not 0: a branch would be guessed wrong for every entry.
Index append_non_zeros(Reals cells, std::size_t first, std::size_t last, SparseRows& packed, Index place) {
    for (std::size_t column = first; column < last; ++column) {
        packed.columns[place] = static_cast<Index>(column);
        packed.values[place] = cells[column];
        place += cells[column] != 0.0 ? 1 : 0;
    }
    return place;
}

// The same for whole blocks. Those that are not all 0 are listed first: a branch for each would be guessed wrong as well.
Index append_stretch(Reals cells, std::size_t first, std::size_t last, SparseRows& packed, Index place) {
    std::array<std::size_t, stretch / block> filled;
    std::size_t count = 0;
    for (std::size_t at = first; at < last; at += block) {
        filled[count] = at;
        count += all_zero(cells.subspan(at).first<block>()) ? 0 : 1;
    }
    for (std::size_t each = 0; each < count; ++each)
        place = append_non_zeros(cells, filled[each], filled[each] + block, packed, place);
    return place;
}

}  // namespace

SparseRows pack_rows(Reals cells, std::size_t rows, std::size_t columns) {
    SparseRows packed{std::vector<Index>(rows + 1), {}, {}};
    make_room(packed, rows + columns);  // most rows have an entry or two
    Index place = 0;
    for (std::size_t row = 0; row < rows; ++row) {
        make_room(packed, place + columns);
        const Reals cells_of_row = cells.subspan(row * columns, columns);
        const std::size_t whole = columns - columns % block;
        for (std::size_t first = 0; first < whole; first += stretch)
            place = append_stretch(cells_of_row, first, std::min(first + stretch, whole), packed, place);
        place = append_non_zeros(cells_of_row, whole, columns, packed, place);
        packed.starts[row + 1] = place;
    }
    packed.columns.resize(place);
    packed.values.resize(place);
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
