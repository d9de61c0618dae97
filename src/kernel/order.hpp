// Sorting candidates, largest key first, ties by the lower index: the one order that every part of the kernel uses.
//
// Prices move little from one evaluation to the next, so a sort starts from the order of before and inserts what moved;
// it merges from scratch only when too much has changed. The result never depends on the order that it started from.
#pragma once

#include <bit>
#include <limits>

#include "arrays.hpp"

namespace excalibr {

// A key as an integer of the same order, so that comparing takes one instruction and no branch; −0 is 0.
inline std::int64_t as_integer(double key) {
    const auto bits = std::bit_cast<std::int64_t>(key + 0.0);
    return bits ^ ((bits >> 63) & std::numeric_limits<std::int64_t>::max());
}

struct KeyedCandidate {
    std::int64_t key;
    Index candidate;
};

// Room that sorting works in, for as many candidates as there are.
struct SortScratch {
    std::vector<Index> places;
    std::vector<double> keys;
    std::vector<KeyedCandidate> entries;

    void resize(std::size_t count) {
        places.resize(count);
        keys.resize(count);
        entries.resize(2 * count);
    }
};

// Sort `order`, which holds any of the candidates, by `keys`; quick where it is nearly sorted already.
void sort_descending(Reals keys, MutableIndices order, SortScratch& scratch);

// The same where the order that it has is no better than chance.
void sort_from_scratch(Reals keys, MutableIndices order, SortScratch& scratch);

// Make `order[:count]` the candidates with the largest keys, best first; `order` must hold a permutation, and does after.
void sort_best(Reals keys, std::size_t count, MutableIndices order, SortScratch& scratch);

// The key that `rank` candidates reach or exceed (rank 1 is the largest key); overwrites `places`, as long as the keys.
double key_at_rank(Reals keys, std::size_t rank, MutableIndices places);

// Make the numbers 0, 1, 2, … the entries of an order.
void fill_identity(MutableIndices order);

// The best ranking at some keys where only so many candidates of a group may be shown, or any.
//
// Sets with at most so many of each group are the independent sets of a matroid, so taking candidates from the best one
// down and passing over full groups is exact, for every prefix of the ranking at once and so for any position weights.
class RankingOracle {
  public:
    // `group_of` has the group of each candidate, −1 for none; both empty: every ranking is allowed.
    void reset(std::span<const std::int32_t> group_of, Indices limits);

    // Make `order[:count]` the best ranking; `order` must hold a permutation, and does after.
    void best_ranking(Reals keys, std::size_t count, MutableIndices order, SortScratch& scratch);

    bool limited() const { return !limits_.empty(); }

  private:
    void pass_over_full_groups(std::size_t count, MutableIndices order, MutableIndices passed);

    std::span<const std::int32_t> group_of_;
    Indices limits_;
    std::vector<Index> taken_;
};

}  // namespace excalibr
