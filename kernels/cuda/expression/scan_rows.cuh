#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/common/column_scan.hpp"
#include "kernels/common/expression.hpp"
#include "kernels/common/keys.hpp"
#include "kernels/common/value_range.hpp"
#include "kernels/cuda/device/kernel/load_once.cuh"
#include "kernels/cuda/expression/quotient_bound.cuh"

// How kernels run a ColumnScan: four neighbouring rows a thread, whose values are one load of 16 bytes from each column
// of 32 bits and two from each of 64. All loads are issued before the first value is looked at. Which column is of
// which type is decided by branches that all threads take alike.
namespace skyrank::kernels::cuda::expression {

/// Neighbouring rows of a thread.
inline constexpr unsigned kRowsOfGroup = 4;

/// A column as kernels read it, with its range in its own type.
struct ReadColumn {
  const void* values;
  const std::uint8_t* validity;  ///< null: no row is NULL
  unsigned first_half_byte;      ///< first half-byte of `validity`, 0 or 1
  Stored stored;
  bool filtered;
  // With the bits of rows that have a value here:
  unsigned inverted;     ///< bits of rows that pass if they have no value
  unsigned ignored;      ///< bits of rows that pass in any case
  std::uint64_t lowest;  ///< bits of a value of the column
  std::uint64_t highest;
  double weight;
};

struct ReadScan {
  ReadColumn columns[ColumnScan::kMaxColumns];
  int count;
  int terms;
  bool as_it_is;
  bool integer;  ///< the score is
  bool high;
};

/// Gives a column its range in its own type.
template <class T, class Wide>
void set_range(ReadColumn& column, Wide lowest, Wide highest) {
  const auto range = narrowed<T>(ValueRange<Wide>{lowest, highest});
  memcpy(&column.lowest, &range.lowest, sizeof(T));
  memcpy(&column.highest, &range.highest, sizeof(T));
}

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
    to.inverted = needs_null && !needs_value ? ~0u : 0;
    to.ignored = from.validity == nullptr || (!needs_value && !needs_null) ? ~0u : 0;
    to.weight = scan.weights[c];
    switch (from.stored) {
      case Stored::float32: set_range<float>(to, from.lowest, from.highest); break;
      case Stored::float64: set_range<double>(to, from.lowest, from.highest); break;
      case Stored::int32: set_range<std::int32_t>(to, from.lowest_integer, from.highest_integer); break;
      default: set_range<std::int64_t>(to, from.lowest_integer, from.highest_integer); break;
    }
  }
  return read;
}

/// A kernel's knowledge of columns: all have 32 bits, or nothing.
enum class ScanForm : std::uint8_t { words, general };

/// Returns the form of the columns of a score.
inline ScanForm form_of_score(const ColumnScan& scan) {
  const bool words = std::all_of(scan.columns, scan.columns + scan.terms,
                                 [](const ScannedColumn& column) { return bytes_of(column.stored) == 4; });
  return words ? ScanForm::words : ScanForm::general;
}

/// The bit of a thread's i-th row: groups have eight bits each, as has the byte with a group's validity.
__host__ __device__ constexpr unsigned bit_of_row(unsigned i) { return i + i / kRowsOfGroup * kRowsOfGroup; }

/// Groups between those that a thread reads at a time.
inline constexpr unsigned kGroupStride = 256;

/// Returns the bits of some groups.
__host__ __device__ constexpr unsigned bits_of_groups(unsigned groups) { return 0x0f0f0f0f >> 8 * (4 - groups); }

/// The values that a thread has read of a column: up to four groups of rows, as they lie there. Validity is looked at
/// when it is asked for: a load's result that is used at once keeps the loads after it waiting.
template <unsigned kGroups, ScanForm kForm>
struct ReadValues {
  static_assert(kGroups <= 4);
  static constexpr unsigned kWords = kForm == ScanForm::general ? 2 : 1;

  uint4 words[kGroups][kWords];
  unsigned validity[kGroups];  ///< a byte for each group

