#include "exhaustive.hpp"

#include <algorithm>
#include <limits>

namespace excalibr {
namespace {

constexpr Index none_yet = std::numeric_limits<Index>::max();  // its successor is candidate 0

void prepare(const RankedProgram& program, ExhaustiveScratch& scratch) {
    scratch.chosen.assign(program.ranks(), none_yet);
    scratch.group_counts.assign(program.group_limits.size(), 0u);
    scratch.used.assign(program.candidates(), false);
    scratch.gains.assign(program.ranks() + 1, 0.0);
    scratch.shares.resize(program.ranks() + 1, program.categories());
    std::fill(scratch.shares.row(0).begin(), scratch.shares.row(0).end(), 0.0);
}

// Put the next allowed candidate at this rank, after the one that stands there; false, and none_yet, if none is left.
bool advance(const RankedProgram& program, std::size_t depth, ExhaustiveScratch& scratch) {
    const auto group = [&](Index candidate) { return program.limited() ? program.group_of[candidate] : -1; };
    Index candidate = scratch.chosen[depth];
    if (candidate != none_yet) {
        scratch.used[candidate] = false;
        if (group(candidate) >= 0) --scratch.group_counts[group(candidate)];
    }
    scratch.chosen[depth] = none_yet;
    for (++candidate; candidate < scratch.used.size(); ++candidate) {
        const std::int32_t its = group(candidate);
        if (scratch.used[candidate] || (its >= 0 && scratch.group_counts[its] >= program.group_limits[its])) continue;
        scratch.used[candidate] = true;
        if (its >= 0) ++scratch.group_counts[its];
        scratch.chosen[depth] = candidate;
        return true;
    }
    return false;
}

// Gain and shares of one rank more.
void extend(const RankedProgram& program, std::size_t depth, ExhaustiveScratch& scratch) {
    const SparseView& rows = program.rows;
    const Index candidate = scratch.chosen[depth];
    const double weight = program.weights[depth];
    const Reals before = scratch.shares.row(depth);
    const MutableReals after = scratch.shares.row(depth + 1);
    scratch.gains[depth + 1] = scratch.gains[depth] + weight * program.gains[candidate];
    std::copy(before.begin(), before.end(), after.begin());
    for (Index entry = rows.starts[candidate]; entry < rows.starts[candidate + 1]; ++entry)
        after[rows.columns[entry]] += weight * rows.values[entry];
}

}  // namespace

bool few_rankings(std::size_t n, std::size_t k, std::uint64_t most) {
    std::uint64_t count = 1;
    for (std::size_t rank = 0; rank < k; ++rank) {
        count *= n - rank;  // below most·n, which no 64-bit number is too small for
        if (count > most) return false;
    }
    return true;
}

double best_of_all(const RankedProgram& program, MutableIndices best, ExhaustiveScratch& scratch, Watcher& watcher) {
    prepare(program, scratch);
    fill_identity(best);
    double best_value = -std::numeric_limits<double>::infinity();
    std::size_t depth = 0;
    const auto operations = static_cast<double>(program.candidates() + program.categories());
    while (!watcher.stop(operations)) {
        if (depth == program.ranks()) {
            const double value = scratch.gains[depth] - charge_of(program, scratch.shares.row(depth));
            if (value > best_value) {
                best_value = value;
                std::copy(scratch.chosen.begin(), scratch.chosen.end(), best.begin());
            }
            --depth;
        } else if (advance(program, depth, scratch)) {
            extend(program, depth++, scratch);
        } else if (depth-- == 0) {
            break;
        }
    }
    return best_value;
}

}  // namespace excalibr
