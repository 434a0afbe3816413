#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <span>

#include "kernels/common/problem.hpp"

namespace skyrank::kernels::skyline {

/// Keys of n rows with the keys of a row side by side, padded with zeros and aligned so that whole vectors make a
/// dominance test: to the next power of two from 16 to 32 bytes, or a multiple of 32, or of 64 where that adds little.
template <class Key>
class PaddedRows {
 public:
  PaddedRows(std::size_t n, std::size_t d) : d_(d), stride_(padded(d)), keys_(n * stride_) {}

  std::size_t dims() const { return d_; }
  std::size_t stride() const { return stride_; }  ///< keys from one row to the next
  Key* operator[](std::size_t row) { return keys_.get() + row * stride_; }
  const Key* operator[](std::size_t row) const { return keys_.get() + row * stride_; }

  /// Copies the rows [begin, end) of `columns`. Distinct ranges may be filled at the same time.
  void fill(std::span<const KeyColumn> columns, std::size_t begin, std::size_t end) {
    constexpr std::size_t kTile = 256;  // rows that stay in the first-level cache while column after column is spread
    for (std::size_t first = begin; first < end; first += kTile) {
      const std::size_t last = std::min(end, first + kTile);
      for (std::size_t j = 0; j < d_; ++j) {
        const Key* column = columns[j].template as<Key>();
        for (std::size_t row = first; row < last; ++row) (*this)[row][j] = column[row];
      }
      for (std::size_t row = first; row < last; ++row) pad(row);
    }
  }

  void pad(std::size_t row) { std::fill((*this)[row] + d_, (*this)[row] + stride_, Key{0}); }

 private:
  static std::size_t padded(std::size_t d) {
    const std::size_t bytes = d * sizeof(Key);
    if (bytes <= 32) return std::bit_ceil(std::max<std::size_t>(bytes, 16)) / sizeof(Key);
    const std::size_t unit = bytes % 64 > 32 ? 64 : 32;
    return (bytes + unit - 1) / unit * unit / sizeof(Key);
  }

  std::size_t d_;
  std::size_t stride_;
  Array<Key> keys_;
};

}  // namespace skyrank::kernels::skyline
