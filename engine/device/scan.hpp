#pragma once

#include <optional>

#include "engine/device/device_query_state.hpp"
#include "kernels/common/column_scan.hpp"
#include "kernels/cuda/expression/columns.hpp"

// Recognises queries that one kernel answers in a single read of the columns: a filter fused with a ranking's
// selection. The matcher only describes the scan.
namespace skyrank::exec {

/// A filter and a score over columns on the device: one of the two, or none where neither can be had.
struct DeviceScan {
  std::optional<kernels::ColumnScan> columns;
  std::optional<kernels::cuda::expression::ComputedScan> computed;
};

/// Matches a query that is no more than a filter and the best rows by one ranking term. It becomes one scan of columns
/// if the condition is a conjunction of comparisons of columns with constants and of tests for NULL, and the term a
/// column or a weighted sum of columns, computed in floats. Otherwise it becomes programs, if these have a form on the
/// device.
DeviceScan match_scan(DeviceQueryState& device_state, const query::BoundQuery& query, const Table& table);

}  // namespace skyrank::exec
