#include "linear.hpp"

#include <algorithm>

// Chosen when the module is loaded. Every entry takes the same operations in the same order, so that the bits are the same;
// a quarter off the whole solve with a hundred categories, no difference with twenty.
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__linux__) && !defined(__SANITIZE_ADDRESS__)
#define WITH_WIDER_INSTRUCTIONS __attribute__((target_clones("default", "avx2")))
#else
#define WITH_WIDER_INSTRUCTIONS
#endif

namespace excalibr {

WITH_WIDER_INSTRUCTIONS void factorise(Matrix& matrix, std::size_t size, bool right) {
    const std::size_t columns = size + right;
    for (std::size_t pivot = 0; pivot < size; ++pivot) {
        double* const above = matrix.row(pivot).data();
        const double inverse = 1.0 / std::max(above[pivot], 1e-300);
        for (std::size_t row = pivot + 1; row < size; ++row) {
            const double multiple = above[row] * inverse;
            if (multiple == 0.0) continue;
            double* const below = matrix.row(row).data();
            for (std::size_t column = row; column < columns; ++column) below[column] -= multiple * above[column];
        }
        above[pivot] = inverse;
    }
}

void substitute_back(const Matrix& factor, MutableReals solution) {
    const std::size_t size = solution.size();
    for (std::size_t row = size; row-- > 0;) {
        const Reals above = factor.row(row);
        const double known = dot(above.subspan(row + 1, size - row - 1), solution.subspan(row + 1));
        solution[row] = (above[size] - known) * above[row];
    }
}

void substitute(const Matrix& factor, MutableReals right) {
    const std::size_t size = right.size();
    for (std::size_t row = 0; row < size; ++row) {
        const Reals above = factor.row(row);
        const double value = right[row] *= above[row];
        for (std::size_t column = row + 1; column < size; ++column) right[column] -= above[column] * value;
    }
    for (std::size_t row = size; row-- > 0;) {
        const Reals above = factor.row(row);
        right[row] -= dot(above.subspan(row + 1, size - row - 1), right.subspan(row + 1)) * above[row];
    }
}

}  // namespace excalibr
