#pragma once

#include <vector>

#include <skyrank/table.hpp>

namespace skyrank::exec {

/// Returns the rows of the tables one after the other, in memory of its own. There is at least one table; DataError
/// where columns differ in number, name or type.
Table concatenate(const std::vector<Table>& tables);

}  // namespace skyrank::exec
