#include "lottery.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "tuning.hpp"

namespace excalibr {
namespace {

double weight_of(Reals slots, std::size_t rank) { return rank < slots.size() ? slots[rank] : 0.0; }

// Insertion sort of the ranks first:last by value, largest first, ties by the lower index.
void sort_block(Reals values, MutableIndices places, std::size_t first, std::size_t last) {
    for (std::size_t rank = first + 1; rank < last; ++rank) {
        const Index candidate = places[rank];
        std::size_t target = rank;
        while (target > first) {
            const Index other = places[target - 1];
            if (values[other] > values[candidate] || (values[other] == values[candidate] && other < candidate)) break;
            places[target] = other;
            --target;
        }
        places[target] = candidate;
    }
}

// Sort every block by value and cut it where its first ranks already hold all of their weights.
void split_tight(Reals values, Reals slots, MutableIndices places, std::vector<Index>& edges) {
    for (std::size_t block = 0; block + 1 < edges.size(); ++block) {
        const Index first = edges[block], last = edges[block + 1];
        sort_block(values, places, first, last);
        double lacking = 0.0;
        for (Index rank = first; rank + 1 < last; ++rank) {
            lacking += weight_of(slots, rank) - values[places[rank]];
            if (lacking <= tuning::tight) {
                edges.insert(edges.begin() + static_cast<std::ptrdiff_t>(block) + 1, rank + 1);
                break;
            }
        }
    }
}

// A step that is long enough: there some candidate leaves the range of the block's weights.
double first_step(Reals values, Reals slots, Indices places, Index first, Index last) {
    const double heaviest = weight_of(slots, first), lightest = weight_of(slots, last - 1);
    double step = 1e300;
    for (Index rank = first; rank < last; ++rank) {
        const double value = values[places[rank]], slope = value - weight_of(slots, rank);
        if (slope > 0.0) step = std::min(step, (heaviest - value) / slope);
        if (slope < 0.0) step = std::min(step, (lightest - value) / slope);
    }
    return std::max(step, 0.0);
}

// Where the first ranks exceed their weights the most, as the rank after them, and by how much.
std::pair<Index, double> worst_prefix(Reals moved, Reals slots, Indices sorted, Index first, Index last) {
    double worst = -1e300, excess = 0.0;
    Index cut = first + 1;
    for (Index rank = first; rank + 1 < last; ++rank) {
        excess += moved[sorted[rank]] - weight_of(slots, rank);
        if (excess > worst) {
            worst = excess;
            cut = rank + 1;
        }
    }
    return {cut, worst};
}

// The step at which the candidates sorted[first:cut] hold exactly the weights of those ranks.
double tight_step(Reals values, Reals slots, Indices places, Reals moved, Indices sorted, Index first, Index last,
                  Index cut) {
    const Index lowest = sorted[cut - 1];
    double room = 0.0, slope = 0.0;
    Index chosen = 0;
    for (Index rank = first; rank < cut; ++rank) room += weight_of(slots, rank) - values[sorted[rank]];
    for (Index rank = first; rank < last; ++rank) {  // the same candidates, by the order from which they set out
        const Index candidate = places[rank];
        if (moved[candidate] > moved[lowest] || (moved[candidate] == moved[lowest] && candidate <= lowest)) {
            slope += values[candidate] - weight_of(slots, rank);
            ++chosen;
        }
    }
    return slope > 0.0 && chosen == cut - first ? room / slope : 0.0;
}

// The longest step t for which x + t·(x − e) stays in the block's permutohedron, and the prefix that stops it.
//
// Newton from above: at a step that is too long, the prefix that exceeds its weights the most gives a shorter one.
std::pair<double, Index> block_step(Reals values, Reals slots, Indices places, MutableIndices sorted, MutableReals moved,
                                    Index first, Index last) {
    double step = first_step(values, slots, places, first, last);
    Index cut = first + 1;
    for (Index round = 0; round < last - first + 50; ++round) {
        for (Index rank = first; rank < last; ++rank) {
            const Index candidate = places[rank];
            sorted[rank] = candidate;
            moved[candidate] = values[candidate] + step * (values[candidate] - weight_of(slots, rank));
        }
        sort_block(moved, sorted, first, last);
        double excess;
        std::tie(cut, excess) = worst_prefix(moved, slots, sorted, first, last);
        if (excess <= tuning::tight * (1.0 + step)) break;
        const double shorter = tight_step(values, slots, places, moved, sorted, first, last, cut);
        if (!(shorter < step)) break;
        step = std::max(shorter, 0.0);
    }
    return {step, cut};
}

// Gauss–Jordan: make a column of the tableau the unit vector of a row.
void pivot(Matrix& tableau, std::size_t row, std::size_t column) {
    const MutableReals pivoted = tableau.row(row);
    const double scale = 1.0 / pivoted[column];
    for (double& entry : pivoted) entry *= scale;
    for (std::size_t other = 0; other < tableau.rows(); ++other) {
        const double factor = tableau(other, column);
        if (other == row || factor == 0.0) continue;
        const MutableReals entries = tableau.row(other);
        for (std::size_t at = 0; at < entries.size(); ++at) entries[at] -= factor * pivoted[at];
    }
}

// Which rankings are basic, row by row of the tableau.
struct Basis {
    static constexpr std::ptrdiff_t none = -1;
    std::vector<std::ptrdiff_t> of_row;
    std::vector<unsigned char> is_basic;

