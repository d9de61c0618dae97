#include "certificate.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tuning.hpp"

namespace excalibr {

Certificate Certifier::certify(const Program& program, const Lottery& lottery, Reals prices, MutableIndices order) {
    const std::size_t n = program.n(), r = program.r(), k = program.k();
    const double centre = range_of(program.gains).second;
    const SparseView rows = program.rows.view();
    Certificate certificate;
    exposure_.assign(n, 0.0);
    for (std::size_t at = 0; at < lottery.size(); ++at) {
        const Indices ranking = lottery.ranking(at);
        for (std::size_t slot = 0; slot < k; ++slot)
            exposure_[ranking[slot]] += lottery.weights[at] * program.position_weights[slot];
    }
    shares_.assign(r, 0.0);
    for (std::size_t candidate = 0; candidate < n; ++candidate) {
        if (exposure_[candidate] == 0.0) continue;
        certificate.objective += exposure_[candidate] * (program.gains[candidate] - centre);
        for (Index entry = rows.starts[candidate]; entry < rows.starts[candidate + 1]; ++entry)
            shares_[rows.columns[entry]] += exposure_[candidate] * rows.values[entry];
    }
    certificate.objective -= penalty_cost(program.penalties, shares_);
    inside_.resize(r);
    for (std::size_t category = 0; category < r; ++category)
        inside_[category] = clamp_price(program.penalties[category], prices[category]);
    adjusted_.resize(n);
    for (std::size_t candidate = 0; candidate < n; ++candidate) {
        double adjusted = program.gains[candidate] - centre;
        for (Index entry = rows.starts[candidate]; entry < rows.starts[candidate + 1]; ++entry)
            adjusted -= rows.values[entry] * inside_[rows.columns[entry]];
        adjusted_[candidate] = adjusted;
    }
    slots_.resize(k);
    fill_identity(slots_);
    scratch_.resize(std::max(n, k));
    sort_descending(program.position_weights, slots_, scratch_);
    oracle_.reset(program.group_of, program.group_limits);
    oracle_.best_ranking(adjusted_, k, order, scratch_);
    certificate.bound = conjugate_sum(program.penalties, inside_);
    for (std::size_t rank = 0; rank < k; ++rank)
        certificate.bound += program.position_weights[slots_[rank]] * adjusted_[order[rank]];
    certificate.gap = std::max(certificate.bound - certificate.objective, 0.0);
    return certificate;
}

namespace {

// The smallest share of each category that a ranking can show, if it shows any; 0 where no candidate has it.
std::vector<double> least_shares(const Program& program) {
    double lightest = std::numeric_limits<double>::infinity();
    for (const double weight : program.position_weights)
        if (weight > 0.0) lightest = std::min(lightest, weight);
    std::vector<double> least(program.r(), 0.0);
    if (std::isinf(lightest)) return least;  // no slot is seen
    const SparseView rows = program.rows.view();
    for (std::size_t entry = 0; entry < rows.values.size(); ++entry) {
        double& own = least[rows.columns[entry]];
        const double share = lightest * rows.values[entry];
        if (share > 0.0 && (own == 0.0 || share < own)) own = share;
    }
    return least;
}

// What a gap is measured by: the spread of the gains, or where they are all equal the largest weight, 1 at the most.
double scale_of(const Program& program) {
    const double spread = program.spread();
    double largest_weight = 0.0;
    for (const Penalty& penalty : program.penalties)
        largest_weight = std::max({largest_weight, penalty.below, penalty.above});
    return spread > 0.0 ? spread : std::min(largest_weight, 1.0);
}

double rounding_of(const Program& program, Reals prices) {
    double largest_price = 0.0;
    for (const double price : prices) largest_price = std::max(largest_price, std::abs(price));
    return tuning::rounding * (program.spread() + largest_price);
}

}  // namespace

double unattainable_part(const Program& program, Reals prices) {
    const std::vector<double> least = least_shares(program);
    double part = 0.0;
    for (std::size_t category = 0; category < program.r(); ++category) {
        const Penalty& penalty = program.penalties[category];
        const double price = clamp_price(penalty, prices[category]), share = least[category];
        if (share > 0.0 && penalty.share_at(price) >= share) continue;
        double attained = -penalty.cost(0.0);  // price · t − φ(t) falls beyond its maximum, so that only its ends count
        if (share > 0.0) attained = std::max(attained, price * share - penalty.cost(share));
        part += std::max(penalty.conjugate(price) - attained, 0.0);
    }
    return part;
}

double bound_rounding(const Program& program, Reals prices) {
    double terms = 0.0, largest = 0.0;
    for (std::size_t category = 0; category < program.r(); ++category) {
        const Penalty& penalty = program.penalties[category];
        const double price = clamp_price(penalty, prices[category]);
        if (price == 0.0) continue;
        const double edge = price > 0.0 ? penalty.high : penalty.low;
        terms += std::abs(penalty.conjugate(price)) + std::abs(price) * (std::abs(edge) + penalty.base);
    }
    const SparseView rows = program.rows.view();
    for (std::size_t candidate = 0; candidate < program.n(); ++candidate) {
        double paid = 0.0;
        for (Index entry = rows.starts[candidate]; entry < rows.starts[candidate + 1]; ++entry)
            paid += rows.values[entry] * std::abs(clamp_price(program.penalties[rows.columns[entry]], prices[rows.columns[entry]]));
        largest = std::max(largest, paid);
    }
    return tuning::cost_rounding * (terms + largest + program.spread());
}

double allowed_gap(const Program& program, double tolerance, Reals prices) {
    return std::max(tolerance * scale_of(program), rounding_of(program, prices));
}

double unwarned_gap(const Program& program, double tolerance) {
    const double scale = scale_of(program);
    double gentlest = std::numeric_limits<double>::infinity();
    for (const Penalty& penalty : program.penalties)
        for (const double weight : {penalty.below, penalty.above})
            if (weight > 0.0) gentlest = std::min(gentlest, weight);
    const double rounding = tuning::rounding * (program.spread() + (std::isinf(gentlest) ? 0.0 : gentlest));
    return std::max(tolerance * scale, std::min(rounding, tuning::most_rounding * scale));
}

}  // namespace excalibr
