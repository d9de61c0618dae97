#include "checking.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace excalibr {
namespace {

bool is_share(double value) { return 0.0 <= value && value < std::numeric_limits<double>::infinity(); }
bool is_one(double sum) { return std::abs(sum - 1.0) <= sum_tolerance; }

double total(Reals values) {
    double sum = 0.0;
    for (const double value : values) sum += value;
    return sum;
}

// The entries of row `row` that are of the attribute with the columns from `first` to `last` − 1, by their places.
std::pair<Index, Index> entries_of(const SparseRows& rows, std::size_t row, std::int64_t first, std::int64_t last) {
    Index begin = rows.starts[row];
    while (begin < rows.starts[row + 1] && rows.columns[begin] < static_cast<Index>(first)) ++begin;
    Index end = begin;
    while (end < rows.starts[row + 1] && rows.columns[end] < static_cast<Index>(last)) ++end;
    return {begin, end};
}

class Checker {
  public:
    Checker(const Given& given, SparseRows rows) : given_(given) {
        checked_.scores.assign(given.scores.begin(), given.scores.end());
        checked_.starts.assign(given.starts.begin(), given.starts.end());
        checked_.items.assign(given.items.begin(), given.items.end());
        checked_.ends.assign(given.ends.begin(), given.ends.end());
        checked_.rows = std::move(rows);
        checked_.faults.assign(checked_.users(), 0);
    }

    Checked run() {
        settle_targets();
        if (settle_rows())
            for (std::size_t user = 0; user < checked_.users(); ++user) look_at_rows(user);
        for (std::size_t user = 0; user < checked_.users(); ++user) settle_scores(user);
        return std::move(checked_);
    }

  private:
    // A fault of a user; one found later is the more serious and takes the place of those before.
    void note(std::size_t user, const FoundFault& found) {
        checked_.faults[user] = static_cast<std::int64_t>(found.fault);
        checked_.found[user] = found;
    }

    std::int64_t first_of(std::size_t attribute) const { return attribute == 0 ? 0 : checked_.ends[attribute - 1]; }

    void settle_targets() {
        const GivenTargets& given = given_.targets;
        const bool banded = !given.highs.empty();
        checked_.rest.assign(given.rest.begin(), given.rest.end());
        checked_.targets.starts.assign(1, 0);
        for (std::size_t row = 0; row < given.count; ++row) {
            FoundFault found;
            copy_target(row);
            for (std::size_t attribute = 0; attribute < checked_.ends.size() && found.fault == Fault::none; ++attribute) {
                found = settle_target(row, attribute);
                found.attribute = attribute;
            }
            const std::size_t begin = checked_.targets.starts.back();
            if (found.fault != Fault::none) resize_targets(begin, banded);
            drop_unsaid(row, begin, banded);
            checked_.targets.starts.push_back(static_cast<Index>(checked_.targets.values.size()));
            if (found.fault == Fault::none) continue;
            const bool all_alike = given.count == 1;
            for (std::size_t user = all_alike ? 0 : row; user < (all_alike ? checked_.users() : row + 1); ++user)
                note(user, found);
        }
    }

    // The entries of a row as they are given; of a dense one those that say anything.
    void copy_target(std::size_t row) {
        const GivenTargets& given = given_.targets;
        const bool dense = given.rows.starts.empty();
        const std::size_t r = checked_.r(), first = dense ? row * r : given.rows.starts[row];
        const std::size_t size = dense ? r : given.rows.starts[row + 1] - first;
        const Reals lows = given.rows.values.subspan(first, size);
        const Reals highs = given.highs.empty() ? lows : given.highs.subspan(first, size);
        for (std::size_t at = 0; at < size; ++at) {
            if (dense && lows[at] == 0.0 && highs[at] == 0.0) continue;
            checked_.targets.columns.push_back(dense ? static_cast<Index>(at) : given.rows.columns[first + at]);
            checked_.targets.values.push_back(lows[at]);
            if (!given.highs.empty()) checked_.highs.push_back(highs[at]);
        }
    }

    FoundFault settle_target(std::size_t row, std::size_t attribute) {
        const std::vector<Index>& columns = checked_.targets.columns;
        const auto own = columns.begin() + checked_.targets.starts.back();
        const auto begin = std::lower_bound(own, columns.end(), first_of(attribute));
        const auto end = std::lower_bound(begin, columns.end(), checked_.ends[attribute]);
        const auto at = static_cast<std::size_t>(begin - columns.begin()), size = static_cast<std::size_t>(end - begin);
        const MutableReals low = std::span(checked_.targets.values).subspan(at, size);
        const MutableReals high = checked_.highs.empty() ? low : std::span(checked_.highs).subspan(at, size);
        FoundFault found = is_band(row, attribute, low, high) ? settle_band(low, high) : to_shares(low, high);
        if (found.fault == Fault::target_share || found.fault == Fault::band)
            found.at = begin[static_cast<std::ptrdiff_t>(found.at)] - static_cast<std::size_t>(first_of(attribute));
        return found;
    }

