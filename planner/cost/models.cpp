#include "planner/cost/models.hpp"

#include <algorithm>

#ifdef SKYRANK_PAPERS
#include "planner/cost/papers/models.hpp"
#endif

namespace skyrank::planner::cost {

// The only place of the planner that knows algorithms by name.
std::span<const NamedModel<kernels::SkylineShape>> skyline_models() {
  static constexpr NamedModel<kernels::SkylineShape> kModels[] = {
      {"bnl", {bnl}},
      {"sfs", {sfs, block_candidates}},
      {"blocked-bitmap", {blocked_bitmap}},
      {"skyalign", {skyalign}},
      {"cuda-skyalign", {cuda_skyalign, cuda_skyalign_candidates}},
      {"cuda-blocked-bitmap", {cuda_blocked_bitmap}},
#ifdef SKYRANK_PAPERS
      {"salsa", {salsa, block_candidates}},
      {"bskytree", {bskytree}},
      {"hybrid", {hybrid, block_candidates}},
      {"cuda-gnl", {cuda_gnl}},
      {"cuda-ggs", {cuda_ggs, cuda_ggs_candidates}},
#endif
  };
  return kModels;
}

std::span<const NamedModel<kernels::TopKShape>> topk_models() {
  static constexpr NamedModel<kernels::TopKShape> kModels[] = {
      {"sort", {sort}},
      {"heap", {heap}},
      {"nth-element", {nth_element}},
      {"sampled-threshold", {sampled_threshold}},
      {"cuda-sampled-threshold", {cuda_sampled_threshold}},
#ifdef SKYRANK_PAPERS
      {"stl-heap", {stl_heap}},
      {"bitonic", {bitonic}},
      {"cuda-sort", {cuda_sort}},
      {"cuda-dr-topk", {cuda_dr_topk, cuda_dr_topk_candidates, false}},
      {"cuda-radix-select", {cuda_radix_select, cuda_radix_select_candidates}},
      {"cuda-bucket-select", {cuda_bucket_select, cuda_bucket_select_candidates}},
      {"cuda-bitonic", {cuda_bitonic, cuda_bitonic_candidates}},
      {"cuda-per-thread", {cuda_per_thread}},
      {"cuda-per-thread-registers", {cuda_per_thread_registers}},
      {"cuda-randomized", {cuda_randomized, cuda_randomized_candidates}},
#endif
  };
  return kModels;
}

namespace {

template <class Shape>
Model<Shape> named(std::span<const NamedModel<Shape>> models, std::string_view algorithm) {
  const auto found = std::ranges::find(models, algorithm, &NamedModel<Shape>::first);
  return found == models.end() ? Model<Shape>{} : found->second;
}

}  // namespace

SkylineModel skyline_model(std::string_view algorithm) { return named(skyline_models(), algorithm); }

TopKModel topk_model(std::string_view algorithm) { return named(topk_models(), algorithm); }

}  // namespace skyrank::planner::cost
