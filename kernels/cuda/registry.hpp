#pragma once

#include <optional>
#include <span>

#include "kernels/common/column_scan.hpp"
#include "kernels/registry.hpp"

// The part of the registry that needs CUDA. In a build without it there is none.
namespace skyrank::kernels::cuda {

std::span<const SkylineAlgorithm* const> skyline_algorithms();
std::span<const TopKAlgorithm* const> topk_algorithms();

/// Finds the k best of the rows that pass a filter, or all if they are fewer, in one pass over columns without keys in
/// memory. Returns nothing if the algorithm's guess was wrong, a row fails, or the algorithm prefers keys.
using RunScan = std::optional<TopKSolution> (*)(const ScanProblem& problem, const ParameterValues& parameters,
                                                const Context& context);

/// Null for algorithms that always need keys.
RunScan run_scan_of(const TopKAlgorithm& algorithm);

}  // namespace skyrank::kernels::cuda
