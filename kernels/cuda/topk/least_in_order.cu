#include "kernels/cuda/topk/least_in_order.hpp"

#include <algorithm>

#include "kernels/cuda/device/block.cuh"
#include "kernels/cuda/device/launch.cuh"
#include "kernels/cuda/device/shared.cuh"
#include "kernels/cuda/topk/block_merge_sort.cuh"

namespace skyrank::kernels::cuda {
namespace {

constexpr unsigned kCountThreads = 1024;

constexpr unsigned kPartitionThreads = 512;
constexpr unsigned kPartitionItems = 8;

constexpr unsigned kBucketThreads = 512;
constexpr unsigned kBucketBlocks = 3;  // of a multiprocessor
constexpr unsigned kBucketItems = 15;
/// Elements that a bucket has room for, and for which a block has shared memory.
constexpr unsigned kBucketRoom = kBucketThreads * kBucketItems;

/// How a list is distributed.
struct BucketPlan {
  std::size_t count = 0;
  std::size_t samples = 0;  ///< for each splitter
};

/// A bucket overflows with a probability below 1e-9: where it is made for a third of its room, 24 or fewer of 72
/// samples that it has in the mean when it is full; with smaller buckets, 8 or fewer of 60. Small lists get those, so
/// that every multiprocessor has one.
BucketPlan buckets_for(std::size_t size) {
  constexpr std::size_t kSmall = 1024;
  constexpr std::size_t kFewBuckets = 256;
  constexpr std::size_t kLarge = 2560;
  const std::size_t small = (size + kSmall - 1) / kSmall;
  if (small <= kFewBuckets) return {.count = small, .samples = 8};
  return {.count = std::max(kFewBuckets, (size + kLarge - 1) / kLarge), .samples = 24};
}

/// What of a list a kernel reads: all of it, or a sample.
template <class Element>
struct Part {
  const Element* elements = nullptr;
  std::size_t fixed_size = 0;  ///< 0: the guess's candidates
  std::size_t sampled = 0;     ///< 0: all
  Guess<Element>* guess = nullptr;
  std::size_t least_size = 0;  ///< that a guess may have found
  std::size_t most_size = 0;

  __device__ bool failed() const {
    return guess != nullptr && (guess->failed != 0 || guess->candidates < least_size || guess->candidates > most_size);
  }
  __device__ std::size_t all() const { return fixed_size > 0 ? fixed_size : guess->candidates; }
  __device__ std::size_t size() const { return sampled > 0 ? sampled : all(); }
  __device__ Element at(std::size_t i) const { return elements[sampled > 0 ? sampled_place(i, sampled, all()) : i]; }
};

/// Takes elements by their rank.
template <class Element>
struct Ranked {
  InOrder<Element> answer;
  std::size_t every = 1;  ///< of so many elements only the last

  __device__ void put(std::size_t rank, Element element) const {
    constexpr Element kRowMask = sizeof(Element) == 8 ? Element{0xffffffff} : Element{~std::uint64_t{0}};
    if (every > 1) {
      if ((rank + 1) % every != 0) return;
      rank = (rank + 1) / every - 1;
    }
    if (rank >= answer.k) return;
    if (answer.elements != nullptr) answer.elements[rank] = element;
    if (answer.rows != nullptr) answer.rows[rank] = static_cast<RowId>(element & kRowMask);
  }
};

/// Numbers that a kernel sets to zero for those after it.
struct Zeros {
  unsigned* words = nullptr;
  unsigned count = 0;

