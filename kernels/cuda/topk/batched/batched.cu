#include "kernels/cuda/topk/batched/batched.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels/cuda/device/kernel/block.cuh"
#include "kernels/cuda/device/kernel/shared.cuh"
#include "kernels/cuda/device/launch.cuh"
#include "kernels/cuda/topk/batched/share_of_block.cuh"
#include "kernels/cuda/topk/batched/short_segments.hpp"
#include "kernels/cuda/topk/block_merge_sort.cuh"
#include "kernels/cuda/topk/block_select.cuh"
#include "kernels/cuda/topk/guess.cuh"
#include "kernels/cuda/topk/sampled_threshold/threshold_plan.hpp"
#include "kernels/cuda/topk/tiles.cuh"

// One block a segment. A few sampled rows give a threshold; what is at or below it is collected in shared memory, and
// nobody waits for anybody meanwhile. If that was too little or there was no room for all, the segment is read again
// without a threshold: whenever the room is full, the k least of it stay, and the greatest of them is the threshold
// then. That is slow, rare, and right in any case. Short segments are for warps (short_segments.hpp).
namespace skyrank::kernels::cuda::topk {
namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kLoads = 4;
constexpr unsigned kBlocks = 4;  // of a multiprocessor: with more there are too few registers for the loads
/// Up to so many wanted rows the last candidates are counted, not sorted.
constexpr unsigned kMaxFew = 64;
/// Candidates that are counted.
constexpr unsigned kFew = 128;
/// Segments from so many rows on are sampled.
constexpr std::size_t kLong = 2048;
/// Probability that a sample's threshold passes too few rows. A wrong one costs a second reading of one segment, while
/// the rest of the device may have nothing left to do.
constexpr double kRisk = 1e-5;
/// Neighbouring rows that one access to device memory brings.
template <class Key>
inline constexpr unsigned kNeighbours = 32 / sizeof(Key);

/// Candidates that a block has room for.
template <class Element>
inline constexpr unsigned kMaxHeld = 32 * 1024 / sizeof(Element);

/// The memory that the threads of a block share.
template <class Element>
struct Shared {
  BlockSelect<Element, kThreads> select;
  Element minima[kThreads];
  Element few[kFew];
  Element threshold;
  unsigned count;  ///< number of the held elements, which follow
  unsigned count_few;
};

template <class Element>
constexpr std::size_t shared_bytes() {
  return sizeof(Shared<Element>) + kMaxHeld<Element> * sizeof(Element);
}

/// Finds the element of rank `rank`, from 1, among the minima of groups of `lanes` threads, a power of two up to 4, and
/// writes it where a block's threads see it afterwards; nothing, if there are no such many. `minima` has room for all.
/// Neighbours are in different groups.
template <class Element>
__device__ void find_rank(Element least, unsigned lanes, unsigned rank, Element* minima, Element* found) {
  const unsigned warp = threadIdx.x / kLanes;
  const unsigned of_warp = kLanes / lanes;
  const unsigned lane = threadIdx.x % kLanes;
  for (unsigned distance = of_warp; distance < kLanes; distance *= 2) {
    const Element other = from_lane_xor(least, distance);
    if (other < least) least = other;
  }
  if (lane < of_warp) minima[warp * of_warp + lane] = least;
  __syncthreads();
  const unsigned part = lane / of_warp;
  const unsigned groups = kThreads / lanes;
  unsigned below = 0;
#pragma unroll 8
  for (unsigned i = part; i < groups; i += lanes) below += minima[i] < least ? 1 : 0;
  for (unsigned distance = of_warp; distance < kLanes; distance *= 2) {
    below += __shfl_xor_sync(kAllLanes, below, static_cast<int>(distance));
  }
  if (below == rank - 1 && part == 0 && least != kNoElement<Element>) *found = least;
  __syncthreads();
}

/// The elements that a block has seen and keeps.
template <class Element>
class Held {
 public:
  static constexpr unsigned kRoom = kMaxHeld<Element>;

  __device__ Held(Shared<Element>& shared, unsigned k)
      : shared_(shared), held_(reinterpret_cast<Element*>(&shared + 1)), k_(k) {}

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