  /// Groups `first`, `first` + kGroupStride and so on, which are there; of them those in which a bit of `wanted` is
  /// set.
  __device__ void load(const ReadColumn& column, std::size_t first, unsigned wanted = ~0u) {
    load_words(column, first, wanted);
    load_validity(column, first, wanted);
  }

  /// Without values.
  __device__ void load_validity(const ReadColumn& column, std::size_t first, unsigned wanted = ~0u) {
#pragma unroll
    for (unsigned g = 0; g < kGroups; ++g) validity[g] = 0xff;
    if (column.validity == nullptr) return;
    const std::uint8_t* const bytes = column.validity + (first + column.first_half_byte) / 2;
#pragma unroll
    for (unsigned g = 0; g < kGroups; ++g) {
      if (holds_any(wanted, g)) validity[g] = __ldg(bytes + g * (kGroupStride / 2));
    }
  }

  /// Without validity. `kOnce`: past the L1 cache.
  template <bool kOnce = false>
  __device__ void load_words(const ReadColumn& column, std::size_t first, unsigned wanted = ~0u) {
#pragma unroll
    for (unsigned g = 0; g < kGroups; ++g) {
      if (holds_any(wanted, g)) load_group<kOnce>(column, first + g * kGroupStride, words[g]);
    }
  }

  /// A bit for each row that has a value; bits of no row mean nothing.
  __device__ unsigned valid(const ReadColumn& column, std::size_t first) const {
    unsigned bytes = validity[0];
#pragma unroll
    for (unsigned g = 1; g < kGroups; ++g) bytes |= validity[g] << 8 * g;
    return bytes >> (first + column.first_half_byte) % 2 * kRowsOfGroup;
  }

  /// The value of one row, as the first of a group.
  __device__ void load_value(const ReadColumn& column, std::size_t row) {
    static_assert(kGroups == 1);
    if (kForm == ScanForm::general && is_long(column)) {
      const auto value = static_cast<const std::uint64_t*>(column.values)[row];
      words[0][0].x = static_cast<unsigned>(value);
      words[0][0].y = static_cast<unsigned>(value >> 32);
    } else {
      words[0][0].x = static_cast<const unsigned*>(column.values)[row];
    }
  }
  /// The same with its validity.
  __device__ void load_row(const ReadColumn& column, std::size_t row) {
    static_assert(kForm == ScanForm::general);
    load_value(column, row);
    validity[0] = column.validity == nullptr ? 0xff : column.validity[bit_of(column, row) / 8];
  }
  __device__ unsigned valid_row(const ReadColumn& column, std::size_t row) const {
    return validity[0] >> bit_of(column, row) % 8;
  }

  template <class T, unsigned kRows>
  __device__ void take(T (&values)[kRows]) const {
    if constexpr (kRows == 1) {
      memcpy(values, words[0], sizeof(T));
    } else {
      static_assert(kRows == kGroups * kRowsOfGroup);
#pragma unroll
      for (unsigned g = 0; g < kGroups; ++g) {
        static_assert(sizeof(T) * kRowsOfGroup <= sizeof(words[g]));
        memcpy(values + g * kRowsOfGroup, words[g], sizeof(T) * kRowsOfGroup);
      }
    }
  }

 private:
  __device__ static bool holds_any(unsigned rows, unsigned group) { return (rows >> bit_of_row(group * 4) & 0xf) != 0; }
  __device__ static bool is_long(const ReadColumn& column) {
    return column.stored == Stored::float64 || column.stored == Stored::int64;
  }
  __device__ static std::size_t bit_of(const ReadColumn& column, std::size_t row) {
    return row + column.first_half_byte * kRowsOfGroup;
  }

