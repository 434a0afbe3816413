#pragma once

#include <optional>

#include "kernels/common/column_scan.hpp"
#include "kernels/common/parameters.hpp"
#include "kernels/common/problem.hpp"

namespace skyrank::kernels::cuda::topk {

/// cuda-sampled-threshold over programs, without keys in memory. Nothing where the guess was wrong, a row fails, the
/// programs are too long, ties are all to be kept, or the problem is too small, or k too large, for a guess to pay.
std::optional<TopKSolution> best_of_scan(const ScanProblem& problem, const ParameterValues& parameters,
                                         const Context& context);

}  // namespace skyrank::kernels::cuda::topk