  /// Takes those of this thread's elements that `taken` has a bit for, if there is room.
  template <unsigned kItems, class Make>
  __device__ void take(unsigned taken, Make element) {
    unsigned place = atomicAdd(&shared_.count, static_cast<unsigned>(__popc(taken)));
#pragma unroll
    for (unsigned i = 0; i < kItems; ++i) {
      if ((taken >> i & 1) == 0) continue;
      if (place < kRoom) held_[place] = element(i);
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
        if (place < kRoom) {
          held_[place] = element(i);
          taken &= ~(1u << i);
        }
        ++place;
      }
      __syncthreads();
      if (threadIdx.x == 0) shared_.count = min(first + all, kRoom);
      __syncthreads();
      if (first + all <= kRoom) return;
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
    for (unsigned i = threadIdx.x; i < count; i += kThreads) bits.add(held_[i]);
    const Element greatest = shared_.select.kth(held_, count, k_, bits);
    unsigned kept = 0;
    for (unsigned first = 0; first < count; first += kThreads) {
      const unsigned place = first + threadIdx.x;
      const Element mine = place < count ? held_[place] : kNoElement<Element>;
      const bool keep = place < count && mine <= greatest;
      unsigned all = 0;
      const unsigned before = sum_before(keep ? 1u : 0u, all);
      // To places whose elements have been looked at.
      if (keep) held_[kept + before] = mine;
      kept += all;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      shared_.count = kept;
      shared_.threshold = greatest;
    }
    __syncthreads();
  }

  /// Puts what is held, or the k least of it, in order of the keys, then of ascending row ids.
  __device__ void sort(Element complement) {
    constexpr unsigned kItems = 3;
    if (shared_.count > (complement != 0 ? k_ : kThreads * kItems)) keep_least();
    const unsigned count = shared_.count;
    for (unsigned i = threadIdx.x; i < count; i += kThreads) held_[i] ^= complement;
    __syncthreads();
    BlockMergeSort<Element, kThreads, kItems>::sort(held_, count);
  }

  __device__ Element at(unsigned i) const { return held_[i]; }

  /// For k <= kMaxFew: gathers those that may be among the k least in `few`. Returns how many there are, of
  /// which there is room for kFew. The k-th least of group minima bounds the k-th least of all.
  __device__ unsigned gather_few() {
    const unsigned count = shared_.count;
    Element least = kNoElement<Element>;
    for (unsigned i = threadIdx.x; i < count; i += kThreads) least = held_[i] < least ? held_[i] : least;
    if (threadIdx.x == 0) {
      shared_.threshold = kNoElement<Element>;
      shared_.count_few = 0;
    }
    find_rank(least, k_ <= kLanes ? 4 : 2, k_, shared_.minima, &shared_.threshold);
    const Element bound = shared_.threshold;
    for (unsigned i = threadIdx.x; i < count; i += kThreads) {
      const Element element = held_[i];
      if (element > bound) continue;
      const unsigned place = atomicAdd(&shared_.count_few, 1u);
      if (place < kFew) shared_.few[place] = element;
    }
    __syncthreads();
    return shared_.count_few;
  }

