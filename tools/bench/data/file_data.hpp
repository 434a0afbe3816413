#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <skyrank/table.hpp>

#include "tools/bench/data/data.hpp"

namespace skyrank::bench {

/// Makes keys of the numbers in a cell's file: of `cell.n` rows, those of the file over and over. Throws DataError for
/// columns of other types and for NULL, QueryError without `read`, and what `read` throws.
Data read_data(const Cell& cell, const ReadColumns& read);

}  // namespace skyrank::bench
