// What is drawn from: the optimal lottery, one good ranking instead of it, or a lottery of rankings that are each good.
//
// Both alternatives start from the lottery. Its bound holds for every policy, and less what only a mix of rankings can show
// for every single one: the gap of a single ranking says how far from the best possible ranking it can be at most.
#pragma once

#include <memory>

#include "even.hpp"
#include "search.hpp"
#include "user.hpp"

namespace excalibr {

// What a single ranking can miss, as parts of a sum.
enum class Missed : int { limits = 1, relevance_loss = 2, max_deviation = 4 };

class Redrawing {
  public:
    explicit Redrawing(Watcher& watcher) : watcher_(watcher), search_(watcher), even_(watcher) {}

    // Replace the lottery of `answer` by what `draws` asks for. The solver must have made it.
    void redraw(Draws draws, Aim aim, double budget, UserSolver& solver, UserAnswer& answer);

  private:
    void to_single(Aim aim, double budget, UserSolver& solver, UserAnswer& answer);
    void to_even(UserSolver& solver, UserAnswer& answer);
    void set_program(FreePart& free, double trade_off, double steepness);
    void charge_for_cost(FreePart& free, double allowed);
    void leave_out_constants(std::size_t categories);
    void add_relevance_row(FreePart& free, double floor, double top);
    int missed(Aim aim, double budget, double floor, UserSolver& solver, const Lottery& lottery);

    Watcher& watcher_;
    SearchScratch search_;
    EvenScratch even_;
    SearchProgram program_;
    std::vector<double> gains_;
    SparseRows rows_;
    std::vector<Penalty> penalties_;
    std::unique_ptr<bool[]> hard_;
    Lottery free_lottery_, drawn_;
    double steepness_ = 1.0;
};

}  // namespace excalibr
