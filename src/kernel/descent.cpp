#include "descent.hpp"

#include <algorithm>
#include <cmath>

#include "tuning.hpp"

namespace excalibr {
namespace {

void make(const RankedProgram& program, SearchState& state, const Move& move) {
    if (move.kind == MoveKind::replacement) state.replace(program, move.rank, move.target);
    if (move.kind == MoveKind::swap) state.swap(move.rank, move.target);
    if (move.kind == MoveKind::insertion) state.insert(move.rank, move.target);
    state.evaluate(program);
}

// The move that undoes one that has been made, if `replaced` stood at its rank before.
Move opposite(const Move& move, Index replaced) {
    if (move.kind == MoveKind::replacement) return {MoveKind::replacement, move.rank, replaced};
    return {move.kind, move.target, move.rank};
}

// Make the best move of this rank, if one gains.
bool take_best_move(const RankedProgram& program, SearchState& state, Index rank, bool inserting, bool falling) {
    const double before = state.value;
    Move best;
    best.gain = tuning::least_gain * std::abs(before);
    if (inserting) {
        consider_insertions(program, state, rank, best);
    } else {
        consider_replacements(program, state, rank, best);
        if (falling) consider_swaps(program, state, rank, best);
    }
    if (best.kind == MoveKind::none) return false;
    const Index replaced = state.ranking[rank];
    make(program, state, best);
    if (state.value > before) return true;
    make(program, state, opposite(best, replaced));
    return false;
}

// The first candidate from this one on that is not in the ranking.
Index outside(Indices ranking, Index candidate, std::size_t n) {
    while (std::find(ranking.begin(), ranking.end(), candidate) != ranking.end())
        candidate = candidate + 1 < n ? candidate + 1 : 0;
    return candidate;
}

// Swap the item of a rank with another one that a number chooses.
void swap_with(MutableIndices ranking, std::size_t rank, std::uint64_t number) {
    const std::size_t k = ranking.size();
    if (k > 1) std::swap(ranking[rank], ranking[(rank + 1 + number % (k - 1)) % k]);
}

}  // namespace

bool descend(const RankedProgram& program, SearchState& state, std::uint64_t max_operations) {
    const auto k = static_cast<Index>(state.ranking.size());
    const bool falling = program.weights.front() > program.weights.back();
    Index rank = 0, without_gain = 0;
    // Insertions cost the most and find the least: they are looked at when a round of the other moves found nothing.
    while (without_gain < (falling ? 2 * k : k)) {
        if (state.is_over(max_operations)) return false;
        if (take_best_move(program, state, rank, without_gain >= k, falling)) {
            without_gain = 0;
        } else {
            ++without_gain;
            rank = rank + 1 < k ? rank + 1 : 0;
        }
    }
    return true;
}

void sweep(const RankedProgram& program, SearchState& state, std::uint64_t max_operations) {
    const bool falling = program.weights.front() > program.weights.back();
    for (Index rank = 0; rank < state.ranking.size() && !state.is_over(max_operations); ++rank)
        take_best_move(program, state, rank, false, falling);
}

void PerturbationSequence::perturb(MutableIndices ranking, std::size_t n) {
    const std::size_t rank = next() % ranking.size();
    const std::uint64_t chosen = next();
    if (n > ranking.size())
        ranking[rank] = outside(ranking, static_cast<Index>(chosen % n), n);
    else
        swap_with(ranking, rank, chosen);
    const std::size_t other = next() % ranking.size();
    swap_with(ranking, other, next());
}

}  // namespace excalibr
