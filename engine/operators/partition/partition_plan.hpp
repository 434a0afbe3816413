#pragma once

#include <skyrank/table.hpp>

#include "engine/plan/operator_cost.hpp"
#include "engine/plan/physical_plan.hpp"

// Plans `partition_by`, and prices partitions, and the best rows of each, on a GPU.
namespace skyrank::exec {

/// Lays out `partition_by`, and estimates the number of partitions. Returns the rows, of which it drops none.
planner::Cardinality lay_out_partition(PhysicalPlan& plan, const Table& table, const planner::Cardinality& rows);

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

}  // namespace skyrank::exec
