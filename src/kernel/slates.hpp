// What a slate shows: the sums around one draw of a user's lottery, in one pass over its rankings.
#pragma once

#include "checking.hpp"

namespace excalibr {

struct SlateSums {
    double relevance = 0.0;                     // of the lottery
    std::vector<double> shares;                 // of each category under the lottery
    std::vector<double> deviations, of_shown;   // by attribute, from the nearer edge: of the lottery, of the ranking shown
    std::vector<double> propensities;           // slot by slot, how probable the item was that the ranking shown has there
};

struct DrawnLottery {
    Indices rankings;  // ranking by ranking, slot by slot
    Reals weights, position_weights;
    std::size_t shown;  // which of the rankings was drawn
};

// For the only user of what was checked; `lows` and `highs` are the edges of what the page should show.
SlateSums slate_sums(const Checked& checked, const DrawnLottery& lottery, Reals lows, Reals highs);

}  // namespace excalibr
