#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/common/column_scan.hpp"
#include "kernels/common/expression.hpp"
#include "kernels/common/keys.hpp"

// How kernels run a ColumnScan: four neighbouring rows a thread, whose values are one load of 16 bytes from each column
// of 32 bits and two from each of 64. All loads are issued before the first value is looked at. Which column is of
// which type is decided by branches that all threads take alike.
namespace skyrank::kernels::cuda {

/// Neighbouring rows of a thread.
inline constexpr unsigned kRowsOfGroup = 4;

/// A column as kernels read it, with its range in its own type.
struct ReadColumn {
  const void* values;
  const std::uint8_t* validity;  ///< null: no row is NULL
  unsigned first_half_byte;      ///< of `validity`, 0 or 1
  Stored stored;
  bool filtered;
  // With the bits of rows that have a value here:
  unsigned turned;       ///< where set, a row passes that has none
  unsigned ignored;      ///< where set, a row passes in any case
  unsigned scored;       ///< where set, a row without a value has no score
  std::uint64_t lowest;  ///< bits of a value of the column
  std::uint64_t highest;
  double weight;
};

struct ReadScan {
  ReadColumn columns[ColumnScan::kMostColumns];
  int count;
  int terms;
  bool as_it_is;
  bool integer;  ///< the score is
  bool high;
};

namespace detail {

/// The bounds of a column in its own type: no value of it lies between them and those of 64 bits.
template <class T, class Wide>
void set_range(ReadColumn& column, Wide lowest, Wide highest) {
  using Limits = std::numeric_limits<T>;
  T least = Limits::is_iec559 ? T(1) : Limits::max();  // an empty range
  T most = Limits::is_iec559 ? T(0) : Limits::lowest();
  if constexpr (Limits::is_iec559) {
    if (lowest <= highest) {
      least = static_cast<T>(lowest);
      most = static_cast<T>(highest);
      if (static_cast<Wide>(least) < lowest) least = std::nextafter(least, Limits::infinity());
      if (static_cast<Wide>(most) > highest) most = std::nextafter(most, -Limits::infinity());
    }
  } else if (lowest <= highest && lowest <= Wide{Limits::max()} && highest >= Wide{Limits::lowest()}) {
    least = static_cast<T>(std::max(lowest, Wide{Limits::lowest()}));
    most = static_cast<T>(std::min(highest, Wide{Limits::max()}));
  }
  memcpy(&column.lowest, &least, sizeof(least));
  memcpy(&column.highest, &most, sizeof(most));
}

}  // namespace detail

inline ReadScan read_form(const ColumnScan& scan) {
  ReadScan read{};
  read.count = scan.count;
  read.terms = scan.terms;
  read.as_it_is = scan.as_it_is;
  read.integer = scan.as_it_is && !is_float(scan.columns[0].stored);
  read.high = scan.high;
  for (int c = 0; c < scan.count; ++c) {
    ScannedColumn from = scan.columns[c];
    ReadColumn& to = read.columns[c];
    to.values = from.values;
    to.validity = from.validity == nullptr ? nullptr : from.validity + from.first_validity_bit / 8;
    to.first_half_byte = static_cast<unsigned>(from.first_validity_bit / 4 % 2);
    to.stored = from.stored;
    to.filtered = from.filtered;
    const bool needs_value = from.filtered || from.nulls == ScannedColumn::Nulls::never;
    const bool needs_null = from.nulls == ScannedColumn::Nulls::only;
    if (needs_value && needs_null) {
      // No row passes: none has a value in an empty range.
      to.filtered = true;
      from.lowest = 1;
      from.highest = 0;
      from.lowest_integer = 1;
      from.highest_integer = 0;
    }
    to.turned = needs_null && !needs_value ? ~0u : 0;
    to.ignored = from.validity == nullptr || (!needs_value && !needs_null) ? ~0u : 0;
    to.scored = c < scan.terms ? ~0u : 0;
    to.weight = scan.weights[c];
    switch (from.stored) {
      case Stored::float32: detail::set_range<float>(to, from.lowest, from.highest); break;
      case Stored::float64: detail::set_range<double>(to, from.lowest, from.highest); break;
      case Stored::int32: detail::set_range<std::int32_t>(to, from.lowest_integer, from.highest_integer); break;
      default: detail::set_range<std::int64_t>(to, from.lowest_integer, from.highest_integer); break;
    }
  }
  return read;
}

/// What a kernel that runs a scan knows of: values of 32 bits alone, these with NULLs, or all that there is.
enum class ScanForm : std::uint8_t { plain, nulls, general };

inline ScanForm form_of(const ColumnScan& scan) {
  bool nulls = false;
  for (int c = 0; c < scan.count; ++c) {
    if (bytes_of(scan.columns[c].stored) != 4) return ScanForm::general;
    nulls = nulls || scan.columns[c].validity != nullptr;
  }
  return nulls ? ScanForm::nulls : ScanForm::plain;
}

/// What a thread has read of up to kColumns columns.
template <unsigned kColumns, ScanForm kForm>
struct ReadGroup {
  static constexpr bool kNulls = kForm != ScanForm::plain;
  static constexpr unsigned kWords = kForm == ScanForm::general ? 2 : 1;

