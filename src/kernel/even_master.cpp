#include "even_master.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace excalibr {
namespace {

constexpr std::size_t nobody = ~std::size_t{0};
constexpr double unbounded = std::numeric_limits<double>::infinity();

// target += factor · source
void add_multiple(MutableReals target, double factor, Reals source) {
    double* const to = target.data();
    const double* const from = source.data();
    for (std::size_t at = 0; at < source.size(); ++at) to[at] += factor * from[at];
}

}  // namespace

void EvenMaster::reset(const EvenBounds& bounds, double value) {
    r_ = bounds.centre.size();
    const std::size_t m = equations();
    entries_.assign(bounds.centre.begin(), bounds.centre.end());
    entries_.push_back(0.0);
    values_.assign(1, value);
    basic_.assign(1, true);
    listed_.clear();
    basis_.resize(m);
    for (auto* by_equation : {&levels_, &prices_, &direction_, &residual_}) by_equation->resize(m);
    inverse_.resize(m, m);
    work_.resize(m, 2 * m);
    stalled_ = 0;
    operations = pivots = 0;
    set_right_sides(bounds);
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
    listed_.clear();
    const auto pricing = static_cast<double>(columns() * column_size());
    while (operations < max_operations && !watcher_.stop(pricing)) {
        if (listed_.empty() || stalled()) {
            list_best();
            all_priced = true;
        }
        const Entering entering = best_entering(stalled());
        if (entering.reduced_cost > tuning::even_entering) {
            all_priced = false;
            if (!pivot(entering)) return false;
        } else if (all_priced) {
            settle_levels();
            return true;
        } else {
            listed_.clear();
        }
    }
    return false;
}

void EvenMaster::weights(MutableReals weights) const {
    std::fill(weights.begin(), weights.end(), 0.0);
    for (std::size_t place = 0; place < basis_.size(); ++place)
        if (basis_[place] >= 0) weights[static_cast<std::size_t>(basis_[place])] = std::max(levels_[place], 0.0);
}

double EvenMaster::most(Variable variable) const {
    return variable < 0 ? slacks_[slack_of(variable)].most : unbounded;
}

// Right-hand sides and the slacks' bounds.
void EvenMaster::set_right_sides(const EvenBounds& bounds) {
    right_.assign(bounds.centre.begin(), bounds.centre.end());
    right_.insert(right_.end(), {bounds.room, bounds.budget, 1.0});
    slacks_.assign(2 * r_ + 2, {});
    for (std::size_t row = 0; row < r_; ++row) {
        slacks_[2 * row].most = bounds.most_fall[row];
        slacks_[2 * row + 1].most = bounds.most_rise[row];
    }
    slacks_[2 * r_].most = 2.0 * bounds.room;
    slacks_[2 * r_ + 1].most = unbounded;
}

// The first column with weight 1, and in each row the fall, at 0.
void EvenMaster::take_first_basis() {
    std::fill(basic_.begin(), basic_.end(), false);
    for (Slack& slack : slacks_) slack.basic = slack.at_most = false;
    for (std::size_t equation = 0; equation + 1 < equations(); ++equation) {
        const std::size_t slack = equation < r_ ? 2 * equation : r_ + equation;
        slacks_[slack].basic = true;
        basis_[equation] = variable_of(slack);
    }
    basic_[0] = true;
    basis_[equations() - 1] = 0;
    refactorise();
}

void EvenMaster::list_best() {
    reduced_.resize(columns());
    double best = 0.0;
    for (std::size_t at = 0; at < columns(); ++at) {
        reduced_[at] = basic_[at] ? 0.0 : reduced_cost(column(at), values_[at]);
        best = std::max(best, reduced_[at]);
    }
    count_effort(columns() * column_size());
    listed_.clear();
    const double least = std::max(tuning::worth_listing * best, tuning::even_entering);
    for (std::size_t at = 0; at < columns(); ++at) {
        if (!(reduced_[at] > least)) continue;
        const auto place = std::find_if(listed_.begin(), listed_.end(),
                                        [&](std::size_t other) { return reduced_[other] < reduced_[at]; });
        listed_.insert(place, at);
        if (listed_.size() > tuning::longest_list) listed_.pop_back();
    }
}

