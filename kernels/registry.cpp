#include "kernels/registry.hpp"

#include <vector>

#include "kernels/cpu/skyline/sweep.hpp"
#include "kernels/cuda/registry.hpp"

namespace skyrank::kernels {

namespace skyline {
extern const SkylineAlgorithm bnl;
extern const SkylineAlgorithm sfs;
extern const SkylineAlgorithm blocked_bitmap;
extern const SkylineAlgorithm skyalign;
// In kernels/papers.
extern const SkylineAlgorithm salsa;
extern const SkylineAlgorithm bskytree;
extern const SkylineAlgorithm hybrid;
extern const SkylineAlgorithm pskyline;
extern const SkylineAlgorithm divide_and_conquer;
}  // namespace skyline

namespace topk {
extern const TopKAlgorithm sort;
extern const TopKAlgorithm heap;
extern const TopKAlgorithm nth_element;
extern const TopKAlgorithm sampled_threshold;
// In kernels/papers.
extern const TopKAlgorithm stl_heap;
extern const TopKAlgorithm bitonic;
extern const TopKAlgorithm dr_topk;
extern const TopKAlgorithm block_max_wand;
}  // namespace topk

namespace {

template <class Algorithm>
std::vector<const Algorithm*> joined(std::span<const Algorithm* const> cpu, std::span<const Algorithm* const> cuda) {
  std::vector<const Algorithm*> all(cpu.begin(), cpu.end());
  all.insert(all.end(), cuda.begin(), cuda.end());
  return all;
}

}  // namespace

std::span<const SkylineAlgorithm* const> skyline_algorithms() {
  static constexpr const SkylineAlgorithm* kCpu[] = {
      &skyline::bnl,   &skyline::sfs,      &skyline::sweep,  &skyline::blocked_bitmap, &skyline::skyalign,
#ifdef SKYRANK_PAPERS
      &skyline::salsa, &skyline::bskytree, &skyline::hybrid, &skyline::pskyline,       &skyline::divide_and_conquer,
#endif
  };
  static const auto kAll = joined<SkylineAlgorithm>(kCpu, cuda::skyline_algorithms());
  return kAll;
}

std::span<const TopKAlgorithm* const> topk_algorithms() {
  static constexpr const TopKAlgorithm* kCpu[] = {
      &topk::sort,     &topk::heap,    &topk::nth_element, &topk::sampled_threshold,
#ifdef SKYRANK_PAPERS
      &topk::stl_heap, &topk::bitonic, &topk::dr_topk,     &topk::block_max_wand,
#endif
  };
  static const auto kAll = joined<TopKAlgorithm>(kCpu, cuda::topk_algorithms());
  return kAll;
}

}  // namespace skyrank::kernels
