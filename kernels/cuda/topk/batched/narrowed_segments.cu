#include <algorithm>
#include <bit>

#include "kernels/cuda/device/kernel/block.cuh"
#include "kernels/cuda/device/kernel/scan.cuh"
#include "kernels/cuda/device/kernel/shared.cuh"
#include "kernels/cuda/device/launch.cuh"
#include "kernels/cuda/topk/batched/segment_paths.hpp"
#include "kernels/cuda/topk/block/block_select.cuh"
#include "kernels/cuda/topk/block/tiles.cuh"
#include "kernels/cuda/topk/block/warp_sort.cuh"

// A warp a segment. A tile's keys are in registers; what is within the bound
// is collected in shared memory. Where there is no room for all of it, a closer bound is searched, one that leaves the
// k least and not many more: keys at or below a guess are counted, and the guess is interpolated and halved by turns,
// so that even data take few rounds and no data more than twice as many as a key has bits. Among equal keys it is
// searched by rows. What is left in the end is sorted in registers.
namespace skyrank::kernels::cuda::topk {
namespace {

constexpr unsigned kNarrowedWarps = NarrowedPolicy::kThreads / kLanes;
constexpr std::size_t kMaxOfNarrowed = SegmentPolicy::kMaxNarrowedK;
constexpr unsigned kMaxOfLane = kMaxOfNarrowed / kLanes;

/// Elements that are sorted in the end, at most.
unsigned sorted_for(std::size_t k) {
  const auto some_more = static_cast<unsigned>(k + k / 4);
  return std::clamp(std::bit_ceil(some_more), kLanes, static_cast<unsigned>(kMaxOfNarrowed));
}

/// The elements that a warp has seen of a segment and keeps. All of its lanes call.
template <class E, unsigned kLoads>
class NarrowedSegment {
 public:
  using Element = typename E::Element;
  using Key = typename E::Key;
  using Rows = KeyTiles<E, kLanes, kLoads>;

  /// `held` has room for 2 * `sorted` elements of shared memory.
  __device__ NarrowedSegment(const Rows& rows, Element* held, unsigned k, unsigned sorted)
      : rows_(rows), held_(held), k_(k), sorted_(sorted), last_(static_cast<long long>(rows.size()) - 1) {}

  __device__ void read() {
    for (std::size_t tile = 0; tile < rows_.count(); ++tile) {
      Tile read;
      read.tile = tile;
      read.taken = rows_.load(tile, read.keys);
      read.taken &= at_or_below(read, limit_);
      if (!__any_sync(kAllLanes, read.taken != 0)) continue;
      drop_ties(read);
      unsigned mine = static_cast<unsigned>(__popc(read.taken));
      if (count_ + __reduce_add_sync(kAllLanes, mine) > 2 * sorted_) {
        narrow(read, sorted_);
        mine = static_cast<unsigned>(__popc(read.taken));
      }
      append(read, mine);
    }
  }

  /// Hands on the k least of what was read, or all of it, in the order of the answer: put(rank, element).
  template <class Put>
  __device__ void finish(Put put) {
    const bool descending = rows_.descending();
    // With complemented row ids elements are not in the order of the answer.
    const unsigned most = descending ? k_ : sorted_;
    if (count_ > most) {
      Tile none = {};
      narrow(none, most);
    }
    __syncwarp();
    if (count_ <= kLanes) return sort<1>(descending, put);
    if (count_ <= 2 * kLanes) return sort<2>(descending, put);
    if (count_ <= 4 * kLanes) return sort<4>(descending, put);
    sort<kMaxOfLane>(descending, put);
  }

  __device__ unsigned count() const { return count_; }

 private:
  struct Tile {
    Key keys[Rows::kItems];
    unsigned taken;  ///< a bit for each that is within the bound
    std::size_t tile;
  };

  __device__ static unsigned lane() { return threadIdx.x % kLanes; }
  __device__ Element element(const Tile& read, unsigned i) const {
    return rows_.element(read.keys[i], rows_.place(read.tile, i));
  }

  __device__ static unsigned at_or_below(const Tile& read, Key limit) {
    unsigned bits = 0;
#pragma unroll
    for (unsigned i = 0; i < Rows::kItems; ++i) {
      if (read.keys[i] <= limit) bits |= 1u << i;
    }
    return bits;
  }

  /// Drops rows that tie with the bound's key and are beyond the bound by their row.
  __device__ void drop_ties(Tile& read) const {
    const unsigned ties = ties_of(read, limit_);
    if (ties != 0) read.taken &= ~ties | up_to(read, last_);
  }
  __device__ static unsigned ties_of(const Tile& read, Key key) {
    unsigned bits = 0;
#pragma unroll
    for (unsigned i = 0; i < Rows::kItems; ++i) {
      if (read.keys[i] == key) bits |= 1u << i;
    }
    return bits;
  }

