// The master program of the even lottery: mix columns to the largest mean value while their expectation hardly moves.
//
//   maximise Σ_t θ_t v_t   with   Σ_t θ_t a_tj = b_j − fall_j + rise_j,   Σ_j (fall_j + rise_j) ≤ budget,
//                                 0 ≤ fall ≤ most_fall,   0 ≤ rise ≤ most_rise,
//                                 |Σ_t θ_t a_tr| ≤ room,   Σ_t θ_t = 1,   θ ≥ 0
//
// A revised primal simplex method with a dense inverse and no first phase: the first column is b itself, so that the
// present mixture keeps every bound at every moment, finished or not.
#pragma once

#include <cstdint>
#include <vector>

#include "arrays.hpp"
#include "effort.hpp"
#include "tuning.hpp"

namespace excalibr {

struct EvenBounds {
    Reals centre;                // b, (r)
    Reals most_fall, most_rise;  // (r) how far each may move; 0 where it must not
    double budget = 0.0;         // how far all may move together
    double room = 0.0;           // of the last row
};

class EvenMaster {
  public:
    explicit EvenMaster(Watcher& watcher) : watcher_(watcher) {}

    // Start anew with the column (b, 0), whose value this is.
    void reset(const EvenBounds& bounds, double value);

    // One column (r + 1) more; returns its number, counted from the first one's 0.
    std::size_t add(Reals column, double value);

    // Pivot until nothing has a reduced cost that is worth entering; false if that was not reached, because `operations`
    // came to `max_operations`, the watcher stopped it or rounding made the basis singular.
    bool optimise(std::uint64_t max_operations);

    std::size_t columns() const { return values_.size(); }
    std::size_t column_size() const { return r_ + 1; }

    // What a unit of each row is worth (r + 1), and a unit of probability.
    Reals prices() const { return std::span(prices_).first(column_size()); }
    double level() const { return prices_[r_ + 2]; }

    // v − prices·a − level: how much a unit of probability of a column would gain.
    double reduced_cost(Reals column, double value) const { return value - level() - dot(prices(), column); }

    // The probabilities of all columns; at most r + 3 of them are above 0.
    void weights(MutableReals weights) const;

    std::uint64_t operations = 0;  // the effort so far, in the local search's operations
    std::uint64_t pivots = 0;

  private:
    // A variable is a column t ≥ 0, or −1 − q for slack q: 2·j is the fall of row j and 2·j + 1 its rise; then come
    // room − (the last row), which is at most 2·room, and what is left of the budget. All are at least 0.
    using Variable = std::int32_t;
    struct Slack {
        double most = 0.0;
        bool basic = false, at_most = false;
    };
    struct Entering {
        Variable variable = 0;
        double direction = 1.0;
        double reduced_cost = 0.0;
    };
    static Variable variable_of(std::size_t slack) { return -1 - static_cast<Variable>(slack); }
    static std::size_t slack_of(Variable variable) { return static_cast<std::size_t>(-1 - variable); }

    // Equations: r rows, the last row, the budget, Σθ = 1.
    std::size_t budget_row() const { return r_ + 1; }
    std::size_t equations() const { return r_ + 3; }
    bool moves_share(std::size_t slack) const { return slack < 2 * r_; }
    std::size_t row_of(std::size_t slack) const { return moves_share(slack) ? slack / 2 : slack - r_; }
    double sign_of(std::size_t slack) const { return moves_share(slack) && slack % 2 == 1 ? -1.0 : 1.0; }
    double most(Variable variable) const;
    Reals column(std::size_t at) const { return std::span(entries_).subspan(at * column_size(), column_size()); }

    void count_effort(std::uint64_t multiplied) { operations += multiplied / tuning::multiplications_an_operation; }
    void set_right_sides(const EvenBounds& bounds);
    void take_first_basis();
    void list_best();
    Entering best_entering(bool first) const;
    double slack_reduced_cost(std::size_t slack) const;
    bool pivot(const Entering& entering);
    void compute_direction(const Entering& entering);
    void add_slack_column(std::size_t slack, double factor, MutableReals target) const;
    std::size_t leaving_place(double& length) const;
    double room_of(std::size_t place) const;
    void exchange(std::size_t leaving, const Entering& entering);
    bool refactorise();
    void fill_basis_matrix();
    bool invert_work();
    void compute_levels();
    void settle_levels();
    void clamp(MutableReals levels) const;
    double compute_residual(Reals levels);
    void take_slack(std::size_t slack, double level);
    void compute_prices();
    bool stalled() const { return stalled_ > equations(); }

    Watcher& watcher_;
    std::size_t r_ = 0;
    std::vector<double> right_;        // the equations' right-hand sides
    std::vector<double> entries_;      // the columns, one after another
    std::vector<double> values_;       // of each column
    std::vector<bool> basic_;          // whether a column is basic
    std::vector<Slack> slacks_;
    std::vector<Variable> basis_;      // the variable at each place of the basis
    std::vector<double> levels_;       // the basic variables' values
    std::vector<double> prices_;       // of each equation
    std::vector<double> direction_;    // how fast each basic variable falls as the entering one moves
    std::vector<double> residual_;     // of each equation, at the levels
    std::vector<double> reduced_;      // of each column, when all were priced last
    std::vector<std::size_t> listed_;  // the columns that looked best then
    Matrix inverse_;                   // of the basis, transposed: a row an equation, a column a place
    Matrix work_;
    std::size_t pivots_since_ = 0, stalled_ = 0;
};

}  // namespace excalibr
