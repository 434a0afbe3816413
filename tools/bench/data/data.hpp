#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <skyrank/table.hpp>

#include "kernels/common/problem.hpp"
#include "tools/bench/data/grid.hpp"

// Makes the keys of a cell of a benchmark, of generated data or of columns of a file.
namespace skyrank::bench {

/// The key columns of a cell. The smallest value is the best.
struct Data {
  std::size_t n = 0;
  std::vector<kernels::KeyColumn> keys;
  std::vector<std::shared_ptr<const void>> memory;

  std::uint64_t bytes() const;
};

/// Reads columns of a file. A function, so that programs that generate their data need no library that reads files.
using ReadColumns = std::function<Table(const std::filesystem::path& file, const std::vector<std::string>& columns)>;

/// Bytes of a cell's generated keys: those of its type, but at least 4 for skylines.
kernels::KeyWidth key_width(const Cell& cell);

/// Returns true if two cells have the same data.
bool same_data(const Cell& a, const Cell& b);

/// Generates the values of a cell, converts them to its type and makes their keys. A float32 in [0, 1) becomes an
/// integer by multiplication with the number of that type's values, what is above, and NaN, its greatest value; a
/// uint32 too large for a type becomes its greatest value. Values of uniform, independent, increasing and decreasing
/// have as many random bits as their type has room for: 53 in a float64, 32 and up to 64 in integers. Their first 24
/// bits are those of the floats. The keys of a cell with a file are those of read_data. Throws what datasets::generate
/// and read_data throw, and std::bad_alloc.
Data make_data(const Cell& cell, const ReadColumns& read = {});

}  // namespace skyrank::bench
