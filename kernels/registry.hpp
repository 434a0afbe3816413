#pragma once

#include <span>

#include "kernels/common/algorithm.hpp"

// The list of all algorithms that are built. Planner, benchmark, experiments and tests walk it; none of them names an
// algorithm by hand. Adding an algorithm: one file with one entry, its line in registry.cpp (cuda/registry.cpp for
// GPUs; under SKYRANK_PAPERS, with its name in papers/names.cpp, if no best path needs it), one cost model in planner/.
namespace skyrank::kernels {

std::span<const SkylineAlgorithm* const> skyline_algorithms();
std::span<const TopKAlgorithm* const> topk_algorithms();

}  // namespace skyrank::kernels
