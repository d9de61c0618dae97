// The master program of column generation by an interior-point method: straight and curved penalties alike.
//
// In the prices y and the level η, the value of the best ranking at them,
//
//   minimise  η + Σ_j φ*_j(y_j)   subject to   η ≥ v_t − y·p_t  for every ranking t,   lowest ≤ y ≤ highest
//
// and the multipliers of the rankings are their weights in the best lottery. The conjugate of a penalty with a band has a
// breakpoint at 0, so its price is split in two: what is paid above the band and what is paid below it.
#pragma once

#include "linear.hpp"
#include "lottery.hpp"
#include "pool.hpp"
#include "tuning.hpp"

namespace excalibr {

class InteriorMaster {
  public:
    RankingPool pool;

    explicit InteriorMaster(Watcher& watcher) : watcher_(watcher) {}

    void reset(std::size_t slots, std::size_t categories, std::size_t rankings);
    bool resume(Penalties penalties, double factor, double worth_entering, bool factorised);

    // Add a ranking; returns its place. Where the pool is full, rankings without weight leave it.
    std::size_t add(const ScaledProgram& program, Reals centred_scores, Indices ranking);
    void drop_last() { --pool.count; }

    // The optimum over the pool, from the prices of before; false when the effort that is allowed is spent.
    bool optimise(Penalties penalties, std::size_t newest, std::size_t passes);

    // How exactly it is solved: no more so than the gap to this bound is worth, as prices near the centre of what is
    // left to choose from cut off more. `refresh` asks for more; it is fresh where no more can be asked.
    void aim_at(double bound);
    bool refresh(Penalties);
    bool is_fresh() const { return exactness_ <= tolerance_; }

    // Whether the ranking does anything that none before it does.
    bool is_new(std::size_t place) const;
    double value_by_prices() const { return value_; }
    double value_by_weights(Penalties) const { return value_; }
    Reals prices() const { return prices_; }
    bool empty() const { return pool.count == 0; }
    std::size_t pivots() const { return steps_; }
    double operations() const { return operations_; }  // multiplications of all steps
    void write(Lottery& by_rank) const;
    void set_tolerance(double tolerance) { tolerance_ = exactness_ = tolerance; }
    void begin_coarsely() { exactness_ = std::max(tolerance_, tuning::first_exactness); }

    static constexpr std::size_t none = static_cast<std::size_t>(-1);

  private:
    // A part of the prices: `side` · v of the price of `category`, with least ≤ v ≤ most.
    struct Part {
        std::size_t category;
        double side, least, most;
    };

    void split_prices(Penalties penalties);
    void gather_columns();
    void start_point(double least_room);
    void follow_path(Penalties penalties);
    double complementarity() const;
    double set_system(Penalties penalties, double aim);
    void subtract_stiffest();
    bool solve_system();
    double set_multiplier_steps(double aim);
    void advance(double length);
    double slack_of(std::size_t ranking) const;
    void keep_if_better(Penalties penalties);
    double value_of_weights(Penalties penalties);
    double bound_of_pool(Penalties penalties);
    void drop_idle();

    Watcher& watcher_;
    std::vector<Part> parts_;
    std::vector<double> values_, prices_, weights_;
    Matrix columns_, differences_;  // a row a ranking: side · share of every part, and less that of the stiffest ranking
    std::vector<double> v_, step_, right_, residual_;
    std::vector<double> under_, over_, under_step_, over_step_;  // multipliers of the limits of v
    std::vector<double> slack_, slack_step_, weight_step_, sorted_;
    std::vector<double> best_weights_, best_v_;  // of all steps of an optimisation, each by what it proves
    std::vector<double> weights_before_;
    Matrix system_, factor_;
    double level_ = 0.0, value_ = 0.0, lowest_bound_ = 0.0, scale_ = 1.0, tolerance_ = 0.0, exactness_ = 0.0;
    std::size_t stiffest_ = 0, steps_ = 0;
    double operations_ = 0.0;
};

}  // namespace excalibr
