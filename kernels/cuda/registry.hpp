#pragma once

#include <span>

#include "kernels/common/algorithm.hpp"

// The part of the registry that needs CUDA. In a build without it there is none.
namespace skyrank::kernels::cuda {

std::span<const SkylineAlgorithm* const> skyline_algorithms();
std::span<const TopKAlgorithm* const> topk_algorithms();

}  // namespace skyrank::kernels::cuda
