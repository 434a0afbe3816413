#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/common/problem.hpp"
#include "tools/bench/grid.hpp"

namespace skyrank::bench {

/// The key columns of a cell. The smallest value is the best.
struct Data {
  std::size_t n = 0;
  std::vector<kernels::KeyColumn> keys;
  std::vector<std::shared_ptr<const void>> memory;

  std::uint64_t bytes() const;
};

/// Bytes of a cell's keys: those of its type, but at least 4 for skylines.
kernels::KeyWidth key_width(const Cell& cell);

/// Returns true if two cells have the same data.
bool same_data(const Cell& a, const Cell& b);

/// Generates the values of a cell, converts them to its type and makes their keys. A float32 in [0, 1) becomes an
/// integer by multiplication with the number of that type's values, what is above, and NaN, its greatest value; a
/// uint32 too large for a type becomes its greatest value. Throws what datasets::generate throws, and std::bad_alloc.
Data make_data(const Cell& cell);

}  // namespace skyrank::bench
