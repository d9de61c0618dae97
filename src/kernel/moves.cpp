#include "moves.hpp"

#include <algorithm>

namespace excalibr {
namespace {

// Make `moved` the shares without the item of a rank, and return what those cost.
double take_out(const RankedProgram& program, SearchState& state, Index item, double weight) {
    const SparseView& rows = program.rows;
    double cost = state.cost;
    std::copy(state.shares.begin(), state.shares.end(), state.moved.begin());
    std::copy(state.costs.begin(), state.costs.end(), state.moved_costs.begin());
    for (Index entry = rows.starts[item]; entry < rows.starts[item + 1]; ++entry) {
        const Index category = rows.columns[entry];
        state.moved[category] -= weight * rows.values[entry];
        state.moved_costs[category] = program.penalties[category].cost(state.moved[category]);
        cost += state.moved_costs[category] - state.costs[category];
    }
    return cost;
}

// The candidates outside whose bound at this rank is above `floor`, by index. Without a branch: a third of them are, in
// no order that could be foreseen.
Indices list_promising(SearchState& state, Index leaving, double weight, double floor) {
    const double* const adjusted = state.adjusted.data();
    const Index* const rank_of = state.rank_of.data();
    Index* const listed = state.listed.data();
    const double from = adjusted[leaving];
    std::size_t count = 0;
    for (std::size_t candidate = 0; candidate < state.rank_of.size(); ++candidate) {
        const bool outside = rank_of[candidate] == not_ranked;
        const bool promising = weight * (adjusted[candidate] - from) > floor;
        listed[count] = static_cast<Index>(candidate);
        count += static_cast<std::size_t>(outside & promising);
    }
    return {listed, count};
}

// How much the cost rises when `weight` of exposure goes from one candidate to another: two sparse rows merged.
double exchange_cost(const RankedProgram& program, const SearchState& state, Index leaving, Index entering,
                     double weight) {
    const Indices columns = program.rows.columns;
    const Reals values = program.rows.values;
    Index first = program.rows.starts[leaving], second = program.rows.starts[entering];
    const Index first_end = program.rows.starts[leaving + 1], second_end = program.rows.starts[entering + 1];
    double change = 0.0;
    while (first < first_end || second < second_end) {
        const bool from_first = second == second_end || (first < first_end && columns[first] <= columns[second]);
        const bool from_second = first == first_end || (second < second_end && columns[second] <= columns[first]);
        const Index category = from_first ? columns[first] : columns[second];
        double value = 0.0;
        if (from_second) value += values[second++];
        if (from_first) value -= values[first++];
        change += program.penalties[category].cost(state.shares[category] + weight * value) - state.costs[category];
    }
    return change;
}

// The ranks that an item passes on its way in one direction: `moved` are the shares after those passed so far have
// shifted by one rank, before the item itself moves; `cost` is what they cost, brought up to date when it is asked for.
class Passing {
  public:
    Passing(const RankedProgram& program, SearchState& state) : program_(program), state_(state), cost_(state.cost) {
        std::copy(state.shares.begin(), state.shares.end(), state.moved.begin());
        std::copy(state.costs.begin(), state.costs.end(), state.moved_costs.begin());
        state.changed.clear();
    }

    void shift(Index item, double weight) {
        const SparseView& rows = program_.rows;
        for (Index entry = rows.starts[item]; entry < rows.starts[item + 1]; ++entry) {
            state_.moved[rows.columns[entry]] += weight * rows.values[entry];
            state_.changed.push_back(rows.columns[entry]);
        }
    }

    double cost_with(Index item, double lift) {
        for (const Index category : state_.changed) settle(category);
        state_.changed.clear();
        const SparseView& rows = program_.rows;
        double cost = cost_;
        for (Index entry = rows.starts[item]; entry < rows.starts[item + 1]; ++entry) {
            const Index category = rows.columns[entry];
            const double share = state_.moved[category] + lift * rows.values[entry];
            cost += program_.penalties[category].cost(share) - state_.moved_costs[category];
        }
        return cost;
    }

