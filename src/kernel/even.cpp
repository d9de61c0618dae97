#include "even.hpp"

#include <algorithm>
#include <cmath>

namespace excalibr {
namespace {

std::uint64_t operations(const SearchScratch& search, const EvenScratch& scratch) {
    return search.state.operations + scratch.master.operations;
}

// The operations that the search may come to before it and the master together have spent all.
std::uint64_t search_limit(const EvenScratch& scratch) {
    return scratch.max_operations - std::min(scratch.master.operations, scratch.max_operations);
}

std::uint64_t master_limit(const SearchScratch& search, const EvenScratch& scratch) {
    return scratch.max_operations - std::min(search.state.operations, scratch.max_operations);
}

// The difference between the best and the worst relevance of any ranking, for falling weights.
double relevance_spread(Reals relevance, Reals weights, EvenScratch& scratch) {
    std::vector<double>& sorted = scratch.gains;
    sorted.assign(relevance.begin(), relevance.end());
    std::sort(sorted.begin(), sorted.end());
    double spread = 0.0;
    for (std::size_t rank = 0; rank < weights.size(); ++rank)
        spread += weights[rank] * (sorted[sorted.size() - 1 - rank] - sorted[rank]);
    return spread;
}

double ranking_relevance(const RankedProgram& program, Indices by_rank, Reals relevance) {
    double sum = 0.0;
    for (std::size_t rank = 0; rank < by_rank.size(); ++rank) sum += program.weights[rank] * relevance[by_rank[rank]];
    return sum;
}

// Put a ranking (by rank) into the pool, unless it is there; `shares` is what it shows.
bool add_to_pool(const RankedProgram& program, Indices by_rank, EvenScratch& scratch) {
    for (std::size_t at = 0; at < scratch.pool.count(); ++at)
        if (std::equal(by_rank.begin(), by_rank.end(), scratch.pool.row(at).begin())) return false;
    scratch.pool.add(by_rank, charge_of(program, scratch.shares));
    return true;
}

// Make `column` what a ranking gives to each row of the master, and `shares` what it shows.
void measure(const RankedProgram& program, Indices by_rank, EvenScratch& scratch) {
    const std::size_t r = program.categories();
    ranking_shares(program, by_rank, scratch.shares);
    for (std::size_t category = 0; category < r; ++category)
        scratch.column[category] = scratch.shares[category] / scratch.total;
    const double relevance = ranking_relevance(program, by_rank, scratch.relevance);
    scratch.column[r] = (relevance - scratch.wanted_relevance) / scratch.spread;
}

void add_ranking(const RankedProgram& program, Indices by_rank, EvenScratch& scratch) {
    measure(program, by_rank, scratch);
    if (add_to_pool(program, by_rank, scratch))
        scratch.master.add(scratch.column, -scratch.pool.values.back() / scratch.unit);
}

// Units, the wanted expectation and the given lottery's mean charge; `search.starts` become its rankings.
void take_lottery(Indices rankings, Reals weights, Reals relevance, SearchScratch& search, EvenScratch& scratch) {
    const RankedProgram& program = search.program;
    const std::size_t k = program.ranks(), r = program.categories();
    double sum = 0.0;
    for (const double weight : weights) sum += weight;
    scratch.given_weights.resize(weights.size());
    for (std::size_t at = 0; at < weights.size(); ++at) scratch.given_weights[at] = weights[at] / sum;
    scratch.total = 0.0;
    for (const double weight : program.weights) scratch.total += weight;
    if (!(scratch.total > 0.0)) scratch.total = 1.0;
    const double top = *std::max_element(relevance.begin(), relevance.end());
    scratch.relevance.resize(relevance.size());
    for (std::size_t at = 0; at < relevance.size(); ++at) scratch.relevance[at] = relevance[at] - top;
    scratch.spread = relevance_spread(scratch.relevance, program.weights, scratch);
    if (!(scratch.spread > 0.0)) scratch.spread = 1.0;
    scratch.shares.resize(r);
    scratch.column.resize(r + 1);
    scratch.wanted.assign(r, 0.0);
    scratch.wanted_relevance = scratch.given_charge = scratch.unit = 0.0;
    scratch.by_rank.resize(k);
    search.starts.reset(k);
    for (std::size_t at = 0; at < weights.size(); ++at) {
        const double weight = scratch.given_weights[at];
        program.to_ranks(rankings.subspan(at * k, k), scratch.by_rank);
        search.starts.add(scratch.by_rank, 0.0);
        ranking_shares(program, scratch.by_rank, scratch.shares);
        const double charge = charge_of(program, scratch.shares);
        for (std::size_t category = 0; category < r; ++category)
            scratch.wanted[category] += weight * scratch.shares[category];
        scratch.wanted_relevance += weight * ranking_relevance(program, scratch.by_rank, scratch.relevance);
        scratch.given_charge += weight * charge;
        scratch.unit = std::max(scratch.unit, charge);
    }
}

// The bounds of the master's rows, and the given lottery as its first column, at their centre.
void start_master(const SearchProgram& program, std::span<const bool> hard, double slack, EvenScratch& scratch) {
    const std::size_t r = program.penalties.size();
    const double room = (1.0 - tuning::even_margin) * slack, each = room / static_cast<double>(r);
    scratch.lower.resize(r + 1);
    scratch.upper.resize(r + 1);
    for (std::size_t category = 0; category < r; ++category) {
        const double at = scratch.wanted[category], centre = at / scratch.total;
        double fall = each, rise = each;
        if (!hard.empty() && hard[category]) {
            fall = std::clamp((at - program.penalties[category].low) / scratch.total, 0.0, each);
            rise = std::clamp((program.penalties[category].high - at) / scratch.total, 0.0, each);
        }
        scratch.column[category] = centre;
        scratch.lower[category] = centre - fall;
        scratch.upper[category] = centre + rise;
    }
    scratch.column[r] = 0.0;
    scratch.lower[r] = -room;
    scratch.upper[r] = room;
    const double value = -scratch.given_charge / scratch.unit - tuning::even_surcharge;
    scratch.master.reset(scratch.lower, scratch.upper, scratch.column, value);
}

// Gains for which the search's value of a ranking is its reduced cost at these prices, up to a constant.
void price_candidates(const RankedProgram& program, Reals prices, EvenScratch& scratch) {
    const std::size_t r = program.categories();
    const double for_share = -scratch.unit / scratch.total, for_relevance = -scratch.unit * prices[r] / scratch.spread;
    scratch.gains.resize(program.candidates());
    for (std::size_t candidate = 0; candidate < scratch.gains.size(); ++candidate) {
        double gain = for_relevance * scratch.relevance[candidate];
        for (Index entry = program.rows.starts[candidate]; entry < program.rows.starts[candidate + 1]; ++entry)
            gain += for_share * prices[program.rows.columns[entry]] * program.rows.values[entry];
        scratch.gains[candidate] = gain;
    }
}

// Make `search.starts` rankings that the present mixture uses, others in each round where they are too many.
void start_from_used(std::size_t round, SearchScratch& search, EvenScratch& scratch) {
    std::vector<Index>& used = scratch.order;
    used.clear();
    scratch.chances.resize(scratch.master.columns());
    scratch.master.weights(scratch.chances);
    for (Index at = 0; at < scratch.pool.count(); ++at)
        if (scratch.chances[at + 1] > 0.0) used.push_back(at);
    search.starts.reset(search.program.ranks());
    const std::size_t descents =
        std::min(used.size(), affordable_descents(search.program.candidates(), search.program.ranks()));
    for (std::size_t at = 0; at < descents; ++at)
        search.starts.add(scratch.pool.row(used[(round * descents + at) % used.size()]), 0.0);
}

// Put the local optima at some prices into the pool whose reduced cost at the master's prices is worth it.
bool add_rankings_at(Reals prices, SearchScratch& search, EvenScratch& scratch) {
    price_candidates(search.program, prices, scratch);
    search.program.set_gains(scratch.gains);
    find_local_optima(search, search.starts.count(), 0, search_limit(scratch));
    const std::size_t before = scratch.pool.count();
    for (std::size_t at = 0; at < search.optima.count(); ++at) {
        measure(search.program, search.optima.row(at), scratch);
        const double value = -charge_of(search.program, scratch.shares) / scratch.unit;
        const double reduced = value - scratch.master.level() - dot(scratch.master.prices(), scratch.column);
        if (reduced > tuning::even_worthwhile && add_to_pool(search.program, search.optima.row(at), scratch))
            scratch.master.add(scratch.column, value);
    }
    return scratch.pool.count() > before;
}

// Mix, and look for rankings that would help, at prices half-way from those used before and, if none is found there, at
// the master's own: a master of few rankings has its prices swing from side to side.
void generate_rankings(SearchScratch& search, EvenScratch& scratch) {
    for (std::size_t round = 0; round < tuning::even_rounds; ++round) {
        if (!scratch.master.optimise(master_limit(search, scratch))) return;
        const Reals prices = scratch.master.prices();
        if (round == 0) scratch.smoothed.assign(prices.begin(), prices.end());
        for (std::size_t row = 0; row < prices.size(); ++row)
            scratch.smoothed[row] = 0.5 * (scratch.smoothed[row] + prices[row]);
        start_from_used(round, search, scratch);
        if (!add_rankings_at(scratch.smoothed, search, scratch) && !add_rankings_at(prices, search, scratch)) return;
        if (operations(search, scratch) >= scratch.max_operations) break;
    }
    scratch.master.optimise(master_limit(search, scratch));
}

// Make `chances` the probabilities of the pool's rankings; what the master leaves to the given lottery as a whole goes to
// its rankings.
void take_mixture(EvenScratch& scratch, const SearchScratch& search, Indices rankings) {
    scratch.chances.resize(scratch.master.columns());
    scratch.master.weights(scratch.chances);
    const double left = scratch.chances[0];
    scratch.chances.erase(scratch.chances.begin());
    if (left <= 0.0) return;
    const std::size_t k = search.program.ranks();
    for (std::size_t at = 0; at < scratch.given_weights.size(); ++at) {
        search.program.to_ranks(rankings.subspan(at * k, k), scratch.by_rank);
        for (std::size_t place = 0; place < scratch.pool.count(); ++place)
            if (std::equal(scratch.by_rank.begin(), scratch.by_rank.end(), scratch.pool.row(place).begin()))
                scratch.chances[place] += left * scratch.given_weights[at];
    }
}

// Make `weights` the probabilities that are worth keeping, heaviest first, and `order` whose they are.
void keep_heaviest(Reals chances, SearchScratch& search, EvenScratch& scratch) {
    scratch.order.clear();
    for (Index at = 0; at < chances.size(); ++at)
        if (chances[at] > tuning::negligible_weight) scratch.order.push_back(at);
    search.sorting.resize(std::max(search.sorting.keys.size(), chances.size()));
    sort_descending(chances, scratch.order, search.sorting);
    double sum = 0.0;
    for (const Index at : scratch.order) sum += chances[at];
    scratch.weights.clear();
    for (const Index at : scratch.order) scratch.weights.push_back(chances[at] / sum);
}

// Whether the kept mixture, computed anew from its rankings, is what was promised.
bool keeps_promise(const SearchProgram& given, std::span<const bool> hard, double slack, const RankedProgram& program,
                   EvenScratch& scratch) {
    const std::size_t r = program.categories();
    std::vector<double>& expected = scratch.lower;
    expected.assign(r, 0.0);
    double relevance = 0.0, charge = 0.0;
    for (std::size_t at = 0; at < scratch.weights.size(); ++at) {
        const Indices by_rank = scratch.pool.row(scratch.order[at]);
        ranking_shares(program, by_rank, scratch.shares);
        for (std::size_t category = 0; category < r; ++category)
            expected[category] += scratch.weights[at] * scratch.shares[category];
        relevance += scratch.weights[at] * ranking_relevance(program, by_rank, scratch.relevance);
        charge += scratch.weights[at] * charge_of(program, scratch.shares);
    }
    double moved = 0.0;
    for (std::size_t category = 0; category < r; ++category) {
        const double wanted = scratch.wanted[category];
        moved += std::abs(expected[category] - wanted);
        if (hard.empty() || !hard[category]) continue;
        const Penalty& band = given.penalties[category];
        if (expected[category] < std::min(band.low, wanted) - tuning::even_hard_tolerance) return false;
        if (expected[category] > std::max(band.high, wanted) + tuning::even_hard_tolerance) return false;
    }
    const bool kept = moved <= slack * scratch.total;
    return kept && std::abs(relevance - scratch.wanted_relevance) <= slack * scratch.spread &&
           charge < scratch.given_charge;
}

EvenLottery pool_lottery(const RankedProgram& program, EvenScratch& scratch, bool effort_limited) {
    const std::size_t k = program.ranks();
    scratch.rankings.resize(scratch.order.size() * k);
    for (std::size_t at = 0; at < scratch.order.size(); ++at)
        program.to_slots(scratch.pool.row(scratch.order[at]), std::span(scratch.rankings).subspan(at * k, k));
    return {scratch.rankings, scratch.weights, true, effort_limited};
}

EvenLottery given_lottery(Indices rankings, SearchScratch& search, EvenScratch& scratch, bool effort_limited) {
    const std::size_t k = search.program.ranks();
    keep_heaviest(scratch.given_weights, search, scratch);
    scratch.rankings.clear();
    for (const Index at : scratch.order) {
        const Indices ranking = rankings.subspan(at * k, k);
        scratch.rankings.insert(scratch.rankings.end(), ranking.begin(), ranking.end());
    }
    return {scratch.rankings, scratch.weights, false, effort_limited};
}

// The program of a draw: its charges alone, and none for hard rows.
SearchProgram draws_program(const SearchProgram& program, std::span<const bool> hard, EvenScratch& scratch) {
    scratch.penalties.assign(program.penalties.begin(), program.penalties.end());
    for (std::size_t category = 0; category < hard.size(); ++category)
        if (hard[category]) scratch.penalties[category].below = scratch.penalties[category].above = 0.0;
    scratch.zeros.assign(program.gains.size(), 0.0);
    SearchProgram draws = program;
    draws.gains = scratch.zeros;
    draws.penalties = scratch.penalties;
    return draws;
}

}  // namespace

EvenLottery even_lottery(const SearchProgram& program, Indices rankings, Reals weights, Reals relevance,
                         std::span<const bool> hard, SearchScratch& search, EvenScratch& scratch, double slack,
                         std::uint64_t max_operations) {
    search.program.reset(draws_program(program, hard, scratch), search.sorting);
    search.state.reset(search.program);
    search.state.operations = scratch.master.operations = 0;
    scratch.max_operations = max_operations;
    take_lottery(rankings, weights, relevance, search, scratch);
    if (!(scratch.given_charge > 0.0)) return given_lottery(rankings, search, scratch, false);
    start_master(program, hard, slack, scratch);
    scratch.pool.reset(search.program.ranks());
    for (std::size_t at = 0; at < search.starts.count(); ++at) add_ranking(search.program, search.starts.row(at), scratch);
    find_local_optima(search, search.starts.count(), 0, search_limit(scratch));
    for (std::size_t at = 0; at < search.optima.count(); ++at) add_ranking(search.program, search.optima.row(at), scratch);
    generate_rankings(search, scratch);
    const bool effort_limited = operations(search, scratch) >= max_operations;
    take_mixture(scratch, search, rankings);
    keep_heaviest(scratch.chances, search, scratch);
    if (keeps_promise(program, hard, slack, search.program, scratch))
        return pool_lottery(search.program, scratch, effort_limited);
    return given_lottery(rankings, search, scratch, effort_limited);
}

}  // namespace excalibr
