// Small dense symmetric systems: L·D·Lᵀ without pivoting, for matrices that damping has made positive definite.
#pragma once

#include "arrays.hpp"
#include "effort.hpp"

namespace excalibr {

// Factorise the leading `size` rows of the upper triangle in place: D·Lᵀ beside the diagonal, 1/D on it. False if the watcher
// stopped it.
bool factorise(Matrix& matrix, std::size_t size, Watcher& watcher);

// Solve L·D·Lᵀ·x = right in place.
void substitute(const Matrix& factor, MutableReals right);

// Gauss–Jordan: make a column the unit vector of a row. Columns before it are left alone.
void eliminate(Matrix& matrix, std::size_t row, std::size_t column);

}  // namespace excalibr
