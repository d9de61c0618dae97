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

double relevance_of(const Question& question, Reals exposure) {
    double relevance = 0.0;
    for (std::size_t candidate = 0; candidate < exposure.size(); ++candidate)
        if (exposure[candidate] != 0.0) relevance += exposure[candidate] * question.scores[candidate];
    return relevance;
}

}  // namespace

RangeSolver::RangeSolver() : solver_(watcher_), redrawing_(watcher_) {}
RangeSolver::~RangeSolver() = default;

void RangeSolver::solve(const Users& users, std::size_t first, std::size_t last, RangeAnswer& answer) {
    for (std::size_t user = first; user < last; ++user) {
        watcher_.begin(users.time_limit);
        clear_answer();  // for users of whom nothing is asked
        const auto asked = static_cast<Asked>(users.asked[user]);
        if (asked != Asked::nothing && !watcher_.interrupted()) {
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
        write(answer);
    }
}

void RangeSolver::clear_answer() {
    answer_.lottery.clear(0);
    answer_.failure = Failure::none;
    answer_.engine = Engine::none;
    answer_.effort = {Status::converged, 0, 0};
    answer_.gap = answer_.allowed_gap = answer_.trade_off = answer_.objective = nan;
    answer_.prices.clear();
    answer_.limit_prices.clear();
}

const UserAnswer& RangeSolver::solve_one(const Users& users, std::size_t user) {
    clear_answer();
    watcher_.begin(users.time_limit);
    watcher_.solve_until(users.draws == Draws::lottery ? tuning::solving_part : tuning::solving_part_before_search);
    solver_.load(question_of(users, user));
    if (!solver_.free_part().is_bounded(tuning::largest_number)) {
        answer_.fail(Failure::numbers_too_large, tuning::largest_number, 0.0);
        return answer_;
    }
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
    const bool settled = solver_.settle_in_time(users.aim, users.budget, answer_);
    if (answer_.failure != Failure::none) return answer_;
    const bool as_solved = !settled && users.aim == Aim::trade_off && users.draws == Draws::lottery && users.item_prices.empty();
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
    question_.r = users.r;
    question_.weights = users.weights;
    take_target(users, user);
    question_.floors = users.floors;
    question_.caps = users.caps;
    question_.floored = users.floored;
    question_.smoothing = users.smoothing;
    question_.item_prices = users.item_prices;
    if (!users.unavailable.empty()) question_.unavailable = users.unavailable.subspan(begin, end - begin);
    question_.pinned_slots = pinned_slots_;
    question_.pinned_candidates = pinned_candidates_;
    question_.group_of_item = users.group_of_item;
    question_.group_limits = users.group_limits;
    question_.position_weights = users.position_weights.subspan(static_cast<std::size_t>(users.weight_starts[user]),
                                                                static_cast<std::size_t>(users.slots[user]));
    return question_;
}

// What is wanted of the categories that the user's target lists, and of the others.
void RangeSolver::take_target(const Users& users, std::size_t user) {
    const std::size_t row = users.targets.starts.size() == 2 ? 0 : user, attributes = users.ends.size();
    const Index first = users.targets.starts[row], size = users.targets.starts[row + 1] - first;
    question_.ends = users.ends;
    question_.listed = users.targets.columns.subspan(first, size);
    question_.low = users.targets.values.subspan(first, size);
    question_.high = users.highs.empty() ? question_.low : users.highs.subspan(first, size);
    if (!users.rest.empty() || users.relative) {
        unlisted_.assign(attributes, Unlisted());
        for (std::size_t attribute = 0; !users.rest.empty() && attribute < attributes; ++attribute)
            unlisted_[attribute].high = users.rest[row * attributes + attribute];
        question_.unlisted = unlisted_;
    }
    if (users.relative) divide_by_target();
    if (!users.page_parts.empty()) take_off_earlier_pages(users, user);
}

// Weights relative to the targets, or to the middle of bands: a category that nobody wants costs as much as the least wanted
// one of its attribute.
void RangeSolver::divide_by_target() {
    const std::size_t listed = question_.listed.size();
    divisors_.resize(listed);
    std::size_t at = 0, before = 0;
    for (std::size_t attribute = 0; attribute < unlisted_.size(); ++attribute) {
        const auto end = static_cast<std::size_t>(question_.ends[attribute]);
        const std::size_t begin = at;
        double& others = unlisted_[attribute].divisor;
        others = 0.5 * unlisted_[attribute].high;
        for (; at < listed && question_.listed[at] < end; ++at)
            divisors_[at] = 0.5 * (question_.low[at] + question_.high[at]);
        const MutableReals own = std::span(divisors_).subspan(begin, at - begin);
        double least = own.size() < end - before && others > 0.0 ? others : std::numeric_limits<double>::infinity();
        for (const double middle : own)
            if (middle > 0.0) least = std::min(least, middle);
        if (std::isinf(least)) least = 1.0;
        for (double& middle : own)
            if (!(middle > 0.0)) middle = least;
        if (!(others > 0.0)) others = least;
        before = end;
    }
    question_.divisors = divisors_;
}

// This page's part of what is wanted in all, less what was seen before.
void RangeSolver::take_off_earlier_pages(const Users& users, std::size_t user) {
    Index seen = users.seen.starts[user];
    const Index last = users.seen.starts[user + 1];
    if (seen == last) return;
    const double part = users.page_parts[user];
    const Question given = question_;
    for (auto* numbers : {&low_, &high_, &base_, &merged_divisors_}) numbers->clear();
    listed_.clear();
    std::size_t at = 0, attribute = 0;
    while (at < given.listed.size() || seen < last) {
        const bool is_listed = at < given.listed.size() && (seen == last || given.listed[at] <= users.seen.columns[seen]);
        const Index category = is_listed ? given.listed[at] : users.seen.columns[seen];
        const bool is_seen = seen < last && users.seen.columns[seen] == category;
        while (static_cast<std::int64_t>(category) >= given.ends[attribute]) ++attribute;
        const Unlisted others = given.unlisted.empty() ? Unlisted() : given.unlisted[attribute];
        const double base = is_seen ? users.seen.values[seen] : 0.0;
        listed_.push_back(category);
        low_.push_back((is_listed ? given.low[at] : 0.0) / part - base);
        high_.push_back((is_listed ? given.high[at] : others.high) / part - base);
        base_.push_back(base);
        if (!given.divisors.empty()) merged_divisors_.push_back(is_listed ? given.divisors[at] : others.divisor);
        at += is_listed ? 1 : 0;
        seen += is_seen ? 1 : 0;
    }
    for (Unlisted& others : unlisted_) others.high /= part;
    question_.listed = listed_;
    question_.low = low_;
    question_.high = high_;
    question_.base = base_;
    question_.divisors = merged_divisors_;
}

// The most relevant ranking: the best scores in the heaviest slots, pinned items in theirs.
void RangeSolver::order_by_relevance() {
    FreePart& free = solver_.free_part();
    free.load(question_);
    answer_.lottery.clear(question_.k());
    free.most_relevant(answer_.lottery);
    answer_.trade_off = nan;
}

void Batched::add(const ByCategory& own) {
    counts.push_back(static_cast<std::int64_t>(own.categories.size()));
    categories.insert(categories.end(), own.categories.begin(), own.categories.end());
    values.insert(values.end(), own.values.begin(), own.values.end());
}

void RangeSolver::write(RangeAnswer& answer) {
    const Lottery& lottery = answer_.lottery;
    answer.places.insert(answer.places.end(), lottery.rankings.begin(), lottery.rankings.end());
    answer.weights.insert(answer.weights.end(), lottery.weights.begin(), lottery.weights.end());
    answer.counts.push_back(static_cast<std::int64_t>(lottery.size()));
    answer.prices.add(answer_.prices);
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
    answer.limit_prices.add(answer_.limit_prices);
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
    const FreePart& free = solver_.free_part();
    free.expose(answer_.lottery, exposure_, shares_);
    row[0] = relevance_of(question_, exposure_);
    row[1] = free.deviation(shares_);
    row[4] = row[5] = 0.0;
    lottery_.clear(question_.k());
    for (std::size_t at = 0; at < weights.size(); ++at) {
        Lottery one;
        one.clear(question_.k());
        one.add(places.subspan(at * question_.k(), question_.k()), 1.0);
        free.expose(one, exposure_, shares_);
        const double deviation = free.deviation(shares_);
        row[4] += weights[at] * deviation;
        row[5] = std::max(row[5], deviation);
        lottery_.add(one.ranking(0), weights[at]);
    }
    free.expose(lottery_, exposure_, shares_);
    row[2] = relevance_of(question_, exposure_);
    row[3] = free.deviation(shares_);
}

}  // namespace excalibr
