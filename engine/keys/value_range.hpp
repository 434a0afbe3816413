#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "engine/expression/source.hpp"
#include "engine/runtime/parallel.hpp"

namespace skyrank::exec {

/// The least and the greatest of some integers.
template <class T>
struct ValueRange {
  T lowest = std::numeric_limits<T>::max();
  T highest = std::numeric_limits<T>::min();
  bool any_value = false;
  bool any_null = false;

  ValueRange& operator+=(const ValueRange& other) {
    lowest = std::min(lowest, other.lowest);
    highest = std::max(highest, other.highest);
    any_value |= other.any_value;
    any_null |= other.any_null;
    return *this;
  }
};

/// The ends are local variables, of which compilers make vectors.
template <class T>
ValueRange<T> range_of_block(const T* values, const std::uint8_t* valid, std::int64_t size) {
  T lowest = std::numeric_limits<T>::max();
  T highest = std::numeric_limits<T>::min();
  if (valid == nullptr) {
    for (std::int64_t i = 0; i < size; ++i) {
      const T value = values[i];
      lowest = std::min(lowest, value);
      highest = std::max(highest, value);
    }
    return {lowest, highest, size > 0, false};
  }
  bool any_value = false;
  for (std::int64_t i = 0; i < size; ++i) {
    // A NULL stands for the values that change nothing.
    lowest = std::min(lowest, valid[i] != 0 ? values[i] : std::numeric_limits<T>::max());
    highest = std::max(highest, valid[i] != 0 ? values[i] : std::numeric_limits<T>::min());
    any_value |= valid[i] != 0;
  }
  return {lowest, highest, any_value, true};
}

/// The range of the values; [0, 0] when all are NULL.
template <class T>
ValueRange<T> range_of(const Source& source) {
  std::vector<ValueRange<T>> parts(static_cast<std::size_t>(num_chunks(source.rows.n)));
  for_blocks<T>(source, [&](std::int64_t begin, std::int64_t size, const T* values, const std::uint8_t* valid) {
    parts[static_cast<std::size_t>(begin / kChunkRows)] += range_of_block(values, valid, size);
  });
  ValueRange<T> range;
  for (const ValueRange<T>& part : parts) range += part;
  if (!range.any_value) range.lowest = range.highest = 0;
  return range;
}

}  // namespace skyrank::exec
