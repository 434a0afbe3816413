#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/select/order.hpp"

namespace skyrank::kernels::select {

inline constexpr std::size_t kScanWords = 8192;  ///< a good stretch for one call: its words and offsets stay in cache

/// Writes the offsets, ascending, of the words whose places lie in an interval that is not empty; returns how many.
/// `offsets` has room for all of them; at most 2^32 words. Floats are given by their bits.
std::size_t find_places(const std::uint8_t* words, std::size_t count, bool floats, Interval<std::uint8_t> places,
                        std::uint32_t* offsets);
std::size_t find_places(const std::uint16_t* words, std::size_t count, bool floats, Interval<std::uint16_t> places,
                        std::uint32_t* offsets);
std::size_t find_places(const std::uint32_t* words, std::size_t count, bool floats, Interval<std::uint32_t> places,
                        std::uint32_t* offsets);
std::size_t find_places(const std::uint64_t* words, std::size_t count, bool floats, Interval<std::uint64_t> places,
                        std::uint32_t* offsets);

}  // namespace skyrank::kernels::select
