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

/// The size of a problem: rows that get the numbers of their groups or partitions.
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

/// Returns the cost of numbering rows by their partitions, without sorting the rows by these numbers.
OperatorCost numbering_cost(const GroupingShape& shape, int threads);

/// Returns the cost of sorting rows by partition on a GPU, and of moving keys of `key_bytes` a row into that order. The
/// columns that make the partitions are on the GPU, and take `column_bytes` a row.
OperatorCost device_partition_cost(double rows, double groups, double column_bytes, double key_bytes);

/// The size of a problem: the best `wanted` rows of each partition on a GPU.
struct PartitionedShape {
  double rows = 0;
  double groups = 0;
  double wanted = 0;        ///< rows of each partition
  double column_bytes = 0;  ///< bytes of a row in the columns that make the partitions
  double key_bytes = 0;
};

/// Returns true if the GPU first selects the rows that can be among the best, the candidates, and sorts only these.
bool selects_candidates(const PartitionedShape& shape);

/// Returns the expected number of candidates.
double candidate_rows(const PartitionedShape& shape);

/// Returns the cost of selecting the candidates, and of sorting them by partition.
OperatorCost device_candidates_cost(const PartitionedShape& shape);

/// The size of a problem: groups and their aggregates on a GPU.
struct DeviceGroupingShape {
  double rows = 0;
  double groups = 0;
  double host_groups = 0;   ///< groups that are copied to the host
  double column_bytes = 0;  ///< bytes of a row in the columns that make the groups
  double columns = 0;       ///< columns of the table of groups
  double totals = 0;        ///< columns whose values are added up
};

/// Returns the cost of groups and their aggregates on a GPU, where the columns lie, and of the table of groups.
OperatorCost device_group_cost(const DeviceGroupingShape& shape);

/// Returns the cost of one key for each expression and row; `bytes` is the size of a row's keys. If `listed`, the rows
/// are a list of ids, whose values are read at random.
OperatorCost keys_cost(const std::vector<const query::BoundExpression*>& expressions, double bytes, double rows,
                       bool listed, int threads);

/// Returns the cost of a filter on a GPU that has its columns, `column_bytes` a row.
OperatorCost device_filter_cost(const Ir& condition, double column_bytes, double rows, double kept);

/// Returns the cost of keys on a GPU that has the columns, `column_bytes` a row. `rows` are a `share` of the table's.
OperatorCost device_keys_cost(const std::vector<const query::BoundExpression*>& expressions, double column_bytes,
                              double bytes, double rows, double share);

/// Returns the cost of the answer's columns, which depends on their types.
OperatorCost gather_cost(const std::vector<query::BoundOutput>& outputs, double rows);

}  // namespace skyrank::exec
