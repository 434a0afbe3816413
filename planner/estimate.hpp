#pragma once

#include <cstddef>

namespace skyrank::planner {

/// Expected number of skyline rows among n rows of d independent attributes without equal values, at most n. What the
/// planner assumes where it has no statistics.
double expected_skyline(std::size_t n, std::size_t d);

}  // namespace skyrank::planner
