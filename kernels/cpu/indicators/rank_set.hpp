#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "kernels/common/problem.hpp"

namespace skyrank::kernels::indicators {

/// A set of ranks in [0, n). Finds the neighbours of a rank by words of 64 bits, of which those above say which words
/// below have any: four words are read for a million ranks.
class RankSet {
 public:
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

  explicit RankSet(std::size_t n) {
    for (std::size_t bits = n; levels_.empty() || bits > 1; bits = (bits + 63) / 64) {
      levels_.emplace_back((bits + 63) / 64, 0);
    }
  }

  void insert(std::size_t rank) {
    for (Vector<std::uint64_t>& words : levels_) {
      const std::uint64_t before = words[rank / 64];
      words[rank / 64] = before | bit(rank);
      if (before != 0) return;
      rank /= 64;
    }
  }

  void erase(std::size_t rank) {
    for (Vector<std::uint64_t>& words : levels_) {
      words[rank / 64] &= ~bit(rank);
      if (words[rank / 64] != 0) return;
      rank /= 64;
    }
  }

  /// Returns the greatest rank below `rank`, or kNone.
  std::size_t before(std::size_t rank) const {
    for (std::size_t level = 0; level < levels_.size(); ++level, rank /= 64) {
      const std::uint64_t lower = levels_[level][rank / 64] & (bit(rank) - 1);
      if (lower == 0) continue;
      std::size_t found = rank / 64 * 64 + last_of(lower);
      while (level-- > 0) found = found * 64 + last_of(levels_[level][found]);
      return found;
    }
    return kNone;
  }

  /// Returns the least rank above `rank`, or kNone.
  std::size_t after(std::size_t rank) const {
    for (std::size_t level = 0; level < levels_.size(); ++level, rank /= 64) {
      const std::uint64_t higher = levels_[level][rank / 64] & ~(bit(rank) | (bit(rank) - 1));
      if (higher == 0) continue;
      std::size_t found = rank / 64 * 64 + first_of(higher);
      while (level-- > 0) found = found * 64 + first_of(levels_[level][found]);
      return found;
    }
    return kNone;
  }

 private:
  static std::uint64_t bit(std::size_t rank) { return std::uint64_t{1} << (rank % 64); }
  static std::size_t first_of(std::uint64_t word) { return static_cast<std::size_t>(std::countr_zero(word)); }
  static std::size_t last_of(std::uint64_t word) { return static_cast<std::size_t>(63 - std::countl_zero(word)); }

  Vector<Vector<std::uint64_t>> levels_;
};

}  // namespace skyrank::kernels::indicators
