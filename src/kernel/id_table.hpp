// Whole numbers that name the rows of a table, and the row of each: a lookup is one place in memory.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

namespace excalibr {

class IdTable {
public:
    // Distinct ids, fewer than 2^31 of them.
    explicit IdTable(std::span<const std::int64_t> ids) {
        if (ids.empty()) return;
        smallest_ = largest_ = ids[0];
        for (const std::int64_t id : ids) smallest_ = std::min(smallest_, id), largest_ = std::max(largest_, id);
        const std::uint64_t width = distance(largest_);
        dense_ = width < spread * ids.size();
        rows_.assign(dense_ ? width + 1 : std::bit_ceil(2 * ids.size()), nowhere);
        if (!dense_) ids_.resize(rows_.size());
        for (std::size_t row = 0; row < ids.size(); ++row) {
            const std::size_t place = dense_ ? distance(ids[row]) : slot_of(ids[row]);
            rows_[place] = static_cast<std::int32_t>(row);
            if (!dense_) ids_[place] = ids[row];
        }
    }

    // The row of an id, −1 where there is none.
    std::int32_t row_of(std::int64_t id) const {
        if (rows_.empty() || id < smallest_ || id > largest_) return nowhere;
        return rows_[dense_ ? distance(id) : slot_of(id)];
    }

private:
    static constexpr std::int32_t nowhere = -1;
    static constexpr std::uint64_t spread = 8;  // ids that fill an eighth of their range are looked up by themselves

    std::uint64_t distance(std::int64_t id) const {
        return static_cast<std::uint64_t>(id) - static_cast<std::uint64_t>(smallest_);
    }

    // Where an id stands, or the free place where it would: linear probing, at most half of the places are taken.
    std::size_t slot_of(std::int64_t id) const {
        std::uint64_t hash = static_cast<std::uint64_t>(id) * 0x9e3779b97f4a7c15ULL;
        std::size_t place = (hash ^ hash >> 32) & (rows_.size() - 1);
        while (rows_[place] != nowhere && ids_[place] != id) place = (place + 1) & (rows_.size() - 1);
        return place;
    }

    std::int64_t smallest_ = 0, largest_ = 0;
    bool dense_ = false;
    std::vector<std::int32_t> rows_;
    std::vector<std::int64_t> ids_;
};

}  // namespace excalibr
