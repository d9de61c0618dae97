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
    std::size_t steps = 0;    // pivots, Newton steps or interior-point steps
    double operations = 0.0;  // about how many multiplications those were

    void add(const Effort& more) {
        status = more.status;
        sorts += more.sorts;
        steps += more.steps;
        operations += more.operations;
    }
};

}  // namespace excalibr
