#pragma once

#include <cstdint>
#include <vector>

#include <skyrank/types.hpp>

#include "engine/expression/ir.hpp"
#include "engine/operators/groups/classes.hpp"
#include "engine/query/bound.hpp"

// Costs of the operators around the kernels: linear in rows, with constants measured on a CPU (operator_cost.cpp says
// how). Kernels have cost models of their own, in planner/.
namespace skyrank::exec {

struct OperatorCost {
  double seconds = 0;
  double bytes = 0;  ///< memory that the operator fills
};

/// Returns the cost of a filter of `rows` rows, of which `kept` pass.
OperatorCost filter_cost(const Ir& condition, double rows, double kept, int threads);

/// Rows that are to be numbered by their groups.
struct GroupingShape {
  std::vector<DataType> types;  ///< types of the columns whose values make the groups
  Numbering numbering = Numbering::by_values;
  double rows = 0;
  double groups = 0;
};

OperatorCost group_cost(const query::BoundGroup& group, const GroupingShape& shape, int threads);

/// Returns the cost of the rules `nan` and `nulls` for some expressions.
OperatorCost missing_cost(const std::vector<const query::BoundExpression*>& expressions, double rows, int threads);

OperatorCost partition_cost(const GroupingShape& shape, int threads);

/// Returns the cost of the numbers alone, without bringing rows of equal ones together.
OperatorCost numbering_cost(const GroupingShape& shape, int threads);

/// Returns the cost of partitions on a GPU, where the columns lie whose values of a row take `column_bytes`, and of
/// bringing keys of `key_bytes` a row into their order.
OperatorCost device_partition_cost(double rows, double groups, double column_bytes, double key_bytes);

/// Rows of which a GPU is to find the best of each partition.
struct PartitionedShape {
  double rows = 0;
  double groups = 0;
  double wanted = 0;        ///< rows of each partition
  double column_bytes = 0;  ///< bytes of a row in the columns that make the partitions
  double key_bytes = 0;
};

/// Returns true if it looks for the rows that can be among these, and sorts no others.
bool selects_candidates(const PartitionedShape& shape);

/// Rows that can be among them.
double candidate_rows(const PartitionedShape& shape);

/// Returns the cost of finding these, and of bringing them together.
OperatorCost device_candidates_cost(const PartitionedShape& shape);

/// Rows that a GPU is to group.
struct DeviceGroupingShape {
  double rows = 0;
  double groups = 0;
  double host_groups = 0;   ///< groups that come to the host
  double column_bytes = 0;  ///< bytes of a row in the columns that make the groups
  double columns = 0;       ///< columns of the table of groups
  double totals = 0;        ///< columns whose values are added up
};

/// Returns the cost of groups and their aggregates on a GPU, where the columns lie, and of the table of groups.
OperatorCost device_group_cost(const DeviceGroupingShape& shape);

/// One key of each of `rows` rows for every expression, `bytes` together for a row. `listed`: the rows are not all of
/// the table's, but lie here and there.
OperatorCost keys_cost(const std::vector<const query::BoundExpression*>& expressions, double bytes, double rows,
                       bool listed, int threads);

/// The same on a GPU, where the columns lie whose values of a row take `column_bytes`.
OperatorCost device_filter_cost(const Ir& condition, double column_bytes, double rows, double kept);

/// The same on a GPU; `rows` are a `share` of the table's.
OperatorCost device_keys_cost(const std::vector<const query::BoundExpression*>& expressions, double column_bytes,
                              double bytes, double rows, double share);

/// Columns of the answer by type.
OperatorCost gather_cost(const std::vector<query::BoundOutput>& outputs, double rows);

}  // namespace skyrank::exec
