// What a user is answered when time was over first, and what a caller reads on the way.
#include <algorithm>
#include <cstdio>
#include <limits>

#include "tuning.hpp"
#include "user.hpp"

namespace excalibr {

bool UserSolver::settle_in_time(Aim aim, double budget, UserAnswer& answer) {
    if (!watcher_.cut_short()) return false;
    answer.effort.status = Status::time_limit_reached;
    const bool solved = answer.failure == Failure::none;
    const bool lacks = answer.failure == Failure::limits_need_time || answer.failure == Failure::budget_needs_time ||
                       answer.failure == Failure::single_needs_time;
    if (!solved && !lacks) return true;
    const double own = solved ? worth(aim, answer.trade_off, answer.lottery) : -std::numeric_limits<double>::infinity();
    Lottery order;
    order.clear(free_.question().k());
    free_.most_relevant(order);
    if (worth(aim, answer.trade_off, order) > own && keeps(aim, budget)) {
        answer.failure = Failure::none;
        answer.lottery = order;
        answer.gap = gap_at(answer.trade_off, order, answer.prices.values);
    } else if (lacks) {
        answer.lottery.clear(0);
        answer.prices.clear();
    }
    return true;
}

// What a lottery that keeps limits and budget is judged by.
double UserSolver::worth(Aim aim, double trade_off, const Lottery& lottery) {
    if (aim == Aim::trade_off) return objective_at(trade_off, lottery);
    relevance_ = centred_relevance(lottery);
    return aim == Aim::max_deviation ? relevance_ : -cost_of(shares_);
}

// Whether the lottery that was judged last keeps them.
bool UserSolver::keeps(Aim aim, double budget) {
    if (free_.missed_limits(shares_).first > tuning::limit_slack) return false;
    if (aim == Aim::relevance_loss) return relevance_ >= relevance_floor(budget) - tuning::budget_slack * spread();
    return aim != Aim::max_deviation || cost_of(shares_) <= budget + tuning::limit_slack;
}

// Time was over before a policy was found that keeps the limits: the one that is missed the most is told, and what there is
// stays in the point and in the answer.
void UserSolver::lack_time(CurvePoint& point) {
    const Question& question = free_.question();
    double most = 0.0;
    conflict_ = UserAnswer();
    conflict_.failure = point.failure = Failure::limits_need_time;
    for (const Index place : free_.limited()) {
        const Index category = free_.categories()[place];
        const double share = shares_[place], floor = question.floors[category], cap = question.caps[category];
        const double missed = std::max(floor - share, share - cap);
        if (missed <= most) continue;
        most = missed;
        conflict_.fail(Failure::limits_need_time, share < floor ? floor : cap, share, category);
    }
}

// Time was over before a point was found that keeps the budget; what there is stays in the answer.
void UserSolver::lack_time(const CurvePoint& point, double wanted, double reached, UserAnswer& answer) {
    to_answer(point, answer);
    answer.fail(Failure::budget_needs_time, wanted, reached);
}

// For `verbose`: what the iterations that follow solve.
void UserSolver::tell_program(Balance balance) {
    if (!watcher_.verbose()) return;
    const Question& question = free_.question();
    double open = 0.0;
    for (const double weight : free_.program().position_weights) open += weight;
    watcher_.fixed = balance.relevance * open * range_of(free_.scores()).second - balance.calibration * free_.settled_cost();
    for (std::size_t pin = 0; pin < question.pinned_slots.size(); ++pin) {
        const Index candidate = question.pinned_candidates[pin];
        const double paid = question.item_prices.empty() ? 0.0 : question.item_prices[question.items[candidate]];
        const double gain = balance.relevance * question.scores[candidate] - paid;
        watcher_.fixed += question.position_weights[question.pinned_slots[pin]] * gain;
    }
    char line[160];
    std::snprintf(line, sizeof line, "relevance counts %.6g, deviation %.6g: %zu candidates, %zu slots, %zu categories",
                  balance.relevance, balance.calibration, free_.program().n(), free_.program().k(), free_.program().r());
    watcher_.tell(line);
    watcher_.tell("engine     step  sorts          objective              bound       gap  rho, pool");
}

}  // namespace excalibr