  template <bool kOnce>
  __device__ static void load_group(const ReadColumn& column, std::size_t group, uint4 (&to)[kWords]) {
    const auto* const from = static_cast<const uint4*>(column.values);
    const auto load = [](const uint4* group_from) { return kOnce ? load_once(group_from) : __ldg(group_from); };
    if constexpr (kForm == ScanForm::general) {
      to[0] = load(from + (is_long(column) ? 2 * group : group));
      if (is_long(column)) to[1] = load(from + 2 * group + 1);
    } else {
      to[0] = load(from + group);
    }
  }
};

/// Calls `f` with the values that a thread has read of a column, in the type of the column.
template <unsigned kRows, unsigned kGroups, ScanForm kForm, class F>
__device__ void with_values(const ReadColumn& column, const ReadValues<kGroups, kForm>& read, F f) {
  const auto as = [&]<class T>(T) {
    T values[kRows];
    read.take(values);
    f(values);
  };
  if (column.stored == Stored::float32) return as(float{});
  if constexpr (kForm == ScanForm::general) {
    if (column.stored == Stored::float64) return as(double{});
    if (column.stored == Stored::int64) return as(std::int64_t{});
  }
  as(std::int32_t{});
}

/// A bit for each row that a column lets pass, as far as its NULLs say.
__device__ inline unsigned passing_nulls(const ReadColumn& column, unsigned valid) {
  return (valid ^ column.inverted) | column.ignored;
}

/// The same, as far as its range says.
template <class T, unsigned kRows>
__device__ unsigned passing_range(const ReadColumn& column, const T (&values)[kRows]) {
  if (!column.filtered) return ~0u;
  T lowest;
  T highest;
  memcpy(&lowest, &column.lowest, sizeof(T));
  memcpy(&highest, &column.highest, sizeof(T));
  unsigned passing = 0;
#pragma unroll
  for (unsigned i = 0; i < kRows; ++i) {
    const bool inside = (values[i] >= lowest) & (values[i] <= highest);
    passing |= unsigned{inside} << bit_of_row(i);
  }
  return passing;
}

/// Scores of rows: bits of the first column's value with short keys, else of a double, or of an int64 where the score
/// is an integer. Those of rows without one mean nothing.
template <class Key, unsigned kRows>
struct Scores {
  Key bits[kRows] = {};

  /// Term `c`. Terms come in their order. `kSum`: it is known that there are more than one.
  template <bool kSum, class T>
  __device__ void add(const ReadScan& scan, unsigned c, const T (&values)[kRows]) {
    if constexpr (sizeof(Key) == 4) {
      if constexpr (sizeof(T) == 4) memcpy(bits, values, sizeof(values));
    } else if (!kSum && scan.as_it_is) {
#pragma unroll
      for (unsigned i = 0; i < kRows; ++i) {
        using Wide = std::conditional_t<std::is_floating_point_v<T>, double, std::int64_t>;
        bits[i] = with_bits_of<std::uint64_t>(static_cast<Wide>(values[i]));
      }
    } else {
      const double weight = scan.columns[c].weight;
#pragma unroll
      for (unsigned i = 0; i < kRows; ++i) {
        const double product = kernels::detail::product_of(weight, static_cast<double>(values[i]));
        bits[i] = kernels::detail::bits_of(
            c == 0 ? product : kernels::detail::sum_of(kernels::detail::as_double(bits[i]), product));
      }
    }
  }
};

/// Scores of rows, and bits of those that pass and of those that have no score; other bits mean nothing.
template <class Key, unsigned kRows>
struct ScannedGroup {
  Scores<Key, kRows> scores;
  unsigned passing = ~0u;
  unsigned null = 0;

  /// Column `c`, in which the rows of `valid` have a value. Columns come in their order.
  template <class T>
  __device__ void add(const ReadScan& scan, unsigned c, unsigned valid, const T (&values)[kRows]) {
    const ReadColumn& column = scan.columns[c];
    passing &= passing_nulls(column, valid) & passing_range(column, values);
    if (c >= static_cast<unsigned>(scan.terms)) return;
    null |= ~valid;
    scores.template add<false>(scan, c, values);
  }

