// The master program of column generation by a primal simplex method: the best lottery over the rankings found so far.
//
//   maximise  Σ_t θ_t·v_t − Σ_j φ_j(p_j)   with  Σ_t θ_t·p_t = p,  Σ_t θ_t = 1,  θ ≥ 0     (straight penalties only)
//
// A row a category and one for Σθ. A slack is p_j less an edge of its band and has a piecewise linear cost: nonbasic it
// stands on an edge; basic it lies on one piece, and may cross breakpoints without a pivot (long steps). The inverse of the
// basis is kept explicitly, and factorised anew on a schedule because pivots let it drift.
#pragma once

#include "lottery.hpp"
#include "pool.hpp"

namespace excalibr {

class SimplexMaster {
  public:
    RankingPool pool;

    explicit SimplexMaster(Watcher& watcher) : watcher_(watcher) {}

    // An empty pool for the program's sizes, with room for `rankings` to begin with.
    void reset(std::size_t slots, std::size_t categories, std::size_t rankings);

    // Take up the pool for a program whose gains are `factor` · the centred scores, on the basis of before if there is one.
    // `factorised` says that this basis is. False if no basis could be factorised.
    bool resume(Penalties penalties, double factor, double worth_entering, bool factorised);

    // Add a ranking; returns its place. Makes room where the pool is full.
    std::size_t add(const ScaledProgram& program, Reals centred_scores, Indices ranking);
    void drop_last() { --pool.count; }

    // Pivot until no ranking of the pool and no slack is worth entering; false if that was not reached.
    //
    // `newest` is a ranking to try before the whole pool is priced, or `none`. After `passes` pricings of the whole pool it
    // is left at that: another ranking is then worth more than the last pivots.
    bool optimise(Penalties penalties, std::size_t newest, std::size_t passes);

    // Factorise and price anew, unless that was the last thing done; false if no basis could be factorised.
    bool refresh(Penalties penalties);

    double reduced_cost(std::size_t ranking) const;
    bool is_worth_entering(std::size_t ranking) const { return reduced_cost(ranking) > worth_entering_; }
    double value_by_prices() const;                              // the objective, as good as the prices are, and cheap
    double value_by_weights(Penalties penalties);       // the objective of the basic lottery
    Reals prices() const { return std::span(prices_).first(edge_.size()); }
    bool is_fresh() const { return pivots_since_ == 0; }
    bool empty() const { return pool.count == 0; }
    std::size_t pivots() const { return pivots_; }

    // The basic rankings by rank with their probabilities.
    void write(Lottery& by_rank) const;

    static constexpr std::size_t none = static_cast<std::size_t>(-1);

  private:
    // A basic variable: a ranking t ≥ 0, or −1 − j for the slack of category j.
    using Variable = std::int64_t;
    enum class Piece : signed char { below = -1, inside = 0, above = 1 };
    struct Entering {
        Variable variable = 0;
        double direction = 1.0, reduced_cost = 0.0;
    };
    struct Leaving {
        std::size_t place;
        double length, reduced_cost;
    };
    static constexpr std::size_t entering_itself = static_cast<std::size_t>(-2);

    static Variable slack(std::size_t category) { return -1 - static_cast<Variable>(category); }
    static std::size_t category_of(Variable slack) { return static_cast<std::size_t>(-1 - slack); }

    void set_first_basis(Penalties penalties);
    bool take_basis(Penalties penalties);
    bool factorise_basis();
    bool start_over(Penalties penalties);
    void price_basis(Penalties penalties);
    void make_room();

    void list_best();
    Entering best_listed() const;
    Entering best_slack(Penalties penalties) const;
    bool pivot(Penalties penalties, Entering entering);
    void set_entering_column(const Entering& entering);
    Leaving advance(Penalties penalties, Entering entering);
    std::pair<std::size_t, double> ratio_test(Penalties penalties) const;
    void cross_breakpoint(const Penalty& penalty, std::size_t place, bool downwards);
    void leave_basis(Penalties penalties, std::size_t place);
    double enter_basis(Penalties penalties, std::size_t category, double direction);
    void exchange(std::size_t leaving, double direction, double reduced_cost);

    Watcher& watcher_;
    std::vector<double> values_;  // the rankings' relevance in the program's unit
    std::vector<double> reduced_costs_;
    std::vector<unsigned char> is_basic_, slack_is_basic_;
    std::vector<Variable> basis_;
    std::vector<Piece> piece_;     // nonbasic: the piece on the side of its edge; basic: where it lies
    std::vector<double> edge_;     // where each slack counts from
    std::vector<double> levels_;   // values of the basic variables
    std::vector<double> prices_;   // r categories and the level of the value
    std::vector<double> column_;   // how fast each basic variable falls as the entering one moves
    Matrix inverse_, work_;        // inverse_(row, place): transposed, so that pivots run along memory
    std::vector<std::size_t> listed_;
    std::vector<Index> places_;
    std::size_t pivots_ = 0, pivots_since_ = 0, restarts_ = 0;
    bool has_basis_ = false;
    double factor_ = 1.0;
    double wanted_ = 0.0, worth_entering_ = 0.0;  // the least reduced cost that is acted on: as asked, and beside rounding
};

}  // namespace excalibr
