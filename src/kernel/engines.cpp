#include "engines.hpp"

#include <algorithm>
#include <cmath>

#include "tuning.hpp"

namespace excalibr {
namespace {

bool is_curved(const Program& program) {
    return std::any_of(program.penalties.begin(), program.penalties.end(), [](const Penalty& each) { return each.curved(); });
}

// How many equal shares are as mixed as the target: the exponential of its entropy.
double effective_categories(Penalties penalties) {
    double total = 0.0, sum = 0.0;
    for (const Penalty& penalty : penalties) {
        if (!(penalty.high > 0.0)) continue;
        total += penalty.high;
        sum += penalty.high * std::log(penalty.high);
    }
    return total > 0.0 ? std::exp(std::log(total) - sum / total) : 1.0;
}

// Whether the simplex is the quicker engine for straight penalties: few prices are then between their bounds.
bool prefers_simplex(const Program& program) {
    if (program.r() <= tuning::few_categories) return true;
    if (program.r() > tuning::too_many_for_simplex) return false;
    return program.spread() == 0.0 || effective_categories(program.penalties) <= tuning::few_effective;
}

// Whether nothing keeps the prices of column generation from swinging: all gains are equal, where scores are not.
bool swings(const Program& program) {
    if (program.r() <= tuning::too_many_for_simplex || program.spread() > 0.0 || program.scores.empty()) return false;
    const auto [worst, best] = range_of(program.scores);
    return best > worst;
}

// The scores less the best one: what rankings of the pool are worth, whatever the trade-off.
void centre(Reals scores, std::vector<double>& centred) {
    const double best = range_of(scores).second;
    centred.resize(scores.size());
    for (std::size_t candidate = 0; candidate < scores.size(); ++candidate) centred[candidate] = scores[candidate] - best;
}

double sorting_operations(const Program& program, std::size_t sorts) {
    return tuning::operations_a_candidate * static_cast<double>(program.n()) * static_cast<double>(sorts);
}

// Whether nothing is left to try: there would be no warning, or too few sorts are left, of which a proximal step takes two.
bool is_settled(const Program& program, const Limits& limits, const Answer& answer) {
    if (answer.effort.status == Status::sorts_spent || answer.effort.sorts + 2 > limits.max_sorts) return true;
    return answer.effort.status == Status::converged && answer.gap() <= unwarned_gap(program, limits.tolerance);
}

// What is left of the sorts for an engine that goes on from another's answer; one at least.
Limits less_sorts(const Limits& limits, const Answer& answer) {
    Limits left = limits;
    left.max_sorts -= std::min(answer.effort.sorts, left.max_sorts - 1);
    return left;
}

// What may be lost to curves that are taken as straight.
double curve_tolerance(const Program& program, const Limits& limits) {
    return tuning::curve_part * allowed_gap(program, limits.tolerance, {});
}

}  // namespace

Engines::Engines(Watcher& watcher)
    : watcher_(watcher), proximal_(watcher), simplex_(watcher), interior_(watcher), columns_(watcher), lotteries_(watcher) {}
Engines::~Engines() = default;

void Engines::solve(const Program& program, const Limits& limits, Answer& answer) {
    const double reading = tuning::operations_a_candidate * static_cast<double>(program.n() + program.rows.values.size());
    if (watcher_.stop(reading)) return settle_for_order(program, answer);  // of presolve
    load(program, limits);
    if (watcher_.stop(reading)) return settle_for_order(program, answer);
    const bool curved = is_curved(program), limited = !program.group_limits.empty();
    if (limited && curved) return solve_by_columns(program, limits, interior_, Engine::interior, nullptr, answer);
    const bool simplex_first = !curved && (limited || prefers_simplex(program));
    if (limited && swings(program))
        solve_steadied(program, limits, answer);
    else if (simplex_first)
        solve_by_columns(program, limits, simplex_, Engine::simplex, nullptr, answer);
    else
        solve_by_proximal_method(program, limits, answer);
    if (watcher_.stop() || is_settled(program, limits, answer)) return;
    if (limited)  // the proximal method knows no limits on groups
        solve_by_columns(program, limits, interior_, Engine::interior, &answer, second_);
    else if (simplex_first)
        solve_by_proximal_method(program, less_sorts(limits, answer), second_);
    else if (curved)
        solve_by_columns(program, limits, interior_, Engine::interior, &answer, second_);
    else
        solve_by_columns(program, limits, simplex_, Engine::simplex, &answer, second_);
    keep_better(answer);
    if (limited || curved || watcher_.stop() || is_settled(program, limits, answer)) return;
    solve_by_columns(program, limits, interior_, Engine::interior, &answer, second_);  // where pivots no longer move
    keep_better(answer);
}

// There is no time for more than the ranking by gains, and what prices of 0 prove.
void Engines::settle_for_order(const Program& program, Answer& answer) {
    oracle_.reset(program.group_of, program.group_limits);
    order_.resize(program.n());
    fill_identity(order_);
    std::vector<Index> slots(program.k()), ranking(program.k());
    fill_identity(slots);
    scratch_.resize(program.n());
    sort_descending(program.position_weights, slots, scratch_);
    oracle_.best_ranking(program.gains, program.k(), order_, scratch_);
    for (std::size_t rank = 0; rank < slots.size(); ++rank) ranking[slots[rank]] = order_[rank];
    answer.lottery.clear(program.k());
    answer.lottery.add(ranking, 1.0);
    answer.prices.assign(program.r(), 0.0);
    answer.engine = Engine::none;
    answer.effort = {Status::time_limit_reached, 1, 0};
    for (std::size_t category = 0; category < program.r(); ++category)
        answer.prices[category] = clamp_price(program.penalties[category], 0.0);
    answer.certificate = certifier_.certify(program, answer.lottery, answer.prices, order_);
}

// Column generation with many categories tails off where all gains are equal. Relevance that counts for a little steadies the
// prices, and the program goes on from the optimum with it.
void Engines::solve_steadied(const Program& program, const Limits& limits, Answer& answer) {
    double steepest = 0.0;
    for (const Penalty& penalty : program.penalties) steepest = std::max({steepest, penalty.below, penalty.above});
    const auto [worst, best] = range_of(program.scores);
    steadied_ = program;
    for (std::size_t candidate = 0; candidate < program.n(); ++candidate)
        steadied_.gains[candidate] = tuning::steadying * steepest * (program.scores[candidate] / (best - worst));
    load(steadied_, limits);
    solve_by_columns(steadied_, limits, simplex_, Engine::simplex, nullptr, second_);
    load(program, limits);
    solve_by_columns(program, limits, simplex_, Engine::simplex, &second_, answer);
    answer.effort.sorts += second_.effort.sorts;
    answer.effort.steps += second_.effort.steps;
    answer.effort.operations += second_.effort.operations;
}

// The answer of the engine that had a try after another's, or that one's, whichever proves more; the effort is of both.
void Engines::keep_better(Answer& answer) {
    second_.effort.sorts += answer.effort.sorts;
    second_.effort.steps += answer.effort.steps;
    second_.effort.operations += answer.effort.operations;
    if (second_.gap() < answer.gap())
        std::swap(answer, second_);
    else
        answer.effort = {answer.effort.status, second_.effort.sorts, second_.effort.steps, second_.effort.operations};
}

void Engines::solve_by(Engine engine, const Program& program, const Limits& limits, Answer& answer) {
    load(program, limits);
    if (engine == Engine::simplex)
        solve_by_columns(program, limits, simplex_, engine, nullptr, answer);
    else if (engine == Engine::interior)
        solve_by_columns(program, limits, interior_, engine, nullptr, answer);
    else
        solve_by_proximal_method(program, limits, answer);
}

void Engines::load(const Program& program, const Limits& limits) {
    scaled_.load_structure(program, scratch_);
    scaled_.load_objective(program, curve_tolerance(program, limits));
    oracle_.reset(program.group_of, program.group_limits);
    columns_.resize(program.n(), program.r());
    tell_units(program);
}

// Engines find objectives in units of their own, less the best gain of every slot.
void Engines::tell_units(const Program& program) {
    if (!watcher_.verbose()) return;
    double attention = 0.0;
    for (const double weight : program.position_weights) attention += weight;
    watcher_.unit = scaled_.unit;
    watcher_.best = attention * range_of(program.gains).second;
}

void Engines::solve_by_proximal_method(const Program& program, const Limits& limits, Answer& answer) {
    answer.engine = Engine::proximal;
    answer.effort = proximal_.solve(scaled_, engine_tolerance(program, limits), limits.max_sorts, limits.effort);
    answer.effort.operations = proximal_.operations() + sorting_operations(program, answer.effort.sorts);
    lotteries_.from_point(scaled_, proximal_.best(), program.rankings_needed(), answer.lottery);
    answer.effort.operations += lotteries_.take_operations();
    answer.prices = proximal_.best().prices;
    order_.assign(proximal_.last_ranking().begin(), proximal_.last_ranking().end());
    finish(program, limits, answer);
}

// Column generation from nothing, or from another engine's lottery and prices.
template <class Master>
void Engines::solve_by_columns(const Program& program, const Limits& limits, Master& master, Engine engine,
                               const Answer* first, Answer& answer) {
    master.reset(program.k(), program.r(), first ? first->lottery.size() : 0);
    centre(program.gains, centred_);
    answer.prices.assign(program.r(), 0.0);
    if (first) {
        std::vector<Index> by_rank(program.k());
        for (std::size_t at = 0; at < first->lottery.size(); ++at) {
            for (std::size_t rank = 0; rank < by_rank.size(); ++rank)
                by_rank[rank] = first->lottery.ranking(at)[scaled_.slot_order[rank]];
            master.pool.add(scaled_, centred_, by_rank);
        }
        for (std::size_t category = 0; category < program.r(); ++category)
            answer.prices[category] = clamp_price(scaled_.penalties[category], first->prices[category] / scaled_.unit);
    } else {
        order_.resize(program.n());
        fill_identity(order_);
    }
    const Limits left = first ? less_sorts(limits, *first) : limits;
    generate(program, left, {1.0 / scaled_.unit, first != nullptr, false}, master, engine, answer);
}

void Engines::begin_sweep(const Program& program) {
    scaled_.load_structure(program, scratch_);
    simplex_.reset(program.k(), program.r(), 0);
    order_.resize(program.n());
    fill_identity(order_);
    sweep_has_basis_ = false;
}

void Engines::solve_next(const Program& program, Reals scores, double factor, Reals first_prices, const Limits& limits,
                         Answer& answer) {
    scaled_.load_objective(program, 0.0);
    oracle_.reset(program.group_of, program.group_limits);
    columns_.resize(program.n(), program.r());
    tell_units(program);
    centre(scores, centred_);
    answer.prices.assign(program.r(), 0.0);
    for (std::size_t category = 0; category < first_prices.size(); ++category)
        answer.prices[category] = clamp_price(scaled_.penalties[category], first_prices[category] / scaled_.unit);
    generate(program, limits, {factor / scaled_.unit, !first_prices.empty(), sweep_has_basis_}, simplex_, Engine::simplex,
             answer);
    sweep_has_basis_ = !watcher_.stop();
}

template <class Master>
void Engines::generate(const Program& program, const Limits& limits, const ColumnStart& start, Master& master,
                       Engine engine, Answer& answer) {
    answer.engine = engine;
    answer.effort = columns_.run(scaled_, oracle_, centred_, start, engine_tolerance(program, limits), limits.max_sorts,
                                 limits.effort, master, answer.prices, order_);
    answer.effort.operations += sorting_operations(program, answer.effort.sorts);
    master.write(by_rank_);
    if (by_rank_.size() == 0) by_rank_.add(Indices(order_).first(program.k()), 1.0);  // stopped before the first weights
    lotteries_.tidy(scaled_, by_rank_, program.rankings_needed(), answer.lottery);
    answer.effort.operations += lotteries_.take_operations();
    finish(program, limits, answer);
}

// Prices in the program's own unit, inside its slopes where rounding left them outside, and the gap that they prove.
void Engines::finish(const Program& program, const Limits& limits, Answer& answer) {
    for (std::size_t category = 0; category < answer.prices.size(); ++category)
        answer.prices[category] = clamp_price(program.penalties[category], answer.prices[category] * scaled_.unit);
    answer.certificate = certifier_.certify(program, answer.lottery, answer.prices, order_);
    bool proven = answer.gap() <= allowed_gap(program, limits.tolerance, answer.prices);
    if (!proven && is_curved(program)) {
        prove_by_slopes(program, answer);
        proven = answer.gap() <= allowed_gap(program, limits.tolerance, answer.prices);
    }
    const bool spent = answer.effort.status == Status::sorts_spent || answer.effort.sorts >= limits.max_sorts;
    answer.effort.status = proven             ? Status::converged
                           : watcher_.stop() ? Status::time_limit_reached
                           : spent           ? Status::sorts_spent
                                             : Status::stalled;
}

// The slopes of curved penalties at the lottery's own shares, as prices: what a master is off by costs their proof nothing.
void Engines::prove_by_slopes(const Program& program, Answer& answer) {
    const Reals shares = certifier_.shares();
    slopes_ = answer.prices;
    for (std::size_t category = 0; category < slopes_.size(); ++category) {
        const Penalty& penalty = program.penalties[category];
        if (penalty.curved())
            slopes_[category] = std::clamp(slopes_[category], penalty.slope(shares[category], false),
                                           penalty.slope(shares[category], true));
    }
    const Certificate certificate = certifier_.certify(program, answer.lottery, slopes_, order_);
    if (certificate.gap >= answer.gap()) return;
    answer.certificate = certificate;
    answer.prices = slopes_;
}

// A part of what is allowed, so that rounding cannot take the certificate past the whole.
double Engines::engine_tolerance(const Program& program, const Limits& limits) const {
    return tuning::safety * std::max(allowed_gap(program, limits.tolerance, {}) / scaled_.unit, tuning::rounding);
}

double Engines::thin(const Program& program, const Lottery& lottery, Lottery& thinned) {
    load(program, Limits());
    by_rank_.clear(program.k());
    std::vector<Index> by_rank(program.k());
    for (std::size_t at = 0; at < lottery.size(); ++at) {
        for (std::size_t rank = 0; rank < by_rank.size(); ++rank)
            by_rank[rank] = lottery.ranking(at)[scaled_.slot_order[rank]];
        by_rank_.add(by_rank, lottery.weights[at]);
    }
    lotteries_.tidy(scaled_, by_rank_, program.rankings_needed(), thinned);
    return lotteries_.take_operations();
}

Certificate Engines::certify(const Program& program, const Lottery& lottery, Reals prices) {
    order_.resize(program.n());
    fill_identity(order_);
    return certifier_.certify(program, lottery, prices, order_);
}

}  // namespace excalibr
