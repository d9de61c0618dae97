#include "order.hpp"

#include <algorithm>
#include <limits>

#include "tuning.hpp"

namespace excalibr {
namespace {

// Insertion sort; false when it took more than a few moves a candidate and was given up half-way.
// The keys lie beside the order in `held` and move with it, which is quicker than looking them up. Inlined it is slower.
[[gnu::noinline]] bool insertion_sort(Reals keys, MutableIndices order, MutableReals held) {
    const std::size_t count = order.size();
    if (count == 0) return true;
    for (std::size_t place = 0; place < count; ++place) held[place] = keys[order[place]];
    double lowest = held[0];
    std::size_t moves = 0;
    for (std::size_t place = 1; place < count; ++place) {
        const double key = held[place];
        if (lowest > key) {
            lowest = key;
            continue;
        }
        const Index candidate = order[place];
        std::size_t target = place;
        while (target > 0) {
            const double other = held[target - 1];
            if (other > key || (other == key && order[target - 1] < candidate)) break;
            held[target] = other;
            order[target] = order[target - 1];
            --target;
        }
        held[target] = key;
        order[target] = candidate;
        if (target == place) lowest = key;
        moves += place - target;
        if (moves > tuning::moves_at_first + tuning::moves_a_candidate * place) return false;
    }
    return true;
}

// Each of a few entries goes to the rank that counting those before it gives.
void sort_few(std::span<const KeyedCandidate> entries, KeyedCandidate* target) {
    for (std::size_t place = 0; place < entries.size(); ++place) {
        std::size_t rank = 0;
        for (std::size_t other = 0; other < place; ++other) rank += entries[other].key >= entries[place].key;
        for (std::size_t other = place + 1; other < entries.size(); ++other) rank += entries[other].key > entries[place].key;
        target[rank] = entries[place];
    }
}

// Merge two sorted halves, which differ by at most one in length, from both ends at once: two chains of comparisons that do
// not wait for one another.
void merge_halves(std::span<const KeyedCandidate> entries, KeyedCandidate* target) {
    const std::size_t half = entries.size() / 2;
    const KeyedCandidate *left = entries.data(), *right = left + half;
    const KeyedCandidate *left_end = right - 1, *right_end = left + entries.size() - 1;
    KeyedCandidate* last = target + entries.size() - 1;
    for (std::size_t step = 0; step < half; ++step) {
        const bool takes_right = right->key > left->key;
        *target++ = takes_right ? *right : *left;
        right += takes_right;
        left += !takes_right;
        const bool takes_left = right_end->key > left_end->key;
        *last-- = takes_left ? *left_end : *right_end;
        left_end -= takes_left;
        right_end -= !takes_left;
    }
    if (entries.size() % 2 == 1) *target = left <= left_end ? *left : *right;
}

// Sort `entries`, or put them sorted into `room`, which is as long.
void merge_sort(std::span<KeyedCandidate> entries, std::span<KeyedCandidate> room, bool into_room) {
    const std::size_t half = entries.size() / 2;
    if (entries.size() <= tuning::sorting_run) {
        sort_few(entries, room.data());
        if (!into_room) std::copy(room.begin(), room.end(), entries.begin());
        return;
    }
    merge_sort(entries.first(half), room.first(half), !into_room);
    merge_sort(entries.subspan(half), room.subspan(half), !into_room);
    merge_halves(into_room ? entries : room, (into_room ? room : entries).data());
}

// Sort whatever the order was before. No branch depends on a key but where two are equal.
void merge_sort(Reals keys, MutableIndices order, SortScratch& scratch) {
    const std::size_t count = order.size();
    const auto entries = std::span(scratch.entries).first(count), room = std::span(scratch.entries).subspan(count, count);
    for (std::size_t place = 0; place < count; ++place) entries[place] = {as_integer(keys[order[place]]), order[place]};
    merge_sort(entries, room, false);
    bool tied = false;
    for (std::size_t place = 1; place < count; ++place) tied |= entries[place].key == entries[place - 1].key;
    for (std::size_t place = 0; place < count; ++place) order[place] = entries[place].candidate;
    for (std::size_t first = 0, last = 0; tied && first < count; first = last) {
        while (last < count && entries[last].key == entries[first].key) ++last;
        std::sort(order.begin() + static_cast<std::ptrdiff_t>(first), order.begin() + static_cast<std::ptrdiff_t>(last));
    }
}

}  // namespace

void sort_descending(Reals keys, MutableIndices order, SortScratch& scratch) {
    if (!insertion_sort(keys, order, scratch.keys)) merge_sort(keys, order, scratch);
}

void sort_from_scratch(Reals keys, MutableIndices order, SortScratch& scratch) { merge_sort(keys, order, scratch); }

// The candidates that stand first already have `count` keys, so that nobody below their least can be among the best.
void sort_best(Reals keys, std::size_t count, MutableIndices order, SortScratch& scratch) {
    if (count == 0) return;  // every slot is pinned: there is no last rank to look for
    const std::size_t n = order.size();
    if (n <= tuning::worth_selecting * count) {
        sort_descending(keys, order, scratch);
        return;
    }
    double threshold = keys[order[0]];
    for (std::size_t place = 1; place < count; ++place) threshold = std::min(threshold, keys[order[place]]);
    std::size_t found = count;
    for (std::size_t place = count; place < n; ++place)
        if (keys[order[place]] >= threshold) std::swap(order[found++], order[place]);
    sort_descending(keys, order.first(found), scratch);
}

double key_at_rank(Reals keys, std::size_t rank, MutableIndices places) {
    fill_identity(places);
    const auto wanted = static_cast<std::ptrdiff_t>(rank) - 1;
    auto left = std::ptrdiff_t{0}, right = static_cast<std::ptrdiff_t>(keys.size()) - 1;
    while (left < right) {
        const double pivot = keys[places[(left + right) / 2]];
        auto low = left, high = right;
        while (low <= high) {
            while (keys[places[low]] > pivot) ++low;
            while (keys[places[high]] < pivot) --high;
            if (low <= high) std::swap(places[low++], places[high--]);
        }
        if (wanted <= high)
            right = high;
        else if (wanted >= low)
            left = low;
        else
            break;
    }
    return keys[places[wanted]];
}

void fill_identity(MutableIndices order) {
    for (Index place = 0; place < order.size(); ++place) order[place] = place;
}

void RankingOracle::reset(std::span<const std::int32_t> group_of, Indices limits) {
    group_of_ = group_of;
    limits_ = limits;
    taken_.resize(limits.size());
}

void RankingOracle::best_ranking(Reals keys, std::size_t count, MutableIndices order, SortScratch& scratch) {
    if (!limited()) {
        sort_best(keys, count, order, scratch);
        return;
    }
    sort_descending(keys, order, scratch);
    pass_over_full_groups(count, order, std::span(scratch.places).first(order.size()));
}

// Move the candidates that can be taken to the front, in the order in which they stand.
void RankingOracle::pass_over_full_groups(std::size_t count, MutableIndices order, MutableIndices passed) {
    std::fill(taken_.begin(), taken_.end(), 0u);
    std::size_t shown = 0, over = 0;
    for (const Index candidate : order) {
        const std::int32_t group = group_of_[candidate];
        if (shown < count && (group < 0 || taken_[group] < limits_[group])) {
            if (group >= 0) ++taken_[group];
            order[shown++] = candidate;  // never ahead of where the loop reads
        } else {
            passed[over++] = candidate;
        }
    }
    std::copy_n(passed.begin(), over, order.begin() + shown);
}

}  // namespace excalibr