    void resize_targets(std::size_t size, bool banded) {
        checked_.targets.columns.resize(size);
        checked_.targets.values.resize(size);
        if (banded) checked_.highs.resize(size);
    }

    // Leave out what is said of others anyway, as where a share is too small to count.
    void drop_unsaid(std::size_t row, std::size_t begin, bool banded) {
        SparseRows& targets = checked_.targets;
        std::size_t kept = begin;
        for (std::size_t at = begin; at < targets.values.size(); ++at) {
            const double high = banded ? checked_.highs[at] : 0.0;
            if (targets.values[at] == 0.0 && high == rest_of(row, targets.columns[at])) continue;
            targets.columns[kept] = targets.columns[at];
            targets.values[kept] = targets.values[at];
            if (banded) checked_.highs[kept] = checked_.highs[at];
            ++kept;
        }
        resize_targets(kept, banded);
    }

    // Up to which share a category may have that the row does not list.
    double rest_of(std::size_t row, Index category) const {
        if (checked_.rest.empty()) return 0.0;
        std::size_t attribute = 0;
        while (static_cast<std::int64_t>(category) >= checked_.ends[attribute]) ++attribute;
        return checked_.rest[row * checked_.ends.size() + attribute];
    }

    bool is_band(std::size_t row, std::size_t attribute, Reals low, Reals high) const {
        if (given_.targets.highs.empty()) return false;
        if (!checked_.rest.empty() && checked_.rest[row * checked_.ends.size() + attribute] > 0.0) return true;
        return given_.bands.empty() ? !std::ranges::equal(low, high) : given_.bands[attribute] != 0;
    }

    // A band as it is, but for edges that are too near to 0 to matter.
    static FoundFault settle_band(MutableReals low, MutableReals high) {
        for (std::size_t at = 0; at < low.size(); ++at) {
            if (!(std::abs(low[at]) <= widest_band && std::abs(high[at]) <= widest_band && low[at] <= high[at]))
                return {Fault::band, 0, at, 0, low[at], high[at]};
            for (double* edge : {&low[at], &high[at]})
                if (std::abs(*edge) < negligible_share) *edge = 0.0;
        }
        return {};
    }

    // A target divided by its sum, the same as lower and upper edge.
    static FoundFault to_shares(MutableReals low, MutableReals high) {
        for (std::size_t at = 0; at < low.size(); ++at)
            if (!is_share(low[at])) return {Fault::target_share, 0, at, 0, low[at], 0.0};
        const double sum = total(low);
        if (!is_one(sum)) return {Fault::target_sum, 0, 0, 0, sum, 0.0};
        for (std::size_t at = 0; at < low.size(); ++at) {
            const double share = low[at] / sum;
            low[at] = high[at] = share < negligible_share ? 0.0 : share;
        }
        return {};
    }

    // Every good row divided by its sums; whether there are bad ones, which are marked.
    bool settle_rows() {
        const std::size_t count = checked_.rows.starts.size() - 1;
        const std::vector<double> sums = std::move(checked_.rows.sums);
        bool summed = !sums.empty() && checked_.ends.size() == 1;
        for (const double value : checked_.rows.values) summed &= is_share(value);
        for (std::size_t row = 0; row < count; ++row)
            if (!(summed && sums[row] == 1.0) && !settle_row(row)) {
                bad_.resize(count);
                bad_[row] = 1;
            }
        return !bad_.empty();
    }

    bool settle_row(std::size_t row) {
        SparseRows& rows = checked_.rows;
        bool good = true;
        Index begin = rows.starts[row];
        for (const std::int64_t stop : checked_.ends) {
            Index end = begin;
            double sum = 0.0;
            for (; end < rows.starts[row + 1] && rows.columns[end] < static_cast<Index>(stop); ++end) {
                good = good && is_share(rows.values[end]);
                sum += rows.values[end];
            }
            good = good && is_one(sum);
            if (good && sum != 1.0)
                for (Index entry = begin; entry < end; ++entry) rows.values[entry] /= sum;
            begin = end;
        }
        return good;
    }

    std::size_t row_of(std::int64_t candidate) const {
        return static_cast<std::size_t>(checked_.items.empty() ? candidate
                                                               : checked_.items[static_cast<std::size_t>(candidate)]);
    }

    void look_at_rows(std::size_t user) {
        bool any = false;
        for (auto candidate = checked_.starts[user]; candidate < checked_.starts[user + 1] && !any; ++candidate)
            any = bad_[row_of(candidate)] != 0;
        if (any) note(user, fault_in_rows(user));
    }

    // The first share that is none, else the first sum that is not 1; one attribute after the other.
    FoundFault fault_in_rows(std::size_t user) const {
        for (std::size_t attribute = 0; attribute < checked_.ends.size(); ++attribute)
            for (const Fault kind : {Fault::share, Fault::row_sum})
                for (auto candidate = checked_.starts[user]; candidate < checked_.starts[user + 1]; ++candidate) {
                    const std::size_t row = row_of(candidate);
                    if (!bad_[row]) continue;
                    FoundFault found = kind == Fault::share ? bad_share(row, attribute) : bad_sum(row, attribute);
                    found.at = static_cast<std::size_t>(candidate - checked_.starts[user]);
                    if (found.fault != Fault::none) return found;
                }
        return {};
    }

