#include "range.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <new>
#include <numeric>

#include "tuning.hpp"

namespace excalibr {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

Reals row_of(Reals rows, std::size_t r, std::size_t user) { return rows.empty() ? rows : rows.subspan(user * r, r); }

// Σ_j of how far each share is from its target, or from the nearer edge of its band.
double deviation_of(const Question& question, Reals shares) {
    double total = 0.0;
    for (std::size_t category = 0; category < shares.size(); ++category)
        total += std::max(question.low[category] - shares[category], 0.0) +
                 std::max(shares[category] - question.high[category], 0.0);
    return total;
}

double relevance_of(const Question& question, Reals exposure) {
    double relevance = 0.0;
    for (std::size_t candidate = 0; candidate < exposure.size(); ++candidate)
        if (exposure[candidate] != 0.0) relevance += exposure[candidate] * question.scores[candidate];
    return relevance;
}

}  // namespace

RangeSolver::RangeSolver() = default;
RangeSolver::~RangeSolver() = default;

void RangeSolver::solve(const Users& users, std::size_t first, std::size_t last, const std::function<bool()>& stop,
                        RangeAnswer& answer) {
    bool stopped = false;
    for (std::size_t user = first; user < last; ++user) {
        stopped = stopped || stop();
        clear_answer(users.r);  // for users of whom nothing is asked
        const auto asked = static_cast<Asked>(users.asked[user]);
        if (asked != Asked::nothing && !stopped) {
            try {
                if (asked == Asked::solution) {
                    solve_one(users, user);
                } else {
                    question_of(users, user);
                    order_by_relevance();
                }
            } catch (const std::bad_alloc&) {  // memory that one user needs too much of stops nobody else
                answer_ = UserAnswer();
                answer_.fail(Failure::out_of_memory, 0.0, 0.0);
            }
        }
        write(users, answer);
    }
}

void RangeSolver::clear_answer(std::size_t r) {
    answer_.lottery.clear(0);
    answer_.failure = Failure::none;
    answer_.engine = Engine::none;
    answer_.effort = {Status::converged, 0, 0};
    answer_.gap = answer_.allowed_gap = answer_.trade_off = answer_.objective = nan;
    answer_.prices.assign(r, nan);
    answer_.limit_prices.clear();
}

const UserAnswer& RangeSolver::solve_one(const Users& users, std::size_t user) {
    clear_answer(users.r);
    question_of(users, user);
    if (!question_.is_bounded(tuning::largest_number)) {
        answer_.fail(Failure::numbers_too_large, tuning::largest_number, 0.0);
        return answer_;
    }
    solver_.load(question_);
    if (const std::size_t room = solver_.free_part().room(); room < question_.k()) {
        answer_.fail(Failure::too_few_candidates, static_cast<double>(question_.k()), static_cast<double>(room));
        return answer_;
    }
    if (users.aim == Aim::relevance_loss)
        solver_.within_relevance_loss(users.budget, users.limits, answer_);
    else if (users.aim == Aim::max_deviation)
        solver_.within_deviation(users.budget, users.limits, answer_);
    else
        solver_.solve(users.trade_offs[user], users.limits, answer_);
    if (answer_.failure == Failure::none && users.draws != Draws::lottery)
        redrawing_.redraw(users.draws, users.aim, users.budget, solver_, answer_);
    if (answer_.failure != Failure::none) return answer_;
    const bool as_solved = users.aim == Aim::trade_off && users.draws == Draws::lottery && users.item_prices.empty();
    if (!as_solved) answer_.objective = solver_.objective_at(answer_.trade_off, answer_.lottery);
    answer_.objective += (1.0 - answer_.trade_off) * solver_.best_score();
    return answer_;
}

const Question& RangeSolver::question_of(const Users& users, std::size_t user) {
    const auto begin = static_cast<std::size_t>(users.starts[user]), end = static_cast<std::size_t>(users.starts[user + 1]);
    items_.resize(end - begin);
    if (users.items.empty())
        std::iota(items_.begin(), items_.end(), static_cast<Index>(begin));
    else
        std::copy_n(users.items.begin() + static_cast<std::ptrdiff_t>(begin), end - begin, items_.begin());
    pinned_slots_.clear();
    pinned_candidates_.clear();
    if (!users.pinned_starts.empty())
        for (auto pin = users.pinned_starts[user]; pin < users.pinned_starts[user + 1]; ++pin) {
            pinned_slots_.push_back(static_cast<Index>(users.pinned_slots[pin]));
            pinned_candidates_.push_back(static_cast<Index>(users.pinned_candidates[pin]));
        }
    question_ = Question();
    question_.scores = users.scores.subspan(begin, end - begin);
    question_.items = items_;
    question_.table = users.table;
    question_.low = row_of(users.lows, users.r, user);
    question_.high = row_of(users.highs, users.r, user);
    question_.weights = users.weights.size() == users.r ? users.weights : row_of(users.weights, users.r, user);
    question_.base = row_of(users.bases, users.r, user);
    question_.floors = users.floors;
    question_.caps = users.caps;
    question_.smoothing = users.smoothing;
    question_.item_prices = users.item_prices;
    if (!users.unavailable.empty()) question_.unavailable = users.unavailable.subspan(begin, end - begin);
    question_.pinned_slots = pinned_slots_;
    question_.pinned_candidates = pinned_candidates_;
    question_.group_of_item = users.group_of_item;
    question_.group_limits = users.group_limits;
    question_.position_weights = users.position_weights.subspan(static_cast<std::size_t>(users.weight_starts[user]),
                                                                static_cast<std::size_t>(users.slots[user]));
    question_.trade_off = users.trade_offs[user];
    return question_;
}

