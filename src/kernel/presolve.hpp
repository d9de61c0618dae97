// A question brought to the form that the engines know, and their answers brought back.
//
// The engines know free candidates, open slots and a penalty a row. Pinned items leave with their slots, and what they
// show moves the penalty; shown items leave; a floor or a cap is one more row, so steep that the optimum keeps it.
#pragma once

#include "lottery.hpp"
#include "program.hpp"
#include "question.hpp"

namespace excalibr {

class FreePart {
  public:
    // Take out what is pinned and shown.
    void load(const Question& question);

    // Set the gains and penalties, with hard limits of this slope.
    void set_objective(Balance balance, double steepness);

    // The program of the limits alone: a unit that one is missed by costs 1, and nothing else counts.
    const Program& limits_alone();

    const Question& question() const { return *question_; }
    const Program& program() const { return program_; }
    Reals scores() const { return scores_; }            // of the free candidates
    Reals item_prices() const { return item_prices_; }  // of the free candidates; empty for none
    bool all_pinned() const { return open_slots_.empty(); }
    bool limited() const { return !limited_.empty(); }
    std::pair<double, double> score_range() const;      // the best score and the spread of those who can be shown
    std::size_t room() const;  // how many candidates can be shown together, pinned ones included
    Indices limited_categories() const { return limited_; }
    Reals limit_units() const { return limit_units_; }  // what a unit of each limit's row is, as a share

    // Rankings of the free part as rankings of the whole, with the pinned items in their slots, and back.
    void to_whole(const Lottery& free, Lottery& whole) const;
    void to_free(const Lottery& whole, Lottery& free) const;

    // (r,) what a unit of each category costs, for its deviation and its limit together, as policies report it, and the
    // way back: as much of each price as its deviation can explain, the rest for its limit.
    void to_reported_prices(Reals by_row, double calibration, std::vector<double>& reported) const;
    void to_row_prices(Reals reported, double calibration, std::vector<double>& by_row) const;

    // The penalty of a category of the whole, of all that is shown on the page, where calibration counts so much.
    Penalty penalty_of(std::size_t category, double calibration) const;

    // By how much a lottery of the whole misses its limits at most, and in all.
    std::pair<double, double> missed_limits(Reals shares) const;

    // The least and the most that any ranking has of some values of the candidates, (n,), pinned items included.
    std::pair<double, double> extremes(Reals values);

    // The most relevant ranking, as a lottery of one.
    void most_relevant(Lottery& lottery);

    // The least and the most that any ranking shows of a category.
    std::pair<double, double> extreme_shares(std::size_t category);

  private:
    void choose_candidates();
    void centre_scores();
    void load_limit_units();
    void load_rows();
    void load_groups();
    void sort_slots();

    const Question* question_ = nullptr;
    Program program_, limits_alone_;
    std::vector<Index> candidates_, place_of_, open_slots_, limited_;
    std::vector<double> scores_, item_prices_, pinned_shares_, values_, limit_units_;
    std::vector<unsigned char> slot_is_pinned_, is_free_;
    std::vector<Index> order_, slot_order_;
    RankingOracle oracle_;
    SortScratch scratch_;
};

// The exposure (n,) and the category shares (r,) of a lottery of the whole.
void expose(const Question& question, const Lottery& lottery, std::vector<double>& exposure, std::vector<double>& shares);

}  // namespace excalibr
