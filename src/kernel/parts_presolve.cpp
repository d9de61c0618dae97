// Questions brought to the form that the engines know, and answers brought back.
#include "parts.hpp"

#include "presolve.hpp"
#include "tuning.hpp"

namespace excalibr::bindings {
namespace {

// A question with its own copies of the caller's arrays, and the part of it that is free.
class FreePartOfQuestion {
  public:
    // In the order of `Question`; what is empty is not asked. Items are rows of the table, groups are of items.
    FreePartOfQuestion(const RealArray& scores, const IntegerArray& items, const IntegerArray& indptr,
                       const IntegerArray& columns, const RealArray& values, const RealArray& low, const RealArray& high,
                       const RealArray& weights, const RealArray& base, const RealArray& floors, const RealArray& caps,
                       double smoothing, const FlagArray& unavailable, const IntegerArray& pinned_slots,
                       const IntegerArray& pinned_candidates, const IntegerArray& group_of_item,
                       const IntegerArray& group_limits, const RealArray& position_weights) {
        const std::size_t n = scores.size, r = low.size, k = position_weights.size;
        const GivenRows table = sparse_rows(indptr, columns, values, r);
        require(items.size == n && k <= n, "every candidate is an item, and there are enough of them");
        require(high.size == r && weights.size == r && (base.size == 0 || base.size == r), "categories have bands");
        require(floors.size == caps.size && (floors.size == 0 || floors.size == r), "floors and caps go together");
        require(unavailable.size == 0 || unavailable.size == n, "every candidate is available or not");
        require(pinned_slots.size == pinned_candidates.size, "a pinned slot has a candidate");
        require(group_of_item.size == (group_limits.size ? table.rows() : 0), "every item has a group or none");
        own_ = {table.starts, table.columns, {table.values.begin(), table.values.end()}};
        items_ = indices(items, table.rows());
        slots_ = indices(pinned_slots, k);
        candidates_ = indices(pinned_candidates, n);
        limits_ = indices(group_limits);
        for (const std::int64_t group : group_of_item.span()) {
            require(-1 <= group && group < static_cast<std::int64_t>(limits_.size()), "a group is out of range");
            groups_.push_back(static_cast<std::int32_t>(group));
        }
        for (const bool each : unavailable.span()) unavailable_.push_back(each ? 1 : 0);
        for (Index category = 0; category < r; ++category) {
            all_.push_back(category);
            if (floors.size && floors.data[category] > tuning::limit_slack) floored_.push_back(category);
        }
        question_.scores = kept(scores);
        question_.items = items_;
        question_.table = own_.view();
        question_.r = r;
        question_.listed = all_;
        question_.low = kept(low);
        question_.high = kept(high);
        question_.weights = kept(weights);
        question_.base = kept(base);
        question_.floors = kept(floors);
        question_.caps = kept(caps);
        question_.floored = floored_;
        question_.smoothing = smoothing;
        question_.unavailable = unavailable_;
        question_.pinned_slots = slots_;
        question_.pinned_candidates = candidates_;
        question_.group_of_item = groups_;
        question_.group_limits = limits_;
        question_.position_weights = kept(position_weights);
        free_.load(question_);
        require(free_.program().k() <= free_.scores().size(), "there are fewer free candidates than open slots");
    }
    FreePartOfQuestion(const FreePartOfQuestion&) = delete;

    // Gains, rows (indptr, columns, values), penalties (rows, 6), position weights, and the categories of the repeated rows.
    nb::tuple program(double trade_off, double steepness) {
        free_.set_objective(Balance::of(trade_off), steepness);
        const Program& program = free_.program();
        std::vector<double> penalties;
        for (const Penalty& each : program.penalties)
            for (const double number : {each.low, each.high, each.below, each.above, each.smoothing, each.base})
                penalties.push_back(number);
        return nb::make_tuple(to_numpy(Reals(program.gains)), to_numpy(Indices(program.rows.starts)),
                              to_numpy(Indices(program.rows.columns)), to_numpy(Reals(program.rows.values)),
                              to_numpy(Reals(penalties), program.penalties.size(), 6),
                              to_numpy(Reals(program.position_weights)), to_numpy(free_.limited()));
    }

