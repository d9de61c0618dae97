#include "bindings_requests.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "bindings.hpp"
#include "id_table.hpp"
#include "seeding.hpp"
#include "slates.hpp"

namespace excalibr::bindings {
namespace {

constexpr std::ptrdiff_t most_digits = 18;  // of which any number fits into 64 bits

// A whole number that is written as text; nothing where it is anything else.
std::optional<std::int64_t> whole_number(nb::handle text) {
    Py_ssize_t size = 0;
    const char* at = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
    if (at == nullptr) {
        PyErr_Clear();
        return {};
    }
    const char* end = at + size;
    const bool negative = at != end && *at == '-';
    if (negative) ++at;
    if (at == end || end - at > most_digits) return {};
    std::int64_t number = 0;
    for (; at != end; ++at) {
        if (*at < '0' || *at > '9') return {};
        number = 10 * number + (*at - '0');
    }
    return negative ? -number : number;
}

constexpr std::int64_t unknown_id = -1, unclear_id = -2;

// The row of an id that must be a whole number, or be written as one.
std::int64_t row_of(const IdTable& table, nb::handle label) {
    std::optional<std::int64_t> number;
    if (PyLong_CheckExact(label.ptr())) {
        int overflow = 0;
        number = PyLong_AsLongLongAndOverflow(label.ptr(), &overflow);
        if (overflow != 0) return unknown_id;
    } else if (PyUnicode_CheckExact(label.ptr())) {
        number = whole_number(label);
    }
    return number ? table.row_of(*number) : unclear_id;
}

// The row of an id that must be text.
std::int64_t row_of(const nb::dict& table, nb::handle label) {
    if (!PyUnicode_CheckExact(label.ptr())) return unclear_id;
    PyObject* found = PyDict_GetItemWithError(table.ptr(), label.ptr());
    if (found == nullptr && PyErr_Occurred()) throw nb::python_error();
    return found == nullptr ? unknown_id : nb::cast<std::int64_t>(nb::handle(found));
}

// The candidates of a request in the order of the table: which of the labels they are, their rows and scores; and which
// labels the table does not have. None where it takes more than a look: ids to convert, ids that come twice, other scores.
template <typename Table>
nb::object known_candidates(const Table& table, const nb::list& labels, const nb::list& scores, double widest) {
    const std::size_t size = labels.size();
    if (scores.size() != size || size >= std::numeric_limits<Index>::max()) return nb::none();
    std::vector<std::pair<std::int64_t, std::size_t>> known;  // row and label
    std::vector<double> values(size);
    known.reserve(size);
    nb::list unknown;
    for (std::size_t at = 0; at < size; ++at) {
        PyObject* score = PyList_GetItem(scores.ptr(), static_cast<Py_ssize_t>(at));
        if (!PyFloat_CheckExact(score)) return nb::none();
        values[at] = PyFloat_AsDouble(score);
        const std::int64_t row = row_of(table, PyList_GetItem(labels.ptr(), static_cast<Py_ssize_t>(at)));
        if (row == unclear_id || !(std::abs(values[at]) <= widest)) return nb::none();
        if (row == unknown_id)
            unknown.append(at);
        else
            known.emplace_back(row, at);
    }
    std::sort(known.begin(), known.end());
    std::vector<std::int64_t> picked(known.size()), rows(known.size());
    std::vector<double> of_picked(known.size());
    for (std::size_t at = 0; at < known.size(); ++at) {
        if (at && known[at].first == known[at - 1].first) return nb::none();
        rows[at] = known[at].first;
        picked[at] = static_cast<std::int64_t>(known[at].second);
        of_picked[at] = values[known[at].second];
    }
    return nb::make_tuple(to_numpy(picked), to_numpy(rows), to_numpy(Reals(of_picked)), unknown);
}

// Some rows of a sparse matrix whose other rows are not looked at.
nb::tuple gather_rows(const IntegerArray& indptr, const IntegerArray& columns, const RealArray& values,
                      const IntegerArray& wanted) {
    require(indptr.size > 0 && columns.size == values.size, "a sparse matrix has as many columns as values");
    std::vector<std::int64_t> starts{0}, own_columns;
    std::vector<double> own_values;
    starts.reserve(wanted.size + 1);
    own_columns.reserve(2 * wanted.size);
    own_values.reserve(2 * wanted.size);
    for (const std::int64_t row : wanted.span()) {
        require(row >= 0 && static_cast<std::size_t>(row) + 1 < indptr.size, "an index is out of range");
        const std::int64_t first = indptr.data[row], last = indptr.data[row + 1];
        require(first >= 0 && first <= last && static_cast<std::size_t>(last) <= values.size, "row starts do not rise");
        own_columns.insert(own_columns.end(), columns.data + first, columns.data + last);
        own_values.insert(own_values.end(), values.data + first, values.data + last);
        starts.push_back(static_cast<std::int64_t>(own_values.size()));
    }
    return nb::make_tuple(to_numpy(starts), to_numpy(own_columns), to_numpy(Reals(own_values)));
}

template <typename Numbers>
nb::list listed(const Numbers& numbers) {
    nb::list made;
    for (const auto number : numbers) made.append(number);
    return made;
}

// The ranking that is shown, by the caller's own numbers of the candidates and scores, and the sums of its lottery.
nb::tuple slate_of(const Checked& checked, const IntegerTable& rankings, const RealArray& weights,
                   const RealArray& position_weights, std::size_t shown, const IntegerArray& labels,
                   const RealArray& scores, nb::handle given_lows, nb::handle given_highs) {
    const std::size_t n = checked.scores.size(), slots = position_weights.size;
    require(checked.users() == 1 && labels.size == n && scores.size == n, "there is one user");
    const Reals lows = given_lows.is_none() ? Reals(checked.lows) : reals(nb::cast<RealArray>(given_lows));
    const Reals own_highs = checked.highs.empty() ? lows : Reals(checked.highs);
    const Reals highs = given_highs.is_none() ? own_highs : reals(nb::cast<RealArray>(given_highs));
    require(lows.size() == checked.r() && highs.size() == checked.r(), "every category has two edges");
    require(rankings.rows() == weights.size && shown < weights.size, "a lottery has a weight for each ranking");
    require(rankings.columns() == slots, "a ranking has a candidate for each position weight");
    const std::vector<Index> places = indices(rankings, n);
    const SlateSums sums = slate_sums(checked, {places, reals(weights), reals(position_weights), shown}, lows, highs);
    nb::list own_labels, own_scores;
    for (const Index place : Indices(places).subspan(shown * slots, slots)) {
        own_labels.append(labels.data[place]);
        own_scores.append(scores.data[place]);
    }
    return nb::make_tuple(own_labels, own_scores, listed(sums.propensities), sums.relevance, listed(sums.shares),
                          listed(lows), listed(sums.deviations), listed(sums.of_shown));
}

// The first number of PCG64 for a seed, given as 16 bytes, the lowest first.
std::uint64_t first_of_stream(const nb::bytes& seed) {
    require(seed.size() == 16, "a seed has 16 bytes");
    std::array<std::uint32_t, 4> words{};
    const auto* bytes = reinterpret_cast<const unsigned char*>(seed.c_str());
    for (std::size_t at = 0; at < 16; ++at) words[at / 4] |= std::uint32_t{bytes[at]} << (8 * (at % 4));
    return excalibr::first_of_stream(words);
}

}  // namespace

void bind_requests(nb::module_& module) {
    nb::class_<IdTable>(module, "IdTable").def("__init__", [](IdTable* made, const IntegerArray& ids) {
        require(ids.size < std::numeric_limits<std::int32_t>::max(), "too many ids");
        new (made) IdTable(ids.span());
    });
    module.def("known_candidates", &known_candidates<IdTable>);
    module.def("known_candidates", &known_candidates<nb::dict>);
    module.def("gather_rows", &gather_rows);
    module.def("slate_of", &slate_of, nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(),
               nb::arg().none(), nb::arg().none());
    module.def("first_of_stream", &first_of_stream);
}

}  // namespace excalibr::bindings
