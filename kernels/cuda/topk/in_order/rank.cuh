#pragma once

#include <algorithm>
#include <bit>

#include "kernels/cuda/device/kernel/block.cuh"
#include "kernels/cuda/device/kernel/shared.cuh"
#include "kernels/cuda/device/launch.cuh"
#include "kernels/cuda/topk/block_select.cuh"
#include "kernels/cuda/topk/in_order/list_part.cuh"
#include "kernels/cuda/topk/in_order/policy.hpp"

// Few elements in order: each is compared with all others, and the count of those below it is its rank.
namespace skyrank::kernels::cuda::topk {

inline constexpr unsigned kCountThreads = CountPolicy::kThreads;

/// Each lane has an element, the same ones in all warps of a block; each warp counts in its part of the list.
template <class Element>
__global__ void __launch_bounds__(kCountThreads)
    rank_by_counting(Part<Element> part, Ranked<Element> ranked, Zeros zeros) {
  constexpr unsigned kWarps = kCountThreads / kLanes;
  __shared__ __align__(16) Element chunks[kWarps][kLanes];
  __shared__ unsigned ranks[kLanes];
  wait_for_previous();
  let_next_start();
  zeros.set();
  if (part.failed()) {
    if (threadIdx.x == 0) part.guess->failed = 1;
    return;
  }
  const unsigned lane = threadIdx.x % kLanes;
  const unsigned warp = threadIdx.x / kLanes;
  const std::size_t size = part.size();
  for (std::size_t first = std::size_t{blockIdx.x} * kLanes; first < size; first += std::size_t{gridDim.x} * kLanes) {
    const bool there = first + lane < size;
    const Element mine = there ? part.at(first + lane) : kNoElement<Element>;
    if (warp == 0) ranks[lane] = 0;
    unsigned below = 0;
    Element next = warp * kLanes + lane < size ? part.at(warp * kLanes + lane) : kNoElement<Element>;
    for (std::size_t from = warp * kLanes; from < size; from += kCountThreads) {
      chunks[warp][lane] = next;
      const std::size_t place = from + kCountThreads + lane;
      next = place < size ? part.at(place) : kNoElement<Element>;
      __syncwarp();
#pragma unroll
      for (unsigned i = 0; i < kLanes; ++i) below += chunks[warp][i] < mine ? 1 : 0;
      __syncwarp();
    }
    __syncthreads();
    atomicAdd(&ranks[lane], below);
    __syncthreads();
    if (warp == 0 && there) ranked.put(ranks[lane], mine);
    __syncthreads();
  }
}

/// How rank_least divides its work. Its dynamic shared memory holds `groups` minima, then `room` elements, then as many
/// places.
struct LeastPlan {
  unsigned groups = 0;  ///< groups, the k-th least minimum of which bounds the k least; a multiple of kCountThreads
  unsigned room = 0;    ///< elements within that bound that a block holds, at least k
  unsigned blocks = 0;  ///< each ranks some of these

  template <class Element>
  std::size_t shared_bytes() const {
    return groups * sizeof(Element) + room * (sizeof(Element) + sizeof(unsigned));
  }
};

/// Neighbours are in different groups, so that seldom more than a few of the wanted elements share one.
inline LeastPlan plan_for_least(std::size_t k) {
  const auto groups =
      static_cast<unsigned>(std::bit_ceil(std::max<std::size_t>(CountPolicy::kGroupsOfWanted * k, kCountThreads)));
  return {.groups = groups, .room = static_cast<unsigned>(2 * k) + kCountThreads / 2, .blocks = CountPolicy::kBlocks};
}

/// The k least of a list that is much longer. Every block bounds them by the k-th least of the minima of groups,
/// gathers what is within the bound, and ranks some of that: the list is short enough for each to read all of it.
template <class Element>
class LeastOfList {
 public:
  struct Shared {
    BlockSelect<Element, kCountThreads> select;
    unsigned count;
    unsigned own;
  };

  __device__ LeastOfList(const Part<Element>& part, const LeastPlan& plan, unsigned k, Shared& shared)
      : part_(part),
        plan_(plan),
        k_(k),
        size_(part.size()),
        shared_(shared),
        minima_(dynamic_shared<Element>()),
        held_(minima_ + plan.groups),
        own_(reinterpret_cast<unsigned*>(held_ + plan.room)) {}

