// What a single ranking is judged by, and the same arranged for the search.
//
//   value(Q) = c·x − charge · max(0, Σ_j φ_j(p_j) − allowance),   p = Aᵀx,   x the exposure that Q gives
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "arrays.hpp"
#include "order.hpp"
#include "penalty.hpp"
#include "tuning.hpp"

namespace excalibr {

struct SearchProgram {
    Reals gains;                           // c, (n): what a unit of exposure of each candidate is worth
    SparseView rows;                       // A, (n × r)
    std::span<const Penalty> penalties;    // φ, (r)
    Reals position_weights;                // (k), k ≤ n, non-negative, in slot order
    double charge = 1.0, allowance = 0.0;  // what is paid for each unit of penalty above the allowance
    std::span<const std::int32_t> group_of;  // (n): the group of each candidate, −1 for none; empty without limits
    Indices group_limits;                    // how many candidates of each group a ranking may have
};

// The program by rank instead of slot, the heaviest slot first, with gains counted from the best one: they are at most 0,
// so that a constant in all of them costs no precision. Views what the program viewed; the vectors keep their room.
struct RankedProgram {
    SparseView rows;
    std::span<const Penalty> penalties;
    double charge = 1.0, allowance = 0.0;
    std::span<const std::int32_t> group_of;
    Indices group_limits;
    std::vector<double> gains;
    double top_gain = 0.0;
    std::vector<double> weights;  // position weights, falling
    std::vector<Index> slot_of;   // the slot of each rank
    std::vector<Index> pair_of;   // the number of each entry's pair of category and value
    std::size_t pair_count = 0;
    std::uint64_t category_effort = 1;  // how many operations a category's cost counts as

    void reset(const SearchProgram& program, SortScratch& scratch);
    void set_gains(Reals new_gains);

    std::size_t candidates() const { return gains.size(); }
    std::size_t ranks() const { return weights.size(); }
    std::size_t categories() const { return penalties.size(); }
    bool limited() const { return !group_limits.empty(); }

    // how many operations it counts as to evaluate a candidate's categories
    std::uint64_t effort_of(Index candidate) const {
        return tuning::move_effort + category_effort * (rows.starts[candidate + 1] - rows.starts[candidate]);
    }

    // … and about how many it counts as to add up the entries of all candidates of a ranking
    std::uint64_t adding_effort() const {
        return rows.values.size() * ranks() / candidates() / tuning::entries_an_operation;
    }

    // what is charged for penalties of this sum
    double charged(double cost) const { return cost > allowance ? charge * (cost - allowance) : 0.0; }

    // how much more a ranking is worth when gains count from 0 again
    double gain_offset() const;

    void to_ranks(Indices by_slot, MutableIndices by_rank) const;
    void to_slots(Indices by_rank, MutableIndices by_slot) const;

  private:
    void number_pairs();

    std::vector<Index> first_pair_, next_pair_;
    std::vector<double> pair_values_;
};

// Make `shares` Aᵀx of a ranking that is given by rank.
void ranking_shares(const RankedProgram& program, Indices by_rank, MutableReals shares);

// What is charged for these shares.
double charge_of(const RankedProgram& program, Reals shares);

}  // namespace excalibr
