#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include <skyrank/query.hpp>
#include <skyrank/source.hpp>

#include "engine/executor/engine_state.hpp"
#include "engine/parts/memory/source_memory.hpp"

namespace skyrank::exec {

/// Returns how many rows these units of a source have.
std::int64_t rows_of(const Source& source, const std::vector<std::size_t>& units);

/// The units of a source that threads read for a query: where their rows are, and what memory these take.
class QueryUnits {
 public:
  /// `columns` are read of each unit; the source begins at `first_row` of the whole table.
  QueryUnits(const EngineState& state, const Location& query_location, const Source& source,
             const std::vector<int>& columns, RowId first_row = 0);

  /// Returns the first row of a unit in the whole table.
  RowId begin(std::size_t unit) const { return begins_[unit]; }

  /// Counts the rows of a unit that is about to be read. Throws ResourceError.
  SourceCharge charge_unit(std::size_t unit) const;

  /// Counts so many rows that are in memory. Throws ResourceError.
  SourceCharge charge_rows(std::size_t rows) const;

  /// Returns how many threads read and answer these units side by side, as far as they fit the limit of memory,
  /// or `room` bytes.
  std::size_t threads(const std::vector<std::size_t>& units,
                      std::size_t room = std::numeric_limits<std::size_t>::max()) const;

 private:
  const EngineState& state_;
  const Location& query_location_;
  ColumnSizes sizes_;
  std::vector<RowId> begins_;
};

}  // namespace skyrank::exec
