#include "proximal.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "tuning.hpp"

namespace excalibr {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// With few candidates to spare, choosing whom to look at costs more than it saves.
bool looks_at_everyone(const ScaledProgram& program) {
    return program.n() <= 4 * program.k() + 2 * tuning::spare_candidates;
}

// How much to loosen the hold on the exposure: the easier the last proximal step was, the more.
double growth_after(std::size_t steps, const tuning::Pace& pace) {
    if (steps >= tuning::max_newton_steps) return pace.after_failure;
    if (steps <= 2) return steps <= 1 ? pace.growth_after_1 : pace.growth_after_2;
    return steps <= 6 ? pace.growth_after_6 : pace.growth_after_more;
}

}  // namespace

Effort ProximalMethod::solve(const ScaledProgram& program, double tolerance, std::size_t max_sorts, double effort_part) {
    start(program);
    const tuning::Pace& pace = program.curved() ? tuning::curved_pace : tuning::straight_pace;
    double rho = tuning::first_rho * program.slots[0] / std::max(program.spread + program.steepness, 1e-12);
    double rho_limit = tuning::largest_rho, residual_wanted = tuning::first_residual, smallest_gap = infinity;
    Effort effort;
    std::size_t stalled = 0;
    const double most_operations = effort_part * tuning::effort_of(tuning::proximal_effort, program.r());
    for (std::size_t outer = 0; outer < tuning::max_proximal_steps && stalled < tuning::max_stalled; ++outer) {
        if (operations() > most_operations) break;
        const Progress progress = newton(program, rho, residual_wanted, max_sorts - effort.sorts - 1);
        effort.sorts += progress.sorts;
        effort.steps += progress.steps;
        effort.sorts += record(program, tolerance, max_sorts - std::min(effort.sorts, max_sorts));
        const double gap = best_.gap();
        if (watcher_.verbose()) watcher_.tell("proximal", outer + 1, effort.sorts, best_.objective, best_.bound, rho);
        if (gap <= tolerance) {
            effort.status = Status::converged;
            return effort;
        }
        if (watcher_.stop()) {
            take_from_the_way();
            break;
        }
        if (effort.sorts + 2 > max_sorts) {  // a step sorts at least twice: where it looks, and for the bound
            effort.status = Status::sorts_spent;
            return effort;
        }
        stalled = gap < 0.9 * smallest_gap ? 0 : stalled + 1;
        smallest_gap = std::min(smallest_gap, gap);
        if (progress.steps == 0 && stalled > 0) residual_wanted *= 0.1;  // solved as far as was wanted, and yet the gap is open
        residual_wanted = std::max(tuning::finest_residual * tolerance / program.steepness,
                                   std::min(residual_wanted, pace.residual_of_gap * gap / program.steepness));
        std::copy(exposure_.begin(), exposure_.end(), centre_.begin());
        if (stalled > 0 && stalled % tuning::patience == 0) rho_limit = std::max(0.1 * rho_limit, 10.0);  // rounding?
        rho = std::min(rho * growth_after(progress.steps, pace), rho_limit);
    }
    effort.status = Status::stalled;
    return effort;
}

// Start with prices of 0, between the ranking by gains and the mean of all rankings: at a single ranking nothing moves
// until prices are far from 0, and Newton steps have no curvature to go by.
void ProximalMethod::start(const ScaledProgram& program) {
    const std::size_t n = program.n(), r = program.r();
    for (auto* values : {&point_, &exposure_, &moves_}) values->assign(n, 0.0);
    adjusted_ = trial_adjusted_ = program.gains;
    for (auto* values : {&prices_, &shares_, &gradient_, &wanted_, &floors_, &ceilings_, &direction_, &trial_,
                         &right_, &curvatures_, &rooms_, &diagonal_, &moved_})
        values->assign(r, 0.0);
    order_.resize(n);
    fill_identity(order_);
    scratch_.resize(n);
    sort_from_scratch(program.gains, order_, scratch_);
    ranked_ = order_;
    active_ = n;
    blocks_.resize(n);
    free_.resize(r);
    system_.operations = 0.0;
    damping_ = 1.0;
    radius_ = tuning::first_radius * program.steepness;
    const double mixture = program.steepness > 0.0 ? tuning::first_mixture : 0.0;  // with nothing to calibrate, no detour
    const double total = std::accumulate(program.slots.begin(), program.slots.end(), 0.0);
    centre_.assign(n, mixture * total / static_cast<double>(n));
    for (std::size_t rank = 0; rank < program.k(); ++rank) centre_[order_[rank]] += (1.0 - mixture) * program.slots[rank];
    for (BestPoint* best : {&best_, &on_way_}) {
        best->objective = -infinity;
        best->bound = infinity;
    }
    best_.prices.assign(r, 0.0);
}

