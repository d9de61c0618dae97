// One user's question answered: at a trade-off, at its two ends, within hard limits, within a budget.
#pragma once

#include "engines.hpp"
#include "presolve.hpp"

namespace excalibr {

// Why there is no answer.
enum class Failure : int {
    none = 0,
    floor_out_of_reach = 1,      // of `category`: `reached` is the most that any policy shows
    cap_out_of_reach = 2,        // of `category`: `reached` is the least that any policy shows
    limits_conflict = 3,         // all together miss by at least `reached`; `limit_prices` says which conflict
    limits_need_sorts = 4,       // a policy that keeps them was not found within the sorts allowed
    limits_need_time = 14,       // … within the time limit: `category` is at `reached`, and `wanted` was asked
    budget_needs_time = 15,      // `wanted` was asked, and `reached` is the nearest that was found within the time limit
    single_needs_time = 16,      // no ranking that keeps what `wanted` says was found within the time limit
    pinned_break_limits = 5,     // every slot is pinned, and the pinned items do not keep the limits
    relevance_out_of_reach = 6,  // the limits alone cost more: `wanted` was asked, `reached` is the most
    deviation_out_of_reach = 7,  // `wanted` was asked, no policy comes nearer than `reached`
    deviation_not_found = 8,     // `wanted` was asked, `reached` is the nearest that was found; no proof that none is nearer
    no_single_ranking = 9,       // all rankings were tried: none keeps what `wanted` (a sum of `Missed`) says
    single_not_found = 10,       // the search found none that does
    out_of_memory = 11,
    numbers_too_large = 13,      // a score, weight or share is beyond `wanted` or not a number: not for the solver
    too_few_candidates = 12,     // for the slots, `wanted`, once the shown and full groups are out: `reached`
};

struct UserAnswer {
    Lottery lottery;             // of the whole, by slot
    ByCategory prices;           // as policies report them, of `FreePart::priced`
    double trade_off = 0.0;      // the λ that the prices prove the gap at
    double objective = 0.0;      // of the program that was asked, prices of items subtracted; completed by RangeSolver
    double gap = 0.0;
    double allowed_gap = 0.0;    // beyond it there is a warning: see unwarned_gap
    Engine engine = Engine::none;
    Effort effort;

    Failure failure = Failure::none;
    std::size_t category = 0;
    double wanted = 0.0, reached = 0.0;
    ByCategory limit_prices;  // of limited categories: negative for a floor that conflicts, positive for a cap

    void fail(Failure why, double asked, double found, std::size_t at = 0) {
        failure = why;
        wanted = asked;
        reached = found;
        category = at;
    }
};

// A policy of the curve between relevance and cost: optimal at its λ.
struct CurvePoint {
    double relevance = 0.0;  // less the best score
    double cost = 0.0;       // the deviation that λ multiplies
    double trade_off = 0.0;
    Balance balance;
    Lottery lottery;
    std::vector<double> row_prices;
    double gap = 0.0, allowed_gap = 0.0;
    Engine engine = Engine::none;
    Effort effort;
    Failure failure = Failure::none;

    double value(double at) const { return (1.0 - at) * relevance - at * cost; }
};

class UserSolver {
  public:
    explicit UserSolver(Watcher& watcher);
    ~UserSolver();
    UserSolver(const UserSolver&) = delete;
    UserSolver& operator=(const UserSolver&) = delete;

    // The question must outlive the answers.
    void load(const Question& question);

    // The optimum at one trade-off; at 0 and 1, of the many optima there, the best by the other aim.
    void solve(double trade_off, const Limits& limits, UserAnswer& answer);

    // The best calibrated policy that gives up at most this part of the relevance that plain sorting has.
    void within_relevance_loss(double loss, const Limits& limits, UserAnswer& answer);

    // The most relevant policy whose cost is at most this.
    void within_deviation(double allowed, const Limits& limits, UserAnswer& answer);

    // A point of the curve, from all that was found for this question before; `row_prices` near its own, or empty.
    void curve_point(double trade_off, const Limits& limits, Reals row_prices, CurvePoint& point);

    // The least relevance that a loss allows, less the best score.
    double relevance_floor(double loss);

