#include "kernels/cuda/registry.hpp"

#include "kernels/cuda/skyline/resident.hpp"
#include "kernels/cuda/topk/sampled_threshold/scan_threshold.hpp"

namespace skyrank::kernels::cuda {

namespace skyline {
extern const SkylineAlgorithm skyalign;
extern const SkylineAlgorithm blocked_bitmap;
extern const RunResident skyalign_resident;
extern const RunResident blocked_bitmap_resident;
// In kernels/papers.
extern const SkylineAlgorithm gnl;
extern const SkylineAlgorithm ggs;
extern const RunResident gnl_resident;
extern const RunResident ggs_resident;

RunResident run_resident_of(const SkylineAlgorithm& algorithm) {
  if (&algorithm == &skyalign) return skyalign_resident;
  if (&algorithm == &blocked_bitmap) return blocked_bitmap_resident;
#ifdef SKYRANK_PAPERS
  if (&algorithm == &gnl) return gnl_resident;
  if (&algorithm == &ggs) return ggs_resident;
#endif
  return nullptr;
}

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
extern const RunScan bitonic_scan;
extern const RunPart dr_topk_part;
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

RunScan run_scan_of(const TopKAlgorithm& algorithm) {
  if (&algorithm == &topk::sampled_threshold) return topk::best_of_scan;
#ifdef SKYRANK_PAPERS
  if (&algorithm == &topk::bitonic) return topk::bitonic_scan;
#endif
  return nullptr;
}

RunPart run_part_of([[maybe_unused]] const TopKAlgorithm& algorithm) {
#ifdef SKYRANK_PAPERS
  if (&algorithm == &topk::dr_topk) return topk::dr_topk_part;
#endif
  return nullptr;
}

}  // namespace skyrank::kernels::cuda
