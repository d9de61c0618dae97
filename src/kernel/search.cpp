#include "search.hpp"

#include <algorithm>

namespace excalibr {
namespace {

// The candidates with the largest gains, by rank; or, where groups are limited, whatever loading makes of them.
void start_with_largest_gains(SearchScratch& scratch) {
    const RankedProgram& program = scratch.program;
    scratch.order.resize(program.candidates());
    fill_identity(scratch.order);
    scratch.sorting.resize(std::max(scratch.sorting.keys.size(), program.candidates()));
    sort_best(program.gains, program.ranks(), scratch.order, scratch.sorting);
    scratch.starts.add(std::span(scratch.order).first(program.ranks()), 0.0);
}

// Shares as if the ranks from this one on had the target, in proportion to their weights, and what they cost.
void project(const RankedProgram& program, SearchState& state, double part) {
    for (std::size_t category = 0; category < program.categories(); ++category) {
        state.moved[category] = state.shares[category] + part * program.penalties[category].low;
        state.moved_costs[category] = program.penalties[category].cost(state.moved[category]);
    }
    ++state.scan;
    state.operations += program.category_effort * program.categories();
}

// The candidate outside that is best at this rank, with the later ranks projected.
Index best_at(const RankedProgram& program, SearchState& state, double weight) {
    Index best = not_ranked;
    double largest = 0.0;
    for (Index candidate = 0; candidate < program.candidates(); ++candidate) {
        if (state.rank_of[candidate] != not_ranked) continue;
        state.operations += program.effort_of(candidate);
        const double value =
            weight * program.gains[candidate] - program.charge * entering_cost(program, state, candidate, weight);
        if (best == not_ranked || value > largest) {
            best = candidate;
            largest = value;
        }
    }
    return best;
}

// One start more, unless it takes too long: rank after rank the best candidate, while the ranks after it are taken to match the target.
void start_greedily(SearchScratch& scratch) {
    const RankedProgram& program = scratch.program;
    SearchState& state = scratch.state;
    const SparseView& rows = program.rows;
    double total = 0.0, filled = 0.0;
    for (const double weight : program.weights) total += weight;
    std::fill(state.rank_of.begin(), state.rank_of.end(), not_ranked);
    std::fill(state.shares.begin(), state.shares.end(), 0.0);
    for (Index rank = 0; rank < program.ranks(); ++rank) {
        if (state.is_over()) return;
        const double weight = program.weights[rank];
        filled += weight;
        project(program, state, total > 0.0 ? std::max(1.0 - filled / total, 0.0) : 0.0);
        const Index chosen = best_at(program, state, weight);
        state.rank_of[chosen] = rank;
        scratch.answer[rank] = chosen;
        for (Index entry = rows.starts[chosen]; entry < rows.starts[chosen + 1]; ++entry)
            state.shares[rows.columns[entry]] += weight * rows.values[entry];
    }
    scratch.starts.add(scratch.answer, 0.0);
}

void take_starts(Indices starts, SearchScratch& scratch) {
    const std::size_t k = scratch.program.ranks();
    scratch.starts.reset(k);
    scratch.answer.resize(k);
    for (std::size_t first = 0; first + k <= starts.size(); first += k) {
        scratch.program.to_ranks(starts.subspan(first, k), scratch.answer);
        scratch.starts.add(scratch.answer, 0.0);
    }
    if (scratch.starts.count() == 0) start_with_largest_gains(scratch);
}

// Make `order` the starts from the best one to the worst.
void rank_starts(SearchScratch& scratch) {
    RankingTable& starts = scratch.starts;
    for (std::size_t start = 0; start < starts.count(); ++start) {
        if (start > 0 && scratch.state.is_over()) starts.shorten(start);
        if (start == starts.count()) break;
        scratch.state.load(scratch.program, starts.row(start));
        starts.values[start] = scratch.state.value;
    }
    scratch.order.resize(starts.count());
    fill_identity(scratch.order);
    scratch.sorting.resize(std::max(scratch.sorting.keys.size(), starts.count()));
    sort_descending(starts.values, scratch.order, scratch.sorting);
}

FoundRanking answer(SearchScratch& scratch, Indices by_rank, double value, bool exhaustive, bool effort_limited) {
    scratch.answer.resize(by_rank.size());
    scratch.program.to_slots(by_rank, scratch.answer);
    return {scratch.answer, value + scratch.program.gain_offset(), exhaustive, effort_limited};
}

}  // namespace

FoundRanking best_ranking(const SearchProgram& program, Indices starts, SearchScratch& scratch,
                          std::uint64_t max_operations) {
    scratch.program.reset(program, scratch.sorting);
    const std::size_t n = program.gains.size(), k = program.position_weights.size();
    if (few_rankings(n, k, tuning::most_rankings_tried)) {
        scratch.perturbed.resize(k);
        const double value = best_of_all(scratch.program, scratch.perturbed, scratch.exhaustive, scratch.state.watcher);
        if (!scratch.state.watcher.stop()) return answer(scratch, scratch.perturbed, value, true, false);
    }
    take_starts(starts, scratch);
    scratch.state.reset(scratch.program);
    scratch.state.restart();
    start_greedily(scratch);
    const std::size_t searches = affordable_descents(n, k);
    const std::size_t descents = std::min(scratch.starts.count(), (searches + 1) / 2);
    const bool complete = find_local_optima(scratch, descents, searches, max_operations);
    const std::vector<double>& values = scratch.optima.values;
    const auto best = static_cast<std::size_t>(std::max_element(values.begin(), values.end()) - values.begin());
    return answer(scratch, scratch.optima.row(best), values[best], false, !complete);
}

std::size_t affordable_descents(std::size_t n, std::size_t k) {
    std::size_t root = 1;  // ⌊√n⌋
    while ((root + 1) * (root + 1) <= n) ++root;
    return std::clamp(tuning::descents_budget / (k * root), tuning::fewest_descents, tuning::most_descents);
}

bool find_local_optima(SearchScratch& scratch, std::size_t descents, std::size_t perturbations,
                       std::uint64_t max_operations) {
    const RankedProgram& program = scratch.program;
    RankingTable& optima = scratch.optima;
    rank_starts(scratch);
    optima.reset(program.ranks());
    scratch.perturbed.resize(program.ranks());
    PerturbationSequence sequence;
    std::size_t best = 0, in_vain = 0;
    for (std::size_t attempt = 0; attempt < descents + perturbations; ++attempt) {
        const bool perturbing = attempt >= descents;
        const Indices start = perturbing ? optima.row(best) : scratch.starts.row(scratch.order[attempt]);
        std::copy(start.begin(), start.end(), scratch.perturbed.begin());
        if (perturbing) sequence.perturb(scratch.perturbed, program.candidates());
        scratch.state.load(program, scratch.perturbed);
        const bool complete = descend(program, scratch.state, max_operations);
        optima.add(scratch.state.ranking, scratch.state.value);
        in_vain = perturbing ? in_vain + 1 : 0;
        if (scratch.state.value > optima.values[best]) {
            best = attempt;
            in_vain = 0;
        }
        if (!complete) return false;
        if (in_vain >= tuning::perturbations_in_vain) break;
    }
    return true;
}

}  // namespace excalibr
