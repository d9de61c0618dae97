#include "draws.hpp"

#include <algorithm>
#include <limits>

#include "tuning.hpp"

namespace excalibr {
namespace {

// Whether so little is missed that the slopes of a first search may have been outweighed.
bool is_nearly_kept(double missed) { return missed * tuning::single_steepnesses[0] <= 2.0; }

// What is left to a search once the lottery itself is solved: both together end in time.
std::uint64_t operations_left(std::uint64_t all, const Effort& spent) {
    const auto before = static_cast<std::uint64_t>(spent.operations / tuning::multiplications_in_search);
    return std::max(all - std::min(before, all), all / 4);
}

}  // namespace

void Redrawing::redraw(Draws draws, Aim aim, double budget, UserSolver& solver, UserAnswer& answer) {
    if (draws == Draws::lottery || solver.free_part().all_pinned()) return;
    watcher_.solve_until(tuning::searching_part);
    if (answer.gap <= answer.allowed_gap)  // else the lottery's own gap is still to be told
        answer.allowed_gap = std::numeric_limits<double>::infinity();  // by their nature they have a gap to the lottery
    if (draws == Draws::single)
        to_single(aim, budget, solver, answer);
    else
        to_even(solver, answer);
}

// The best ranking that the search finds, with the lottery's bound for its gap, as far as single rankings can reach it. Where one that nearly keeps the limits is
// worth so much that it was preferred, it is looked for once more with limits that nothing outweighs.
void Redrawing::to_single(Aim aim, double budget, UserSolver& solver, UserAnswer& answer) {
    FreePart& free = solver.free_part();
    const double trade_off = answer.trade_off, bound = solver.objective_at(trade_off, answer.lottery) + answer.gap;
    const double floor = aim == Aim::relevance_loss ? solver.relevance_floor(budget) : 0.0;
    const Lottery from = answer.lottery;
    int what = 0;
    bool exhaustive = false;
    for (const double steepness : tuning::single_steepnesses) {
        set_program(free, aim == Aim::trade_off ? trade_off : 1.0, steepness);
        for (std::size_t row = free.rows(); row < penalties_.size(); ++row) {  // what rounding misses them by is free
            const double slack = 0.5 * tuning::limit_slack / free.limit_units()[row - free.rows()];
            penalties_[row].low -= slack;
            penalties_[row].high += slack;
        }
        if (aim == Aim::max_deviation)
            charge_for_cost(free, budget);
        else
            leave_out_constants(free.rows());
        if (aim == Aim::relevance_loss) add_relevance_row(free, floor, solver.best_score());
        free.to_free(from, free_lottery_);
        const FoundRanking found = best_ranking(program_, free_lottery_.rankings, search_,
                                                operations_left(tuning::ranking_operations, answer.effort));
        free_lottery_.clear(free_lottery_.k);
        free_lottery_.add(found.ranking, 1.0);
        free.to_whole(free_lottery_, drawn_);
        what = missed(aim, budget, floor, solver, drawn_);
        exhaustive = found.exhaustive;
        if (what == 0 || watcher_.stop() || !is_nearly_kept(free.missed_limits(solver.scratch_shares(drawn_)).second)) break;
    }
    if (what != 0) {
        const Failure late = watcher_.stop() ? Failure::single_needs_time : Failure::single_not_found;
        answer.fail(exhaustive ? Failure::no_single_ranking : late, what, 0.0);
        answer.lottery.clear(0);
        return;
    }
    answer.lottery = drawn_;
    const double own = solver.gap_of_single(trade_off, drawn_, answer.prices.values);
    answer.gap = std::max(std::min(bound - solver.objective_at(trade_off, drawn_), own), 0.0);
}

// The lottery's expectation with rankings that are each nearer to the target.
void Redrawing::to_even(UserSolver& solver, UserAnswer& answer) {
    FreePart& free = solver.free_part();
    const double trade_off = answer.trade_off;
    set_program(free, 1.0, tuning::single_steepnesses[0]);
    const std::size_t rows = program_.penalties.size(), categories = free.rows();
    hard_ = std::make_unique<bool[]>(rows);
    for (std::size_t row = categories; row < rows; ++row) hard_[row] = true;
    free.to_free(answer.lottery, free_lottery_);
    std::vector<double> values(free.scores().begin(), free.scores().end());  // whose expectation is kept
    for (std::size_t candidate = 0; candidate < free.item_prices().size(); ++candidate)
        values[candidate] = (1.0 - trade_off) * values[candidate] - free.item_prices()[candidate];
    const EvenLottery even =
        even_lottery(program_, free_lottery_.rankings, free_lottery_.weights, values, std::span(hard_.get(), rows), search_,
                     even_, tuning::even_slack, operations_left(tuning::even_operations, answer.effort));
    drawn_.clear(free_lottery_.k);
    drawn_.rankings.assign(even.rankings.begin(), even.rankings.end());
    drawn_.weights.assign(even.weights.begin(), even.weights.end());
    free.to_whole(drawn_, answer.lottery);
    answer.gap = solver.gap_at(trade_off, answer.lottery, answer.prices.values);
}

// What a single ranking is judged by: its own objective at a trade-off, with hard limits as steep slopes.
void Redrawing::set_program(FreePart& free, double trade_off, double steepness) {
    const double scale = free.score_range().second + free.heaviest_weight();
    steepness_ = steepness * (scale > 0.0 ? scale : 1.0);
    free.set_objective(Balance::of(trade_off), steepness_);
    const Program& program = free.program();
    gains_ = program.gains;
    penalties_ = program.penalties;
    rows_ = program.rows;
    program_ = {gains_, rows_.view(), penalties_, program.position_weights, 1.0, 0.0, program.group_of, program.group_limits};
}

// Edges that no share reaches, as after pages that were seen far more, add to every ranking's cost alike, and may be so much
// that limits are lost beside it. A curve is straight there, as far as there are digits to tell.
void Redrawing::leave_out_constants(std::size_t categories) {
    constexpr double never = std::numeric_limits<double>::infinity();
    for (Penalty& penalty : std::span(penalties_).first(categories)) {
        const double slope = penalty.slope(0.5, true);
        if (penalty.curved() && penalty.low > tuning::straight_beyond)
            penalty = {1.0, never, -slope, 0.0};
        else if (penalty.curved() && penalty.high < -tuning::straight_beyond)
            penalty = {-never, 0.0, 0.0, slope};
        if (penalty.curved()) continue;
        penalty.low = std::min(penalty.low, 1.0);
        penalty.high = std::max(penalty.high, 0.0);
    }
}

// Relevance alone counts, and a cost above the one that is allowed is charged steeply.
void Redrawing::charge_for_cost(FreePart& free, double allowed) {
    gains_.assign(free.scores().begin(), free.scores().end());
    program_.gains = gains_;
    program_.charge = steepness_;
    program_.allowance = allowed - free.settled_cost();
}

// One more row whose share is the relevance, in units of the scores' spread, with a hard floor.
void Redrawing::add_relevance_row(FreePart& free, double floor, double top) {
    const Question& question = free.question();
    const auto [least, most] = std::minmax_element(free.scores().begin(), free.scores().end());
    const double lowest = *least, spread = *most > *least ? *most - *least : 1.0;
    SparseRows rows;
    rows.starts.push_back(0);
    for (std::size_t candidate = 0; candidate < free.scores().size(); ++candidate) {
        for (Index entry = rows_.starts[candidate]; entry < rows_.starts[candidate + 1]; ++entry) {
            rows.columns.push_back(rows_.columns[entry]);
            rows.values.push_back(rows_.values[entry]);
        }
        rows.columns.push_back(static_cast<Index>(penalties_.size()));
        rows.values.push_back((free.scores()[candidate] - lowest) / spread);
        rows.starts.push_back(static_cast<Index>(rows.columns.size()));
    }
    rows_ = rows;
    double left = floor, open = 0.0;  // what the open slots must bring, less the best score
    for (std::size_t pin = 0; pin < question.pinned_slots.size(); ++pin)
        left -= question.position_weights[question.pinned_slots[pin]] * (question.scores[question.pinned_candidates[pin]] - top);
    for (const double weight : program_.position_weights) open += weight;
    Penalty relevance;
    relevance.low = (left - (lowest - top) * open) / spread - tuning::limit_slack;
    relevance.high = std::numeric_limits<double>::infinity();
    relevance.below = steepness_;
    penalties_.push_back(relevance);
    program_.rows = rows_.view();
    program_.penalties = penalties_;
}

// What of the limits and of the budget a lottery misses.
int Redrawing::missed(Aim aim, double budget, double floor, UserSolver& solver, const Lottery& lottery) {
    int what = 0;
    const double relevance = solver.centred_relevance(lottery);
    const std::vector<double>& shares = solver.scratch_shares(lottery);
    if (solver.free_part().missed_limits(shares).first > tuning::limit_slack) what += static_cast<int>(Missed::limits);
    if (aim == Aim::relevance_loss && relevance < floor - tuning::single_relevance_slack * solver.spread())
        what += static_cast<int>(Missed::relevance_loss);
    if (aim == Aim::max_deviation && solver.cost_of(shares) > budget + tuning::limit_slack + solver.rounding_of_cost(shares))
        what += static_cast<int>(Missed::max_deviation);
    return what;
}

}  // namespace excalibr
