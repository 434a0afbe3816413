#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "kernels/common/problem.hpp"
#include "planner/choose.hpp"
#include "planner/statistics.hpp"

// What a machine's runs take longer or shorter than an algorithm's terms say, where analysis ends: caches, branches,
// the ways of a compiler. The logarithm of this factor is a polynomial in logarithms of the problem's sizes and in some
// of its properties, fitted to runs. It is bounded, and so are the sizes that it looks at: beyond those of runs it says
// what it says at their edge.
namespace skyrank::planner::cost {

/// Monomials of the polynomial by name, the constant first.
std::span<const std::string_view> correction_names(bool ranking);

/// Their values for a problem, in the same order.
std::vector<double> correction_values(const kernels::SkylineShape& shape, const Statistics& statistics,
                                      const Machine& machine);
std::vector<double> correction_values(const kernels::TopKShape& shape, const Statistics& statistics,
                                      const Machine& machine);

/// The factor, by a coefficient for each monomial; from a third to three.
double correction_factor(std::span<const double> coefficients, std::span<const double> values);

/// The greatest logarithm of the factor.
inline constexpr double kMostCorrected = 1.0986;

}  // namespace skyrank::planner::cost
