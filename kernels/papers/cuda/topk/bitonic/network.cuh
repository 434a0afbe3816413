#pragma once

#include <bit>
#include <cstddef>

#include "kernels/cuda/topk/block/element.cuh"
#include "kernels/papers/cuda/topk/bitonic/steps.hpp"

// Passes of a plan on a block's tile: device code of one thread, and of one block.
namespace skyrank::kernels::cuda::topk::network {

/// Puts elements whose register numbers differ in bit kPlace in order: the lesser one first, or with `down` the greater
/// one. Where register numbers have the bit `varying`, unless that is negative, it is the other way round.
template <int kPlace, int kCount, class Element>
__device__ __forceinline__ void exchange_at(Element (&v)[kCount], int varying, bool down) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    if (((i >> kPlace) & 1) != 0) continue;
    const bool flip = varying < 0 ? down : (((i >> varying) & 1) != 0) != down;
    const Element a = v[i];
    const Element b = v[i | (1 << kPlace)];
    const bool swap = (b < a) != flip;
    v[i] = swap ? b : a;
    v[i | (1 << kPlace)] = swap ? a : b;
  }
}

/// Keeps the lesser of each two elements whose register numbers differ in bit kPlace.
template <int kPlace, int kCount, class Element>
__device__ __forceinline__ void merge_at(const Element (&v)[kCount], Element (&least)[kCount / 2]) {
#pragma unroll
  for (int i = 0; i < kCount / 2; ++i) {
    constexpr int kLow = (1 << kPlace) - 1;
    const int first = ((i & ~kLow) << 1) | (i & kLow);
    const Element a = v[first];
    const Element b = v[first | (1 << kPlace)];
    least[i] = b < a ? b : a;
  }
}

/// The same for a place, below the number of places, that is known when the kernel runs.
template <int kPlace = 0, int kCount, class Element>
__device__ __forceinline__ void exchange(Element (&v)[kCount], int place, int varying, bool down) {
  if constexpr ((2 << kPlace) < kCount) {
    if (place != kPlace) return exchange<kPlace + 1>(v, place, varying, down);
  }
  if constexpr (kCount > 1) exchange_at<kPlace>(v, varying, down);
}
template <int kPlace = 0, int kCount, class Element>
__device__ __forceinline__ void merge(const Element (&v)[kCount], Element (&least)[kCount / 2], int place) {
  if constexpr ((2 << kPlace) < kCount) {
    if (place != kPlace) return merge<kPlace + 1>(v, least, place);
  }
  merge_at<kPlace>(v, least);
}

/// Bits of the numbers of kCount registers.
template <int kCount>
inline constexpr int kPlacesOf = std::countr_zero(static_cast<unsigned>(kCount));

/// The elements of a thread: all bits of their indices but those of `mask`, and what their places are combined with.
struct Group {
  unsigned index;
  unsigned mask;
  unsigned permutation;

  /// Calls body(j, address) for each of kCount registers, the address being that of the element in shared memory.
  template <int kCount, class Body>
  __device__ __forceinline__ void for_each(int padding_shift, const Body& body) const {
    constexpr int kPlaces = kPlacesOf<kCount>;
    unsigned strides[kPlaces + 1];
    unsigned start = padded(index, padding_shift);
    unsigned left = mask;
#pragma unroll
    for (int place = 0; place < kPlaces; ++place, left &= left - 1) {
      const unsigned stride = padded(left & (0u - left), padding_shift);
      const bool backwards = ((permutation >> place) & 1) != 0;
      start += backwards ? stride : 0;
      strides[place] = backwards ? 0u - stride : stride;
    }
#pragma unroll
    for (int j = 0; j < kCount; ++j) {
      unsigned address = start;
#pragma unroll
      for (int place = 0; place < kPlaces; ++place) {
        if (((j >> place) & 1) != 0) address += strides[place];
      }
      body(j, address);
    }
  }

