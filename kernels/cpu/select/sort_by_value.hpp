#pragma once

#include <span>

#include "kernels/common/problem.hpp"

namespace skyrank::kernels {

/// Sorts rows by their values, none of them NaN, then by row id. `values` has a value for each row id; -0.0 equals 0.0.
/// Throws Cancelled soon after the context asks for it.
void sort_by_value(std::span<RowId> rows, std::span<const double> values, const Context& context);

}  // namespace skyrank::kernels
