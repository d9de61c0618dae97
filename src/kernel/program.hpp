// One user's program, as it was asked and in the units that the engines work in.
//
//   maximise  c·x − Σ_j φ_j((Aᵀx)_j)   over the exposures x of lotteries over rankings
//
// with gains c, category shares A, a penalty φ_j a category (penalty.hpp) and position weights e.
#pragma once

#include "arrays.hpp"
#include "order.hpp"
#include "penalty.hpp"

namespace excalibr {

// As asked, with everything that is pinned or was shown before taken out.
struct Program {
    std::vector<double> gains;             // c, (n,)
    std::vector<double> scores;            // (n,) less the best: relevance, whatever the gains count it for; empty if unknown
    SparseRows rows;                       // A by candidates
    std::vector<Penalty> penalties;        // (r,)
    std::vector<double> position_weights;  // e, (k,) in slot order
    std::vector<std::int32_t> group_of;    // (n,) −1 for none; empty where every ranking is allowed
    std::vector<Index> group_limits;
    std::size_t repeated_rows = 0;         // how many of the r categories are others once more, for their hard limits

    std::size_t n() const { return gains.size(); }
    std::size_t r() const { return penalties.size(); }
    std::size_t k() const { return position_weights.size(); }
    std::size_t rankings_needed() const { return r() - repeated_rows + 1; }  // a lottery never needs more (Carathéodory)
    double spread() const;  // largest gain − smallest gain
};

// The same with its best gain at 0 and gains and slopes near 1, which leaves the optimum where it is.
//
// `unit`, a power of two, is what one unit of this objective is in the program's own: dividing by it rounds nothing.
struct ScaledProgram {
    std::vector<double> gains;            // at most 0
    SparseRows rows;                      // A by candidates, categories in rising order
    SparseRows columns;                   // A by categories, candidates in rising order
    std::vector<Penalty> penalties;
    std::vector<double> lowest, highest;  // what a category's price can be
    std::vector<double> slots;            // position weights, largest first
    std::vector<Index> slot_order;        // the slots, heaviest first
    double unit = 1.0;
    double spread = 0.0;                  // −(smallest gain)
    double steepness = 0.0;               // the largest weight of a penalty, but for those that are as good as hard limits

    void load_structure(const Program& program, SortScratch& scratch);  // rows, columns and slots
    void load_objective(const Program& program, double tolerance);      // gains and penalties, for a gap of so much

    std::size_t n() const { return gains.size(); }
    std::size_t r() const { return penalties.size(); }
    std::size_t k() const { return slots.size(); }
    bool curved() const { return any_curved_; }

  private:
    bool any_curved_ = false;
};

// z = c − A·y: what each candidate is worth once its categories are paid for.
void price_adjusted_scores(const ScaledProgram& program, Reals prices, MutableReals adjusted);

// A·d: what moving the prices by d takes from each candidate's adjusted score.
void category_sums(const ScaledProgram& program, Reals changes, MutableReals sums);

// Σ_j φ_j(p_j)
double penalty_cost(std::span<const Penalty> penalties, Reals shares);

// Σ_j φ*_j(y_j), the penalties' part of the bound
double conjugate_sum(std::span<const Penalty> penalties, Reals prices);

// Σ_i e_i·z_[i] of a ranking (by rank), its part of the bound; in four running sums, as `dot`
double ranking_value(Reals slots, Reals adjusted, Indices ranking);

// Fill the category shares of one ranking (by rank) and return its value by these gains. `shares` has room for as many sums
// more: even and odd ranks are added up apart, so that no sum waits for the one just before it.
double ranking_effect(const ScaledProgram& program, Reals gains, Indices ranking, MutableReals shares);

}  // namespace excalibr