  __device__ void set() const {
    const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
    for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride) words[i] = 0;
  }
};

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
  Element* elements;  ///< room for kBucketRoom in each
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

/// Turns a block's counts into where they begin in the buckets. A thread asks for several places at a time, since each
/// takes a way to the L2 cache and back.
__device__ inline void reserve(unsigned* counts, unsigned* sizes, unsigned count) {
  constexpr unsigned kAtATime = 8;
  for (unsigned first = threadIdx.x; first < count; first += kPartitionThreads * kAtATime) {
    unsigned mine[kAtATime];
#pragma unroll
    for (unsigned i = 0; i < kAtATime; ++i) {
      const unsigned bucket = first + i * kPartitionThreads;
      mine[i] = bucket < count ? counts[bucket] : 0;
    }
#pragma unroll
    for (unsigned i = 0; i < kAtATime; ++i) {
      if (mine[i] > 0) mine[i] = atomicAdd(&sizes[first + i * kPartitionThreads], mine[i]);
    }
#pragma unroll
    for (unsigned i = 0; i < kAtATime; ++i) {
      const unsigned bucket = first + i * kPartitionThreads;
      if (bucket < count) counts[bucket] = mine[i];
    }
  }
}

/// `kItems` elements of each thread make a tile.
template <unsigned kItems, class Element>
__global__ void __launch_bounds__(kPartitionThreads) partition(Part<Element> part, Buckets<Element> buckets) {
  constexpr unsigned kTile = kPartitionThreads * kItems;
  Element* const splitters = dynamic_shared<Element>();
  auto* const counts = reinterpret_cast<unsigned*>(splitters + buckets.count);
  wait_for_previous();
  let_next_start();
  if (__syncthreads_or(part.failed())) return;  // a block may set it meanwhile
  for (unsigned i = threadIdx.x; i + 1 < buckets.count; i += kPartitionThreads) splitters[i] = buckets.splitters[i];
  const std::size_t size = part.size();
  for (std::size_t first = std::size_t{blockIdx.x} * kTile; first < size; first += std::size_t{gridDim.x} * kTile) {
    __syncthreads();
    for (unsigned i = threadIdx.x; i < buckets.count; i += kPartitionThreads) counts[i] = 0;
    const auto mine = static_cast<unsigned>(min(std::size_t{kTile}, size - first));
    Element items[kItems];
    unsigned bucket[kItems];
    unsigned before[kItems];
#pragma unroll
    for (unsigned i = 0; i < kItems; ++i) {
      const unsigned place = i * kPartitionThreads + threadIdx.x;
      items[i] = place < mine ? part.at(first + place) : kNoElement<Element>;
    }
    __syncthreads();
    find_buckets(items, splitters, buckets.count - 1, bucket);
#pragma unroll
    for (unsigned i = 0; i < kItems; ++i) {
      before[i] = i * kPartitionThreads + threadIdx.x < mine ? atomicAdd(&counts[bucket[i]], 1u) : 0;
    }
    __syncthreads();
    reserve(counts, buckets.sizes, buckets.count);
    __syncthreads();
#pragma unroll
    for (unsigned i = 0; i < kItems; ++i) {
      if (i * kPartitionThreads + threadIdx.x >= mine) continue;
      const unsigned place = counts[bucket[i]] + before[i];
      if (place < kBucketRoom)
        buckets.elements[std::size_t{bucket[i]} * kBucketRoom + place] = items[i];
      else
        part.guess->failed = 1;
    }
  }
}

/// A block for each bucket.
template <class Element>
__global__ void __launch_bounds__(kBucketThreads, kBucketBlocks)
    sort_buckets(Part<Element> part, Buckets<Element> buckets, Ranked<Element> ranked, std::size_t wanted) {
  Element* const shared = dynamic_shared<Element>();
  wait_for_previous();
  let_next_start();
  if (part.failed()) return;
  std::size_t mine = 0;
  for (unsigned i = threadIdx.x; i < blockIdx.x; i += kBucketThreads) mine += buckets.sizes[i];
  std::size_t before = 0;
  sum_before(mine, before);
  if (before >= wanted) return;
  const unsigned size = min(buckets.sizes[blockIdx.x], kBucketRoom);
  const Element* const from = buckets.elements + std::size_t{blockIdx.x} * kBucketRoom;
  for (unsigned i = threadIdx.x; i < size; i += kBucketThreads) shared[i] = from[i];
  __syncthreads();
  // So few items for each thread that all have some.
  if (size <= kBucketThreads * 3)
    BlockMergeSort<Element, kBucketThreads, 3>::sort(shared, size);
  else if (size <= kBucketThreads * 7)
    BlockMergeSort<Element, kBucketThreads, 7>::sort(shared, size);
  else
    BlockMergeSort<Element, kBucketThreads, kBucketItems>::sort(shared, size);
  for (unsigned i = threadIdx.x; i < size; i += kBucketThreads) ranked.put(before + i, shared[i]);
}

/// The launches.
template <class Element>
class Ordering {
 public:
  explicit Ordering(DeviceContext& device) : device_(device), overlaps_(device.properties().capability >= 90) {}

  /// `size` elements in the mean.
  void order(const Part<Element>& part, std::size_t size, const Ranked<Element>& ranked) const {
    if (size <= kMostCounted)
      count(part, size, ranked, {});
    else
      distribute(part, size, ranked);
  }

