#pragma once

#include <string>
#include <vector>

#include <skyrank/table.hpp>

#include "engine/keys/fused_keys.hpp"
#include "engine/plan/physical_plan.hpp"
#include "planner/choose.hpp"

// Plans `rank_by` and `limit`: keys, and a top-k or a sort.
namespace skyrank::exec {

/// Lays out the keys of a ranking, and the top-k, the sort or, without a ranking, the limit. Returns the answer's rows.
planner::Cardinality lay_out_rank(PhysicalPlan& plan, const Table& table, const planner::Cardinality& rows);

/// Describes a ranking as explain shows it.
std::string describe_ranking(const std::vector<query::BoundRankTerm>& ranking);

/// Returns the widths of the keys of the ranking's terms, before packing.
std::vector<kernels::KeyWidth> ranking_widths(const PhysicalPlan& plan);

/// Returns the bytes of a row's keys, before packing.
double ranking_key_bytes(const PhysicalPlan& plan);

/// Returns the expressions of the ranking's terms.
std::vector<const query::BoundExpression*> ranking_expressions(const PhysicalPlan& plan);

/// Returns the options of fused keys that the plan's rules allow.
FusedOptions fused_options(const PhysicalPlan& plan);

/// Returns true if ranking terms that fit into 64 bits together are to become one key.
bool packs_ranking(const PhysicalPlan& plan);

/// Returns the path of the ranking for the estimated sizes. Throws planner::NoPath.
planner::Choice<kernels::TopKAlgorithm> rank_path(const PhysicalPlan& plan);

/// Chooses the path of the ranking, if there is one, or prices that of all partitions at once. Throws planner::NoPath.
void choose_rank_path(PhysicalPlan& plan);

/// Replaces the predicted time by that of one launch on the device that ranks all partitions: `count` partitions with
/// `rows` rows in all, one key of `key_bytes` bytes a row, the `k` best rows of each.
void price_at_once(PathDescription& path, double count, double rows, double k, double key_bytes);

}  // namespace skyrank::exec