// The listed column or nonbasic slack with the largest reduced cost, or by Bland's rule the first that is worth entering.
EvenMaster::Entering EvenMaster::best_entering(bool first) const {
    Entering best;
    for (std::size_t slack = 0; slack < slacks_.size(); ++slack) {
        if (slacks_[slack].basic || slacks_[slack].most <= 0.0) continue;
        const double direction = slacks_[slack].at_most ? -1.0 : 1.0;
        const double reduced = direction * slack_reduced_cost(slack);
        if (reduced > best.reduced_cost) best = {variable_of(slack), direction, reduced};
        if (first && best.reduced_cost > tuning::even_entering) return best;
    }
    if (first) {
        for (std::size_t at = 0; at < columns(); ++at)
            if (!basic_[at] && reduced_[at] > tuning::even_entering) return {static_cast<Variable>(at), 1.0, reduced_[at]};
        return best;
    }
    for (const std::size_t at : listed_) {
        const double reduced = basic_[at] ? 0.0 : reduced_cost(column(at), values_[at]);
        if (reduced > best.reduced_cost) best = {static_cast<Variable>(at), 1.0, reduced};
    }
    return best;
}

double EvenMaster::slack_reduced_cost(std::size_t slack) const {
    return -sign_of(slack) * prices_[row_of(slack)] - (moves_share(slack) ? prices_[budget_row()] : 0.0);
}

// Move the entering variable until it or a basic one meets a bound; false if nothing ends its way (which rounding alone
// could bring about) or the basis has become singular.
bool EvenMaster::pivot(const Entering& entering) {
    const std::size_t m = equations();
    compute_direction(entering);
    double length = unbounded;
    const std::size_t leaving = leaving_place(length);
    const double across = most(entering.variable);
    const bool flips = across <= length;
    const double moved = flips ? across : length;
    if (moved == unbounded) return false;
    add_multiple(levels_, -moved, direction_);
    stalled_ = moved > tuning::even_stalled ? 0 : stalled_ + 1;
    count_effort(2 * m * m);
    ++pivots;
    if (flips) {
        slacks_[slack_of(entering.variable)].at_most = entering.direction > 0.0;
        return true;
    }
    exchange(leaving, entering);
    levels_[leaving] = entering.direction > 0.0 ? moved : across - moved;
    return ++pivots_since_ < tuning::even_refactorise_every || refactorise();
}

// direction = inverse · (the entering column), with the sign of the way that it goes.
void EvenMaster::compute_direction(const Entering& entering) {
    if (entering.variable < 0) {
        std::fill(direction_.begin(), direction_.end(), 0.0);
        add_slack_column(slack_of(entering.variable), entering.direction, direction_);
        return;
    }
    const Reals entries = column(static_cast<std::size_t>(entering.variable)), last = inverse_.row(equations() - 1);
    std::copy(last.begin(), last.end(), direction_.begin());
    for (std::size_t row = 0; row < entries.size(); ++row)
        if (entries[row] != 0.0) add_multiple(direction_, entries[row], inverse_.row(row));
}

// target += factor · inverse · (the slack's column)
void EvenMaster::add_slack_column(std::size_t slack, double factor, MutableReals target) const {
    add_multiple(target, factor * sign_of(slack), inverse_.row(row_of(slack)));
    if (moves_share(slack)) add_multiple(target, factor, inverse_.row(budget_row()));
}