 private:
  Shared<Element>& shared_;
  Element* held_;
  unsigned k_;
};

/// How a segment is sampled; without a rank not at all.
struct SegmentSample {
  unsigned rank = 0;
  unsigned each = 1;      ///< rows that a thread looks at; the least of them is handed on
  unsigned lanes = 1;     ///< threads whose rows make a group
  bool together = false;  ///< these rows are neighbours, which one access to memory brings
};

/// Plans for segments of 2^i and more rows.
struct SegmentSamples {
  static constexpr unsigned kMax = 40;
  SegmentSample of_log[kMax];
};

/// For segments of `least` to `most` rows. Candidates have to fit with some room, of random rows as well as of sorted
/// ones, where neighbours are as good as one row.
SegmentSample sample_for(std::size_t least, std::size_t most, std::size_t k, unsigned room, unsigned neighbours) {
  if (most <= room || least < kLong || k >= least) return {};
  const auto rank_of = [&](double sampled) {
    return static_cast<double>(poisson_quantile(static_cast<double>(k) / static_cast<double>(least) * sampled, kRisk));
  };
  const auto candidates = [&](double rank, double sampled) {
    // Elements that are not the least of their group come on top.
    constexpr double kGroups = kThreads;
    const double all = -kGroups * std::log(1 - rank / kGroups);
    return (all + 4 * std::sqrt(all) + 2) * static_cast<double>(most) / sampled;
  };
  const auto plan = [](double rank, unsigned each, bool together) {
    const auto few = static_cast<unsigned>(rank);
    return SegmentSample{.rank = few, .each = each, .lanes = few <= 8 ? 4u : few <= 16 ? 2u : 1u, .together = together};
  };
  const double together = rank_of(kThreads * neighbours);
  const bool sorted_fit = (together + 2) * static_cast<double>(most) / kThreads <= room;
  if (sorted_fit && candidates(together, kThreads * neighbours) <= room) return plan(together, neighbours, true);
  constexpr std::size_t kRowsOfSampled = 32;
  for (unsigned each = 1; each == 1 || kRowsOfSampled * kThreads * each <= least; each *= 2) {
    const double sampled = kThreads * each;
    const double rank = rank_of(sampled);
    if (2 * rank <= kThreads && candidates(rank, sampled) <= room) return plan(rank, each, false);
  }
  return {};
}

/// The least of a thread's sampled rows.
template <class E, class Rows>
__device__ typename E::Element least_sampled(const E& elements, const Rows& rows, SegmentSample sample) {
  using Key = typename E::Key;
  if (!sample.together) {
    const unsigned groups = kThreads / sample.lanes;
    const unsigned of_warp = kLanes / sample.lanes;
    const unsigned group = threadIdx.x / kLanes * of_warp + threadIdx.x % of_warp;
    const unsigned member = threadIdx.x % kLanes / of_warp * sample.each;
    auto least = kNoElement<typename E::Element>;
#pragma unroll 4
    for (unsigned i = 0; i < sample.each; ++i) {
      const auto element =
          rows.at(sampled_place(sample_of_group(group, member + i, groups), kThreads * sample.each, rows.size()));
      if (element < least) least = element;
    }
    return least;
  }
  constexpr unsigned kTogether = kNeighbours<Key>;
  const unsigned first =
      (kTogether - reinterpret_cast<std::uintptr_t>(elements.keys) / sizeof(Key) % kTogether) % kTogether;
  const std::size_t accesses = (rows.size() - first) / kTogether;
  const std::size_t place = first + kTogether * sampled_place(threadIdx.x, kThreads, accesses);
  Key keys[kTogether];
#pragma unroll
  for (unsigned i = 0; i < 2; ++i) {
    const uint4 loaded = __ldg(reinterpret_cast<const uint4*>(elements.keys + place) + i);
    __builtin_memcpy(keys + i * (kTogether / 2), &loaded, sizeof(loaded));
  }
  auto least = elements.of(keys[0], place);
#pragma unroll
  for (unsigned i = 1; i < kTogether; ++i) {
    const auto element = elements.of(keys[i], place + i);
    if (element < least) least = element;
  }
  return least;
}

/// Collects what is at or below a threshold. Ties with its key are a matter of row ids in at most one tile; in the
/// others they are all in or all out.
template <class Rows>
class Collecting {
 public:
  using Element = typename Rows::Element;
  using Key = typename Rows::Item;

  __device__ Collecting(const Rows& rows, Element threshold, Held<Element>& held)
      : rows_(rows),
        threshold_(threshold),
        limit_(Rows::key(threshold)),
        tile_of_threshold_(rows.tile_of(rows.row(threshold))),
        held_(held) {}

  __device__ void run() {
    for (std::size_t tile = 0; tile < rows_.count(); ++tile) {
      Key keys[Rows::kItems];
      const unsigned present = rows_.load(tile, keys);
      look_at(tile, keys, present);
    }
    __syncthreads();
  }

