#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/common/problem.hpp"
#include "kernels/common/stored.hpp"

namespace skyrank::kernels {

/// A column that a scan reads: float32, float64, int32 or int64, next to each other and aligned to 16 bytes. A row
/// passes only if it has a value in the range of the column's kind, where there is one; NaN lies in none.
struct ScannedColumn {
  /// The rule for NULL in this column: allowed, forbidden, or required.
  enum class Nulls : std::uint8_t { too, never, only };

  const void* values = nullptr;
  Stored stored = Stored::float32;
  const std::uint8_t* validity = nullptr;  ///< null: no row is NULL
  std::int64_t first_validity_bit = 0;     ///< a multiple of 4
  Nulls nulls = Nulls::too;                ///< rule for the rows that pass
  bool filtered = false;                   ///< by the range
  double lowest = 0;                       ///< bounds of floats, inclusive
  double highest = 0;
  std::int64_t lowest_integer = 0;  ///< bounds of integers, inclusive
  std::int64_t highest_integer = 0;
};

/// A filter and a score that one pass over the columns computes: ranges that all have to hold, and the sum of
/// weight * value over the first columns, in their order, every operation rounded; or the first column as it is.
struct ColumnScan {
  static constexpr int kMaxColumns = 8;

  ScannedColumn columns[kMaxColumns];
  int count = 0;
  int terms = 0;  ///< terms of the sum, at least one
  double weights[kMaxColumns] = {};
  bool as_it_is = false;  ///< one term without a weight: integers are not made floats
  bool high = false;      ///< true if the largest scores are best

  /// Returns true if keys have 32 bits: those of one such column without NULLs.
  bool has_short_keys() const { return as_it_is && bytes_of(columns[0].stored) == 4 && columns[0].validity == nullptr; }
};

namespace cuda::expression {
struct ComputedScan;
}  // namespace cuda::expression

/// The k best of n rows whose keys are made of columns in the memory of the device as these are read.
struct ScanProblem {
  const ColumnScan* scan = nullptr;
  const cuda::expression::ComputedScan* computed = nullptr;  ///< instead
  std::size_t n = 0;
  std::size_t k = 0;
  TieRule ties = TieRule::first;
};

}  // namespace skyrank::kernels
