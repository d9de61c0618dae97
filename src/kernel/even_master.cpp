#include "even_master.hpp"

#include <algorithm>
#include <cmath>

#include "tuning.hpp"

namespace excalibr {
namespace {

constexpr std::size_t nobody = ~std::size_t{0};
constexpr double unbounded = std::numeric_limits<double>::infinity();

// target −= factor · source
void subtract_multiple(MutableReals target, double factor, Reals source) {
    double* const to = target.data();
    const double* const from = source.data();
    for (std::size_t at = 0; at < source.size(); ++at) to[at] -= factor * from[at];
}

}  // namespace

void EvenMaster::reset(Reals lower, Reals upper, Reals first_column, double value) {
    lower_.assign(lower.begin(), lower.end());
    upper_.assign(upper.begin(), upper.end());
    const std::size_t m = rows() + 1;
    entries_.clear();
    values_.clear();
    basic_.clear();
    listed_.clear();
    add(first_column, value);
    basis_.resize(m);
    slack_basic_.resize(rows());
    at_upper_.resize(rows());
    levels_.resize(m);
    prices_.resize(m);
    direction_.resize(m);
    inverse_.resize(m, m);
    work_.resize(m, 2 * m);
    stalled_ = 0;
    take_first_basis();
}

std::size_t EvenMaster::add(Reals column, double value) {
    entries_.insert(entries_.end(), column.begin(), column.end());
    values_.push_back(value);
    basic_.push_back(false);
    return values_.size() - 1;
}

// The whole method: price, choose what enters, move until something leaves. Columns are priced all together only when
// none of those that looked best then is worth entering any more. After many pivots that moved nothing, Bland's rule
// chooses, which cannot go round in circles.
bool EvenMaster::optimise(std::uint64_t max_operations) {
    bool all_priced = false;
    while (operations < max_operations) {
        if (listed_.empty() || stalled_ > rows()) {
            list_best();
            all_priced = true;
        }
        const Entering entering = stalled_ > rows() ? first_entering() : best_entering();
        if (entering.reduced_cost > tuning::even_entering) {
            all_priced = false;
            if (!pivot(entering)) return false;
        } else if (all_priced) {
            return true;
        } else {
            listed_.clear();
        }
    }
    return false;
}

void EvenMaster::set_value(std::size_t column, double value) {
    values_[column] = value;
    compute_prices();
    listed_.clear();
}

void EvenMaster::weights(MutableReals weights) const {
    std::fill(weights.begin(), weights.end(), 0.0);
    for (std::size_t place = 0; place < basis_.size(); ++place)
        if (basis_[place] >= 0) weights[static_cast<std::size_t>(basis_[place])] = std::max(levels_[place], 0.0);
}

double EvenMaster::reduced_cost(std::size_t at) const {
    return values_[at] - level() - dot(prices(), column(at));
}

// The first column with weight 1, and every row's slack where that puts it.
void EvenMaster::take_first_basis() {
    std::fill(basic_.begin(), basic_.end(), false);
    basic_[0] = true;
    for (std::size_t row = 0; row < rows(); ++row) basis_[row] = slack_of(row);
    basis_[rows()] = 0;
    std::fill(slack_basic_.begin(), slack_basic_.end(), true);
    refactorise();
}

void EvenMaster::list_best() {
    reduced_.resize(columns());
    double best = 0.0;
    for (std::size_t at = 0; at < columns(); ++at) {
        reduced_[at] = basic_[at] ? 0.0 : reduced_cost(at);
        best = std::max(best, reduced_[at]);
    }
    operations += columns() * rows();
    listed_.clear();
    const double least = std::max(tuning::even_listing * best, tuning::even_entering);
    for (std::size_t at = 0; at < columns(); ++at) {
        if (!(reduced_[at] > least)) continue;
        const auto place = std::find_if(listed_.begin(), listed_.end(),
                                        [&](std::size_t other) { return reduced_[other] < reduced_[at]; });
        listed_.insert(place, at);
        if (listed_.size() > tuning::even_list_length) listed_.pop_back();
    }
}

// The listed column or nonbasic slack with the largest reduced cost.
EvenMaster::Entering EvenMaster::best_entering() const {
    Entering best;
    for (const std::size_t at : listed_) {
        const double reduced = basic_[at] ? 0.0 : reduced_cost(at);
        if (reduced > best.reduced_cost) best = {static_cast<Variable>(at), 1.0, reduced};
    }
    for (std::size_t row = 0; row < rows(); ++row) {
        const double reduced = at_upper_[row] ? -prices_[row] : prices_[row];
        if (!slack_basic_[row] && reduced > best.reduced_cost && lower_[row] < upper_[row])
            best = {slack_of(row), at_upper_[row] ? -1.0 : 1.0, reduced};
    }
    return best;
}

// The first variable of all whose reduced cost is worth entering: slacks, then columns.
EvenMaster::Entering EvenMaster::first_entering() const {
    for (std::size_t row = 0; row < rows(); ++row) {
        const double reduced = at_upper_[row] ? -prices_[row] : prices_[row];
        if (!slack_basic_[row] && reduced > tuning::even_entering && lower_[row] < upper_[row])
            return {slack_of(row), at_upper_[row] ? -1.0 : 1.0, reduced};
    }
    for (std::size_t at = 0; at < columns(); ++at)
        if (!basic_[at] && reduced_[at] > tuning::even_entering) return {static_cast<Variable>(at), 1.0, reduced_[at]};
    return {};
}

// Move the entering variable until it or a basic one meets a bound; false if nothing ends its way (which rounding alone
// could bring about) or the basis has become singular.
bool EvenMaster::pivot(const Entering& entering) {
    const std::size_t m = basis_.size();
    compute_direction(entering);
    double length = 0.0;
    const std::size_t leaving = leaving_place(length);
    const double across = upper_bound(entering.variable) - lower_bound(entering.variable);
    if (leaving == nobody && across == unbounded) return false;
    const bool flips = across <= length;
    const double moved = flips ? across : length;
    for (std::size_t place = 0; place < m; ++place) levels_[place] -= moved * direction_[place];
    stalled_ = moved > tuning::even_stalled ? 0 : stalled_ + 1;
    operations += 2 * m * m;
    if (flips) {
        at_upper_[row_of(entering.variable)] = entering.direction > 0.0;
        return true;
    }
    exchange(leaving, entering);
    levels_[leaving] = entering.direction * moved;
    if (entering.variable < 0) {
        const std::size_t row = row_of(entering.variable);
        levels_[leaving] += at_upper_[row] ? upper_[row] : lower_[row];
    }
    if (++pivots_since_ < tuning::even_refactor) return true;
    return refactorise();
}

// direction = inverse · (the entering column), with the sign of the way that it goes.
void EvenMaster::compute_direction(const Entering& entering) {
    if (entering.variable < 0) {
        const Reals own = inverse_.row(row_of(entering.variable));
        for (std::size_t place = 0; place < own.size(); ++place) direction_[place] = -entering.direction * own[place];
        return;
    }
    const Reals entries = column(static_cast<std::size_t>(entering.variable)), last = inverse_.row(rows());
    std::copy(last.begin(), last.end(), direction_.begin());
    for (std::size_t row = 0; row < entries.size(); ++row)
        if (entries[row] != 0.0) subtract_multiple(direction_, -entries[row], inverse_.row(row));
}

// The place whose variable meets a bound first, and how far that is; of those that would not be beyond their bounds by
// more than a trifle there, the one with the largest pivot (Harris), or by Bland's rule the one with the first variable.
std::size_t EvenMaster::leaving_place(double& length) const {
    const auto room = [&](std::size_t place) {
        const bool falls = direction_[place] > 0.0;
        const double bound = falls ? lower_bound(basis_[place]) : upper_bound(basis_[place]);
        return std::max(falls ? levels_[place] - bound : bound - levels_[place], 0.0);
    };
    double farthest = unbounded;
    for (std::size_t place = 0; place < basis_.size(); ++place)
        if (const double rate = std::abs(direction_[place]); rate > tuning::even_least_pivot)
            farthest = std::min(farthest, (room(place) + tuning::even_trifle) / rate);
    std::size_t leaving = nobody;
    length = unbounded;
    for (std::size_t place = 0; place < basis_.size(); ++place) {
        const double rate = std::abs(direction_[place]);
        if (!(rate > tuning::even_least_pivot) || room(place) / rate > farthest || farthest == unbounded) continue;
        const bool better = leaving == nobody || (stalled_ > rows() ? basis_[place] < basis_[leaving]
                                                                    : rate > std::abs(direction_[leaving]));
        if (better) leaving = place;
    }
    if (leaving != nobody) length = room(leaving) / std::abs(direction_[leaving]);
    return leaving;
}

// The entering variable takes the leaving one's place: basis, inverse and prices follow.
void EvenMaster::exchange(std::size_t leaving, const Entering& entering) {
    const Variable out = basis_[leaving];
    if (out >= 0) {
        basic_[static_cast<std::size_t>(out)] = false;
    } else {
        slack_basic_[row_of(out)] = false;
        at_upper_[row_of(out)] = direction_[leaving] < 0.0;
    }
    basis_[leaving] = entering.variable;
    if (entering.variable >= 0)
        basic_[static_cast<std::size_t>(entering.variable)] = true;
    else
        slack_basic_[row_of(entering.variable)] = true;
    const double scale = entering.direction / direction_[leaving];
    for (double& rate : direction_) rate *= entering.direction;
    direction_[leaving] = 0.0;
    for (std::size_t row = 0; row < basis_.size(); ++row) {
        const double factor = scale * inverse_(row, leaving);
        if (factor == 0.0) continue;
        subtract_multiple(inverse_.row(row), factor, direction_);
        inverse_(row, leaving) = factor;
        prices_[row] += entering.direction * entering.reduced_cost * factor;
    }
}

// Invert the basis anew by Gauss–Jordan elimination with row pivots; levels and prices follow. A basis that has become
// singular is given up for the first one, and false returned.
bool EvenMaster::refactorise() {
    const std::size_t m = basis_.size();
    fill_basis_matrix();
    operations += 2 * m * m * m;
    for (std::size_t pivot = 0; pivot < m; ++pivot) {
        std::size_t largest = pivot;
        for (std::size_t row = pivot + 1; row < m; ++row)
            if (std::abs(work_(row, pivot)) > std::abs(work_(largest, pivot))) largest = row;
        if (!(std::abs(work_(largest, pivot)) > tuning::even_singular)) {
            take_first_basis();
            return false;
        }
        const MutableReals own = work_.row(pivot), other = work_.row(largest);
        if (largest != pivot) std::swap_ranges(own.begin(), own.end(), other.begin());
        const double scale = 1.0 / own[pivot];
        for (std::size_t at = pivot; at < 2 * m; ++at) own[at] *= scale;
        for (std::size_t row = 0; row < m; ++row) {
            const double factor = work_(row, pivot);
            if (row != pivot && factor != 0.0)
                subtract_multiple(work_.row(row).subspan(pivot), factor, own.subspan(pivot));
        }
    }
    for (std::size_t place = 0; place < m; ++place)
        for (std::size_t row = 0; row < m; ++row) inverse_(row, place) = work_(place, m + row);
    pivots_since_ = 0;
    compute_levels();
    compute_prices();
    return true;
}

// The basis beside the identity: a column's entries and 1, or −1 in a slack's own row.
void EvenMaster::fill_basis_matrix() {
    const std::size_t m = basis_.size();
    for (std::size_t row = 0; row < m; ++row) {
        std::fill(work_.row(row).begin(), work_.row(row).end(), 0.0);
        work_(row, m + row) = 1.0;
    }
    for (std::size_t place = 0; place < m; ++place) {
        if (basis_[place] < 0) {
            work_(row_of(basis_[place]), place) = -1.0;
            continue;
        }
        const Reals entries = column(static_cast<std::size_t>(basis_[place]));
        for (std::size_t row = 0; row < rows(); ++row) work_(row, place) = entries[row];
        work_(rows(), place) = 1.0;
    }
}

// levels = inverse · (1 for Σθ, and for each nonbasic slack the bound where it is)
void EvenMaster::compute_levels() {
    const Reals last = inverse_.row(rows());
    std::copy(last.begin(), last.end(), levels_.begin());
    for (std::size_t row = 0; row < rows(); ++row)
        if (!slack_basic_[row])
            subtract_multiple(levels_, -(at_upper_[row] ? upper_[row] : lower_[row]), inverse_.row(row));
}

// prices = (values of the basic variables) · inverse
void EvenMaster::compute_prices() {
    for (std::size_t place = 0; place < basis_.size(); ++place)
        direction_[place] = basis_[place] >= 0 ? values_[static_cast<std::size_t>(basis_[place])] : 0.0;
    for (std::size_t row = 0; row < basis_.size(); ++row) prices_[row] = dot(direction_, inverse_.row(row));
}

}  // namespace excalibr
