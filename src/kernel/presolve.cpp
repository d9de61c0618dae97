#include "presolve.hpp"

#include <algorithm>
#include <cmath>

#include "tuning.hpp"

namespace excalibr {
namespace {

constexpr Index noted = 0, present = 1;  // of a category, before it has a place

}  // namespace

void FreePart::load(const Question& question) {
    question_ = &question;
    choose_candidates();
    choose_categories();
    load_penalties();
    add_pinned_shares();
    choose_limits();
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
    for (const Index slot : question.pinned_slots) slot_is_pinned_[slot] = 1;
    for (const Index candidate : question.pinned_candidates) is_free_[candidate] = 0;
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

// The categories that this question is about, found without a look at the others.
void FreePart::choose_categories() {
    const Question& question = *question_;
    for (const Index category : categories_) place_of_category_[category] = absent;  // of the last question
    categories_.clear();
    if (place_of_category_.size() < question.r) place_of_category_.resize(question.r, absent);
    const auto note = [&](Index category, Index as) {
        if (place_of_category_[category] != absent) return;
        categories_.push_back(category);
        place_of_category_[category] = as;
    };
    const auto note_row = [&](Index candidate, Index as) {
        const auto [first, last] = question.entries_of(candidate);
        for (Index entry = first; entry < last; ++entry) note(question.table.columns[entry], as);
    };
    const auto all_found = [&] { return categories_.size() == question.r; };
    for (std::size_t free = 0; free < candidates_.size() && !all_found(); ++free) note_row(candidates_[free], present);
    for (Index candidate = 0; candidate < question.n() && !all_found(); ++candidate)
        if (!is_free_[candidate]) note_row(candidate, noted);
    const auto is_found = [&](Index category) { return place_of_category_[category] != absent; };
    const auto out_of_reach = std::find_if_not(question.floored.begin(), question.floored.end(), is_found);
    if (out_of_reach != question.floored.end()) note(*out_of_reach, noted);
    std::sort(categories_.begin(), categories_.end());
    const auto found = static_cast<std::ptrdiff_t>(categories_.size());
    for (const Index category : question.listed) note(category, noted);
    std::inplace_merge(categories_.begin(), categories_.begin() + found, categories_.end());
    row_of_.resize(categories_.size());
    places_.clear();
    for (Index place = 0; place < categories_.size(); ++place) {
        Index& own = place_of_category_[categories_[place]];
        row_of_[place] = own == present ? static_cast<Index>(places_.size()) : absent;
        if (own == present) places_.push_back(place);
        own = place;
    }
}

// The band, weight and base of each of them, as the target says, or as it says of what it does not list.
void FreePart::load_penalties() {
    const Question& question = *question_;
    penalties_.clear();
    std::size_t at = 0, attribute = 0;
    for (const Index category : categories_) {
        while (!question.unlisted.empty() && static_cast<std::int64_t>(category) >= question.ends[attribute]) ++attribute;
        const Unlisted others = question.unlisted.empty() ? Unlisted() : question.unlisted[attribute];
        const bool is_listed = at < question.listed.size() && question.listed[at] == category;
        double divisor = others.divisor;
        Penalty penalty;
        penalty.high = others.high;
        penalty.smoothing = question.smoothing;
        if (is_listed) {
            penalty.low = question.low[at];
            penalty.high = question.high[at];
            if (!question.base.empty()) penalty.base = question.base[at];
            if (!question.divisors.empty()) divisor = question.divisors[at];
            ++at;
        }
        penalty.below = penalty.above = (question.weights.empty() ? 1.0 : question.weights[category]) / divisor;
        penalties_.push_back(penalty);
    }
}

void FreePart::add_pinned_shares() {
    const Question& question = *question_;
    pinned_shares_.assign(categories_.size(), 0.0);
    for (std::size_t pin = 0; pin < question.pinned_slots.size(); ++pin) {
        const double weight = question.position_weights[question.pinned_slots[pin]];
        const auto [first, last] = question.entries_of(question.pinned_candidates[pin]);
        for (Index entry = first; entry < last; ++entry)
            pinned_shares_[place_of_category_[question.table.columns[entry]]] += weight * question.table.values[entry];
    }
    priced_.clear();
    for (std::size_t place = 0; place < categories_.size(); ++place)
        if (row_of_[place] != absent || pinned_shares_[place] > 0.0) priced_.push_back(categories_[place]);
}

// Floors and caps of what free candidates have, and those of other categories that the pinned items do not keep by
// themselves, which nobody can.
void FreePart::choose_limits() {
    const Question& question = *question_;
    limited_.clear();
    for (Index place = 0; !question.floors.empty() && place < categories_.size(); ++place) {
        const double floor = question.floors[categories_[place]], cap = question.caps[categories_[place]];
        if (!std::isfinite(floor) && !std::isfinite(cap)) continue;
        const double missed = std::max(floor - pinned_shares_[place], pinned_shares_[place] - cap);
        if (row_of_[place] != absent || missed > tuning::limit_slack) limited_.push_back(place);
    }
    program_.repeated_rows = limited_.size();
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
    if (!is_limited()) return;
    values_.assign(categories_.size(), 0.0);
    for (const Index candidate : candidates_) {
        const auto [first, last] = question.entries_of(candidate);
        for (Index entry = first; entry < last; ++entry) {
            double& most = values_[place_of_category_[question.table.columns[entry]]];
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
    SparseRows& made = program_.rows;
    std::vector<Index> limit_of;
    if (is_limited()) {
        limit_of.assign(categories_.size(), absent);
        for (Index limit = 0; limit < limited_.size(); ++limit) limit_of[limited_[limit]] = limit;
    }
    made.starts.assign(1, 0);
    made.columns.clear();
    made.values.clear();
    for (const Index candidate : candidates_) {
        const auto [first, last] = question.entries_of(candidate);
        const Indices own = question.table.columns.subspan(first, last - first);
        made.columns.insert(made.columns.end(), own.begin(), own.end());
        for (Index& column : std::span(made.columns).last(rows() < question.r ? own.size() : 0))
            column = row_of_[place_of_category_[column]];
        made.values.insert(made.values.end(), question.table.values.begin() + first, question.table.values.begin() + last);
        for (Index entry = first; is_limited() && entry < last; ++entry) {
            const Index limit = limit_of[place_of_category_[question.table.columns[entry]]];
            if (limit == absent) continue;
            made.columns.push_back(static_cast<Index>(rows()) + limit);
            made.values.push_back(question.table.values[entry] / limit_units_[limit]);
        }
        made.starts.push_back(static_cast<Index>(made.columns.size()));
    }
}

// The groups that a sort must still watch, of those that free candidates are of, with the room that pinned items leave; none
// where no ranking can break them.
void FreePart::load_groups() {
    const Question& question = *question_;
    program_.group_of.clear();
    program_.group_limits.clear();
    if (question.group_limits.empty()) return;
    const std::size_t all_groups = question.group_limits.size();
    if (number_of_group_.size() < all_groups) number_of_group_.resize(all_groups, absent);
    std::vector<Index> groups, members;
    for (const Index candidate : candidates_) {
        const std::int32_t group = question.group_of_item[question.items[candidate]];
        if (group >= 0 && number_of_group_[group] == absent) {
            number_of_group_[group] = static_cast<Index>(groups.size());
            groups.push_back(static_cast<Index>(group));
            members.push_back(0);
            program_.group_limits.push_back(question.group_limits[group]);
        }
        program_.group_of.push_back(group < 0 ? -1 : static_cast<std::int32_t>(number_of_group_[group]));
        if (group >= 0) ++members[number_of_group_[group]];
    }
    for (const Index candidate : question.pinned_candidates) {
        const std::int32_t group = question.group_of_item[question.items[candidate]];
        const Index number = group < 0 ? absent : number_of_group_[group];
        if (number != absent && program_.group_limits[number] > 0) --program_.group_limits[number];
    }
    for (const Index group : groups) number_of_group_[group] = absent;
    for (std::size_t number = 0; number < groups.size(); ++number)
        if (std::min<std::size_t>(members[number], open_slots_.size()) > program_.group_limits[number]) return;
    program_.group_of.clear();
    program_.group_limits.clear();
}

Penalty FreePart::penalty_of(std::size_t place, double calibration) const {
    Penalty penalty = penalties_[place];
    penalty.below = penalty.above = calibration * penalty.below;
    return penalty;
}

void FreePart::set_objective(Balance balance, double steepness) {
    const Question& question = *question_;
    program_.gains.resize(scores_.size());
    for (std::size_t candidate = 0; candidate < scores_.size(); ++candidate)
        program_.gains[candidate] =
            balance.relevance * program_.scores[candidate] - (item_prices_.empty() ? 0.0 : item_prices_[candidate]);
    program_.penalties.clear();
    for (const Index place : places_) {
        Penalty penalty = penalty_of(place, balance.calibration);
        penalty.low -= pinned_shares_[place];
        penalty.high -= pinned_shares_[place];
        penalty.base += pinned_shares_[place];
        program_.penalties.push_back(penalty);
    }
    for (std::size_t limit = 0; limit < limited_.size(); ++limit) {
        const Index category = categories_[limited_[limit]];
        const double floor = question.floors[category], cap = question.caps[category];
        const double pinned = pinned_shares_[limited_[limit]];
        Penalty hard;
        hard.high = ((std::isfinite(cap) ? cap : 1.0) - pinned) / limit_units_[limit];
        hard.low = std::min(std::isfinite(floor) ? (floor - pinned) / limit_units_[limit] : 0.0, hard.high);
        hard.below = std::isfinite(floor) ? steepness : 0.0;
        hard.above = std::isfinite(cap) ? steepness : 0.0;
        program_.penalties.push_back(hard);
    }
}

const Program& FreePart::limits_alone() {
    const auto first = static_cast<Index>(rows());  // of the limits' columns
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

}  // namespace excalibr
