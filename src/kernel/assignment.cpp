#include "assignment.hpp"

#include <algorithm>
#include <limits>

namespace excalibr {

Indices Assignment::solve(const Matrix& costs) {
    const std::size_t size = costs.rows();
    row_prices_.assign(size + 1, 0.0);
    column_prices_.assign(size + 1, 0.0);
    row_of_.assign(size + 1, 0);
    previous_.assign(size + 1, 0);
    for (std::size_t row = 1; row <= size; ++row) augment(costs, row);
    column_of_.resize(size);
    for (std::size_t column = 1; column <= size; ++column) column_of_[row_of_[column] - 1] = static_cast<Index>(column - 1);
    return column_of_;
}

// Place one more row (from 1): Dijkstra's search in reduced costs for a free column, then a shift along the path to it.
void Assignment::augment(const Matrix& costs, std::size_t row) {
    const std::size_t size = costs.rows();
    slack_.assign(size + 1, std::numeric_limits<double>::infinity());
    reached_.assign(size + 1, 0);
    row_of_[0] = static_cast<Index>(row);
    std::size_t column = 0;
    while (row_of_[column] != 0) {
        reached_[column] = 1;
        const std::size_t from = row_of_[column];
        double step = std::numeric_limits<double>::infinity();
        std::size_t nearest = 0;
        for (std::size_t to = 1; to <= size; ++to) {
            if (reached_[to]) continue;
            const double reduced = costs(from - 1, to - 1) - row_prices_[from] - column_prices_[to];
            if (reduced < slack_[to]) {
                slack_[to] = reduced;
                previous_[to] = static_cast<Index>(column);
            }
            if (slack_[to] < step) {
                step = slack_[to];
                nearest = to;
            }
        }
        for (std::size_t to = 0; to <= size; ++to) {
            if (reached_[to]) {
                row_prices_[row_of_[to]] += step;
                column_prices_[to] -= step;
            } else {
                slack_[to] -= step;
            }
        }
        column = nearest;
    }
    for (; column != 0; column = previous_[column]) row_of_[column] = row_of_[previous_[column]];
}

}  // namespace excalibr