 private:
  void count(const Part<Element>& part, std::size_t size, const Ranked<Element>& ranked, Zeros zeros) const {
    start("rank_by_counting", rank_by_counting<Element>, blocks_for(size, kLanes), kCountThreads, 0, part, ranked,
          zeros);
  }

  void distribute(const Part<Element>& part, std::size_t size, const Ranked<Element>& ranked) const {
    const BucketPlan plan = buckets_for(size);
    const auto count = static_cast<unsigned>(plan.count);
    const auto splitters = device_.allocate<Element>(count);
    const auto sizes = device_.allocate<unsigned>(count);
    const auto elements = device_.allocate<Element>(std::size_t{count} * kBucketRoom);
    const Buckets<Element> buckets{
        .splitters = splitters.data(), .count = count, .sizes = sizes.data(), .elements = elements.data()};
    choose_splitters(part, plan, splitters.data(), {.words = sizes.data(), .count = count});
    // Small tiles where there would not be large ones for all multiprocessors.
    const std::size_t multiprocessors = static_cast<std::size_t>(device_.properties().multiprocessors);
    if (size < multiprocessors * kPartitionThreads * kPartitionItems)
      distribute_tiles<1>(part, size, buckets);
    else
      distribute_tiles<kPartitionItems>(part, size, buckets);
    start("sort_buckets", sort_buckets<Element>, count, kBucketThreads, kBucketRoom * sizeof(Element), part, buckets,
          ranked, ranked.answer.k * ranked.every);
  }

  template <unsigned kItems>
  void distribute_tiles(const Part<Element>& part, std::size_t size, const Buckets<Element>& buckets) const {
    const std::size_t shared_bytes = buckets.count * (sizeof(Element) + sizeof(unsigned));
    const std::size_t resident = resident_blocks(partition<kItems, Element>, kPartitionThreads, shared_bytes) *
                                 static_cast<std::size_t>(device_.properties().multiprocessors);
    const std::size_t tiles = blocks_for(size, std::size_t{kPartitionThreads} * kItems);
    start("partition", partition<kItems, Element>, std::min(tiles, resident), kPartitionThreads, shared_bytes, part,
          buckets);
  }

  /// Those of a sample; of a large sample in the same way.
  void choose_splitters(const Part<Element>& part, const BucketPlan& plan, Element* splitters, Zeros zeros) const {
    Part<Element> sample = part;
    sample.sampled = plan.count * plan.samples;
    sample.least_size = std::max(part.least_size, sample.sampled);
    const Ranked<Element> every{.answer = {.elements = splitters, .rows = nullptr, .k = plan.count - 1},
                                .every = plan.samples};
    if (sample.sampled <= kMostCounted) return count(sample, sample.sampled, every, zeros);
    const auto taken = device_.allocate<Element>(sample.sampled);
    constexpr unsigned kThreads = 256;
    start("take_sample", take_sample<Element>, blocks_for(sample.sampled, kThreads), kThreads, 0, sample, taken.data(),
          zeros);
    Part<Element> list = part;
    list.elements = taken.data();
    list.fixed_size = sample.sampled;
    distribute(list, sample.sampled, every);
  }

  template <class... Parameters>
  void start(const char* name, void (*kernel)(Parameters...), std::size_t blocks, unsigned threads,
             std::size_t shared_bytes, std::type_identity_t<Parameters>... arguments) const {
    launch(name, kernel, {.blocks = blocks, .threads = threads, .shared_bytes = shared_bytes, .overlaps = overlaps_},
           device_.stream(), arguments...);
  }

  DeviceContext& device_;
  bool overlaps_;
};

}  // namespace

template <class Element>
void least_in_order(const ElementList<Element>& list, const InOrder<Element>& answer, DeviceContext& device) {
  const Part<Element> part{.elements = list.elements,
                           .fixed_size = list.guess == nullptr ? list.size : 0,
                           .sampled = 0,
                           .guess = list.guess,
                           .least_size = answer.k,
                           .most_size = list.capacity};
  Ordering<Element>(device).order(part, list.size, {.answer = answer});
}

template void least_in_order(const ElementList<std::uint64_t>&, const InOrder<std::uint64_t>&, DeviceContext&);
template void least_in_order(const ElementList<Uint128>&, const InOrder<Uint128>&, DeviceContext&);

}  // namespace skyrank::kernels::cuda
