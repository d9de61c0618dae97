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

SparseRows sums_by_user(const SparseView& rows, std::size_t columns, Reals weights, Indices starts) {
    SparseRows sums{{0}, {}, {}};
    std::vector<double> sum_of(columns, 0.0);
    std::vector<unsigned char> is_met(columns, 0);
    for (std::size_t user = 0; user + 1 < starts.size(); ++user) {
        const std::size_t before = sums.columns.size();
        for (Index row = starts[user]; row < starts[user + 1]; ++row)
            for (Index entry = rows.starts[row]; entry < rows.starts[row + 1]; ++entry) {
                const Index column = rows.columns[entry];
                if (!is_met[column]) sums.columns.push_back(column);
                is_met[column] = 1;
                sum_of[column] += weights[row] * rows.values[entry];
            }
        std::sort(sums.columns.begin() + static_cast<std::ptrdiff_t>(before), sums.columns.end());
        for (std::size_t met = before; met < sums.columns.size(); ++met) {
            sums.values.push_back(sum_of[sums.columns[met]]);
            sum_of[sums.columns[met]] = 0.0;
            is_met[sums.columns[met]] = 0;
        }
        sums.starts.push_back(static_cast<Index>(sums.columns.size()));
    }
    return sums;
}

namespace {

// The sum of the columns from `first` to `first` + `size` − 1 of a row that has these entries.
double sum_as_dense(Indices columns, Reals values, Index first, Index size) {
    constexpr Index lanes = 8, longest = 128;
    if (columns.empty()) return 0.0;
    if (size > longest) {
        const Index half = size / 2 - size / 2 % lanes;
        const auto split = static_cast<std::size_t>(std::ranges::lower_bound(columns, first + half) - columns.begin());
        return sum_as_dense(columns.first(split), values.first(split), first, half) +
               sum_as_dense(columns.subspan(split), values.subspan(split), first + half, size - half);
    }
    const Index whole = size < lanes ? 0 : size - size % lanes;
    double sums[lanes] = {};
    std::size_t at = 0;
    for (; at < columns.size() && columns[at] - first < whole; ++at) sums[(columns[at] - first) % lanes] += values[at];
    double sum = ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
    for (; at < columns.size(); ++at) sum += values[at];
    return sum;
}

}  // namespace

SparseRows shares_of_rows(const SparseView& rows, std::size_t columns, double negligible) {
    SparseRows shares{{0}, {}, {}};
    const auto size = static_cast<Index>(columns);
    for (std::size_t row = 0; row + 1 < rows.starts.size(); ++row) {
        const Index first = rows.starts[row], last = rows.starts[row + 1], before = shares.starts.back();
        const Indices own = rows.columns.subspan(first, last - first);
        const double sum = sum_as_dense(own, rows.values.subspan(first, last - first), 0, size);
        for (Index entry = first; entry < last; ++entry) {
            if (rows.values[entry] == 0.0 || rows.values[entry] < negligible * sum) continue;
            shares.columns.push_back(rows.columns[entry]);
            shares.values.push_back(rows.values[entry]);
        }
        const Reals left = Reals(shares.values).subspan(before);
        const double kept = sum_as_dense(Indices(shares.columns).subspan(before), left, 0, size);
        for (std::size_t at = before; at < shares.values.size(); ++at) shares.values[at] /= kept;
        shares.starts.push_back(static_cast<Index>(shares.columns.size()));
    }
    return shares;
}

}  // namespace excalibr
