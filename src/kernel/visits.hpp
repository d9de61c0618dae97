// Which ranking of a lottery a visit sees, so that the visits of one person are soon balanced.
//
// Sixteen copies of the person visit side by side. At each visit sixteen rankings, a systematic sample of the lottery, are
// dealt out so that all copies together repeat as little as they can of what each has seen; the person is one of the copies,
// by chance. A ranking is dealt to 16·w copies in expectation, and which copy the person is has no part in the deal: each
// single visit sees it with probability w, exactly.
#pragma once

#include "arrays.hpp"
#include "assignment.hpp"

namespace excalibr {

struct VisitDraw {
    double offset = 0.0;    // in [0, 1), at random: where the systematic sample of the first visit begins
    double copy = 0.0;      // in [0, 1), at random: which copy the person is
    std::size_t visit = 0;  // from 0
};

class VisitDealer {
  public:
    // The number of the ranking that is seen. `rankings` are rows of `slots` items below `items`, `weights` their
    // probabilities; beyond those it depends on nothing but which rankings have which items where.
    std::size_t draw(Indices rankings, Reals weights, std::size_t slots, std::size_t items, const VisitDraw& asked);

    // The same for this visit and all before it, in one deal.
    Indices draw_all(Indices rankings, Reals weights, std::size_t slots, std::size_t items, const VisitDraw& asked);

  private:
    void sample(Reals weights, const VisitDraw& asked);
    void measure_overlaps(Indices rankings, std::size_t slots, std::size_t items);
    void deal(std::size_t visit);

    std::vector<Index> sampled_;     // the rankings of each visit, sixteen a visit, as places in `distinct_`
    std::vector<Index> distinct_;    // the rankings that occur
    std::vector<Index> place_of_;    // of each ranking in `distinct_`
    std::vector<double> edges_;      // cumulative weights
    std::vector<double> attention_;  // of each slot
    std::vector<double> exposure_;   // of each item, in one ranking; zero in between
    Matrix overlaps_;                // of the distinct rankings: Σ of the product of an item's attention in both
    Matrix seen_;                    // of each copy with each distinct ranking: what it has seen of it
    Matrix costs_;
    Assignment assignment_;
    Indices dealt_;                  // which of the sixteen rankings each copy was dealt last
    std::vector<Index> drawn_;       // the rankings that the person saw, visit by visit
};

}  // namespace excalibr
