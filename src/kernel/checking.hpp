// What a caller gives for any number of users, checked and packed once: scores, category shares and targets.
//
// Rows and targets come out sparse, with sums of 1 for each attribute. What is wrong with one user is that user's fault,
// with its place and its numbers, and stops nobody else; Python writes the messages.
#pragma once

#include <map>

#include "arrays.hpp"

namespace excalibr {

constexpr double sum_tolerance = 1e-6;      // how far from 1 a row or a target may sum; within it, it is divided by its sum
constexpr double negligible_share = 1e-30;  // smaller shares of a target are taken as 0: no slate could tell the two apart
constexpr double widest_band = 1e30;        // edges of a band lie within ±this: shares are from 0 to 1
constexpr double widest_range = 1e150;      // scores lie within ±this: beyond it the squares of differences overflow

enum class Fault : std::int64_t {
    none = 0,
    target_share = 1,  // category `at` is `value`, not finite or negative
    target_sum = 2,    // the target sums to `value`
    band = 3,          // category `at` has the edges `value` and `other`
    share = 4,         // category `column` of row `at` is `value`, not finite or negative
    row_sum = 5,       // row `at` sums to `value`
    score = 6,         // candidate `at` has `value`, which is not finite
    score_range = 7,   // scores go from `value` to `other`
};

// A fault and where it is: places count from the user's first candidate and from the attribute's first category.
struct FoundFault {
    Fault fault = Fault::none;
    std::size_t attribute = 0, at = 0, column = 0;
    double value = 0.0, other = 0.0;
};

// Targets as they are given: the edges of all categories, row by row, or sparse, the columns of each row in rising order.
struct GivenTargets {
    SparseView rows;      // starts empty: dense, with the lower edges as the values
    Reals highs;          // beside the values; empty where no target is a band
    Reals rest;           // (rows, attributes) up to which share what a sparse row does not list may have; empty for 0
    std::size_t count = 0;  // of rows: the users', or one for all alike
};

struct Given {
    Reals scores;
    std::span<const std::int64_t> starts, items;  // items empty: candidate c is row c
    GivenTargets targets;
    std::span<const std::int64_t> ends;           // where each attribute's categories end
    std::span<const unsigned char> bands;         // by attribute, whether it is a band; empty: where the edges differ
    bool unit_range = false;                      // bring each user's scores to the range from 0 to 1
};

// The same checked. Bad rows stay as they came, bad targets are empty; `faults` says whose they are.
struct Checked {
    std::vector<double> scores;
    std::vector<std::int64_t> starts, items, ends;
    SparseRows rows;
    SparseRows targets;                // the lower edges, of each user or of all alike; what they are 0 of is not listed
    std::vector<double> highs;         // the upper ones; empty where no target is a band
    std::vector<double> rest;          // as given
    std::vector<std::int64_t> faults;  // (users,) numbers of Fault
    std::map<std::size_t, FoundFault> found;

    std::size_t users() const { return starts.size() - 1; }
    std::size_t r() const { return static_cast<std::size_t>(ends.back()); }
    Reals upper() const { return highs.empty() ? Reals(targets.values) : Reals(highs); }
    std::size_t target_of(std::size_t user) const { return targets.starts.size() == 2 ? 0 : user; }
};

Checked check(const Given& given, SparseRows rows);

// (r,) both edges of each category of a user's target.
std::pair<std::vector<double>, std::vector<double>> edges_of(const Checked& checked, std::size_t user);

// Sparse rows with rising columns, entries of the same place added up, and no zeros.
SparseRows canonical_rows(const SparseView& rows);

// The columns of the parts side by side; part p has columns[p] of them.
SparseRows side_by_side(const std::vector<SparseRows>& parts, std::span<const std::size_t> columns);

}  // namespace excalibr
