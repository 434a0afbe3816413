#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/common/problem.hpp"

// Scans over keys at memory speed: what one pass of a top-k algorithm is made of.
namespace skyrank::kernels::topk {

inline constexpr std::size_t kScanRows = 8192;  ///< a good stretch for one call: its keys and offsets stay in cache

/// Writes the offsets, ascending, of the keys [begin, end) that are at most `limit`, counted from `begin`; returns how
/// many. `offsets` has room for all of them; at most 2^32 keys.
std::size_t find_at_most(const KeyColumn& keys, std::size_t begin, std::size_t end, std::uint64_t limit,
                         std::uint32_t* offsets);

/// The same for floats whose keys are at most `limit`.
std::size_t find_at_most(const FloatColumn& floats, std::size_t begin, std::size_t end, std::uint64_t limit,
                         std::uint32_t* offsets);

/// The same for the keys equal to `key`.
std::size_t find_equal(const KeyColumn& keys, std::size_t begin, std::size_t end, std::uint64_t key,
                       std::uint32_t* offsets);

}  // namespace skyrank::kernels::topk
