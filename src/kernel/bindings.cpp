// `excalibr._kernel`: what Python calls. Each function takes the caller's arrays as views, works with the GIL released and
// returns arrays of numpy's. Python has checked the values; sizes and places are checked here, before any is followed.
//
// To add one: a function below that converts (`reals`, `indices`, `sparse_rows`), works (`without_gil`) and returns
// (`to_numpy`); a line in NB_MODULE; a signature in src/excalibr/_kernel.pyi.
#include "bindings.hpp"

#include "bindings_checking.hpp"
#include "bindings_requests.hpp"
#include "bindings_solver.hpp"
#include "digest.hpp"
#include "greedy.hpp"
#include "packing.hpp"
#include "tuning.hpp"
#include "visits.hpp"

namespace excalibr::bindings {
namespace {

nb::tuple pack_rows(const RealTable& table) {
    require(table.size < std::numeric_limits<Index>::max(), "too many entries for 32-bit places");
    return to_numpy(without_gil([&] { return excalibr::pack_rows(reals(table), table.rows(), table.columns()); }));
}

nb::object exposure_of(const IntegerTable& rankings, const RealArray& weights, const RealArray& position_weights,
                       std::size_t n) {
    require(rankings.rows() == weights.size, "a lottery has a weight for each ranking");
    require(rankings.columns() == position_weights.size, "a ranking has a candidate for each position weight");
    const std::vector<Index> shown = indices(rankings, n);
    return to_numpy(Reals(without_gil(
        [&] { return excalibr::exposure_of(shown, reals(weights), reals(position_weights), n); })));
}

nb::object shares_of(const IntegerArray& indptr, const IntegerArray& columns, const RealArray& values,
                     std::size_t categories, const RealArray& exposure) {
    const GivenRows rows = sparse_rows(indptr, columns, values, categories);
    require(rows.rows() == exposure.size, "a candidate has an exposure");
    return to_numpy(
        Reals(without_gil([&] { return excalibr::shares_of(rows.view(), categories, reals(exposure)); })));
}

nb::tuple sums_by_user(const IntegerArray& indptr, const IntegerArray& columns, const RealArray& values,
                       std::size_t categories, const RealArray& weights, const IntegerArray& starts) {
    const GivenRows rows = sparse_rows(indptr, columns, values, categories);
    require(rows.rows() == weights.size, "every row has a weight");
    const std::vector<Index> begins = row_starts(starts, weights.size);
    return to_numpy(without_gil([&] { return excalibr::sums_by_user(rows.view(), categories, reals(weights), begins); }));
}

nb::tuple shares_of_rows(const IntegerArray& indptr, const IntegerArray& columns, const RealArray& values,
                         std::size_t categories, double negligible) {
    const GivenRows rows = sparse_rows(indptr, columns, values, categories);
    return to_numpy(without_gil([&] { return excalibr::shares_of_rows(rows.view(), categories, negligible); }));
}

nb::object calibrated_order(const IntegerArray& candidates, const RealArray& gains, const IntegerArray& indptr,
                            const IntegerArray& columns, const RealArray& values, const RealArray& target,
                            const RealArray& weights, double trade_off, double smoothing, bool projected) {
    const GivenRows rows = sparse_rows(indptr, columns, values, target.size);
    require(rows.rows() == gains.size, "a candidate has a gain");
    require(weights.size <= candidates.size, "there are at least as many candidates as slots");
    const std::vector<Index> from = indices(candidates, gains.size);
    const CalibratedGreedy question{reals(gains), rows.view(), reals(target), reals(weights),
                                    trade_off,    smoothing,   projected};
    return to_numpy(Indices(without_gil([&] { return excalibr::calibrated_order(from, question); })));
}

nb::object marginal_order(const RealArray& gains, const IntegerArray& indptr, const IntegerArray& columns,
                          const RealArray& values, std::size_t categories, std::size_t slots, double trade_off) {
    const GivenRows rows = sparse_rows(indptr, columns, values, categories);
    require(rows.rows() == gains.size, "a candidate has a gain");
    require(slots <= gains.size, "there are at least as many candidates as slots");
    return to_numpy(Indices(without_gil(
        [&] { return excalibr::marginal_order(reals(gains), rows.view(), categories, slots, trade_off); })));
}

// `places` are all rankings of all users, `counts[u]` of them of `slots[u]` items each; `draws` are two numbers a user.
nb::object visit_rankings(const IntegerArray& places, const RealArray& weights, const IntegerArray& counts,
                          const IntegerArray& slots, std::size_t items, const RealTable& draws, const IntegerArray& visits) {
    const std::size_t users = counts.size;
    require(slots.size == users && visits.size == users, "every user has slots and a visit");
    require(draws.rows() == users && (!users || draws.columns() == 2), "every user has two numbers");
    const std::vector<Index> shown = indices(places, items), sizes = indices(slots), owned = indices(counts),
                             asked = indices(visits, tuning::most_visits);
    std::size_t rankings = 0, entries = 0;
    for (std::size_t user = 0; user < users; ++user) {
        rankings += owned[user];
        entries += std::size_t{owned[user]} * sizes[user];
    }
    require(rankings == weights.size && entries == shown.size(), "every user has the rankings that were counted");
    std::vector<std::int64_t> drawn(users, -1);
    without_gil([&] {
        VisitDealer dealer;
        std::size_t ranking = 0, entry = 0;
        for (std::size_t user = 0; user < users; ++user) {
            const std::size_t count = owned[user], size = count * sizes[user];
            const VisitDraw draw{draws.data[2 * user], draws.data[2 * user + 1], asked[user]};
            if (count)
                drawn[user] = static_cast<std::int64_t>(
                    dealer.draw(Indices(shown).subspan(entry, size), reals(weights).subspan(ranking, count), sizes[user],
                                items, draw));
            ranking += count;
            entry += size;
        }
    });
    return copied<std::int64_t>(drawn.data(), users, nb::int_(users), numpy.int64);
}

// The rankings of one lottery that the first `visits` visits of a person see; `draw` are the person's two numbers.
nb::object visit_sequence(const IntegerTable& rankings, const RealArray& weights, std::size_t items, const RealArray& draw,
                          std::size_t visits) {
    require(weights.size && rankings.rows() == weights.size, "a lottery has a weight for each ranking");
    require(draw.size == 2, "a person has two numbers");
    require(visits >= 1 && visits <= tuning::most_visits, "there are so many visits in a deal, and at least one is asked");
    const std::vector<Index> shown = indices(rankings, items);
    VisitDealer dealer;
    return to_numpy(without_gil([&] {
        const VisitDraw asked{draw.data[0], draw.data[1], visits - 1};
        return dealer.draw_all(shown, reals(weights), rankings.columns(), items, asked);
    }));
}

}  // namespace
}  // namespace excalibr::bindings

NB_MODULE(_kernel, module) {
    using namespace excalibr::bindings;
    numpy.load();
    nb::set_leak_warnings(false);  // what a server holds when the interpreter ends is no leak
    module.attr("SOURCE_DIGEST") = excalibr::source_digest();
    module.def("pack_rows", &pack_rows);
    module.def("exposure_of", &exposure_of);
    module.def("shares_of", &shares_of);
    module.def("sums_by_user", &sums_by_user);
    module.def("shares_of_rows", &shares_of_rows);
    module.def("calibrated_order", &calibrated_order);
    module.def("marginal_order", &marginal_order);
    module.def("visit_rankings", &visit_rankings);
    module.def("visit_sequence", &visit_sequence);
    bind_checking(module);
    bind_requests(module);
    bind_solver(module);
}
