#include "presolve.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "tuning.hpp"

namespace excalibr {

void FreePart::load(const Question& question) {
    question_ = &question;
    limited_.clear();
    for (Index category = 0; category < question.floors.size(); ++category)
        if (std::isfinite(question.floors[category]) || std::isfinite(question.caps[category]))
            limited_.push_back(category);
    program_.repeated_rows = limited_.size();
    choose_candidates();
    load_limit_units();
    load_rows();
    load_groups();
    program_.position_weights.clear();
    for (const Index slot : open_slots_) program_.position_weights.push_back(question.position_weights[slot]);
}

void FreePart::choose_candidates() {
    const Question& question = *question_;
    slot_is_pinned_.assign(question.k(), 0);
    is_free_.assign(question.n(), 1);
    for (std::size_t candidate = 0; candidate < question.unavailable.size(); ++candidate)
        is_free_[candidate] = question.unavailable[candidate] ? 0 : 1;
    pinned_shares_.assign(question.r(), 0.0);
    for (std::size_t pin = 0; pin < question.pinned_slots.size(); ++pin) {
        const Index slot = question.pinned_slots[pin], candidate = question.pinned_candidates[pin];
        slot_is_pinned_[slot] = 1;
        is_free_[candidate] = 0;
        const Index item = question.items[candidate];
        for (Index entry = question.table.starts[item]; entry < question.table.starts[item + 1]; ++entry)
            pinned_shares_[question.table.columns[entry]] +=
                question.position_weights[slot] * question.table.values[entry];
    }
    candidates_.clear();
    scores_.clear();
    item_prices_.clear();
    place_of_.assign(question.n(), 0);
    for (Index candidate = 0; candidate < question.n(); ++candidate) {
        if (!is_free_[candidate]) continue;
        place_of_[candidate] = static_cast<Index>(candidates_.size());
        candidates_.push_back(candidate);
        scores_.push_back(question.scores[candidate]);
        if (!question.item_prices.empty()) item_prices_.push_back(question.item_prices[question.items[candidate]]);
    }
    centre_scores();
    open_slots_.clear();
    for (Index slot = 0; slot < question.k(); ++slot)
        if (!slot_is_pinned_[slot]) open_slots_.push_back(slot);
}

// The scores less the best one, before anything multiplies them: an offset that all share then rounds no difference away.
void FreePart::centre_scores() {
    program_.scores.clear();
    if (scores_.empty()) return;
    const auto [least, most] = range_of(scores_);
    const bool differ = most - least >= tuning::least_spread;
    for (const double score : scores_) program_.scores.push_back(differ ? score - most : 0.0);
}

// The largest share that a free candidate has of each limited category, as a power of two: what its limit is measured by,
// so that a slope is as steep for a category of which nobody has much as for the others.
void FreePart::load_limit_units() {
    const Question& question = *question_;
    limit_units_.assign(limited_.size(), 0.0);
    if (!limited()) return;
    values_.assign(question.r(), 0.0);
    for (const Index candidate : candidates_) {
        const Index item = question.items[candidate];
        for (Index entry = question.table.starts[item]; entry < question.table.starts[item + 1]; ++entry) {
            double& most = values_[question.table.columns[entry]];
            most = std::max(most, question.table.values[entry]);
        }
    }
    for (std::size_t limit = 0; limit < limited_.size(); ++limit) {
        const double most = values_[limited_[limit]];
        limit_units_[limit] = most > tuning::least_limit_unit ? std::exp2(std::floor(std::log2(most))) : 1.0;
    }
}

// The free candidates' rows, with each limited category's entry once more in a column of its limit, in its unit.
void FreePart::load_rows() {
    const Question& question = *question_;
    SparseRows& rows = program_.rows;
    std::vector<Index> limit_of;
    if (limited()) {
        limit_of.assign(question.r(), static_cast<Index>(-1));
        for (Index limit = 0; limit < limited_.size(); ++limit)
            limit_of[limited_[limit]] = static_cast<Index>(question.r()) + limit;
    }
    rows.starts.assign(1, 0);
    rows.columns.clear();
    rows.values.clear();
    for (const Index candidate : candidates_) {
        const Index item = question.items[candidate], first = question.table.starts[item],
                    last = question.table.starts[item + 1];
        rows.columns.insert(rows.columns.end(), question.table.columns.begin() + first, question.table.columns.begin() + last);
        rows.values.insert(rows.values.end(), question.table.values.begin() + first, question.table.values.begin() + last);
        for (Index entry = first; limited() && entry < last; ++entry) {
            const Index limit = limit_of[question.table.columns[entry]];
            if (limit == static_cast<Index>(-1)) continue;
            rows.columns.push_back(limit);
            rows.values.push_back(question.table.values[entry] / limit_units_[limit - question.r()]);
        }
        rows.starts.push_back(static_cast<Index>(rows.columns.size()));
    }
}

// The groups that a sort must still watch, with the room that pinned items leave; none where no ranking can break them.
void FreePart::load_groups() {
    const Question& question = *question_;
    program_.group_of.clear();
    program_.group_limits.assign(question.group_limits.begin(), question.group_limits.end());
    if (question.group_limits.empty()) return;
    for (const Index candidate : question.pinned_candidates) {
        const std::int32_t group = question.group_of_item[question.items[candidate]];
        if (group >= 0 && program_.group_limits[group] > 0) --program_.group_limits[group];
    }
    std::vector<std::size_t> members(program_.group_limits.size(), 0);
    for (const Index candidate : candidates_) {
        const std::int32_t group = question.group_of_item[question.items[candidate]];
        program_.group_of.push_back(group);
        if (group >= 0) ++members[group];
    }
    for (std::size_t group = 0; group < members.size(); ++group)
        if (std::min(members[group], open_slots_.size()) > program_.group_limits[group]) return;
    program_.group_of.clear();
    program_.group_limits.clear();
}

std::pair<double, double> FreePart::score_range() const {
    double least = std::numeric_limits<double>::infinity(), most = -least;
    const auto take = [&](double score) {
        least = std::min(least, score);
        most = std::max(most, score);
    };
    for (const double score : scores_) take(score);
    for (const Index candidate : question_->pinned_candidates) take(question_->scores[candidate]);
    return {most, most - least};
}

std::size_t FreePart::room() const {
    std::vector<std::size_t> left(program_.group_limits.begin(), program_.group_limits.end());
    std::size_t room = question_->pinned_slots.size();
    for (std::size_t candidate = 0; candidate < candidates_.size(); ++candidate) {
        const std::int32_t group = program_.group_of.empty() ? -1 : program_.group_of[candidate];
        if (group >= 0 && left[group] == 0) continue;
        if (group >= 0) --left[group];
        ++room;
    }
    return room;
}

Penalty FreePart::penalty_of(std::size_t category, double calibration) const {
    const Question& question = *question_;
    const double weight = calibration * question.weights[category];
    const double base = question.base.empty() ? 0.0 : question.base[category];
    return {question.low[category], question.high[category], weight, weight, question.smoothing, base};
}

void FreePart::set_objective(Balance balance, double steepness) {
    const Question& question = *question_;
    program_.gains.resize(scores_.size());
    for (std::size_t candidate = 0; candidate < scores_.size(); ++candidate)
        program_.gains[candidate] =
            balance.relevance * program_.scores[candidate] - (item_prices_.empty() ? 0.0 : item_prices_[candidate]);
    program_.penalties.clear();
    for (std::size_t category = 0; category < question.r(); ++category) {
        Penalty penalty = penalty_of(category, balance.calibration);
        penalty.low -= pinned_shares_[category];
        penalty.high -= pinned_shares_[category];
        penalty.base += pinned_shares_[category];
        program_.penalties.push_back(penalty);
    }
    for (std::size_t limit = 0; limit < limited_.size(); ++limit) {
        const Index category = limited_[limit];
        const double floor = question.floors[category], cap = question.caps[category], pinned = pinned_shares_[category];
        Penalty hard;
        hard.high = ((std::isfinite(cap) ? cap : 1.0) - pinned) / limit_units_[limit];
        hard.low = std::min(std::isfinite(floor) ? (floor - pinned) / limit_units_[limit] : 0.0, hard.high);
        hard.below = std::isfinite(floor) ? steepness : 0.0;
        hard.above = std::isfinite(cap) ? steepness : 0.0;
        program_.penalties.push_back(hard);
    }
}

const Program& FreePart::limits_alone() {
    const auto first = static_cast<Index>(question_->r());  // of the limits' columns
    set_objective(Balance::of(1.0), 1.0);
    limits_alone_ = program_;
    limits_alone_.repeated_rows = 0;
    limits_alone_.gains.assign(program_.n(), 0.0);
    limits_alone_.penalties.erase(limits_alone_.penalties.begin(), limits_alone_.penalties.begin() + first);
    for (std::size_t limit = 0; limit < limited_.size(); ++limit) {
        limits_alone_.penalties[limit].below *= limit_units_[limit];
        limits_alone_.penalties[limit].above *= limit_units_[limit];
    }
    SparseRows& rows = limits_alone_.rows;
    rows = {{0}, {}, {}};
    for (std::size_t candidate = 0; candidate < program_.n(); ++candidate) {
        for (Index entry = program_.rows.starts[candidate]; entry < program_.rows.starts[candidate + 1]; ++entry) {
            if (program_.rows.columns[entry] < first) continue;
            rows.columns.push_back(program_.rows.columns[entry] - first);
            rows.values.push_back(program_.rows.values[entry]);
        }
        rows.starts.push_back(static_cast<Index>(rows.columns.size()));
    }
    return limits_alone_;
}

void FreePart::to_whole(const Lottery& free, Lottery& whole) const {
    const Question& question = *question_;
    whole.clear(question.k());
    whole.weights = free.weights;
    whole.rankings.resize(free.size() * question.k());
    for (std::size_t at = 0; at < free.size(); ++at) {
        const MutableIndices ranking = std::span(whole.rankings).subspan(at * question.k(), question.k());
        const Indices own = free.ranking(at);
        for (std::size_t place = 0; place < open_slots_.size(); ++place) ranking[open_slots_[place]] = candidates_[own[place]];
        for (std::size_t pin = 0; pin < question.pinned_slots.size(); ++pin)
            ranking[question.pinned_slots[pin]] = question.pinned_candidates[pin];
    }
}

void FreePart::to_free(const Lottery& whole, Lottery& free) const {
    free.clear(open_slots_.size());
    free.weights = whole.weights;
    for (std::size_t at = 0; at < whole.size(); ++at)
        for (const Index slot : open_slots_) free.rankings.push_back(place_of_[whole.ranking(at)[slot]]);
}

// How much lower the prices of a KL penalty are reported than its slopes: −w(1 − α)·q/u, not w(1 − α)(1 − q/u). The
// difference is the same for every candidate where weights are equal, and changes no ranking.
static double price_offset(const Penalty& penalty) {
    return penalty.curved() ? (1.0 - penalty.smoothing) * penalty.above : 0.0;
}

void FreePart::to_reported_prices(Reals by_row, double calibration, std::vector<double>& reported) const {
    const std::size_t r = question_->r();
    reported.assign(by_row.begin(), by_row.begin() + static_cast<std::ptrdiff_t>(r));
    for (std::size_t category = 0; category < r; ++category) {
        const Penalty penalty = penalty_of(category, calibration);
        if (penalty.curved())  // a price of 0 must not round to more
            reported[category] = std::min(reported[category] - price_offset(penalty), 0.0);
    }
    for (std::size_t limit = 0; limit < limited_.size(); ++limit)
        reported[limited_[limit]] += by_row[r + limit] / limit_units_[limit];
}

void FreePart::to_row_prices(Reals reported, double calibration, std::vector<double>& by_row) const {
    const Question& question = *question_;
    by_row.assign(reported.begin(), reported.end());
    for (std::size_t category = 0; category < question.r(); ++category)
        by_row[category] += price_offset(penalty_of(category, calibration));
    for (std::size_t limit = 0; limit < limited_.size(); ++limit) {
        const Index category = limited_[limit];
        const Penalty penalty = penalty_of(category, calibration);
        const double floor = question.floors[category], cap = question.caps[category], price = by_row[category];
        double own = price;
        if (std::isfinite(floor)) own = std::max(own, penalty.slope(floor, false));
        if (std::isfinite(cap)) own = std::min(own, penalty.slope(cap, true));
        by_row[category] = own;
        double rest = price - own;
        if (!std::isfinite(floor)) rest = std::max(rest, 0.0);
        if (!std::isfinite(cap)) rest = std::min(rest, 0.0);
        by_row.push_back(rest * limit_units_[limit]);
    }
}

std::pair<double, double> FreePart::missed_limits(Reals shares) const {
    double most = 0.0, total = 0.0;
    for (const Index category : limited_) {
        const double missed =
            std::max({question_->floors[category] - shares[category], shares[category] - question_->caps[category], 0.0});
        most = std::max(most, missed);
        total += missed;
    }
    return {most, total};
}

std::pair<double, double> FreePart::extremes(Reals values) {
    const Question& question = *question_;
    double pinned = 0.0;
    for (std::size_t pin = 0; pin < question.pinned_slots.size(); ++pin)
        pinned += values[question.pinned_candidates[pin]] * question.position_weights[question.pinned_slots[pin]];
    const std::size_t n = candidates_.size(), k = open_slots_.size();
    sort_slots();
    std::vector<double> keys(n);
    double found[2];
    for (const double sign : {1.0, -1.0}) {
        for (std::size_t candidate = 0; candidate < n; ++candidate) keys[candidate] = sign * values[candidates_[candidate]];
        oracle_.best_ranking(keys, k, order_, scratch_);
        double value = 0.0;
        for (std::size_t rank = 0; rank < k; ++rank)
            value += program_.position_weights[slot_order_[rank]] * values[candidates_[order_[rank]]];
        found[sign > 0.0 ? 1 : 0] = value + pinned;
    }
    return {found[0], found[1]};
}

// The open slots, heaviest first, and room for an order of the candidates.
void FreePart::sort_slots() {
    scratch_.resize(std::max(candidates_.size(), open_slots_.size()));
    slot_order_.resize(open_slots_.size());
    fill_identity(slot_order_);
    sort_descending(program_.position_weights, slot_order_, scratch_);
    oracle_.reset(program_.group_of, program_.group_limits);
    order_.resize(candidates_.size());
    fill_identity(order_);
}

void FreePart::most_relevant(Lottery& lottery) {
    sort_slots();
    oracle_.best_ranking(scores_, open_slots_.size(), order_, scratch_);
    Lottery free;
    free.clear(open_slots_.size());
    free.weights.push_back(1.0);
    free.rankings.resize(open_slots_.size());
    for (std::size_t rank = 0; rank < open_slots_.size(); ++rank) free.rankings[slot_order_[rank]] = order_[rank];
    to_whole(free, lottery);
}

std::pair<double, double> FreePart::extreme_shares(std::size_t category) {
    const Question& question = *question_;
    values_.assign(question.n(), 0.0);
    for (std::size_t candidate = 0; candidate < question.n(); ++candidate) {
        const Index item = question.items[candidate];
        for (Index entry = question.table.starts[item]; entry < question.table.starts[item + 1]; ++entry)
            if (question.table.columns[entry] == category) values_[candidate] = question.table.values[entry];
    }
    return extremes(values_);
}

void expose(const Question& question, const Lottery& lottery, std::vector<double>& exposure, std::vector<double>& shares) {
    exposure.assign(question.n(), 0.0);
    shares.assign(question.r(), 0.0);
    for (std::size_t at = 0; at < lottery.size(); ++at) {
        const Indices ranking = lottery.ranking(at);
        for (std::size_t slot = 0; slot < question.k(); ++slot)
            exposure[ranking[slot]] += lottery.weights[at] * question.position_weights[slot];
    }
    for (std::size_t candidate = 0; candidate < question.n(); ++candidate) {
        if (exposure[candidate] == 0.0) continue;
        const Index item = question.items[candidate];
        for (Index entry = question.table.starts[item]; entry < question.table.starts[item + 1]; ++entry)
            shares[question.table.columns[entry]] += question.table.values[entry] * exposure[candidate];
    }
}

}  // namespace excalibr
