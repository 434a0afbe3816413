#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/select/order.hpp"
#include "kernels/cpu/topk/ranks.hpp"

// Vectorises the steps of a selection: words within bounds, minima of groups, and sorts of a few numbers.
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

inline constexpr std::size_t kGroups = 64;

/// Lowers minima[i], for each i below kGroups, to the least distance of the words at this place in some blocks of
/// kGroups words, each of which begins `stride` blocks behind the one before.
void lower_minima(const std::uint8_t* words, std::size_t blocks, std::size_t stride, bool floats,
                  Distance<std::uint8_t> distance, std::uint8_t* minima);
void lower_minima(const std::uint16_t* words, std::size_t blocks, std::size_t stride, bool floats,
                  Distance<std::uint16_t> distance, std::uint16_t* minima);
void lower_minima(const std::uint32_t* words, std::size_t blocks, std::size_t stride, bool floats,
                  Distance<std::uint32_t> distance, std::uint32_t* minima);
void lower_minima(const std::uint64_t* words, std::size_t blocks, std::size_t stride, bool floats,
                  Distance<std::uint64_t> distance, std::uint64_t* minima);

/// Returns the word at a place, from 0, among kGroups words in order.
std::uint8_t nth_of_group(const std::uint8_t* words, std::size_t place);
std::uint16_t nth_of_group(const std::uint16_t* words, std::size_t place);
std::uint32_t nth_of_group(const std::uint32_t* words, std::size_t place);
std::uint64_t nth_of_group(const std::uint64_t* words, std::size_t place);

/// Writes the ranks of elements from a position on: keys above positions of 32 bits.
void fill_ranks(const Order<std::uint8_t, false>& order, const std::uint8_t* words, std::size_t count,
                std::uint64_t position, std::uint64_t* ranks);
void fill_ranks(const Order<std::uint16_t, false>& order, const std::uint16_t* words, std::size_t count,
                std::uint64_t position, std::uint64_t* ranks);
void fill_ranks(const Order<std::uint16_t, true>& order, const std::uint16_t* words, std::size_t count,
                std::uint64_t position, std::uint64_t* ranks);
void fill_ranks(const Order<std::uint32_t, false>& order, const std::uint32_t* words, std::size_t count,
                std::uint64_t position, std::uint64_t* ranks);
void fill_ranks(const Order<std::uint32_t, true>& order, const std::uint32_t* words, std::size_t count,
                std::uint64_t position, std::uint64_t* ranks);

inline constexpr std::size_t kMaxSortedByCounting = 64;

/// Sorts at most kMaxSortedByCounting distinct numbers: each goes to the place that as many smaller ones leave it.
void sort_by_counting(std::uint64_t* numbers, std::size_t count);
void sort_by_counting(topk::uint128* numbers, std::size_t count);

/// Returns true if the processor has vectors, or tests let it have them.
bool has_vectors();

}  // namespace skyrank::kernels::select