    // The group limits that a sort must still watch.
    nb::object group_limits() const { return to_numpy(Indices(free_.program().group_limits)); }
    std::size_t room() const { return free_.room(); }
    double settled_cost() const { return free_.settled_cost(); }

    nb::tuple to_whole(const IntegerTable& rankings, const RealArray& weights) const {
        Lottery whole;
        free_.to_whole(lottery_of(rankings, weights, free_.program().k(), free_.scores().size()), whole);
        return bindings::to_numpy(whole);
    }
    nb::tuple to_free(const IntegerTable& rankings, const RealArray& weights) const {
        Lottery free;
        free_.to_free(lottery_of(rankings, weights, question_.k(), question_.n()), free);
        return bindings::to_numpy(free);
    }

    nb::tuple to_reported_prices(const RealArray& by_row, double trade_off) const {
        require(by_row.size == free_.rows() + free_.limited().size(), "every row has a price");
        ByCategory reported;
        free_.to_reported_prices(reals(by_row), trade_off, reported);
        return nb::make_tuple(to_numpy(Indices(reported.categories)), to_numpy(Reals(reported.values)));
    }
    nb::object to_row_prices(const RealArray& reported, double trade_off) const {
        require(reported.size == free_.priced().size(), "every category that candidates have has a price");
        std::vector<double> by_row;
        free_.to_row_prices(reals(reported), trade_off, by_row);
        return to_numpy(Reals(by_row));
    }

    nb::tuple missed_limits(const RealArray& shares) const {
        require(shares.size == question_.r, "every category has a share");
        const auto [most, total] = free_.missed_limits(reals(shares));
        return nb::make_tuple(most, total);
    }
    nb::tuple extremes(const RealArray& values) {
        require(values.size == question_.n(), "every candidate has a value");
        const auto [least, most] = free_.extremes(reals(values));
        return nb::make_tuple(least, most);
    }
    nb::tuple extreme_shares(std::size_t category) {
        require(category < question_.r, "there is no such category");
        const auto [least, most] = free_.extreme_shares(category);
        return nb::make_tuple(least, most);
    }
    nb::tuple most_relevant() {
        Lottery lottery;
        free_.most_relevant(lottery);
        return bindings::to_numpy(lottery);
    }

    // Exposure and category shares of a lottery of the whole.
    nb::tuple expose(const IntegerTable& rankings, const RealArray& weights) const {
        std::vector<double> exposure, shares;
        free_.expose(lottery_of(rankings, weights, question_.k(), question_.n()), exposure, shares);
        return nb::make_tuple(to_numpy(Reals(exposure)), to_numpy(Reals(shares)));
    }

  private:
    Reals kept(const RealArray& array) {
        kept_.emplace_back(array.data, array.data + array.size);
        return kept_.back();
    }

    std::vector<std::vector<double>> kept_;  // moving a vector leaves its numbers where they are
    SparseRows own_;
    std::vector<Index> all_, floored_, items_, slots_, candidates_, limits_;
    std::vector<std::int32_t> groups_;
    std::vector<unsigned char> unavailable_;
    Question question_;
    FreePart free_;
};

}  // namespace

void bind_presolve(nb::module_& module) {
    using Bound = FreePartOfQuestion;
    nb::class_<Bound>(module, "FreePart")
        .def(nb::init<const RealArray&, const IntegerArray&, const IntegerArray&, const IntegerArray&, const RealArray&,
                      const RealArray&, const RealArray&, const RealArray&, const RealArray&, const RealArray&,
                      const RealArray&, double, const FlagArray&, const IntegerArray&, const IntegerArray&,
                      const IntegerArray&, const IntegerArray&, const RealArray&>())
        .def("program", &Bound::program)
        .def("group_limits", &Bound::group_limits)
        .def("room", &Bound::room)
        .def("settled_cost", &Bound::settled_cost)
        .def("to_whole", &Bound::to_whole)
        .def("to_free", &Bound::to_free)
        .def("to_reported_prices", &Bound::to_reported_prices)
        .def("to_row_prices", &Bound::to_row_prices)
        .def("missed_limits", &Bound::missed_limits)
        .def("extremes", &Bound::extremes)
        .def("extreme_shares", &Bound::extreme_shares)
        .def("most_relevant", &Bound::most_relevant)
        .def("expose", &Bound::expose);
}

}  // namespace excalibr::bindings