// The most relevant ranking: the best scores in the heaviest slots, pinned items in theirs.
void RangeSolver::order_by_relevance() {
    FreePart& free = solver_.free_part();
    free.load(question_);
    answer_.lottery.clear(question_.k());
    free.most_relevant(answer_.lottery);
    answer_.trade_off = nan;
}

void RangeSolver::write(const Users& users, RangeAnswer& answer) {
    const Lottery& lottery = answer_.lottery;
    const std::size_t written = answer.counts.size();
    answer.places.insert(answer.places.end(), lottery.rankings.begin(), lottery.rankings.end());
    answer.weights.insert(answer.weights.end(), lottery.weights.begin(), lottery.weights.end());
    answer.counts.push_back(static_cast<std::int64_t>(lottery.size()));
    answer_.prices.resize(users.r, nan);
    answer.prices.insert(answer.prices.end(), answer_.prices.begin(), answer_.prices.end());
    answer.gaps.push_back(answer_.gap);
    answer.allowed_gaps.push_back(answer_.allowed_gap);
    answer.trade_offs.push_back(answer_.trade_off);
    answer.objectives.push_back(answer_.failure == Failure::none ? answer_.objective : nan);
    answer.statuses.push_back(static_cast<std::int64_t>(answer_.effort.status));
    answer.engines.push_back(static_cast<std::int64_t>(answer_.engine));
    answer.sorts.push_back(static_cast<std::int64_t>(answer_.effort.sorts));
    answer.steps.push_back(static_cast<std::int64_t>(answer_.effort.steps));
    answer.failures.push_back(static_cast<std::int64_t>(answer_.failure));
    for (const double detail : {static_cast<double>(answer_.category), answer_.wanted, answer_.reached})
        answer.details.push_back(detail);
    if (answer_.failure != Failure::limits_conflict && answer.limit_prices.empty()) return;
    answer.limit_prices.resize(written * users.r, 0.0);
    if (answer_.failure == Failure::limits_conflict)
        answer.limit_prices.insert(answer.limit_prices.end(), answer_.limit_prices.begin(), answer_.limit_prices.end());
    answer.limit_prices.resize((written + 1) * users.r, 0.0);
}

void RangeSolver::measure(const Users& users, Indices places, Reals weights, std::span<const std::int64_t> counts,
                          std::size_t first, std::size_t last, std::vector<double>& measured) {
    measured.assign((last - first) * 6, nan);
    std::size_t place = 0, ranking = 0;
    for (std::size_t user = first; user < last; ++user) {
        const auto count = static_cast<std::size_t>(counts[user - first]);
        if (count == 0) continue;
        question_of(users, user);
        measure_user(places.subspan(place, count * question_.k()), weights.subspan(ranking, count),
                     std::span(measured).subspan((user - first) * 6, 6));
        place += count * question_.k();
        ranking += count;
    }
}

void RangeSolver::measure_user(Indices places, Reals weights, std::span<double> row) {
    order_by_relevance();
    expose(question_, answer_.lottery, exposure_, shares_);
    row[0] = relevance_of(question_, exposure_);
    row[1] = deviation_of(question_, shares_);
    row[4] = row[5] = 0.0;
    lottery_.clear(question_.k());
    for (std::size_t at = 0; at < weights.size(); ++at) {
        Lottery one;
        one.clear(question_.k());
        one.add(places.subspan(at * question_.k(), question_.k()), 1.0);
        expose(question_, one, exposure_, shares_);
        const double deviation = deviation_of(question_, shares_);
        row[4] += weights[at] * deviation;
        row[5] = std::max(row[5], deviation);
        lottery_.add(one.ranking(0), weights[at]);
    }
    expose(question_, lottery_, exposure_, shares_);
    row[2] = relevance_of(question_, exposure_);
    row[3] = deviation_of(question_, shares_);
}

}  // namespace excalibr