    // The gap of any lottery of the whole at a trade-off, by reported prices of `free_part().priced()`. Those of
    // categories that no free candidate has are taken as the best that there are.
    double gap_at(double trade_off, const Lottery& lottery, Reals reported_prices);

    // The same against single rankings only, which show no less of a category than one slot does.
    double gap_of_single(double trade_off, const Lottery& lottery, Reals reported_prices);

    void to_answer(const CurvePoint& point, UserAnswer& answer);

    // An answer that was cut short says so, and is no worse than the order by score by what is asked; false if it was not.
    bool settle_in_time(Aim aim, double budget, UserAnswer& answer);
    FreePart& free_part() { return free_; }

    // What lotteries of the whole do: category shares (in the solver's room), relevance less the best score, the cost of
    // shares that λ multiplies, and the objective at a trade-off less (1 − λ) · the best score.
    const std::vector<double>& scratch_shares(const Lottery& lottery);
    double centred_relevance(const Lottery& lottery);
    double cost_of(Reals shares) const;
    double rounding_of_cost(Reals shares) const;  // what doubles may make of it
    double objective_at(double trade_off, const Lottery& lottery);
    double best_score() const { return top_; }
    double spread() const { return spread_ > 0.0 ? spread_ : 1.0; }  // of the scores

  private:
    Limits in_time(const Limits& limits) const;
    void solve_at(Balance balance, const Limits& limits, Reals row_prices, CurvePoint& point);
    void solve_inside(Balance balance, const Limits& limits, CurvePoint& point);
    void solve_next(Balance balance, const Limits& limits, Reals row_prices, CurvePoint& point);
    void solve_within_limits(Balance balance, const Limits& limits, CurvePoint& point);
    void settle_pinned(Balance balance, CurvePoint& point);
    bool any_out_of_reach(CurvePoint& point);
    bool do_limits_conflict(CurvePoint& point);
    void settle_for_feasible(const CurvePoint& nearest, double tolerance, CurvePoint& point);
    void lack_time(CurvePoint& point);
    double worth(Aim aim, double trade_off, const Lottery& lottery);
    bool keeps(Aim aim, double budget);
    void tell_program(Balance balance);
    void curve_point(double trade_off, const Limits& limits, double most_lost, Reals row_prices, CurvePoint& point);
    void go_to_end(const Limits& limits, double most_lost, CurvePoint& end);
    void solve_near_end(double step, CurvePoint& end, CurvePoint& inside);
    void settle_at_end(const CurvePoint& inside, CurvePoint& end);
    void spend_what_may_be_lost(double allowed, CurvePoint& beyond, CurvePoint& end);
    bool has_ties(double trade_off);
    void take(const Answer& answer, Balance balance, const Limits& limits, CurvePoint& point);
    void measure(CurvePoint& point);
    void set_objective_of_rows(Balance balance, Reals row_prices);
    double rounding_of_proof(const CurvePoint& point);
    double gap_by_rows(Balance balance, const Lottery& lottery, Reals row_prices);
    double allowed_at(Balance balance, Reals row_prices, double tolerance);
    double unwarned_at(Balance balance, double tolerance);
    void meet(const Limits& limits, bool limit_is_cost, double limit, const CurvePoint& most_relevant,
              const CurvePoint& best_calibrated, UserAnswer& answer);
    void lack_time(const CurvePoint& point, double wanted, double reached, UserAnswer& answer);
    void settle_for_sides(bool limit_is_cost, double limit, const CurvePoint& left, const CurvePoint& right, double tolerance,
                          UserAnswer& answer);
    void mix(const CurvePoint& left, const CurvePoint& right, double share, const CurvePoint& proof, double tolerance,
             UserAnswer& answer);

    Watcher& watcher_;
    FreePart free_;
    Engines engines_;
    Answer answer_;
    Lottery free_lottery_, mixed_, thinned_;
    std::vector<double> exposure_, shares_, sorted_;
    double top_ = 0.0, spread_ = 0.0, price_spread_ = 0.0;
    double relevance_ = 0.0;  // of the lottery that was judged last
    double spent_ = 0.0;  // operations of all solves of the question, or of one point of its curve
    bool sweeps_ = false, sweep_begun_ = false;
    UserAnswer conflict_;  // why no policy keeps the limits
    Lottery feasible_;     // one that does, where it was looked for
};

}  // namespace excalibr
