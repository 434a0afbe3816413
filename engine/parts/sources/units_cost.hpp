#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <skyrank/source.hpp>

#include "engine/query/bound.hpp"
#include "planner/choose.hpp"

// Prices of reading a source, and of answering it unit by unit. They are what the source tells of its columns, or else
// those of usual encodings.
namespace skyrank::exec {

/// Returns the seconds that threads take to read columns of units.
double read_seconds(const Source& source, const std::vector<std::size_t>& units, std::span<const int> columns,
                    int threads);

/// Returns the seconds that threads take to read columns of some rows, wherever they are among so many units: of the
/// pages that have one. Each thread reads other units.
double read_rows_seconds(const Source& source, double rows, double units, std::span<const int> columns, int threads);

/// Returns what reading whole columns of these units counts as beside reading some of their rows: half again as many
/// seconds as it takes, as it has to be worth memory that is new to the process.
double whole_columns_seconds(const Source& source, const std::vector<std::size_t>& units, std::span<const int> columns,
                             int threads);

/// Returns true if columns of some rows of these units are read faster as whole columns.
bool whole_columns_are_faster(const Source& source, double rows, const std::vector<std::size_t>& units,
                              std::span<const int> columns, int threads);

/// Prices reading columns once the rows of the answer are known, and for these alone; at high these are many.
/// `passing`: the number of rows that are expected to pass the condition (rows_passing).
planner::Price price_late_columns(const query::BoundQuery& query, const Source& source,
                                  const std::vector<std::size_t>& units, std::span<const int> columns, double passing,
                                  int threads);

/// Prices of a query over units.
struct UnitPrices {
  planner::Price one_by_one;  ///< at high no unit can be skipped
  planner::Price together;
  double units = 0;  ///< expected number of units that are answered one by one
};

/// Prices a query over these units, of whose rows so many are expected to pass the condition, in seconds of so many
/// threads: each answers other units, but reads all of them together where they are not answered one by one.
UnitPrices price_units(const query::BoundQuery& query, const Source& source, const std::vector<std::size_t>& units,
                       std::span<const int> columns, double passing, int threads);

}  // namespace skyrank::exec
