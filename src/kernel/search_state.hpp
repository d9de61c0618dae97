// A ranking under improvement: its items by rank, its shares and costs, and every candidate's price-adjusted gain.
//
// Penalties are convex, so a move that shifts exposure d from one candidate to another gains at most d times the
// difference of their adjusted gains c − A·(slopes): most moves are passed over for the price of a subtraction.
#pragma once

#include <limits>

#include "effort.hpp"
#include "search_program.hpp"

namespace excalibr {

inline constexpr Index not_ranked = ~Index{0};

struct SearchState {
    explicit SearchState(Watcher& watcher) : watcher(watcher) {}

    Watcher& watcher;
    std::vector<Index> ranking;       // (k) the candidate at each rank
    std::vector<Index> rank_of;       // (n) the rank of each candidate, or not_ranked
    std::vector<Index> group_counts;  // how many of each group are ranked
    std::vector<double> shares, costs, slopes;  // (r) of each category, at this ranking
    std::vector<double> adjusted;               // (n) adjusted gains
    double cost = 0.0, value = 0.0;             // the sum of all costs; what the program says of the ranking
    std::uint64_t operations = 0;               // candidates, ranks and entries looked at so far: the effort

    // Room of the moves: shares while a move is tried and what they cost, and what a pair of category and value adds in
    // the present scan.
    std::vector<double> moved, moved_costs, pair_costs;
    std::vector<std::uint32_t> pair_scans;
    std::uint32_t scan = 0;
    std::vector<Index> changed;  // categories whose moved_costs are out of date
    std::vector<Index> listed;   // candidates that are worth a look, with room for one more than there are

    void reset(const RankedProgram& program);

    // Whether a search that may take so many operations must end, because of these or of the clock.
    bool is_over(std::uint64_t max_operations = std::numeric_limits<std::uint64_t>::max()) {
        const std::uint64_t more = operations - asked_;
        asked_ = operations;
        return watcher.stop(tuning::multiplications_in_search * static_cast<double>(more)) || operations >= max_operations;
    }
    void restart() { operations = asked_ = 0; }

    // Take up a ranking (by rank) of distinct candidates; where it has too many of a group, the candidates with the
    // largest gains that are allowed take their place.
    void load(const RankedProgram& program, Indices by_rank);

    // Everything that follows from the ranking, from nothing: cheap beside a scan of the moves, and it cannot drift.
    // Adjusted gains are computed only where slopes have changed, so the program must be the one of the last load.
    void evaluate(const RankedProgram& program);

    // Put a candidate that is not ranked at this rank.
    void replace(const RankedProgram& program, Index rank, Index candidate);

    // Exchange the items of two ranks.
    void swap(Index rank, Index other);

    // Move the item of one rank to another; those between shift by one towards where it was.
    void insert(Index rank, Index target);

    // Whether the group of a candidate has no room for it, even when the other one leaves.
    bool full_for(const RankedProgram& program, Index entering, Index leaving) const {
        const std::int32_t group = program.group_of[entering];
        return group >= 0 && group != program.group_of[leaving] && group_counts[group] >= program.group_limits[group];
    }

  private:
    std::uint64_t asked_ = 0;

    bool compute_slopes(const RankedProgram& program);
    void compute_adjusted(const RankedProgram& program);
    bool has_room(const RankedProgram& program, Index candidate) const;
    void place(const RankedProgram& program, Index rank, Index candidate);
    Index best_allowed(const RankedProgram& program) const;
};

}  // namespace excalibr
