// The master program of the even lottery: mix columns to the largest mean value while each row stays within bounds.
//
//   maximise Σ_t θ_t v_t   with   l ≤ Σ_t θ_t a_t ≤ u,   Σ_t θ_t = 1,   θ ≥ 0
//
// A revised primal simplex method with a dense inverse, bounded slacks and no first phase: the first column lies within
// the bounds, so that the present mixture does at every moment, finished or not. Needs m² numbers for m − 1 rows.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "arrays.hpp"

namespace excalibr {

class EvenMaster {
  public:
    // Start anew with rows of these bounds and one column, which must lie within them.
    void reset(Reals lower, Reals upper, Reals first_column, double value);

    // One column more; returns its number, counted from the first one's 0.
    std::size_t add(Reals column, double value);

    // Pivot until no column and no slack has a reduced cost worth entering; false if that was not reached, because
    // `operations` came to `max_operations` or because rounding made the basis singular.
    bool optimise(std::uint64_t max_operations);

    // Change a column's value; the next optimise takes it into account.
    void set_value(std::size_t column, double value);

    std::size_t columns() const { return values_.size(); }
    Reals column(std::size_t at) const { return std::span(entries_).subspan(at * rows(), rows()); }
    double value(std::size_t at) const { return values_[at]; }

    // What a unit of each row is worth, and a unit of probability: v_t − prices·a_t − level is t's reduced cost.
    Reals prices() const { return std::span(prices_).first(rows()); }
    double level() const { return prices_[rows()]; }

    // The probabilities of all columns; at most as many as there are rows, and one, are above 0.
    void weights(MutableReals weights) const;

    std::uint64_t operations = 0;  // entries looked at so far: the effort

  private:
    // A variable is a column t ≥ 0, or −1 − j for the slack of row j, which is Σ_t θ_t a_tj.
    using Variable = std::int32_t;
    struct Entering {
        Variable variable = 0;
        double direction = 1.0;
        double reduced_cost = 0.0;
    };
    static Variable slack_of(std::size_t row) { return -1 - static_cast<Variable>(row); }
    static std::size_t row_of(Variable slack) { return static_cast<std::size_t>(-1 - slack); }

    std::size_t rows() const { return lower_.size(); }
    double lower_bound(Variable variable) const { return variable < 0 ? lower_[row_of(variable)] : 0.0; }
    double upper_bound(Variable variable) const {
        return variable < 0 ? upper_[row_of(variable)] : std::numeric_limits<double>::infinity();
    }
    double reduced_cost(std::size_t column) const;
    void take_first_basis();
    void list_best();
    Entering best_entering() const;
    Entering first_entering() const;
    bool pivot(const Entering& entering);
    void compute_direction(const Entering& entering);
    std::size_t leaving_place(double& length) const;
    void exchange(std::size_t leaving, const Entering& entering);
    bool refactorise();
    void fill_basis_matrix();
    void compute_levels();
    void compute_prices();

    std::vector<double> lower_, upper_;    // of each row
    std::vector<double> entries_;          // the columns, one after another
    std::vector<double> values_;           // of each column
    std::vector<Variable> basis_;          // the variable at each place of the basis
    std::vector<bool> basic_;              // whether a column is basic
    std::vector<bool> slack_basic_, at_upper_;  // whether a slack is, and where it is when it is not
    std::vector<double> levels_;           // the basic variables' values
    std::vector<double> prices_;           // of each row and, last, of Σθ = 1
    std::vector<double> direction_;        // how fast each basic variable falls as the entering one moves
    std::vector<double> reduced_;          // of each column, when all were priced last
    std::vector<std::size_t> listed_;      // the columns that looked best then
    Matrix inverse_;                       // of the basis, transposed: a row an equation, a column a place
    Matrix work_;
    std::size_t pivots_since_ = 0, stalled_ = 0;
};

}  // namespace excalibr
