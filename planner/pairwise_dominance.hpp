#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

// Few rows that all meet each other, as vectors, a row in each lane: rows^2 d tests.
namespace skyrank::planner {

/// Rows at most, so that places and counts are bytes without a sign.
inline constexpr std::size_t kMaxPaired = 128;

/// For each row, how many of the `rows` have lesser keys. Keys and places have room for kMaxPaired.
void count_lesser(const std::uint32_t* keys, std::size_t rows, std::uint8_t* places);
void count_lesser(const std::uint64_t* keys, std::size_t rows, std::uint8_t* places);

/// Rows by what count_lesser says, which is all that dominance asks for.
struct PairedRows {
  const std::uint8_t* places = nullptr;  ///< d columns of kMaxPaired
  std::size_t rows = 0;
  std::size_t d = 0;
};

/// For each row: how many dominate it. `counts` has room for kMaxPaired.
void count_pairwise_dominance(const PairedRows& paired, std::uint8_t* counts);

/// How many rows none of `strong` dominates.
std::size_t count_spared(const PairedRows& paired, std::span<const std::uint32_t> strong);

}  // namespace skyrank::planner
