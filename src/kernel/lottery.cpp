#include "lottery.hpp"

#include <cmath>
#include <limits>
#include <ranges>

#include "linear.hpp"
#include "tuning.hpp"

namespace excalibr {
namespace {

constexpr Index none = std::numeric_limits<Index>::max();

void add(MutableReals sums, double factor, Reals amounts) {
    for (std::size_t at = 0; at < sums.size(); ++at) sums[at] += factor * amounts[at];
}

}  // namespace

// After any step the mixture is a lottery, whose exposure is on the way to the point.
void LotteryMaker::from_point(const ScaledProgram& program, const BestPoint& point, std::size_t most, Lottery& lottery) {
    plan_steps(program, point);
    foresee(program, point);
    const std::size_t effects = differences_.columns(), room = 2 * (std::max(most, effects) + 2);
    effects_.resize(std::min(room, steps_.size() + 1), effects);
    std::ranges::fill(effects_.row(0), 0.0);
    scratch_.resize(effects_.rows());
    mixture_.assign(1, {1.0, 0.0, none, none, none});
    settled_.clear();
    heeds_lateness_ = static_cast<double>(effects * room * room) > tuning::brief_thinning;
    Index giver = none, taker = none;
    for (std::size_t at = 0; at < steps_.size() && !watcher_.late(static_cast<double>(mixture_.size() * effects)); ++at) {
        take_up(steps_[at].giver, giver, &Component::giver_rank);
        take_up(steps_[at].taker, taker, &Component::taker_rank);
        play(steps_[at], differences_.row(at));
        if (mixture_.size() == room) thin_mixture();
    }
    if (mixture_.size() > most) thin_mixture();
    take_up(none, giver, &Component::giver_rank);
    take_up(none, taker, &Component::taker_rank);
    write_mixture(program, point);
    tidy(program, found_, most, lottery);
}

// From the weights of the ranks to the exposures of those who begin there, block by block: going down, who lacks exposure
// takes it from the first above who has too much. Every step settles one of its two, so that all others are settled or where
// they began, and none takes more than half of what the giver has more.
void LotteryMaker::plan_steps(const ScaledProgram& program, const BestPoint& point) {
    std::size_t blocks = 0;
    while (blocks + 1 < point.block_starts.size() && point.block_starts[blocks] < program.k()) ++blocks;
    weight_of_rank_ = program.slots;
    weight_of_rank_.resize(point.block_starts[blocks], 0.0);
    exposure_ = weight_of_rank_;
    steps_.clear();
    moved_.clear();
    for (std::size_t block = 0; block < blocks; ++block) {
        givers_.clear();
        std::size_t spent = 0;
        for (Index rank = point.block_starts[block]; rank < point.block_starts[block + 1]; ++rank) {
            double lacking = point.exposure[point.order[rank]] - exposure_[rank];
            if (std::abs(lacking) <= tuning::tight) continue;
            moved_.push_back(rank);
            if (lacking < 0.0) givers_.push_back(rank);
            while (lacking > tuning::tight && spent < givers_.size()) {
                const Index giver = givers_[spent];
                const double spare = exposure_[giver] - point.exposure[point.order[giver]], taken = std::min(spare, lacking);
                steps_.push_back({giver, rank, taken / (exposure_[giver] - exposure_[rank])});
                exposure_[giver] -= taken;
                exposure_[rank] += taken;
                lacking -= taken;
                if (spare - taken <= tuning::tight) ++spent;
            }
        }
    }
}

// What a unit of a candidate's exposure comes to once all later steps are done, in relevance and in shares of the categories
// that are moved: from the last step backwards, with the difference between giver and taker just after each.
void LotteryMaker::foresee(const ScaledProgram& program, const BestPoint& point) {
    const SparseView rows = program.rows.view();
    place_of_category_.assign(program.r(), none);
    Index effects = 1;
    for (const Index rank : moved_)
        for (Index entry = rows.starts[point.order[rank]]; entry < rows.starts[point.order[rank] + 1]; ++entry)
            if (Index& place = place_of_category_[rows.columns[entry]]; place == none) place = effects++;
    foreseen_.resize(weight_of_rank_.size(), effects);
    for (const Index rank : moved_) {
        const MutableReals own = foreseen_.row(rank);
        std::ranges::fill(own, 0.0);
        own[0] = program.gains[point.order[rank]];
        for (Index entry = rows.starts[point.order[rank]]; entry < rows.starts[point.order[rank] + 1]; ++entry)
            own[place_of_category_[rows.columns[entry]]] = rows.values[entry];
    }
    differences_.resize(steps_.size(), effects);
    for (std::size_t at = steps_.size(); at-- > 0;) {
        if (watcher_.late(3.0 * effects)) return steps_.clear();
        const MutableReals difference = differences_.row(at);
        const MutableReals giver = foreseen_.row(steps_[at].giver), taker = foreseen_.row(steps_[at].taker);
        for (std::size_t effect = 0; effect < effects; ++effect) difference[effect] = giver[effect] - taker[effect];
        add(giver, -steps_[at].part, difference);
        add(taker, steps_[at].part, difference);
    }
    operations_ += 2.0 * static_cast<double>(steps_.size() * effects);
}

// The next giver or taker, which stands at its first rank in every ranking; the present one is settled. Rankings that were
// split from one another share the entries of before.
void LotteryMaker::take_up(Index candidate, Index& present, Index Component::* rank) {
    if (candidate == present) return;
    for (Component& each : mixture_) {
        if (present != none) {
            settled_.push_back({present, each.*rank, each.settled});
            each.settled = static_cast<Index>(settled_.size() - 1);
        }
        each.*rank = candidate;
    }
    present = candidate;
}

// Exchange the two in rankings that hold as much as the step asks, and in a fraction of the last. First come those that
// would end with shares farthest beyond the point's in the direction from which exchanging leads back, so that all stay near
// it, and among equals the newest, so that the ranking that sorts like the point keeps its weight.
void LotteryMaker::play(const MixingStep& step, Reals difference) {
    const std::size_t count = mixture_.size();
    double wanted = 0.0;
    for (Component& each : mixture_) {
        each.lead = weight_of_rank_[each.giver_rank] - weight_of_rank_[each.taker_rank];
        wanted += step.part * each.weight * each.lead;
    }
    const double sign = wanted < 0.0 ? -1.0 : 1.0;  // thinning keeps shares, and not who has more
    alignments_.resize(count);
    for (std::size_t ranking = 0; ranking < count; ++ranking) {
        alignments_[ranking] = -sign * dot(effects_.row(ranking).subspan(1), difference.subspan(1));
        add(effects_.row(ranking), step.part * mixture_[ranking].lead, difference);  // each was foreseen to do a part of it
    }
    const auto effects = static_cast<double>(difference.size());
    operations_ += static_cast<double>(count) * (2.0 * effects + tuning::operations_a_candidate);
    order_.resize(count);
    fill_identity(order_);
    sort_descending(alignments_, order_, scratch_);
    for (const Index ranking : std::views::reverse(order_)) {
        const double weight = mixture_[ranking].weight, whole = weight * mixture_[ranking].lead;
        if (!(sign * whole > 0.0)) continue;
        const double fraction = wanted / whole;
        if (fraction * weight <= tuning::negligible_weight) return;
        const bool splits = (1.0 - fraction) * weight > tuning::negligible_weight;
        const std::size_t exchanged = splits ? split(ranking, fraction) : ranking;
        std::swap(mixture_[exchanged].giver_rank, mixture_[exchanged].taker_rank);
        add(effects_.row(exchanged), -mixture_[exchanged].lead, difference);
        if (splits) return;
        wanted -= whole;
    }
}

// Give a fraction of a ranking's weight to a copy of it; returns the copy.
std::size_t LotteryMaker::split(std::size_t ranking, double fraction) {
    const std::size_t copy = mixture_.size();
    mixture_.push_back(mixture_[ranking]);
    mixture_[copy].weight *= fraction;
    mixture_[ranking].weight -= mixture_[copy].weight;
    std::ranges::copy(effects_.row(ranking), effects_.row(copy).begin());
    return copy;
}

void LotteryMaker::thin_mixture() {
    weights_.resize(mixture_.size());
    for (std::size_t ranking = 0; ranking < weights_.size(); ++ranking) weights_[ranking] = mixture_[ranking].weight;
    thin();
    std::size_t kept = 0;
    for (std::size_t ranking = 0; ranking < weights_.size(); ++ranking) {
        if (weights_[ranking] == 0.0) continue;
        mixture_[kept] = mixture_[ranking];
        mixture_[kept].weight = weights_[ranking];
        std::ranges::copy(effects_.row(ranking), effects_.row(kept).begin());
        ++kept;
    }
    mixture_.resize(kept);
}

void LotteryMaker::write_mixture(const ScaledProgram& program, const BestPoint& point) {
    found_.clear(program.k());
    for (const Component& each : mixture_) {
        found_.add(std::span(point.order).first(found_.k), each.weight);
        const MutableIndices ranking = std::span(found_.rankings).last(found_.k);
        for (Index at = each.settled; at != none; at = settled_[at].before)
            if (settled_[at].rank < found_.k) ranking[settled_[at].rank] = point.order[settled_[at].candidate];
    }
}

void LotteryMaker::tidy(const ScaledProgram& program, const Lottery& by_rank, std::size_t most, Lottery& lottery) {
    weights_ = by_rank.weights;
    std::size_t count = sort_by_weight();
    const std::size_t r = program.r(), entries = program.rows.values.size() / program.n();
    heeds_lateness_ = static_cast<double>(count * (program.k() * entries + r * count)) > tuning::brief_thinning;
    if (count > most && !is_late(0.0)) {
        shares_.resize(2 * r);
        effects_.resize(weights_.size(), r + 1);
        for (std::size_t ranking = 0; ranking < weights_.size(); ++ranking) {
            effects_(ranking, r) = ranking_effect(program, program.gains, by_rank.ranking(ranking), shares_);
            std::copy_n(shares_.begin(), r, effects_.row(ranking).begin());
        }
        operations_ += static_cast<double>(weights_.size() * program.k());
        thin();
        count = sort_by_weight();
    }
    if (is_late(0.0)) count = std::min(count, most);
    double total = 0.0;
    for (std::size_t place = 0; place < count; ++place) total += weights_[order_[place]];
    lottery.clear(program.k());
    lottery.rankings.resize(count * program.k());
    for (std::size_t place = 0; place < count; ++place) {
        const Indices ranking = by_rank.ranking(order_[place]);
        for (std::size_t rank = 0; rank < program.k(); ++rank)
            lottery.rankings[place * program.k() + program.slot_order[rank]] = ranking[rank];
        lottery.weights.push_back(weights_[order_[place]] / total);
    }
}

// Order the rankings by weight; returns how many have one that counts.
std::size_t LotteryMaker::sort_by_weight() {
    order_.resize(weights_.size());
    fill_identity(order_);
    scratch_.resize(weights_.size());
    sort_descending(weights_, order_, scratch_);
    std::size_t count = 0;
    while (count < order_.size() && weights_[order_[count]] > tuning::negligible_weight) ++count;
    return count;
}

// Shift weight between rankings so that Σ weight · effect stays what it is, until those with any are independent: one more
// than there are effects at most, or where it is late as far as that has come. The tableau comes to hold every ranking as a
// mix of the basic ones.
void LotteryMaker::thin() {
    const std::size_t effects = effects_.columns(), count = weights_.size();
    tableau_.resize(effects + 1, count);
    for (std::size_t ranking = 0; ranking < count; ++ranking) {
        for (std::size_t effect = 0; effect < effects; ++effect) tableau_(effect, ranking) = effects_(ranking, effect);
        tableau_(effects, ranking) = 1.0;
    }
    columns_.resize(count);
    fill_identity(columns_);
    const std::size_t rank = make_basic();
    for (std::size_t column = rank; column < count && !is_late(static_cast<double>(effects * count)); ++column)
        give_away(column, rank);
    operations_ += static_cast<double>((effects + 1) * count * count);
}

// Bring rankings into the basis by the largest entry that is left (complete pivoting keeps errors small); returns how many.
// Where it is late, all are left as they are.
std::size_t LotteryMaker::make_basic() {
    const std::size_t rows = tableau_.rows(), count = tableau_.columns();
    for (std::size_t rank = 0; rank < std::min(rows, count); ++rank) {
        if (is_late(2.0 * static_cast<double>(rows * count))) return count;
        double largest = tuning::same_effect;
        std::size_t best_row = rows, best_column = 0;
        for (std::size_t row = rank; row < rows; ++row)
            for (std::size_t column = rank; column < count; ++column)
                if (std::abs(tableau_(row, column)) > largest) {
                    largest = std::abs(tableau_(row, column));
                    best_row = row;
                    best_column = column;
                }
        if (best_row == rows) return rank;
        std::ranges::swap_ranges(tableau_.row(rank), tableau_.row(best_row));
        for (std::size_t row = 0; row < rows; ++row) std::swap(tableau_(row, rank), tableau_(row, best_column));
        std::swap(columns_[rank], columns_[best_column]);
        eliminate(tableau_, rank, rank);
    }
    return std::min(rows, count);
}

// Move a nonbasic ranking's weight to the mix of basic ones that does the same, as far as none of them falls below 0; where
// one would, the two change places.
void LotteryMaker::give_away(std::size_t column, std::size_t rank) {
    double amount = weights_[columns_[column]];
    std::size_t blocking = rank;
    for (std::size_t row = 0; row < rank; ++row) {
        const double share = tableau_(row, column), weight = weights_[columns_[row]];
        if (share < -tuning::small_reduction_pivot && weight + amount * share < 0.0) {
            amount = weight / -share;
            blocking = row;
        }
    }
    for (std::size_t row = 0; row < rank; ++row) {
        double& weight = weights_[columns_[row]];
        weight = std::max(weight + amount * tableau_(row, column), 0.0);
    }
    weights_[columns_[column]] -= amount;
    if (blocking == rank) return;
    weights_[columns_[blocking]] = 0.0;
    std::swap(columns_[blocking], columns_[column]);
    eliminate(tableau_, blocking, column);
}

}  // namespace excalibr
