// The local search and the even lottery for tests: whole, and by their parts.
#include "parts.hpp"

#include <string_view>

#include "even.hpp"

namespace excalibr::bindings {
namespace {

// A program with the arrays that it views. `penalties` has a row a category: low, high, below, above, smoothing, base.
class GivenSearch {
  public:
    GivenSearch(const RealArray& gains, const IntegerArray& indptr, const IntegerArray& columns, const RealArray& values,
                const RealTable& penalties, const RealArray& position_weights, double charge, double allowance,
                const IntegerArray& group_of, const IntegerArray& group_limits) {
        const std::size_t n = gains.size;
        require(n > 0 && 0 < position_weights.size && position_weights.size <= n, "there are candidates for every slot");
        require(penalties.columns() == 6 && indptr.size == n + 1, "a penalty has six numbers, a candidate a row");
        require(group_limits.size == 0 || group_of.size == n, "every candidate has a group, or none has limits");
        gains_.assign(gains.data, gains.data + n);
        rows_.starts = row_starts(indptr, values.size);
        rows_.columns = indices(columns, penalties.rows());
        rows_.values.assign(values.data, values.data + values.size);
        require(columns.size == values.size, "a sparse matrix has as many columns as values");
        for (std::size_t row = 0; row < penalties.rows(); ++row) {
            const double* at = penalties.data + 6 * row;
            penalties_.push_back({at[0], at[1], at[2], at[3], at[4], at[5]});
        }
        position_weights_.assign(position_weights.data, position_weights.data + position_weights.size);
        for (std::size_t at = 0; at < group_of.size; ++at) {
            require(group_of.data[at] < static_cast<std::int64_t>(group_limits.size), "a group has a limit");
            group_of_.push_back(static_cast<std::int32_t>(group_of.data[at]));
        }
        group_limits_ = indices(group_limits);
        charge_ = charge;
        allowance_ = allowance;
    }

    SearchProgram program() const {
        return {gains_, rows_.view(), penalties_, position_weights_, charge_, allowance_, group_of_, group_limits_};
    }
    std::size_t n() const { return gains_.size(); }
    std::size_t k() const { return position_weights_.size(); }
    std::size_t r() const { return penalties_.size(); }

    // Rankings (L, k) of the caller's, one after another.
    std::vector<Index> rankings(const IntegerTable& given) const {
        require(given.columns() == k(), "a ranking fills the slots");
        return indices(given, n());
    }

  private:
    std::vector<double> gains_, position_weights_;
    SparseRows rows_;
    std::vector<Penalty> penalties_;
    double charge_ = 1.0, allowance_ = 0.0;
    std::vector<std::int32_t> group_of_;
    std::vector<Index> group_limits_;
};

MoveKind kind_of(std::string_view name) {
    if (name == "replacement") return MoveKind::replacement;
    require(name == "swap" || name == "insertion", "a move is a replacement, a swap or an insertion");
    return name == "swap" ? MoveKind::swap : MoveKind::insertion;
}

// One scratch for any number of programs, as a range of users has it.
class Searcher {
  public:
    nb::tuple best_ranking(const GivenSearch& given, const IntegerTable& starts, std::uint64_t max_operations) {
        const std::vector<Index> rankings = given.rankings(starts);
        const FoundRanking found = excalibr::best_ranking(given.program(), rankings, search_, max_operations);
        return nb::make_tuple(to_numpy(found.ranking), found.value, found.exhaustive, found.effort_limited);
    }

    // Rankings (L, k) in slot order with their values, and whether the effort sufficed.
    nb::tuple local_optima(const GivenSearch& given, const IntegerTable& starts, std::size_t descents,
                           std::size_t perturbations, std::uint64_t max_operations) {
        const std::size_t k = given.k();
        const std::vector<Index> rankings = given.rankings(starts);
        require(descents > 0 && descents <= starts.rows(), "there is a start for each descent");
        take(given);
        search_.starts.reset(k);
        std::vector<Index> ranking(k), by_slot;
        for (std::size_t first = 0; first < rankings.size(); first += k) {
            search_.program.to_ranks(Indices(rankings).subspan(first, k), ranking);
            search_.starts.add(ranking, 0.0);
        }
        const bool complete = find_local_optima(search_, descents, perturbations, max_operations);
        for (std::size_t row = 0; row < search_.optima.count(); ++row) {
            search_.program.to_slots(search_.optima.row(row), ranking);
            by_slot.insert(by_slot.end(), ranking.begin(), ranking.end());
            search_.optima.values[row] += search_.program.gain_offset();
        }
        return nb::make_tuple(to_numpy(Indices(by_slot), search_.optima.count(), k),
                              to_numpy(Reals(search_.optima.values)), complete);
    }

    // The best move of a kind at a rank of a ranking (by rank): its gain and target, or nothing.
    nb::object best_move(const GivenSearch& given, const IntegerArray& ranking, const char* kind, Index rank) {
        load(given, ranking);
        require(rank < given.k(), "there are k ranks");
        Move best;
        best.gain = -std::numeric_limits<double>::infinity();
        const MoveKind wanted = kind_of(kind);
        if (wanted == MoveKind::replacement) consider_replacements(search_.program, search_.state, rank, best);
        if (wanted == MoveKind::swap) consider_swaps(search_.program, search_.state, rank, best);
        if (wanted == MoveKind::insertion) consider_insertions(search_.program, search_.state, rank, best);
        if (best.kind == MoveKind::none) return nb::none();
        return nb::make_tuple(best.gain, best.target);
    }

