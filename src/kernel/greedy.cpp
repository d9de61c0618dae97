#include "greedy.hpp"

#include <algorithm>
#include <cmath>

namespace excalibr {
namespace {

// The distinct (category, share) pairs of a matrix: every candidate of a step pays the same for the same pair.
struct Terms {
    std::vector<Index> of_entry;    // the number of each entry's pair
    std::vector<Index> categories;  // of each pair
    std::vector<double> shares;
};

Terms distinct_terms(const SparseView& rows) {
    std::vector<Index> by_pair(rows.values.size());
    for (Index entry = 0; entry < by_pair.size(); ++entry) by_pair[entry] = entry;
    std::ranges::sort(by_pair, [&](Index one, Index other) {
        if (rows.columns[one] != rows.columns[other]) return rows.columns[one] < rows.columns[other];
        return rows.values[one] < rows.values[other];
    });
    Terms terms{std::vector<Index>(by_pair.size()), {}, {}};
    for (const Index entry : by_pair) {
        const Index category = rows.columns[entry];
        const double share = rows.values[entry];
        if (terms.shares.empty() || terms.categories.back() != category || terms.shares.back() != share) {
            terms.categories.push_back(category);
            terms.shares.push_back(share);
        }
        terms.of_entry[entry] = static_cast<Index>(terms.shares.size() - 1);
    }
    return terms;
}

Indices terms_of(const Terms& terms, const SparseView& rows, Index candidate) {
    return Indices(terms.of_entry).subspan(rows.starts[candidate], rows.starts[candidate + 1] - rows.starts[candidate]);
}

double largest_size(Reals numbers) {
    double largest = 0.0;
    for (const double number : numbers) largest = std::max(largest, std::abs(number));
    return largest;
}

// What p̃ of a step is without its candidate: density·filled + anchor·q.
struct Step {
    double weight, density, anchor;
};

Step step_of(const CalibratedGreedy& question, double weight, double total) {
    const double rest = 1.0 - question.smoothing;
    if (!question.projected) return {weight, rest / total, question.smoothing};
    return {weight, rest, question.smoothing + rest * std::max(1.0 - total, 0.0)};
}

// How much λ·KL(q ‖ p̃) falls in a category when a candidate with this share of it takes the slot; anchor ≥ α > 0.
// Terms that no remaining candidate has are not looked at: with arbitrary shares each has only one.
void price_terms(const CalibratedGreedy& question, const Step& step, const Terms& terms, Indices holders, Reals filled,
                 MutableReals changes) {
    for (std::size_t term = 0; term < changes.size(); ++term) {
        if (holders[term] == 0) continue;
        const Index category = terms.categories[term];
        const double wanted = question.target[category];
        changes[term] = 0.0;
        if (wanted <= negligible_target) continue;
        const double before = step.density * filled[category] + step.anchor * wanted;
        const double ratio = 1.0 + step.density * step.weight * terms.shares[term] / before;
        changes[term] = question.trade_off * wanted * std::log(ratio);
    }
}

// Take the first of the remaining candidates whose value is within `slack` of the largest; the rest stay in order.
Index take_best(std::vector<Index>& remaining, Reals values, double slack) {
    const double largest = *std::ranges::max_element(values);
    std::size_t best = 0;
    while (values[best] < largest - slack) ++best;
    const Index taken = remaining[best];
    remaining.erase(remaining.begin() + static_cast<std::ptrdiff_t>(best));
    return taken;
}

// Count `chosen` into each candidate's largest overlap with a chosen one; `row` is scratch, all 0.
void raise_overlaps(const SparseView& rows, Index chosen, MutableReals overlaps, MutableReals row) {
    const Index first = rows.starts[chosen], last = rows.starts[chosen + 1];
    for (Index place = first; place < last; ++place) row[rows.columns[place]] = rows.values[place];
    for (std::size_t candidate = 0; candidate < overlaps.size(); ++candidate) {
        double overlap = 0.0;
        for (Index place = rows.starts[candidate]; place < rows.starts[candidate + 1]; ++place)
            overlap += std::min(rows.values[place], row[rows.columns[place]]);
        overlaps[candidate] = std::max(overlaps[candidate], overlap);
    }
    for (Index place = first; place < last; ++place) row[rows.columns[place]] = 0.0;
}

}  // namespace

std::vector<Index> calibrated_order(Indices candidates, const CalibratedGreedy& question) {
    const Terms terms = distinct_terms(question.rows);
    std::vector<Index> remaining(candidates.begin(), candidates.end()), order, holders(terms.shares.size());
    std::vector<double> filled(question.target.size()), values(candidates.size()), changes(terms.shares.size());
    for (const Index candidate : candidates)
        for (const Index term : terms_of(terms, question.rows, candidate)) ++holders[term];
    const double size = largest_size(question.gains);
    double total = 0.0;
    order.reserve(question.weights.size());
    for (const double weight : question.weights) {  // heaviest first, so that the total is not 0
        total += weight;
        price_terms(question, step_of(question, weight, total), terms, holders, filled, changes);
        values.resize(remaining.size());
        for (std::size_t at = 0; at < remaining.size(); ++at) {
            double value = weight * question.gains[remaining[at]];
            for (const Index term : terms_of(terms, question.rows, remaining[at])) value += changes[term];
            values[at] = value;
        }
        const Index chosen = take_best(remaining, values, greedy_tie * (weight * size + question.trade_off));
        for (const Index term : terms_of(terms, question.rows, chosen)) {
            filled[terms.categories[term]] += weight * terms.shares[term];
            --holders[term];
        }
        order.push_back(chosen);
    }
    return order;
}

std::vector<Index> marginal_order(Reals gains, const SparseView& rows, std::size_t categories, std::size_t slots,
                                  double trade_off) {
    std::vector<Index> remaining(gains.size()), order;
    for (Index candidate = 0; candidate < remaining.size(); ++candidate) remaining[candidate] = candidate;
    std::vector<double> overlaps(gains.size()), values(gains.size()), row(categories);
    const double slack = greedy_tie * (largest_size(gains) + trade_off);
    order.reserve(slots);
    while (order.size() < slots) {
        values.resize(remaining.size());
        for (std::size_t at = 0; at < remaining.size(); ++at)
            values[at] = gains[remaining[at]] - trade_off * overlaps[remaining[at]];
        order.push_back(take_best(remaining, values, slack));
        raise_overlaps(rows, order.back(), overlaps, row);
    }
    return order;
}

}  // namespace excalibr
