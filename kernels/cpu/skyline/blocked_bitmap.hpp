#pragma once

#include <cstdint>

#include "kernels/common/problem.hpp"

namespace skyrank::kernels::skyline {

/// The rows that the prefilters of blocked-bitmap leave.
struct Prefiltered {
  RawVector<std::uint32_t> rows;  ///< ascending; the whole skyline is among them
  Work work;                      ///< counters of the prefilters
};

/// Drops rows that a few strong ones of a sample dominate: most of independent rows, few of anticorrelated ones. The
/// problem is one of flat Pareto of at least one row.
Prefiltered prefilter(const SkylineProblem& problem, const Context& context);

}  // namespace skyrank::kernels::skyline
