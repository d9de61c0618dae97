#include "bindings_solver.hpp"

#include <nanobind/stl/optional.h>

#include <atomic>
#include <chrono>
#include <optional>

#include "bindings.hpp"
#include "bindings_alone.hpp"
#include "checking.hpp"
#include "range.hpp"
#include "tuning.hpp"

namespace excalibr::bindings {
namespace {

// What is asked beyond scores, rows and targets, in the order of the tuple; what is empty is not asked.
struct Terms {
    Terms(const nb::tuple& arrays, std::size_t r) : relative(nb::cast<bool>(arrays[0])) {
        for (std::size_t at = 1; Reals* numbers : {&weights, &floors, &caps, &page_parts})
            *numbers = reals(nb::cast<RealArray>(arrays[at++]));
        if (!page_parts.empty())
            seen = sparse_rows(nb::cast<IntegerArray>(arrays[5]), nb::cast<IntegerArray>(arrays[6]),
                               nb::cast<RealArray>(arrays[7]), r);
        unavailable = nb::cast<FlagArray>(arrays[8]);
        for (std::size_t at = 9;
             IntegerArray* numbers : {&pinned_starts, &pinned_slots, &pinned_candidates, &groups, &group_limits})
            *numbers = nb::cast<IntegerArray>(arrays[at++]);
    }
    bool relative;
    Reals weights, floors, caps, page_parts;
    GivenRows seen;
    FlagArray unavailable;
    IntegerArray pinned_starts, pinned_slots, pinned_candidates, groups, group_limits;
};

// The questions of any number of users. It refers to what was checked and to the caller's arrays, and keeps them alive.
class Questions {
  public:
    Questions(nb::object checked, nb::tuple by_user, const nb::tuple& asked, nb::object terms)
        : kept_(nb::make_tuple(checked, by_user, terms)) {
        take(nb::cast<const Checked&>(checked), asked, terms);
        users_.slots = integers(by_user[0]);
        users_.weight_starts = integers(by_user[1]);
        users_.position_weights = reals(nb::cast<RealArray>(by_user[2]));
        users_.trade_offs = reals(nb::cast<RealArray>(by_user[3]));
        users_.asked = integers(by_user[4]);
        users_.item_prices = reals(nb::cast<RealArray>(by_user[5]));
        check();
    }

    std::size_t size() const { return users_.trade_offs.size(); }
    const Users& users() const { return users_; }
    std::atomic<bool> cancelled = false;

    void check_range(std::size_t first, std::size_t last) const {
        require(first <= last && last <= size(), "the range is not one of the users'");
    }

  private:
    static std::span<const std::int64_t> integers(nb::handle array) { return nb::cast<IntegerArray>(array).span(); }

    void take(const Checked& checked, const nb::tuple& asked, nb::handle terms) {
        take_checked(checked, users_);
        take_asked(asked, users_);
        if (!terms.is_none()) take(Terms(nb::borrow<nb::tuple>(terms), users_.r));
    }

    void take(Terms terms) {
        users_.relative = terms.relative;
        users_.weights = terms.weights;
        users_.floors = terms.floors;
        users_.caps = terms.caps;
        users_.page_parts = terms.page_parts;
        seen_ = std::move(terms.seen);
        users_.seen = seen_.view();
        for (Index category = 0; category < terms.floors.size(); ++category)
            if (terms.floors[category] > tuning::limit_slack) floored_.push_back(category);
        users_.floored = floored_;
        users_.unavailable = {reinterpret_cast<const unsigned char*>(terms.unavailable.data), terms.unavailable.size};
        users_.pinned_starts = terms.pinned_starts.span();
        users_.pinned_slots = terms.pinned_slots.span();
        users_.pinned_candidates = terms.pinned_candidates.span();
        group_limits_ = indices(terms.group_limits);
        users_.group_limits = group_limits_;
        group_of_item_.assign(terms.groups.data, terms.groups.data + terms.groups.size);
        users_.group_of_item = group_of_item_;
    }

