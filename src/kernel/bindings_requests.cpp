#include "bindings_requests.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>

#include "bindings.hpp"
#include "bindings_alone.hpp"
#include "id_table.hpp"
#include "json.hpp"
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

template <typename Numbers>
nb::list listed(const Numbers& numbers) {
    nb::list made;
    for (const auto number : numbers) made.append(number);
    return made;
}

// The candidates of a request in the order of a table.
struct KnownCandidates {
    using Known = std::pair<std::uint32_t, std::uint32_t>;  // row, and which of the labels

    std::vector<Known> known;
    std::vector<double> scores;        // of these
    std::vector<std::size_t> unknown;  // labels that the table does not have
};

// By row, labels of the same row in their order: byte by byte, without comparing.
void sort_by_row(std::vector<KnownCandidates::Known>& known) {
    std::uint32_t largest = 0;
    for (const auto& each : known) largest = std::max(largest, each.first);
    std::vector<KnownCandidates::Known> sorted(known.size());
    for (unsigned shift = 0; shift < 32 && largest >> shift != 0; shift += 8) {
        std::array<std::uint32_t, 257> ends{};
        for (const auto& each : known) ++ends[(each.first >> shift & 0xff) + 1];
        std::partial_sum(ends.begin(), ends.end(), ends.begin());
        for (const auto& each : known) sorted[ends[each.first >> shift & 0xff]++] = each;
        known.swap(sorted);
    }
}

// None where it takes more than a look: ids to convert, ids that come twice, other scores.
template <typename Table>
std::optional<KnownCandidates> find_candidates(const Table& table, const nb::list& labels, const nb::list& scores,
                                               double widest) {
    const std::size_t size = labels.size();
    if (scores.size() != size || size >= std::numeric_limits<Index>::max()) return {};
    KnownCandidates found;
    std::vector<double> values(size);
    found.known.reserve(size);
    for (std::size_t at = 0; at < size; ++at) {
        PyObject* score = PyList_GetItem(scores.ptr(), static_cast<Py_ssize_t>(at));
        if (!PyFloat_CheckExact(score)) return {};
        values[at] = PyFloat_AsDouble(score);
        const std::int64_t row = row_of(table, PyList_GetItem(labels.ptr(), static_cast<Py_ssize_t>(at)));
        if (row == unclear_id || !(std::abs(values[at]) <= widest)) return {};
        if (row == unknown_id)
            found.unknown.push_back(at);
        else
            found.known.emplace_back(static_cast<std::uint32_t>(row), static_cast<std::uint32_t>(at));
    }
    sort_by_row(found.known);
    found.scores.resize(found.known.size());
    for (std::size_t at = 0; at < found.known.size(); ++at) {
        if (at && found.known[at].first == found.known[at - 1].first) return {};
        found.scores[at] = values[found.known[at].second];
    }
    return found;
}

