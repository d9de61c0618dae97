#include "slates.hpp"

#include <algorithm>

#include "packing.hpp"

namespace excalibr {
namespace {

std::vector<double> shares_of_candidates(const Checked& checked, Reals exposure) {
    const SparseView rows{checked.rows.starts, checked.rows.columns, checked.rows.values};
    if (checked.items.empty()) return shares_of(rows, checked.r(), exposure);
    std::vector<double> shares(checked.r());
    for (std::size_t candidate = 0; candidate < exposure.size(); ++candidate) {
        const auto row = static_cast<std::size_t>(checked.items[candidate]);
        for (Index place = rows.starts[row]; place < rows.starts[row + 1]; ++place)
            shares[rows.columns[place]] += rows.values[place] * exposure[candidate];
    }
    return shares;
}

std::vector<double> deviations_of(Reals shares, Reals lows, Reals highs, std::span<const std::int64_t> ends) {
    std::vector<double> sums(ends.size());
    std::size_t column = 0;
    for (std::size_t attribute = 0; attribute < ends.size(); ++attribute)
        for (; column < static_cast<std::size_t>(ends[attribute]); ++column)
            sums[attribute] += std::max(lows[column] - shares[column], 0.0) + std::max(shares[column] - highs[column], 0.0);
    return sums;
}

std::vector<double> propensities_of(const DrawnLottery& lottery, Indices shown) {
    std::vector<double> in_slot(shown.size());
    for (std::size_t ranking = 0; ranking < lottery.weights.size(); ++ranking)
        for (std::size_t slot = 0; slot < shown.size(); ++slot)
            in_slot[slot] += lottery.rankings[ranking * shown.size() + slot] == shown[slot] ? lottery.weights[ranking] : 0.0;
    for (double& each : in_slot) each = std::min(each, 1.0);
    return in_slot;
}

}  // namespace

SlateSums slate_sums(const Checked& checked, const DrawnLottery& lottery, Reals lows, Reals highs) {
    const std::size_t slots = lottery.position_weights.size(), n = checked.scores.size();
    const Indices shown = lottery.rankings.subspan(lottery.shown * slots, slots);
    const std::vector<double> exposure = exposure_of(lottery.rankings, lottery.weights, lottery.position_weights, n);
    std::vector<double> own(n);
    for (std::size_t slot = 0; slot < slots; ++slot) own[shown[slot]] = lottery.position_weights[slot];
    SlateSums sums;
    sums.relevance = dot(checked.scores, exposure);
    sums.shares = shares_of_candidates(checked, exposure);
    sums.deviations = deviations_of(sums.shares, lows, highs, checked.ends);
    sums.of_shown = deviations_of(shares_of_candidates(checked, own), lows, highs, checked.ends);
    sums.propensities = propensities_of(lottery, shown);
    return sums;
}

}  // namespace excalibr
