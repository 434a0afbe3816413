#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "kernels/cuda/device/kernel/block.cuh"
#include "kernels/cuda/device/launch.cuh"
#include "kernels/cuda/topk/sampled_threshold/policy.hpp"

// How the warps of a scan keep what they find: together in shared memory first, then all of it to where it belongs.
namespace skyrank::kernels::cuda::topk {

inline constexpr unsigned kScanThreads = AnyScanPolicy::kThreads;
inline constexpr unsigned kScanBlocks = AnyScanPolicy::kBlocks;

/// A warp's way to a list of candidates that grows. All lanes call.
template <class Element>
struct ListSink {
  Element* candidates;
  std::size_t capacity;
  unsigned long long* count;

  /// `size` elements of shared memory.
  __device__ void put(const Element* held, unsigned size) const {
    const unsigned long long place = room_for(size);
    for (unsigned i = threadIdx.x % kLanes; i < size; i += kLanes) {
      if (place + i < capacity) candidates[place + i] = held[i];
    }
  }

  /// Puts those of each lane's kItems elements that `taken` has a bit for, `all` in all. Elements that lanes write
  /// together lie side by side.
  template <unsigned kItems, class Make>
  __device__ void put_some(unsigned taken, unsigned all, Make element) const {
    const unsigned before_lane = (1u << threadIdx.x % kLanes) - 1;
    unsigned long long place = room_for(all);
#pragma unroll
    for (unsigned i = 0; i < kItems; ++i) {
      const bool mine = (taken >> i & 1) != 0;
      const unsigned lanes = __ballot_sync(kAllLanes, mine);
      const unsigned long long own = place + static_cast<unsigned>(__popc(lanes & before_lane));
      if (mine && own < capacity) candidates[own] = element(i);
      place += static_cast<unsigned>(__popc(lanes));
    }
  }

 private:
  __device__ unsigned long long room_for(unsigned elements) const {
    unsigned long long place = 0;
    if (threadIdx.x % kLanes == 0) place = atomicAdd(count, static_cast<unsigned long long>(elements));
    return __shfl_sync(kAllLanes, place, 0);
  }
};

/// The elements that one warp has found, and their destination. All lanes call, with the same `held`.
template <class Element, class Sink, unsigned kElements = AnyScanPolicy::kHeld>
class CollectorTo {
 public:
  /// Elements that a warp collects before it asks for room for them.
  static constexpr unsigned kHeld = kElements;

  /// `buffer`: kHeld elements of shared memory.
  __device__ CollectorTo(Element* buffer, const Sink& sink) : buffer_(buffer), sink_(sink) {}

  /// Takes those of a lane's kItems elements that `taken` has a bit for. `element(i)` makes them, i being known to the
  /// compiler.
  template <unsigned kItems, class Make>
  __device__ void add(unsigned taken, Make element) {
    const auto mine = static_cast<unsigned>(__popc(taken));
    const unsigned total = __reduce_add_sync(kAllLanes, mine);
    if (total == 0) return;
    if (held_ + total > kHeld) flush();
    if constexpr (kItems * kLanes > kHeld) {
      if (total > kHeld) return sink_.template put_some<kItems>(taken, total, element);
    }
    unsigned before = held_ + sum_up_to_lane(mine) - mine;
#pragma unroll
    for (unsigned i = 0; i < kItems; ++i) {
      if ((taken >> i & 1) != 0) buffer_[before++] = element(i);
    }
    held_ += total;
  }

  /// The same of kWords words of bits, one of each lane at a time: for few, or where there are no registers to make
  /// several. `element(word, bit)` makes them.
  template <unsigned kWords, class Make>
  __device__ void add_in_rounds(unsigned (&taken)[kWords], Make element) {
    const unsigned before_lane = (1u << threadIdx.x % kLanes) - 1;
    for (;;) {
      unsigned word = 0;
      const unsigned bits = first_of(taken, word);
      const unsigned lanes = __ballot_sync(kAllLanes, bits != 0);
      if (lanes == 0) return;
      if (held_ + kLanes > kHeld) flush();
      if (bits != 0) {
        buffer_[held_ + static_cast<unsigned>(__popc(lanes & before_lane))] =
            element(word, static_cast<unsigned>(__ffs(static_cast<int>(bits)) - 1));
      }
      held_ += static_cast<unsigned>(__popc(lanes));
    }
  }

  __device__ void flush() {
    __syncwarp();
    if (held_ == 0) return;
    sink_.put(buffer_, held_);
    __syncwarp();
    held_ = 0;
  }

 private:
  /// The first word that has a bit, and its number. Its first bit is taken away.
  template <unsigned kWords>
  __device__ static unsigned first_of(unsigned (&taken)[kWords], unsigned& word) {
    unsigned bits = 0;
#pragma unroll
    for (unsigned i = 0; i < kWords; ++i) {
      if (bits != 0 || taken[i] == 0) continue;
      bits = taken[i];
      word = i;
      taken[i] &= bits - 1;
    }
    return bits;
  }

  Element* buffer_;
  Sink sink_;
  unsigned held_ = 0;
};

/// Collects elements that go to a list.
template <class Element, unsigned kElements = AnyScanPolicy::kHeld>
class Collector : public CollectorTo<Element, ListSink<Element>, kElements> {
 public:
  __device__ Collector(Element* buffer, Element* candidates, std::size_t capacity, unsigned long long* count)
      : CollectorTo<Element, ListSink<Element>, kElements>(buffer, {candidates, capacity, count}) {}
};

}  // namespace skyrank::kernels::cuda::topk
