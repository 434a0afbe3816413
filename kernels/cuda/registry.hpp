#pragma once

#include <optional>
#include <span>

#include "kernels/common/column_scan.hpp"
#include "kernels/registry.hpp"

// The part of the registry that needs CUDA. In a build without it there is none.
namespace skyrank::kernels::cuda {

std::span<const SkylineAlgorithm* const> skyline_algorithms();
std::span<const TopKAlgorithm* const> topk_algorithms();

/// Of the rows that a filter lets through, the k best, or all if they are fewer, in one pass over columns without keys
/// in memory. Nothing where the algorithm's guess was wrong, a row fails, or the algorithm had rather have keys.
using RunScan = std::optional<TopKSolution> (*)(const ScanProblem& problem, const Context& context);

/// Null for algorithms that always need keys.
RunScan run_scan_of(const TopKAlgorithm& algorithm);

}  // namespace skyrank::kernels::cuda