    // Sizes and places: nothing that the kernel follows may lead outside of an array.
    void check() const {
        const std::size_t count = size(), r = users_.r, candidates = users_.scores.size();
        require(users_.starts.size() == count + 1 && users_.slots.size() == count && users_.asked.size() == count &&
                    users_.weight_starts.size() == count,
                "every user has a start, slots, weights and something asked");
        require(users_.weights.empty() || users_.weights.size() == r, "every category has a weight");
        require(users_.page_parts.empty() || (users_.page_parts.size() == count && users_.seen.starts.size() == count + 1),
                "every user has seen something or nothing");
        require(users_.floors.size() == users_.caps.size() && (users_.floors.empty() || users_.floors.size() == r),
                "floors and caps go together");
        require(users_.unavailable.empty() || users_.unavailable.size() == candidates, "every candidate is available or not");
        require(group_of_item_.empty() || group_of_item_.size() + 1 == users_.table.starts.size(),
                "every item has a group or none");
        require(users_.item_prices.empty() || users_.item_prices.size() + 1 == users_.table.starts.size(),
                "every item has a price or none");
        const auto limits = static_cast<std::int32_t>(group_limits_.size());
        require(all(group_of_item_, [&](std::int32_t group) { return -1 <= group && group < limits; }),
                "a group is out of range");
        require(limits == 0 || !group_of_item_.empty(), "limits are of groups");
        for (std::size_t user = 0; user < count; ++user) {
            const std::int64_t k = users_.slots[user], n = users_.starts[user + 1] - users_.starts[user];
            const std::int64_t begin = users_.weight_starts[user], end = begin + k;
            require(0 <= k && k <= n, "a user has more slots than candidates");
            require(0 <= begin && end <= static_cast<std::int64_t>(users_.position_weights.size()),
                    "a slot has no position weight");
        }
        check_pins();
    }

    void check_pins() const {
        if (users_.pinned_starts.empty()) return;
        require(users_.pinned_starts.size() == size() + 1 && rising(users_.pinned_starts, users_.pinned_slots.size()) &&
                    users_.pinned_slots.size() == users_.pinned_candidates.size(),
                "pins are slots and candidates of users");
        for (std::size_t user = 0; user < size(); ++user)
            for (auto pin = users_.pinned_starts[user]; pin < users_.pinned_starts[user + 1]; ++pin) {
                const std::int64_t slot = users_.pinned_slots[pin], candidate = users_.pinned_candidates[pin];
                require(0 <= slot && slot < users_.slots[user], "a pinned slot is out of range");
                require(0 <= candidate && candidate < users_.starts[user + 1] - users_.starts[user],
                        "a pinned candidate is out of range");
            }
    }

    static bool rising(std::span<const std::int64_t> starts, std::size_t end) {
        bool rises = !starts.empty() && starts.front() == 0 && starts.back() == static_cast<std::int64_t>(end);
        for (std::size_t at = 1; at < starts.size(); ++at) rises = rises && starts[at - 1] <= starts[at];
        return rises;
    }
    template <typename Numbers, typename Test>
    static bool all(const Numbers& numbers, Test&& test) {
        bool good = true;
        for (const auto number : numbers) good = good && test(number);
        return good;
    }