  /// Bits for the rows up to a place in their order of preference, which is the other one where ties go to the last.
  __device__ unsigned up_to(const Tile& read, long long place) const {
    const bool descending = rows_.descending();
    const long long row = descending ? static_cast<long long>(rows_.size()) - 2 - place : place;
    const long long limit = row - static_cast<long long>(rows_.place(read.tile, 0));
    unsigned bits = 0;
#pragma unroll
    for (unsigned i = 0; i < Rows::kItems; ++i) {
      constexpr unsigned kWidth = Rows::kWidth;
      const long long of_item = i / kWidth * kLanes * kWidth + i % kWidth;
      if (of_item <= limit) bits |= 1u << i;
    }
    return descending ? ~bits : bits;
  }
  /// The element of a key at that place.
  __device__ Element element_of(Key key, long long place) const {
    const Element row = rows_.descending() ? E::kRowMask - static_cast<Element>(rows_.size() - 1) : Element{0};
    return (static_cast<Element>(key) << E::kRowBits) + row + static_cast<Element>(place);
  }

  /// Keys of what is held and what is taken that are at or below a limit.
  __device__ unsigned count_keys(const Tile& read, Key limit) const {
    auto mine = static_cast<unsigned>(__popc(read.taken & at_or_below(read, limit)));
    for (unsigned i = lane(); i < count_; i += kLanes) mine += E::key(held_[i]) <= limit ? 1 : 0;
    return __reduce_add_sync(kAllLanes, mine);
  }
  __device__ unsigned count_held(Element bound) const {
    unsigned mine = 0;
    for (unsigned i = lane(); i < count_; i += kLanes) mine += held_[i] <= bound ? 1 : 0;
    return mine;
  }

  /// To a bound that k to `most` of what is held and taken are within; k <= most, and more than `most` there are.
  __device__ void narrow(Tile& read, unsigned most) {
    __syncwarp();
    limit_ = find_key(read, most);
    last_ = static_cast<long long>(rows_.size()) - 1;
    const unsigned ties = ties_of(read, limit_) & read.taken;
    read.taken &= at_or_below(read, limit_);
    if (within_ > most) {
      last_ = find_row(read, ties, most);
      read.taken &= ~ties | up_to(read, last_);
    }
    compact(element_of(limit_, last_));
  }

  /// A key that k or more are at or below, `within_` of them: at most `most`, unless that many more have this key.
  __device__ Key find_key(const Tile& read, unsigned most) {
    Key low = static_cast<Key>(~Key{0});
    Key high_complement = low;
#pragma unroll
    for (unsigned i = 0; i < Rows::kItems; ++i)
      add_to_range(read.keys[i], (read.taken >> i & 1) != 0, low, high_complement);
    for (unsigned i = lane(); i < count_; i += kLanes) add_to_range(E::key(held_[i]), true, low, high_complement);
    low = least_of_warp(low);
    Key high = static_cast<Key>(~least_of_warp(high_complement));
    within_ = count_ + __reduce_add_sync(kAllLanes, static_cast<unsigned>(__popc(read.taken)));
    // Fewer than k, `below`, are below `low`; `within_` are at or below `high`.
    unsigned below = 0;
    const unsigned aim = k_ + (most - k_) / 2;
    for (bool even = true; within_ > most && low < high; even = !even) {
      const Key length = high - low;
      Key step = length / 2;
      if (even) {
        const float share = static_cast<float>(aim - below) / static_cast<float>(within_ - below);
        step = min(static_cast<Key>(static_cast<float>(length) * share), static_cast<Key>(length - 1));
      }
      const Key guess = low + step;
      const unsigned found = count_keys(read, guess);
      if (found >= k_) {
        high = guess;
        within_ = found;
      } else {
        low = guess + 1;
        below = found;
      }
    }
    return high;
  }
  __device__ static void add_to_range(Key key, bool counts, Key& least, Key& greatest_complement) {
    if (!counts) return;
    least = key < least ? key : least;
    const Key complement = static_cast<Key>(~key);
    greatest_complement = complement < greatest_complement ? complement : greatest_complement;
  }

  /// Returns, if not all rows with the bound's key are wanted, the place up to which there are k to `most` rows.
  __device__ long long find_row(const Tile& read, unsigned ties, unsigned most) const {
    const auto less = static_cast<unsigned>(__popc(read.taken & ~ties));
    long long low = 0;
    long long high = last_;
    while (low < high) {
      const long long guess = (low + high) / 2;
      const unsigned mine =
          less + static_cast<unsigned>(__popc(ties & up_to(read, guess))) + count_held(element_of(limit_, guess));
      const unsigned found = __reduce_add_sync(kAllLanes, mine);
      if (found >= k_ && found <= most) return guess;
      if (found >= k_) {
        high = guess;
      } else {
        low = guess + 1;
      }
    }
    return high;
  }

