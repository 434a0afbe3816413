#pragma once

#include <string>
#include <vector>

#include "tools/bench/measure.hpp"

namespace skyrank::bench {

/// "skyline  independent  n 1,000,000  d 8  float32  2 threads".
std::string title(const Cell& cell);

/// A cell for people: a line for each algorithm, the fastest first, then those left out and why.
std::string table(const CellResult& result);

/// For each algorithm, over the cells it was measured in: times over the best of the cell. Empty without measurements.
std::string summary(const std::vector<CellResult>& results);

}  // namespace skyrank::bench
