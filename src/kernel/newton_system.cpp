#include "newton_system.hpp"

#include <algorithm>

namespace excalibr {
namespace {

constexpr Index absent = ~Index{0};

}  // namespace

void NewtonSystem::load(const ScaledProgram& program, const Blocks& blocks, Indices order, double rho) {
    program_ = &program;
    rho_ = rho;
    tied_.clear();
    starts_.assign(1, 0);
    touched_.assign(program.r(), 0);
    for (const Index block : blocks.pooled()) {
        for (Index rank = blocks.starts[block]; rank < blocks.starts[block + 1]; ++rank) tied_.push_back(order[rank]);
        starts_.push_back(static_cast<Index>(tied_.size()));
    }
    const SparseView rows = program.rows.view();
    for (const Index candidate : tied_)
        for (Index entry = rows.starts[candidate]; entry < rows.starts[candidate + 1]; ++entry)
            touched_[rows.columns[entry]] = 1;
}

// Subtract from each block's values their mean.
void NewtonSystem::centre(MutableReals values) const {
    for (std::size_t block = 0; block + 1 < starts_.size(); ++block) {
        double mean = 0.0;
        for (Index at = starts_[block]; at < starts_[block + 1]; ++at) mean += values[at];
        mean /= static_cast<double>(starts_[block + 1] - starts_[block]);
        for (Index at = starts_[block]; at < starts_[block + 1]; ++at) values[at] -= mean;
    }
}

void NewtonSystem::apply(Reals direction, MutableReals result) {
    const SparseView rows = program_->rows.view();
    sums_.resize(tied_.size());
    for (std::size_t at = 0; at < tied_.size(); ++at) {
        sums_[at] = 0.0;
        for (Index entry = rows.starts[tied_[at]]; entry < rows.starts[tied_[at] + 1]; ++entry)
            sums_[at] += rows.values[entry] * direction[rows.columns[entry]];
    }
    centre(sums_);
    std::fill(result.begin(), result.end(), 0.0);
    for (std::size_t at = 0; at < tied_.size(); ++at)
        for (Index entry = rows.starts[tied_[at]]; entry < rows.starts[tied_[at] + 1]; ++entry)
            result[rows.columns[entry]] += rho_ * rows.values[entry] * sums_[at];
}

bool NewtonSystem::solve(Indices free, Reals diagonal, MutableReals right) {
    couple(free);
    inverse_.resize(free.size());
    for (std::size_t place = 0; place < free.size(); ++place) inverse_[place] = 1.0 / diagonal[free[place]];
    const auto size = static_cast<double>(by_prices() ? coupled_.size() : tied_.size());
    operations += size * size * size / 6.0;
    if (!(by_prices() ? factorise_by_prices(diagonal, free) : factorise_by_candidates(free))) return false;
    solve_again(free, right);
    return true;
}

bool NewtonSystem::is_over() {
    const double more = std::max(operations - watched_, 0.0);
    watched_ = operations;
    return watcher_.stop(more);
}

void NewtonSystem::couple(Indices free) {
    coupled_.clear();
    for (Index place = 0; place < free.size(); ++place)
        if (touches(free[place])) coupled_.push_back(place);
}

void NewtonSystem::solve_again(Indices free, MutableReals right) {
    const std::size_t size = by_prices() ? coupled_.size() : tied_.size();
    operations += 2.0 * static_cast<double>(size * size);
    if (by_prices()) {
        right_.resize(size);
        for (std::size_t at = 0; at < size; ++at) right_[at] = right[coupled_[at]];
        substitute(factor_, right_);
        for (std::size_t place = 0; place < free.size(); ++place) right[place] *= inverse_[place];
        for (std::size_t at = 0; at < size; ++at) right[coupled_[at]] = right_[at];
        return;
    }
    // μ from C·A·Δ⁻¹·b, and then d = Δ⁻¹·(b − Aᵀ·C·μ)
    const SparseView columns = program_->columns.view();
    right_.assign(size, 0.0);
    for (const Index place : coupled_) {
        const double scaled = inverse_[place] * right[place];
        for (Index entry = columns.starts[free[place]]; entry < columns.starts[free[place] + 1]; ++entry)
            if (const Index at = place_of_candidate_[columns.columns[entry]]; at != absent)
                right_[at] += scaled * columns.values[entry];
    }
    centre(right_);
    substitute(factor_, right_);
    centre(right_);
    for (const Index place : coupled_)
        for (Index entry = columns.starts[free[place]]; entry < columns.starts[free[place] + 1]; ++entry)
            if (const Index at = place_of_candidate_[columns.columns[entry]]; at != absent)
                right[place] -= columns.values[entry] * right_[at];
    for (std::size_t place = 0; place < free.size(); ++place) right[place] *= inverse_[place];
}

// Σ_blocks ρ·(Σ_i a_i·a_iᵀ − (Σ_i a_i)(Σ_i a_i)ᵀ / g) + Δ over the coupled prices, a_i the row of candidate i and g the
// block's size. Upper triangle.
bool NewtonSystem::factorise_by_prices(Reals diagonal, Indices free) {
    const auto size = static_cast<Index>(coupled_.size());
    const SparseView rows = program_->rows.view();
    factor_.resize(size + 1, size + 1);  // and a row and a column that nobody reads: no branch for the other categories
    factor_.fill(0.0);
    place_of_category_.assign(program_->r(), size);
    for (Index at = 0; at < size; ++at) place_of_category_[free[coupled_[at]]] = at;
    total_.assign(size + 1, 0.0);
    for (std::size_t block = 0; block + 1 < starts_.size(); ++block) {
        for (Index at = starts_[block]; at < starts_[block + 1]; ++at) {
            add_outer_product(rows, tied_[at]);
            if (rows.starts[tied_[at] + 1] - rows.starts[tied_[at]] > tuning::long_row && is_over()) return false;
        }
        std::size_t listed = 0;
        listed_.resize(size + 1);
        for (Index at = 0; at < size; ++at) {  // without a branch
            listed_[listed] = at;
            listed += total_[at] != 0.0;
        }
        const double scale = rho_ / static_cast<double>(starts_[block + 1] - starts_[block]);
        for (std::size_t place = 0; place < listed; ++place) {
            const double factor = scale * total_[listed_[place]];
            double* const row = factor_.row(listed_[place]).data();
            for (std::size_t other = listed_[place]; other < size; ++other) row[other] -= factor * total_[other];
        }
        operations += static_cast<double>(listed * size) / 2.0;
        std::fill(total_.begin(), total_.end(), 0.0);
        if (is_over()) return false;
    }
    for (std::size_t at = 0; at < size; ++at) factor_(at, at) += diagonal[free[coupled_[at]]];
    return factorise(factor_, size, watcher_);
}

void NewtonSystem::add_outer_product(const SparseView& rows, Index candidate) {
    const Index first = rows.starts[candidate], last = rows.starts[candidate + 1];
    operations += tuning::scattered_operations * 0.5 * static_cast<double>(last - first) * static_cast<double>(last - first);
    for (Index entry = first; entry < last; ++entry) {
        const Index one = place_of_category_[rows.columns[entry]];
        const double share = rho_ * rows.values[entry];
        double* const row = factor_.row(one).data();
        total_[one] += rows.values[entry];
        for (Index other = entry; other < last; ++other) row[place_of_category_[rows.columns[other]]] += share * rows.values[other];
    }
}

// C·A·Δ⁻¹·Aᵀ·C + I/ρ over the tied candidates.
bool NewtonSystem::factorise_by_candidates(Indices free) {
    const std::size_t size = tied_.size();
    const SparseView columns = program_->columns.view();
    factor_.resize(size, size);
    factor_.fill(0.0);
    place_of_candidate_.assign(program_->n(), absent);
    for (Index at = 0; at < size; ++at) place_of_candidate_[tied_[at]] = at;
    for (const Index place : coupled_) {
        listed_.clear();
        for (Index entry = columns.starts[free[place]]; entry < columns.starts[free[place] + 1]; ++entry)
            if (place_of_candidate_[columns.columns[entry]] != absent) listed_.push_back(entry);
        operations += tuning::scattered_operations * 0.5 * static_cast<double>(listed_.size() * listed_.size());
        for (const Index one : listed_) {
            const double share = inverse_[place] * columns.values[one];
            const MutableReals row = factor_.row(place_of_candidate_[columns.columns[one]]);
            for (const Index other : listed_) row[place_of_candidate_[columns.columns[other]]] += share * columns.values[other];
        }
        if (is_over()) return false;
    }
    for (std::size_t row = 0; row < size; ++row) centre(factor_.row(row));
    subtract_means_of_columns();
    for (std::size_t row = 0; row < size; ++row) factor_(row, row) += 1.0 / rho_;
    return factorise(factor_, size, watcher_);
}

void NewtonSystem::subtract_means_of_columns() {
    const std::size_t size = tied_.size();
    for (std::size_t block = 0; block + 1 < starts_.size(); ++block) {
        total_.assign(size, 0.0);
        for (Index at = starts_[block]; at < starts_[block + 1]; ++at)
            for (std::size_t column = 0; column < size; ++column) total_[column] += factor_(at, column);
        for (double& sum : total_) sum /= static_cast<double>(starts_[block + 1] - starts_[block]);
        for (Index at = starts_[block]; at < starts_[block + 1]; ++at)
            for (std::size_t column = 0; column < size; ++column) factor_(at, column) -= total_[column];
    }
}

}  // namespace excalibr
