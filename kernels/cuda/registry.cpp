#include "kernels/cuda/registry.hpp"

#include "kernels/cuda/skyline/resident.hpp"
#include "kernels/cuda/topk/sampled_threshold/scan_threshold.hpp"

namespace skyrank::kernels::cuda {

namespace skyline {
extern const SkylineAlgorithm gnl;
extern const SkylineAlgorithm ggs;
extern const SkylineAlgorithm skyalign;
extern const SkylineAlgorithm blocked_bitmap;
extern const RunResident gnl_resident;
extern const RunResident ggs_resident;
extern const RunResident skyalign_resident;
extern const RunResident blocked_bitmap_resident;
}  // namespace skyline

namespace topk {
extern const TopKAlgorithm sort;
extern const TopKAlgorithm dr_topk;
extern const TopKAlgorithm sampled_threshold;
extern const TopKAlgorithm radix_select;
extern const TopKAlgorithm bucket_select;
extern const TopKAlgorithm bitonic;
extern const TopKAlgorithm per_thread;
extern const TopKAlgorithm per_thread_registers;
extern const TopKAlgorithm randomized_select;
}  // namespace topk

std::span<const SkylineAlgorithm* const> skyline_algorithms() {
  static constexpr const SkylineAlgorithm* kAll[] = {
      &skyline::gnl,
      &skyline::ggs,
      &skyline::skyalign,
      &skyline::blocked_bitmap,
  };
  return kAll;
}

std::span<const TopKAlgorithm* const> topk_algorithms() {
  static constexpr const TopKAlgorithm* kAll[] = {
      &topk::sort,    &topk::dr_topk,    &topk::sampled_threshold,    &topk::radix_select,      &topk::bucket_select,
      &topk::bitonic, &topk::per_thread, &topk::per_thread_registers, &topk::randomized_select,
  };
  return kAll;
}

RunResident run_resident_of(const SkylineAlgorithm& algorithm) {
  if (&algorithm == &skyline::gnl) return skyline::gnl_resident;
  if (&algorithm == &skyline::ggs) return skyline::ggs_resident;
  if (&algorithm == &skyline::skyalign) return skyline::skyalign_resident;
  return &algorithm == &skyline::blocked_bitmap ? skyline::blocked_bitmap_resident : nullptr;
}

RunScan run_scan_of(const TopKAlgorithm& algorithm) {
  return &algorithm == &topk::sampled_threshold ? best_of_scan : nullptr;
}

}  // namespace skyrank::kernels::cuda
