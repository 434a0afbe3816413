#pragma once

#include <cstdint>

#include "engine/keys/preference_plan.hpp"
#include "engine/operators/skyline/skyline.hpp"
#include "kernels/cpu/levels/levels.hpp"

namespace skyrank::exec {

/// Returns true if `levels_at_once` takes a preference: one whose steps are Pareto orders over keys.
bool can_level_at_once(const PreferencePlan& plan);

/// Levels, from 0, of all rows of `keys`, which are on the host; rows beyond `max_levels` get that level.
kernels::LevelsSolution levels_at_once(const SkylineKeys& keys, std::int32_t max_levels,
                                       const kernels::Context& context);

}  // namespace skyrank::exec
