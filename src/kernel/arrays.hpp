// The few array types that every part of the kernel shares: views of what others own, and rows of sparse matrices.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace excalibr {

using Index = std::uint32_t;  // candidates, ranks, categories and entries: unsigned, so that no index can be negative

using Reals = std::span<const double>;
using Indices = std::span<const Index>;
using MutableReals = std::span<double>;
using MutableIndices = std::span<Index>;

// A sparse matrix by rows: row i has the columns `columns[starts[i]] …` in rising order, with the values beside them.
struct SparseView {
    Indices starts;
    Indices columns;
    Reals values;
};

struct SparseRows {
    std::vector<Index> starts;
    std::vector<Index> columns;
    std::vector<double> values;
    std::vector<double> sums = {};  // of each row, where they came with the packing: row by row, branches would be guessed wrong

    SparseView view() const { return {starts, columns, values}; }
};

// Some categories in rising order, each with a number.
struct ByCategory {
    std::vector<Index> categories;
    std::vector<double> values;

    void clear() {
        categories.clear();
        values.clear();
    }
    void add(Index category, double value) {
        categories.push_back(category);
        values.push_back(value);
    }
};

// A dense matrix by rows, whose room is kept from use to use.
class Matrix {
  public:
    void resize(std::size_t rows, std::size_t columns) {
        rows_ = rows;
        columns_ = columns;
        data_.resize(rows * columns);
    }
    void fill(double value) { std::fill(data_.begin(), data_.end(), value); }
    std::size_t rows() const { return rows_; }
    std::size_t columns() const { return columns_; }
    MutableReals row(std::size_t at) { return std::span(data_).subspan(at * columns_, columns_); }
    Reals row(std::size_t at) const { return std::span(data_).subspan(at * columns_, columns_); }
    double& operator()(std::size_t row, std::size_t column) { return data_[row * columns_ + column]; }
    double operator()(std::size_t row, std::size_t column) const { return data_[row * columns_ + column]; }

  private:
    std::vector<double> data_;
    std::size_t rows_ = 0, columns_ = 0;
};

// Σ a_i·b_i in four running sums that are added in pairs at the end: a stated order, the same for every instruction set.
inline double dot(Reals a, Reals b) {
    double sums[4] = {0.0, 0.0, 0.0, 0.0};
    const std::size_t size = a.size(), whole = size - size % 4;
    for (std::size_t at = 0; at < whole; at += 4)
        for (std::size_t lane = 0; lane < 4; ++lane) sums[lane] += a[at + lane] * b[at + lane];
    for (std::size_t at = whole; at < size; ++at) sums[at - whole] += a[at] * b[at];
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// The least and the most of some numbers, of which there is at least one; in four lanes, as comparing one after another
// waits for each comparison.
inline std::pair<double, double> range_of(Reals numbers) {
    double least[4], most[4];
    for (std::size_t lane = 0; lane < 4; ++lane) least[lane] = most[lane] = numbers[0];
    const std::size_t size = numbers.size(), whole = size - size % 4;
    const auto look_at = [&](std::size_t at, std::size_t lane) {
        least[lane] = numbers[at] < least[lane] ? numbers[at] : least[lane];
        most[lane] = numbers[at] > most[lane] ? numbers[at] : most[lane];
    };
    for (std::size_t at = 0; at < whole; at += 4)
        for (std::size_t lane = 0; lane < 4; ++lane) look_at(at + lane, lane);
    for (std::size_t at = whole; at < size; ++at) look_at(at, at - whole);
    return {std::min(std::min(least[0], least[1]), std::min(least[2], least[3])),
            std::max(std::max(most[0], most[1]), std::max(most[2], most[3]))};
}

}  // namespace excalibr
