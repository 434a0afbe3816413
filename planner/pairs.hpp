#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace skyrank::planner {

/// Rows whose keys all meet each other, as vectors.
template <class Key>
struct KeyMatrix {
  const Key* keys = nullptr;  ///< d columns of `room` keys; those beyond the rows are the greatest of the type
  std::size_t rows = 0;
  std::size_t room = 0;  ///< a multiple of kPairLanes
  std::size_t d = 0;
};

inline constexpr std::size_t kPairLanes = 64;  ///< keys of the longest vectors there are

/// For each row: how many dominate it, and in each dimension, `places` being d columns of `rows`, how many have lesser
/// keys. rows^2 d tests, a vector at a time.
void count_pairs(const KeyMatrix<std::uint32_t>& matrix, std::uint32_t* counts, std::uint32_t* places);
void count_pairs(const KeyMatrix<std::uint64_t>& matrix, std::uint32_t* counts, std::uint32_t* places);

/// How many rows none of `strong` dominates.
std::size_t count_spared(const KeyMatrix<std::uint32_t>& matrix, std::span<const std::uint32_t> strong);
std::size_t count_spared(const KeyMatrix<std::uint64_t>& matrix, std::span<const std::uint32_t> strong);

}  // namespace skyrank::planner
