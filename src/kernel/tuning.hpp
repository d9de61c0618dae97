// Every constant of the kernel that is a choice and not mathematics, with its reason and what it was tried against.
//
// "Tried" figures are ratios of the mean time of streams of distinct problems, on one machine.
#pragma once

#include <cstddef>
#include <cstdint>

namespace excalibr::tuning {

// Exactness.
inline constexpr double rounding = 1e-13;  // of gains and prices: no gap below it is asked (450 units in the last place)
inline constexpr double most_rounding = 1e-6;  // of the spread: what rounding leaves beyond it is told, not passed over
inline constexpr double safety = 0.25;     // the part of the tolerance that engines aim at, so that the certificate keeps it

inline constexpr double least_spread = 1e-305;  // of scores: smaller ones have few digits left, and count as equal
inline constexpr double steepest = 1e3;    // slopes beyond this many units act like hard limits, and set no scale
inline constexpr double curve_cost = 64.0;  // what a curved penalty can differ from a straight one by, · its target: −log α
                                            // and the logarithm of the smallest target there is
inline constexpr double curve_part = 0.1;   // of the tolerance that straightening may cost

inline constexpr double largest_number = 1e160;  // of a question, beyond what Python lets pass: its squares overflow

// Effort, in multiplications of about 0.3 ns: counted, so that answers do not depend on the machine. So much is left to an
// engine for up to `usual_rows` rows, 80 categories and as many limits, and more for more, as a factorisation grows.
inline constexpr double proximal_effort = 5e9;
inline constexpr double simplex_effort = 1.8e9;
inline constexpr double interior_effort = 4e8;
inline constexpr double most_operations = 1e9;  // of a question with several solves before another one is begun
inline constexpr double question_effort = 1.8e9;  // of all its solves: beside it the later ones have less, …
inline constexpr double first_part = 0.6;        // … once the rest is below this part of it, …
inline constexpr double least_part = 0.4;         // … and in the end this part of what an engine usually has
inline constexpr double scattered_operations = 3.0;     // what adding to an entry anywhere in a matrix counts as: 1 ns
inline constexpr double operations_a_candidate = 16.0;  // what sorting and projecting one counts as
inline constexpr std::size_t usual_rows = 160;
constexpr double effort_of(double usual, std::size_t rows) {
    const double times = rows > usual_rows ? static_cast<double>(rows) / usual_rows : 1.0;
    return usual * times * times * times;
}

// Time. A clock is read in 25 ns: once in the time of so many multiplications, or, where only the caller may interrupt, of more.
inline constexpr double patience_of_limit = 2e4, patience_of_caller = 1e6;
inline constexpr std::size_t long_row = 16;   // a row of so many entries is worth asking before: its square is worth 100 ns
inline constexpr double solving_part = 0.9;   // of a time limit; the rest is for making rankings of what was found …
inline constexpr double least_finishing = 5e-3;  // … and no less than this, where they take it
inline constexpr double pressing_part = 0.25;  // … of that, after which what every Newton step finds is kept, for a sort each
inline constexpr std::size_t slow_step = 12;    // a proximal step of so many Newton steps may lose good prices, and keeps them as well
inline constexpr double ends_share = 0.75;  // of that, for the ends of the curve that a budget begins with: they alone make a poor mix
inline constexpr double solving_part_before_search = 0.7, searching_part = 0.95;  // where the lottery is redrawn

// Which engine.
inline constexpr std::size_t few_categories = 12;       // up to so many the simplex is quicker than the proximal method
inline constexpr double few_effective = 4.5;             // … or where the target is as narrow as so many equal shares
inline constexpr std::size_t too_many_for_simplex = 20;  // from more categories on a pivot costs too much for either
inline constexpr double steadying = 0.1;                 // · steepest slope: what the spread of scores counts for where gains are
                                                         // equal and groups limited; 0.01 to 0.1 are alike, 0 may stall

// Sorting.
inline constexpr std::size_t sorting_run = 10;       // so few are sorted by counting, then runs are merged; 6 to 16 are alike
inline constexpr std::size_t moves_at_first = 16, moves_a_candidate = 1;  // by insertion, before it is given up for merging; 2 are alike
inline constexpr std::size_t worth_selecting = 5;    // from so many candidates a slot on, the best are selected, then sorted

// The proximal method.
inline constexpr double first_rho = 8.0;             // · heaviest slot / (spread + steepest): 2 to 16 are within 5 %
inline constexpr double largest_rho = 2e5;           // beyond it the rounding of ρ·z would show in the exposure
inline constexpr double first_mixture = 0.8;         // of the mean of all rankings in the first centre; with 0 genres take a tenth more sorts
inline constexpr double first_radius = 1.0;          // · steepest: how far the first price may move in a first step
inline constexpr double first_residual = 1e-2;       // how exactly the first proximal step is solved
struct Pace {
    double growth_after_1, growth_after_2, growth_after_6, growth_after_more;  // of ρ, by how many Newton steps it took
    double after_failure;                                                     // … or `max_newton_steps`
    double residual_of_gap;  // how exactly later steps are solved: this part of the gap, over the steepest weight
};
inline constexpr Pace straight_pace = {3.0, 2.0, 2.0, 2.0, 0.2, 0.3};  // crossover is exact at any ρ; growth by 16: a tenth more
inline constexpr Pace curved_pace = {4.0, 3.0, 2.0, 1.5, 0.7, 0.1};  // no ties to cross over to: residuals as fine as the gap
inline constexpr std::size_t max_proximal_steps = 200;
inline constexpr std::size_t max_stalled = 64;       // proximal steps that win less than a tenth before giving up: 32 lose 1 in 500 where shares fall to nothing
inline constexpr std::size_t patience = 6;           // after so many of them ρ is held smaller: perhaps it is rounding
inline constexpr std::size_t max_newton_steps = 30;  // more mean that ρ grew too fast; 20 to 50 are alike from 10 to 300 categories
inline constexpr double price_rounding = 4e-16;      // what the last digits of a price are, of itself
inline constexpr double finest_residual = 1e-2;      // of the tolerance: what no gap needs to be solved more finely than
inline constexpr std::size_t max_trials = 2;         // of a line search, …
inline constexpr std::size_t most_trials = 8;        // … and where the function still rises more steeply than it fell
inline constexpr double falls_on = 0.9;              // a search goes further where the slope is still this part of its start's
inline constexpr std::size_t max_dampings = 12;      // tenfold each: a direction of descent is found long before
inline constexpr std::size_t max_clampings = 10;     // rounds of the active set; few problems need more than three
inline constexpr double least_radius = 1e-4;         // · steepest: where a proximal step begins again; 1e-6 to 1e-3 are alike
inline constexpr std::size_t rooms_from = 8;           // Newton steps of a proximal step, before it is worth looking for them
inline constexpr double worth_rooms = 0.005;         // of the residual: what untouched categories must add to it; 0.001 to 0.02 are alike
inline constexpr std::size_t few_prices = 32;        // a Newton system of so many is not worth solving over the candidates
inline constexpr double least_damping = 1e-12;       // of ρ: keeps the factorisation regular where categories coincide
inline constexpr double flat_enough = 0.3;           // a line search ends where the slope is this part of its start's
inline constexpr double short_step = 0.7;            // a shorter step teaches more damping
inline constexpr double caution = 0.8;               // of the parabola's end: the curvature grows on the way
inline constexpr double no_price = 1e-16;            // in units of the program: what the rounding of a price of 0 comes to
inline constexpr std::size_t spare_candidates = 32;  // looked at beyond twice the slots, where candidates are many

// Lotteries.
inline constexpr double tight = 1e-16;                 // exposures that differ by no more are alike: 1e-12 with 10,000 candidates
inline constexpr double negligible_weight = 1e-13;     // rankings with a smaller probability are left out
inline constexpr double same_effect = 1e-13;           // a ranking that differs by no more from a mix of others is that mix:
                                                       // large blocks are thinned hundreds of times
inline constexpr double brief_thinning = 2e6;           // multiplications that are made even where it is late: 1 ms
inline constexpr double small_reduction_pivot = 1e-9;  // a smaller entry does not stop a shift of weight

// The simplex master.
inline constexpr std::size_t pool_room = 64, pool_room_a_category = 6;  // rankings kept; 600 need as many sorts
inline constexpr std::size_t refactorise_every = 40;    // pivots until the inverse has drifted too far; 60 once lost digits
inline constexpr double singular_pivot = 1e-14;         // a basis with a smaller pivot is not factorised
inline constexpr std::size_t max_restarts = 3;          // from slacks, after a basis became singular: 1 solve in thousands needs one
inline constexpr double small_pivot = 1e-10;            // a basic variable that moves less does not stop a step
inline constexpr double ratio_tie = 1e-14;              // steps that differ by less end together, by the larger pivot
inline constexpr std::size_t pivots_a_row = 50;         // · (rows + 10), then the master gives up
inline constexpr std::size_t longest_list = 8;          // rankings tried between two pricings of the whole pool
inline constexpr double worth_listing = 0.2;            // of the best reduced cost: who has less is not listed

// The interior-point master.
inline constexpr std::size_t max_interior_steps = 80;
inline constexpr double interior_rooms[] = {1e-3, 1.0, 1e3};  // slack that every ranking begins with at least, in turn: beside
                                                         // slopes of 1e4 units the first can end on the boundary
inline constexpr double centring = 0.15;                 // the part of the complementarity that a step aims at
inline constexpr double step_to_boundary = 0.99;         // of the way to where a slack or multiplier would vanish
inline constexpr double shortest_interior_step = 1e-10;  // a shorter one leads nowhere
inline constexpr double finest_complementarity = 1e-16;  // below it rounding takes over
inline constexpr double interior_of_tolerance = 0.02;    // how much of the tolerance, or of today's gap, the master may leave
inline constexpr double first_exactness = 1.0;           // the gap that is taken for granted at first, in units
inline constexpr double more_exactly = 1e-3;             // of that gap, where its prices find nothing new
inline constexpr double regularisation = 1e-12;          // of the diagonal, where two prices do the same
inline constexpr std::size_t refinements = 3;            // without them gaps end at 1e-7, with them at 1e-10
inline constexpr double same_column = 1e-13;             // a ranking whose effect differs by less is not new
inline constexpr double idle_weight = 1e-11;             // rankings with less leave a full pool

// Column generation.
inline constexpr double first_smoothing = 0.5;    // the weight of the best prices at first; none for two categories
inline constexpr double smoothing_near = 0.85;    // the same where the first prices are near the optimum's already
inline constexpr double smoother = 0.1, rougher = 0.1;  // how the weight adapts; other rates: within 5 %
inline constexpr std::size_t sorts_a_category = 40;     // · (categories + 10), then it gives up
inline constexpr std::size_t few_passes = 2;            // pricings of the whole pool before another sort is worth more
inline constexpr std::size_t max_confirmations = 5;     // ends that a fresh factorisation took back
inline constexpr double reduced_cost_of_tolerance = 0.04;    // what is acted on: this part of the tolerance, …
inline constexpr double largest_reduced_cost = 1e-11;        // … not more than this, as one price error repeats …
inline constexpr double least_reduced_cost = 1e-15;          // … and not less than rounding …
inline constexpr double reduced_cost_rounding = 1e-16;       // … of a sum over categories: · (categories + 8) · largest price

// Local search. Its effort is counted in operations of about 2 ns: candidates, ranks, entries and categories looked at.
inline constexpr std::uint64_t most_rankings_tried = 100'000;  // up to so many rankings, all of them are tried: 5 to 20 ms
inline constexpr std::size_t descents_budget = 2400;  // over k·√n, as a descent's time grows: 20 for 10 slots out of 150
inline constexpr std::size_t fewest_descents = 3, most_descents = 24;
inline constexpr std::size_t perturbations_in_vain = 8;  // one after another, then the search ends; 4 lose 2 %, 12 gain 1 % of the gap
inline constexpr double least_gain = 1e-13;        // a move must gain this part of the value, which rounding alone does not
inline constexpr std::size_t pairs_compared = 12;  // after so many other values of a category, an entry's is called new
inline constexpr std::uint64_t move_effort = 4;    // what a move counts as beside its entries
inline constexpr std::uint64_t curved_effort = 4;  // what a category's cost counts as where it needs a logarithm
inline constexpr std::uint64_t multiplications_an_operation = 8;  // of a dense matrix, one after another in memory
inline constexpr std::uint64_t entries_an_operation = 4;          // of sparse rows, added up one after another
inline constexpr std::uint64_t ranking_operations = 200'000'000;  // half a second; n = 400, k = 50, r = 80 needs 2 million

// Even lotteries.
inline constexpr double even_slack = 1e-3;   // how far the expectation may move: what a reader of a table would not see
inline constexpr double even_margin = 1e-2;  // the part of it that is kept for rounding
inline constexpr std::uint64_t even_operations = 200'000'000;  // half a second; n = 400, k = 50, r = 80 needs 12 million
inline constexpr double multiplications_in_search = 7.0;  // of the lottery before it, as long as an operation of the search
inline constexpr std::size_t even_steps_budget = 3000;         // over k is the number of subgradient steps, within …
inline constexpr std::size_t even_fewest_steps = 100, even_most_steps = 150;  // … these; 60 halve what is gained
inline constexpr double even_step = 8.0;        // of a deviation's cost, over the mean distance; half or twice: up to 25 % less
inline constexpr double even_step_decay = 3.0;  // the last step is a quarter of the first; equal steps gain a tenth less
inline constexpr std::size_t even_rounds = 6;   // of column generation after them; 12 gain 2 to 12 % more in 1.2 × the time
inline constexpr double even_worthwhile = 1e-7;      // of the largest charge: what a further ranking must promise
inline constexpr double even_surcharge = 1e-6;       // of it: so much dearer is the given lottery as a whole than its parts
inline constexpr double even_hard_tolerance = 1e-9;  // of the position weights: what rounding may move a hard limit by
inline constexpr double even_no_spread = 1e-13;      // of the largest score: relevance that differs by less is all alike

// The master of even lotteries.
inline constexpr double even_entering = 1e-10;    // a smaller reduced cost, in units of the largest charge, does not enter
inline constexpr double even_least_pivot = 1e-9;  // a basic variable that moves less does not stop a step
inline constexpr double even_trifle = 1e-12;      // a bound may be passed by this for the sake of a larger pivot
inline constexpr double even_stalled = 1e-14;     // a pivot that moves less counts as none
inline constexpr double even_singular = 1e-13;    // a basis with a smaller pivot is not factorised
inline constexpr std::size_t even_refinements = 2;          // of the levels by their residual; none: bounds passed by 6e-9
inline constexpr std::size_t even_refactorise_every = 100;  // pivots; 50 end no more exactly

// Questions.
inline constexpr std::size_t too_many_for_sweeps = 32;  // from so many categories on neighbouring optima share too little
inline constexpr double limit_slack = 1e-9;             // a limit that is missed by no more is kept: the rounding of sums
inline constexpr double limit_aim = 1e-10;               // what is looked for: a limit's price multiplies what it is missed by
inline constexpr double least_limit_unit = 1e-12;        // a limit on less of a category than this is not measured by it
inline constexpr double limit_steepnesses[] = {1e2, 1e4, 1e6};  // of a hard limit, against everything else, in turn
inline constexpr double feasibility_tolerance = 1e-10;          // how exactly the limits alone are solved
inline constexpr double steps_inside[] = {1e-3, 1e-5, 1e-7, 1e-9, 1e-10};  // how far inside an end to look, in turn:
                                                        // at λ = 1 the last costs the first aim no more than `end_gap`
inline constexpr double second_aim = 2e-8;              // how exactly the second aim is solved there
inline constexpr double end_gap = 1e-10;                // what it may cost the first aim, …
inline constexpr double end_cost = 1e-9;                // … and at λ = 1, unless a budget is asked: less is no cost at all
inline constexpr std::size_t most_chords = 12;          // solves to where that is spent; 1 to 3 are usual
inline constexpr double worth_spending = 1e-6;          // of the spread of the scores: what relevance is looked for
inline constexpr double cost_rounding = 1e-15;          // of the largest numbers in it: what no cost can be told from another by
inline constexpr double budget_slack = 1e-12;           // of the spread of the scores
inline constexpr double points_of_budget = 0.5;         // the part of the tolerance that points of the curve may have
inline constexpr double points_in_a_hurry = 1e-3;       // … and the tolerance that they have once an end was cut short: more of them
inline constexpr std::size_t max_budget_solves = 200;
inline constexpr double single_steepnesses[] = {1e6, 1e13};  // of a hard limit for a single ranking, against all else
inline constexpr double straight_beyond = 1e12;  // of a band's edge, in shares: beyond it a cost has no digits left to curve by
inline constexpr double single_relevance_slack = 1e-7;  // of the spread: what a single ranking may miss a floor by

// Visits.
inline constexpr std::size_t visit_copies = 16;  // dealt to side by side: 8 leave 4 % more deviation at 7 visits, 40 no less
inline constexpr std::size_t most_visits = 64;   // dealt one after another; Python begins a new deal after so many

}  // namespace excalibr::tuning
