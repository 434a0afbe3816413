#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <span>
#include <utility>

#include "kernels/common/memory.hpp"
#include "kernels/cpu/scratch.hpp"

// The rows of a sweep that no other one beats in the two keys that are left: a staircase, on which the third key
// descends while the second ascends.
namespace skyrank::kernels::skyline {

/// A set of integers below n as a tree of bits with 64 children a node, a van Emde Boas tree of words. Each of its
/// operations looks at one word on each of the log n / 6 levels, twice at most.
class BitTree {
 public:
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

  explicit BitTree(std::size_t n) {
    do {
      n = (n + 63) / 64;
      levels_.emplace_back(n);
    } while (n > 1);
  }

  void insert(std::size_t i) {
    for (Words& words : levels_) {
      const std::uint64_t before = std::exchange(words[i / 64], words[i / 64] | bit(i));
      if (before != 0) return;
      i /= 64;
    }
  }

  void erase(std::size_t i) {
    for (Words& words : levels_) {
      if ((words[i / 64] &= ~bit(i)) != 0) return;
      i /= 64;
    }
  }

  /// Returns the greatest member up to i, or kNone.
  std::size_t at_most(std::size_t i) const {
    for (std::size_t level = 0; level < levels_.size(); ++level) {
      const std::uint64_t up_to = levels_[level][i / 64] & ~std::uint64_t{0} >> (63 - i % 64);
      if (up_to != 0) return below(level, i / 64 * 64 + last(up_to), last);
      if (i < 64) return kNone;
      i = i / 64 - 1;
    }
    return kNone;
  }

  /// Returns the least member from i on, or kNone.
  std::size_t at_least(std::size_t i) const {
    for (std::size_t level = 0; level < levels_.size() && i / 64 < levels_[level].size(); ++level) {
      const std::uint64_t from = levels_[level][i / 64] & ~std::uint64_t{0} << i % 64;
      if (from != 0) return below(level, i / 64 * 64 + first(from), first);
      i = i / 64 + 1;
    }
    return kNone;
  }

 private:
  using Words = Vector<std::uint64_t>;

  static std::uint64_t bit(std::size_t i) { return std::uint64_t{1} << i % 64; }
  static std::size_t first(std::uint64_t word) { return static_cast<std::size_t>(std::countr_zero(word)); }
  static std::size_t last(std::uint64_t word) { return 63 - static_cast<std::size_t>(std::countl_zero(word)); }

  /// Returns the member below bit i of a level that `end` picks.
  template <class End>
  std::size_t below(std::size_t level, std::size_t i, const End& end) const {
    while (level-- > 0) i = i * 64 + end(levels_[level][i]);
    return i;
  }

  Vector<Words> levels_;  ///< the lowest first
};

/// The second and the third key of a row.
template <class Key>
struct Step {
  Key second;
  Key third;
};

/// Steps whose second keys ascend and whose third keys descend.
template <class Key>
using Steps = Vector<Step<Key>>;

/// Returns true if a step is nowhere greater than `row`.
template <class Key>
bool is_above(const Steps<Key>& steps, const Step<Key>& row) {
  const auto after = std::ranges::upper_bound(steps, row.second, {}, &Step<Key>::second);
  return after != steps.begin() && std::prev(after)->third <= row.third;
}

/// Returns the staircase of the rows of two.
template <class Key>
Steps<Key> merged(const Steps<Key>& a, const Steps<Key>& b) {
  Steps<Key> all(a.size() + b.size());
  const auto pair = [](const Step<Key>& step) { return std::pair(step.second, step.third); };
  std::ranges::merge(a, b, all.begin(), {}, pair, pair);
  std::size_t kept = 0;
  for (const Step<Key>& step : all) {
    if (kept == 0 || step.third < all[kept - 1].third) all[kept++] = step;
  }
  all.resize(kept);
  return all;
}

/// The staircase of the rows of a sweep so far, by the ranks of their second keys.
template <class Key>
class Staircase {
 public:
  explicit Staircase(std::size_t ranks) : ranks_(ranks), thirds_(ranks) {}

  /// Adds a row unless one of the staircase is nowhere greater, in which case the result is false.
  bool add(std::size_t rank, Key third) {
    const std::size_t before = ranks_.at_most(rank);
    if (before != BitTree::kNone && thirds_[before] <= third) return false;
    for (std::size_t beaten = ranks_.at_least(rank); beaten != BitTree::kNone && thirds_[beaten] >= third;
         beaten = ranks_.at_least(beaten + 1)) {
      ranks_.erase(beaten);
    }
    ranks_.insert(rank);
    thirds_[rank] = third;
    return true;
  }

  /// Returns the steps; `seconds` holds the key of each rank.
  Steps<Key> steps(std::span<const Key> seconds) const {
    Steps<Key> steps;
    for (std::size_t rank = ranks_.at_least(0); rank != BitTree::kNone; rank = ranks_.at_least(rank + 1)) {
      steps.push_back({seconds[rank], thirds_[rank]});
    }
    return steps;
  }

 private:
  BitTree ranks_;
  Scratch<Key> thirds_;
};

}  // namespace skyrank::kernels::skyline
