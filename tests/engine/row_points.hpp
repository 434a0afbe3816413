#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <skyrank/fronts.hpp>

namespace skyrank {

/// Returns points that lie row by row in a vector.
template <class T>
Points rows_of(const std::vector<T>& values, std::size_t columns, Type type) {
  return {values.data(),
          type,
          static_cast<std::int64_t>(values.size() / columns),
          static_cast<std::int64_t>(columns),
          static_cast<std::int64_t>(columns * sizeof(T)),
          sizeof(T)};
}

}  // namespace skyrank