  __device__ void gather() {
    gather_within(bound_of_minima());
    if (shared_.count > plan_.room) gather_within(exact_bound());
  }

  /// A warp an element.
  __device__ void rank(const Ranked<Element>& ranked) const {
    const unsigned lane = threadIdx.x % kLanes;
    for (unsigned i = threadIdx.x / kLanes; i < shared_.own; i += kCountThreads / kLanes) {
      const Element mine = held_[own_[i]];
      unsigned below = 0;
      for (unsigned j = lane; j < shared_.count; j += kLanes) below += held_[j] < mine ? 1 : 0;
      below = __reduce_add_sync(kAllLanes, below);
      if (lane == 0) ranked.put(below, mine);
    }
  }

 private:
  /// The k-th least of the minima, which only that many groups' elements are below or at.
  __device__ Element bound_of_minima() {
    for (unsigned group = threadIdx.x; group < plan_.groups; group += kCountThreads)
      minima_[group] = kNoElement<Element>;
    for_each([&](std::size_t i, Element element) {
      Element& least = minima_[static_cast<unsigned>(i) & (plan_.groups - 1)];  // a place of this thread alone
      if (element < least) least = element;
    });
    const auto filled = static_cast<unsigned>(min(size_, std::size_t{plan_.groups}));
    SetBits<Element> bits;
    for (unsigned group = threadIdx.x; group < filled; group += kCountThreads) bits.add(minima_[group]);
    __syncthreads();
    if (filled <= k_) return kNoElement<Element>;
    return shared_.select.kth(minima_, filled, k_, bits);
  }

  __device__ Element exact_bound() {
    SetBits<Element> bits;
    for_each([&](std::size_t /*i*/, Element element) { bits.add(element); });
    __syncthreads();
    return shared_.select.kth(part_.elements, static_cast<unsigned>(size_), k_, bits);
  }

  /// Each block meets them in an order of its own, but ranks those of its own places in the list.
  __device__ void gather_within(Element bound) {
    __syncthreads();
    if (threadIdx.x == 0) {
      shared_.count = 0;
      shared_.own = 0;
    }
    __syncthreads();
    for_each([&](std::size_t i, Element element) {
      if (element > bound) return;
      const unsigned place = atomicAdd(&shared_.count, 1u);
      if (place >= plan_.room) return;
      held_[place] = element;
      if (static_cast<unsigned>(i) / kLanes % gridDim.x == blockIdx.x) own_[atomicAdd(&shared_.own, 1u)] = place;
    });
    __syncthreads();
  }

  /// Calls what(i, element) for this thread's part of the list, of which it loads several at a time: each load takes a
  /// way to the L2 cache and back.
  template <class What>
  __device__ void for_each(What what) const {
    constexpr unsigned kAtATime = 64 / sizeof(Element);
    for (std::size_t first = threadIdx.x; first < size_; first += kAtATime * kCountThreads) {
      Element elements[kAtATime];
#pragma unroll
      for (unsigned j = 0; j < kAtATime; ++j) {
        const std::size_t i = first + j * kCountThreads;
        elements[j] = i < size_ ? part_.elements[i] : kNoElement<Element>;
      }
#pragma unroll
      for (unsigned j = 0; j < kAtATime; ++j) {
        const std::size_t i = first + j * kCountThreads;
        if (i < size_) what(i, elements[j]);
      }
    }
  }

  const Part<Element>& part_;
  const LeastPlan& plan_;
  unsigned k_;
  std::size_t size_;
  Shared& shared_;
  Element* minima_;
  Element* held_;
  unsigned* own_;
};

template <class Element>
__global__ void __launch_bounds__(kCountThreads)
    rank_least(Part<Element> part, Ranked<Element> ranked, LeastPlan plan) {
  __shared__ typename LeastOfList<Element>::Shared shared;
  wait_for_previous();
  let_next_start();
  if (part.failed()) {
    if (threadIdx.x == 0) part.guess->failed = 1;
    return;
  }
  LeastOfList<Element> least(part, plan, static_cast<unsigned>(ranked.answer.k), shared);
  least.gather();
  least.rank(ranked);
}

}  // namespace skyrank::kernels::cuda::topk
