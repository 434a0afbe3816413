#pragma once

#include <cstddef>

namespace skyrank::planner {

/// Expected number of skyline rows among n rows of d independent attributes without equal values, at most n. What the
/// planner assumes where it has no statistics.
double expected_skyline(std::size_t n, std::size_t d);

/// The same for any n and for a number of dimensions between whole ones, 1 or more.
double skyline_of_dims(double n, double dims);

/// The number of dimensions, from 1 to 64, at which n independent rows are expected to have a skyline of so many.
double effective_dims(double n, double skyline);

}  // namespace skyrank::planner