    void put(std::size_t row, std::size_t ranking) {
        if (of_row[row] != none) is_basic[static_cast<std::size_t>(of_row[row])] = 0;
        of_row[row] = static_cast<std::ptrdiff_t>(ranking);
        is_basic[ranking] = 1;
    }
};

// Bring rankings into the basis by the largest entry that is left (complete pivoting keeps errors small).
void make_basic(Matrix& tableau, Basis& basis) {
    while (true) {
        double largest = tuning::same_effect;
        std::size_t best_row = tableau.rows(), best_ranking = 0;
        for (std::size_t row = 0; row < tableau.rows(); ++row) {
            if (basis.of_row[row] != Basis::none) continue;
            for (std::size_t ranking = 0; ranking < tableau.columns(); ++ranking)
                if (!basis.is_basic[ranking] && std::abs(tableau(row, ranking)) > largest) {
                    largest = std::abs(tableau(row, ranking));
                    best_row = row;
                    best_ranking = ranking;
                }
        }
        if (best_row == tableau.rows()) return;
        pivot(tableau, best_row, best_ranking);
        basis.put(best_row, best_ranking);
    }
}

// Move a nonbasic ranking's weight to the mix of basic ones that does the same, as far as none of them falls below 0;
// where one would, the two change places.
void give_away(Matrix& tableau, Basis& basis, MutableReals weights, std::size_t ranking) {
    double amount = weights[ranking];
    std::size_t blocking = tableau.rows();
    for (std::size_t row = 0; row < tableau.rows(); ++row) {
        if (basis.of_row[row] == Basis::none) continue;
        const double share = tableau(row, ranking), weight = weights[static_cast<std::size_t>(basis.of_row[row])];
        if (share < -tuning::small_reduction_pivot && weight + amount * share < 0.0) {
            amount = weight / -share;
            blocking = row;
        }
    }
    for (std::size_t row = 0; row < tableau.rows(); ++row)
        if (basis.of_row[row] != Basis::none) {
            double& weight = weights[static_cast<std::size_t>(basis.of_row[row])];
            weight = std::max(weight + amount * tableau(row, ranking), 0.0);
        }
    if (blocking == tableau.rows()) {
        weights[ranking] = 0.0;
        return;
    }
    weights[ranking] -= amount;
    weights[static_cast<std::size_t>(basis.of_row[blocking])] = 0.0;
    basis.put(blocking, ranking);
    pivot(tableau, blocking, ranking);
}

}  // namespace

void LotteryMaker::from_point(const ScaledProgram& program, const BestPoint& point, std::size_t most, Lottery& lottery) {
    decompose(program, point);
    tidy(program, found_, most, lottery);
}

// Walk from the ranking that sorts like the point, through the point, to the far side of its face: the ranking gets the
// part of the way that lies behind, and the far end goes on in a smaller face. Every step splits a block, so a face of
// dimension d gives at most d + 1 rankings, by falling weight of their slots.
void LotteryMaker::decompose(const ScaledProgram& program, const BestPoint& point) {
    const Reals slots = program.slots;
    values_ = point.exposure;
    moved_ = point.exposure;
    places_ = point.order;
    sorted_ = point.order;
    const std::size_t blocks = point.block_starts.size() - 1;
    std::size_t seen = 0;
    while (seen < blocks && point.block_starts[seen] < slots.size()) ++seen;
    edges_.assign(point.block_starts.begin(), point.block_starts.begin() + static_cast<std::ptrdiff_t>(seen) + 1);
    found_.clear(slots.size());
    double probability = 1.0;
    while (true) {
        split_tight(values_, slots, places_, edges_);
        double step = 0.0;
        std::size_t stopping = edges_.size();
        Index cut = 0;
        for (std::size_t block = 0; block + 1 < edges_.size(); ++block) {
            if (edges_[block + 1] - edges_[block] == 1) continue;
            const auto [own, rank] = block_step(values_, slots, places_, sorted_, moved_, edges_[block], edges_[block + 1]);
            if (stopping == edges_.size() || own < step) {
                step = own;
                stopping = block;
                cut = rank;
            }
        }
        const bool last = stopping == edges_.size();
        const double share = last ? probability : probability * (step / (1.0 + step));
        if (share > tuning::negligible_weight) found_.add_or_merge(std::span(places_).first(slots.size()), share);
        if (last) return;
        probability -= share;
        for (Index rank = 0; rank < edges_.back(); ++rank) {
            double& value = values_[places_[rank]];
            value += step * (value - weight_of(slots, rank));
        }
        sort_block(values_, places_, edges_[stopping], edges_[stopping + 1]);
        edges_.insert(edges_.begin() + static_cast<std::ptrdiff_t>(stopping) + 1, cut);
    }
}

void LotteryMaker::tidy(const ScaledProgram& program, const Lottery& by_rank, std::size_t most, Lottery& lottery) {
    weights_ = by_rank.weights;
    if (&by_rank != &found_) found_ = by_rank;
    std::size_t count = sort_by_weight();
    if (count > most) {
        reduce(program, count);
        count = sort_by_weight();
    }
    double total = 0.0;
    for (std::size_t place = 0; place < count; ++place) total += weights_[order_[place]];
    lottery.clear(program.k());
    lottery.rankings.resize(count * program.k());
    for (std::size_t place = 0; place < count; ++place) {
        const Indices ranking = found_.ranking(order_[place]);
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
    while (count < weights_.size() && weights_[order_[count]] > tuning::negligible_weight) ++count;
    return count;
}

// Carathéodory: what a lottery does is its category shares and its relevance, so that rankings beyond r + 1 are
// superfluous. Weight is shifted between rankings so that both stay the same until one of them has none left; the
// heavier ones stay where there is a choice. The tableau holds every ranking as a mix of the basic ones.
void LotteryMaker::reduce(const ScaledProgram& program, std::size_t count) {
    const std::size_t r = program.r();
    shares_.resize(2 * r);
    kept_.resize(count);
    tableau_.resize(r + 2, count);
    for (std::size_t place = 0; place < count; ++place) {
        const Indices ranking = found_.ranking(order_[place]);
        tableau_(0, place) = 1.0;
        tableau_(r + 1, place) = ranking_effect(program, program.gains, ranking, shares_);
        for (std::size_t category = 0; category < r; ++category) tableau_(category + 1, place) = shares_[category];
        kept_[place] = weights_[order_[place]];
    }
    Basis basis{std::vector<std::ptrdiff_t>(r + 2, Basis::none), std::vector<unsigned char>(count, 0)};
    make_basic(tableau_, basis);
    for (std::size_t ranking = 0; ranking < count; ++ranking)
        if (!basis.is_basic[ranking]) give_away(tableau_, basis, kept_, ranking);
    for (std::size_t place = 0; place < count; ++place) weights_[order_[place]] = kept_[place];
}

}  // namespace excalibr