  uint4 words[kColumns][kWords];
  unsigned valid[kNulls ? kColumns : 1];  ///< a bit for each row

  /// Rows [4 * group, 4 * group + 4), which are there.
  __device__ void load(const ReadScan& scan, std::size_t group) {
#pragma unroll
    for (unsigned c = 0; c < kColumns; ++c) {
      if (c >= static_cast<unsigned>(scan.count)) break;
      const ReadColumn& column = scan.columns[c];
      const auto* const from = static_cast<const uint4*>(column.values);
      if constexpr (kForm == ScanForm::general) {
        const bool is_long = column.stored == Stored::float64 || column.stored == Stored::int64;
        words[c][0] = __ldg(from + (is_long ? 2 * group : group));
        if (is_long) words[c][1] = __ldg(from + 2 * group + 1);
      } else {
        words[c][0] = __ldg(from + group);
      }
      if constexpr (kNulls) {
        valid[c] = ~0u;
        if (column.validity != nullptr) {
          const std::size_t half_byte = group + column.first_half_byte;
          valid[c] = __ldg(column.validity + half_byte / 2) >> (half_byte % 2 * 4);
        }
      }
    }
  }

  /// One row, as the first of a group.
  __device__ void load_row(const ReadScan& scan, std::size_t row) {
    static_assert(kForm == ScanForm::general);
#pragma unroll
    for (unsigned c = 0; c < kColumns; ++c) {
      if (c >= static_cast<unsigned>(scan.count)) break;
      const ReadColumn& column = scan.columns[c];
      if (column.stored == Stored::float64 || column.stored == Stored::int64) {
        const auto value = static_cast<const std::uint64_t*>(column.values)[row];
        words[c][0].x = static_cast<unsigned>(value);
        words[c][0].y = static_cast<unsigned>(value >> 32);
      } else {
        words[c][0].x = static_cast<const unsigned*>(column.values)[row];
      }
      valid[c] = ~0u;
      if (column.validity != nullptr) {
        const std::size_t bit = row + column.first_half_byte * 4;
        valid[c] = static_cast<unsigned>(column.validity[bit / 8]) >> bit % 8;
      }
    }
  }
};

/// Rows that a scan has looked at. Scores are bits: of the first column's value with short keys, else of a double, or
/// of an int64 where the score is an integer. Those of rows without one mean nothing.
template <class Key, unsigned kRows>
struct ScoredRows {
  bool passes[kRows];
  unsigned null;  ///< a bit for each row without a score
  Key scores[kRows];

  template <unsigned kColumns, ScanForm kForm>
  __device__ void look_at(const ReadScan& scan, const ReadGroup<kColumns, kForm>& group) {
    constexpr bool kNulls = kForm != ScanForm::plain;
    unsigned may_pass = ~0u;
    null = 0;
#pragma unroll
    for (unsigned i = 0; i < kRows; ++i) {
      passes[i] = true;
      scores[i] = 0;
    }
#pragma unroll
    for (unsigned c = 0; c < kColumns; ++c) {
      if (c >= static_cast<unsigned>(scan.count)) break;
      const ReadColumn& column = scan.columns[c];
      if constexpr (kNulls) {
        may_pass &= (group.valid[c] ^ column.turned) | column.ignored;
        null |= ~group.valid[c] & column.scored;
      }
      if (column.stored == Stored::float32) {
        look_at_values<float>(scan, column, c, group.words[c]);
        continue;
      }
      if constexpr (kForm == ScanForm::general) {
        if (column.stored == Stored::float64) {
          look_at_values<double>(scan, column, c, group.words[c]);
          continue;
        }
        if (column.stored == Stored::int64) {
          look_at_values<std::int64_t>(scan, column, c, group.words[c]);
          continue;
        }
      }
      look_at_values<std::int32_t>(scan, column, c, group.words[c]);
    }
    if constexpr (kNulls) {
#pragma unroll
      for (unsigned i = 0; i < kRows; ++i) passes[i] = passes[i] & ((may_pass >> i & 1) != 0);
    }
  }