  __device__ bool passes(unsigned i) const { return (passing >> bit_of_row(i) & 1) != 0; }
  __device__ bool is_null(unsigned i) const { return (null >> bit_of_row(i) & 1) != 0; }
};

/// Single rows of up to `kColumns` columns, which are read: all loads before the first value is looked at.
template <unsigned kColumns, class Key, unsigned kRows>
__device__ void look_at_rows(const ReadScan& scan, const std::size_t (&rows)[kRows],
                             ScannedGroup<Key, 1> (&scanned)[kRows]) {
  ReadValues<1, ScanForm::general> read[kRows][kColumns];
#pragma unroll
  for (unsigned c = 0; c < kColumns; ++c) {
    if (c >= static_cast<unsigned>(scan.count)) break;
#pragma unroll
    for (unsigned r = 0; r < kRows; ++r) read[r][c].load_row(scan.columns[c], rows[r]);
  }
#pragma unroll
  for (unsigned c = 0; c < kColumns; ++c) {
    if (c >= static_cast<unsigned>(scan.count)) break;
#pragma unroll
    for (unsigned r = 0; r < kRows; ++r) {
      const unsigned valid = read[r][c].valid_row(scan.columns[c], rows[r]);
      with_values<1>(scan.columns[c], read[r][c], [&](const auto& values) { scanned[r].add(scan, c, valid, values); });
    }
  }
}

template <class Key>
__device__ ScannedGroup<Key, 1> look_at_row(const ReadScan& scan, std::size_t row) {
  ScannedGroup<Key, 1> scanned[1];
  look_at_rows<ColumnScan::kMaxColumns>(scan, {row}, scanned);
  return scanned[0];
}

/// The key of a score.
template <class Key>
__device__ Key key_of_score(const ReadScan& scan, Key score, bool null) {
  if (null) return kNullKey<Key>;
  if (!scan.integer) return float_key(score, scan.high);
  constexpr auto kSign = static_cast<Key>(Key{1} << (8 * sizeof(Key) - 1));
  const auto ordered = static_cast<Key>(score ^ kSign);
  return scan.high ? static_cast<Key>(~ordered) : ordered;
}

