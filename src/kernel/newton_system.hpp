// The linear system of a Newton step in the prices, solved on its smaller side.
//
//   (H + Δ)·d = b,   H = ρ · Σ_blocks A_Bᵀ·C·A_B,   Δ diagonal
//
// A_B has the category rows of a block's tied candidates, and C subtracts their mean: prices move exposure within a block
// alone. H has at most the rank of the m tied candidates, so where they are fewer than the prices the system is solved as
// (I/ρ + C·A·Δ⁻¹·Aᵀ·C)·μ = C·A·Δ⁻¹·b, d = Δ⁻¹·(b − Aᵀ·C·μ): the second-order sparsity of semismooth Newton methods (Li, Sun
// and Toh: A highly efficient semismooth Newton augmented Lagrangian method for solving Lasso problems, 2018; Lin, Liu, Sun
// and Toh: Efficient sparse semismooth Newton methods for the clustered Lasso problem, 2019). No r × r matrix is kept.
#pragma once

#include "linear.hpp"
#include "program.hpp"
#include "projection.hpp"
#include "tuning.hpp"

namespace excalibr {

class NewtonSystem {
  public:
    explicit NewtonSystem(Watcher& watcher) : watcher_(watcher) {}

    // Take over the tied candidates of a point.
    void load(const ScaledProgram& program, const Blocks& blocks, Indices order, double rho);

    // Whether a tied candidate has the category: the rows of H for all others are 0.
    bool touches(Index category) const { return touched_[category] != 0; }

    // H·d, (r,)
    void apply(Reals direction, MutableReals result);

    // Solve for the free prices; `diagonal` is Δ by category, `right` b by place in `free`, and d in the end. False if the
    // watcher stopped it.
    bool solve(Indices free, Reals diagonal, MutableReals right);

    // The same system with another right side.
    void solve_again(Indices free, MutableReals right);

    double operations = 0.0;  // about how many multiplications all of it took since it was set to 0

  private:
    bool by_prices() const { return coupled_.size() <= std::max(tied_.size(), tuning::few_prices); }
    void couple(Indices free);
    bool factorise_by_prices(Reals diagonal, Indices free);
    bool factorise_by_candidates(Indices free);
    void add_outer_product(const SparseView& rows, Index candidate);
    void subtract_means_of_columns();
    void centre(MutableReals values) const;

    bool is_over();

    Watcher& watcher_;
    double watched_ = 0.0;  // the operations that the watcher knows of
    const ScaledProgram* program_ = nullptr;
    double rho_ = 1.0;
    std::vector<Index> tied_, starts_;       // the tied candidates, block by block
    std::vector<unsigned char> touched_;     // by category
    std::vector<Index> coupled_;             // places in `free` of the prices that H couples
    std::vector<Index> place_of_candidate_, place_of_category_, listed_;
    std::vector<double> inverse_;            // 1/Δ by place in `free`
    std::vector<double> sums_, total_, right_;
    Matrix factor_;
};

}  // namespace excalibr
