// A question brought to the form that the engines know, and their answers brought back.
//
// The engines know free candidates, open slots and a penalty a row. Pinned items leave with their slots, and what they
// show moves the penalty; shown items leave; a floor or a cap is one more row, so steep that the optimum keeps it. A
// category that no free candidate has leaves, too: whatever is shown, it costs the same.
#pragma once

#include "lottery.hpp"
#include "program.hpp"
#include "question.hpp"

namespace excalibr {

class FreePart {
  public:
    // Take out what is pinned and shown, and categories that no free candidate has.
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
    bool is_limited() const { return !limited_.empty(); }
    std::pair<double, double> score_range() const;      // the best score and the spread of those who can be shown
    std::size_t room() const;  // how many candidates can be shown together, pinned ones included

    // The categories that the question is about, in rising order: those that its candidates have or its target lists, and
    // of floors on others the first, which no policy keeps. All others are shown by nobody and cost nothing. What is said
    // of the whole by category is by these.
    Indices categories() const { return categories_; }
    std::size_t rows() const { return places_.size(); }  // how many of them free candidates have: the program's first rows
    std::size_t place_of_row(std::size_t row) const { return places_[row]; }
    Indices limited() const { return limited_; }        // those with a floor or a cap, by their places among `categories`
    Reals limit_units() const { return limit_units_; }  // what a unit of each limit's row is, as a share

    // Whether all numbers are numbers, and none is larger: what is made of them must not overflow.
    bool is_bounded(double most) const;

    // Rankings of the free part as rankings of the whole, with the pinned items in their slots, and back.
    void to_whole(const Lottery& free, Lottery& whole) const;
    void to_free(const Lottery& whole, Lottery& free) const;

    // What a unit of each category costs, for its deviation and its limit together, as policies report it, and the way
    // back: as much of each price as its deviation can explain, the rest for its limit. Of categories that nothing can be
    // shown of there are none: their slopes where the share is 0 are as good, whatever the answer.
    void to_reported_prices(Reals by_row, double calibration, ByCategory& reported) const;
    void to_row_prices(Reals reported, double calibration, std::vector<double>& by_row) const;
    Indices priced() const { return priced_; }  // the categories that have a price, of which `reported` are in `to_row_prices`

    // The exposure (n,) and the category shares of a lottery of the whole.
    void expose(const Lottery& lottery, std::vector<double>& exposure, std::vector<double>& shares) const;

    // The penalty of a category, of all that is shown on the page, where calibration counts so much.
    Penalty penalty_of(std::size_t place, double calibration) const;
    double heaviest_weight() const;  // of those that free candidates have

    // What the categories cost that no free candidate has.
    double settled_cost() const;

    // Σ of how far each share is from its target, or from the nearer edge of its band.
    double deviation(Reals shares) const;

    // By how much a lottery of the whole misses its limits at most, and in all.
    std::pair<double, double> missed_limits(Reals shares) const;

    // The least and the most that any ranking has of some values of the candidates, (n,), pinned items included.
    std::pair<double, double> extremes(Reals values);

    // The most relevant ranking, as a lottery of one.
    void most_relevant(Lottery& lottery);

    // The least and the most that any ranking shows of a category.
    std::pair<double, double> extreme_shares(std::size_t place);

  private:
    void choose_candidates();
    void choose_categories();
    void load_penalties();
    void add_pinned_shares();
    void choose_limits();
    void centre_scores();
    void load_limit_units();
    void load_rows();
    void load_groups();
    void sort_slots();

    static constexpr Index absent = static_cast<Index>(-1);

    const Question* question_ = nullptr;
    Program program_, limits_alone_;
    std::vector<Index> candidates_, place_of_, open_slots_;
    std::vector<double> scores_, item_prices_, values_, limit_units_;
    std::vector<unsigned char> slot_is_pinned_, is_free_;
    std::vector<Index> categories_;         // what the question is about
    std::vector<Penalty> penalties_;        // of these, of the whole page, where calibration counts 1
    std::vector<double> pinned_shares_;     // of these
    std::vector<Index> row_of_, places_;    // the row of the program that each is, or `absent`; and back
    std::vector<Index> priced_;             // those that free candidates have or pinned ones show
    std::vector<Index> limited_;            // the places of those with limits
    std::vector<Index> place_of_category_;  // of all categories of any question: kept, as only those of the last one are set
    std::vector<Index> number_of_group_;    // of all groups of any question, `absent` but while they are numbered
    std::vector<Index> order_, slot_order_;
    RankingOracle oracle_;
    SortScratch scratch_;
};

}  // namespace excalibr
