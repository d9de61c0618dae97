#include "seeding.hpp"

#include <bit>

namespace excalibr {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr std::uint32_t shift = 16;

// One word after another, each with a constant that the ones before have moved on.
struct Hash {
    std::uint32_t constant, factor;

    std::uint32_t operator()(std::uint32_t value) {
        value ^= constant;
        constant *= factor;
        value *= constant;
        return value ^ (value >> shift);
    }
};

std::uint32_t mixed(std::uint32_t left, std::uint32_t right) {
    const std::uint32_t value = 0xca01f9ddU * left - 0x4973f715U * right;
    return value ^ (value >> shift);
}

std::array<std::uint64_t, 4> seed_sequence(const std::array<std::uint32_t, 4>& words) {
    Hash in{0x43b0d7e5U, 0x931e8875U}, out{0x8b51f9ddU, 0x58f38dedU};
    std::array<std::uint32_t, 4> pool;
    for (std::size_t at = 0; at < 4; ++at) pool[at] = in(words[at]);
    for (std::size_t from = 0; from < 4; ++from)
        for (std::size_t to = 0; to < 4; ++to)
            if (from != to) pool[to] = mixed(pool[to], in(pool[from]));
    std::array<std::uint64_t, 4> state;
    for (std::size_t at = 0; at < 4; ++at) {
        const std::uint64_t low = out(pool[2 * at % 4]);
        state[at] = low | std::uint64_t{out(pool[(2 * at + 1) % 4])} << 32;
    }
    return state;
}

}  // namespace

std::uint64_t first_of_stream(const std::array<std::uint32_t, 4>& words) {
    constexpr Wide multiplier = Wide{0x2360ed051fc65da4ULL} << 64 | 0x4385df649fccf645ULL;
    const std::array<std::uint64_t, 4> seed = seed_sequence(words);
    const Wide start = Wide{seed[0]} << 64 | seed[1], increment = (Wide{seed[2]} << 64 | seed[3]) << 1 | 1;
    Wide state = (increment + start) * multiplier + increment;  // as it is seeded
    state = state * multiplier + increment;                     // and its first step
    const auto folded = static_cast<std::uint64_t>(state >> 64) ^ static_cast<std::uint64_t>(state);
    return std::rotr(folded, static_cast<int>(state >> 122));
}

}  // namespace excalibr
