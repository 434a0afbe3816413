#pragma once

#include <optional>

#include "engine/device/device_query_state.hpp"
#include "engine/expression/program.hpp"

namespace skyrank::exec {

/// A compiled expression as a program of the device. Parts that have no form there (strings, `log`, `exp`: the
/// functions of the two libraries differ in the last bit) are evaluated by the host, for all rows of the table, and
/// sent as columns. Nothing where that fails for some row, or the program would need too large a stack.
std::optional<kernels::cuda::expression::DeviceExpression> translate(DeviceQueryState& device_state,
                                                                     const Program& program);

}  // namespace skyrank::exec
