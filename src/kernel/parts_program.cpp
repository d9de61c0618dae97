// Programs from arrays, and the parts that work on one: projection, proximal method, lotteries, certificate.
#include "parts.hpp"

#include <algorithm>

#include "certificate.hpp"
#include "proximal.hpp"
#include "two_lists.hpp"

namespace excalibr::bindings {
namespace {

bool rises_in_every_row(const GivenRows& rows) {
    for (std::size_t row = 0; row < rows.rows(); ++row)
        for (Index entry = rows.starts[row] + 1; entry < rows.starts[row + 1]; ++entry)
            if (rows.columns[entry - 1] >= rows.columns[entry]) return false;
    return true;
}

bool has_different(Indices numbers) {
    std::vector<Index> sorted(numbers.begin(), numbers.end());
    std::sort(sorted.begin(), sorted.end());
    return std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end();
}

// `penalties` has a row (low, high, below, above, smoothing, base) a category; no group limits where both are empty.
GivenProgram given_program(const RealArray& gains, const IntegerArray& indptr, const IntegerArray& columns,
                           const RealArray& values, const RealTable& penalties, const RealArray& position_weights,
                           const IntegerArray& group_of, const IntegerArray& group_limits) {
    const GivenRows rows = sparse_rows(indptr, columns, values, penalties.rows());
    require(penalties.columns() == 6, "a penalty has six numbers");
    require(rows.rows() == gains.size && rises_in_every_row(rows), "a candidate has a gain and a row that rises");
    require(1 <= position_weights.size && position_weights.size <= gains.size, "there are 1 to n slots");
    require(group_of.size == (group_limits.size ? gains.size : 0), "every candidate has a group or none");
    GivenProgram given;
    Program& program = given.program;
    program.gains.assign(gains.data, gains.data + gains.size);
    program.rows = {rows.starts, rows.columns, {rows.values.begin(), rows.values.end()}};
    for (std::size_t row = 0; row < penalties.rows(); ++row) {
        const double* of = penalties.data + 6 * row;
        program.penalties.push_back({of[0], of[1], of[2], of[3], of[4], of[5]});
    }
    program.position_weights.assign(position_weights.data, position_weights.data + position_weights.size);
    program.group_limits = indices(group_limits);
    for (const std::int64_t group : group_of.span()) {
        require(-1 <= group && group < static_cast<std::int64_t>(group_limits.size), "a group is out of range");
        program.group_of.push_back(static_cast<std::int32_t>(group));
    }
    SortScratch scratch;
    given.scaled.load_structure(program, scratch);
    given.scaled.load_objective(program, 0.0);
    return given;
}

nb::tuple scaled(const GivenProgram& given) {
    const ScaledProgram& program = given.scaled;
    return nb::make_tuple(program.unit, to_numpy(Reals(program.gains)), to_numpy(Reals(program.slots)),
                          to_numpy(Indices(program.slot_order)), program.steepness);
}

nb::tuple project(const RealArray& point, const RealArray& slots, const IntegerArray& order) {
    const std::vector<Index> sorted = indices(order, point.size);
    require(order.size == point.size && has_different(sorted), "an order is a permutation of the candidates");
    require(1 <= slots.size && slots.size <= point.size, "there are 1 to n slots");
    Blocks blocks;
    blocks.resize(point.size);
    std::vector<double> exposure(point.size);
    excalibr::project(reals(point), reals(slots), sorted, blocks, exposure);
    return nb::make_tuple(to_numpy(Reals(exposure)), to_numpy(Indices(blocks.starts).first(blocks.count + 1)));
}

// The order after merging, whose first k are the ranking at these adjusted scores; none where there are no two lists.
nb::object merge_two_lists(const GivenProgram& given, const RealArray& adjusted) {
    require(adjusted.size == given.program.n(), "every candidate has an adjusted score");
    SortScratch scratch;
    scratch.resize(adjusted.size);
    TwoLists lists;
    if (!lists.load(given.scaled, scratch)) return nb::none();
    std::vector<Index> order(adjusted.size);
    lists.best_ranking(reals(adjusted), given.program.k(), order, scratch);
    return to_numpy(Indices(order));
}

// Everything in the program's own unit: exposure, order, blocks, prices, objective and bound less the best gain, effort.
nb::tuple solve_by_proximal_method(const GivenProgram& given, double tolerance, std::size_t max_sorts) {
    require(given.program.group_limits.empty() && max_sorts > 0, "the proximal method sorts, and knows no groups");
    const double unit = given.scaled.unit;
    Watcher watcher;
    ProximalMethod method(watcher);
    const Effort effort = method.solve(given.scaled, tolerance / unit, max_sorts);
    BestPoint best = method.best();
    for (double& price : best.prices) price *= unit;
    return nb::make_tuple(to_numpy(Reals(best.exposure)), to_numpy(Indices(best.order)),
                          to_numpy(Indices(best.block_starts)), to_numpy(Reals(best.prices)), best.objective * unit,
                          best.bound * unit, static_cast<int>(effort.status), effort.sorts, effort.steps);
}

// A point of a face as a lottery by slot, and the operations that it took.
nb::tuple lottery_of_point(const GivenProgram& given, const RealArray& exposure, const IntegerArray& order,
                           const IntegerArray& block_starts, std::size_t most) {
    BestPoint point;
    point.order = indices(order, given.program.n());
    point.block_starts = row_starts(block_starts, block_starts.size ? block_starts.data[block_starts.size - 1] : 0);
    require(exposure.size == given.program.n() && has_different(point.order), "every candidate has an exposure, once");
    require(given.program.k() <= point.block_starts.back() && point.block_starts.back() <= order.size,
            "blocks cover the slots");
    point.exposure.assign(exposure.data, exposure.data + exposure.size);
    Lottery lottery;
    Watcher watcher;
    LotteryMaker maker(watcher);
    maker.from_point(given.scaled, point, most, lottery);
    return nb::make_tuple(to_numpy(Indices(lottery.rankings), lottery.size(), lottery.k), to_numpy(Reals(lottery.weights)),
                          maker.take_operations());
}

// Rankings by rank as a lottery by slot.
nb::tuple tidy(const GivenProgram& given, const IntegerTable& rankings, const RealArray& weights, std::size_t most) {
    const Lottery by_rank = lottery_of(rankings, weights, given.program.k(), given.program.n());
    Lottery lottery;
    Watcher watcher;
    LotteryMaker(watcher).tidy(given.scaled, by_rank, most, lottery);
    return to_numpy(lottery);
}

// Objective and bound, both less the best gain, and the gap.
nb::tuple certify(const GivenProgram& given, const IntegerTable& rankings, const RealArray& weights,
                  const RealArray& prices, const IntegerArray& order) {
    const Program& program = given.program;
    const Lottery lottery = lottery_of(rankings, weights, program.k(), program.n());
    std::vector<Index> sorted = indices(order, program.n());
    require(prices.size == program.r(), "every category has a price");
    require(sorted.size() == program.n() && has_different(sorted), "an order is a permutation of the candidates");
    const Certificate certificate = Certifier().certify(program, lottery, reals(prices), sorted);
    return nb::make_tuple(certificate.objective, certificate.bound, certificate.gap);
}

double allowed_gap(const GivenProgram& given, double tolerance, const RealArray& prices) {
    return excalibr::allowed_gap(given.program, tolerance, reals(prices));
}

}  // namespace

Lottery lottery_of(const IntegerTable& rankings, const RealArray& weights, std::size_t k, std::size_t n) {
    require(rankings.rows() == weights.size && rankings.columns() == k, "a lottery has a weight for each ranking");
    Lottery lottery;
    lottery.k = k;
    lottery.rankings = indices(rankings, n);
    lottery.weights.assign(weights.data, weights.data + weights.size);
    for (std::size_t at = 0; at < lottery.size(); ++at)
        require(has_different(lottery.ranking(at)), "a candidate stands twice in a ranking");
    return lottery;
}

nb::tuple to_numpy(const Lottery& lottery) {
    return nb::make_tuple(to_numpy(Indices(lottery.rankings), lottery.size(), lottery.k),
                          to_numpy(Reals(lottery.weights)));
}

void bind_programs(nb::module_& module) {
    nb::class_<GivenProgram>(module, "Program")
        .def("__init__",
             [](GivenProgram* self, const RealArray& gains, const IntegerArray& indptr, const IntegerArray& columns,
                const RealArray& values, const RealTable& penalties, const RealArray& position_weights,
                const IntegerArray& group_of, const IntegerArray& group_limits) {
                 new (self) GivenProgram(given_program(gains, indptr, columns, values, penalties, position_weights,
                                                       group_of, group_limits));
             })
        .def("scaled", &scaled);
    module.def("merge_two_lists", &merge_two_lists);
    module.def("project", &project);
    module.def("solve_by_proximal_method", &solve_by_proximal_method);
    module.def("lottery_of_point", &lottery_of_point);
    module.def("tidy", &tidy);
    module.def("certify", &certify);
    module.def("allowed_gap", &allowed_gap);
}

}  // namespace excalibr::bindings
