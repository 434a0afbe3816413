#pragma once

#include <optional>

#include "engine/exec/device/session.hpp"
#include "kernels/common/column_scan.hpp"

namespace skyrank::exec {

/// A query that is no more than a filter and the best rows by one ranking term as one scan of columns on the device:
/// the condition is a conjunction of comparisons of columns with constants, the term a weighted sum of floats. Nothing
/// of any other query.
std::optional<kernels::ColumnScan> match_scan(DeviceSession& session, const query::BoundQuery& query,
                                              const Table& table);

}  // namespace skyrank::exec
