#pragma once

#include <span>
#include <string>
#include <vector>

#include "kernels/common/problem.hpp"

// Checks answers by code that shares nothing with the algorithms but the problem structs.
namespace skyrank::bench {

using Answer = std::vector<kernels::RowId>;

/// Returns the fault of each of the different answers that were given to one problem; empty for a right one. Flat
/// Pareto only. An answer is right when no row of it dominates another and every other row is dominated by one of it.
/// A random sample of rows is judged if all would take more than some 10^8 comparisons of rows. Rows about
/// which answers differ (up to 1,000) are compared with all others, so of two different answers at most one passes.
std::vector<std::string> judge(const kernels::SkylineProblem& problem, std::span<const Answer> answers);

/// The same for top-k, where answers are compared with one whose last key is found byte by byte, in linear time. Under
/// TieRule::any different answers may be right.
std::vector<std::string> judge(const kernels::TopKProblem& problem, std::span<const Answer> answers);

}  // namespace skyrank::bench
