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
        const double value = best_of_all(scratch.program, scratch.perturbed, scratch.exhaustive);
        return answer(scratch, scratch.perturbed, value, true, false);
    }
    take_starts(starts, scratch);
    scratch.state.reset(scratch.program);
    scratch.state.operations = 0;
    const std::size_t searches = affordable_descents(n, k);
    const std::size_t descents = std::min(scratch.starts.count(), (searches + 1) / 2);
    const bool complete = find_local_optima(scratch, descents, searches - descents, max_operations);
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
    std::size_t best = 0;
    for (std::size_t attempt = 0; attempt < descents + perturbations; ++attempt) {
        const bool perturbing = attempt >= descents;
        const Indices start = perturbing ? optima.row(best) : scratch.starts.row(scratch.order[attempt]);
        std::copy(start.begin(), start.end(), scratch.perturbed.begin());
        if (perturbing) sequence.perturb(scratch.perturbed, program.candidates());
        scratch.state.load(program, scratch.perturbed);
        const bool complete = descend(program, scratch.state, max_operations);
        optima.add(scratch.state.ranking, scratch.state.value);
        if (scratch.state.value > optima.values[best]) best = attempt;
        if (!complete) return false;
    }
    return true;
}

}  // namespace excalibr
