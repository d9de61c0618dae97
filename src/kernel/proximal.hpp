// The proximal Newton method in exposure space: prices for every category, and the face of exposures they lead to.
//
// A proximal step holds the exposure near the last one, xₜ, by a term |x − xₜ|²/(2ρ). Its dual in the r prices y is
// smooth: x(y) is the projection of xₜ + ρ·(c − A·y), and the gradient is the share that each price asks for less Aᵀx(y).
// Newton steps in the box of the prices solve it; then xₜ moves and ρ grows. x(y) is always a feasible exposure and y
// always gives an upper bound, so the gap is known at every proximal step.
//
// A proximal step leaves the candidates of a block nearly tied, the more nearly the larger ρ is. Crossover moves the
// prices to where they tie exactly: once the face is the optimal one, so are these prices, whatever ρ.
#pragma once

#include "effort.hpp"
#include "newton_system.hpp"
#include "program.hpp"
#include "projection.hpp"

namespace excalibr {

// The best exposure found, with the face of the permutohedron that it lies on, and the best prices.
struct BestPoint {
    std::vector<double> exposure;
    std::vector<Index> order;         // the candidates that were looked at, best first
    std::vector<Index> block_starts;  // the face: see Blocks
    std::vector<double> prices;
    double objective, bound;

    double gap() const { return bound - objective; }
};

class ProximalMethod {
  public:
    explicit ProximalMethod(Watcher& watcher) : watcher_(watcher), system_(watcher) {}

    // Solve to a gap of `tolerance`, in the program's units, with at most `max_sorts` sorts of the candidates.
    Effort solve(const ScaledProgram& program, double tolerance, std::size_t max_sorts, double effort_part = 1.0);

    const BestPoint& best() const { return best_; }
    double operations() const { return system_.operations; }  // about how many multiplications the Newton steps took
    Indices last_ranking() const { return ranked_; }  // a permutation, best first at the last prices that were bounded

  private:
    struct Progress {
        std::size_t steps = 0, sorts = 0;
    };

    void start(const ScaledProgram& program);
    Progress newton(const ScaledProgram& program, double rho, double residual_wanted, std::size_t budget);
    double set_gradient(const ScaledProgram& program);
    void move_wanted_shares(const ScaledProgram& program, Reals prices);
    double residual_of_untouched() const;
    void steer_untouched(const ScaledProgram& program, double rho);
    void set_rooms(const ScaledProgram& program, double rho);
    void limit_rooms(const ScaledProgram& program, double rho, Index candidate, double rise, double fall);
    bool is_free(Index category) const;
    bool is_damped(Index category) const { return !knows_rooms_ || system_.touches(category); }
    double set_direction(double rho, double residual);
    double box_constrained_step(double damping);
    std::size_t clamp_to_box(std::size_t free);
    std::size_t line_search(const ScaledProgram& program, double rho, double slope, std::size_t budget);
    double slope_at_trial(const ScaledProgram& program);
    void evaluate(const ScaledProgram& program, double rho, double length);
    void project_active(const ScaledProgram& program);
    void select_above(double threshold);
    void set_shares(const ScaledProgram& program);
    std::size_t record(const ScaledProgram& program, double tolerance, std::size_t max_sorts);
    void record_exposure(const ScaledProgram& program, BestPoint& best);
    void record_prices(const ScaledProgram& program, Reals prices, BestPoint& best);
    void take_from_the_way();
    bool cross_over(const ScaledProgram& program);
    bool cross_over_by_ties(const ScaledProgram& program);
    bool cross_over_by_shares(const ScaledProgram& program);
    void set_tie_residuals(const ScaledProgram& program);

    Watcher& watcher_;

    // where the method is
    std::vector<double> prices_, centre_, point_, exposure_, shares_;
    std::vector<double> adjusted_, moves_, trial_adjusted_;  // at the prices; by how much a whole step moves them; at a trial
    std::vector<Index> order_, ranked_;  // by `point_`, of which the first `active_` are looked at; by adjusted scores
    std::size_t active_ = 0;
    double threshold_ = 0.0;  // who is below it is not looked at
    Blocks blocks_;
    SortScratch scratch_;
    BestPoint best_;    // of proximal steps that were solved
    BestPoint on_way_;  // of the Newton steps of the last ones, for a stop between them

    // what a Newton step works with
    std::vector<double> gradient_, wanted_, floors_, ceilings_, direction_, trial_, right_, moved_;
    std::vector<double> curvatures_, rooms_, diagonal_;
    bool knows_rooms_ = false;
    NewtonSystem system_;
    std::vector<Index> free_;  // prices between their bounds
    double damping_ = 1.0, radius_ = 0.0;
};

}  // namespace excalibr
