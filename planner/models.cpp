#include "planner/cost/models.hpp"

#include <algorithm>

#ifdef SKYRANK_PAPERS
#include "planner/cost/papers/models.hpp"
#endif

namespace skyrank::planner::cost {
namespace {

/// Marks the algorithm of a model as a reference.
template <class Shape>
constexpr Model<Shape> reference(Model<Shape> model) {
  model.reference = true;
  return model;
}

/// Returns true if rows are compared by flat Pareto in so few columns that a sweep takes O(n log n), whatever the size
/// of the skyline. All other algorithms of the CPU are quadratic in that size, and a sample may not show it.
bool is_swept(const kernels::SkylineShape& shape) { return shape.d <= 3 && !shape.general_order; }

bool is_not_swept(const kernels::SkylineShape& shape) { return !is_swept(shape); }

/// Returns true if rows may be compared one by one: they are few, or no other algorithm supports their order.
bool is_compared(const kernels::SkylineShape& shape) {
  constexpr std::size_t kMaxRows = 1000;
  return shape.general_order || (shape.n <= kMaxRows && !is_swept(shape));
}

/// Returns true if the rows are so few that a heap takes a fraction of a millisecond even if each of them enters it.
/// With more, it saves little where it is the cheapest, and an order that no sample shows costs a hundred times as
/// much.
bool is_few(const kernels::TopKShape& shape) {
  constexpr std::size_t kMaxRows = 4096;
  return shape.n <= kMaxRows;
}

}  // namespace

// The only place of the planner that knows algorithms by name. The references lose to the others, or win little, on
// every kind of held-out problem (README.md).
std::span<const NamedModel<kernels::SkylineShape>> skyline_models() {
  static constexpr NamedModel<kernels::SkylineShape> kModels[] = {
      {"bnl", {.cost = bnl, .suits = is_compared, .guarded = bnl_steps}},
      {"sfs", {.cost = sfs, .candidates = block_candidates, .suits = is_compared}},
      {"sweep", {.cost = sweep, .suits = is_swept}},
      {"blocked-bitmap", {.cost = blocked_bitmap, .suits = is_not_swept}},
      {"skyalign", reference(SkylineModel{skyalign})},
      {"cuda-skyalign", reference(SkylineModel{cuda_skyalign, cuda_skyalign_candidates})},
      {"cuda-blocked-bitmap", {cuda_blocked_bitmap}},
#ifdef SKYRANK_PAPERS
      {"salsa", reference(SkylineModel{salsa, block_candidates})},
      {"bskytree", reference(SkylineModel{bskytree})},
      {"hybrid", reference(SkylineModel{hybrid, block_candidates})},
      {"pskyline", reference(SkylineModel{pskyline})},
      {"divide-and-conquer", reference(SkylineModel{divide_and_conquer})},
      {"cuda-gnl", reference(SkylineModel{cuda_gnl})},
      {"cuda-ggs", reference(SkylineModel{cuda_ggs, cuda_ggs_candidates})},
#endif
  };
  return kModels;
}

std::span<const NamedModel<kernels::TopKShape>> topk_models() {
  static constexpr NamedModel<kernels::TopKShape> kModels[] = {
      {"sort", reference(TopKModel{sort})},
      {"heap", {.cost = heap, .suits = is_few}},
      {"nth-element", {nth_element}},
      {"sampled-threshold", {sampled_threshold}},
      {"cuda-sampled-threshold", {cuda_sampled_threshold}},
#ifdef SKYRANK_PAPERS
      {"stl-heap", reference(TopKModel{stl_heap})},
      {"bitonic", reference(TopKModel{bitonic})},
      {"dr-topk", reference(TopKModel{dr_topk})},
      {"block-max-wand", reference(TopKModel{block_max_wand})},
      {"cuda-sort", reference(TopKModel{cuda_sort})},
      {"cuda-dr-topk", reference(TopKModel{cuda_dr_topk, cuda_dr_topk_candidates, false})},
      {"cuda-radix-in-place", reference(TopKModel{cuda_radix_in_place})},
      {"cuda-radix-select", reference(TopKModel{cuda_radix_select, cuda_radix_select_candidates})},
      {"cuda-bucket-select", reference(TopKModel{cuda_bucket_select, cuda_bucket_select_candidates})},
      {"cuda-bitonic", reference(TopKModel{cuda_bitonic, cuda_bitonic_candidates})},
      {"cuda-per-thread", reference(TopKModel{cuda_per_thread})},
      {"cuda-per-thread-registers", reference(TopKModel{cuda_per_thread_registers})},
      {"cuda-randomized", reference(TopKModel{cuda_randomized, cuda_randomized_candidates})},
      {"cuda-thrust-sort", reference(TopKModel{cuda_thrust_sort})},
      {"cuda-bit-by-bit", reference(TopKModel{cuda_bit_by_bit})},
      {"cuda-cutting-plane", reference(TopKModel{cuda_cutting_plane})},
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
