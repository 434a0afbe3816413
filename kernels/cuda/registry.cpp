#include "kernels/cuda/registry.hpp"

namespace skyrank::kernels::cuda {

namespace topk {
extern const TopKAlgorithm sort;
}  // namespace topk

std::span<const SkylineAlgorithm* const> skyline_algorithms() { return {}; }

std::span<const TopKAlgorithm* const> topk_algorithms() {
  static constexpr const TopKAlgorithm* kAll[] = {&topk::sort};
  return kAll;
}

}  // namespace skyrank::kernels::cuda
