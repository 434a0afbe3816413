#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "kernels/common/problem.hpp"
#include "planner/choose.hpp"
#include "planner/statistics.hpp"

// What a machine's runs take longer or shorter than an algorithm's terms say, where analysis ends: caches, branches,
// the ways of a compiler. The logarithm of this factor is a regression on features of the problem: logarithms of sizes
// and some properties, each scaled so that problems at a distance of 1 are about as far off as each other. It is
// bounded, and so are the sizes that it looks at: beyond those of runs it says what it says at their edge.
namespace skyrank::planner::cost {

/// Features of a problem by name.
std::span<const std::string_view> correction_names(bool ranking);

/// Their values, in the same order; `seconds` are what the algorithm's terms say.
std::vector<double> correction_values(const kernels::SkylineShape& shape, const Statistics& statistics,
                                      const Machine& machine, double seconds);
std::vector<double> correction_values(const kernels::TopKShape& shape, const Statistics& statistics,
                                      const Machine& machine, double seconds);

/// The factor, from a third to three; 1 where the correction is of other features.
double correction_factor(const Correction& correction, std::span<const double> values);

/// The greatest logarithm of the factor.
inline constexpr double kMostCorrected = 1.0986;

}  // namespace skyrank::planner::cost
