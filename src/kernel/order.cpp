#include "order.hpp"

#include <algorithm>
#include <limits>

#include "tuning.hpp"

namespace excalibr {
namespace {

// Insertion sort of order[first:last]; false when it took more moves than the budget and was given up half-way.
// The keys lie beside the order in `held[first:last]` and move with it, which is quicker than looking them up.
bool insertion_sort(Reals keys, MutableIndices order, MutableReals held, std::size_t first, std::size_t last,
                    std::ptrdiff_t budget) {
    if (last <= first) return true;
    for (std::size_t place = first; place < last; ++place) held[place] = keys[order[place]];
    double lowest = held[first];
    for (std::size_t place = first + 1; place < last; ++place) {
        const double key = held[place];
        if (lowest > key) {
            lowest = key;
            continue;
        }
        const Index candidate = order[place];
        std::size_t target = place;
        while (target > first) {
            const double other = held[target - 1];
            if (other > key || (other == key && order[target - 1] < candidate)) break;
            held[target] = other;
            order[target] = order[target - 1];
            --target;
        }
        held[target] = key;
        order[target] = candidate;
        if (target == place) lowest = key;
        budget -= static_cast<std::ptrdiff_t>(place - target);
        if (budget < 0) return false;
    }
    return true;
}

// Merge source[left:middle] and source[middle:right], both sorted, into target[left:right].
void merge_runs(Reals keys, Indices source, MutableIndices target, std::size_t left, std::size_t middle,
                std::size_t right) {
    std::merge(source.begin() + left, source.begin() + middle, source.begin() + middle, source.begin() + right,
               target.begin() + left, [&](Index one, Index other) {
                   return keys[one] > keys[other] || (keys[one] == keys[other] && one < other);
               });
}

// Sort runs by insertion, then merge them; `held` and `spare` are room.
void merge_sort(Reals keys, MutableIndices order, MutableReals held, MutableIndices spare) {
    constexpr std::size_t run = tuning::sorting_run;
    const std::size_t count = order.size();
    for (std::size_t first = 0; first < count; first += run)
        insertion_sort(keys, order, held, first, std::min(first + run, count), run * run);
    MutableIndices source = order, target = spare.first(count);
    for (std::size_t width = run; width < count; width *= 2) {
        for (std::size_t left = 0; left < count; left += 2 * width)
            merge_runs(keys, source, target, left, std::min(left + width, count), std::min(left + 2 * width, count));
        std::swap(source, target);
    }
    if (source.data() != order.data()) std::copy(source.begin(), source.end(), order.begin());
}

// Keep in `order` those who stand in descending order after one another, and drop the others into `scratch.places`;
// `scratch.keys` gets the keys of those that stay. Returns how many stay. No branch depends on a key.
std::size_t keep_descending(Reals keys, MutableIndices order, SortScratch& scratch) {
    const std::size_t count = order.size();
    Index* const dropped = scratch.places.data();
    double* const held = scratch.keys.data();
    std::size_t kept = 0;
    double last = std::numeric_limits<double>::infinity();
    Index last_candidate = 0;
    for (std::size_t place = 0; place < count; ++place) {
        const Index candidate = order[place];
        const double key = keys[candidate];
        const bool stays = (key < last) | ((key == last) & (candidate >= last_candidate));
        dropped[place - kept] = candidate;
        order[kept] = candidate;
        held[kept] = key;
        last = stays ? key : last;
        last_candidate = stays ? candidate : last_candidate;
        kept += stays;
    }
    return kept;
}

// Merge the sorted `dropped` into order[:kept], whose keys are held beside it, from the back.
void merge_into(Reals keys, Indices dropped, MutableIndices order, std::size_t kept, Reals held) {
    std::size_t free = order.size();
    for (std::size_t next = dropped.size(); next-- > 0;) {
        const Index candidate = dropped[next];
        const double key = keys[candidate];
        while (kept > 0 && (held[kept - 1] < key || (held[kept - 1] == key && order[kept - 1] > candidate)))
            order[--free] = order[--kept];
        order[--free] = candidate;
    }
}

}  // namespace

void sort_descending(Reals keys, MutableIndices order, SortScratch& scratch) {
    const auto few = static_cast<std::ptrdiff_t>(tuning::few_moves_a_candidate * order.size());
    if (insertion_sort(keys, order, scratch.keys, 0, order.size(), few)) return;
    // whole classes of candidates have passed others: those that stand right stay, the others are sorted and merged in
    const std::size_t kept = keep_descending(keys, order, scratch);
    if (kept == order.size()) return;
    const MutableIndices dropped = std::span(scratch.places).first(order.size() - kept);
    const MutableReals held = std::span(scratch.keys).subspan(kept);
    const auto budget = static_cast<std::ptrdiff_t>(tuning::moves_a_candidate * dropped.size());
    if (!insertion_sort(keys, dropped, held, 0, dropped.size(), budget)) merge_sort(keys, dropped, held, order.subspan(kept));
    merge_into(keys, dropped, order, kept, scratch.keys);
}

void sort_from_scratch(Reals keys, MutableIndices order, SortScratch& scratch) {
    merge_sort(keys, order, scratch.keys, scratch.places);
}

// The candidates that stand first already have `count` keys, so that nobody below their least can be among the best.
void sort_best(Reals keys, std::size_t count, MutableIndices order, SortScratch& scratch) {
    if (count == 0) return;  // every slot is pinned: there is no last rank to look for
    const std::size_t n = keys.size();
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
