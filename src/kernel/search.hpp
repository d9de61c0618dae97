// One good ranking: all rankings tried where they are few, a local search from some starts elsewhere.
#pragma once

#include "descent.hpp"
#include "exhaustive.hpp"

namespace excalibr {

// Rankings one after another, k entries each, with their values.
struct RankingTable {
    std::size_t ranks = 0;
    std::vector<Index> entries;
    std::vector<double> values;

    void reset(std::size_t k) {
        ranks = k;
        entries.clear();
        values.clear();
    }
    std::size_t count() const { return values.size(); }
    Indices row(std::size_t at) const { return std::span(entries).subspan(at * ranks, ranks); }
    void shorten(std::size_t count) {
        entries.resize(count * ranks);
        values.resize(count);
    }
    void add(Indices ranking, double value) {
        entries.insert(entries.end(), ranking.begin(), ranking.end());
        values.push_back(value);
    }
};

// Room that searches work in, kept from user to user.
struct SearchScratch {
    explicit SearchScratch(Watcher& watcher) : state(watcher) {}

    RankedProgram program;
    SearchState state;
    ExhaustiveScratch exhaustive;
    SortScratch sorting;
    RankingTable starts, optima;  // by rank
    std::vector<Index> order, perturbed, answer;
};

struct FoundRanking {
    Indices ranking;  // (k) in slot order; lies in the scratch until that is used again
    double value;
    bool exhaustive;      // all rankings were tried: it is proven to be the best one
    bool effort_limited;  // the search ended early, after `max_operations`
};

// The best single ranking that could be found. Without the limit on the effort no single move improves it.
//
// `starts` are rankings (L × k) of distinct candidates in slot order, for instance a lottery's; without any, the candidates
// with the largest gains. A greedy one is added to them. One that has too many of a group is repaired first. Only the best of
// them are searched from.
FoundRanking best_ranking(const SearchProgram& program, Indices starts, SearchScratch& scratch,
                          std::uint64_t max_operations = tuning::ranking_operations);

// How many local searches are worth their time: many for a short list, few for a long one.
std::size_t affordable_descents(std::size_t n, std::size_t k);

// Fill `scratch.optima` with the local optima of the `descents` best of `scratch.starts`, and then of up to `perturbations`
// of the best so far, until some in a row were in vain, for `scratch.program`; false if the limit on the effort cut that
// short. The first descent always leaves its ranking, optimal or not.
bool find_local_optima(SearchScratch& scratch, std::size_t descents, std::size_t perturbations,
                       std::uint64_t max_operations);

}  // namespace excalibr
