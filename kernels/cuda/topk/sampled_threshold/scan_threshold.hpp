#pragma once

#include <optional>

#include "kernels/common/algorithm.hpp"
#include "kernels/common/column_scan.hpp"
#include "kernels/common/problem.hpp"
#include "kernels/cuda/topk/sampled_threshold/threshold_plan.hpp"

namespace skyrank::kernels::cuda::topk {

/// cuda-sampled-threshold without keys in memory. Nothing where the guess was wrong, ties are all to be kept, or the
/// problem is too small, or k too large, for a guess to pay.
std::optional<TopKSolution> best_of_scan(const ScanProblem& problem, const ParameterValues& parameters,
                                         const Context& context);

/// The same for programs instead of a scan. Nothing where a row fails, either, or the programs are too long.
std::optional<TopKSolution> best_of_computed(const ScanProblem& problem, const ThresholdPlan& plan,
                                             const Context& context);

}  // namespace skyrank::kernels::cuda::topk
