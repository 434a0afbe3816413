#pragma once

#include <algorithm>
#include <memory>
#include <span>

#include "kernels/common/problem.hpp"

namespace skyrank::kernels {

/// Keys of n rows with the d keys of a row side by side, as comparing rows wants them.
template <class Key>
class Rows {
 public:
  /// Room for the rows of `columns`; they come with `fill`.
  Rows(std::size_t n, std::span<const KeyColumn> columns) : columns_(columns), keys_(n * columns.size()) {}

  std::size_t dims() const { return columns_.size(); }
  const Key* operator[](std::size_t row) const { return keys_.get() + row * columns_.size(); }

  /// Copies the rows [begin, end). Distinct ranges may be filled at the same time.
  void fill(std::size_t begin, std::size_t end) {
    // Tiles that stay in the first-level cache while column after column is spread over them.
    const std::size_t d = columns_.size();
    const std::size_t tile = std::max<std::size_t>(16, 16384 / (sizeof(Key) * d));
    for (std::size_t first = begin; first < end; first += tile) {
      const std::size_t last = std::min(end, first + tile);
      for (std::size_t c = 0; c < d; ++c) {
        const Key* column = columns_[c].template as<Key>();
        Key* out = keys_.get() + c;
        for (std::size_t row = first; row < last; ++row) out[row * d] = column[row];
      }
    }
  }

 private:
  std::span<const KeyColumn> columns_;
  Array<Key> keys_;
};

}  // namespace skyrank::kernels
