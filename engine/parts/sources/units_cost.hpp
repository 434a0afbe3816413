#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <skyrank/source.hpp>

#include "engine/query/bound.hpp"
#include "planner/choose.hpp"

// Prices of reading a source, and of answering it unit by unit.
namespace skyrank::exec {

/// Returns the seconds of one thread that reads columns of units. They are those of usual encodings, as a source does
/// not tell its own.
double read_seconds(const Source& source, const std::vector<std::size_t>& units, std::span<const int> columns);

/// Returns the seconds of one thread that reads columns of some rows, wherever they are: of the pages that have one.
double read_rows_seconds(const Source& source, double rows, std::span<const int> columns);

/// Returns what reading whole columns of these units counts as beside reading some of their rows, in seconds of one
/// thread: half again as much as it takes, as it has to be worth memory that is new to the process.
double whole_columns_seconds(const Source& source, const std::vector<std::size_t>& units, std::span<const int> columns);

/// Returns true if columns of some rows of these units are read faster as whole columns.
bool whole_columns_are_faster(const Source& source, double rows, const std::vector<std::size_t>& units,
                              std::span<const int> columns);

/// Prices reading columns once the rows of the answer are known, and for these alone; at high these are many.
/// `passing`: the number of rows that are expected to pass the condition (rows_passing).
planner::Price price_late_columns(const query::BoundQuery& query, const Source& source,
                                  const std::vector<std::size_t>& units, std::span<const int> columns, double passing);

/// Prices of a query over units.
struct UnitPrices {
  planner::Price one_by_one;  ///< at high no unit can be skipped
  planner::Price together;
};

/// Prices a query over these units, of whose rows so many are expected to pass the condition.
UnitPrices price_units(const query::BoundQuery& query, const Source& source, const std::vector<std::size_t>& units,
                       std::span<const int> columns, double passing);

}  // namespace skyrank::exec
