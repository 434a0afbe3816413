#include "kernels/cuda/topk/batched.hpp"

#include <algorithm>

#include "kernels/cuda/device/block.cuh"
#include "kernels/cuda/device/launch.cuh"
#include "kernels/cuda/device/shared.cuh"
#include "kernels/cuda/topk/block_merge_sort.cuh"
#include "kernels/cuda/topk/block_select.cuh"
#include "kernels/cuda/topk/guess.cuh"
#include "kernels/cuda/topk/threshold_plan.hpp"
#include "kernels/cuda/topk/tiles.cuh"

// One block a segment. A few sampled rows give a threshold; what is at or below it is collected in shared memory, and
// nobody waits for anybody meanwhile. If that was too little or there was no room for all, the segment is read again
// without a threshold: whenever the room is full, the k least of it stay, and the greatest of them is the threshold
// then. That is slow, rare, and right in any case.
namespace skyrank::kernels::cuda {
namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kLoads = 4;
constexpr unsigned kBlocks = 4;  // of a multiprocessor: with more there are too few registers for the loads
constexpr unsigned kSample = 256;
/// Segments from so many rows on are sampled: 32 bytes are read for each sampled row, a sixteenth of short keys.
constexpr std::size_t kLong = 128 * kSample;
/// That a sample's threshold lets too few rows through. A wrong one costs a second reading of one segment.
constexpr double kRisk = 1e-3;
/// For many wanted rows no threshold of a small sample is worth it.
constexpr std::size_t kMostRank = 32;

template <class Element>
inline constexpr unsigned kRoom = 32 * 1024 / sizeof(Element);

/// What the threads of a block share.
template <class Element>
struct Shared {
  Element held[kRoom<Element>];
  BlockSelect<Element, kThreads> select;
  Element threshold;
  unsigned count;  ///< of `held`
};

/// What a block has seen and keeps.
template <class Element>
class Held {
 public:
  __device__ Held(Shared<Element>& shared, unsigned k) : shared_(shared), k_(k) {}

  __device__ void begin() {
    __syncthreads();
    if (threadIdx.x == 0) {
      shared_.threshold = kNoElement<Element>;
      shared_.count = 0;
    }
    __syncthreads();
  }

  __device__ Element threshold() const { return shared_.threshold; }
  /// More than there is room for if not all were kept.
  __device__ unsigned count() const { return shared_.count; }

  /// Takes those of this thread's elements that `taken` has a bit for, if there is room. A warp calls it.
  template <unsigned kItems, class Make>
  __device__ void take(unsigned taken, Make element) {
    const auto mine = static_cast<unsigned>(__popc(taken));
    const unsigned up_to_lane = sum_up_to_lane(mine);
    unsigned place = 0;
    if (threadIdx.x % kLanes == kLanes - 1) place = atomicAdd(&shared_.count, up_to_lane);
    place = __shfl_sync(kAllLanes, place, kLanes - 1) + up_to_lane - mine;
#pragma unroll
    for (unsigned i = 0; i < kItems; ++i) {
      if ((taken >> i & 1) == 0) continue;
      if (place < kRoom<Element>) shared_.held[place] = element(i);
      ++place;
    }
  }

  /// The same, and makes room. The block calls it.
  template <unsigned kItems, class Make>
  __device__ void add(unsigned taken, Make element) {
    while (__syncthreads_or(taken != 0)) {
      unsigned all = 0;
      const unsigned before = sum_before(static_cast<unsigned>(__popc(taken)), all);
      const unsigned first = shared_.count;
      unsigned place = first + before;
#pragma unroll
      for (unsigned i = 0; i < kItems; ++i) {
        if ((taken >> i & 1) == 0) continue;
        if (place < kRoom<Element>) {
          shared_.held[place] = element(i);
          taken &= ~(1u << i);
        }
        ++place;
      }
      __syncthreads();
      if (threadIdx.x == 0) shared_.count = min(first + all, kRoom<Element>);
      __syncthreads();
      if (first + all <= kRoom<Element>) return;
      keep_least();
      const Element bound = shared_.threshold;
#pragma unroll
      for (unsigned i = 0; i < kItems; ++i) {
        if ((taken >> i & 1) != 0 && element(i) > bound) taken &= ~(1u << i);
      }
    }
  }

