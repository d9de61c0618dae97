// What a category's share costs: the one place where bands, slopes and KL are written.
//
//   straight (α = 0)   φ(t) = w⁻·max(l − t, 0) + w⁺·max(t − h, 0)
//   curved   (α > 0)   φ(t) = w·(u − q − q·log(u/q)),   q = b + l below the band and b + h above it,
//                      u = b + (1 − α)·t + α·edge,      w = w⁻ below and w⁺ above
//
// Symbols: t share, y price, [l, h] band, w⁻ and w⁺ weights below and above it, α smoothing, b what was shown before.
// Summed over categories with equal weights, b = 0 and l = h = q, the curved penalty is w·KL(q ‖ (1 − α)·p + α·q).
#pragma once

#include <algorithm>
#include <cmath>
#include <span>

namespace excalibr {

struct Penalty {
    double low = 0.0, high = 0.0;     // the band, on which nothing is paid
    double below = 0.0, above = 0.0;  // weights on either side of it
    double smoothing = 0.0;           // α: 0 for a straight penalty
    double base = 0.0;                // b: counts only where the penalty is curved

    bool curved() const { return smoothing > 0.0; }
    bool banded() const { return low < high; }

    // φ(t)
    double cost(double share) const {
        if (!curved()) return below * std::max(low - share, 0.0) + above * std::max(share - high, 0.0);  // no branch
        if (share < low) return below * beyond(low, share - low);
        if (share > high) return above * beyond(high, share - high);
        return 0.0;
    }

    // φ*(y) = max over t of y·t − φ(t), for a price between lowest_price() and highest_price()
    double conjugate(double price) const {
        const double edge = price > 0.0 ? high : low, wanted = base + edge;
        if (price == 0.0 || !curved() || wanted <= 0.0) return edge * price;
        const double weight = price > 0.0 ? above : below;
        return -weight * wanted * std::log(thinning(price)) - price * (base + smoothing * edge) / (1.0 - smoothing);
    }

    // the t of that maximum, the derivative of φ*; at a price of 0 the upper edge of the band
    double share_at(double price) const {
        const double edge = price < 0.0 ? low : high, wanted = base + edge;
        if (price == 0.0 || !curved() || wanted <= 0.0) return edge;
        return (wanted / thinning(price) - base - smoothing * edge) / (1.0 - smoothing);
    }

    // the second derivative of φ*: how fast that share moves with the price
    double curvature_at(double price) const {
        const double wanted = base + (price < 0.0 ? low : high), weight = price < 0.0 ? below : above;
        if (!curved() || wanted <= 0.0 || weight == 0.0) return 0.0;
        const double seen = thinning(price) * (1.0 - smoothing);
        return wanted / (seen * seen * weight);
    }

    // the slope of φ where nothing is shown (t = 0): no lower price can be the best
    double lowest_price() const {
        if (!curved()) return -below;
        if (low <= 0.0) return 0.0;
        return below * (1.0 - smoothing) * (1.0 - (base + low) / (base + smoothing * low));
    }

    // the slope of φ where nothing else is shown (t = 1): no higher price can be the best
    double highest_price() const {
        if (!curved()) return above;
        if (high >= 1.0) return 0.0;
        return above * (1.0 - smoothing) * (1.0 - (base + high) / (base + 1.0 - smoothing + smoothing * high));
    }

    // the slope of φ at a share: to its right, or to its left
    double slope(double share, bool rising) const {
        const bool lacks = rising ? share < low : share <= low, exceeds = rising ? share >= high : share > high;
        if (!lacks && !exceeds) return 0.0;
        const double edge = lacks ? low : high, weight = lacks ? below : above;
        if (!curved()) return lacks ? -weight : weight;
        const double wanted = base + edge, seen = base + (1.0 - smoothing) * share + smoothing * edge;
        return weight * (1.0 - smoothing) * (wanted > 0.0 ? 1.0 - wanted / seen : 1.0);
    }

  private:
    // u − q − q·log(u/q) for a share so far beyond an edge
    double beyond(double edge, double distance) const {
        const double wanted = base + edge, change = (1.0 - smoothing) * distance;
        return wanted > 0.0 ? change - wanted * std::log1p(change / wanted) : std::abs(change);
    }

    // q/u at a price: how much thinner than wanted the category is shown, relative to what is seen. Not beyond where nothing
    // is shown or nothing else is: for a tiny q the highest price rounds to one that no share has.
    double thinning(double price) const {
        const double edge = price < 0.0 ? low : high, wanted = base + edge, rest = 1.0 - smoothing;
        const double found = 1.0 - price / ((price < 0.0 ? below : above) * rest);
        return price < 0.0 ? std::min(found, wanted / (base + smoothing * edge))
                           : std::max(found, wanted / (base + rest + smoothing * edge));
    }
};

using Penalties = std::span<const Penalty>;

inline double clamp_price(const Penalty& penalty, double price) {
    return std::min(std::max(price, penalty.lowest_price()), penalty.highest_price());
}

}  // namespace excalibr
