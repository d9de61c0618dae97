// Many users in one call: contiguous ranges of users in, their answers out, one after another in flat arrays.
//
// A user gets the same bits whoever is beside them: everything that is kept from user to user is room, never numbers.
#pragma once

#include "draws.hpp"
#include "user.hpp"

namespace excalibr {

// What is asked for a user.
enum class Asked : std::int64_t { nothing = 0, solution = 1, relevance_order = 2 };

// The questions of many users, in arrays that outlive the calls. User u has the candidates `starts[u]` to `starts[u + 1]`;
// what is empty is not asked. Candidate c is the item `items[c]`, or c without them.
struct Users {
    Reals scores;
    std::span<const std::int64_t> starts, items;
    SparseView table;  // category shares, a row an item
    std::size_t r = 0;
    std::span<const std::int64_t> ends;  // where the categories of each attribute end
    SparseView targets;       // the lower edges of what each user's target lists; a single row is everybody's
    Reals highs, rest;        // the upper edges; and (rows, attributes) those of what a row does not list, 0 where empty
    bool relative = false;    // weights are divided by what is wanted
    Reals page_parts;         // (users,) this page's part of all that a user sees; empty where nobody saw any before
    SparseView seen;          // what earlier pages showed of each category, in units of this page
    Reals weights;            // (r,)
    Reals floors, caps;       // (r,)
    Indices floored;          // the categories whose floor is beyond rounding
    double smoothing = 0.0;
    Reals item_prices;  // a price a row of the table
    std::span<const unsigned char> unavailable;
    std::span<const std::int64_t> pinned_starts, pinned_slots, pinned_candidates;
    std::span<const std::int32_t> group_of_item;
    Indices group_limits;
    std::span<const std::int64_t> slots, weight_starts;
    Reals position_weights;  // those of user u's slots begin at weight_starts[u]
    Reals trade_offs;
    Aim aim = Aim::trade_off;
    double budget = 0.0;
    Draws draws = Draws::lottery;
    Limits limits;
    double time_limit = std::numeric_limits<double>::infinity();  // seconds for each user
    std::span<const std::int64_t> asked;
};

// Numbers of some categories, user by user.
struct Batched {
    std::vector<std::int64_t> counts;
    std::vector<Index> categories;
    std::vector<double> values;

    void add(const ByCategory& own);
};

// What became of a range. Rankings lie one after another, user by user: candidates counted from the user's first.
struct RangeAnswer {
    std::vector<Index> places;
    std::vector<double> weights;
    std::vector<std::int64_t> counts;          // rankings of each user
    Batched prices;
    std::vector<double> gaps, allowed_gaps, trade_offs;
    std::vector<double> objectives;            // of the program that was asked, prices of items subtracted
    std::vector<std::int64_t> statuses, engines, sorts, steps;  // as numbers of Status and Engine
    std::vector<std::int64_t> failures;        // as numbers of Failure
    std::vector<double> details;               // (users, 3): category, wanted, reached
    Batched limit_prices;                      // where limits conflict
};

class RangeSolver {
  public:
    RangeSolver();
    ~RangeSolver();  // both in range.cpp: a header would have all that is in here compiled again wherever one is made
    RangeSolver(const RangeSolver&) = delete;
    RangeSolver& operator=(const RangeSolver&) = delete;

    // Solve the users from `first` to `last` − 1. When the watcher's caller interrupts, the rest of the range has no answer.
    void solve(const Users& users, std::size_t first, std::size_t last, RangeAnswer& answer);

    // The answer to one user's question, valid until the next; std::bad_alloc where memory ends.
    const UserAnswer& solve_one(const Users& users, std::size_t user);

    // What lotteries do, (users, 6): relevance and deviation of the order by scores; relevance and deviation of the lottery
    // in expectation; the mean and the largest deviation of a draw. Users without a ranking have nan.
    void measure(const Users& users, Indices places, Reals weights, std::span<const std::int64_t> counts, std::size_t first,
                 std::size_t last, std::vector<double>& measured);

    // One user's question, in this solver's room: valid until the next one is asked for.
    const Question& question_of(const Users& users, std::size_t user);

    // How many categories, and limits, the program of the last question has.
    std::size_t rows() { return solver_.free_part().rows() + solver_.free_part().limited().size(); }
    Watcher& watcher() { return watcher_; }

  private:
    void clear_answer();
    void write(RangeAnswer& answer);
    void measure_user(Indices places, Reals weights, std::span<double> row);
    void order_by_relevance();
    void take_target(const Users& users, std::size_t user);
    void divide_by_target();
    void take_off_earlier_pages(const Users& users, std::size_t user);

    Watcher watcher_;
    Question question_;
    std::vector<Index> items_, pinned_slots_, pinned_candidates_, listed_;
    std::vector<double> low_, high_, base_, divisors_, merged_divisors_;
    std::vector<Unlisted> unlisted_;
    UserSolver solver_;
    Redrawing redrawing_;
    UserAnswer answer_;
    Lottery lottery_;
    std::vector<double> exposure_, shares_;
};

}  // namespace excalibr