  /// Lets all but the k least go; there are at least as many.
  __device__ void keep_least() {
    const unsigned count = shared_.count;
    SetBits<Element> bits;
    for (unsigned i = threadIdx.x; i < count; i += kThreads) bits.add(shared_.held[i]);
    const Element greatest = shared_.select.kth(shared_.held, count, k_, bits);
    unsigned kept = 0;
    for (unsigned first = 0; first < count; first += kThreads) {
      const unsigned place = first + threadIdx.x;
      const Element mine = place < count ? shared_.held[place] : kNoElement<Element>;
      const bool keep = place < count && mine <= greatest;
      unsigned all = 0;
      const unsigned before = sum_before(keep ? 1u : 0u, all);
      // To places whose elements have been looked at.
      if (keep) shared_.held[kept + before] = mine;
      kept += all;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      shared_.count = kept;
      shared_.threshold = greatest;
    }
    __syncthreads();
  }

  /// Puts what is held in order of the keys, then of ascending row ids.
  __device__ void sort(Element complement) {
    if (complement != 0 && shared_.count > k_) keep_least();
    const unsigned count = shared_.count;
    for (unsigned i = threadIdx.x; i < count; i += kThreads) shared_.held[i] ^= complement;
    __syncthreads();
    constexpr unsigned kFew = 5;
    constexpr unsigned kMany = kRoom<Element> / kThreads + 1;
    if (count <= kThreads * kFew)
      BlockMergeSort<Element, kThreads, kFew>::sort(shared_.held, count);
    else
      BlockMergeSort<Element, kThreads, kMany>::sort(shared_.held, count);
  }