// Solve one proximal step until its residual is small enough.
ProximalMethod::Progress ProximalMethod::newton(const ScaledProgram& program, double rho, double residual_wanted,
                                                std::size_t budget) {
    threshold_ = looks_at_everyone(program) ? -infinity : infinity;
    radius_ = std::max(radius_, tuning::least_radius * program.steepness);
    evaluate(program, rho, 0.0);
    Progress progress{0, 1};
    const double sorting = tuning::operations_a_candidate * static_cast<double>(program.n());
    while (progress.steps < tuning::max_newton_steps && progress.sorts < budget && !watcher_.stop(sorting)) {
        const double residual = set_gradient(program);
        if (residual <= residual_wanted) break;
        system_.load(program, blocks_, order_, rho);
        knows_rooms_ = progress.steps >= tuning::rooms_from && residual_of_untouched() > tuning::worth_rooms * residual;
        if (knows_rooms_) steer_untouched(program, rho);
        const double slope = set_direction(rho, residual);
        if (slope >= 0.0) break;
        progress.sorts += line_search(program, rho, slope, budget - progress.sorts);
        ++progress.steps;
        if (watcher_.pressed() || (watcher_.limited() && progress.steps >= tuning::slow_step)) {
            record_exposure(program, on_way_);
            record_prices(program, prices_, on_way_);
        }
    }
    return progress;
}

// The gradient and curvature, and the box in which the penalties' conjugates are smooth; returns the residual.
//
// Without a band the box is that of the prices. With one the conjugate has a breakpoint at 0, and a price stays on its
// side of it. The residual counts the more the dearer the category: a curved penalty's price can be far above its weight. What
// the last digits of a price move its share by counts as none: beside a tiny target that is much.
double ProximalMethod::set_gradient(const ScaledProgram& program) {
    for (std::size_t category = 0; category < prices_.size(); ++category) {
        const Penalty& penalty = program.penalties[category];
        const double share = shares_[category], price = prices_[category];
        floors_[category] = program.lowest[category];
        ceilings_[category] = program.highest[category];
        wanted_[category] = penalty.high;
        if (!penalty.banded()) continue;
        if (price > 0.0 || (price == 0.0 && share > penalty.high)) {
            floors_[category] = 0.0;
        } else if (price < 0.0 || share < penalty.low) {
            wanted_[category] = penalty.low;
            ceilings_[category] = 0.0;
        } else {
            wanted_[category] = share;
        }
    }
    move_wanted_shares(program, prices_);
    double residual = 0.0;
    for (std::size_t category = 0; category < prices_.size(); ++category) {
        const double slope = wanted_[category] - shares_[category], price = prices_[category];
        gradient_[category] = slope;
        curvatures_[category] = program.curved() ? program.penalties[category].curvature_at(price) : 0.0;
        if (!((slope > 0.0 && price > floors_[category]) || (slope < 0.0 && price < ceilings_[category]))) continue;
        const double rounding = tuning::price_rounding * std::abs(price) * curvatures_[category];
        residual += std::max(std::abs(slope) - rounding, 0.0) * std::max(1.0, std::abs(price) / program.steepness);
    }
    return residual;
}

// Where a penalty is curved, the share that its price asks for moves with the price.
void ProximalMethod::move_wanted_shares(const ScaledProgram& program, Reals prices) {
    for (std::size_t category = 0; category < prices.size(); ++category)
        if (program.penalties[category].curved() && prices[category] != 0.0)
            wanted_[category] = program.penalties[category].share_at(prices[category]);
}

// What is left of the gradient in categories that no tied candidate has: moving such a price alone changes nothing yet.
double ProximalMethod::residual_of_untouched() const {
    double residual = 0.0;
    for (Index category = 0; category < prices_.size(); ++category)
        if (!system_.touches(category) && is_free(category)) residual += std::abs(gradient_[category]);
    return residual;
}

