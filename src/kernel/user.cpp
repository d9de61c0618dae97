#include "user.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "tuning.hpp"

namespace excalibr {
namespace {

// How much relevance and calibration count a little inside an end of the trade-off.
Balance a_step_inside(double end, double step, double spread) {
    return end == 0.0 ? Balance{1.0, step * spread} : Balance{step / spread, 1.0};
}

bool is_end(double trade_off) { return trade_off == 0.0 || trade_off == 1.0; }

// What the second aim may cost the first at an end of the trade-off.
double lost_at(double trade_off) { return trade_off == 1.0 ? tuning::end_cost : tuning::end_gap; }

}  // namespace

UserSolver::UserSolver(Watcher& watcher) : watcher_(watcher), engines_(watcher) {}
UserSolver::~UserSolver() = default;

void UserSolver::load(const Question& question) {
    free_.load(question);
    std::tie(top_, spread_) = free_.score_range();
    if (spread_ < tuning::least_spread) spread_ = 0.0;
    const Reals prices = free_.item_prices();
    const auto [cheapest, dearest] = std::minmax_element(prices.begin(), prices.end());
    price_spread_ = prices.empty() ? 0.0 : *dearest - *cheapest;
    sweeps_ = free_.rows() < tuning::too_many_for_sweeps && question.smoothing == 0.0 && !free_.is_limited() &&
              !free_.all_pinned() && question.item_prices.empty();  // a sweep's gains are the scores, scaled
    sweep_begun_ = false;
    spent_ = 0.0;
}

// A question takes several solves, for limits, ends and budgets: the later ones have what hard ones before them left.
Limits UserSolver::in_time(const Limits& limits) const {
    const double all = tuning::effort_of(tuning::question_effort, free_.program().r());
    Limits left = limits;
    left.effort = std::clamp((all - spent_) / (all * tuning::first_part), tuning::least_part, 1.0);
    return left;
}

void UserSolver::solve(double trade_off, const Limits& limits, UserAnswer& answer) {
    CurvePoint point;
    solve_inside(Balance::of(trade_off), limits, point);
    point.trade_off = trade_off;
    if (point.failure == Failure::none && is_end(trade_off)) go_to_end(limits, lost_at(trade_off), point);
    to_answer(point, answer);
}

void UserSolver::solve_inside(Balance balance, const Limits& limits, CurvePoint& point) {
    sweep_begun_ = false;  // the engines forget what a sweep has found
    point.failure = Failure::none;
    if (free_.all_pinned()) return settle_pinned(balance, point);
    if (free_.is_limited()) return solve_within_limits(balance, limits, point);
    free_.set_objective(balance, 0.0);
    tell_program(balance);
    engines_.solve(free_.program(), in_time(limits), answer_);
    spent_ += answer_.effort.operations;
    take(answer_, balance, limits, point);
}

void UserSolver::take(const Answer& answer, Balance balance, const Limits& limits, CurvePoint& point) {
    point.balance = balance;
    point.allowed_gap = unwarned_at(balance, limits.tolerance);
    point.gap = answer.gap();
    point.engine = answer.engine;
    point.effort = answer.effort;
    point.row_prices = answer.prices;
    free_.to_whole(answer.lottery, point.lottery);
    measure(point);
}

void UserSolver::measure(CurvePoint& point) {
    point.relevance = centred_relevance(point.lottery);
    point.cost = cost_of(shares_);
}

const std::vector<double>& UserSolver::scratch_shares(const Lottery& lottery) {
    free_.expose(lottery, exposure_, shares_);
    return shares_;
}

double UserSolver::centred_relevance(const Lottery& lottery) {
    free_.expose(lottery, exposure_, shares_);
    double relevance = 0.0;
    for (std::size_t candidate = 0; candidate < exposure_.size(); ++candidate)
        if (exposure_[candidate] != 0.0) relevance += exposure_[candidate] * (free_.question().scores[candidate] - top_);
    return relevance;
}

double UserSolver::cost_of(Reals shares) const {
    double cost = 0.0;
    for (std::size_t place = 0; place < shares.size(); ++place) cost += free_.penalty_of(place, 1.0).cost(shares[place]);
    return cost;
}

double UserSolver::objective_at(double trade_off, const Lottery& lottery) {
    const double relevance = centred_relevance(lottery);
    double paid = 0.0;
    const Question& question = free_.question();
    for (std::size_t candidate = 0; !question.item_prices.empty() && candidate < exposure_.size(); ++candidate)
        if (exposure_[candidate] != 0.0) paid += exposure_[candidate] * question.item_prices[question.items[candidate]];
    return (1.0 - trade_off) * relevance - trade_off * cost_of(shares_) - paid;
}

// Nothing is left to decide: every slot is pinned. Any price between the slopes of its penalty proves a category's cost.
void UserSolver::settle_pinned(Balance balance, CurvePoint& point) {
    point.balance = balance;
    point.engine = Engine::none;
    point.effort = {Status::converged, 0, 0};
    point.gap = point.allowed_gap = 0.0;
    Lottery nothing;
    nothing.clear(0);
    nothing.weights.push_back(1.0);
    free_.to_whole(nothing, point.lottery);
    measure(point);
    if (free_.missed_limits(shares_).first > tuning::limit_slack) {
        point.failure = Failure::pinned_break_limits;
        return;
    }
    point.row_prices.assign(free_.rows() + free_.limited().size(), 0.0);
    for (std::size_t row = 0; row < free_.rows(); ++row) {
        const std::size_t place = free_.place_of_row(row);
        point.row_prices[row] = free_.penalty_of(place, balance.calibration).slope(shares_[place], true);
    }
}

// Hard limits are slopes that are made steeper until the optimum keeps them. Where it does not, it is asked in between
// whether any policy does: first of each limit by itself, which takes a sort, then of all together, which takes a solve.
void UserSolver::solve_within_limits(Balance balance, const Limits& limits, CurvePoint& point) {
    double scale = balance.relevance * spread_ + price_spread_ + balance.calibration * free_.heaviest_weight();
    if (!(scale > 0.0)) scale = 1.0;
    Effort effort;
    feasible_.clear(0);
    for (std::size_t round = 0; round < std::size(tuning::limit_steepnesses); ++round) {
        free_.set_objective(balance, tuning::limit_steepnesses[round] * scale);
        tell_program(balance);
        engines_.solve(free_.program(), in_time(limits), answer_);
        spent_ += answer_.effort.operations;
        effort.add(answer_.effort);
        take(answer_, balance, limits, point);
        point.effort = effort;
        const double missed = free_.missed_limits(shares_).first;
        const bool last = round + 1 == std::size(tuning::limit_steepnesses) ||
                          effort.operations > tuning::most_operations || watcher_.stop();
        if (missed <= (last ? tuning::limit_slack : tuning::limit_aim)) break;
        if (missed <= tuning::limit_slack) continue;
        if (round == 0 && any_out_of_reach(point)) return;
        if (watcher_.stop() && feasible_.size() == 0) return lack_time(point);
        if ((round >= 1 || last) && feasible_.size() == 0 && do_limits_conflict(point)) return;
        if (last) return settle_for_feasible(CurvePoint(point), limits.tolerance, point);
    }
    point.gap = gap_by_rows(balance, point.lottery, point.row_prices);
}

// Whether a floor is above the most, or a cap below the least, that any policy shows of its category.
bool UserSolver::any_out_of_reach(CurvePoint& point) {
    const Question& question = free_.question();
    conflict_ = UserAnswer();
    for (const Index place : free_.limited()) {
        if (watcher_.stop(tuning::operations_a_candidate * static_cast<double>(question.n()))) break;
        const Index category = free_.categories()[place];
        const auto [least, most] = free_.extreme_shares(place);
        if (question.floors[category] > most + tuning::limit_slack)
            conflict_.fail(Failure::floor_out_of_reach, question.floors[category], most, category);
        else if (question.caps[category] < least - tuning::limit_slack)
            conflict_.fail(Failure::cap_out_of_reach, question.caps[category], least, category);
        if (conflict_.failure != Failure::none) break;
    }
    point.failure = conflict_.failure;
    return conflict_.failure != Failure::none;
}

// Solve for the limits alone: the certificate proves that no policy keeps them all, or `feasible_` is one.
bool UserSolver::do_limits_conflict(CurvePoint& point) {
    engines_.solve(free_.limits_alone(), in_time(Limits{tuning::feasibility_tolerance}), answer_);
    spent_ += answer_.effort.operations;
    point.effort.add(answer_.effort);
    const double proven = -answer_.certificate.bound;  // what every policy misses in all
    if (!(proven > tuning::limit_slack)) {
        free_.to_whole(answer_.lottery, feasible_);
        return false;
    }
    conflict_ = UserAnswer();
    conflict_.fail(Failure::limits_conflict, 0.0, -answer_.certificate.objective);
    for (std::size_t limit = 0; limit < free_.limited().size(); ++limit) {
        const Index category = free_.categories()[free_.limited()[limit]];
        conflict_.limit_prices.add(category, answer_.prices[limit] / free_.limit_units()[limit]);
    }
    point.failure = conflict_.failure;
    return true;
}

// There is a policy that keeps the limits, and the optimum was not found among them: mix as much of the policy that nearly
// keeps them into a feasible one as they allow.
void UserSolver::settle_for_feasible(const CurvePoint& nearest, double tolerance, CurvePoint& point) {
    if (nearest.effort.status == Status::sorts_spent) {
        conflict_ = UserAnswer();
        conflict_.fail(Failure::limits_need_sorts, 0.0, 0.0);
        point.failure = conflict_.failure;
        return;
    }
    const double missed = free_.missed_limits(scratch_shares(nearest.lottery)).first;
    const bool is_nearer = free_.missed_limits(scratch_shares(feasible_)).first < missed;  // its solve may have stalled, too
    const double mixed_in = watcher_.stop() ? 0.0 : tuning::limit_slack / missed;  // there is no time to thin a mix
    const double share = is_nearer ? std::clamp(mixed_in, 0.0, 1.0) : 1.0;
    UserAnswer mixed;
    CurvePoint other = nearest;
    other.lottery = feasible_;
    mix(nearest, other, share, nearest, tolerance, mixed);
    point.lottery = mixed.lottery;
    point.row_prices = nearest.row_prices;
    point.effort = nearest.effort;
    point.effort.status = Status::stalled;
    point.gap = mixed.gap;
    measure(point);
    if (watcher_.stop() && free_.missed_limits(shares_).first > tuning::limit_slack) lack_time(point);
}

// The lexicographic optimum where `end` is an optimum at λ = 0 or 1: an optimum a little inside is one if it is still an
// optimum at the end, and that is checked, not assumed. With a cap on sorts nothing more is solved.
void UserSolver::go_to_end(const Limits& limits, double most_lost, CurvePoint& end) {
    if (limits.max_sorts != Limits{}.max_sorts || watcher_.stop() || free_.all_pinned() || !has_ties(end.trade_off)) return;
    free_.set_objective(end.balance, 0.0);
    const double unit = allowed_gap(free_.program(), 1.0, {});
    const double allowed = std::max(end.gap, std::min(end.gap + most_lost * unit, end.allowed_gap));
    CurvePoint inside, beyond;
    for (const double step : tuning::steps_inside) {
        if (end.effort.operations > tuning::most_operations || watcher_.stop()) return;
        solve_near_end(step, end, inside);
        if (inside.failure != Failure::none) continue;
        if (inside.gap > allowed) {
            std::swap(beyond, inside);
            continue;
        }
        settle_at_end(inside, end);
        break;
    }
    if (end.trade_off == 1.0 && free_.question().smoothing == 0.0) spend_what_may_be_lost(allowed, beyond, end);
}

// The optimum a step inside an end of the trade-off, with its gap at the end.
void UserSolver::solve_near_end(double step, CurvePoint& end, CurvePoint& inside) {
    const double exactness = end.trade_off == 1.0 ? tuning::second_aim : tuning::second_aim * step;
    const Balance balance = a_step_inside(end.trade_off, step, spread());
    watcher_.all_or_nothing = true;
    if (sweep_begun_)
        solve_next(balance, {std::max(exactness, 1e-14)}, {}, inside);
    else
        solve_inside(balance, {std::max(exactness, 1e-14)}, inside);
    watcher_.all_or_nothing = false;
    end.effort.sorts += inside.effort.sorts;
    end.effort.steps += inside.effort.steps;
    end.effort.operations += inside.effort.operations;
    if (inside.failure == Failure::none) inside.gap = gap_by_rows(end.balance, inside.lottery, end.row_prices);
}

void UserSolver::settle_at_end(const CurvePoint& inside, CurvePoint& end) {
    end.lottery = inside.lottery;
    end.gap = inside.gap;
    measure(end);
}

// At λ = 1, `end` is as calibrated as may be and `beyond`, which is more relevant, just is not. Where the curve between them
// is steep, as where candidates differ by 1e-10 of a share, relevance is had for less than what counts as a cost at all:
// follow the curve to where that is spent. Steps go by the chord, as of budgets.
void UserSolver::spend_what_may_be_lost(double allowed, CurvePoint& beyond, CurvePoint& end) {
    CurvePoint point;
    const auto gained = [&] { return beyond.lottery.size() > 0 ? (beyond.relevance - end.relevance) / spread() : 0.0; };
    for (std::size_t solves = 0; solves < tuning::most_chords && gained() > tuning::worth_spending; ++solves) {
        if (end.effort.operations > tuning::most_operations || watcher_.stop()) break;
        const double step = (beyond.gap - end.gap) / gained();
        solve_near_end(step, end, point);
        if (point.failure != Failure::none) break;
        const double above = step * (point.relevance - end.relevance) / spread() - (point.gap - end.gap);
        if (!(above > tuning::worth_spending * step)) break;
        if (point.gap <= allowed)
            settle_at_end(point, end);
        else
            beyond = point;
    }
    if (!(gained() > tuning::worth_spending)) return;
    UserAnswer mixed;
    const double spent = (1.0 - tuning::worth_spending) * allowed;  // with room for rounding
    mix(beyond, end, std::clamp((spent - end.gap) / (beyond.gap - end.gap), 0.0, 1.0), end, 0.0, mixed);
    if (!(mixed.gap <= allowed)) return;
    end.lottery = mixed.lottery;
    end.gap = mixed.gap;
    measure(end);
}

// At λ = 0 with nobody tied and nothing limited there is one optimum only.
bool UserSolver::has_ties(double trade_off) {
    if (trade_off == 1.0 || free_.is_limited()) return true;
    sorted_.assign(free_.scores().begin(), free_.scores().end());
    for (std::size_t candidate = 0; candidate < free_.item_prices().size(); ++candidate)
        sorted_[candidate] -= free_.item_prices()[candidate];
    std::sort(sorted_.begin(), sorted_.end());
    return std::adjacent_find(sorted_.begin(), sorted_.end()) != sorted_.end();
}

void UserSolver::curve_point(double trade_off, const Limits& limits, Reals row_prices, CurvePoint& point) {
    spent_ = 0.0;
    curve_point(trade_off, limits, lost_at(trade_off), row_prices, point);
}

void UserSolver::curve_point(double trade_off, const Limits& limits, double most_lost, Reals row_prices, CurvePoint& point) {
    solve_at(Balance::of(trade_off), limits, row_prices, point);
    point.trade_off = trade_off;
    if (point.failure == Failure::none && is_end(trade_off)) go_to_end(limits, most_lost, point);
}

void UserSolver::solve_at(Balance balance, const Limits& limits, Reals row_prices, CurvePoint& point) {
    if (sweeps_)
        solve_next(balance, limits, row_prices, point);
    else
        solve_inside(balance, limits, point);
}

// One more point of a sweep, from the rankings and the basis of those before.
void UserSolver::solve_next(Balance balance, const Limits& limits, Reals row_prices, CurvePoint& point) {
    if (watcher_.stop()) return solve_inside(balance, limits, point);
    free_.set_objective(balance, 0.0);
    tell_program(balance);
    if (!sweep_begun_) engines_.begin_sweep(free_.program());
    sweep_begun_ = true;
    engines_.solve_next(free_.program(), free_.scores(), balance.relevance, row_prices, in_time(limits), answer_);
    spent_ += answer_.effort.operations;
    point.failure = Failure::none;
    if (answer_.effort.status == Status::stalled)
        solve_inside(balance, limits, point);
    else
        take(answer_, balance, limits, point);
}

// Hard limits are as steep as their prices.
void UserSolver::set_objective_of_rows(Balance balance, Reals row_prices) {
    double steepness = 0.0;
    for (std::size_t row = free_.rows(); row < row_prices.size(); ++row)
        steepness = std::max(steepness, std::abs(row_prices[row]));
    free_.set_objective(balance, steepness);
}

double UserSolver::gap_by_rows(Balance balance, const Lottery& lottery, Reals row_prices) {
    if (free_.all_pinned()) return 0.0;
    set_objective_of_rows(balance, row_prices);
    free_.to_free(lottery, free_lottery_);
    return engines_.certify(free_.program(), free_lottery_, row_prices).gap;
}

double UserSolver::allowed_at(Balance balance, Reals row_prices, double tolerance) {
    free_.set_objective(balance, 0.0);
    return allowed_gap(free_.program(), tolerance, row_prices);
}

double UserSolver::unwarned_at(Balance balance, double tolerance) {
    free_.set_objective(balance, 0.0);
    return unwarned_gap(free_.program(), tolerance);
}

double UserSolver::gap_at(double trade_off, const Lottery& lottery, Reals reported_prices) {
    std::vector<double> by_row;
    free_.to_row_prices(reported_prices, trade_off, by_row);
    return gap_by_rows(Balance::of(trade_off), lottery, by_row);
}

double UserSolver::gap_of_single(double trade_off, const Lottery& lottery, Reals reported_prices) {
    std::vector<double> by_row;
    free_.to_row_prices(reported_prices, trade_off, by_row);
    const double gap = gap_by_rows(Balance::of(trade_off), lottery, by_row);
    return std::max(gap - unattainable_part(free_.program(), by_row), 0.0);
}

void UserSolver::to_answer(const CurvePoint& point, UserAnswer& answer) {
    const bool failed = point.failure != Failure::none;
    if (failed) answer = point.failure == Failure::pinned_break_limits ? UserAnswer() : conflict_;
    answer.failure = point.failure;
    if (failed && point.failure != Failure::limits_need_time) return;
    answer.trade_off = point.trade_off;
    answer.lottery = point.lottery;
    answer.gap = point.gap;
    answer.engine = point.engine;
    answer.effort = point.effort;
    answer.allowed_gap = point.allowed_gap;
    answer.objective = point.value(point.trade_off);
    free_.to_reported_prices(point.row_prices, point.trade_off, answer.prices);
}

}  // namespace excalibr
