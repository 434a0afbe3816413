#include "kernels/cuda/registry.hpp"

namespace skyrank::kernels::cuda {

namespace topk {
extern const TopKAlgorithm sort;
extern const TopKAlgorithm sampled_threshold;
}  // namespace topk

std::span<const SkylineAlgorithm* const> skyline_algorithms() { return {}; }

std::span<const TopKAlgorithm* const> topk_algorithms() {
  static constexpr const TopKAlgorithm* kAll[] = {&topk::sort, &topk::sampled_threshold};
  return kAll;
}

}  // namespace skyrank::kernels::cuda