// Their prices go at once to where the first of their candidates ties. Damped steps would be as small as their slopes, which
// are the shares that are wanted, and would creep where those are tiny.
void ProximalMethod::steer_untouched(const ScaledProgram& program, double rho) {
    set_rooms(program, rho);
    for (Index category = 0; category < prices_.size(); ++category) {
        if (system_.touches(category) || !is_free(category)) continue;
        const double slope = gradient_[category];
        const double to_side = slope > 0.0 ? prices_[category] - floors_[category] : ceilings_[category] - prices_[category];
        curvatures_[category] = std::max(curvatures_[category], std::abs(slope) / std::min(rooms_[category], to_side));
    }
}

// How far the prices of untouched categories can move together until a candidate of theirs ties with another block or enters
// the list, and as much further as moves its exposure by what is missing.
void ProximalMethod::set_rooms(const ScaledProgram& program, double rho) {
    std::fill(rooms_.begin(), rooms_.end(), infinity);
    const std::size_t blocks = blocks_.count;
    const Index seen = blocks_.starts[blocks];
    const double last_mean = blocks_.means[blocks - 1];
    double next = -infinity;  // the best point of those who are not in the list
    for (std::size_t rank = seen; rank < active_; ++rank) next = std::max(next, point_[order_[rank]]);
    for (std::size_t block = 0; block < blocks; ++block) {
        if (blocks_.starts[block + 1] - blocks_.starts[block] > 1) continue;
        const double mean = blocks_.means[block];
        const double rise = block > 0 ? blocks_.means[block - 1] - mean : infinity;
        const double fall = mean - (block + 1 < blocks ? blocks_.means[block + 1] : next);
        limit_rooms(program, rho, order_[blocks_.starts[block]], rise, fall);
    }
    for (std::size_t rank = seen; rank < order_.size(); ++rank)
        limit_rooms(program, rho, order_[rank], last_mean - point_[order_[rank]], infinity);
}

// The same for one candidate, whose point can rise and fall by so much.
void ProximalMethod::limit_rooms(const ScaledProgram& program, double rho, Index candidate, double rise, double fall) {
    const SparseView rows = program.rows.view();
    const Index first = rows.starts[candidate], last = rows.starts[candidate + 1];
    double rising = 0.0, falling = 0.0;  // the shares whose prices fall, and rise
    for (Index entry = first; entry < last; ++entry) {
        const Index category = rows.columns[entry];
        if (system_.touches(category) || !is_free(category)) continue;
        (gradient_[category] > 0.0 ? rising : falling) += rows.values[entry];
    }
    if (rising == 0.0 && falling == 0.0) return;
    for (Index entry = first; entry < last; ++entry) {
        const Index category = rows.columns[entry];
        const double share = rows.values[entry], slope = gradient_[category];
        const double room = slope > 0.0 ? std::max(rise, 0.0) / (rho * rising) : std::max(fall, 0.0) / (rho * falling);
        rooms_[category] = std::min(rooms_[category], room + std::abs(slope) / (rho * share * share));
    }
}

// Whether the gradient asks a price to move, and the box lets it.
bool ProximalMethod::is_free(Index category) const {
    return gradient_[category] > 0.0 ? prices_[category] > floors_[category]
                                     : gradient_[category] < 0.0 && prices_[category] < ceilings_[category];
}

// A direction along which the function falls; returns its slope. Clamping can spoil it, and more damping repairs it.
double ProximalMethod::set_direction(double rho, double residual) {
    double slope = 0.0;
    for (std::size_t attempt = 0; attempt < tuning::max_dampings; ++attempt) {
        slope = box_constrained_step(tuning::least_damping * rho + damping_ * residual);
        if (slope < 0.0 || watcher_.stop()) break;
        damping_ *= 10.0;
    }
    return slope;
}

