#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "kernels/common/algorithm.hpp"
#include "kernels/common/column_scan.hpp"

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

/// Exchanges bounds with runs over the other parts of one problem: takes a key that at least k rows of this part do not
/// exceed, and returns the least of such keys of all parts.
using BoundExchange = std::function<std::uint64_t(std::uint64_t key)>;

/// Runs an algorithm over a part of a problem of one key column. It calls the exchange at most once, and leaves rows of
/// greater keys than that returned out.
using RunPart = TopKSolution (*)(const TopKProblem& problem, const ParameterValues& parameters, const Context& context,
                                 const BoundExchange& exchange);

/// Null for algorithms that have no such bound.
RunPart run_part_of(const TopKAlgorithm& algorithm);

}  // namespace skyrank::kernels::cuda