    nb::tuple kept_;
    Users users_;
    GivenRows seen_;
    std::vector<Index> floored_;
    std::vector<Index> group_limits_;
    std::vector<std::int32_t> group_of_item_;
};

// How many of each user, their categories and their values.
nb::tuple by_user(const Batched& numbers) {
    return nb::make_tuple(to_numpy(numbers.counts), to_numpy(Indices(numbers.categories)),
                          to_numpy(Reals(numbers.values)));
}

nb::tuple by_category(const ByCategory& numbers) {
    return nb::make_tuple(to_read_only(numbers.categories), to_read_only(numbers.values));
}

nb::tuple solve_range(Questions& questions, std::size_t first, std::size_t last) {
    questions.check_range(first, last);
    RangeAnswer answer;
    PythonCaller caller(&questions.cancelled);
    RangeSolver solver;
    solver.watcher().attend(&caller, false);
    const double seconds = without_gil([&] {
        const auto start = std::chrono::steady_clock::now();
        solver.solve(questions.users(), first, last, answer);
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    });
    caller.raise_if_interrupted();
    const std::size_t count = last - first;
    return nb::make_tuple(
        to_numpy(Indices(answer.places)), to_numpy(Reals(answer.weights)), to_numpy(answer.counts),
        by_user(answer.prices), to_numpy(Reals(answer.gaps)),
        to_numpy(Reals(answer.allowed_gaps)), to_numpy(Reals(answer.trade_offs)),
        to_numpy(Reals(answer.objectives)),
        to_numpy(answer.statuses), to_numpy(answer.engines), to_numpy(answer.sorts), to_numpy(answer.steps),
        to_numpy(answer.failures), to_numpy(Reals(answer.details), count, 3),
        by_user(answer.limit_prices), seconds);
}

// One user, without an array for each number: rankings, weights, prices, gap, λ, what the solve took, and why it failed.
nb::tuple answer_of(const UserAnswer& answer, double seconds) {
    const nb::tuple took = nb::make_tuple(static_cast<int>(answer.engine), answer.effort.sorts, answer.effort.steps,
                                          static_cast<int>(answer.effort.status), seconds, answer.allowed_gap);
    if (answer.failure != Failure::none) {
        return nb::make_tuple(nb::none(), nb::none(), nb::none(), answer.gap, answer.trade_off, took,
                              nb::make_tuple(static_cast<int>(answer.failure), answer.category, answer.wanted,
                                             answer.reached, by_category(answer.limit_prices)));
    }
    const Lottery& lottery = answer.lottery;
    return nb::make_tuple(to_read_only(lottery.rankings, lottery.size(), lottery.k),
                          to_read_only(lottery.weights), by_category(answer.prices), answer.gap, answer.trade_off, took,
                          nb::none());
}

nb::tuple solve_one(const Users& users, std::size_t user, bool verbose) {
    KeptSolver solver(verbose);
    const UserAnswer& answer = *without_gil([&] { return &solver.solve(users, user); });
    solver.raise_if_interrupted();
    nb::tuple found = answer_of(answer, solver.seconds);
    solver.keep();
    return found;
}

nb::tuple solve_user(Questions& questions, std::size_t user, bool verbose) {
    questions.check_range(user, user + 1);
    return solve_one(questions.users(), user, verbose);
}

nb::tuple solve_alone(const Checked& checked, const Setting& setting) {
    return solve_one(AloneUser(checked, setting).users, 0, false);
}

nb::object measure_range(Questions& questions, const IntegerArray& places, const RealArray& weights,
                         const IntegerArray& counts, std::size_t first, std::size_t last) {
    questions.check_range(first, last);
    require(counts.size == last - first, "every user has a count");
    std::size_t rankings = 0, shown = 0;
    for (std::size_t user = first; user < last; ++user) {
        const auto count = static_cast<std::size_t>(counts.data[user - first]);
        rankings += count;
        shown += count * static_cast<std::size_t>(questions.users().slots[user]);
    }
    require(rankings == weights.size && shown == places.size, "every user has the rankings that were counted");
    const std::vector<Index> converted = indices(places);
    std::size_t place = 0;
    for (std::size_t user = first; user < last; ++user) {
        const auto size = static_cast<std::size_t>(counts.data[user - first]) *
                          static_cast<std::size_t>(questions.users().slots[user]);
        const auto n = static_cast<std::size_t>(questions.users().starts[user + 1] - questions.users().starts[user]);
        for (std::size_t at = 0; at < size; ++at) require(converted[place + at] < n, "a ranking has an unknown candidate");
        place += size;
    }
    std::vector<double> measured;
    without_gil([&] {
        RangeSolver().measure(questions.users(), converted, reals(weights), counts.span(), first, last, measured);
    });
    return to_numpy(Reals(measured), last - first, 6);
}

// One user's curve: solves at any trade-offs, each from what the ones before found.
class Curve {
  public:
    Curve(const Curve&) = delete;
    Curve(Questions& questions, std::size_t user) {
        questions.check_range(user, user + 1);
        solver_.load(ranges_.question_of(questions.users(), user));
    }

