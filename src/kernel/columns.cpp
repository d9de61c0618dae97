#include "columns.hpp"

#include <algorithm>
#include <limits>
#include <type_traits>

#include "tuning.hpp"

namespace excalibr {
namespace {

template <class Master>
constexpr bool is_simplex = std::is_same_v<Master, SimplexMaster>;

template <class Master>
constexpr double usual_effort = is_simplex<Master> ? tuning::simplex_effort : tuning::interior_effort;

// The least reduced cost that is acted on: a part of the tolerance, as far as rounding allows.
double worth_acting_on(double tolerance) {
    return std::clamp(tuning::reduced_cost_of_tolerance * tolerance, tuning::least_reduced_cost,
                      tuning::largest_reduced_cost);
}

// About how many multiplications so many steps took: a pivot goes over the inverse and prices the pool; the interior-point
// master, whose steps are of another kind, counts for itself.
template <class Master>
double operations_of(const Master& master, std::size_t steps, std::size_t r) {
    if constexpr (is_simplex<Master>)
        return static_cast<double>(steps) * static_cast<double>(r * (2 * r + master.pool.count));
    else
        return master.operations();
}

}  // namespace

template <class Master>
Effort ColumnGeneration::run(const ScaledProgram& program, RankingOracle& oracle, Reals centred_scores,
                             const ColumnStart& start, double tolerance, std::size_t max_sorts, double effort_part,
                             Master& master, MutableReals prices, MutableIndices order) {
    const std::size_t r = program.r(), limit = std::min(max_sorts, tuning::sorts_a_category * (r + 10));
    const double most_operations = effort_part * tuning::effort_of(usual_effort<Master>, r);
    const std::size_t steps_before = master.pivots();
    worth_adding_ = worth_acting_on(tolerance);
    merges_lists_ = !oracle.limited() && lists_.load(program, scratch_);
    smoothing_ = start.prices_are_near ? tuning::smoothing_near : r > 2 ? tuning::first_smoothing : 0.0;
    if constexpr (!is_simplex<Master>) {
        smoothing_ = 0.0;
        master.set_tolerance(tolerance);
        master.begin_coarsely();
    }
    bool alive = master.resume(program.penalties, start.factor, worth_adding_, start.basis_is_factorised);
    const bool was_empty = master.empty();
    if (!was_empty && !start.prices_are_near) {
        set_trial(program, prices, master.prices(), 0.0);
        std::copy(trial_.begin(), trial_.end(), prices.begin());
    }
    bound_ = bound_at(program, oracle, prices, order);
    std::size_t newest = master.add(program, centred_scores, order);
    if (was_empty) alive = master.resume(program.penalties, start.factor, worth_adding_, false);
    if constexpr (!is_simplex<Master>)
        if (!was_empty && !master.is_new(newest)) {  // a ranking has one weight, and not two
            master.drop_last();
            newest = Master::none;
        }
    Effort effort{Status::stalled, 1, 0};
    std::size_t confirmations = 0;
    const double sorting = tuning::operations_a_candidate * static_cast<double>(program.n());
    while (alive && !watcher_.stop(sorting)) {
        const bool thorough = newest == Master::none;
        if constexpr (!is_simplex<Master>) master.aim_at(bound_);
        alive = master.optimise(program.penalties, newest, thorough ? std::numeric_limits<std::size_t>::max() : tuning::few_passes);
        if (watcher_.verbose())
            watcher_.tell(is_simplex<Master> ? "simplex" : "interior", master.pivots() - steps_before, effort.sorts,
                          master.value_by_prices(), bound_, static_cast<double>(master.pool.count));
        if (bound_ - master.value_by_prices() <= tolerance) {
            // believe an end only on a fresh factorisation, and do not go in circles over its rounding
            alive = alive && master.refresh(program.penalties) && ++confirmations <= tuning::max_confirmations &&
                    bound_ - master.value_by_weights(program.penalties) > tolerance;
            continue;
        }
        newest = Master::none;
        for (const double smoothing : {smoothing_, 0.0}) {  // between the best prices and the master's, then at those
            if (newest != Master::none || effort.sorts >= limit) break;
            newest = next_ranking(program, oracle, centred_scores, master, prices, order, smoothing);
            ++effort.sorts;
            if (!is_simplex<Master>) break;
        }
        if (newest == Master::none && (thorough || !is_simplex<Master>))
            alive = alive && !master.is_fresh() && master.refresh(program.penalties) && ++confirmations <= tuning::max_confirmations;
        alive = alive && effort.sorts < limit &&
                operations_of(master, master.pivots() - steps_before, r) < most_operations;
    }
    if constexpr (is_simplex<Master>) master.refresh(program.penalties);
    effort.steps = master.pivots() - steps_before;
    effort.operations = operations_of(master, effort.steps, r);
    return effort;
}

// Sort at the next trial prices, learn from the bound there, and add the ranking if its reduced cost says so, else `none`.
template <class Master>
std::size_t ColumnGeneration::next_ranking(const ScaledProgram& program, RankingOracle& oracle, Reals centred_scores,
                                           Master& master, MutableReals best, MutableIndices order, double smoothing) {
    set_trial(program, best, master.prices(), smoothing);
    const double bound = bound_at(program, oracle, trial_, order);
    const std::size_t place = master.add(program, centred_scores, order);
    if (place == Master::none) return Master::none;
    if (smoothing > 0.0) adapt_smoothing(program, master.pool, place, best);
    if (bound < bound_) {
        bound_ = bound;
        std::copy(trial_.begin(), trial_.end(), best.begin());
    }
    bool worth;
    if constexpr (is_simplex<Master>)
        worth = master.is_worth_entering(place);
    else
        worth = master.is_new(place);
    if (worth) return place;
    master.drop_last();
    return Master::none;
}

// Make `order[:k]` the best ranking at some prices; returns the bound that it proves.
double ColumnGeneration::bound_at(const ScaledProgram& program, RankingOracle& oracle, Reals prices,
                                  MutableIndices order) {
    price_adjusted_scores(program, prices, adjusted_);
    if (merges_lists_)
        lists_.best_ranking(adjusted_, program.k(), order, scratch_);
    else
        oracle.best_ranking(adjusted_, program.k(), order, scratch_);
    return conjugate_sum(program.penalties, prices) + ranking_value(program.slots, adjusted_, order);
}

// smoothing · best + (1 − smoothing) · latest, inside the box of the prices.
void ColumnGeneration::set_trial(const ScaledProgram& program, Reals best, Reals latest, double smoothing) {
    for (std::size_t category = 0; category < trial_.size(); ++category) {
        const double inside = std::min(std::max(latest[category], program.lowest[category]), program.highest[category]);
        trial_[category] = smoothing * best[category] + (1.0 - smoothing) * inside;
    }
}

// Nearer to the best prices if the bound rises from the trial towards the master's prices, else further away.
void ColumnGeneration::adapt_smoothing(const ScaledProgram& program, const RankingPool& pool, std::size_t place,
                                       Reals best) {
    double rise = 0.0;
    for (std::size_t category = 0; category < trial_.size(); ++category) {
        const Penalty& penalty = program.penalties[category];
        const double wanted = trial_[category] > 0.0 ? penalty.high : penalty.low;
        rise += (wanted - pool.shares(category, place)) * (trial_[category] - best[category]);
    }
    smoothing_ = rise > 0.0 ? smoothing_ + tuning::smoother * (1.0 - smoothing_)
                            : std::max(smoothing_ - tuning::rougher, 0.0);
}

template Effort ColumnGeneration::run(const ScaledProgram&, RankingOracle&, Reals, const ColumnStart&, double, std::size_t,
                                      double, SimplexMaster&, MutableReals, MutableIndices);
template Effort ColumnGeneration::run(const ScaledProgram&, RankingOracle&, Reals, const ColumnStart&, double, std::size_t,
                                      double, InteriorMaster&, MutableReals, MutableIndices);

}  // namespace excalibr
