// The first number of numpy's PCG64 for a seed of 128 bits: `PCG64(seed).random_raw()`, without making the generator.
//
// numpy keeps both the seeding (SeedSequence) and the stream stable between its versions; a test holds this against it.
#pragma once

#include <array>
#include <cstdint>

namespace excalibr {

// `words` are the seed, the lowest 32 bits first.
std::uint64_t first_of_stream(const std::array<std::uint32_t, 4>& words);

}  // namespace excalibr
