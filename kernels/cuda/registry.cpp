#include "kernels/cuda/registry.hpp"

namespace skyrank::kernels::cuda {

namespace skyline {
extern const SkylineAlgorithm skyalign;
extern const SkylineAlgorithm blocked_bitmap;
// In kernels/papers.
extern const SkylineAlgorithm gnl;
extern const SkylineAlgorithm ggs;
}  // namespace skyline

namespace topk {
extern const TopKAlgorithm sampled_threshold;
// In kernels/papers.
extern const TopKAlgorithm sort;
extern const TopKAlgorithm dr_topk;
extern const TopKAlgorithm radix_in_place;
extern const TopKAlgorithm radix_select;
extern const TopKAlgorithm bucket_select;
extern const TopKAlgorithm bitonic;
extern const TopKAlgorithm per_thread;
extern const TopKAlgorithm per_thread_registers;
extern const TopKAlgorithm randomized_select;
extern const TopKAlgorithm thrust_sort;
extern const TopKAlgorithm bit_by_bit;
extern const TopKAlgorithm cutting_plane;
}  // namespace topk

std::span<const SkylineAlgorithm* const> skyline_algorithms() {
  static constexpr const SkylineAlgorithm* kAll[] = {
      &skyline::skyalign,
      &skyline::blocked_bitmap,
#ifdef SKYRANK_PAPERS
      &skyline::gnl,
      &skyline::ggs,
#endif
  };
  return kAll;
}

std::span<const TopKAlgorithm* const> topk_algorithms() {
  static constexpr const TopKAlgorithm* kAll[] = {
      &topk::sampled_threshold,
#ifdef SKYRANK_PAPERS
      &topk::sort,
      &topk::dr_topk,
      &topk::radix_in_place,
      &topk::radix_select,
      &topk::bucket_select,
      &topk::bitonic,
      &topk::per_thread,
      &topk::per_thread_registers,
      &topk::randomized_select,
      &topk::thrust_sort,
      &topk::bit_by_bit,
      &topk::cutting_plane,
#endif
  };
  return kAll;
}

}  // namespace skyrank::kernels::cuda