// The place whose variable meets a bound first, and how far that is; of those that would not be beyond their bounds by
// more than a trifle there, the one with the largest pivot (Harris), or by Bland's rule the one with the first variable.
std::size_t EvenMaster::leaving_place(double& length) const {
    double farthest = unbounded;
    for (std::size_t place = 0; place < basis_.size(); ++place)
        if (const double rate = std::abs(direction_[place]); rate > tuning::even_least_pivot)
            farthest = std::min(farthest, (room_of(place) + tuning::even_trifle) / rate);
    std::size_t leaving = nobody;
    if (farthest == unbounded) return leaving;
    for (std::size_t place = 0; place < basis_.size(); ++place) {
        const double rate = std::abs(direction_[place]);
        if (!(rate > tuning::even_least_pivot) || room_of(place) > farthest * rate) continue;
        if (leaving == nobody ||
            (stalled() ? basis_[place] < basis_[leaving] : rate > std::abs(direction_[leaving])))
            leaving = place;
    }
    if (leaving != nobody) length = room_of(leaving) / std::abs(direction_[leaving]);
    return leaving;
}

// How far a basic variable is from the bound that it moves towards.
double EvenMaster::room_of(std::size_t place) const {
    return std::max(direction_[place] > 0.0 ? levels_[place] : most(basis_[place]) - levels_[place], 0.0);
}

// The entering variable takes the leaving one's place: basis, inverse and prices follow.
void EvenMaster::exchange(std::size_t leaving, const Entering& entering) {
    const Variable out = basis_[leaving], in = entering.variable;
    if (out >= 0)
        basic_[static_cast<std::size_t>(out)] = false;
    else
        slacks_[slack_of(out)] = {slacks_[slack_of(out)].most, false, direction_[leaving] < 0.0};
    if (in >= 0)
        basic_[static_cast<std::size_t>(in)] = true;
    else
        slacks_[slack_of(in)].basic = true;
    basis_[leaving] = in;
    const double scale = entering.direction / direction_[leaving];
    for (double& rate : direction_) rate *= entering.direction;
    direction_[leaving] = 0.0;
    for (std::size_t equation = 0; equation < basis_.size(); ++equation) {
        const double factor = scale * inverse_(equation, leaving);
        if (factor == 0.0) continue;
        add_multiple(inverse_.row(equation), -factor, direction_);
        inverse_(equation, leaving) = factor;
        prices_[equation] += entering.direction * entering.reduced_cost * factor;
    }
}

// Invert the basis anew; levels and prices follow. A basis that has become singular is given up for the first one, and
// false returned.
bool EvenMaster::refactorise() {
    const std::size_t m = equations();
    fill_basis_matrix();
    count_effort(2 * m * m * m);
    if (!invert_work()) {
        if (!watcher_.stop()) take_first_basis();
        return false;
    }
    for (std::size_t place = 0; place < m; ++place)
        for (std::size_t equation = 0; equation < m; ++equation) inverse_(equation, place) = work_(place, m + equation);
    pivots_since_ = 0;
    compute_levels();
    compute_prices();
    return true;
}

// The basis, beside the identity.
void EvenMaster::fill_basis_matrix() {
    const std::size_t m = equations();
    for (std::size_t equation = 0; equation < m; ++equation) {
        std::fill(work_.row(equation).begin(), work_.row(equation).end(), 0.0);
        work_(equation, m + equation) = 1.0;
    }
    for (std::size_t place = 0; place < m; ++place) {
        if (basis_[place] < 0) {
            const std::size_t slack = slack_of(basis_[place]);
            if (moves_share(slack)) work_(budget_row(), place) = 1.0;
            work_(row_of(slack), place) = sign_of(slack);
            continue;
        }
        const Reals entries = column(static_cast<std::size_t>(basis_[place]));
        for (std::size_t row = 0; row < entries.size(); ++row) work_(row, place) = entries[row];
        work_(m - 1, place) = 1.0;
    }
}

