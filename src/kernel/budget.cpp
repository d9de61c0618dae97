// Budgets instead of λ: as calibrated as possible for a loss of relevance, as relevant as possible within a deviation.
//
// Two points of the curve, one on either side of the budget, are drawn together: each step solves at the λ of their chord.
// Where the solution is no better than the chord, the chord is the curve, and the mix that meets the budget is the answer.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tuning.hpp"
#include "user.hpp"

namespace excalibr {
namespace {

// The balance at which two points are worth the same; the left one is the more relevant.
Balance chord(const CurvePoint& left, const CurvePoint& right) {
    const double relevance = std::max(left.relevance - right.relevance, 0.0), cost = std::max(left.cost - right.cost, 0.0);
    if (!(relevance + cost > 0.0)) return Balance::of(0.5);
    return {cost / (relevance + cost), relevance / (relevance + cost)};
}

double logit(Balance balance) { return std::log(balance.calibration / balance.relevance); }

Balance balance_at(double logit) { return {1.0 / (1.0 + std::exp(logit)), 1.0 / (1.0 + std::exp(-logit))}; }

// The λ of a balance. Where both aims count it is not an end, also where it rounds to one.
double trade_off_of(Balance balance) {
    constexpr double nearest = std::numeric_limits<double>::epsilon() / 2.0;
    if (!(balance.relevance > 0.0 && balance.calibration > 0.0)) return balance.calibration;
    return std::clamp(balance.calibration, nearest * nearest, 1.0 - nearest);
}

double value_at(Balance balance, const CurvePoint& point) {
    return balance.relevance * point.relevance - balance.calibration * point.cost;
}

}  // namespace

// The loss is a part of the best relevance, unless relevance can be zero or negative: then it is a part of the spread
// between the best and the worst relevance that any ranking has.
double UserSolver::relevance_floor(double loss) {
    std::vector<double> centred(free_.question().scores.begin(), free_.question().scores.end());
    for (double& score : centred) score -= top_;
    const auto [worst, best] = free_.extremes(centred);
    return best - loss * (worst + top_ > 0.0 ? best + top_ : best - worst);
}

void UserSolver::within_relevance_loss(double loss, const Limits& limits, UserAnswer& answer) {
    double floor = relevance_floor(loss);
    const double slack = tuning::budget_slack * (spread_ > 0.0 ? spread_ : 1.0);
    CurvePoint most_relevant, best_calibrated;
    watcher_.spend(tuning::ends_share);
    curve_point(0.0, limits, tuning::end_gap, {}, most_relevant);
    if (most_relevant.failure != Failure::none) return to_answer(most_relevant, answer);
    if (most_relevant.relevance + most_relevant.gap < floor - slack) {  // proven, and not only missed by the tolerance
        answer = UserAnswer();
        answer.fail(Failure::relevance_out_of_reach, floor + top_, most_relevant.relevance + top_);
        return;
    }
    if (watcher_.stop() && most_relevant.relevance < floor - slack)
        return lack_time(most_relevant, floor + top_, most_relevant.relevance + top_, answer);
    floor = std::min(floor, most_relevant.relevance);
    curve_point(1.0, limits, tuning::end_gap, {}, best_calibrated);
    if (best_calibrated.failure != Failure::none || best_calibrated.relevance >= floor - slack)
        return to_answer(best_calibrated, answer);
    meet(limits, false, floor, most_relevant, best_calibrated, answer);
}

void UserSolver::within_deviation(double allowed, const Limits& limits, UserAnswer& answer) {
    CurvePoint most_relevant, best_calibrated;
    watcher_.spend(tuning::ends_share);
    curve_point(1.0, limits, tuning::end_gap, {}, best_calibrated);
    if (best_calibrated.failure != Failure::none) return to_answer(best_calibrated, answer);
    if (best_calibrated.cost > allowed + tuning::limit_slack) {
        const double nearest = best_calibrated.cost - best_calibrated.gap;
        const bool proven = nearest > allowed + rounding_of_proof(best_calibrated);
        if (proven || best_calibrated.cost > allowed + tuning::limit_slack + rounding_of_cost(scratch_shares(best_calibrated.lottery))) {
            if (!proven && watcher_.stop()) return lack_time(best_calibrated, allowed, best_calibrated.cost, answer);
            answer = UserAnswer();
            answer.fail(proven ? Failure::deviation_out_of_reach : Failure::deviation_not_found, allowed,
                        proven ? nearest : best_calibrated.cost);
            return;
        }
    }
    curve_point(0.0, limits, tuning::end_gap, {}, most_relevant);
    if (most_relevant.failure != Failure::none || most_relevant.cost <= allowed) return to_answer(most_relevant, answer);
    if (best_calibrated.cost >= allowed) return to_answer(best_calibrated, answer);
    meet(limits, true, allowed, most_relevant, best_calibrated, answer);
}

// What rounding may make of the bound on the cost that a point of the curve proves. Weights alone do not tell: those of 1e20
// on shares of 1e-20 round away nothing.
double UserSolver::rounding_of_proof(const CurvePoint& point) {
    if (free_.all_pinned()) return tuning::cost_rounding * point.cost;
    set_objective_of_rows(point.balance, point.row_prices);
    return bound_rounding(free_.program(), point.row_prices) + tuning::cost_rounding * free_.settled_cost();
}

// What rounding may make of the cost itself: a part of what its shares and edges weigh. Edges after pages that were seen far
// more are differences of numbers as large as what was seen.
double UserSolver::rounding_of_cost(Reals shares) const {
    double weighed = 0.0, seen = 0.0, heaviest = 0.0;
    for (std::size_t place = 0; place < shares.size(); ++place) {
        const Penalty penalty = free_.penalty_of(place, 1.0);
        const double edge = shares[place] < penalty.low ? penalty.low : penalty.high;
        weighed += penalty.below * (shares[place] + std::min(std::abs(edge), 1.0 + penalty.base) + penalty.base);
        seen += penalty.below * penalty.base;
        heaviest = std::max(heaviest, penalty.below);
    }
    return std::min(tuning::rounding * weighed, tuning::cost_rounding * heaviest) + tuning::cost_rounding * seen;
}

// The point of the curve at the limit, between two points on either side of it. Relevance and cost both fall along the
// curve, from the most relevant point on. Steps go by the balance itself: beside scores of 1e16 no λ is near enough to 1.
void UserSolver::meet(const Limits& limits, bool limit_is_cost, double limit, const CurvePoint& most_relevant,
                      const CurvePoint& best_calibrated, UserAnswer& answer) {
    const auto measured = [&](const CurvePoint& point) { return limit_is_cost ? point.cost : point.relevance; };
    const auto left_share = [&](const CurvePoint& left, const CurvePoint& right) {
        const double here = measured(left), there = measured(right);
        return here > there ? std::clamp((limit - there) / (here - there), 0.0, 1.0) : 1.0;
    };
    const double heaviest = free_.heaviest_weight();
    // where relevance is what is limited, it is the cost that must be exact, however little relevance counts at this λ
    const auto cost_allowed = [&](Balance at) {
        return limit_is_cost ? 0.0 : limits.tolerance * at.calibration * std::min(heaviest, 1.0);
    };
    const bool straight = free_.question().smoothing == 0.0;
    watcher_.spend(1.0);
    Limits of_points = limits;  // the gap of the mix is that of the point that proves it and what the chord lost
    of_points.tolerance *= tuning::points_of_budget;
    if (watcher_.cut_short()) of_points.tolerance = std::max(of_points.tolerance, tuning::points_in_a_hurry);
    CurvePoint left = most_relevant, right = best_calibrated, point;
    const auto other = [&](const CurvePoint& point) { return limit_is_cost ? -point.relevance : point.cost; };
    const auto lost_by = [&](const CurvePoint& left, const CurvePoint& right) {
        const double share = left_share(left, right);
        return share * other(left) + (1.0 - share) * other(right);
    };
    Effort effort = most_relevant.effort;
    effort.add(best_calibrated.effort);
    double share = left_share(left, right);
    Balance balance, before{-1.0, -1.0};
    bool met = false;
    for (std::size_t step = 0; step < tuning::max_budget_solves && !met; ++step) {
        if (step > 0 && (effort.operations > tuning::most_operations || watcher_.stop())) break;
        balance = chord(left, right);
        if (!straight && step % 3 != 0 && left.balance.calibration > 0.0 && right.balance.relevance > 0.0) {
            // the measure falls about evenly with the logarithm of λ / (1 − λ)
            const double part = std::clamp(left_share(left, right), 0.02, 0.98);
            balance = balance_at(part * logit(left.balance) + (1.0 - part) * logit(right.balance));
        }
        if (balance.relevance == before.relevance && balance.calibration == before.calibration) break;  // rounding
        before = balance;
        solve_at(balance, of_points, {}, point);
        effort.add(point.effort);
        CurvePoint& side = measured(point) >= limit ? left : right;
        if (watcher_.stop()) {  // the point may make a worse mix than the one whose place it would take
            const double lost = lost_by(left, right);
            if (point.failure == Failure::none) std::swap(side, point);
            if (lost_by(left, right) > lost) std::swap(side, point);
            share = left_share(left, right);
            break;
        }
        if (point.failure != Failure::none) return to_answer(point, answer);
        side = point;
        share = left_share(left, right);
        const double lost = value_at(balance, point) - share * value_at(balance, left) - (1.0 - share) * value_at(balance, right);
        const double allowed = std::max(allowed_at(balance, point.row_prices, limits.tolerance), cost_allowed(balance));
        met = lost <= (1.0 - tuning::points_of_budget) * allowed;
    }
    point.effort = effort;
    if (!met) point.effort.status = Status::stalled;
    point.trade_off = trade_off_of(balance);
    point.balance = Balance::of(point.trade_off);  // that the answer is asked to prove its gap at
    mix(left, right, share, point, limits.tolerance, answer);
    if (watcher_.stop()) settle_for_sides(limit_is_cost, limit, left, right, limits.tolerance, answer);
    answer.allowed_gap = std::max(answer.allowed_gap, cost_allowed(point.balance));
}

// Time was over. The mix may be one that was not thinned to the end, and then one side has to do. The last point was cut short,
// and those on its sides prove the gap: the one that proves more of a unit of what is not limited, which at an end of the
// trade-off counts for nothing.
void UserSolver::settle_for_sides(bool limit_is_cost, double limit, const CurvePoint& left, const CurvePoint& right,
                                  double tolerance, UserAnswer& answer) {
    const double relevance = centred_relevance(answer.lottery);
    const bool within = limit_is_cost ? cost_of(shares_) <= limit + tuning::limit_slack
                                      : relevance >= limit - tuning::budget_slack * spread();
    if (!within || free_.missed_limits(shares_).first > tuning::limit_slack)
        answer.lottery = limit_is_cost ? right.lottery : left.lottery;
    const auto units = [&](double trade_off) { return limit_is_cost ? 1.0 - trade_off : trade_off; };
    double least = std::numeric_limits<double>::infinity();
    for (const CurvePoint* point : {&left, &right}) {
        const double trade_off = trade_off_of(point->balance);
        const double gap = gap_by_rows(Balance::of(trade_off), answer.lottery, point->row_prices);
        if (!(units(trade_off) > 0.0) || gap / units(trade_off) > least) continue;
        least = gap / units(trade_off);
        answer.gap = gap;
        answer.trade_off = trade_off;
        answer.allowed_gap = unwarned_at(Balance::of(trade_off), tolerance);
        free_.to_reported_prices(point->row_prices, trade_off, answer.prices);
    }
}

// The lottery that is `left` with probability `share` and `right` otherwise, as a policy for the λ and the prices of `proof`.
void UserSolver::mix(const CurvePoint& left, const CurvePoint& right, double share, const CurvePoint& proof,
                     double tolerance, UserAnswer& answer) {
    mixed_.clear(free_.question().k());
    for (const auto& [point, chance] : {std::pair(&left, share), std::pair(&right, 1.0 - share)})
        for (std::size_t at = 0; at < point->lottery.size(); ++at)
            if (chance * point->lottery.weights[at] > 0.0)
                mixed_.add_or_merge(point->lottery.ranking(at), chance * point->lottery.weights[at]);
    free_.set_objective({1.0 / spread(), 0.0}, 0.0);  // relevance counts as much as shares do, whatever the λ
    free_.to_free(mixed_, free_lottery_);
    sweep_begun_ = false;
    const double operations = engines_.thin(free_.program(), free_lottery_, thinned_);
    answer.failure = Failure::none;
    free_.to_whole(thinned_, answer.lottery);
    answer.trade_off = proof.trade_off;
    answer.engine = proof.engine;
    answer.effort = proof.effort;
    answer.effort.operations += operations;
    answer.gap = gap_by_rows(proof.balance, answer.lottery, proof.row_prices);
    answer.allowed_gap = unwarned_at(proof.balance, tolerance);
    free_.to_reported_prices(proof.row_prices, proof.balance.calibration, answer.prices);
}

}  // namespace excalibr