  /// Lets go of what is held beyond the bound.
  __device__ void compact(Element bound) {
    unsigned kept = 0;
    for (unsigned first = 0; first < count_; first += kLanes) {
      const Element mine = first + lane() < count_ ? held_[first + lane()] : kNoElement<Element>;
      const bool keep = first + lane() < count_ && mine <= bound;
      const unsigned all = __ballot_sync(kAllLanes, keep);
      __syncwarp();  // a ballot does not order memory
      // To places whose elements have been looked at.
      if (keep) held_[kept + static_cast<unsigned>(__popc(all & ((1u << lane()) - 1)))] = mine;
      kept += static_cast<unsigned>(__popc(all));
      __syncwarp();
    }
    count_ = kept;
  }

  __device__ void append(const Tile& read, unsigned mine) {
    unsigned all = 0;
    unsigned place = count_ + sum_before_lane(mine, all);
#pragma unroll
    for (unsigned i = 0; i < Rows::kItems; ++i) {
      if ((read.taken >> i & 1) != 0) held_[place++] = element(read, i);
    }
    count_ += all;
    __syncwarp();
  }

  template <unsigned kItems, class Put>
  __device__ void sort(bool descending, Put put) {
    Element items[kItems];
#pragma unroll
    for (unsigned i = 0; i < kItems; ++i) {
      const unsigned place = i * kLanes + lane();
      items[i] = place < count_ ? held_[place] ^ (descending ? E::kRowMask : Element{0}) : kNoElement<Element>;
    }
    sort_of_warp(items);
#pragma unroll
    for (unsigned i = 0; i < kItems; ++i) {
      const unsigned rank = lane() * kItems + i;
      if (rank < count_) put(rank, items[i]);
    }
    __syncwarp();
  }

  const Rows& rows_;
  Element* held_;
  unsigned k_;
  unsigned sorted_;
  unsigned count_ = 0;
  unsigned within_ = 0;
  Key limit_ = static_cast<Key>(~Key{0});  ///< the bound: rows of this key up to one, in the order of preference
  long long last_;
};

template <class E, unsigned kLoads>
__global__ void __launch_bounds__(NarrowedPolicy::kThreads, NarrowedPolicy::kBlocks)
    least_of_each_narrowed(E elements, Segments segments, unsigned k, unsigned sorted, RowId* answer) {
  using Element = typename E::Element;
  using Selection = NarrowedSegment<E, kLoads>;
  const unsigned warp = threadIdx.x / kLanes;
  const std::size_t stride = std::size_t{gridDim.x} * kNarrowedWarps;
  for (std::size_t segment = std::size_t{blockIdx.x} * kNarrowedWarps + warp; segment < segments.count;
       segment += stride) {
    const std::size_t first = segments.begin(segment);
    const std::size_t size = segments.end(segment) - first;
    if (segments.offsets != nullptr && path_of(size, k, sizeof(typename E::Key)) != SegmentPath::narrowed) continue;
    E of_segment = elements;
    of_segment.keys += first;
    const typename Selection::Rows tiles(of_segment, size);
    Selection selection(tiles, dynamic_shared<Element>() + warp * 2 * sorted, k, sorted);
    selection.read();
    RowId* const rows = answer + segment * k;
    for (std::size_t i = size + threadIdx.x % kLanes; i < k; i += kLanes) rows[i] = static_cast<RowId>(NoRow::absent);
    selection.finish([&](unsigned rank, Element element) {
      if (rank < k) rows[rank] = static_cast<RowId>(first) + static_cast<RowId>(element & E::kRowMask);
    });
  }
}

/// The kernel for segments of so many rows; 0: of many lengths.
template <class E>
auto kernel_for(std::size_t rows) {
  using Policy = NarrowedPolicy;
  if constexpr (sizeof(typename E::Key) == 4) {
    if (rows > 0 && rows <= Policy::kFewRows) return least_of_each_narrowed<E, Policy::kLoadsOfFewRows>;
  }
  return least_of_each_narrowed<E, Policy::kLoads>;
}

}  // namespace

template <class E>
void least_of_narrowed_segments(const E& elements, const Segments& segments, std::size_t k, RowId* rows,
                                DeviceContext& device) {
  const auto kernel = kernel_for<E>(segments.offsets == nullptr ? segments.rows : 0);
  const unsigned sorted = sorted_for(k);
  const std::size_t bytes = std::size_t{kNarrowedWarps} * 2 * sorted * sizeof(typename E::Element);
  const std::size_t resident = resident_blocks(kernel, NarrowedPolicy::kThreads, bytes) *
                               static_cast<std::size_t>(device.properties().multiprocessors);
  launch("least_of_each_narrowed", kernel,
         {.blocks = std::min(blocks_for(segments.count, kNarrowedWarps), resident),
          .threads = NarrowedPolicy::kThreads,
          .shared_bytes = bytes},
         device.stream(), elements, segments, static_cast<unsigned>(k), sorted, rows);
}

template void least_of_narrowed_segments(const ShortElements&, const Segments&, std::size_t, RowId*, DeviceContext&);
template void least_of_narrowed_segments(const LongElements&, const Segments&, std::size_t, RowId*, DeviceContext&);
template void least_of_narrowed_segments(const ManyElements&, const Segments&, std::size_t, RowId*, DeviceContext&);

}  // namespace skyrank::kernels::cuda::topk
