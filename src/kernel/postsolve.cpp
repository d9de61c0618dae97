// What is asked of the whole page, and answers of the engines brought back to it: the other half of `FreePart`.
#include <algorithm>
#include <cmath>
#include <limits>

#include "presolve.hpp"

namespace excalibr {

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

void FreePart::expose(const Lottery& lottery, std::vector<double>& exposure, std::vector<double>& shares) const {
    const Question& question = *question_;
    exposure.assign(question.n(), 0.0);
    shares.assign(categories_.size(), 0.0);
    for (std::size_t at = 0; at < lottery.size(); ++at) {
        const Indices ranking = lottery.ranking(at);
        for (std::size_t slot = 0; slot < question.k(); ++slot)
            exposure[ranking[slot]] += lottery.weights[at] * question.position_weights[slot];
    }
    for (Index candidate = 0; candidate < question.n(); ++candidate) {
        if (exposure[candidate] == 0.0) continue;
        const auto [first, last] = question.entries_of(candidate);
        for (Index entry = first; entry < last; ++entry)
            shares[place_of_category_[question.table.columns[entry]]] += question.table.values[entry] * exposure[candidate];
    }
}

double FreePart::deviation(Reals shares) const {
    double total = 0.0;
    for (std::size_t place = 0; place < shares.size(); ++place) {
        const Penalty& band = penalties_[place];
        total += std::max(band.low - shares[place], 0.0) + std::max(shares[place] - band.high, 0.0);
    }
    return total;
}

double FreePart::settled_cost() const {
    double cost = 0.0;
    for (std::size_t place = 0; place < categories_.size(); ++place)
        if (row_of_[place] == absent) cost += penalties_[place].cost(pinned_shares_[place]);
    return cost;
}

double FreePart::heaviest_weight() const {
    double heaviest = 0.0;
    for (const Index place : places_) heaviest = std::max(heaviest, penalties_[place].below);
    return heaviest;
}

bool FreePart::is_bounded(double most) const {
    const auto is_one = [&](double number) { return std::abs(number) <= most; };
    return std::ranges::all_of(question_->scores, is_one) && std::ranges::all_of(penalties_, [&](const Penalty& each) {
               return is_one(each.low) && is_one(each.high) && is_one(each.below) && is_one(each.base);
           });
}

// How much lower the prices of a KL penalty are reported than its slopes: −w(1 − α)·q/u, not w(1 − α)(1 − q/u). The
// difference is the same for every candidate where weights are equal, and changes no ranking.
static double price_offset(const Penalty& penalty) {
    return penalty.curved() ? (1.0 - penalty.smoothing) * penalty.above : 0.0;
}

// A category that only pinned items show may have any price between the slopes at its share: that nearest to 0.
void FreePart::to_reported_prices(Reals by_row, double calibration, ByCategory& reported) const {
    reported.clear();
    std::size_t limit = 0;
    for (const Index category : priced_) {
        const Index place = place_of_category_[category];
        const Penalty penalty = penalty_of(place, calibration);
        const double offset = price_offset(penalty), shown = pinned_shares_[place];
        double price;
        if (row_of_[place] != absent) {
            price = by_row[row_of_[place]];
            if (penalty.curved()) price = std::min(price - offset, 0.0);  // a price of 0 must not round to more
        } else {
            const double least = penalty.slope(shown, false), most = penalty.slope(shown, true);
            price = std::min(std::max(0.0, least - offset), most - offset);
        }
        while (limit < limited_.size() && limited_[limit] < place) ++limit;
        if (limit < limited_.size() && limited_[limit] == place) price += by_row[rows() + limit] / limit_units_[limit];
        reported.add(category, price);
    }
}

void FreePart::to_row_prices(Reals reported, double calibration, std::vector<double>& by_row) const {
    by_row.assign(rows() + limited_.size(), 0.0);
    std::size_t limit = 0;
    for (std::size_t at = 0; at < priced_.size(); ++at) {
        const Index category = priced_[at], place = place_of_category_[category];
        if (row_of_[place] == absent) continue;
        const Penalty penalty = penalty_of(place, calibration);
        const double price = reported[at] + price_offset(penalty);
        by_row[row_of_[place]] = price;
        while (limit < limited_.size() && limited_[limit] < place) ++limit;
        if (limit == limited_.size() || limited_[limit] != place) continue;
        const double floor = question_->floors[category], cap = question_->caps[category];
        double own = price;
        if (std::isfinite(floor)) own = std::max(own, penalty.slope(floor, false));
        if (std::isfinite(cap)) own = std::min(own, penalty.slope(cap, true));
        by_row[row_of_[place]] = own;
        double rest = price - own;
        if (!std::isfinite(floor)) rest = std::max(rest, 0.0);
        if (!std::isfinite(cap)) rest = std::min(rest, 0.0);
        by_row[rows() + limit] = rest * limit_units_[limit];
    }
}

std::pair<double, double> FreePart::missed_limits(Reals shares) const {
    double most = 0.0, total = 0.0;
    for (const Index place : limited_) {
        const Index category = categories_[place];
        const double missed =
            std::max({question_->floors[category] - shares[place], shares[place] - question_->caps[category], 0.0});
        most = std::max(most, missed);
        total += missed;
    }
    return {most, total};
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

std::pair<double, double> FreePart::extreme_shares(std::size_t place) {
    const Question& question = *question_;
    values_.assign(question.n(), 0.0);
    for (Index candidate = 0; candidate < question.n(); ++candidate) {
        const auto [first, last] = question.entries_of(candidate);
        for (Index entry = first; entry < last; ++entry)
            if (question.table.columns[entry] == categories_[place]) values_[candidate] = question.table.values[entry];
    }
    return extremes(values_);
}

}  // namespace excalibr