namespace detail {

/// At or beyond all values.
template <class T>
inline constexpr T kHigh = std::is_integral_v<T> ? std::numeric_limits<T>::max() : std::numeric_limits<T>::infinity();
template <class T>
inline constexpr T kLow = std::is_integral_v<T> ? std::numeric_limits<T>::lowest() : -kHigh<T>;

}  // namespace detail

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

  /// The greatest key of a score that is less than another's, or that one where there is none, or it is NULL's.
  __device__ static Key key_below(bool integer, bool high, Key most) {
    if (most == kNullKey<Key>) return most;
    if (integer) return most - (most != 0 ? 1 : 0);
    if (most == kNanKey<Key>)
      return float_key(with_bits_of<Key>(high ? detail::kLow<Float> : detail::kHigh<Float>), high);
    const bool zero = !high && most == float_key(Key{0}, false);  // there is no key of the zero below it
    return most - (zero ? 2 : 1);
  }

  /// From square roots, rounded, to what they are roots of. Of negative numbers, and where bounds are very small or
  /// large, more may be among those.
  __device__ void square() { bound_ = with_bits_of<std::uint64_t>(square_of_bound(with_bits_of<double>(bound_))); }

  /// From quotients to what their dividends differ by from multiples of a bound, or may where they tie with it.
  __device__ void divide(const QuotientBound& quotients, double bound, bool ties) {
    all_ |= quotients.holds_all();
    bound_ = with_bits_of<std::uint64_t>(quotients.limit(bound, ties));
  }
  /// A bit for each row whose quotient may be such a score, once this is `divide`d.
  template <unsigned kRows>
  __device__ unsigned quotients_within(const QuotientBound& quotients, const Key (&dividends)[kRows],
                                       const float (&divisors)[kRows]) const {
    return all_ ? ~0u : quotients.bits_within(dividends, divisors, with_bits_of<double>(bound_));
  }

  /// Takes the bound of another range of such scores, which is otherwise the same: then the compiler keeps no registers
  /// for the rest.
  __device__ void set_bound(const ScoreRange& other) {
    bound_ = other.bound_;
    all_ = other.all_;
  }
  /// Bits of the last score among them.
  __device__ Key bound() const { return bound_; }

  /// The scores come with these bits the other way round, where they are integers.
  __device__ void flip(Key bits) { flipped_ = bits; }

  /// Returns true if there may be such a score. It has no branch for each row, which would make the threads of a warp
  /// diverge. NaN is on neither side of a bound.
  template <unsigned kRows>
  __device__ bool may_hold_any(const Key (&scores)[kRows]) const {
    if (all_) return true;
    bool any = false;
    each_within(scores, [&](unsigned, bool within) { any = any | within; });
    return any;
  }

  /// A bit for each row that may have one, where bit_of_row has it.
  template <unsigned kRows>
  __device__ unsigned rows_within(const Key (&scores)[kRows]) const {
    return bits_within(scores, [](unsigned i) { return bit_of_row(i); });
  }
  /// The same, bit by bit.
  template <unsigned kRows>
  __device__ unsigned bits_within(const Key (&scores)[kRows]) const {
    return bits_within(scores, [](unsigned i) { return i; });
  }

 private:
  /// The farthest number on the bound's side whose root, rounded, still is. That is the last one before the square of
  /// what lies halfway to the next number, which is found to a unit in the last place.
  __device__ double square_of_bound(double bound) const {
    constexpr double kMin = 1e-150;  // squares and what they are rounded by are ordinary numbers
    constexpr double kMax = 1e150;
    if (!(bound > 0)) return high_ && bound < 0 ? 0 : bound;
    if (bound < kMin) return high_ ? 0x1p-1074 : kMin * kMin;
    if (bound > kMax) return high_ ? kMax * kMax : detail::kHigh<double>;
    const double halfway = (next_number(bound, !high_) - bound) / 2;
    const double square = bound * bound;
    const double near = square + fma(2 * halfway, bound, fma(bound, bound, -square));
    const double farther = next_number(near, !high_);
    const auto within = [&](double number) { return high_ ? sqrt(number) >= bound : sqrt(number) <= bound; };
    const double last = within(near) ? near : next_number(near, high_);
    return within(farther) ? farther : last;
  }

  template <unsigned kRows, class Place>
  __device__ unsigned bits_within(const Key (&scores)[kRows], Place place) const {
    if (all_) return ~0u;
    unsigned rows = 0;
    each_within(scores, [&](unsigned i, bool within) { rows |= unsigned{within} << place(i); });
    return rows;
  }

  /// Calls `f(row, within)` for each row; `within` is true if the bound admits its score.
  template <unsigned kRows, class F>
  __device__ void each_within(const Key (&scores)[kRows], F f) const {
    if (integer_) {
      each_beyond<Integer>(scores, f);
    } else {
      each_beyond<Float>(scores, f);
    }
  }
  template <class T, unsigned kRows, class F>
  __device__ void each_beyond(const Key (&scores)[kRows], F f) const {
    const auto bound = with_bits_of<T>(bound_);
    const auto score = [&](unsigned i) {
      return with_bits_of<T>(std::is_integral_v<T> ? static_cast<Key>(scores[i] ^ flipped_) : scores[i]);
    };
    if (high_) {
#pragma unroll
      for (unsigned i = 0; i < kRows; ++i) f(i, score(i) >= bound);
    } else {
#pragma unroll
      for (unsigned i = 0; i < kRows; ++i) f(i, score(i) <= bound);
    }
  }

  bool integer_;
  bool high_;
  bool all_;   ///< NULL and NaN are among them
  Key bound_;  ///< bits of a score
  Key flipped_ = 0;
};

}  // namespace skyrank::kernels::cuda::expression
