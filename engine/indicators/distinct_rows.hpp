#pragma once

#include <vector>

#include <skyrank/fronts.hpp>

namespace skyrank::exec {

/// Returns the rows that equal no row before them, ascending. 0.0 equals -0.0, and one NaN another.
std::vector<RowId> distinct_rows(const Points& points);

}  // namespace skyrank::exec