 private:
  Shared<Element>& shared_;
  unsigned k_;
};

/// How a segment is sampled: in groups whose minima are handed on, as in threshold.cuh; without a rank not at all.
struct SegmentSample {
  unsigned rank = 0;
  unsigned group = 1;  ///< a power of two up to a warp
};

SegmentSample sample_for(std::size_t rows, std::size_t k) {
  if (rows < kLong) return {};
  const double share = static_cast<double>(k) / static_cast<double>(rows);
  const std::size_t rank = poisson_quantile(share * kSample, kRisk);
  if (rank == 0 || rank > kMostRank) return {};
  unsigned group = kLanes;
  while (group > 1 && kSample / group < 8 * rank) group /= 2;
  return {.rank = static_cast<unsigned>(rank), .group = group};
}

/// The element of the sample's rank.
template <class Rows>
__device__ typename Rows::Element sampled_threshold(const Rows& rows, SegmentSample sample,
                                                    typename Rows::Element* minima, typename Rows::Element* threshold) {
  using Element = typename Rows::Element;
  const unsigned groups = kSample / sample.group;
  if (threadIdx.x < kSample) {
    const std::size_t i = sample_of_group(threadIdx.x / sample.group, threadIdx.x % sample.group, groups);
    Element least = rows.at(sampled_place(i, kSample, rows.size()));
    for (unsigned distance = 1; distance < sample.group; distance *= 2) {
      const Element other = from_lane_xor(least, distance);
      if (other < least) least = other;
    }
    if (threadIdx.x % sample.group == 0) minima[threadIdx.x / sample.group] = least;
  }
  __syncthreads();
  if (threadIdx.x < groups) {
    const Element mine = minima[threadIdx.x];
    unsigned below = 0;
    for (unsigned i = 0; i < groups; ++i) below += minima[i] < mine ? 1 : 0;
    if (below == sample.rank - 1) *threshold = mine;
  }
  __syncthreads();
  return *threshold;
}

/// Hands on this thread's part of each tile, with bits for the elements at or below a threshold.
template <class Rows, class Threshold, class Take>
__device__ void for_each_tile(const Rows& rows, Threshold threshold_now, Take take) {
  typename Rows::Item keys[Rows::kItems];
  for (std::size_t tile = 0; tile < rows.count(); ++tile) {
    const unsigned present = rows.load(tile, keys);
    const auto threshold = threshold_now();
    const auto element = [&](unsigned i) { return rows.element(keys[i], rows.place(tile, i)); };
    auto least = keys[0];
#pragma unroll
    for (unsigned i = 1; i < Rows::kItems; ++i) least = keys[i] < least ? keys[i] : least;
    unsigned taken = 0;
    if (least <= Rows::key(threshold)) {
#pragma unroll
      for (unsigned i = 0; i < Rows::kItems; ++i) taken |= unsigned{element(i) <= threshold} << i;
    }
    take(taken & present, element);
  }
}

template <class Rows>
__device__ void collect(const Rows& rows, typename Rows::Element threshold, Held<typename Rows::Element>& held) {
  const auto the_threshold = [=] { return threshold; };
  for_each_tile(rows, the_threshold, [&](unsigned taken, auto element) {
    if (__any_sync(kAllLanes, taken != 0)) held.template take<Rows::kItems>(taken, element);
  });
  __syncthreads();
}

template <class Rows>
__device__ void collect_in_any_case(const Rows& rows, Held<typename Rows::Element>& held) {
  const auto threshold_now = [&] { return held.threshold(); };
  for_each_tile(rows, threshold_now,
                [&](unsigned taken, auto element) { held.template add<Rows::kItems>(taken, element); });
}

template <class E>
__global__ void __launch_bounds__(kThreads, kBlocks)
    least_of_each(E elements, Segments segments, unsigned k, SegmentSample sample, RowId* answer) {
  using Element = typename E::Element;
  using Rows = KeyTiles<E, kThreads, kLoads>;
  auto& shared = *dynamic_shared<Shared<Element>>();
  Held<Element> held(shared, k);
  for (std::size_t segment = blockIdx.x; segment < segments.count; segment += gridDim.x) {
    const bool equal = segments.offsets == nullptr;
    const std::size_t first = equal ? segment * segments.rows : segments.offsets[segment];
    const std::size_t size = equal ? segments.rows : segments.offsets[segment + 1] - first;
    E of_segment = elements;
    of_segment.keys += first;
    const Rows rows(of_segment, size);
    Element threshold = kNoElement<Element>;
    __syncthreads();
    if (sample.rank > 0 && size >= kLong) {
      threshold = sampled_threshold(rows, sample, shared.held, &shared.threshold);
    }
    held.begin();
    bool exact = size <= kRoom<Element> || threshold != kNoElement<Element>;
    if (exact) {
      collect(rows, threshold, held);
      exact = held.count() <= kRoom<Element> && held.count() >= min(std::size_t{k}, size);
    }
    if (!exact) {
      held.begin();
      collect_in_any_case(rows, held);
    }
    held.sort(elements.complement);
    const unsigned count = held.count();
    for (unsigned i = threadIdx.x; i < k; i += kThreads) {
      const auto row = static_cast<RowId>(shared.held[i] & E::kRowMask);
      answer[segment * k + i] = i < count ? static_cast<RowId>(first) + row : -1;
    }
  }
}

}  // namespace

template <class E>
void least_of_segments(const E& elements, const Segments& segments, std::size_t k, RowId* rows, DeviceContext& device) {
  if (segments.count == 0) return;
  using Element = typename E::Element;
  const std::size_t resident = kBlocks * static_cast<std::size_t>(device.properties().multiprocessors);
  // Where lengths differ, those that are sampled are taken for as long as they have to be at least.
  const SegmentSample sample = sample_for(segments.offsets == nullptr ? segments.rows : kLong, k);
  launch("least_of_each", least_of_each<E>,
         {.blocks = std::min(segments.count, resident), .threads = kThreads, .shared_bytes = sizeof(Shared<Element>)},
         device.stream(), elements, segments, static_cast<unsigned>(k), sample, rows);
}

template void least_of_segments(const ShortElements&, const Segments&, std::size_t, RowId*, DeviceContext&);
template void least_of_segments(const LongElements&, const Segments&, std::size_t, RowId*, DeviceContext&);
template void least_of_segments(const ManyElements&, const Segments&, std::size_t, RowId*, DeviceContext&);

}  // namespace skyrank::kernels::cuda