// Minimise gradientᵀd + ½·dᵀ(H + damping·I)d with floors ≤ prices + d ≤ ceilings, nearly; returns gradientᵀd.
//
// An active set: prices at a bound that the gradient pushes outward stay; the system is solved for the others, those that
// would leave the box are clamped to it, and the rest is solved again.
double ProximalMethod::box_constrained_step(double damping) {
    std::size_t free = 0;
    for (Index category = 0; category < prices_.size(); ++category) {
        direction_[category] = 0.0;
        diagonal_[category] = curvatures_[category] + (is_damped(category) ? damping : 0.0);
        if (is_free(category)) free_[free++] = category;
    }
    for (std::size_t round = 0; round < tuning::max_clampings; ++round) {
        for (std::size_t place = 0; place < free; ++place) direction_[free_[place]] = 0.0;
        if (round > 0) system_.apply(direction_, moved_);
        for (std::size_t place = 0; place < free; ++place)
            right_[place] = -gradient_[free_[place]] - (round > 0 ? moved_[free_[place]] : 0.0);
        if (!system_.solve(std::span(free_).first(free), diagonal_, std::span(right_).first(free))) return 0.0;
        const std::size_t kept = clamp_to_box(free);
        if (kept == free) break;
        free = kept;
    }
    return dot(gradient_, direction_);
}

// Take the solution over; prices that leave the box stop at its side and are free no longer. Returns how many still are.
std::size_t ProximalMethod::clamp_to_box(std::size_t free) {
    std::size_t kept = 0;
    for (std::size_t place = 0; place < free; ++place) {
        const Index category = free_[place];
        const double reached = prices_[category] + right_[place];
        if (reached > ceilings_[category]) {
            direction_[category] = ceilings_[category] - prices_[category];
        } else if (reached < floors_[category]) {
            direction_[category] = floors_[category] - prices_[category];
        } else {
            direction_[category] = right_[place];
            free_[kept++] = category;
        }
    }
    return kept;
}

// Go along the direction, at first no further than the radius that has lately been worth it: further while the function falls
// nearly as steeply as at the start, and back where it rises. The prices end at the last trial. The search teaches damping and
// radius: where the Hessian foretold the way both give more room, where it did not, less. Returns the number of trials.
std::size_t ProximalMethod::line_search(const ScaledProgram& program, double rho, double slope, std::size_t budget) {
    double furthest = 0.0;
    for (const double step : direction_) furthest = std::max(furthest, std::abs(step));
    double length = std::min(1.0, radius_ / furthest), falls_at = 0.0, falls = slope;
    bool went_back = false;
    std::size_t trials = 0;
    category_sums(program, direction_, moves_);
    while (true) {
        for (std::size_t category = 0; category < prices_.size(); ++category)
            trial_[category] = prices_[category] + length * direction_[category];
        evaluate(program, rho, length);
        ++trials;
        const double there = slope_at_trial(program);
        const bool goes_on = there < tuning::falls_on * slope && length < 1.0 && !went_back;
        const std::size_t most = there > -slope ? tuning::most_trials : tuning::max_trials;  // it rises more than it fell
        if ((!goes_on && there <= -tuning::flat_enough * slope) || trials >= std::min(most, budget)) break;
        if (goes_on) {
            falls_at = length;
            falls = there;
            length = std::min(4.0 * length, 1.0);
        } else {  // to short of where a parabola ends: the curvature grows on the way
            length = falls_at + (length - falls_at) * std::max(0.05, tuning::caution * falls / (falls - there));
            went_back = true;
        }
    }
    std::swap(trial_, prices_);
    std::swap(adjusted_, trial_adjusted_);
    if (!went_back) {
        damping_ = std::max(0.5 * damping_, 1e-6);
        radius_ = std::max(radius_, 3.0 * length * furthest);
    } else {
        radius_ = 2.0 * length * furthest;
        if (length < tuning::short_step) damping_ = std::min(4.0 * damping_, 1e6);
    }
    return trials;
}

// How steeply the function falls along the direction, at the trial prices and their shares.
double ProximalMethod::slope_at_trial(const ScaledProgram& program) {
    move_wanted_shares(program, trial_);
    double slope = 0.0;
    for (std::size_t category = 0; category < prices_.size(); ++category)
        slope += (wanted_[category] - shares_[category]) * direction_[category];
    return slope;
}

// x(y) and its shares at a part of the way along the direction.
void ProximalMethod::evaluate(const ScaledProgram& program, double rho, double length) {
    for (std::size_t candidate = 0; candidate < point_.size(); ++candidate) {
        trial_adjusted_[candidate] = adjusted_[candidate] - length * moves_[candidate];
        point_[candidate] = centre_[candidate] + rho * trial_adjusted_[candidate];
    }
    project_active(program);
    set_shares(program);
}

