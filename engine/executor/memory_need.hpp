#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <skyrank/query.hpp>
#include <skyrank/table.hpp>

// Measures how much memory a query needs by running it under small limits: over all rows where that fits, else over
// samples of two sizes, from which the need of all rows follows by a straight line. Needs that grow more slowly than
// the rows, as those of skylines do, are overestimated by that.
namespace skyrank {

/// Runs a query over a table within a limit of memory, in bytes. Returns nothing if it succeeds, else the bytes that it
/// had reached when memory was refused.
using LimitedRun = std::function<std::optional<std::size_t>(const Query&, const Table&, std::size_t limit)>;

struct NeedSearch {
  std::size_t room = 0;  ///< bytes that the search may take
  double known = 0;      ///< bytes that the query is known to need at least
  double expected = 0;   ///< bytes that the planner expects
  double slack = 0;      ///< bytes by which runs differ, as threads take turns in another order
  /// Algorithms that are forced on samples, as the planner may take others for few rows; none: those it takes.
  std::vector<std::string> algorithms = {};
};

/// Returns about how many bytes suffice for the query over the table; nothing where `room` is too small to tell.
std::optional<double> measured_need(const Query& query, const Table& table, const NeedSearch& search,
                                    const LimitedRun& run);

}  // namespace skyrank
