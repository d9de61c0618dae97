#include "packing.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace excalibr {

SparseRows pack_rows(Reals cells, std::size_t rows, std::size_t columns) {
    const auto entries = cells.size() - static_cast<std::size_t>(std::ranges::count(cells, 0.0));
    SparseRows packed{std::vector<Index>(rows + 1), std::vector<Index>(entries + 1), std::vector<double>(entries + 1)};
    Index place = 0;
    for (std::size_t row = 0; row < rows; ++row) {
        const Reals cells_of_row = cells.subspan(row * columns, columns);
        for (Index column = 0; column < columns; ++column) {
            // written always and kept if not 0: a branch would be guessed wrong for every entry
            packed.columns[place] = column;
            packed.values[place] = cells_of_row[column];
            place += cells_of_row[column] != 0.0 ? 1 : 0;
        }
        packed.starts[row + 1] = place;
    }
    packed.columns.resize(entries);
    packed.values.resize(entries);
    return packed;
}

RowSums look_over(Indices starts, Reals values) {
    RowSums sums;
    for (std::size_t row = 0; row + 1 < starts.size(); ++row) {
        double total = 0.0;
        for (const double value : values.subspan(starts[row], starts[row + 1] - starts[row])) {
            if (!(0.0 <= value && value < std::numeric_limits<double>::infinity())) sums.are_shares = false;
            total += value;
        }
        sums.off = std::max(sums.off, std::abs(total - 1.0));
    }
    return sums;
}

std::vector<double> with_sums_of_one(Indices starts, Reals values) {
    std::vector<double> divided(values.size());
    for (std::size_t row = 0; row + 1 < starts.size(); ++row) {
        double total = 0.0;
        for (Index place = starts[row]; place < starts[row + 1]; ++place) total += values[place];
        for (Index place = starts[row]; place < starts[row + 1]; ++place) divided[place] = values[place] / total;
    }
    return divided;
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
