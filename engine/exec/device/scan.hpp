#pragma once

#include <optional>

#include "engine/exec/device/session.hpp"
#include "kernels/common/column_scan.hpp"
#include "kernels/cuda/expression/columns.hpp"

namespace skyrank::exec {

/// A filter and a score over columns on the device: one of the two, or none where neither can be had.
struct DeviceScan {
  std::optional<kernels::ColumnScan> columns;
  std::optional<kernels::cuda::expression::ComputedScan> computed;
};

/// Of a query that is no more than a filter and the best rows by one ranking term: as one scan of columns where the
/// condition is a conjunction of comparisons of columns with constants and of questions whether they are NULL, and the
/// term a column or a weighted sum of columns, computed in floats; else as programs, where these have a form on the
/// device.
DeviceScan match_scan(DeviceSession& session, const query::BoundQuery& query, const Table& table);

}  // namespace skyrank::exec
