// The local search: rank after rank takes its best move until none has one; perturbations then leave that optimum.
//
// Everything is deterministic: ties go to the lower index, and perturbations come from a fixed sequence of their own.
#pragma once

#include "moves.hpp"

namespace excalibr {

// Make the loaded ranking a local optimum: afterwards no single move gains. A move counts only if the value computed
// anew is larger, so that the value rises at each one and the search must end. False if it ended because the state had
// spent `max_operations`: the ranking is then only no worse than it was.
bool descend(const RankedProgram& program, SearchState& state, std::uint64_t max_operations);

// Let each rank take its best replacement or swap once: most of what a descent gains for a part of its time. Ends where
// the state has spent `max_operations`.
void sweep(const RankedProgram& program, SearchState& state, std::uint64_t max_operations);

// A fixed sequence of numbers that look random (Park and Miller's generator).
class PerturbationSequence {
  public:
    // Put a candidate from outside at one rank of a ranking out of n candidates, and swap two others.
    void perturb(MutableIndices ranking, std::size_t n);

  private:
    std::uint64_t next() { return state_ = state_ * 48271 % 2147483647; }

    std::uint64_t state_ = 1;
};

}  // namespace excalibr