 private:
  __device__ void look_at(std::size_t tile, const Key (&keys)[Rows::kItems], unsigned present) {
    const bool some_ties = tile == tile_of_threshold_;
    const bool ties = some_ties || (rows_.descending() ? tile > tile_of_threshold_ : tile < tile_of_threshold_);
    if (limit_ == 0 && !ties) return;
    const Key bound = ties ? limit_ : limit_ - 1;
    Key least = keys[0];
#pragma unroll
    for (unsigned i = 1; i < Rows::kItems; ++i) least = keys[i] < least ? keys[i] : least;
    if (least > bound) return;
    const auto element = [&](unsigned i) { return rows_.element(keys[i], rows_.place(tile, i)); };
    unsigned taken = 0;
#pragma unroll
    for (unsigned i = 0; i < Rows::kItems; ++i) taken |= unsigned{keys[i] <= bound} << i;
    taken &= present;
    if (some_ties) {
#pragma unroll
      for (unsigned i = 0; i < Rows::kItems; ++i) {
        if (element(i) > threshold_) taken &= ~(1u << i);
      }
    }
    if (taken != 0) held_.template take<Rows::kItems>(taken, element);
  }

  const Rows& rows_;
  Element threshold_;
  Key limit_;
  std::size_t tile_of_threshold_;
  Held<Element>& held_;
};

template <class Rows>
__device__ void collect_in_any_case(const Rows& rows, Held<typename Rows::Element>& held) {
  typename Rows::Item keys[Rows::kItems];
  for (std::size_t tile = 0; tile < rows.count(); ++tile) {
    const unsigned present = rows.load(tile, keys);
    const auto threshold = held.threshold();
    const auto element = [&](unsigned i) { return rows.element(keys[i], rows.place(tile, i)); };
    unsigned taken = 0;
#pragma unroll
    for (unsigned i = 0; i < Rows::kItems; ++i) taken |= unsigned{element(i) <= threshold} << i;
    held.template add<Rows::kItems>(taken & present, element);
  }
}

/// The place of a segment's answer.
struct SegmentAnswer {
  RowId* rows;
  RowId first;  ///< row of the segment
  unsigned k;

  template <class E, class Element>
  __device__ void put(unsigned rank, Element element) const {
    if (rank < k) rows[rank] = first + static_cast<RowId>(element & E::kRowMask);
  }
  __device__ void fill_from(unsigned rank) const {
    for (unsigned i = rank + threadIdx.x; i < k; i += kThreads) rows[i] = -1;
  }
};

/// The k least of what is held.
template <class E>
__device__ void answer_with(Held<typename E::Element>& held, const E& elements, const SegmentAnswer& answer,
                            const typename E::Element* few) {
  // Elements with complemented row ids are not in the order of the answer.
  if (answer.k <= kMaxFew && elements.complement == 0) {
    const unsigned count = held.gather_few();
    if (count <= kFew) {
      if (threadIdx.x < count) {
        const auto mine = few[threadIdx.x];
        unsigned below = 0;
        for (unsigned i = 0; i < count; ++i) below += few[i] < mine ? 1 : 0;
        answer.put<E>(below, mine);
      }
      return answer.fill_from(count);
    }
  }
  held.sort(elements.complement);
  const unsigned count = held.count();
  for (unsigned i = threadIdx.x; i < min(count, answer.k); i += kThreads) answer.put<E>(i, held.at(i));
  answer.fill_from(count);
}

template <class E>
__global__ void __launch_bounds__(kThreads, kBlocks)
    least_of_each(E elements, Segments segments, unsigned k, SegmentSamples samples, bool screened, RowId* answer) {
  using Element = typename E::Element;
  using Rows = KeyTiles<E, kThreads, kLoads>;
  wait_for_previous();
  auto& shared = *dynamic_shared<Shared<Element>>();
  Held<Element> held(shared, k);
  const auto is_mine = [&](std::size_t segment) {
    const SegmentPath path = path_of(segments.end(segment) - segments.begin(segment), k, sizeof(typename E::Key));
    return is_left_for(SegmentPath::sampled, path, screened, answer + segment * k);
  };
  const bool some_are_not = screened || segments.offsets != nullptr;
  if (some_are_not && !share_has_any(segments.count, is_mine)) return;
  for (std::size_t segment = blockIdx.x; segment < segments.count; segment += gridDim.x) {
    if (some_are_not && !is_mine(segment)) continue;
    const std::size_t first = segments.begin(segment);
    const std::size_t size = segments.end(segment) - first;
    E of_segment = elements;
    of_segment.keys += first;
    const Rows rows(of_segment, size);
    const auto log = static_cast<unsigned>(63 - __clzll(static_cast<long long>(size | 1)));
    const SegmentSample sample = samples.of_log[min(log, SegmentSamples::kMax - 1)];
    Element threshold = kNoElement<Element>;
    __syncthreads();
    if (sample.rank > 0) {
      find_rank(least_sampled(of_segment, rows, sample), sample.lanes, sample.rank, shared.minima, &shared.threshold);
      threshold = shared.threshold;
    }
    held.begin();
    bool exact = size <= Held<Element>::kRoom || sample.rank > 0;
    if (exact) {
      Collecting<Rows>(rows, threshold, held).run();
      exact = held.count() <= Held<Element>::kRoom && held.count() >= min(std::size_t{k}, size);
    }
    if (!exact) {
      held.begin();
      collect_in_any_case(rows, held);
    }
    answer_with(held, elements, {.rows = answer + segment * k, .first = static_cast<RowId>(first), .k = k}, shared.few);
  }
}

/// Segments of one length have one plan.
SegmentSamples samples_for(const Segments& segments, std::size_t k, unsigned room, unsigned neighbours) {
  SegmentSamples samples;
  for (unsigned log = 0; log < SegmentSamples::kMax; ++log) {
    std::size_t least = std::size_t{1} << log;
    std::size_t most = 2 * least;
    if (segments.offsets == nullptr) least = most = segments.rows;
    samples.of_log[log] = sample_for(least, most, k, room, neighbours);
  }
  return samples;
}

}  // namespace

