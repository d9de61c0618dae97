#include "two_lists.hpp"

#include <algorithm>

namespace excalibr {
namespace {

bool has_one_of_two(const ScaledProgram& program) {
    if (program.r() != 2 || program.rows.columns.size() != program.n()) return false;
    const SparseView rows = program.rows.view(), columns = program.columns.view();
    bool alike = true;
    for (Index candidate = 0; candidate < program.n(); ++candidate) {
        const Index of_category = columns.starts[rows.columns[candidate]];
        alike = alike && rows.starts[candidate] == candidate && rows.values[candidate] == columns.values[of_category];
    }
    return alike;
}

}  // namespace

bool TwoLists::load(const ScaledProgram& program, SortScratch& scratch) {
    if (!has_one_of_two(program)) return false;
    const SparseView columns = program.columns.view();
    never_shown_.clear();
    for (const std::size_t category : {0, 1}) {
        std::vector<KeyedCandidate>& list = category == 0 ? first_ : second_;
        sorted_.assign(columns.columns.begin() + columns.starts[category], columns.columns.begin() + columns.starts[category + 1]);
        list.resize(std::min(program.k() + 1, sorted_.size()));  // the first who is left out may tie with the last who is not
        sort_best(program.gains, list.size(), sorted_, scratch);
        for (std::size_t place = 0; place < list.size(); ++place) list[place].candidate = sorted_[place];
        never_shown_.insert(never_shown_.end(), sorted_.begin() + static_cast<std::ptrdiff_t>(list.size()), sorted_.end());
    }
    return true;
}

void TwoLists::best_ranking(Reals adjusted, std::size_t count, MutableIndices order, SortScratch& scratch) {
    for (std::vector<KeyedCandidate>* list : {&first_, &second_})
        for (KeyedCandidate& entry : *list) entry.key = as_integer(adjusted[entry.candidate]);
    const KeyedCandidate *one = first_.data(), *other = second_.data();
    const KeyedCandidate *const first_end = one + first_.size(), *const second_end = other + second_.size();
    KeyedCandidate *const merged = scratch.entries.data(), *end = merged;
    while (one != first_end && other != second_end) {  // no branch depends on a key
        const bool takes_other = other->key > one->key;
        *end++ = takes_other ? *other : *one;
        other += takes_other;
        one += !takes_other;
    }
    end = std::copy(other, second_end, std::copy(one, first_end, end));
    for (std::size_t place = 0; merged + place != end; ++place) order[place] = merged[place].candidate;
    std::copy(never_shown_.begin(), never_shown_.end(), order.begin() + (end - merged));
    bool tied = false;
    for (std::size_t place = 1; place < std::min(count + 1, order.size()); ++place) tied |= merged[place].key == merged[place - 1].key;
    if (tied) sort_best(adjusted, count, order, scratch);
}

}  // namespace excalibr
