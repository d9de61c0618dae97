#include "search_program.hpp"

#include <algorithm>
#include <limits>

namespace excalibr {
namespace {

constexpr Index no_pair = std::numeric_limits<Index>::max();

}  // namespace

void RankedProgram::reset(const SearchProgram& program, SortScratch& scratch) {
    rows = program.rows;
    penalties = program.penalties;
    charge = program.charge;
    allowance = program.allowance;
    group_of = program.group_of;
    group_limits = program.group_limits;
    const bool curved =
        std::any_of(penalties.begin(), penalties.end(), [](const Penalty& penalty) { return penalty.curved(); });
    category_effort = curved ? tuning::curved_effort : 1;
    const std::size_t k = program.position_weights.size();
    slot_of.resize(k);
    fill_identity(slot_of);
    scratch.resize(std::max(scratch.keys.size(), k));
    sort_descending(program.position_weights, slot_of, scratch);
    weights.resize(k);
    for (std::size_t rank = 0; rank < k; ++rank) weights[rank] = program.position_weights[slot_of[rank]];
    set_gains(program.gains);
    number_pairs();
}

void RankedProgram::set_gains(Reals new_gains) {
    top_gain = *std::max_element(new_gains.begin(), new_gains.end());
    gains.resize(new_gains.size());
    for (std::size_t candidate = 0; candidate < gains.size(); ++candidate)
        gains[candidate] = new_gains[candidate] - top_gain;
}

double RankedProgram::gain_offset() const {
    double offset = 0.0;
    for (const double weight : weights) offset += top_gain * weight;
    return offset;
}

void RankedProgram::to_ranks(Indices by_slot, MutableIndices by_rank) const {
    for (std::size_t rank = 0; rank < slot_of.size(); ++rank) by_rank[rank] = by_slot[slot_of[rank]];
}

void RankedProgram::to_slots(Indices by_rank, MutableIndices by_slot) const {
    for (std::size_t rank = 0; rank < slot_of.size(); ++rank) by_slot[slot_of[rank]] = by_rank[rank];
}

// Number the distinct pairs of a category and a value in it: films have few, and each is evaluated once a scan. Where
// nearly all values differ there is nothing to save: after a few others a pair is called new.
void RankedProgram::number_pairs() {
    const std::size_t entries = rows.values.size();
    first_pair_.assign(categories(), no_pair);
    next_pair_.resize(entries);
    pair_values_.resize(entries);
    pair_of.resize(entries);
    Index count = 0;
    for (std::size_t entry = 0; entry < entries; ++entry) {
        const Index category = rows.columns[entry];
        Index pair = first_pair_[category];
        for (std::size_t tried = 1; pair != no_pair && pair_values_[pair] != rows.values[entry]; ++tried)
            pair = tried < tuning::pairs_compared ? next_pair_[pair] : no_pair;
        if (pair == no_pair) {
            pair = count++;
            pair_values_[pair] = rows.values[entry];
            next_pair_[pair] = first_pair_[category];
            first_pair_[category] = pair;
        }
        pair_of[entry] = pair;
    }
    pair_count = count;
}

void ranking_shares(const RankedProgram& program, Indices by_rank, MutableReals shares) {
    const SparseView& rows = program.rows;
    std::fill(shares.begin(), shares.end(), 0.0);
    for (std::size_t rank = 0; rank < by_rank.size(); ++rank) {
        const Index candidate = by_rank[rank];
        const double weight = program.weights[rank];
        for (Index entry = rows.starts[candidate]; entry < rows.starts[candidate + 1]; ++entry)
            shares[rows.columns[entry]] += weight * rows.values[entry];
    }
}

double charge_of(const RankedProgram& program, Reals shares) {
    double cost = 0.0;
    for (std::size_t category = 0; category < shares.size(); ++category)
        cost += program.penalties[category].cost(shares[category]);
    return program.charged(cost);
}

}  // namespace excalibr
