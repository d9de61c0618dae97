#include "bindings_checking.hpp"

#include "bindings.hpp"
#include "checking.hpp"
#include "packing.hpp"

namespace excalibr::bindings {
namespace {

// A contiguous array of the right type; anything else is a TypeError.
template <typename Taken>
Taken taken(nb::handle array) {
    Taken made;
    if (!nb::try_cast<Taken>(array, made)) throw nb::type_error("not a contiguous array of the right type");
    return made;
}

std::span<const std::int64_t> integers_or_none(nb::handle array) {
    return array.is_none() ? std::span<const std::int64_t>() : taken<IntegerArray>(array).span();
}

Reals reals_or_none(nb::handle array) { return array.is_none() ? Reals() : reals(taken<RealArray>(array)); }

// A dense table, or the three arrays of sparse rows and their number of columns.
SparseRows rows_of(nb::handle part, std::size_t& columns) {
    if (!nb::isinstance<nb::tuple>(part)) {
        const auto table = taken<RealTable>(part);
        require(table.size < std::numeric_limits<Index>::max(), "too many entries for 32-bit places");
        columns = table.columns();
        return without_gil_unless_brief(
            table.size, [&] { return excalibr::pack_rows(reals(table), table.rows(), table.columns()); });
    }
    const auto arrays = nb::borrow<nb::tuple>(part);
    if (arrays.size() != 4 || !nb::try_cast<std::size_t>(arrays[3], columns))
        throw nb::type_error("sparse rows are three arrays and a number of columns");
    const GivenRows rows = sparse_rows(taken<IntegerArray>(arrays[0]), taken<IntegerArray>(arrays[1]),
                                       taken<RealArray>(arrays[2]), columns);
    return without_gil_unless_brief(rows.values.size(), [&] { return canonical_rows(rows.view()); });
}

// The rows of one part, or of several attributes side by side.
SparseRows all_rows(nb::handle given, std::size_t& r) {
    if (!nb::isinstance<nb::list>(given)) return rows_of(given, r);
    std::vector<SparseRows> parts;
    std::vector<std::size_t> columns;
    for (const nb::handle part : nb::borrow<nb::list>(given)) {
        columns.push_back(0);
        parts.push_back(rows_of(part, columns.back()));
        require(parts.back().starts.size() == parts.front().starts.size(), "every attribute has as many rows");
        r += columns.back();
    }
    require(!parts.empty(), "there is an attribute");
    return side_by_side(parts, columns);
}

// The targets of a caller: a dense array, or row starts, columns and values, and how much of the rest is free.
struct TargetsOfCaller {
    GivenRows rows;
    GivenTargets targets;

    TargetsOfCaller(nb::handle lows, nb::handle highs, std::size_t r) {
        targets.highs = reals_or_none(highs);
        if (nb::isinstance<nb::tuple>(lows)) {
            const auto arrays = nb::borrow<nb::tuple>(lows);
            if (arrays.size() != 4) throw nb::type_error("sparse targets are four arrays");
            rows = sparse_rows(taken<IntegerArray>(arrays[0]), taken<IntegerArray>(arrays[1]), taken<RealArray>(arrays[2]),
                               r);
            targets.rows = rows.view();
            targets.rest = reals_or_none(arrays[3]);
            targets.count = rows.rows();
            require(rising_rows(targets.rows), "the categories of a target rise");
        } else {
            targets.rows.values = reals(taken<RealArray>(lows));
            targets.count = targets.rows.values.size() / r;
            require(targets.count * r == targets.rows.values.size(), "a target has a number for each category");
        }
        require(targets.highs.empty() || targets.highs.size() == targets.rows.values.size(),
                "a target has two edges or one");
    }

