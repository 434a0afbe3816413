#pragma once

#include <vector>

#include <skyrank/table.hpp>

#include "engine/device/pareto_levels.hpp"
#include "engine/device/row_set.hpp"
#include "engine/operators/segments.hpp"

// The rows that the stages of operators hand on: filter -> group -> missing -> partition -> skyline -> measure -> pick
// -> rank -> gather.
namespace skyrank::exec {

/// The table that the answer is taken from: the input, or what `group_by` made of it.
struct SourceTable {
  Table table;
  Vector<RowId> first_rows = {};  ///< the first row of each group; empty without `group_by`
  bool grouped = false;
};

/// The rows that can still be in the answer, in segments that are answered independently.
struct Candidates {
  RowSet rows;
  Segments segments;
  ParetoLevels levels = {};           ///< one for each position; unused without `prefer`
  std::vector<Column> measures = {};  ///< measures of the query, with a value for each position
};

}  // namespace skyrank::exec
