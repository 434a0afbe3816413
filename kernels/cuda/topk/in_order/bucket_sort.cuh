#pragma once

#include <cstdint>

#include "kernels/cuda/device/kernel/scan.cuh"
#include "kernels/cuda/device/kernel/shared.cuh"
#include "kernels/cuda/device/launch.cuh"
#include "kernels/cuda/topk/block/block_spread_sort.cuh"
#include "kernels/cuda/topk/in_order/list_part.cuh"
#include "kernels/cuda/topk/in_order/policy.hpp"

// Many elements in order: splitters, which a sample of them gave, divide them into buckets, each of which a block puts
// in order.
namespace skyrank::kernels::cuda::topk {

inline constexpr unsigned kPartitionThreads = PartitionPolicy::kThreads;

/// Elements of a tile, of which each thread has so many.
template <unsigned kItems>
inline constexpr unsigned kPartitionTile = kPartitionThreads* kItems;

template <class Element>
using BucketPolicyOf = BucketPolicy<sizeof(Element)>;
inline constexpr unsigned kBucketThreads = BucketPolicy<8>::kThreads;
/// Elements that a bucket has room for, and for which a block has shared memory.
template <class Element>
inline constexpr unsigned kBucketRoom = kBucketThreads* BucketPolicyOf<Element>::kItems;

/// The sample of a list as a list.
template <class Element>
__global__ void take_sample(Part<Element> part, Element* sample, Zeros zeros) {
  wait_for_previous();
  let_next_start();
  zeros.set();
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (part.failed()) {
    if (i == 0) part.guess->failed = 1;
    return;
  }
  if (i < part.sampled) sample[i] = part.at(i);
}

template <class Element>
struct Buckets {
  const Element* splitters;  ///< the greatest element of each bucket but the last
  unsigned count;
  unsigned* sizes;    ///< zeros at first
  Element* elements;  ///< room for `room` in each
  unsigned room;
  unsigned every;  ///< only the last of so many splitters is one of these buckets
};

/// The buckets that elements belong to: how many splitters are less. All searches go on side by side.
template <class Element, unsigned kItems>
__device__ void find_buckets(const Element (&items)[kItems], const Element* splitters, unsigned count,
                             unsigned (&bucket)[kItems]) {
#pragma unroll
  for (unsigned i = 0; i < kItems; ++i) bucket[i] = 0;
  for (unsigned step = 1u << (31 - __clz(static_cast<int>(count | 1))); step > 0; step /= 2) {
#pragma unroll
    for (unsigned i = 0; i < kItems; ++i) {
      const unsigned next = bucket[i] + step;
      if (next <= count && splitters[next - 1] < items[i]) bucket[i] = next;
    }
  }
}

/// The block's shared memory while it distributes.
template <class Element, unsigned kItems>
class Partition {
 public:
  __device__ explicit Partition(const Buckets<Element>& buckets)
      : buckets_(buckets),
        splitters_(dynamic_shared<Element>()),
        staged_(splitters_ + buckets.count),
        counts_(reinterpret_cast<unsigned*>(staged_ + kTile)),
        firsts_(counts_ + buckets.count),
        staged_buckets_(reinterpret_cast<std::uint16_t*>(firsts_ + buckets.count)) {
    for (unsigned i = threadIdx.x; i + 1 < buckets.count; i += kPartitionThreads) {
      splitters_[i] = buckets.splitters[(i + 1) * std::size_t{buckets.every} - 1];
    }
  }

  static std::size_t shared_bytes(unsigned count) {
    return count * (sizeof(Element) + 2 * sizeof(unsigned)) + kTile * (sizeof(Element) + sizeof(std::uint16_t));
  }

  /// Distributes `mine` <= kTile elements. `failed` is set where there is no room.
  template <class At>
  __device__ void distribute(At at, unsigned mine, unsigned* failed) {
    __syncthreads();
    for (unsigned i = threadIdx.x; i < buckets_.count; i += kPartitionThreads) counts_[i] = 0;
    Element items[kItems];
    unsigned bucket[kItems];
    unsigned before[kItems];
#pragma unroll
    for (unsigned i = 0; i < kItems; ++i) {
      const unsigned place = i * kPartitionThreads + threadIdx.x;
      items[i] = place < mine ? at(place) : kNoElement<Element>;
    }
    __syncthreads();
    find_buckets(items, splitters_, buckets_.count - 1, bucket);
#pragma unroll
    for (unsigned i = 0; i < kItems; ++i) {
      before[i] = i * kPartitionThreads + threadIdx.x < mine ? atomicAdd(&counts_[bucket[i]], 1u) : 0;
    }
    __syncthreads();
    stage(items, bucket, before, mine);
    for (unsigned i = threadIdx.x; i < mine; i += kPartitionThreads) {
      put(staged_buckets_[i], counts_[staged_buckets_[i]] + i, staged_[i], failed);
    }
  }

 private:
  static constexpr unsigned kTile = kPartitionTile<kItems>;