template <class E>
void least_of_segments(const E& elements, const Segments& segments, std::size_t k, RowId* rows, DeviceContext& device) {
  if (segments.count == 0) return;
  using Element = typename E::Element;
  const bool of_one_length = segments.offsets == nullptr;
  SegmentPath path = path_of(segments.rows, k, sizeof(typename E::Key));
  const bool may_screen = !of_one_length || path == SegmentPath::screened;
  // Elements with complemented row ids are not in the order of the answer.
  const bool screened =
      may_screen && elements.complement == 0 && least_of_screened_segments(elements, segments, k, rows, device);
  if (!screened && narrows_long_segments(segments, k, sizeof(typename E::Key), device)) path = SegmentPath::narrowed;
  if (k <= kMaxOfLanes && (!of_one_length || path == SegmentPath::lanes)) {
    least_of_short_segments(elements, segments, k, rows, device);
  }
  if (k <= kMaxOfNarrowed && (!of_one_length || path == SegmentPath::narrowed)) {
    least_of_narrowed_segments(elements, segments, k, rows, device);
  }
  if (of_one_length && (path == SegmentPath::lanes || path == SegmentPath::narrowed)) return;
  if (k > kMaxOfSampled) return least_of_running_segments(elements, segments, k, screened, rows, device);
  const std::size_t resident = kBlocks * static_cast<std::size_t>(device.properties().multiprocessors);
  launch("least_of_each", least_of_each<E>,
         {.blocks = std::min(segments.count, resident),
          .threads = kThreads,
          .shared_bytes = shared_bytes<Element>(),
          .overlaps = overlaps_screening(screened, device)},
         device.stream(), elements, segments, static_cast<unsigned>(k),
         samples_for(segments, k, kMaxHeld<Element>, kNeighbours<typename E::Key>), screened, rows);
}

template void least_of_segments(const ShortElements&, const Segments&, std::size_t, RowId*, DeviceContext&);
template void least_of_segments(const LongElements&, const Segments&, std::size_t, RowId*, DeviceContext&);
template void least_of_segments(const ManyElements&, const Segments&, std::size_t, RowId*, DeviceContext&);

}  // namespace skyrank::kernels::cuda::topk
