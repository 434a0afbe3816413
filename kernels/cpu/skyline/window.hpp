#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "kernels/common/problem.hpp"

// The window of block-nested-loops algorithms: tests whether a known row is at least as good as another one in every
// key, several known rows with one vector instruction.
namespace skyrank::kernels::skyline {

/// A growing list of rows of d keys, laid out so that one vector instruction compares one key of many rows with that of
/// another row: blocks of kBlockRows rows, column by column in a block.
template <class Key>
class Window {
 public:
  static constexpr std::size_t kLineBytes = 64;
  static constexpr std::size_t kBlockRows = kLineBytes / sizeof(Key);

  explicit Window(std::size_t d) : d_(d) {}

  std::size_t size() const { return size_; }
  void clear() { size_ = 0; }
  void push_back(const Key* row);

  struct Search {
    bool found = false;
    std::size_t tests = 0;     ///< rows that were compared
    std::size_t position = 0;  ///< the first such row; only if there is one
  };
  /// Looks for a row among the first `count` that is at least as good as `row` in every key.
  Search find_at_least_as_good(const Key* row, std::size_t count) const;

 private:
  // Vector units before AVX-512 compare signed integers only; with the highest bit flipped these order as the keys do.
  using Lane = std::make_signed_t<Key>;
  static Lane lane_of(Key key) { return static_cast<Lane>(key ^ (Key{1} << (std::numeric_limits<Key>::digits - 1))); }

  struct alignas(kLineBytes) Line {
    Lane lanes[kBlockRows];
  };

  std::size_t d_;
  std::size_t size_ = 0;
  Vector<Line> lines_;
};

extern template class Window<std::uint32_t>;
extern template class Window<std::uint64_t>;

}  // namespace skyrank::kernels::skyline