// Gauss–Jordan elimination with row pivots; false if the basis is singular, or the watcher stopped it.
bool EvenMaster::invert_work() {
    const std::size_t m = equations();
    for (std::size_t pivot = 0; pivot < m; ++pivot) {
        if (watcher_.stop(static_cast<double>(m * (2 * m - pivot)))) return false;
        std::size_t largest = pivot;
        for (std::size_t row = pivot + 1; row < m; ++row)
            if (std::abs(work_(row, pivot)) > std::abs(work_(largest, pivot))) largest = row;
        if (!(std::abs(work_(largest, pivot)) > tuning::even_singular)) return false;
        const MutableReals own = work_.row(pivot).subspan(pivot), other = work_.row(largest).subspan(pivot);
        if (largest != pivot) std::swap_ranges(own.begin(), own.end(), other.begin());
        const double scale = 1.0 / own[0];
        for (double& entry : own) entry *= scale;
        for (std::size_t row = 0; row < m; ++row) {
            const double factor = work_(row, pivot);
            if (row != pivot && factor != 0.0) add_multiple(work_.row(row).subspan(pivot), -factor, own);
        }
    }
    return true;
}

// levels = inverse · (right-hand sides less what nonbasic slacks at their upper bounds take)
void EvenMaster::compute_levels() {
    std::fill(levels_.begin(), levels_.end(), 0.0);
    compute_residual(levels_);
    for (std::size_t equation = 0; equation < equations(); ++equation)
        add_multiple(levels_, residual_[equation], inverse_.row(equation));
}

// Pivots carry rounding along: put the levels within their bounds, and correct them by what the equations then lack, as
// long as that brings them nearer. (With tiny pivots in the basis its inverse may be too inexact for it.)
void EvenMaster::settle_levels() {
    clamp(levels_);
    double lacking = compute_residual(levels_);
    for (std::size_t turn = 0; turn < tuning::even_refinements; ++turn) {
        std::copy(levels_.begin(), levels_.end(), direction_.begin());
        for (std::size_t equation = 0; equation < equations(); ++equation)
            add_multiple(direction_, residual_[equation], inverse_.row(equation));
        clamp(direction_);
        const double still = compute_residual(direction_);
        if (!(still < lacking)) return;
        std::swap(levels_, direction_);
        lacking = still;
    }
}

void EvenMaster::clamp(MutableReals levels) const {
    for (std::size_t place = 0; place < levels.size(); ++place)
        levels[place] = std::clamp(levels[place], 0.0, most(basis_[place]));
}

// The right-hand sides less all columns at these levels; the largest of them.
double EvenMaster::compute_residual(Reals levels) {
    std::copy(right_.begin(), right_.end(), residual_.begin());
    for (std::size_t slack = 0; slack < slacks_.size(); ++slack)
        if (!slacks_[slack].basic && slacks_[slack].at_most) take_slack(slack, slacks_[slack].most);
    for (std::size_t place = 0; place < levels.size(); ++place) {
        if (basis_[place] < 0) {
            take_slack(slack_of(basis_[place]), levels[place]);
            continue;
        }
        const Reals entries = column(static_cast<std::size_t>(basis_[place]));
        for (std::size_t row = 0; row < entries.size(); ++row) residual_[row] -= levels[place] * entries[row];
        residual_[equations() - 1] -= levels[place];
    }
    double largest = 0.0;
    for (const double each : residual_) largest = std::max(largest, std::abs(each));
    return largest;
}

void EvenMaster::take_slack(std::size_t slack, double level) {
    residual_[row_of(slack)] -= sign_of(slack) * level;
    if (moves_share(slack)) residual_[budget_row()] -= level;
}

// prices = (values of the basic variables) · inverse
void EvenMaster::compute_prices() {
    for (std::size_t place = 0; place < basis_.size(); ++place)
        direction_[place] = basis_[place] >= 0 ? values_[static_cast<std::size_t>(basis_[place])] : 0.0;
    for (std::size_t equation = 0; equation < basis_.size(); ++equation)
        prices_[equation] = dot(direction_, inverse_.row(equation));
}

}  // namespace excalibr