template <typename Table>
nb::object known_candidates(const Table& table, const nb::list& labels, const nb::list& scores, double widest) {
    const std::optional<KnownCandidates> found = find_candidates(table, labels, scores, widest);
    if (!found) return nb::none();
    std::vector<std::int64_t> picked, rows;
    for (const auto& [row, label] : found->known) {
        rows.push_back(row);
        picked.push_back(label);
    }
    return nb::make_tuple(to_numpy(picked), to_numpy(rows), to_numpy(Reals(found->scores)), listed(found->unknown));
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

// The ranking that is shown, by the caller's own numbers of the candidates and scores, and the sums of its lottery.
nb::tuple slate_of(const Checked& checked, const IntegerTable& rankings, const RealArray& weights,
                   const RealArray& position_weights, std::size_t shown, const IntegerArray& labels,
                   const RealArray& scores, nb::handle given_lows, nb::handle given_highs) {
    const std::size_t n = checked.scores.size(), slots = position_weights.size;
    require(checked.users() == 1 && labels.size == n && scores.size == n, "there is one user");
    const auto [own_lows, own_highs] = edges_of(checked, 0);
    const Reals lows = given_lows.is_none() ? Reals(own_lows) : reals(nb::cast<RealArray>(given_lows));
    const Reals highs = given_highs.is_none() ? Reals(own_highs) : reals(nb::cast<RealArray>(given_highs));
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

// The number of the ranking whose slice of the weights' sum a draw in [0, 1) falls in: `choose_one` of Python, to the bit.
std::size_t ranking_drawn(Reals weights, double draw) {
    double whole = 0.0, edge = 0.0;
    for (const double weight : weights) whole += weight;
    for (std::size_t at = 0; at + 1 < weights.size(); ++at)
        if ((edge += weights[at]) > draw * whole) return at;
    return weights.size() - 1;
}

// An id as the request wrote it.
void write_label(nb::handle label, JsonText& text) {
    if (PyLong_CheckExact(label.ptr())) return text.whole(PyLong_AsLongLong(label.ptr()));
    Py_ssize_t size = 0;
    const char* letters = PyUnicode_AsUTF8AndSize(label.ptr(), &size);
    if (letters == nullptr) throw nb::python_error();
    text.quoted({letters, static_cast<std::size_t>(size)});
}

// The items of a profile, packed once for all requests; a request's slate is made from it in one call, as JSON: objects
// for hundreds of numbers, which only their text is wanted of, would take as long as a quarter of a solve.
class Catalogue {
  public:
    Catalogue(const Catalogue&) = delete;
    Catalogue(nb::object ids, const IntegerArray& indptr, const IntegerArray& columns, const RealArray& values,
              const nb::list& categories, bool unit_range)
        : ids_(std::move(ids)), rows_(canonical_rows(sparse_rows(indptr, columns, values, categories.size()).view())),
          unit_range_(unit_range) {
        for (const nb::handle category : categories) {
            JsonText name;
            write_label(category, name);
            names_.push_back(name.text() + ":");
        }
        require(!names_.empty(), "there is a category");
        if (!nb::try_cast(ids_, numbers_)) texts_ = nb::cast<nb::dict>(ids_);
    }

    // None where a request takes more than that: an error, a question of another kind, or fewer candidates than slots.
    // A solve of moments keeps the GIL where it is the only one at a time: other threads could only take the processor from
    // it, and changing between them costs time as well.
    nb::object slate(const nb::list& labels, const nb::list& scores, double widest, const RealArray& target,
                     const Setting& setting, double draw, bool alone) const {
        require(target.size == names_.size(), "every category has a target");
        const std::optional<KnownCandidates> found = numbers_ != nullptr
                                                         ? find_candidates(*numbers_, labels, scores, widest)
                                                         : find_candidates(texts_, labels, scores, widest);
        if (!found || found->known.size() < setting.weights.size() || setting.weights.empty()) return nb::none();
        KeptSolver solver;
        const auto work = [&] { return make(*found, reals(target), setting, draw, solver); };
        const bool brief = found->scores.size() * names_.size() <= brief_entries;
        const std::unique_ptr<Made> made = alone && brief ? work() : without_gil(work);
        solver.raise_if_interrupted();
        if (!made) return nb::none();
        const nb::bytes items = items_text(labels, *found, *made);
        const UserAnswer& answer = *made->answer;
        nb::object told = nb::make_tuple(
            items, nb::bytes(made->shares.data(), made->shares.size()), nb::bytes(made->target.data(), made->target.size()),
            made->sums.relevance, made->sums.deviations[0], made->sums.of_shown[0], answer.lottery.weights[made->shown],
            answer.gap, answer.gap > answer.allowed_gap, solver.seconds, setting.slots, listed(found->unknown),
            answer.effort.status == Status::time_limit_reached ? lottery_text(labels, *found, answer.lottery) : nb::object(nb::none()));
        solver.keep();
        return told;
    }

  private:
    struct Made {
        Checked checked;
        const UserAnswer* answer = nullptr;
        std::size_t shown = 0;  // which of the rankings
        SlateSums sums;
        std::string shares, target;
    };

    // Solved, drawn and summed up; nothing where there is no answer, for which Python knows the words.
    std::unique_ptr<Made> make(const KnownCandidates& found, Reals target, const Setting& setting, double draw,
                               KeptSolver& solver) const {
        const auto ends = static_cast<std::int64_t>(names_.size());
        const std::int64_t starts[2] = {0, static_cast<std::int64_t>(found.scores.size())};
        auto made = std::make_unique<Made>();
        made->checked = check({found.scores, starts, {}, {{{}, {}, target}, {}, {}, 1}, {&ends, 1}, {}, unit_range_}, rows_of(found));
        if (!made->checked.found.empty()) return {};
        const AloneUser alone(made->checked, setting);
        made->answer = &solver.solve(alone.users, 0);
        if (made->answer->failure != Failure::none) return {};
        const auto& lottery = made->answer->lottery;
        made->shown = ranking_drawn(lottery.weights, draw);
        const std::vector<double> edges = edges_of(made->checked, 0).first;
        made->sums = slate_sums(made->checked, {lottery.rankings, lottery.weights, setting.weights, made->shown}, edges, edges);
        made->shares = by_name(made->sums.shares);
        made->target = by_name(edges);
        return made;
    }

    SparseRows rows_of(const KnownCandidates& found) const {
        SparseRows own;
        own.starts.reserve(found.known.size() + 1);
        own.columns.reserve(2 * found.known.size());
        own.values.reserve(2 * found.known.size());
        own.starts.assign(1, 0);
        for (const auto& [number, label] : found.known) {
            const std::size_t row = number;
            require(row + 1 < rows_.starts.size(), "an id has a row of the table");
            const Index first = rows_.starts[row], last = rows_.starts[row + 1];
            own.columns.insert(own.columns.end(), rows_.columns.begin() + first, rows_.columns.begin() + last);
            own.values.insert(own.values.end(), rows_.values.begin() + first, rows_.values.begin() + last);
            own.starts.push_back(static_cast<Index>(own.values.size()));
        }
        return own;
    }

    std::string by_name(Reals numbers) const {
        JsonText text;
        text.reserve(48 * numbers.size());
        for (std::size_t at = 0; at < numbers.size(); ++at) {
            text.raw(at ? "," : "{");
            text.raw(names_[at]);
            text.real(numbers[at]);
        }
        text.raw("}");
        return text.text();
    }

    // The slate, item by item: what `SlateItem` is in Python.
    static nb::bytes items_text(const nb::list& labels, const KnownCandidates& found, const Made& made) {
        JsonText text;
        const Indices ranking = made.answer->lottery.ranking(made.shown);
        text.reserve(96 * ranking.size());
        for (std::size_t slot = 0; slot < ranking.size(); ++slot) {
            text.raw(slot ? ",{\"item\":" : "[{\"item\":");
            write_label(labels[found.known[ranking[slot]].second], text);
            text.raw(",\"score\":");
            text.real(found.scores[ranking[slot]]);
            text.raw(",\"rank\":");
            text.whole(static_cast<std::int64_t>(slot) + 1);
            text.raw(",\"propensity\":");
            text.real_again(made.sums.propensities[slot]);
            text.raw("}");
        }
        text.raw("]");
        return nb::bytes(text.text().data(), text.text().size());
    }

    // Every ranking, which another run may not find again: what `LotteryRanking` is in Python.
    static nb::object lottery_text(const nb::list& labels, const KnownCandidates& found, const Lottery& lottery) {
        JsonText text;
        for (std::size_t at = 0; at < lottery.size(); ++at) {
            text.raw(at ? ",{\"probability\":" : "[{\"probability\":");
            text.real(lottery.weights[at]);
            const char* before = ",\"items\":[";
            for (const Index candidate : lottery.ranking(at)) {
                text.raw(before);
                write_label(labels[found.known[candidate].second], text);
                before = ",";
            }
            text.raw("]}");
        }
        text.raw("]");
        return nb::bytes(text.text().data(), text.text().size());
    }

    nb::object ids_;
    const IdTable* numbers_ = nullptr;
    nb::dict texts_;
    SparseRows rows_;
    std::vector<std::string> names_;  // of the categories, as keys of JSON
    bool unit_range_;
};

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
    nb::class_<Catalogue>(module, "Catalogue")
        .def(nb::init<nb::object, const IntegerArray&, const IntegerArray&, const RealArray&, const nb::list&, bool>())
        .def("slate", &Catalogue::slate);
    module.def("known_candidates", &known_candidates<IdTable>);
    module.def("known_candidates", &known_candidates<nb::dict>);
    module.def("gather_rows", &gather_rows);
    module.def("slate_of", &slate_of, nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(),
               nb::arg().none(), nb::arg().none());
    module.def("first_of_stream", &first_of_stream);
}

}  // namespace excalibr::bindings
