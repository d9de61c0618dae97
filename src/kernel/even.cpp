#include "even.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "program.hpp"

namespace excalibr {
namespace {

double sum_of(Reals values) { return std::accumulate(values.begin(), values.end(), 0.0); }

bool is_hard(std::span<const bool> hard, std::size_t category) { return !hard.empty() && hard[category]; }

double ranking_relevance(const RankedProgram& program, Indices by_rank, Reals relevance) {
    double sum = 0.0;
    for (std::size_t rank = 0; rank < by_rank.size(); ++rank) sum += program.weights[rank] * relevance[by_rank[rank]];
    return sum;
}

// How steep a curve is on the way from a share, against a straight penalty of the same weight, and at least 1: so much less
// may the share move, so that it costs no more than it would there.
double steepness_near(const Penalty& penalty, double share, double move) {
    const double weight = std::max(penalty.below, penalty.above);
    if (!penalty.curved() || !(weight > 0.0)) return 1.0;
    const double steepest = std::abs(penalty.slope(std::max(share + move, 0.0), move > 0.0));
    return std::max(steepest / weight, 1.0);
}

// One user's even lottery in the making: the steps of even_lottery below.
class Evening {
  public:
    Evening(const SearchProgram& program, Indices rankings, std::span<const bool> hard, SearchScratch& search,
            EvenScratch& scratch, double slack, std::uint64_t max_operations)
        : given_(program), rankings_(rankings), hard_(hard), search_(search), program_(search.program), scratch_(scratch),
          master_(scratch.master), slack_(slack), max_operations_(max_operations) {}

    EvenLottery run(Reals weights, Reals relevance);

  private:
    void take_program();
    void take_lottery(Reals weights);
    void take_relevance(Reals relevance);
    double relevance_of_best(double sign);
    void start_master();
    void set_steps();
    void follow_subgradients();
    void move_prices(double step);
    void generate_columns();
    void list_used(std::size_t round);
    bool add_rankings_at(Reals prices);
    void price_candidates(Reals prices);
    void measure(Indices by_rank);
    bool add_to_pool(Indices by_rank);
    void take_mixture();
    void keep_heaviest(Reals chances);
    bool keeps_promise();
    EvenLottery pool_lottery();
    EvenLottery given_lottery();

    Indices given_ranking(std::size_t at) const { return rankings_.subspan(at * program_.ranks(), program_.ranks()); }
    bool effort_left() const { return search_.state.operations + master_.operations < max_operations_; }
    // what the counts of the search and of the master may come to, so that both together come to all
    std::uint64_t search_limit() const { return max_operations_ - std::min(master_.operations, max_operations_); }
    std::uint64_t master_limit() const { return max_operations_ - std::min(search_.state.operations, max_operations_); }