  private:
    static bool rising_rows(const SparseView& rows) {
        for (std::size_t row = 0; row + 1 < rows.starts.size(); ++row)
            for (Index entry = rows.starts[row] + 1; entry < rows.starts[row + 1]; ++entry)
                if (rows.columns[entry - 1] >= rows.columns[entry]) return false;
        return true;
    }
};

void require_fitting(const Given& given, std::size_t items, std::size_t rows, std::size_t r) {
    const auto candidates = static_cast<std::int64_t>(given.scores.size());
    bool rising = !given.starts.empty() && given.starts.front() == 0 && given.starts.back() == candidates;
    for (std::size_t at = 1; at < given.starts.size(); ++at) rising = rising && given.starts[at - 1] <= given.starts[at];
    require(rising, "starts do not rise to the number of candidates");
    require(items == given.scores.size(), "every candidate is an item");
    bool there = true;
    for (const std::int64_t item : given.items) there = there && 0 <= item && item < static_cast<std::int64_t>(rows);
    require(there, "an item is out of range");
    const std::size_t users = given.starts.size() - 1;
    require(given.targets.count == 1 || given.targets.count == users, "every user has a target, or one is for all");
    require(given.targets.rest.empty() || given.targets.rest.size() == given.targets.count * given.ends.size(),
            "every target says of each attribute how much of the rest is free");
    std::int64_t last = 0;
    for (const std::int64_t end : given.ends) {
        require(end >= last, "attributes follow one another");
        last = end;
    }
    require(last == static_cast<std::int64_t>(r), "attributes have all categories");
    require(given.bands.empty() || given.bands.size() == given.ends.size(), "every attribute is a band or not");
}

void make_checked(Checked* made, const RealArray& scores, nb::handle starts, nb::handle items, nb::handle rows,
                  nb::handle lows, nb::handle highs, nb::handle ends, nb::handle bands, bool unit_range) {
    std::size_t r = 0;
    SparseRows packed = all_rows(rows, r);
    require(r > 0, "there is a category");
    const TargetsOfCaller wanted(lows, highs, r);
    const std::int64_t whole[2] = {0, static_cast<std::int64_t>(scores.size)}, all = static_cast<std::int64_t>(r);
    Given given{reals(scores), integers_or_none(starts), integers_or_none(items), wanted.targets, integers_or_none(ends), {},
                unit_range};
    if (starts.is_none()) given.starts = whole;
    if (ends.is_none()) given.ends = std::span(&all, 1);
    if (!bands.is_none()) {
        const auto flags = taken<FlagArray>(bands);
        given.bands = {reinterpret_cast<const unsigned char*>(flags.data), flags.size};
    }
    const std::size_t height = packed.starts.size() - 1;
    require_fitting(given, items.is_none() ? height : given.items.size(), height, r);
    const std::size_t entries = packed.values.size() + given.targets.rows.values.size();
    new (made) Checked(without_gil_unless_brief(entries, [&] { return check(given, std::move(packed)); }));
}

nb::tuple fault_of(const Checked& checked, std::size_t user) {
    const auto found = checked.found.find(user);
    const FoundFault fault = found == checked.found.end() ? FoundFault() : found->second;
    return nb::make_tuple(static_cast<int>(fault.fault), fault.attribute, fault.at, fault.column, fault.value,
                          fault.other);
}

// All of it as arrays, and the same from them: what a pickle keeps.
nb::tuple state_of(const Checked& checked) {
    nb::list found;
    for (const auto& [user, fault] : checked.found)
        found.append(nb::make_tuple(user, static_cast<std::int64_t>(fault.fault), fault.attribute, fault.at, fault.column,
                                    fault.value, fault.other));
    return nb::make_tuple(to_numpy(Reals(checked.scores)), to_numpy(checked.starts), to_numpy(checked.items),
                          to_numpy(checked.ends), to_numpy(Indices(checked.rows.starts)),
                          to_numpy(Indices(checked.rows.columns)), to_numpy(Reals(checked.rows.values)),
                          to_numpy(Indices(checked.targets.starts)), to_numpy(Indices(checked.targets.columns)),
                          to_numpy(Reals(checked.targets.values)), to_numpy(Reals(checked.highs)),
                          to_numpy(Reals(checked.rest)), to_numpy(checked.faults), found);
}

template <typename Number>
std::vector<Number> numbers_of(nb::handle array) {
    const auto numbers = nb::cast<Array<const Number, 1>>(array).span();
    return {numbers.begin(), numbers.end()};
}

void restore(Checked& made, const nb::tuple& state) {
    new (&made) Checked();
    made.scores = numbers_of<double>(state[0]);
    made.starts = numbers_of<std::int64_t>(state[1]);
    made.items = numbers_of<std::int64_t>(state[2]);
    made.ends = numbers_of<std::int64_t>(state[3]);
    const auto sparse = [&](std::size_t at) -> SparseRows {
        const GivenRows rows = sparse_rows(nb::cast<IntegerArray>(state[at]), nb::cast<IntegerArray>(state[at + 1]),
                                           nb::cast<RealArray>(state[at + 2]), static_cast<std::size_t>(made.ends.back()));
        return {rows.starts, rows.columns, numbers_of<double>(state[at + 2])};
    };
    made.rows = sparse(4);
    made.targets = sparse(7);
    made.highs = numbers_of<double>(state[10]);
    made.rest = numbers_of<double>(state[11]);
    made.faults = numbers_of<std::int64_t>(state[12]);
    for (const nb::handle each : nb::borrow<nb::list>(state[13])) {
        const auto found = nb::borrow<nb::tuple>(each);
        made.found[nb::cast<std::size_t>(found[0])] = {
            static_cast<Fault>(nb::cast<std::int64_t>(found[1])), nb::cast<std::size_t>(found[2]),
            nb::cast<std::size_t>(found[3]), nb::cast<std::size_t>(found[4]), nb::cast<double>(found[5]),
            nb::cast<double>(found[6])};
    }
}

nb::tuple edges_by_category(const Checked& checked, std::size_t user) {
    require(user < checked.users(), "there is no such user");
    const auto [lows, highs] = edges_of(checked, user);
    return nb::make_tuple(to_read_only(lows), to_read_only(highs));
}

}  // namespace

void bind_checking(nb::module_& module) {
    module.attr("SUM_TOLERANCE") = sum_tolerance;
    module.attr("WIDEST_RANGE") = widest_range;
    nb::class_<Checked>(module, "Checked")
        .def("__init__", &make_checked, nb::arg(), nb::arg().none(), nb::arg().none(), nb::arg(), nb::arg(),
             nb::arg().none(), nb::arg().none(), nb::arg().none(), nb::arg())
        .def("__getstate__", &state_of)
        .def("__setstate__", &restore)
        .def_prop_ro("sound", [](const Checked& checked) { return checked.found.empty(); })
        .def_prop_ro("faults", [](const Checked& checked) { return to_numpy(checked.faults); })
        .def("fault", &fault_of)
        .def_prop_ro("r", &Checked::r)
        .def_prop_ro("candidates", [](const Checked& checked) { return checked.scores.size(); })
        .def_prop_ro("scores", [](const Checked& checked) { return to_numpy(Reals(checked.scores)); })
        .def_prop_ro("indptr", [](const Checked& checked) { return to_numpy(Indices(checked.rows.starts)); })
        .def_prop_ro("indices", [](const Checked& checked) { return to_numpy(Indices(checked.rows.columns)); })
        .def_prop_ro("values", [](const Checked& checked) { return to_numpy(Reals(checked.rows.values)); })
        .def("edges", &edges_by_category);
}

}  // namespace excalibr::bindings