    // The ranking and its value (less the best gain) after moves (rows of kind as 0, 1, 2, rank and target) one by one.
    nb::tuple after_moves(const GivenSearch& given, const IntegerArray& ranking, const IntegerTable& moves) {
        load(given, ranking);
        for (std::size_t row = 0; row < moves.rows(); ++row) {
            const std::int64_t* move = moves.data + 3 * row;
            const auto rank = static_cast<Index>(move[1]), target = static_cast<Index>(move[2]);
            require(rank < given.k() && target < (move[0] == 0 ? given.n() : given.k()), "a move is possible");
            if (move[0] == 0) search_.state.replace(search_.program, rank, target);
            if (move[0] == 1) search_.state.swap(rank, target);
            if (move[0] == 2) search_.state.insert(rank, target);
            search_.state.evaluate(search_.program);
        }
        return nb::make_tuple(to_numpy(Indices(search_.state.ranking)), search_.state.value,
                              to_numpy(Reals(search_.state.adjusted)), to_numpy(Indices(search_.state.group_counts)));
    }

    // Rankings, weights, whether they are better ones, and whether the effort was limited.
    nb::tuple even_lottery(const GivenSearch& given, const IntegerTable& rankings, const RealArray& weights,
                           const RealArray& relevance, const FlagArray& hard, double slack, std::uint64_t max_operations) {
        const std::vector<Index> drawn = given.rankings(rankings);
        require(weights.size > 0 && weights.size == rankings.rows(), "every ranking has a weight");
        require(relevance.size == given.n() && (hard.size == 0 || hard.size == given.r()), "sizes agree");
        const EvenLottery even =
            excalibr::even_lottery(given.program(), drawn, reals(weights), reals(relevance), hard.span(), search_, even_,
                                   slack, max_operations);
        const nb::object even_rankings = to_numpy(even.rankings, even.weights.size(), given.k());
        return nb::make_tuple(even_rankings, to_numpy(even.weights), even.improved, even.effort_limited);
    }

    // What the last search and the last even lottery's master took.
    nb::tuple operations() const { return nb::make_tuple(search_.state.operations, even_.master.operations); }

  private:
    void take(const GivenSearch& given) {
        search_.program.reset(given.program(), search_.sorting);
        search_.state.reset(search_.program);
        search_.state.restart();
    }

    void load(const GivenSearch& given, const IntegerArray& ranking) {
        const std::vector<Index> by_rank = indices(ranking, given.n());
        require(by_rank.size() == given.k(), "a ranking fills the slots");
        take(given);
        search_.state.load(search_.program, by_rank);
    }

    Watcher watcher_;
    SearchScratch search_{watcher_};
    EvenScratch even_{watcher_};
};

// The master with a watcher that never stops it.
struct WatchedMaster {
    Watcher watcher;
    EvenMaster master{watcher};
};

void reset_master(WatchedMaster& watched, const RealArray& centre, const RealArray& most_fall, const RealArray& most_rise,
                  double budget, double room, double value) {
    require(centre.size == most_fall.size && centre.size == most_rise.size, "sizes agree");
    watched.master.reset({reals(centre), reals(most_fall), reals(most_rise), budget, room}, value);
}

std::size_t add_to_master(WatchedMaster& watched, const RealArray& column, double value) {
    EvenMaster& master = watched.master;
    require(column.size == master.column_size(), "a column has an entry a row");
    return master.add(reals(column), value);
}

nb::object weights_of(const WatchedMaster& watched) {
    std::vector<double> weights(watched.master.columns());
    watched.master.weights(weights);
    return to_numpy(Reals(weights));
}

}  // namespace

void bind_search(nb::module_& module) {
    nb::class_<GivenSearch>(module, "SearchProgram")
        .def(nb::init<const RealArray&, const IntegerArray&, const IntegerArray&, const RealArray&, const RealTable&,
                      const RealArray&, double, double, const IntegerArray&, const IntegerArray&>());
    nb::class_<Searcher>(module, "Searcher")
        .def(nb::init<>())
        .def("best_ranking", &Searcher::best_ranking)
        .def("local_optima", &Searcher::local_optima)
        .def("best_move", &Searcher::best_move)
        .def("after_moves", &Searcher::after_moves)
        .def("even_lottery", &Searcher::even_lottery)
        .def("operations", &Searcher::operations);
    nb::class_<WatchedMaster>(module, "EvenMaster")
        .def(nb::init<>())
        .def("reset", &reset_master)
        .def("add", &add_to_master)
        .def("optimise", [](WatchedMaster& self, std::uint64_t most) { return self.master.optimise(most); })
        .def("prices", [](const WatchedMaster& self) { return to_numpy(self.master.prices()); })
        .def("level", [](const WatchedMaster& self) { return self.master.level(); })
        .def("weights", &weights_of);
}

}  // namespace excalibr::bindings
