#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <skyrank/engine.hpp>
#include <skyrank/source.hpp>

#include "engine/operators/skyline/dominators.hpp"
#include "engine/parts/memory/source_memory.hpp"
#include "engine/parts/states/query_state.hpp"

// Units of a source are read and answered side by side, so that some are decoded while others are selected from and no
// more than a few are in memory. The best rows of all rows are among the best rows of the units, and the same holds for
// Pareto levels: the answer is that of the query over the rows that the units leave. The units with the best values
// come first, and those that cannot hold a better row than is known are not read. Skylines of units are computed
// without the rows that a few known ones dominate (dominators.hpp).
namespace skyrank::exec {

/// A query that may be answered by units.
struct UnitsQuery {
  StateSteps steps;                       ///< the query reads `columns` alone
  const std::vector<int>& columns;        ///< read of each unit, ascending
  const std::vector<std::size_t>& units;  ///< units that may hold rows of the answer, ascending
};

/// Rows that all units together leave.
struct UnitRows {
  Table table;                             ///< with all columns of the schema, of which those asked for have values
  std::vector<RowId> rows;                 ///< their ids in the source, ascending
  std::size_t skipped = 0;                 ///< units that could not hold a better row
  std::int64_t dominated = 0;              ///< rows that were left out, as rows of other units dominate them
  std::uint64_t bytes = 0;                 ///< bytes of storage that were read
  Work work;                               ///< work of the units' queries, where it is counted
  std::vector<SourceCharge> charges = {};  ///< for the rows of the table
};

/// Returns the columns of which a better row is better or equal in at least one: the first of a ranking, all of a
/// skyline. Empty where the query does not compare rows by columns alone.
std::vector<Order> orders_of(const query::BoundQuery& query, const Table& schema);

/// Returns why a query is not answered by these units, or nothing where it may be.
std::optional<std::string> reason_against_units(const EngineState& engine, const query::BoundQuery& query,
                                                const Source& source, const std::vector<std::size_t>& units);

/// Answers the query unit by unit. Nothing where the units leave so many rows that this does not help. Throws what the
/// source and the engine throw.
std::optional<UnitRows> rows_by_units(const UnitsQuery& query, const Source& source);

}  // namespace skyrank::exec