    nb::tuple solve(double trade_off, double tolerance, std::int64_t max_sorts, double time_limit, bool verbose,
                    const std::optional<RealArray>& prices) {
        Limits limits{tolerance};
        if (max_sorts >= 0) limits.max_sorts = static_cast<std::size_t>(max_sorts);
        UserAnswer answer;
        CurvePoint point;
        std::vector<double> by_row;
        if (prices) require_prices(*prices);
        PythonCaller caller(nullptr);
        Watcher& watcher = ranges_.watcher();
        watcher.attend(&caller, verbose);
        const double seconds = without_gil([&] {
            const auto start = std::chrono::steady_clock::now();
            watcher.begin(time_limit);
            watcher.solve_until(tuning::solving_part);
            if (prices) solver_.free_part().to_row_prices(reals(*prices), trade_off, by_row);
            solver_.curve_point(trade_off, limits, by_row, point);
            solver_.to_answer(point, answer);
            solver_.settle_in_time(Aim::trade_off, 0.0, answer);
            return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        });
        watcher.attend(nullptr, false);
        caller.raise_if_interrupted();
        return nb::make_tuple(answer_of(answer, seconds), point.relevance, point.cost, point.effort.operations);
    }

    Indices categories() { return solver_.free_part().priced(); }

    // The least relevance that a loss allows.
    double relevance_floor(double loss) {
        return without_gil([&] { return solver_.relevance_floor(loss) + solver_.best_score(); });
    }

    double gap_at(double trade_off, const IntegerTable& rankings, const RealArray& weights, const RealArray& prices) {
        require_prices(prices);
        const Lottery lottery = lottery_of(rankings, weights);
        return without_gil([&] { return solver_.gap_at(trade_off, lottery, reals(prices)); });
    }

  private:
    const Question& question() { return solver_.free_part().question(); }

    void require_prices(const RealArray& prices) {
        require(prices.size == categories().size(), "every category that candidates have has a price");
    }

    Lottery lottery_of(const IntegerTable& rankings, const RealArray& weights) {
        require(rankings.rows() == weights.size && rankings.columns() == question().k(), "a ranking fills the slots");
        Lottery lottery;
        lottery.k = question().k();
        lottery.rankings = indices(rankings, question().n());
        lottery.weights.assign(weights.data, weights.data + weights.size);
        return lottery;
    }

    RangeSolver ranges_;
    UserSolver solver_{ranges_.watcher()};
};

}  // namespace

void bind_solver(nb::module_& module) {
    nb::class_<Questions>(module, "Questions")
        .def(nb::init<nb::object, nb::tuple, const nb::tuple&, nb::object>(), nb::arg(), nb::arg(), nb::arg(),
             nb::arg().none())
        .def("__len__", &Questions::size)
        .def("cancel", [](Questions& questions) { questions.cancelled = true; });
    nb::class_<Setting>(module, "Setting").def(nb::init<const RealArray&, double, const nb::tuple&>());
    module.def("solve_range", &solve_range);
    module.def("solve_user", &solve_user, nb::arg(), nb::arg(), nb::arg("verbose") = false);
    module.def("solve_alone", &solve_alone);
    module.def("measure_range", &measure_range);
    nb::class_<Curve>(module, "Curve")
        .def(nb::init<Questions&, std::size_t>(), nb::keep_alive<1, 2>())
        .def_prop_ro("categories", [](Curve& curve) { return to_numpy(curve.categories()); })
        .def("solve", &Curve::solve, nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none())
        .def("gap_at", &Curve::gap_at)
        .def("relevance_floor", &Curve::relevance_floor);
}

}  // namespace excalibr::bindings
