#include "engine/keys/special_keys.hpp"

#include <algorithm>
#include <compare>
#include <cstdint>
#include <limits>
#include <utility>

#include "engine/decimal.hpp"
#include "engine/keys/distance.hpp"
#include "engine/keys/key_memory.hpp"
#include "engine/keys/ranks.hpp"

// Makes keys of integers of 128 bits.
namespace skyrank::exec {
namespace {

constexpr std::uint64_t kMaxSpan = std::numeric_limits<std::uint64_t>::max();

/// All values of a source, and their range, [0, 0] when all are NULL.
struct WideValues {
  Vector<Int128> values;
  Vector<std::uint8_t> present;
  bool any_null = false;
  Int128 lowest = 0;
  Int128 highest = 0;

  explicit WideValues(const Source& source)
      : values(static_cast<std::size_t>(source.rows.n)), present(static_cast<std::size_t>(source.rows.n), 1) {
    for_blocks<Int128>(source,
                       [&](std::int64_t begin, std::int64_t size, const Int128* from, const std::uint8_t* valid) {
                         std::copy_n(from, size, values.begin() + begin);
                         if (valid != nullptr) std::copy_n(valid, size, present.begin() + begin);
                       });
    bool any = false;
    for (std::size_t i = 0; i < values.size(); ++i) {
      any_null |= present[i] == 0;
      if (present[i] == 0) continue;
      lowest = any ? std::min(lowest, values[i]) : values[i];
      highest = any ? std::max(highest, values[i]) : values[i];
      any = true;
    }
  }

  std::int64_t size() const { return static_cast<std::int64_t>(values.size()); }
  UInt128 span() const { return static_cast<UInt128>(highest) - static_cast<UInt128>(lowest); }
  std::uint64_t offset(std::size_t i) const {
    return static_cast<std::uint64_t>(static_cast<UInt128>(values[i]) - static_cast<UInt128>(lowest));
  }
};

/// Keys code(i), at most `max_code`, and one more for NULL, for which 64 bits have room.
template <class Code>
Keys encode(const WideValues& wide, std::uint64_t max_code, bool nulls_first, Code code) {
  const NullableCodes codes(max_code, wide.any_null, nulls_first);
  return with_width(width_for(codes.last), [&]<class Key>(Key) {
    KeyMemory<Key> keys(wide.size());
    for (std::size_t i = 0; i < wide.values.size(); ++i) {
      keys[static_cast<std::int64_t>(i)] = static_cast<Key>(wide.present[i] != 0 ? codes.first + code(i) : codes.null);
    }
    return std::move(keys).keys();
  });
}

/// Ranks of rows by `value(i)` of the present ones.
template <class ValueOf>
Keys ranks(const WideValues& wide, bool reversed, bool nulls_first, ValueOf value) {
  return ranks_of_present(wide.present, nulls_first, [&](RowId a, RowId b) {
    const auto x = value(static_cast<std::size_t>(a));
    const auto y = value(static_cast<std::size_t>(b));
    return reversed ? y < x : x < y;
  });
}

/// A distance as whole steps from the nearest value outside of a range, and which of two equal numbers of steps is
/// farther.
struct Distance {
  bool outside = false;
  UInt128 steps = 0;
  bool farther = false;

  auto operator<=>(const Distance&) const = default;
};

Distance distance_of(Int128 value, const WideRange& range) {
  const bool equal = range.gaps == 0;
  if (range.any_below && value <= range.below) {
    return {true, static_cast<UInt128>(range.below) - static_cast<UInt128>(value), !equal && range.gaps > 0};
  }
  if (range.any_above && value >= range.above) {
    return {true, static_cast<UInt128>(value) - static_cast<UInt128>(range.above), !equal && range.gaps < 0};
  }
  return {};
}

}  // namespace

Keys wide_value_keys(const Source& source, bool high, bool nulls_first) {
  const WideValues wide(source);
  if (wide.span() < kMaxSpan) {
    const auto span = static_cast<std::uint64_t>(wide.span());
    return encode(wide, span, nulls_first,
                  [&](std::size_t i) { return high ? span - wide.offset(i) : wide.offset(i); });
  }
  return ranks(wide, high, nulls_first, [&](std::size_t i) { return wide.values[i]; });
}

Keys wide_distance_keys(const Source& source, const Value& from, const Value& to, bool inverted, bool nulls_first) {
  const WideValues wide(source);
  const DataType type = source.column.type();
  if (wide.span() < kMaxSpan - 1) {
    const kernels::DistanceKey distance = distance_key(from, to, type, wide.lowest, wide.highest);
    const std::uint64_t max_code = std::max(distance(0), distance(static_cast<std::uint64_t>(wide.span())));
    return encode(wide, max_code, nulls_first, [&](std::size_t i) {
      const std::uint64_t code = distance(wide.offset(i));
      return inverted ? max_code - code : code;
    });
  }
  const WideRange range = wide_range(from, to, type, wide.lowest, wide.highest);
  return ranks(wide, inverted, nulls_first, [&](std::size_t i) { return distance_of(wide.values[i], range); });
}

}  // namespace skyrank::exec
