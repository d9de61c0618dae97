// The master programs over columns that the caller chooses, and each engine by itself.
#include "parts.hpp"

#include <algorithm>

#include "engines.hpp"

namespace excalibr::bindings {
namespace {

// A master with a program; values and prices are in the program's own unit, relevance is less the best gain.
template <class Master>
class MasterOfProgram {
  public:
    MasterOfProgram(const GivenProgram& given, std::size_t room, double tolerance) : given_(given) {
        const Program& program = given.program;
        const double best = *std::max_element(program.gains.begin(), program.gains.end());
        for (const double gain : program.gains) centred_.push_back(gain - best);
        worth_ = tolerance / given.scaled.unit;
        master_.reset(program.k(), program.r(), room);
        if constexpr (std::is_same_v<Master, InteriorMaster>) master_.set_tolerance(worth_);
        resume();
    }

    // A ranking by rank, heaviest slot first; returns its place.
    std::size_t add(const IntegerArray& ranking) {
        require(ranking.size == given_.program.k(), "a ranking fills the slots");
        const std::vector<Index> by_rank = indices(ranking, given_.program.n());
        const bool first = master_.empty();
        const std::size_t place = master_.add(given_.scaled, centred_, by_rank);
        require(place != Master::none, "the pool is full");
        if (first) require(resume(), "the first basis is singular");
        return place;
    }

    // Whether it ended, the values by prices and by weights, and the prices.
    nb::tuple optimise(std::int64_t newest, std::size_t passes) {
        require(!master_.empty() && newest < static_cast<std::int64_t>(master_.pool.count), "there are rankings, and it is one");
        const std::size_t tried = newest < 0 ? Master::none : static_cast<std::size_t>(newest);
        const bool ended = master_.optimise(given_.scaled.penalties, tried, passes);
        const double unit = given_.scaled.unit, by_prices = master_.value_by_prices() * unit;
        master_.refresh(given_.scaled.penalties);
        std::vector<double> prices(master_.prices().begin(), master_.prices().end());
        for (double& price : prices) price *= unit;
        return nb::make_tuple(ended, by_prices, master_.value_by_weights(given_.scaled.penalties) * unit, to_numpy(Reals(prices)));
    }

    nb::tuple lottery() const {
        Lottery by_rank;
        master_.write(by_rank);
        return bindings::to_numpy(by_rank);
    }

    std::size_t size() const { return master_.pool.count; }
    std::size_t steps() const { return master_.pivots(); }

  private:
    bool resume() { return master_.resume(given_.scaled.penalties, 1.0 / given_.scaled.unit, worth_, false); }

    const GivenProgram& given_;
    Watcher watcher_;
    Master master_{watcher_};
    std::vector<double> centred_;
    double worth_ = 0.0;
};

template <class Master>
void bind_master(nb::module_& module, const char* name) {
    using Bound = MasterOfProgram<Master>;
    nb::class_<Bound>(module, name)
        .def(nb::init<const GivenProgram&, std::size_t, double>(), nb::keep_alive<1, 2>())
        .def("add", &Bound::add)
        .def("optimise", &Bound::optimise)
        .def("lottery", &Bound::lottery)
        .def("steps", &Bound::steps)
        .def("__len__", &Bound::size);
}

nb::tuple answer_tuple(const Answer& answer) {
    return nb::make_tuple(bindings::to_numpy(answer.lottery), bindings::to_numpy(Reals(answer.prices)),
                          answer.certificate.objective, answer.certificate.bound, answer.gap(),
                          static_cast<int>(answer.engine), static_cast<int>(answer.effort.status), answer.effort.sorts,
                          answer.effort.steps);
}

Limits limits_of(double tolerance, std::int64_t max_sorts) {
    require(max_sorts != 0, "a solve sorts at least once");
    Limits limits{tolerance};
    if (max_sorts > 0) limits.max_sorts = static_cast<std::size_t>(max_sorts);
    return limits;
}

// By the engine with this number alone, or as the kernel chooses for 0. A negative number of sorts is no limit.
nb::tuple solve_program(const GivenProgram& given, int engine, double tolerance, std::int64_t max_sorts) {
    const Limits limits = limits_of(tolerance, max_sorts);
    const auto chosen = static_cast<Engine>(engine);
    const auto& penalties = given.program.penalties;
    const bool curved = std::any_of(penalties.begin(), penalties.end(), [](const Penalty& each) { return each.curved(); });
    require(0 <= engine && engine <= 3, "there are three engines");
    require(chosen != Engine::simplex || !curved, "the simplex is for straight penalties");
    require(chosen != Engine::proximal || given.program.group_limits.empty(), "the proximal method knows no groups");
    Answer answer;
    Watcher watcher;
    without_gil([&] {
        if (chosen == Engine::none)
            Engines(watcher).solve(given.program, limits, answer);
        else
            Engines(watcher).solve_by(chosen, given.program, limits, answer);
    });
    return answer_tuple(answer);
}

nb::tuple thin(const GivenProgram& given, const IntegerTable& rankings, const RealArray& weights) {
    Lottery thinned;
    Watcher watcher;
    Engines(watcher).thin(given.program, lottery_of(rankings, weights, given.program.k(), given.program.n()), thinned);
    return bindings::to_numpy(thinned);
}

// One program after another, each from what the ones before found.
class Sweep {
  public:
    explicit Sweep(const GivenProgram& given) { engines_.begin_sweep(given.program); }

    // Gains are `factor` · `scores`; no first prices where they are empty.
    nb::tuple solve(const GivenProgram& given, const RealArray& scores, double factor, const RealArray& first_prices,
                    double tolerance, std::int64_t max_sorts) {
        require(scores.size == given.program.n(), "every candidate has a score");
        require(first_prices.size == 0 || first_prices.size == given.program.r(), "every category has a price");
        Answer answer;
        engines_.solve_next(given.program, reals(scores), factor, reals(first_prices), limits_of(tolerance, max_sorts),
                            answer);
        return answer_tuple(answer);
    }

  private:
    Watcher watcher_;
    Engines engines_{watcher_};
};

}  // namespace

void bind_masters(nb::module_& module) {
    bind_master<SimplexMaster>(module, "SimplexMaster");
    bind_master<InteriorMaster>(module, "InteriorMaster");
    module.def("solve_program", &solve_program);
    module.def("thin", &thin);
    nb::class_<Sweep>(module, "Sweep").def(nb::init<const GivenProgram&>()).def("solve", &Sweep::solve);
}

}  // namespace excalibr::bindings
