#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/keys/fused_keys.hpp"
#include "engine/keys/preference_plan.hpp"
#include "engine/plan/kernel_path.hpp"
#include "engine/query/bound.hpp"
#include "engine/runtime/query_memory.hpp"

// The best of a skyline without the whole skyline.
//
// Let the first ranking term never put a row before one that dominates it. Then the rows whose score is up to some
// limit, the candidates, have all their dominators among them. So the skyline of the candidates is a part of the
// table's skyline, and it holds the first rows of the ranking. If it has as many rows as are asked for, no other row
// matters. The idea is that of sort-filter skylines (Chomicki, Godfrey, Gryz, Liang, "Skyline with Presorting", ICDE
// 2003) with an early stop, where a selection takes the place of the sort.
namespace skyrank::exec {

/// Returns why a query does not ask for the first of a skyline by a ranking whose first term is monotone in the
/// preference; nothing if it does.
std::optional<std::string> why_no_skyline_prefix(const query::BoundQuery& query,
                                                 const std::optional<PreferencePlan>& preference, const Table& table);

/// Returns the number of rows to select for an answer of k rows, at most 2^48: more than k, as some are dominated.
std::int64_t prefix_rows_for(std::int64_t k);

/// The selection of `count` rows, without its data.
kernels::TopKShape skyline_prefix_shape(const query::BoundQuery& query, const Table& table, std::int64_t count);

/// The candidates: rows that include the first ones of the skyline.
struct SkylinePrefix {
  Vector<RowId> rows;  ///< ascending
  bool all = false;    ///< true if these are all rows that pass the condition
};

/// Returns the `shape.k` best rows by the first ranking term that pass the condition, and all rows equal to the last of
/// them. Returns nothing if the last one's score is NULL, NaN or an infinity, for which sums are not monotone. Throws
/// DataError where the filter would.
std::optional<SkylinePrefix> find_skyline_prefix(const query::BoundQuery& query, const Table& table,
                                                 const kernels::TopKShape& shape,
                                                 const planner::Choice<kernels::TopKAlgorithm>& path,
                                                 const FusedOptions& options, const ExecutionContext& context,
                                                 Report& report);

}  // namespace skyrank::exec
