#pragma once

#include <cstdint>
#include <optional>

#include <skyrank/engine.hpp>
#include <skyrank/table.hpp>

#include "engine/device/pareto_levels.hpp"
#include "engine/device/row_set.hpp"
#include "engine/executor/execution.hpp"
#include "engine/operators/partition.hpp"

// The operators of a query one after the other, each on what the one before gives: filter -> group -> missing values ->
// partition -> prefer (skyline_stage.hpp) -> rank -> gather.
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
  ParetoLevels levels = {};  ///< one for each position; unused without `prefer`
};

/// Returns the rows that pass a condition. The filter runs on the device if the query's keys are made there.
RowSet passing(Execution& execution, const query::BoundExpression& condition, const Table& input, const RowSet& all);

/// Returns the rows that pass the query's condition; all of them where the filter comes last.
RowSet filter_rows(Execution& execution, const Table& input);

/// Replaces the input by its groups; afterwards all rows of the derived table are candidates.
SourceTable group_rows(Execution& execution, const Table& input, RowSet& rows);

/// Returns the rows that `nan` and `nulls` leave.
RowSet apply_missing_rules(Execution& execution, const SourceTable& source, RowSet rows);

/// The rows of partitions, ranked in one pass or else only split.
struct PartitionedRows {
  std::optional<Vector<std::int64_t>> ranked = std::nullopt;  ///< positions in the order of the answer
  std::optional<Segments> split = std::nullopt;               ///< too many partitions to rank them so
};

/// Ranks the best rows of each partition in one pass. Returns neither where the plan does not ask for this, or the
/// ranking needs several keys.
PartitionedRows rank_partitions(Execution& execution, const SourceTable& source, const RowSet& rows);

/// Ranks partitions that the device makes. Returns positions in the order of the answer, or nothing where the plan does
/// not ask for this, or the device cannot.
std::optional<Vector<std::int64_t>> rank_partitions_on_device(Execution& execution, const SourceTable& source,
                                                              const RowSet& rows);

/// Splits the rows into segments that are answered independently; returns `split` if they are split already.
Segments partition_rows(Execution& execution, const SourceTable& source, const RowSet& rows,
                        std::optional<Segments> split);

/// Returns positions in the order of the answer, or nothing if the answer is all candidates in their own order.
std::optional<Vector<std::int64_t>> rank(Execution& execution, const SourceTable& source, const Candidates& candidates);

/// Makes the answer of the rows at `positions`, or of all candidates.
Result gather(Execution& execution, const SourceTable& source, const Candidates& candidates,
              std::optional<Vector<std::int64_t>> positions);

/// Returns the number of rows of the largest segment.
std::int64_t largest(const Segments& segments);

}  // namespace skyrank::exec
