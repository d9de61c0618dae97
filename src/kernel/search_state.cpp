#include "search_state.hpp"

#include <algorithm>

namespace excalibr {
namespace {

// The slope of a penalty, and on its band, edges included, the subgradient 0.
double subgradient(const Penalty& penalty, double share) {
    return share < penalty.low || share > penalty.high ? penalty.slope(share, true) : 0.0;
}

}  // namespace

void SearchState::reset(const RankedProgram& program) {
    const std::size_t r = program.categories();
    ranking.resize(program.ranks());
    rank_of.resize(program.candidates());
    group_counts.resize(program.group_limits.size());
    adjusted.resize(program.candidates());
    for (auto* by_category : {&shares, &costs, &slopes, &moved, &moved_costs}) by_category->resize(r);
    pair_costs.resize(program.pair_count);
    pair_scans.assign(program.pair_count, 0u);
    changed.reserve(r);
    listed.resize(program.candidates() + 1);
    scan = 0;
}

void SearchState::load(const RankedProgram& program, Indices by_rank) {
    std::fill(rank_of.begin(), rank_of.end(), not_ranked);
    std::fill(group_counts.begin(), group_counts.end(), 0u);
    for (Index rank = 0; rank < ranking.size(); ++rank) {
        ranking[rank] = not_ranked;
        if (has_room(program, by_rank[rank])) place(program, rank, by_rank[rank]);
    }
    for (Index rank = 0; rank < ranking.size(); ++rank)
        if (ranking[rank] == not_ranked) place(program, rank, best_allowed(program));
    evaluate(program);
    compute_adjusted(program);  // the gains may be others than before
}

void SearchState::evaluate(const RankedProgram& program) {
    ranking_shares(program, ranking, shares);
    double gain = 0.0;
    for (std::size_t rank = 0; rank < ranking.size(); ++rank) gain += program.weights[rank] * program.gains[ranking[rank]];
    cost = 0.0;
    for (std::size_t category = 0; category < shares.size(); ++category) {
        costs[category] = program.penalties[category].cost(shares[category]);
        cost += costs[category];
    }
    value = gain - program.charged(cost);
    if (compute_slopes(program)) compute_adjusted(program);
    operations += ranking.size() + program.adding_effort() + program.category_effort * shares.size();
}

// The slopes of what is charged; whether one of them has changed.
bool SearchState::compute_slopes(const RankedProgram& program) {
    const double charge = cost > program.allowance ? program.charge : 0.0;
    bool differ = false;
    for (std::size_t category = 0; category < shares.size(); ++category) {
        const double slope = charge * subgradient(program.penalties[category], shares[category]);
        differ |= slope != slopes[category];
        slopes[category] = slope;
    }
    return differ;
}

void SearchState::compute_adjusted(const RankedProgram& program) {
    const SparseView& rows = program.rows;
    for (std::size_t candidate = 0; candidate < adjusted.size(); ++candidate) {
        double gained = program.gains[candidate];
        for (Index entry = rows.starts[candidate]; entry < rows.starts[candidate + 1]; ++entry)
            gained -= rows.values[entry] * slopes[rows.columns[entry]];
        adjusted[candidate] = gained;
    }
    operations += rows.values.size();
}

void SearchState::replace(const RankedProgram& program, Index rank, Index candidate) {
    const Index leaving = ranking[rank];
    rank_of[leaving] = not_ranked;
    if (program.limited() && program.group_of[leaving] >= 0) --group_counts[program.group_of[leaving]];
    place(program, rank, candidate);
}

void SearchState::swap(Index rank, Index other) {
    std::swap(ranking[rank], ranking[other]);
    rank_of[ranking[rank]] = rank;
    rank_of[ranking[other]] = other;
}

void SearchState::insert(Index rank, Index target) {
    for (; rank < target; ++rank) swap(rank, rank + 1);
    for (; rank > target; --rank) swap(rank, rank - 1);
}

bool SearchState::has_room(const RankedProgram& program, Index candidate) const {
    if (!program.limited()) return true;
    const std::int32_t group = program.group_of[candidate];
    return group < 0 || group_counts[group] < program.group_limits[group];
}

void SearchState::place(const RankedProgram& program, Index rank, Index candidate) {
    ranking[rank] = candidate;
    rank_of[candidate] = rank;
    if (program.limited() && program.group_of[candidate] >= 0) ++group_counts[program.group_of[candidate]];
}

// The candidate with the largest gain of those that are not ranked and whose group has room, or, where no group has, of
// all that are not ranked.
Index SearchState::best_allowed(const RankedProgram& program) const {
    Index best = not_ranked;
    bool allowed = false;
    for (Index candidate = 0; candidate < rank_of.size(); ++candidate) {
        if (rank_of[candidate] != not_ranked) continue;
        const bool room = has_room(program, candidate);
        const bool better = best == not_ranked || (room && !allowed) ||
                            (room == allowed && program.gains[candidate] > program.gains[best]);
        if (better) {
            best = candidate;
            allowed = room;
        }
    }
    return best;
}

}  // namespace excalibr
