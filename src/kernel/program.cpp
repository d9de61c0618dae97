#include "program.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tuning.hpp"

namespace excalibr {
namespace {

// The entries of the rows by category.
void transpose(const SparseRows& rows, std::size_t r, SparseRows& columns) {
    columns.starts.assign(r + 2, 0);
    columns.columns.resize(rows.columns.size());
    columns.values.resize(rows.values.size());
    for (const Index category : rows.columns) ++columns.starts[category + 2];
    for (std::size_t category = 2; category < r + 2; ++category) columns.starts[category] += columns.starts[category - 1];
    for (Index candidate = 0; candidate + 1 < rows.starts.size(); ++candidate)
        for (Index entry = rows.starts[candidate]; entry < rows.starts[candidate + 1]; ++entry) {
            const Index place = columns.starts[rows.columns[entry] + 1]++;
            columns.columns[place] = candidate;
            columns.values[place] = rows.values[entry];
        }
    columns.starts.pop_back();
}

// The spread of the gains or the gentlest weight, whichever is larger, as a power of two: hard limits are far steeper.
double unit_of(double spread, std::span<const Penalty> penalties) {
    double gentlest = std::numeric_limits<double>::infinity();
    for (const Penalty& penalty : penalties)
        for (const double weight : {penalty.below, penalty.above})
            if (weight > 0.0) gentlest = std::min(gentlest, weight);
    const double unit = std::isinf(gentlest) ? spread : std::max(spread, gentlest);
    return unit > 0.0 ? std::exp2(std::ceil(std::log2(unit))) : 1.0;
}

// A curved penalty whose target is so small that its curve costs no more than a part of the tolerance, as a straight one:
// its price would have to be told from its limit by more digits than there are.
bool is_nearly_straight(const Penalty& penalty, double tolerance) {
    return penalty.curved() && tuning::curve_cost * (penalty.base + penalty.high) * penalty.above <= tolerance;
}

Penalty straightened(const Penalty& penalty) {
    return {penalty.high, penalty.high, 0.0, (1.0 - penalty.smoothing) * penalty.above, 0.0, 0.0};
}

// sums += factor · A·amounts, category by category: long loops instead of many short ones.
void add_by_category(const SparseView& columns, double factor, Reals amounts, MutableReals sums) {
    for (std::size_t category = 0; category < amounts.size(); ++category) {
        const double amount = factor * amounts[category];
        if (amount == 0.0) continue;
        const Index last = columns.starts[category + 1];
        for (Index entry = columns.starts[category]; entry < last; ++entry)
            sums[columns.columns[entry]] += columns.values[entry] * amount;
    }
}

}  // namespace

double Program::spread() const {
    if (gains.empty()) return 0.0;
    const auto [least, most] = range_of(gains);
    return most - least;
}

void ScaledProgram::load_structure(const Program& program, SortScratch& scratch) {
    rows = program.rows;
    transpose(rows, program.r(), columns);
    slot_order.resize(program.k());
    fill_identity(slot_order);
    scratch.resize(std::max(program.n(), program.k()));
    sort_descending(program.position_weights, slot_order, scratch);
    slots.resize(program.k());
    for (std::size_t rank = 0; rank < slots.size(); ++rank) slots[rank] = program.position_weights[slot_order[rank]];
}

void ScaledProgram::load_objective(const Program& program, double tolerance) {
    const double top = program.gains.empty() ? 0.0 : range_of(program.gains).second;
    spread = program.spread();
    unit = unit_of(spread, program.penalties);
    spread /= unit;
    gains.resize(program.n());
    for (std::size_t candidate = 0; candidate < gains.size(); ++candidate)
        gains[candidate] = (program.gains[candidate] - top) / unit;
    penalties = program.penalties;
    lowest.resize(penalties.size());
    highest.resize(penalties.size());
    steepness = 0.0;
    any_curved_ = false;
    const double allowed = tolerance / static_cast<double>(std::max<std::size_t>(penalties.size(), 1));
    for (std::size_t category = 0; category < penalties.size(); ++category) {
        Penalty& penalty = penalties[category];
        if (is_nearly_straight(penalty, allowed)) penalty = straightened(penalty);
        penalty.below /= unit;
        penalty.above /= unit;
        any_curved_ = any_curved_ || penalty.curved();
        lowest[category] = penalty.lowest_price();
        highest[category] = penalty.highest_price();
        steepness = std::max({steepness, penalty.below, penalty.above});
    }
    steepness = std::min(steepness, tuning::steepest);
}

void price_adjusted_scores(const ScaledProgram& program, Reals prices, MutableReals adjusted) {
    std::copy(program.gains.begin(), program.gains.end(), adjusted.begin());
    add_by_category(program.columns.view(), -1.0, prices, adjusted);
}

void category_sums(const ScaledProgram& program, Reals changes, MutableReals sums) {
    std::fill(sums.begin(), sums.end(), 0.0);
    add_by_category(program.columns.view(), 1.0, changes, sums);
}

double penalty_cost(std::span<const Penalty> penalties, Reals shares) {
    double cost = 0.0;
    for (std::size_t category = 0; category < shares.size(); ++category) cost += penalties[category].cost(shares[category]);
    return cost;
}

double conjugate_sum(std::span<const Penalty> penalties, Reals prices) {
    double value = 0.0;
    for (std::size_t category = 0; category < prices.size(); ++category)
        value += penalties[category].conjugate(prices[category]);
    return value;
}

double ranking_value(Reals slots, Reals adjusted, Indices ranking) {
    double sums[4] = {0.0, 0.0, 0.0, 0.0};
    const std::size_t size = slots.size(), whole = size - size % 4;
    for (std::size_t rank = 0; rank < whole; rank += 4)
        for (std::size_t lane = 0; lane < 4; ++lane) sums[lane] += slots[rank + lane] * adjusted[ranking[rank + lane]];
    for (std::size_t rank = whole; rank < size; ++rank) sums[rank - whole] += slots[rank] * adjusted[ranking[rank]];
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

double ranking_effect(const ScaledProgram& program, Reals gains, Indices ranking, MutableReals shares) {
    std::fill(shares.begin(), shares.end(), 0.0);
    const SparseView rows = program.rows.view();
    const std::size_t r = program.r();
    for (std::size_t rank = 0; rank < program.slots.size(); ++rank) {
        const Index candidate = ranking[rank];
        const MutableReals sums = shares.subspan(rank % 2 * r, r);
        for (Index entry = rows.starts[candidate]; entry < rows.starts[candidate + 1]; ++entry)
            sums[rows.columns[entry]] += program.slots[rank] * rows.values[entry];
    }
    for (std::size_t category = 0; category < r; ++category) shares[category] += shares[r + category];
    return ranking_value(program.slots, gains, ranking);
}

}  // namespace excalibr
