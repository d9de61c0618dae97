// `excalibr._kernel_parts`: parts of the kernel bound one by one, so that tests can hold each against an oracle.
#include "bindings.hpp"

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

void bind_search(nb::module_& module);  // parts_search.cpp

}  // namespace excalibr::bindings

NB_MODULE(_kernel_parts, module) {
    using namespace excalibr::bindings;
    numpy.load();
    module.attr("SOURCE_DIGEST") = excalibr::source_digest();
    module.def("sort_descending", &sort_descending);
    module.def("sort_best", &sort_best);
    bind_penalty(module);
    bind_search(module);
}