  /// Without one of the places, whose bit is 0 from now on.
  __device__ __forceinline__ Group without(int place, unsigned bit) const {
    const unsigned low = (1u << place) - 1;
    return {index, mask & ~bit, ((permutation >> 1) & ~low) | (permutation & low)};
  }
};

/// The steps of a pass from `step` on, and what is left into shared memory.
template <int kCount, class Element>
__device__ __forceinline__ void work(const Plan& plan, int step, int end, Element (&v)[kCount], Group group,
                                     Element* shared) {
  for (; step < end; ++step) {
    const Step& now = plan.steps[step];
    const unsigned bit = 1u << now.bit;
    const int place = __popc(group.mask & (bit - 1));
    if (now.merge) {
      if constexpr (kCount > 1) {
        Element least[kCount / 2];
        merge(v, least, place);
        return work<kCount / 2>(plan, step + 1, end, least, group.without(place, bit), shared);
      }
    }
    const unsigned run = 1u << now.run;
    const bool varies = (group.mask & run) != 0;
    const int varying = varies ? __popc(group.mask & (run - 1)) : -1;
    const bool down = varies ? ((group.permutation >> varying) & 1) != 0 : (group.index & run) != 0;
    const bool swapped = ((group.permutation >> place) & 1) != 0;
    exchange(v, place, varying, down != swapped);
  }
  group.template for_each<kCount>(plan.padding_shift, [&](int j, unsigned address) { shared[address] = v[j]; });
}

/// A pass for one group of kCount elements in shared memory.
template <int kCount, class Element>
__device__ __forceinline__ void run_group(const Plan& plan, const Pass& pass, unsigned group_number, Element* shared) {
  const Group group{deposit(group_number, pass.live & ~unsigned{pass.mask}), pass.mask,
                    permutation(pass, group_number)};
  Element v[kCount];
  group.template for_each<kCount>(plan.padding_shift, [&](int j, unsigned address) { v[j] = shared[address]; });
  work(plan, pass.first_step, pass.first_step + pass.steps, v, group, shared);
}

/// A pass for all groups of a tile, of at most kMax elements each.
template <int kMax, class Element>
__device__ void run_pass(const Plan& plan, const Pass& pass, Element* shared) {
  const int places = __popc(pass.mask);
  if constexpr (kMax > 2) {
    if ((1 << places) < kMax) return run_pass<kMax / 2>(plan, pass, shared);
  }
  const unsigned groups = 1u << (__popc(pass.live) - places);
  for (unsigned group = threadIdx.x; group < groups; group += blockDim.x) run_group<kMax>(plan, pass, group, shared);
}

/// The first pass, on elements that come straight from global memory: load(group, number, v) fills a thread's
/// registers.
template <int kCount, class Element, class Load>
__device__ __forceinline__ void run_first(const Plan& plan, Element* shared, const Load& load) {
  const Pass& pass = plan.passes[0];
  const unsigned groups = 1u << (plan.tile_bits - __popc(pass.mask));
  for (unsigned number = threadIdx.x; number < groups; number += blockDim.x) {
    const Group group{deposit(number, pass.live & ~unsigned{pass.mask}), pass.mask, permutation(pass, number)};
    Element v[kCount];
    load(group, number, v);
    work(plan, pass.first_step, pass.first_step + pass.steps, v, group, shared);
  }
}

/// Writes the elements that a plan leaves of a tile, in order, to `out`, which has room for `room` elements.
template <class Element>
__device__ void write_kept(const Plan& plan, const Element* shared, Element* out, std::size_t room) {
  const unsigned count = 1u << __popc(plan.live);
  for (unsigned i = threadIdx.x; i < count && i < room; i += blockDim.x) {
    out[i] = shared[padded(deposit(i, plan.live), plan.padding_shift)];
  }
}

}  // namespace skyrank::kernels::cuda::topk::network