    const SearchProgram& given_;
    const Indices rankings_;
    const std::span<const bool> hard_;
    SearchScratch& search_;
    RankedProgram& program_;
    EvenScratch& scratch_;
    EvenMaster& master_;
    const double slack_;
    const std::uint64_t max_operations_;
};

EvenLottery Evening::run(Reals weights, Reals relevance) {
    take_program();
    take_relevance(relevance);
    take_lottery(weights);
    if (!(scratch_.given_charge > 0.0)) return given_lottery();
    start_master();
    follow_subgradients();
    generate_columns();
    take_mixture();
    keep_heaviest(scratch_.chances);
    return keeps_promise() ? pool_lottery() : given_lottery();
}

// The program of a draw: its charges alone, and none for hard rows.
void Evening::take_program() {
    scratch_.penalties.assign(given_.penalties.begin(), given_.penalties.end());
    for (std::size_t category = 0; category < scratch_.penalties.size(); ++category)
        if (is_hard(hard_, category)) scratch_.penalties[category].below = scratch_.penalties[category].above = 0.0;
    SearchProgram draws = given_;
    draws.penalties = scratch_.penalties;
    program_.reset(draws, search_.sorting);
    search_.state.reset(program_);
    search_.state.restart();
    master_.operations = 0;
    const double total = sum_of(program_.weights);
    scratch_.total = total > 0.0 ? total : 1.0;
}

// Relevance counted from the best candidate, and the difference between the best and the worst ranking's; where that is
// only rounding, any unit does.
void Evening::take_relevance(Reals relevance) {
    const auto [least, most] = std::minmax_element(relevance.begin(), relevance.end());
    const double top = *most, lowest = *least - top;
    scratch_.relevance.resize(relevance.size());
    for (std::size_t at = 0; at < relevance.size(); ++at) scratch_.relevance[at] = relevance[at] - top;
    const double spread = relevance_of_best(1.0) - relevance_of_best(-1.0);
    const bool rounded = spread <= tuning::even_no_spread * scratch_.total * -lowest;
    scratch_.spread = rounded ? std::max(-lowest, 1.0) : spread;
}

// The relevance of the most relevant ranking, or of the least relevant one for a sign of −1.
double Evening::relevance_of_best(double sign) {
    std::vector<double>& keys = scratch_.gains;
    keys.resize(scratch_.relevance.size());
    for (std::size_t at = 0; at < keys.size(); ++at) keys[at] = sign * scratch_.relevance[at];
    std::vector<Index> order(keys.size());
    fill_identity(order);
    SortScratch scratch;
    scratch.resize(keys.size());
    RankingOracle oracle;
    oracle.reset(program_.group_of, program_.group_limits);
    oracle.best_ranking(keys, program_.ranks(), order, scratch);
    return ranking_value(program_.weights, scratch_.relevance, order);
}

// What the given lottery does in expectation and is charged.
void Evening::take_lottery(Reals weights) {
    const std::size_t r = program_.categories();
    const double sum = sum_of(weights);
    scratch_.shares.resize(r);
    scratch_.column.resize(r + 1);
    scratch_.wanted.assign(r, 0.0);
    scratch_.given_weights.resize(weights.size());
    scratch_.by_rank.resize(program_.ranks());
    scratch_.wanted_relevance = scratch_.given_charge = scratch_.unit = 0.0;
    for (std::size_t at = 0; at < weights.size(); ++at) {
        const double weight = scratch_.given_weights[at] = weights[at] / sum;
        program_.to_ranks(given_ranking(at), scratch_.by_rank);
        ranking_shares(program_, scratch_.by_rank, scratch_.shares);
        for (std::size_t category = 0; category < r; ++category)
            scratch_.wanted[category] += weight * scratch_.shares[category];
        const double charge = charge_of(program_, scratch_.shares);
        scratch_.wanted_relevance += weight * ranking_relevance(program_, scratch_.by_rank, scratch_.relevance);
        scratch_.given_charge += weight * charge;
        scratch_.unit = std::max(scratch_.unit, charge);
    }
}

// How far the expectation may move; the given lottery, as a whole and in its parts, are the first columns. As a whole it
// is charged a little more, so that the parts take its place before the end.
void Evening::start_master() {
    const std::size_t r = program_.categories();
    const double room = (1.0 - tuning::even_margin) * slack_;
    scratch_.most_fall.assign(r, room);
    scratch_.most_rise.assign(r, room);
    scratch_.centre.resize(r);
    for (std::size_t category = 0; category < r; ++category) {
        const double at = scratch_.wanted[category];
        scratch_.centre[category] = at / scratch_.total;
        if (!is_hard(hard_, category)) {
            scratch_.most_fall[category] = room / steepness_near(given_.penalties[category], at, -room * scratch_.total);
            scratch_.most_rise[category] = room / steepness_near(given_.penalties[category], at, room * scratch_.total);
            continue;
        }
        const Penalty& band = given_.penalties[category];
        scratch_.most_fall[category] = std::clamp((at - band.low) / scratch_.total, 0.0, room);
        scratch_.most_rise[category] = std::clamp((band.high - at) / scratch_.total, 0.0, room);
    }
    const double value = -scratch_.given_charge / scratch_.unit - tuning::even_surcharge;
    master_.reset({scratch_.centre, scratch_.most_fall, scratch_.most_rise, room, room}, value);
    scratch_.pool.reset(program_.ranks());
    for (std::size_t at = 0; at < scratch_.given_weights.size(); ++at) {
        program_.to_ranks(given_ranking(at), scratch_.by_rank);
        measure(scratch_.by_rank);
        add_to_pool(scratch_.by_rank);
    }
}

// Subgradient steps on the prices: each finds a ranking that is good at the present ones, and lowers what it gives more
// of than is wanted. Rankings that follow one another so make up for one another, which is what the master needs. Steps
// get shorter; the later half's mean price is where the column generation begins. Half the effort is left for that.
void Evening::follow_subgradients() {
    const std::size_t rows = program_.categories() + 1;
    const std::size_t count =
        std::clamp(tuning::even_steps_budget / program_.ranks(), tuning::even_fewest_steps, tuning::even_most_steps);
    set_steps();
    scratch_.prices.assign(rows, 0.0);
    scratch_.smoothed.assign(rows, 0.0);
    program_.to_ranks(given_ranking(0), scratch_.by_rank);
    double distances = 0.0;
    for (std::size_t step = 0; step < count && !search_.state.is_over(max_operations_ / 2); ++step) {
        price_candidates(scratch_.prices);
        search_.state.load(program_, scratch_.by_rank);
        sweep(program_, search_.state, max_operations_ / 2);
        scratch_.by_rank = search_.state.ranking;
        measure(scratch_.by_rank);
        add_to_pool(scratch_.by_rank);
        for (std::size_t row = 0; row < rows; ++row)
            distances += std::abs(scratch_.column[row] - (row + 1 < rows ? scratch_.centre[row] : 0.0));
        if (!(distances > 0.0)) continue;
        const double progress = static_cast<double>(step) / static_cast<double>(count);
        const double mean_distance = distances / static_cast<double>(step + 1);
        move_prices(tuning::even_step / (1.0 + tuning::even_step_decay * progress) / mean_distance);
        if (2 * step >= count)
            for (std::size_t row = 0; row < rows; ++row)
                scratch_.smoothed[row] += scratch_.prices[row] / static_cast<double>(count - count / 2);
    }
}

// A row's steps are in units of what its own deviation costs; of the mean where that is nothing, as for relevance.
void Evening::set_steps() {
    const std::size_t r = program_.categories();
    const double unit = program_.charge * scratch_.total / scratch_.unit;
    scratch_.steps.assign(r + 1, 0.0);
    double sum = 0.0, charged = 0.0;
    for (std::size_t category = 0; category < r; ++category) {
        const double slope = std::max(program_.penalties[category].below, program_.penalties[category].above);
        scratch_.steps[category] = unit * slope;
        sum += unit * slope;
        charged += slope > 0.0 ? 1.0 : 0.0;
    }
    for (double& step : scratch_.steps)
        if (!(step > 0.0)) step = charged > 0.0 ? sum / charged : 1.0;
}

void Evening::move_prices(double step) {
    const std::size_t r = program_.categories();
    for (std::size_t category = 0; category < r; ++category)
        scratch_.prices[category] +=
            step * scratch_.steps[category] * (scratch_.column[category] - scratch_.centre[category]);
    scratch_.prices[r] += step * scratch_.steps[r] * scratch_.column[r];
}

// Mix, and look for rankings that would help, at prices half-way from those used before and, if none is found there, at
// the master's own: a master of few rankings has its prices swing from side to side.
void Evening::generate_columns() {
    for (std::size_t round = 0; round < tuning::even_rounds; ++round) {
        if (!master_.optimise(master_limit())) return;
        const Reals prices = master_.prices();
        for (std::size_t row = 0; row < prices.size(); ++row)
            scratch_.smoothed[row] = 0.5 * (scratch_.smoothed[row] + prices[row]);
        list_used(round);
        if (!add_rankings_at(scratch_.smoothed) && !add_rankings_at(prices)) return;
    }
    master_.optimise(master_limit());
}

// Make `order` rankings that the present mixture uses, others in each round where they are too many to start from all.
void Evening::list_used(std::size_t round) {
    std::vector<Index>& used = scratch_.order;
    used.clear();
    scratch_.chances.resize(master_.columns());
    master_.weights(scratch_.chances);
    for (Index at = 0; at < scratch_.pool.count(); ++at)
        if (scratch_.chances[at + 1] > 0.0) used.push_back(at);
    const std::size_t most = affordable_descents(program_.candidates(), program_.ranks());
    if (used.size() <= most) return;
    std::rotate(used.begin(), used.begin() + static_cast<std::ptrdiff_t>(round * most % used.size()), used.end());
    used.resize(most);
}

// Search from the listed rankings at some prices, and put what has a reduced cost at the master's into the pool.
bool Evening::add_rankings_at(Reals prices) {
    const std::size_t before = scratch_.pool.count();
    price_candidates(prices);
    for (std::size_t at = 0; at < scratch_.order.size() && !search_.state.is_over(search_limit()); ++at) {
        search_.state.load(program_, scratch_.pool.row(scratch_.order[at]));
        sweep(program_, search_.state, search_limit());
        measure(search_.state.ranking);
        const double value = -charge_of(program_, scratch_.shares) / scratch_.unit;
        if (master_.reduced_cost(scratch_.column, value) > tuning::even_worthwhile) add_to_pool(search_.state.ranking);
    }
    return scratch_.pool.count() > before;
}

// Gains for which the search's value of a ranking is its reduced cost at these prices, up to a constant and a unit.
void Evening::price_candidates(Reals prices) {
    const std::size_t r = program_.categories();
    const double for_share = -scratch_.unit / scratch_.total, for_relevance = -scratch_.unit * prices[r] / scratch_.spread;
    scratch_.gains.resize(program_.candidates());
    for (std::size_t candidate = 0; candidate < scratch_.gains.size(); ++candidate) {
        double gain = for_relevance * scratch_.relevance[candidate];
        for (Index entry = program_.rows.starts[candidate]; entry < program_.rows.starts[candidate + 1]; ++entry)
            gain += for_share * prices[program_.rows.columns[entry]] * program_.rows.values[entry];
        scratch_.gains[candidate] = gain;
    }
    program_.set_gains(scratch_.gains);
}

// Make `shares` what a ranking shows, and `column` what it gives to the master's rows.
void Evening::measure(Indices by_rank) {
    const std::size_t r = program_.categories();
    ranking_shares(program_, by_rank, scratch_.shares);
    for (std::size_t category = 0; category < r; ++category)
        scratch_.column[category] = scratch_.shares[category] / scratch_.total;
    const double relevance = ranking_relevance(program_, by_rank, scratch_.relevance);
    scratch_.column[r] = (relevance - scratch_.wanted_relevance) / scratch_.spread;
}

// Put the ranking that was measured last into the pool and the master, unless it is there.
bool Evening::add_to_pool(Indices by_rank) {
    for (std::size_t at = 0; at < scratch_.pool.count(); ++at)
        if (std::equal(by_rank.begin(), by_rank.end(), scratch_.pool.row(at).begin())) return false;
    scratch_.pool.add(by_rank, charge_of(program_, scratch_.shares));
    master_.add(scratch_.column, -scratch_.pool.values.back() / scratch_.unit);
    return true;
}

// Make `chances` the probabilities of the pool's rankings; what the master leaves to the given lottery as a whole goes to
// its rankings.
void Evening::take_mixture() {
    scratch_.chances.resize(master_.columns());
    master_.weights(scratch_.chances);
    const double left = scratch_.chances[0];
    scratch_.chances.erase(scratch_.chances.begin());
    for (std::size_t at = 0; at < scratch_.given_weights.size() && left > 0.0; ++at) {
        program_.to_ranks(given_ranking(at), scratch_.by_rank);
        for (std::size_t place = 0; place < scratch_.pool.count(); ++place)
            if (std::equal(scratch_.by_rank.begin(), scratch_.by_rank.end(), scratch_.pool.row(place).begin()))
                scratch_.chances[place] += left * scratch_.given_weights[at];
    }
}

// Make `weights` the probabilities that are worth keeping, heaviest first, and `order` whose they are.
void Evening::keep_heaviest(Reals chances) {
    std::vector<Index>& order = scratch_.order;
    order.clear();
    for (Index at = 0; at < chances.size(); ++at)
        if (chances[at] > tuning::negligible_weight) order.push_back(at);
    search_.sorting.resize(std::max(search_.sorting.keys.size(), chances.size()));
    sort_descending(chances, order, search_.sorting);
    scratch_.weights.clear();
    for (const Index at : order) scratch_.weights.push_back(chances[at]);
    const double sum = sum_of(scratch_.weights);
    for (double& weight : scratch_.weights) weight /= sum;
}

// Whether the kept mixture, computed anew from its rankings, is what was promised.
bool Evening::keeps_promise() {
    const std::size_t r = program_.categories();
    std::vector<double>& expected = scratch_.centre;
    expected.assign(r, 0.0);
    double relevance = 0.0, charge = 0.0, moved = 0.0;
    for (std::size_t at = 0; at < scratch_.weights.size(); ++at) {
        const Indices by_rank = scratch_.pool.row(scratch_.order[at]);
        ranking_shares(program_, by_rank, scratch_.shares);
        for (std::size_t category = 0; category < r; ++category)
            expected[category] += scratch_.weights[at] * scratch_.shares[category];
        relevance += scratch_.weights[at] * ranking_relevance(program_, by_rank, scratch_.relevance);
        charge += scratch_.weights[at] * charge_of(program_, scratch_.shares);
    }
    for (std::size_t category = 0; category < r; ++category) {
        const double wanted = scratch_.wanted[category], tolerance = tuning::even_hard_tolerance * scratch_.total;
        const Penalty& band = given_.penalties[category];
        moved += std::abs(expected[category] - wanted);
        if (is_hard(hard_, category) && (expected[category] < std::min(band.low, wanted) - tolerance ||
                                         expected[category] > std::max(band.high, wanted) + tolerance))
            return false;
    }
    const double lost = std::abs(relevance - scratch_.wanted_relevance);
    const bool any = !scratch_.weights.empty();  // the master may have been stopped before
    return any && moved <= slack_ * scratch_.total && lost <= slack_ * scratch_.spread && charge < scratch_.given_charge;
}

EvenLottery Evening::pool_lottery() {
    const std::size_t k = program_.ranks();
    scratch_.rankings.resize(scratch_.order.size() * k);
    for (std::size_t at = 0; at < scratch_.order.size(); ++at)
        program_.to_slots(scratch_.pool.row(scratch_.order[at]), std::span(scratch_.rankings).subspan(at * k, k));
    return {scratch_.rankings, scratch_.weights, true, !effort_left()};
}

EvenLottery Evening::given_lottery() {
    keep_heaviest(scratch_.given_weights);
    scratch_.rankings.clear();
    for (const Index at : scratch_.order) {
        const Indices ranking = given_ranking(at);
        scratch_.rankings.insert(scratch_.rankings.end(), ranking.begin(), ranking.end());
    }
    return {scratch_.rankings, scratch_.weights, false, !effort_left()};
}

}  // namespace

EvenLottery even_lottery(const SearchProgram& program, Indices rankings, Reals weights, Reals relevance,
                         std::span<const bool> hard, SearchScratch& search, EvenScratch& scratch, double slack,
                         std::uint64_t max_operations) {
    return Evening(program, rankings, hard, search, scratch, slack, max_operations).run(weights, relevance);
}

}  // namespace excalibr
