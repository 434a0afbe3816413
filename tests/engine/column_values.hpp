#pragma once

#include <cstdint>
#include <vector>

#include <skyrank/table.hpp>

namespace skyrank {

/// All values of a column, NULL where it has none.
inline std::vector<Value> values(const Column& column) {
  std::vector<Value> all;
  for (std::int64_t row = 0; row < column.size(); ++row) all.push_back(column.value(row));
  return all;
}

}  // namespace skyrank
