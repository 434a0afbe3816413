#pragma once

#include <optional>

#include "engine/expression/lowering/step_operation.hpp"

namespace skyrank::exec::lowering {

/// Returns the step that tests a column, loaded by `load`, as `comparison` compares it with constants: by bounds of the
/// column's own type. Nothing where the two have no such step.
std::optional<Step> make_column_test(const Step& load, const Step& comparison);

}  // namespace skyrank::exec::lowering