// Sort and project the candidates above the threshold, which falls until nobody who is left out can matter.
//
// With few candidates the threshold is −∞ and all are looked at; +∞ asks for a new one.
void ProximalMethod::project_active(const ScaledProgram& program) {
    const std::size_t n = program.n(), k = program.k();
    while (true) {
        if (threshold_ < infinity) {
            if (threshold_ > -infinity || active_ < n) select_above(threshold_);
            if (active_ > k || active_ == n) {
                const MutableIndices active = std::span(order_).first(active_);
                sort_descending(point_, active, scratch_);
                project(point_, program.slots, active, blocks_, exposure_);
                if (active_ == n || blocks_.means[blocks_.count - 1] >= threshold_) break;
            }
        }
        const std::size_t seen = threshold_ < infinity ? active_ : 0;
        const std::size_t wanted = 2 * std::max(seen, k) + tuning::spare_candidates;
        threshold_ = wanted < n ? key_at_rank(point_, wanted, scratch_.places) : -infinity;
    }
    if (active_ < n && active_ > 4 * (2 * k + tuning::spare_candidates)) threshold_ = infinity;
}

// Put the candidates whose point reaches the threshold first in `order_`; who leaves them loses its exposure.
//
// Those that stay keep their relative order and newcomers follow, so that sorting stays cheap.
void ProximalMethod::select_above(double threshold) {
    const MutableIndices left = scratch_.places;
    std::size_t kept = 0, leaving = 0;
    for (std::size_t place = 0; place < active_; ++place) {
        const Index candidate = order_[place];
        if (point_[candidate] >= threshold) {
            order_[kept++] = candidate;
        } else {
            left[leaving++] = candidate;
            exposure_[candidate] = 0.0;
        }
    }
    std::copy_n(left.begin(), leaving, order_.begin() + static_cast<std::ptrdiff_t>(kept));
    for (std::size_t place = active_; place < order_.size(); ++place)
        if (point_[order_[place]] >= threshold) std::swap(order_[kept++], order_[place]);
    active_ = kept;
}

// p = Aᵀx: by category where everyone is looked at, else over the candidates that have exposure.
void ProximalMethod::set_shares(const ScaledProgram& program) {
    if (looks_at_everyone(program)) {
        const SparseView columns = program.columns.view();
        for (std::size_t category = 0; category < shares_.size(); ++category) {
            double share = 0.0;
            for (Index entry = columns.starts[category]; entry < columns.starts[category + 1]; ++entry)
                share += columns.values[entry] * exposure_[columns.columns[entry]];
            shares_[category] = share;
        }
        return;
    }
    const SparseView rows = program.rows.view();
    std::fill(shares_.begin(), shares_.end(), 0.0);
    for (std::size_t rank = 0; rank < active_; ++rank) {
        const Index candidate = order_[rank];
        const double exposure = exposure_[candidate];
        if (exposure == 0.0) continue;
        for (Index entry = rows.starts[candidate]; entry < rows.starts[candidate + 1]; ++entry)
            shares_[rows.columns[entry]] += rows.values[entry] * exposure;
    }
}

// Keep the exposure if it is the best so far, and the better of the prices and those that crossover leads to. Returns how
// many sorts that took, of at most `max_sorts` or one.
std::size_t ProximalMethod::record(const ScaledProgram& program, double tolerance, std::size_t max_sorts) {
    record_exposure(program, best_);
    if (watcher_.stop() || !cross_over(program)) {
        record_prices(program, prices_, best_);
        return 1;
    }
    record_prices(program, trial_, best_);
    if (best_.gap() <= tolerance) return 1;
    if (best_.prices == trial_) {
        prices_ = trial_;
        std::swap(adjusted_, trial_adjusted_);
        return 1;
    }
    if (max_sorts < 2) return 1;
    record_prices(program, prices_, best_);
    return 2;
}

