// A lottery with the same expectation whose rankings are each as close to the target as can be found.
//
// Column generation. A subgradient method on the prices meets many rankings that are good draws and balance one another;
// a linear program mixes them to the wanted expectation at the least mean charge, and its prices lead to a few more.
#pragma once

#include "even_master.hpp"
#include "search.hpp"

namespace excalibr {

// Room that even lotteries are made in, kept from user to user.
struct EvenScratch {
    explicit EvenScratch(Watcher& watcher) : master(watcher) {}

    EvenMaster master;  // its column 0 is the given lottery as a whole, column t + 1 the pool's ranking t
    RankingTable pool;  // rankings by rank, with what each is charged

    std::vector<Penalty> penalties;     // what a draw is charged: nothing for hard rows
    std::vector<double> relevance;      // of each candidate, counted from the best one
    std::vector<double> given_weights;  // of the given rankings, with sum 1
    std::vector<double> wanted;         // the expected shares
    double wanted_relevance = 0.0, given_charge = 0.0;
    double total = 1.0, spread = 1.0, unit = 1.0;  // the units of shares, relevance and charges in the master

    std::vector<double> shares, column;  // of the ranking that was measured last
    std::vector<double> centre, most_fall, most_rise, steps, prices, smoothed, gains, chances, weights;
    std::vector<Index> by_rank, order, rankings;
};

struct EvenLottery {
    Indices rankings;     // (L × k) in slot order; both lie in the scratch until that is used again
    Reals weights;        // (L) falling, with sum 1
    bool improved;        // false: nothing better was found, and these are the given rankings
    bool effort_limited;  // the search for better rankings ended early, after `max_operations`
};

// Keep a lottery's expectation, and lower the mean charge of its draws:
//
//   minimise Σ_t θ_t charged(Q_t)   with   Σ_j |Σ_t θ_t p_j(Q_t) − p*_j| ≤ slack · Σ_i e_i,
//                                          |Σ_t θ_t s·x(Q_t) − s·x*| ≤ slack · spread
//
// where p* and x* are what the lottery does in expectation, charged is what the program charges for a ranking's own
// shares, e are the position weights and spread is the difference between the best and the worst relevance of any ranking.
//
// `rankings` (L × k, slot order) and `weights` are the lottery, `relevance` (n) the scores whose expectation is kept; the
// program's gains do not count. `hard` (r), or empty, marks the categories whose band limits the expectation: the
// expected share does not leave it, slack or not, and a draw is not charged for it. The mean charge of a draw is never
// above the given lottery's; there are at most r + 3 rankings, and those of the given lottery more if the effort ran out.
EvenLottery even_lottery(const SearchProgram& program, Indices rankings, Reals weights, Reals relevance,
                         std::span<const bool> hard, SearchScratch& search, EvenScratch& scratch,
                         double slack = tuning::even_slack, std::uint64_t max_operations = tuning::even_operations);

}  // namespace excalibr
