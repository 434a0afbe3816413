#pragma once

#include <optional>

#include "engine/device/device_query_state.hpp"
#include "kernels/common/column_scan.hpp"
#include "kernels/cuda/expression/columns.hpp"

namespace skyrank::exec {

/// A filter and a score over columns on the device, in each form that they have: none, one or both.
struct DeviceScan {
  std::optional<kernels::ColumnScan> columns;
  std::optional<kernels::cuda::expression::ComputedScan> computed;
};

/// Matches a query that is no more than a filter and the best rows by one ranking term. It has programs if all of its
/// operations have a form on the device. It is a scan of columns, too, if the condition is a conjunction of comparisons
/// of columns with constants and of tests for NULL, and the term a column or a weighted sum of columns, computed in
/// floats.
DeviceScan match_scan(DeviceQueryState& device_state, const query::BoundQuery& query, const Table& table);

}  // namespace skyrank::exec
