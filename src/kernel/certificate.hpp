// The certificate: objective and bound recomputed from a lottery's rankings and the prices, whoever made them.
//
// Nothing that an engine carried along enters here. The objective is that of the rankings as they stand; the bound is the
// dual function at the prices, which no policy can exceed. Gains are centred first, so that large ones do not hide a small
// gap.
#pragma once

#include "lottery.hpp"
#include "program.hpp"

namespace excalibr {

struct Certificate {
    double objective = 0.0, bound = 0.0;  // less the best gain
    double gap = 0.0;                     // at least 0
};

class Certifier {
  public:
    // Prices outside the penalties' slopes are brought inside, which keeps the bound valid. `order` is any permutation of
    // the candidates: the nearer it is to sorted, the quicker.
    Certificate certify(const Program& program, const Lottery& lottery, Reals prices, MutableIndices order);

    Reals shares() const { return shares_; }  // of the lottery that was certified last

  private:
    std::vector<double> exposure_, shares_, inside_, adjusted_;
    std::vector<Index> slots_;
    SortScratch scratch_;
    RankingOracle oracle_;
};

// By how much the bound at these prices falls for single rankings. One shows of a category nothing, or at least the lightest
// slot's weight times the smallest share that a candidate has of it; a lottery may show any part of that, and where prices
// ask for such a part the bound counts it at less than a ranking must pay.
double unattainable_part(const Program& program, Reals prices);

// What rounding may make of the bound that prices prove: as a part of the largest numbers that it is made of.
double bound_rounding(const Program& program, Reals prices);

// The gap that is asked: `tolerance` · spread of the gains, as far as rounding beside gains and prices allows it. Where
// nobody gains more than others the penalties' largest weight, 1 at the most, stands in for the spread.
double allowed_gap(const Program& program, double tolerance, Reals prices);

// The gap that is passed over without a warning: `tolerance` · spread, or what rounding leaves beside the gains and the
// gentlest weight, up to a millionth of the spread. What steeper weights and prices add to that is told.
double unwarned_gap(const Program& program, double tolerance);

}  // namespace excalibr
