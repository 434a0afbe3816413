#include "kernels/registry.hpp"

namespace skyrank::kernels {

std::span<const SkylineAlgorithm* const> skyline_algorithms() { return {}; }
std::span<const TopKAlgorithm* const> topk_algorithms() { return {}; }

}  // namespace skyrank::kernels
