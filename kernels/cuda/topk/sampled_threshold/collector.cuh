#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "kernels/cuda/device/kernel/block.cuh"
#include "kernels/cuda/device/kernel/scan.cuh"
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

  /// Appends `size` elements from shared memory to the list, as far as it has room.
  __device__ void put(const Element* held, unsigned size) const {
    unsigned long long place = 0;
    if (threadIdx.x % kLanes == 0) place = atomicAdd(count, static_cast<unsigned long long>(size));
    place = __shfl_sync(kAllLanes, place, 0);
    for (unsigned i = threadIdx.x % kLanes; i < size; i += kLanes) {
      if (place + i < capacity) candidates[place + i] = held[i];
    }
  }
};

/// The elements that one warp has found, and their destination. All lanes call, with the same `held`.
template <class Element, class Sink, unsigned kElements = AnyScanPolicy::kHeld>
class CollectorTo {
 public:
  /// Elements that a warp collects before it asks for room for them.
  static constexpr unsigned kHeld = kElements;

  /// `buffer` has room for kHeld elements, in shared memory.
  __device__ CollectorTo(Element* buffer, const Sink& sink) : buffer_(buffer), sink_(sink) {}

  /// Takes those of a lane's kItems elements that `taken` has a bit for. `element(i)` makes them, i being known to the
  /// compiler.
  template <unsigned kItems, class Make>
  __device__ void add(unsigned taken, Make element) {
    const auto mine = static_cast<unsigned>(__popc(taken));
    const unsigned total = __reduce_add_sync(kAllLanes, mine);  // mostly 0, and known sooner than the sums
    if (total == 0) return;
    if (held_ + total > kHeld) flush();
    if constexpr (kItems * kLanes > kHeld) {
      if (total > kHeld) return add_in_parts<kItems>(taken, element);
    }
    unsigned all = 0;
    unsigned before = held_ + sum_before_lane(mine, all);
#pragma unroll
    for (unsigned i = 0; i < kItems; ++i) {
      if ((taken >> i & 1) != 0) buffer_[before++] = element(i);
    }
    held_ += total;
  }

  /// The same, one of each lane at a time: for few. `element(i)` makes one of any i.
  template <class Make>
  __device__ void add_in_rounds(unsigned taken, Make element) {
    const unsigned before_lane = (1u << threadIdx.x % kLanes) - 1;
    for (unsigned left = taken;; left &= left - 1) {
      const unsigned lanes = __ballot_sync(kAllLanes, left != 0);
      if (lanes == 0) return;
      if (held_ + kLanes > kHeld) flush();
      if (left != 0) {
        buffer_[held_ + static_cast<unsigned>(__popc(lanes & before_lane))] =
            element(static_cast<unsigned>(__ffs(static_cast<int>(left)) - 1));
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
  /// The same of more elements than it can hold.
  template <unsigned kItems, class Make>
  __device__ void add_in_parts(unsigned taken, Make element) {
    constexpr unsigned kPart = kHeld / kLanes;
#pragma unroll
    for (unsigned first = 0; first < kItems; first += kPart)
      add<kPart>(taken >> first & ((1u << kPart) - 1), [&](unsigned i) { return element(first + i); });
  }

  Element* buffer_;
  Sink sink_;
  unsigned held_ = 0;
};

/// Collects elements that go to a list.
template <class Element, unsigned kElements>
using Collector = CollectorTo<Element, ListSink<Element>, kElements>;

}  // namespace skyrank::kernels::cuda::topk
