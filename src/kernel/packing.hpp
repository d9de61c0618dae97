// Sums over rankings and rows of memberships, and rows packed and looked over in one pass: the small steps around a solve.
#pragma once

#include "arrays.hpp"

namespace excalibr {

// The non-zeros of a dense matrix, `cells` by rows; not-a-number counts as one.
SparseRows pack_rows(Reals cells, std::size_t rows, std::size_t columns);

struct RowSums {
    bool are_shares = true;  // all values are finite and at least 0
    double off = 0.0;        // how far from 1 a row's sum is at most
};

RowSums look_over(Indices starts, Reals values);

// The values with every row divided by its sum.
std::vector<double> with_sums_of_one(Indices starts, Reals values);

// The expected position weight of each of n candidates under a lottery: row l of `rankings` has the weight weights[l].
std::vector<double> exposure_of(Indices rankings, Reals weights, Reals position_weights, std::size_t n);

// p = Aᵀx, row by row
std::vector<double> shares_of(const SparseView& rows, std::size_t categories, Reals exposure);

}  // namespace excalibr
