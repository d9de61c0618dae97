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

// Pivots in fours: the rows below are read and written once for all of them, and each entry still takes them one by one.
WITH_WIDER_INSTRUCTIONS bool factorise(Matrix& matrix, std::size_t size, Watcher& watcher) {
    constexpr std::size_t together = 4;
    for (std::size_t first = 0; first < size; first += together) {
        if (watcher.stop(0.5 * static_cast<double>(together * (size - first) * (size - first)))) return false;
        const std::size_t last = std::min(first + together, size);
        double* above[together];
        double inverse[together] = {};
        for (std::size_t pivot = first; pivot < last; ++pivot) {
            double* const row = above[pivot - first] = matrix.row(pivot).data();
            for (std::size_t before = 0; before < pivot - first; ++before) {
                const double multiple = above[before][pivot] * inverse[before];
                for (std::size_t column = pivot; column < size; ++column) row[column] -= multiple * above[before][column];
            }
            inverse[pivot - first] = 1.0 / std::max(row[pivot], 1e-300);
        }
        for (std::size_t row = last; last == first + together && row < size; ++row) {
            double* const below = matrix.row(row).data();
            double multiples[together];
            for (std::size_t pivot = 0; pivot < together; ++pivot) multiples[pivot] = above[pivot][row] * inverse[pivot];
            if (multiples[0] == 0.0 && multiples[1] == 0.0 && multiples[2] == 0.0 && multiples[3] == 0.0) continue;
            for (std::size_t column = row; column < size; ++column)
                below[column] = (((below[column] - multiples[0] * above[0][column]) - multiples[1] * above[1][column]) -
                                 multiples[2] * above[2][column]) - multiples[3] * above[3][column];
        }
        for (std::size_t pivot = first; pivot < last; ++pivot) above[pivot - first][pivot] = inverse[pivot - first];
    }
    return true;
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

void eliminate(Matrix& matrix, std::size_t row, std::size_t column) {
    const MutableReals pivoted = matrix.row(row).subspan(column);
    const double scale = 1.0 / pivoted[0];
    for (double& entry : pivoted) entry *= scale;
    for (std::size_t other = 0; other < matrix.rows(); ++other) {
        const MutableReals entries = matrix.row(other).subspan(column);
        const double factor = entries[0];
        if (other == row || factor == 0.0) continue;
        for (std::size_t at = 0; at < entries.size(); ++at) entries[at] -= factor * pivoted[at];
    }
}

}  // namespace excalibr
