#pragma once

#include <optional>

#include "engine/expression/lowering/step_operation.hpp"

// Fuses a load and a comparison with constants into one step: the constants become bounds in the column's own type, so
// that a kernel compares stored values without converting them.
namespace skyrank::exec::lowering {

/// Returns the step that tests a column, loaded by `load`, as `comparison` compares it with constants: by bounds of the
/// column's own type. Nothing where the two have no such step.
std::optional<Step> make_column_test(const Step& load, const Step& comparison);

}  // namespace skyrank::exec::lowering
