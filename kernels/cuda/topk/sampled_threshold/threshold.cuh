#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "kernels/cuda/device/kernel/block.cuh"
#include "kernels/cuda/device/kernel/scan.cuh"
#include "kernels/cuda/device/launch.cuh"
#include "kernels/cuda/topk/block/block_select.cuh"
#include "kernels/cuda/topk/block/guess.cuh"
#include "kernels/cuda/topk/sampled_threshold/bins.cuh"
#include "kernels/cuda/topk/sampled_threshold/policy.hpp"
#include "kernels/cuda/topk/sampled_threshold/threshold_plan.hpp"

// A threshold from a sample, and the knots of bins. `Rows` says what the elements are: keys (tiles.cuh), or whatever
// else has the same members.
namespace skyrank::kernels::cuda::topk {

inline constexpr unsigned kSampleThreads = FindPolicy::kThreads;

/// The least of each group of `size` / 2 neighbouring threads, a power of two. Thread i has that of group i in the end.
template <class Element>
__device__ Element least_of_groups(Element least, unsigned size) {
  constexpr unsigned kOfWarp = 2 * kLanes;
  __shared__ Element lanes_least[kSampleThreads];
  const auto reduce = [&](unsigned lanes) {
    for (unsigned distance = 1; distance < lanes; distance *= 2) {
      const Element other = from_lane_xor(least, distance);
      if (other < least) least = other;
    }
  };
  reduce(min(size, kOfWarp) / 2);
  lanes_least[threadIdx.x] = least;
  __syncthreads();
  if (size <= kOfWarp) return lanes_least[threadIdx.x * (size / 2) % kSampleThreads];
  if (threadIdx.x >= kLanes) return least;
  least = lanes_least[threadIdx.x * kLanes];
  const unsigned warps = size / kOfWarp;
  reduce(warps);
  __syncwarp();
  lanes_least[threadIdx.x] = least;
  __syncwarp();
  return lanes_least[threadIdx.x * warps % kLanes];
}

/// The lesser of two of `count` sampled elements. `Rows` may have found these before.
template <class Rows>
__device__ typename Rows::Element least_sampled(const Rows& rows, const std::size_t (&which)[2], std::size_t count) {
  typename Rows::Element a;
  typename Rows::Element b;
  if constexpr (requires { rows.sampled(which[0]); }) {
    a = rows.sampled(which[0]);
    b = rows.sampled(which[1]);
  } else {
    a = rows.at(sampled_place(which[0], count, rows.size()));
    b = rows.at(sampled_place(which[1], count, rows.size()));
  }
  return b < a ? b : a;
}

/// The least of one or two of a block's `of_block` sampled rows, in groups of `size`, of `groups` in all.
template <class Rows>
__device__ typename Rows::Element least_of_thread(const Rows& rows, unsigned of_block, unsigned size, unsigned groups) {
  const std::size_t all = std::size_t{gridDim.x} * of_block;
  const unsigned of_thread = of_block > kSampleThreads ? 2 : 1;
  const unsigned first = of_thread * threadIdx.x;
  const unsigned group = first / size * gridDim.x + blockIdx.x;
  const auto which = [&](unsigned member) { return sample_of_group(group, member, groups); };
  if (of_thread == 2) return least_sampled(rows, {which(first % size), which(first % size + 1)}, all);
  if (first >= of_block) return kNoElement<typename Rows::Element>;
  if constexpr (requires { rows.sampled(first); })
    return rows.sampled(which(first % size));
  else
    return rows.at(sampled_place(which(first % size), all, rows.size()));
}

/// Picks the knots among the elements below the threshold of a block's `size`, `below` in all, evenly by their places,
/// since ascending rows have their minima in order. All threads of a block call it.
template <class Element>
__device__ void choose_knots(const Element* elements, unsigned size, Element threshold, unsigned below,
                             const BinRule<Element>& rule) {
  constexpr unsigned kOfKnot = FindPolicy::kThreadsOfKnot;
  __shared__ Element chosen[kMaxKnots];
  const unsigned wanted = rule.count - 1;
  if (threadIdx.x == 0) rule.knots[wanted] = threshold;
  unsigned before_all = 0;
  for (unsigned first = 0; first < size; first += blockDim.x) {
    const Element element = first + threadIdx.x < size ? elements[first + threadIdx.x] : kNoElement<Element>;
    const bool is_below = element < threshold;
    unsigned of_block = 0;
    const unsigned which = before_all + sum_before<kSampleThreads>(is_below ? 1u : 0u, of_block);
    before_all += of_block;
    // The places of those before it are i * wanted / below. It is the first of its place if the last one's is another.
    const unsigned place = which * wanted / below;
    if (is_below && which * wanted - place * below < wanted) chosen[place] = element;
  }
  __syncthreads();
  for (unsigned first = 0; first < wanted; first += blockDim.x / kOfKnot) {
    const unsigned own = first + threadIdx.x / kOfKnot;
    const Element mine = own < wanted ? chosen[own] : kNoElement<Element>;
    unsigned rank = 0;
#pragma unroll 2
    for (unsigned i = threadIdx.x % kOfKnot; i < wanted; i += kOfKnot) rank += chosen[i] < mine ? 1 : 0;
    for (int distance = 1; distance < int{kOfKnot}; distance *= 2) rank += __shfl_xor_sync(kAllLanes, rank, distance);
    if (own < wanted && threadIdx.x % kOfKnot == 0) rule.knots[rank] = mine;
  }
}

/// The threshold is the element of rank `rank` among the minima of groups of `size` sampled elements, a power of two
/// from 2 to `of_block`. Each block samples `of_block` rows, a power of two up to kMaxOfBlock, and hands on its
/// minima; the last one to finish selects among all of them, and chooses the knots of a rule, if it has some.
/// With `looks_ahead` the scan's blocks may start once the random reads are under way, not only when they are done.
template <class Rows>
__device__ void guess_threshold(const Rows& rows, unsigned of_block, unsigned size, unsigned rank,
                                Guess<typename Rows::Element>* guess, typename Rows::Element* minima, unsigned* arrived,
                                bool looks_ahead, const BinRule<typename Rows::Element>& rule) {
  using Element = typename Rows::Element;
  constexpr unsigned kStaged = FindPolicy::kStagedBytes / sizeof(Element);
  static_assert(kMaxOfBlock == 2 * kSampleThreads);
  __shared__ Element staged[kStaged];
  __shared__ BlockSelect<Element, kSampleThreads> select;
  const unsigned groups_of_block = of_block / size;
  const unsigned groups = groups_of_block * gridDim.x;
  const unsigned of_thread = of_block > kSampleThreads ? 2 : 1;
  Element least = least_of_thread(rows, of_block, size, groups);
  if (looks_ahead) let_next_start();
  least = least_of_groups(least, size * (2 / of_thread));
  let_next_start();  // any other scan that begins to read while the random reads are under way only slows these
  const bool alone = gridDim.x == 1;  // it needs no minima but its threads' own
  static_assert(kStaged >= kSampleThreads);
  if (!alone) {
    if (threadIdx.x < groups_of_block) minima[threadIdx.x * gridDim.x + blockIdx.x] = least;
    if (!last_block(arrived)) return;
  }
  const bool fits = groups <= kStaged;
  SetBits<Element> bits;
  for (unsigned i = threadIdx.x; i < groups; i += kSampleThreads) {
    const Element element = alone ? least : minima[i];
    bits.add(element);
    if (fits) staged[i] = element;
  }
  __syncthreads();
  const Element* const chosen_from = fits ? staged : minima;
  const Element threshold = select.kth(chosen_from, groups, rank, bits);
  if (threadIdx.x == 0) *guess = {.failed = 0, .candidates = 0, .threshold = threshold};
  if (rule.count > 0) choose_knots(chosen_from, groups, threshold, rank - 1, rule);
}

/// Besides, empties bins, where there are some.
template <class Rows>
__global__ void __launch_bounds__(kSampleThreads)
    find_threshold(const __grid_constant__ Rows rows, unsigned of_block, unsigned size, unsigned rank,
                   Guess<typename Rows::Element>* guess, typename Rows::Element* minima, unsigned* arrived,
                   const __grid_constant__ Bins<typename Rows::Element> bins, bool looks_ahead) {
  if (bins.some()) bins.clear();
  guess_threshold(rows, of_block, size, rank, guess, minima, arrived, looks_ahead, bins.rule);
}

}  // namespace skyrank::kernels::cuda::topk
