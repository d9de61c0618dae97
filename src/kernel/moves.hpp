// The moves of the local search: replace an item by one outside, swap two, move one and shift those between.
//
// Each function looks at the moves of one kind at one rank and makes `best` the best of them if it gains more than
// `best` does; ties go to the lower index. Only the categories that a move touches are evaluated.
#pragma once

#include "search_state.hpp"

namespace excalibr {

enum class MoveKind { none, replacement, swap, insertion };

struct Move {
    MoveKind kind = MoveKind::none;
    Index rank = 0;
    Index target = 0;   // the candidate that comes in, the rank to swap with, or the rank to move to
    double gain = 0.0;  // how much more the ranking is worth after it; without a move what one must exceed
};

// How much the cost of the state's `moved` shares, `moved_costs`, rises when a candidate gets this weight; a pair of category
// and value that was met before in this scan is only added.
double entering_cost(const RankedProgram& program, SearchState& state, Index candidate, double weight);

void consider_replacements(const RankedProgram& program, SearchState& state, Index rank, Move& best);

// Swaps with later ranks: those with earlier ones are looked at from there.
void consider_swaps(const RankedProgram& program, SearchState& state, Index rank, Move& best);

// Insertions at least two ranks away: one rank away they are swaps.
void consider_insertions(const RankedProgram& program, SearchState& state, Index rank, Move& best);

}  // namespace excalibr
