// Dense rows packed, and sums over rankings and rows: the small steps around a solve.
#pragma once

#include "arrays.hpp"

namespace excalibr {

// The non-zeros of a dense matrix, `cells` by rows; not-a-number counts as one.
SparseRows pack_rows(Reals cells, std::size_t rows, std::size_t columns);

// The expected position weight of each of n candidates under a lottery: row l of `rankings` has the weight weights[l].
std::vector<double> exposure_of(Indices rankings, Reals weights, Reals position_weights, std::size_t n);

// p = Aᵀx, row by row
std::vector<double> shares_of(const SparseView& rows, std::size_t categories, Reals exposure);

// Σ weight · row of each user's rows, added up in their order: user u has the rows `starts[u]` to `starts[u + 1]` − 1.
SparseRows sums_by_user(const SparseView& rows, std::size_t columns, Reals weights, Indices starts);

// Each row divided by its sum, without what is less than `negligible` of it. It is added up as numpy adds up a dense row, so
// that a target has the same bits in either form: in eight running sums for up to 128 columns, and in halves beyond.
SparseRows shares_of_rows(const SparseView& rows, std::size_t columns, double negligible);

}  // namespace excalibr