  __device__ bool is_null(unsigned i) const { return (null >> i & 1) != 0; }

 private:
  template <class T, unsigned kWords>
  __device__ void look_at_values(const ReadScan& scan, const ReadColumn& column, unsigned c,
                                 const uint4 (&words)[kWords]) {
    T values[kRows];
    static_assert(kRows == 1 || sizeof(T) * kRows <= sizeof(words));
    memcpy(values, words, sizeof(values));
    if (column.filtered) {
      T lowest;
      T highest;
      memcpy(&lowest, &column.lowest, sizeof(T));
      memcpy(&highest, &column.highest, sizeof(T));
#pragma unroll
      for (unsigned i = 0; i < kRows; ++i) passes[i] = passes[i] & (values[i] >= lowest) & (values[i] <= highest);
    }
    if (c >= static_cast<unsigned>(scan.terms)) return;
    if constexpr (sizeof(Key) == 4) {
      if constexpr (sizeof(T) == 4) memcpy(scores, values, sizeof(values));
    } else if (scan.as_it_is) {
#pragma unroll
      for (unsigned i = 0; i < kRows; ++i) {
        using Wide = std::conditional_t<std::is_floating_point_v<T>, double, std::int64_t>;
        scores[i] = with_bits_of<std::uint64_t>(static_cast<Wide>(values[i]));
      }
    } else {
#pragma unroll
      for (unsigned i = 0; i < kRows; ++i) {
        const double product = kernels::detail::product_of(column.weight, static_cast<double>(values[i]));
        scores[i] = kernels::detail::bits_of(
            c == 0 ? product : kernels::detail::sum_of(kernels::detail::as_double(scores[i]), product));
      }
    }
  }
};

/// The key of a score.
template <class Key>
__device__ Key key_of_score(const ReadScan& scan, Key score, bool null) {
  if (null) return kNullKey<Key>;
  if (!scan.integer) return float_key(score, scan.high);
  constexpr auto kSign = static_cast<Key>(Key{1} << (8 * sizeof(Key) - 1));
  const auto ordered = static_cast<Key>(score ^ kSign);
  return scan.high ? static_cast<Key>(~ordered) : ordered;
}

/// The scores whose keys are at most some key, by their bound, so that keys need not be made to know.
template <class Key>
class ScoreRange {
 public:
  using Float = std::conditional_t<sizeof(Key) == 4, float, double>;
  using Integer = std::conditional_t<sizeof(Key) == 4, std::int32_t, std::int64_t>;

  __device__ ScoreRange(bool integer, bool high, Key most) : integer_(integer), high_(high) {
    constexpr auto kSign = static_cast<Key>(Key{1} << (8 * sizeof(Key) - 1));
    const Key directed = high ? static_cast<Key>(~most) : most;
    bound_ = static_cast<Key>(integer || (directed & kSign) != 0 ? directed ^ kSign : ~directed);
    all_ = most == kNullKey<Key> || (!integer && most == kNanKey<Key>);
  }

  /// Whether there may be such a score among those of rows that pass. Not by branches for each row, which would take
  /// the threads of a warp apart. NaN is on neither side of a bound.
  template <unsigned kRows>
  __device__ bool may_hold_any(const bool (&passes)[kRows], const Key (&scores)[kRows]) const {
    bool any = false;
    if (all_) {
#pragma unroll
      for (unsigned i = 0; i < kRows; ++i) any = any | passes[i];
    } else if (integer_) {
      any = any_beyond<Integer>(passes, scores);
    } else {
      any = any_beyond<Float>(passes, scores);
    }
    return any;
  }

 private:
  template <class T, unsigned kRows>
  __device__ bool any_beyond(const bool (&passes)[kRows], const Key (&scores)[kRows]) const {
    const auto bound = with_bits_of<T>(bound_);
    bool any = false;
    if (high_) {
#pragma unroll
      for (unsigned i = 0; i < kRows; ++i) any = any | (passes[i] & (with_bits_of<T>(scores[i]) >= bound));
    } else {
#pragma unroll
      for (unsigned i = 0; i < kRows; ++i) any = any | (passes[i] & (with_bits_of<T>(scores[i]) <= bound));
    }
    return any;
  }

  bool integer_;
  bool high_;
  bool all_;   ///< NULL and NaN are among them
  Key bound_;  ///< bits of a score
};

}  // namespace skyrank::kernels::cuda
