// Column generation: prices from the master program, a new ranking from sorting at them, until the gap closes.
//
// One loop with two masters: the simplex for straight penalties, the interior point for any. It ends exactly where the
// proximal method only comes close, and starts from whatever rankings and prices are there. Prices for the next ranking
// lie between the best so far and the master's (Wentges smoothing), which keeps the dual from swinging.
#pragma once

#include "effort.hpp"
#include "interior.hpp"
#include "simplex.hpp"
#include "two_lists.hpp"

namespace excalibr {

// What a run of column generation starts from.
struct ColumnStart {
    double factor = 1.0;              // the program's gains are factor · the pool's centred scores
    bool prices_are_near = false;     // the first prices are near the optimum's, and stay a guide for longer
    bool basis_is_factorised = false; // the master ended its last run with this basis, for other gains
};

class ColumnGeneration {
  public:
    explicit ColumnGeneration(Watcher& watcher) : watcher_(watcher) {}

    void resize(std::size_t n, std::size_t r) {
        adjusted_.resize(n);
        trial_.resize(r);
        scratch_.resize(n);
    }

    // Add rankings to the master's until the gap is within `tolerance` or this part of the usual effort is spent; the master
    // ends with the best lottery found.
    //
    // `prices` is where to start if they are near or the pool is empty, otherwise the start is where the master's basis
    // would stay optimal; it ends as the best prices found. `order` is any permutation of the candidates.
    template <class Master>
    Effort run(const ScaledProgram& program, RankingOracle& oracle, Reals centred_scores, const ColumnStart& start,
               double tolerance, std::size_t max_sorts, double effort_part, Master& master, MutableReals prices,
               MutableIndices order);

  private:
    template <class Master>
    std::size_t next_ranking(const ScaledProgram& program, RankingOracle& oracle, Reals centred_scores, Master& master,
                             MutableReals best, MutableIndices order, double smoothing);
    double bound_at(const ScaledProgram& program, RankingOracle& oracle, Reals prices, MutableIndices order);
    void set_trial(const ScaledProgram& program, Reals best, Reals latest, double smoothing);
    void adapt_smoothing(const ScaledProgram& program, const RankingPool& pool, std::size_t place, Reals best);

    Watcher& watcher_;
    std::vector<double> adjusted_, trial_;
    SortScratch scratch_;
    TwoLists lists_;
    bool merges_lists_ = false;
    double bound_ = 0.0, smoothing_ = 0.0, worth_adding_ = 0.0;
};

}  // namespace excalibr