    FoundFault bad_share(std::size_t row, std::size_t attribute) const {
        const SparseRows& rows = checked_.rows;
        const auto [begin, end] = entries_of(rows, row, first_of(attribute), checked_.ends[attribute]);
        for (Index entry = begin; entry < end; ++entry)
            if (!is_share(rows.values[entry])) {
                const auto column = static_cast<std::size_t>(rows.columns[entry]) -
                                    static_cast<std::size_t>(first_of(attribute));
                return {Fault::share, attribute, 0, column, rows.values[entry], 0.0};
            }
        return {};
    }

    FoundFault bad_sum(std::size_t row, std::size_t attribute) const {
        const auto [begin, end] = entries_of(checked_.rows, row, first_of(attribute), checked_.ends[attribute]);
        const double sum = total(std::span(checked_.rows.values).subspan(begin, end - begin));
        if (is_one(sum)) return {};
        return {Fault::row_sum, attribute, 0, 0, sum, 0.0};
    }

    void settle_scores(std::size_t user) {
        const auto begin = static_cast<std::size_t>(checked_.starts[user]);
        const MutableReals scores =
            std::span(checked_.scores).subspan(begin, static_cast<std::size_t>(checked_.starts[user + 1]) - begin);
        bool good = true;
        for (const double score : scores) good &= std::abs(score) <= widest_range;  // false for what is not a number
        if (!good) return note(user, fault_in_scores(scores));
        if (given_.unit_range && !scores.empty()) to_unit_range(scores);
    }

    static FoundFault fault_in_scores(Reals scores) {
        for (std::size_t at = 0; at < scores.size(); ++at)
            if (!std::isfinite(scores[at])) return {Fault::score, 0, at, 0, scores[at], 0.0};
        const auto [lowest, highest] = std::ranges::minmax(scores);
        return {Fault::score_range, 0, 0, 0, lowest, highest};
    }

    static void to_unit_range(MutableReals scores) {
        const auto [lowest, highest] = std::ranges::minmax(scores);
        const double spread = highest - lowest;
        for (double& score : scores) score = spread > 0 ? (score - lowest) / spread : 0.0;
    }

    const Given& given_;
    Checked checked_;
    std::vector<unsigned char> bad_;  // rows; empty where all are good
};

}  // namespace

Checked check(const Given& given, SparseRows rows) { return Checker(given, std::move(rows)).run(); }

std::pair<std::vector<double>, std::vector<double>> edges_of(const Checked& checked, std::size_t user) {
    const std::size_t row = checked.target_of(user), attributes = checked.ends.size();
    std::vector<double> lows(checked.r()), highs(checked.r());
    for (std::size_t attribute = 0, at = 0; attribute < attributes && !checked.rest.empty(); ++attribute)
        for (const auto end = static_cast<std::size_t>(checked.ends[attribute]); at < end; ++at)
            highs[at] = checked.rest[row * attributes + attribute];
    for (Index entry = checked.targets.starts[row]; entry < checked.targets.starts[row + 1]; ++entry) {
        lows[checked.targets.columns[entry]] = checked.targets.values[entry];
        highs[checked.targets.columns[entry]] = checked.upper()[entry];
    }
    return {lows, highs};
}

SparseRows canonical_rows(const SparseView& rows) {
    SparseRows made{{0}, {}, {}};
    std::vector<Index> order;
    for (std::size_t row = 0; row + 1 < rows.starts.size(); ++row) {
        order.resize(rows.starts[row + 1] - rows.starts[row]);
        std::iota(order.begin(), order.end(), rows.starts[row]);
        std::ranges::stable_sort(order, {}, [&](Index entry) { return rows.columns[entry]; });
        for (std::size_t at = 0; at < order.size();) {
            const Index column = rows.columns[order[at]];
            double sum = 0.0;
            for (; at < order.size() && rows.columns[order[at]] == column; ++at) sum += rows.values[order[at]];
            if (sum == 0.0) continue;
            made.columns.push_back(column);
            made.values.push_back(sum);
        }
        made.starts.push_back(static_cast<Index>(made.values.size()));
    }
    return made;
}

SparseRows side_by_side(const std::vector<SparseRows>& parts, std::span<const std::size_t> columns) {
    SparseRows made{{0}, {}, {}};
    for (std::size_t row = 0; row + 1 < parts.front().starts.size(); ++row) {
        std::size_t before = 0;
        for (std::size_t part = 0; part < parts.size(); before += columns[part++])
            for (Index entry = parts[part].starts[row]; entry < parts[part].starts[row + 1]; ++entry) {
                made.columns.push_back(parts[part].columns[entry] + static_cast<Index>(before));
                made.values.push_back(parts[part].values[entry]);
            }
        made.starts.push_back(static_cast<Index>(made.values.size()));
    }
    return made;
}

}  // namespace excalibr
