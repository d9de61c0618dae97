#include "visits.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tuning.hpp"

namespace excalibr {
namespace {

constexpr std::size_t copies = tuning::visit_copies;
constexpr double golden = 0.6180339887498949;
constexpr Index nowhere = std::numeric_limits<Index>::max();

}  // namespace

std::size_t VisitDealer::draw(Indices rankings, Reals weights, std::size_t slots, std::size_t items,
                              const VisitDraw& asked) {
    return draw_all(rankings, weights, slots, items, asked).back();
}

Indices VisitDealer::draw_all(Indices rankings, Reals weights, std::size_t slots, std::size_t items,
                              const VisitDraw& asked) {
    drawn_.assign(asked.visit + 1, 0);
    if (weights.size() == 1) return drawn_;
    sample(weights, asked);
    measure_overlaps(rankings, slots, items);
    seen_.resize(copies, distinct_.size());
    for (std::size_t copy = 0; copy < copies; ++copy) std::ranges::fill(seen_.row(copy), 0.0);
    costs_.resize(copies, copies);
    const auto copy = std::min(static_cast<std::size_t>(asked.copy * copies), copies - 1);
    for (std::size_t visit = 0; visit <= asked.visit; ++visit) {
        deal(visit);
        drawn_[visit] = distinct_[sampled_[visit * copies + dealt_[copy]]];
    }
    return drawn_;
}

// Sixteen evenly spaced points in the cumulative weights, shifted from visit to visit by the golden ratio.
void VisitDealer::sample(Reals weights, const VisitDraw& asked) {
    edges_.resize(weights.size());
    double total = 0.0;
    for (std::size_t at = 0; at < weights.size(); ++at) edges_[at] = total += weights[at];
    place_of_.assign(weights.size(), nowhere);
    distinct_.clear();
    sampled_.clear();
    for (std::size_t visit = 0; visit <= asked.visit; ++visit) {
        const double shifted = asked.offset + static_cast<double>(visit) * golden;
        const double offset = shifted - std::floor(shifted);
        for (std::size_t copy = 0; copy < copies; ++copy) {
            const double point = (static_cast<double>(copy) + offset) / copies * total;
            const auto above = std::ranges::upper_bound(edges_, point) - edges_.begin();
            const auto ranking = std::min(static_cast<std::size_t>(above), weights.size() - 1);
            if (place_of_[ranking] == nowhere) {
                place_of_[ranking] = static_cast<Index>(distinct_.size());
                distinct_.push_back(static_cast<Index>(ranking));
            }
            sampled_.push_back(place_of_[ranking]);
        }
    }
}

// Attention falls with 1/√slot, whatever the policy's own weights: stored rankings must draw the same, and √ rounds alike
// on every machine.
void VisitDealer::measure_overlaps(Indices rankings, std::size_t slots, std::size_t items) {
    attention_.resize(slots);
    for (std::size_t slot = 0; slot < slots; ++slot) attention_[slot] = 1.0 / std::sqrt(static_cast<double>(slot + 1));
    exposure_.resize(std::max(exposure_.size(), items), 0.0);
    overlaps_.resize(distinct_.size(), distinct_.size());
    for (std::size_t one = 0; one < distinct_.size(); ++one) {
        const Indices shown = rankings.subspan(distinct_[one] * slots, slots);
        for (std::size_t slot = 0; slot < slots; ++slot) exposure_[shown[slot]] = attention_[slot];
        for (std::size_t other = one; other < distinct_.size(); ++other) {
            const Indices beside = rankings.subspan(distinct_[other] * slots, slots);
            double overlap = 0.0;
            for (std::size_t slot = 0; slot < slots; ++slot) overlap += exposure_[beside[slot]] * attention_[slot];
            overlaps_(one, other) = overlaps_(other, one) = overlap;
        }
        for (const Index item : shown) exposure_[item] = 0.0;
    }
}

void VisitDealer::deal(std::size_t visit) {
    const Indices offered = std::span(sampled_).subspan(visit * copies, copies);
    for (std::size_t copy = 0; copy < copies; ++copy)
        for (std::size_t at = 0; at < copies; ++at) costs_(copy, at) = seen_(copy, offered[at]);
    dealt_ = assignment_.solve(costs_);
    for (std::size_t copy = 0; copy < copies; ++copy) {
        const Reals repeated = overlaps_.row(offered[dealt_[copy]]);
        for (std::size_t at = 0; at < distinct_.size(); ++at) seen_(copy, at) += repeated[at];
    }
}

}  // namespace excalibr
