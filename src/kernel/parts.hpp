// What the files that bind parts of the kernel for tests share: programs and lotteries as Python gives and takes them.
#pragma once

#include "bindings.hpp"
#include "lottery.hpp"
#include "program.hpp"

namespace excalibr::bindings {

// A program with its scaled form, as the parts take it.
struct GivenProgram {
    Program program;
    ScaledProgram scaled;
};

// A lottery of the caller's: rankings of k different candidates out of n, and a weight for each.
Lottery lottery_of(const IntegerTable& rankings, const RealArray& weights, std::size_t k, std::size_t n);

// Rankings (count, k) and weights (count,).
nb::tuple to_numpy(const Lottery& lottery);

void bind_programs(nb::module_& module);  // programs, the projection, the proximal method, lotteries, certificates
void bind_masters(nb::module_& module);   // the two master programs, and each engine by itself
void bind_presolve(nb::module_& module);  // questions brought to the engines' form and back
void bind_search(nb::module_& module);    // the local search and even lotteries

}  // namespace excalibr::bindings
