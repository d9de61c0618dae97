// `excalibr._kernel_parts`: parts of the kernel bound one by one, so that tests can hold each against an oracle.
#include "parts.hpp"

#include "assignment.hpp"
#include "digest.hpp"
#include "order.hpp"
#include "penalty.hpp"

namespace excalibr::bindings {
namespace {

// `order` is what the sort goes on from.
nb::object sort_descending(const RealArray& keys, const IntegerArray& order) {
    std::vector<Index> sorted = indices(order, keys.size);
    SortScratch scratch;
    scratch.resize(keys.size);
    excalibr::sort_descending(reals(keys), sorted, scratch);
    return to_numpy(Indices(sorted));
}

nb::object sort_best(const RealArray& keys, std::size_t count, const IntegerArray& order) {
    require(count <= keys.size && order.size == keys.size, "an order is a permutation, of at least as many as are asked");
    std::vector<Index> sorted = indices(order, keys.size);
    SortScratch scratch;
    scratch.resize(keys.size);
    excalibr::sort_best(reals(keys), count, sorted, scratch);
    return to_numpy(Indices(sorted));
}

double key_at_rank(const RealArray& keys, std::size_t rank) {
    require(1 <= rank && rank <= keys.size, "a rank is from 1 to the number of keys");
    std::vector<Index> places(keys.size);
    return excalibr::key_at_rank(reals(keys), rank, places);
}

// The order after the sort, whose first `count` are the ranking.
nb::object best_ranking(const RealArray& keys, std::size_t count, const IntegerArray& group_of, const IntegerArray& limits,
                        const IntegerArray& order) {
    require(count <= keys.size && order.size == keys.size, "an order is a permutation, of at least as many as are asked");
    require(group_of.size == (limits.size ? keys.size : 0), "every candidate has a group or none");
    std::vector<std::int32_t> groups;
    for (const std::int64_t group : group_of.span()) {
        require(-1 <= group && group < static_cast<std::int64_t>(limits.size), "a group is out of range");
        groups.push_back(static_cast<std::int32_t>(group));
    }
    const std::vector<Index> group_limits = indices(limits);
    std::vector<Index> sorted = indices(order, keys.size);
    SortScratch scratch;
    scratch.resize(keys.size);
    RankingOracle oracle;
    oracle.reset(groups, group_limits);
    oracle.best_ranking(reals(keys), count, sorted, scratch);
    return to_numpy(Indices(sorted));
}

nb::object assign(const RealTable& costs) {
    require(costs.rows() == costs.columns(), "costs are square");
    Matrix matrix;
    matrix.resize(costs.rows(), costs.rows());
    for (std::size_t row = 0; row < costs.rows(); ++row)
        for (std::size_t column = 0; column < costs.rows(); ++column)
            matrix(row, column) = costs.data[row * costs.rows() + column];
    Assignment assignment;
    return to_numpy(assignment.solve(matrix));
}

void bind_penalty(nb::module_& module) {
    nb::class_<Penalty>(module, "Penalty")
        .def("__init__",
             [](Penalty* self, double low, double high, double below, double above, double smoothing, double base) {
                 new (self) Penalty{low, high, below, above, smoothing, base};
             }, nb::arg("low"), nb::arg("high"), nb::arg("below"), nb::arg("above"), nb::arg("smoothing") = 0.0,
             nb::arg("base") = 0.0)
        .def("cost", &Penalty::cost)
        .def("conjugate", &Penalty::conjugate)
        .def("share_at", &Penalty::share_at)
        .def("curvature_at", &Penalty::curvature_at)
        .def("lowest_price", &Penalty::lowest_price)
        .def("highest_price", &Penalty::highest_price)
        .def("slope", &Penalty::slope);
}

}  // namespace
}  // namespace excalibr::bindings

NB_MODULE(_kernel_parts, module) {
    using namespace excalibr::bindings;
    numpy.load();
    module.attr("SOURCE_DIGEST") = excalibr::source_digest();
    module.def("sort_descending", &sort_descending);
    module.def("sort_best", &sort_best);
    module.def("key_at_rank", &key_at_rank);
    module.def("best_ranking", &best_ranking);
    module.def("assign", &assign);
    bind_penalty(module);
    bind_programs(module);
    bind_masters(module);
    bind_presolve(module);
    bind_search(module);
}
