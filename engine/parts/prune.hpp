#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <skyrank/source.hpp>

#include "engine/query/bound.hpp"

namespace skyrank::exec {

/// Units of a source that a query has to read.
struct UnitsToRead {
  std::vector<std::size_t> units;  ///< ascending
  std::string reason;              ///< how units were found to be without an answer, or why none was
};

/// Returns all units of a source.
std::vector<std::size_t> all_units(const Source& source);

/// Leaves out the units whose statistics show that `condition` is true for none of their rows. A condition that can fail
/// (integer overflow, division by zero) needs all rows, as the lowest row on which it fails is to be named.
UnitsToRead prune_units(const query::BoundExpression& condition, const Source& source);

}  // namespace skyrank::exec
