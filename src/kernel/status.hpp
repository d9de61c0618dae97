// How a solve ended, and what it took.
#pragma once

#include <cstddef>

namespace excalibr {

enum class Status : int {
    converged = 0,    // the gap that was asked is proven
    sorts_spent = 1,  // the cap on sorts was reached first
    stalled = 2,      // no more progress: rounding is in the way
};

struct Effort {
    Status status = Status::stalled;
    std::size_t sorts = 0;
    std::size_t steps = 0;  // pivots, Newton steps or interior-point steps

    // About how many multiplications that was, where a program has so many rows: a step factorises a matrix of them.
    double operations(std::size_t rows) const {
        const double size = static_cast<double>(rows);
        return static_cast<double>(steps) * size * size * size;
    }

    void add(const Effort& more) {
        status = more.status;
        sorts += more.sorts;
        steps += more.steps;
    }
};

}  // namespace excalibr
