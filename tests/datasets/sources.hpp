#pragma once

#include <arrow/status.h>

#include <cstddef>
#include <numeric>
#include <stdexcept>
#include <vector>

#include <skyrank/source.hpp>

// Helpers of tests that read all of a source, or write its file with Arrow.
namespace skyrank::datasets::test {

inline std::vector<std::size_t> all_units(const Source& source) {
  std::vector<std::size_t> units(source.units().size());
  std::iota(units.begin(), units.end(), std::size_t{0});
  return units;
}

inline std::vector<int> all_columns(const Source& source) {
  std::vector<int> columns(source.schema().columns().size());
  std::iota(columns.begin(), columns.end(), 0);
  return columns;
}

/// Throws std::runtime_error unless a call of Arrow succeeded.
inline void require(const arrow::Status& status) {
  if (!status.ok()) throw std::runtime_error(status.ToString());
}

}  // namespace skyrank::datasets::test