  private:
    void settle(Index category) {
        const double cost = program_.penalties[category].cost(state_.moved[category]);
        cost_ += cost - state_.moved_costs[category];
        state_.moved_costs[category] = cost;
    }

    const RankedProgram& program_;
    SearchState& state_;
    double cost_;
};

void consider_insertions_towards(const RankedProgram& program, SearchState& state, Index rank, int step, Move& best) {
    const Index item = state.ranking[rank];
    const double charged_now = program.charged(state.cost);
    Passing passing(program, state);
    double bound = 0.0, gain = 0.0;  // of the shifts so far
    const auto last = static_cast<Index>(step > 0 ? state.ranking.size() - 1 : 0);
    for (Index place = rank; place != last;) {
        const Index next = place + static_cast<Index>(step), passed = state.ranking[next];
        const double weight = program.weights[place] - program.weights[next];
        place = next;
        bound += weight * state.adjusted[passed];
        gain += weight * program.gains[passed];
        passing.shift(passed, weight);
        const double lift = program.weights[place] - program.weights[rank];
        if (place == rank + static_cast<Index>(step) || bound + lift * state.adjusted[item] <= best.gain) continue;
        state.operations += 2 * program.effort_of(item);
        const double cost = passing.cost_with(item, lift);
        const double total = gain + lift * program.gains[item] - (program.charged(cost) - charged_now);
        if (total > best.gain) best = {MoveKind::insertion, rank, place, total};
    }
    state.operations += state.ranking.size();
}

}  // namespace

double entering_cost(const RankedProgram& program, SearchState& state, Index candidate, double weight) {
    const SparseView& rows = program.rows;
    double change = 0.0;
    for (Index entry = rows.starts[candidate]; entry < rows.starts[candidate + 1]; ++entry) {
        const Index pair = program.pair_of[entry];
        if (state.pair_scans[pair] != state.scan) {
            state.pair_scans[pair] = state.scan;
            const Index category = rows.columns[entry];
            const double share = state.moved[category] + weight * rows.values[entry];
            state.pair_costs[pair] = program.penalties[category].cost(share) - state.moved_costs[category];
        }
        change += state.pair_costs[pair];
    }
    return change;
}

void consider_replacements(const RankedProgram& program, SearchState& state, Index rank, Move& best) {
    const Index leaving = state.ranking[rank];
    const double weight = program.weights[rank], charged_now = program.charged(state.cost);
    const double cost_without = take_out(program, state, leaving, weight);
    ++state.scan;
    for (const Index candidate : list_promising(state, leaving, weight, best.gain)) {
        if (weight * (state.adjusted[candidate] - state.adjusted[leaving]) <= best.gain) continue;
        if (program.limited() && state.full_for(program, candidate, leaving)) continue;
        state.operations += program.effort_of(candidate);
        const double cost = cost_without + entering_cost(program, state, candidate, weight);
        const double gain =
            weight * (program.gains[candidate] - program.gains[leaving]) - (program.charged(cost) - charged_now);
        if (gain > best.gain) best = {MoveKind::replacement, rank, candidate, gain};
    }
    state.operations += state.rank_of.size();
}

void consider_swaps(const RankedProgram& program, SearchState& state, Index rank, Move& best) {
    const Index falling = state.ranking[rank];
    const double charged_now = program.charged(state.cost);
    for (Index other = rank + 1; other < state.ranking.size(); ++other) {
        const Index rising = state.ranking[other];
        const double weight = program.weights[rank] - program.weights[other];
        if (weight * (state.adjusted[rising] - state.adjusted[falling]) <= best.gain) continue;
        state.operations += program.effort_of(falling) + program.effort_of(rising);
        const double cost = state.cost + exchange_cost(program, state, falling, rising, weight);
        const double gain =
            weight * (program.gains[rising] - program.gains[falling]) - (program.charged(cost) - charged_now);
        if (gain > best.gain) best = {MoveKind::swap, rank, other, gain};
    }
    state.operations += state.ranking.size();
}

void consider_insertions(const RankedProgram& program, SearchState& state, Index rank, Move& best) {
    consider_insertions_towards(program, state, rank, 1, best);
    consider_insertions_towards(program, state, rank, -1, best);
}

}  // namespace excalibr
