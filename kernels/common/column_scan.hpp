#pragma once

#include <cstdint>

#include "kernels/common/stored.hpp"

namespace skyrank::kernels {

/// A column that a scan reads: float32, float64, int32 or int64, next to each other, none of them NULL, and aligned to
/// 16 bytes. A row passes only if its value lies in the range of the column's kind; NaN lies in none.
struct ScannedColumn {
  const void* values = nullptr;
  Stored stored = Stored::float32;
  bool filtered = false;
  double lowest = 0;  ///< of floats, inclusive
  double highest = 0;
  std::int64_t lowest_integer = 0;  ///< of integers, inclusive
  std::int64_t highest_integer = 0;
};

/// A filter and a score that one pass over the columns computes: ranges that all have to hold, and the sum of
/// weight * value over the first columns, in their order, every operation rounded.
struct ColumnScan {
  static constexpr int kMostColumns = 8;

  ScannedColumn columns[kMostColumns];
  int count = 0;
  int terms = 0;  ///< of the sum, at least one; columns of floats
  double weights[kMostColumns] = {};
  bool high = false;        ///< whether the largest sums are best
  bool short_keys = false;  ///< the sum is one column of float32 as it is
};

}  // namespace skyrank::kernels
