// The local search for tests: programs as arrays, answers as arrays.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/tuple.h>

#include "even.hpp"

namespace nb = nanobind;

namespace excalibr {
namespace {

using RealArray = nb::ndarray<const double, nb::numpy, nb::ndim<1>, nb::c_contig>;
using IndexArray = nb::ndarray<const Index, nb::numpy, nb::ndim<1>, nb::c_contig>;
using GroupArray = nb::ndarray<const std::int32_t, nb::numpy, nb::ndim<1>, nb::c_contig>;
using RealTable = nb::ndarray<const double, nb::numpy, nb::ndim<2>, nb::c_contig>;
using IndexTable = nb::ndarray<const Index, nb::numpy, nb::ndim<2>, nb::c_contig>;
using NewReals = nb::ndarray<double, nb::numpy>;
using NewIndices = nb::ndarray<Index, nb::numpy>;

Reals view(const RealArray& array) { return {array.data(), array.size()}; }
Indices view(const IndexArray& array) { return {array.data(), array.size()}; }
Indices view(const IndexTable& table) { return {table.data(), table.size()}; }

template <typename T>
nb::ndarray<T, nb::numpy> copied(std::span<const T> values, std::initializer_list<std::size_t> shape) {
    T* data = new T[values.size()];
    std::copy(values.begin(), values.end(), data);
    return nb::ndarray<T, nb::numpy>(data, shape, nb::capsule(data, [](void* at) noexcept { delete[] static_cast<T*>(at); }));
}

// A program that owns its arrays. `penalties` has a row a category: low, high, below, above, smoothing, base.
struct OwnedProgram {
    RealArray gains;
    IndexArray starts, columns;
    RealArray values;
    std::vector<Penalty> penalties;
    RealArray position_weights;
    double charge, allowance;
    GroupArray group_of;
    IndexArray group_limits;

    OwnedProgram(RealArray gains, IndexArray starts, IndexArray columns, RealArray values, const RealTable& penalties,
                 RealArray position_weights, double charge, double allowance, GroupArray group_of, IndexArray group_limits)
        : gains(gains), starts(starts), columns(columns), values(values), position_weights(position_weights),
          charge(charge), allowance(allowance), group_of(group_of), group_limits(group_limits) {
        for (std::size_t category = 0; category < penalties.shape(0); ++category) {
            const double* row = penalties.data() + 6 * category;
            this->penalties.push_back({row[0], row[1], row[2], row[3], row[4], row[5]});
        }
    }

    SearchProgram program() const {
        return {view(gains),  {view(starts), view(columns), view(values)}, penalties,
                view(position_weights), charge, allowance, {group_of.data(), group_of.size()}, view(group_limits)};
    }
};

nb::tuple find_best_ranking(const OwnedProgram& owned, const IndexTable& starts, SearchScratch& scratch,
                            std::uint64_t max_operations) {
    const FoundRanking found = best_ranking(owned.program(), view(starts), scratch, max_operations);
    return nb::make_tuple(copied<Index>(found.ranking, {found.ranking.size()}), found.value, found.exhaustive,
                          found.effort_limited);
}

nb::tuple local_optima(const OwnedProgram& owned, const IndexTable& starts, std::size_t descents,
                       std::size_t perturbations, SearchScratch& scratch, std::uint64_t max_operations) {
    const SearchProgram program = owned.program();
    const std::size_t k = program.position_weights.size();
    scratch.program.reset(program, scratch.sorting);
    scratch.starts.reset(k);
    scratch.state.reset(scratch.program);
    scratch.state.operations = 0;
    std::vector<Index> by_rank(k), by_slot;
    for (std::size_t start = 0; start < starts.shape(0); ++start) {
        scratch.program.to_ranks(view(starts).subspan(start * k, k), by_rank);
        scratch.starts.add(by_rank, 0.0);
    }
    const bool complete = find_local_optima(scratch, descents, perturbations, max_operations);
    const std::size_t count = scratch.optima.count();
    by_slot.resize(count * k);
    for (std::size_t row = 0; row < count; ++row) {
        scratch.program.to_slots(scratch.optima.row(row), std::span(by_slot).subspan(row * k, k));
        scratch.optima.values[row] += scratch.program.gain_offset();
    }
    return nb::make_tuple(copied<Index>(by_slot, {count, k}), copied<double>(scratch.optima.values, {count}), complete);
}

nb::tuple make_even_lottery(const OwnedProgram& owned, const IndexTable& rankings, const RealArray& weights,
                            const RealArray& relevance,
                            const nb::ndarray<const std::uint8_t, nb::numpy, nb::ndim<1>, nb::c_contig>& hard, SearchScratch& search,
                            EvenScratch& scratch, double slack, std::uint64_t max_operations) {
    const EvenLottery even = even_lottery(owned.program(), view(rankings), view(weights), view(relevance),
                                          {reinterpret_cast<const bool*>(hard.data()), hard.size()}, search, scratch, slack, max_operations);
    const std::size_t count = even.weights.size();
    return nb::make_tuple(copied<Index>(even.rankings, {count, even.rankings.size() / count}),
                          copied<double>(even.weights, {count}), even.improved, even.effort_limited);
}

}  // namespace

void bind_search(nb::module_& module) {
    nb::class_<OwnedProgram>(module, "SearchProgram")
        .def(nb::init<RealArray, IndexArray, IndexArray, RealArray, const RealTable&, RealArray, double, double,
                      GroupArray, IndexArray>());
    nb::class_<SearchScratch>(module, "SearchScratch").def(nb::init<>())
        .def_prop_ro("operations", [](const SearchScratch& scratch) { return scratch.state.operations; });
    module.def("best_ranking", &find_best_ranking);
    module.def("local_optima", &local_optima);
    nb::class_<EvenScratch>(module, "EvenScratch").def(nb::init<>())
        .def_prop_ro("operations", [](const EvenScratch& scratch) { return scratch.master.operations; })
        .def_prop_ro("pivots", [](const EvenScratch& scratch) { return scratch.master.pivots; })
        .def_prop_ro("columns", [](const EvenScratch& scratch) { return scratch.pool.count(); });
    module.def("even_lottery", &make_even_lottery);
}

}  // namespace excalibr