  /// Puts a tile in the order of buckets, so that what goes to one of them is written side by side. Turns counts into
  /// how much further on in its bucket an element is than in that order. There are no more buckets than threads.
  __device__ void stage(const Element (&items)[kItems], const unsigned (&bucket)[kItems],
                        const unsigned (&before)[kItems], unsigned mine) {
    const bool has_bucket = threadIdx.x < buckets_.count;
    const unsigned count = has_bucket ? counts_[threadIdx.x] : 0;
    unsigned all = 0;
    const unsigned first = sum_before<kPartitionThreads>(count, all);
    if (has_bucket) {
      firsts_[threadIdx.x] = first;
      counts_[threadIdx.x] = count > 0 ? atomicAdd(&buckets_.sizes[threadIdx.x], count) - first : 0;
    }
    __syncthreads();
#pragma unroll
    for (unsigned i = 0; i < kItems; ++i) {
      if (i * kPartitionThreads + threadIdx.x >= mine) continue;
      const unsigned place = firsts_[bucket[i]] + before[i];
      staged_[place] = items[i];
      staged_buckets_[place] = static_cast<std::uint16_t>(bucket[i]);
    }
    __syncthreads();
  }

  __device__ void put(unsigned bucket, unsigned place, Element element, unsigned* failed) const {
    if (place < buckets_.room)
      buckets_.elements[std::size_t{bucket} * buckets_.room + place] = element;
    else
      *failed = 1;
  }

  const Buckets<Element>& buckets_;
  Element* splitters_;
  Element* staged_;
  unsigned* counts_;
  unsigned* firsts_;
  std::uint16_t* staged_buckets_;
};

template <unsigned kItems, class Element>
__global__ void __launch_bounds__(kPartitionThreads, PartitionPolicy::kBlocks)
    partition(Part<Element> part, Buckets<Element> buckets) {
  constexpr unsigned kTile = kPartitionTile<kItems>;
  wait_for_previous();
  let_next_start();
  if (__syncthreads_or(part.failed())) return;  // a block may set it meanwhile
  Partition<Element, kItems> partition(buckets);
  const std::size_t size = part.size();
  for (std::size_t first = std::size_t{blockIdx.x} * kTile; first < size; first += std::size_t{gridDim.x} * kTile) {
    const auto mine = static_cast<unsigned>(min(std::size_t{kTile}, size - first));
    partition.distribute([&](unsigned i) { return part.at(first + i); }, mine, &part.guess->failed);
  }
}

/// Each of `coarse` buckets into as many of `fine` as it is made of.
template <class Element>
__global__ void __launch_bounds__(kPartitionThreads, PartitionPolicy::kBlocks)
    partition_again(Part<Element> part, Buckets<Element> coarse, Buckets<Element> fine) {
  constexpr unsigned kItems = PartitionPolicy::kItems;
  constexpr unsigned kTile = kPartitionTile<kItems>;
  wait_for_previous();
  let_next_start();
  const unsigned tiles = (coarse.room + kTile - 1) / kTile;
  const unsigned bucket = blockIdx.x / tiles;
  const unsigned first = blockIdx.x % tiles * kTile;
  const unsigned size = min(coarse.sizes[bucket], coarse.room);
  if (__syncthreads_or(part.failed()) || first >= size) return;
  const unsigned first_fine = bucket * coarse.every;
  Buckets<Element> own = fine;
  own.splitters += first_fine;
  own.sizes += first_fine;
  own.elements += std::size_t{first_fine} * fine.room;
  own.count = min(coarse.every, fine.count - first_fine);
  const Element* const from = coarse.elements + std::size_t{bucket} * coarse.room + first;
  Partition<Element, kItems>(own).distribute([&](unsigned i) { return from[i]; }, min(kTile, size - first),
                                             &part.guess->failed);
}

/// A block for each bucket.
template <class Element>
__global__ void __launch_bounds__(kBucketThreads, BucketPolicyOf<Element>::kBlocks)
    sort_buckets(Part<Element> part, Buckets<Element> buckets, Ranked<Element> ranked, std::size_t wanted) {
  Element* const shared = dynamic_shared<Element>();
  wait_for_previous();
  let_next_start();
  if (part.failed()) return;
  std::size_t mine = 0;
  for (unsigned i = threadIdx.x; i < blockIdx.x; i += kBucketThreads) mine += buckets.sizes[i];
  std::size_t before = 0;
  sum_before<kBucketThreads>(mine, before);
  if (before >= wanted) return;
  const unsigned size = min(buckets.sizes[blockIdx.x], kBucketRoom<Element>);
  const Element* const from = buckets.elements + std::size_t{blockIdx.x} * kBucketRoom<Element>;
  using Sort = BlockSpreadSort<Element, kBucketThreads>;
  __shared__ typename Sort::Shared of_sort;
  const auto put = [&](unsigned rank, Element element) { ranked.put(before + rank, element); };
  // There are so few items for each thread that all have some.
  if (size <= kBucketThreads * 3)
    Sort::template sort<3>(from, size, shared, of_sort, put);
  else if (size <= kBucketThreads * 7)
    Sort::template sort<7>(from, size, shared, of_sort, put);
  else
    Sort::template sort<BucketPolicyOf<Element>::kItems>(from, size, shared, of_sort, put);
}

}  // namespace skyrank::kernels::cuda::topk