void ProximalMethod::record_exposure(const ScaledProgram& program, BestPoint& best) {
    double objective = -penalty_cost(program.penalties, shares_);
    for (std::size_t rank = 0; rank < active_; ++rank)
        objective += program.gains[order_[rank]] * exposure_[order_[rank]];
    if (objective <= best.objective) return;
    best.objective = objective;
    best.exposure = exposure_;
    best.order.assign(order_.begin(), order_.begin() + static_cast<std::ptrdiff_t>(active_));
    best.block_starts.assign(blocks_.starts.begin(),
                              blocks_.starts.begin() + static_cast<std::ptrdiff_t>(blocks_.count + 1));
}

// The bound at some prices, from adjusted scores computed anew.
void ProximalMethod::record_prices(const ScaledProgram& program, Reals prices, BestPoint& best) {
    price_adjusted_scores(program, prices, trial_adjusted_);
    sort_best(trial_adjusted_, program.k(), ranked_, scratch_);
    const double bound = conjugate_sum(program.penalties, prices) + ranking_value(program.slots, trial_adjusted_, ranked_);
    if (bound >= best.bound) return;
    best.bound = bound;
    best.prices.assign(prices.begin(), prices.end());
}

// A stop between Newton steps: what lies on the way may be better than where the last proximal step ended.
void ProximalMethod::take_from_the_way() {
    if (on_way_.objective > best_.objective) {
        best_.objective = on_way_.objective;
        best_.exposure = on_way_.exposure;
        best_.order = on_way_.order;
        best_.block_starts = on_way_.block_starts;
    }
    if (on_way_.bound < best_.bound) {
        best_.bound = on_way_.bound;
        best_.prices = on_way_.prices;
    }
}

// Make `trial_` the prices that this face asks for; false where there are none to move.
bool ProximalMethod::cross_over(const ScaledProgram& program) {
    trial_ = prices_;
    return program.curved() ? cross_over_by_shares(program) : cross_over_by_ties(program);
}

// Where penalties are curved: the slopes of the penalties at the present shares.
bool ProximalMethod::cross_over_by_shares(const ScaledProgram& program) {
    for (std::size_t category = 0; category < trial_.size(); ++category) {
        const Penalty& penalty = program.penalties[category];
        if (!penalty.curved()) continue;
        const double slope = penalty.slope(shares_[category], true);
        trial_[category] = std::clamp(slope, program.lowest[category], program.highest[category]);
    }
    return true;
}

// Where all are straight: the prices nearest to a tie of all candidates of each block, by least squares in the prices that
// are between their bounds.
bool ProximalMethod::cross_over_by_ties(const ScaledProgram& program) {
    std::size_t free = 0;
    for (Index category = 0; category < prices_.size(); ++category)
        if (prices_[category] > floors_[category] && prices_[category] < ceilings_[category]) free_[free++] = category;
    if (free == 0) return false;
    set_tie_residuals(program);
    system_.load(program, blocks_, order_, 1.0);
    std::fill(diagonal_.begin(), diagonal_.end(), tuning::least_damping * static_cast<double>(program.n()));
    for (std::size_t place = 0; place < free; ++place) right_[place] = -gradient_[free_[place]];
    if (!system_.solve(std::span(free_).first(free), diagonal_, std::span(right_).first(free))) return false;
    for (std::size_t place = 0; place < free; ++place) {
        const Index category = free_[place];
        const double price = prices_[category] + right_[place];
        trial_[category] = std::abs(price) < tuning::no_price ? 0.0 : std::clamp(price, floors_[category], ceilings_[category]);
    }
    return true;
}

// The gradient of half the squared deviations from a tie, Σ_blocks Σ_i (z_i − mean of the block)²/2, in the prices.
void ProximalMethod::set_tie_residuals(const ScaledProgram& program) {
    const SparseView rows = program.rows.view();
    std::fill(gradient_.begin(), gradient_.end(), 0.0);
    for (const Index block : blocks_.pooled()) {
        const Index first = blocks_.starts[block], last = blocks_.starts[block + 1];
        double mean = 0.0;
        for (Index rank = first; rank < last; ++rank) mean += adjusted_[order_[rank]];
        mean /= static_cast<double>(last - first);
        for (Index rank = first; rank < last; ++rank) {
            const double residual = adjusted_[order_[rank]] - mean;
            for (Index entry = rows.starts[order_[rank]]; entry < rows.starts[order_[rank] + 1]; ++entry)
                gradient_[rows.columns[entry]] -= residual * rows.values[entry];
        }
    }
}

}  // namespace excalibr
