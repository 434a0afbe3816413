#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels/cuda/device/kernel/block.cuh"
#include "kernels/cuda/device/kernel/copy_ahead.cuh"
#include "kernels/cuda/device/kernel/quotient.cuh"
#include "kernels/cuda/device/kernel/scan.cuh"
#include "kernels/cuda/device/kernel/shared.cuh"
#include "kernels/cuda/device/launch.cuh"
#include "kernels/cuda/topk/batched/order_of_kept.cuh"
#include "kernels/cuda/topk/batched/segment_paths.hpp"
#include "kernels/cuda/topk/batched/share_of_block.cuh"
#include "kernels/cuda/topk/block/even_bins.cuh"
#include "kernels/cuda/topk/block/guess.cuh"

// A block a segment, for many wanted rows. A sample, 32 or 64 bytes at a place for each thread, gives a bound that
// keeps a little more than k rows; one scan keeps what is within it, and that is put in order. Each lane copies keys of
// its own to shared memory, some ahead of those that it looks at, and waits for no other; it takes places for all of a
// tile's that it keeps at a time. So little is kept that a loop over a lane's hits is shorter than to write each key if
// it is one, and keys in shared memory, unlike those in registers, may be chosen in a loop. Of sorted or equal keys it
// keeps all that a lane has in a tile, and these go to places where no two lanes meet in a bank. Where the bound kept
// too few rows, or more than there is room for, the segment gets a mark, and running_segments.cu takes it.
//
// Floor: one read of the keys. Besides, 110 instructions of a warp for each 512 keys, and the sample's places are read
// twice.
namespace skyrank::kernels::cuda::topk {
namespace {

/// More sampled keys than this, of `mean` in the mean, are not within a segment's k least, but for once in 10^5
/// segments of random rows.
SKYRANK_HD inline float most_in_sample(float mean) { return mean + 4.4f * sqrtf(mean) + 4; }

/// The elements that a block keeps of a segment. All of its threads call. `kNeighbours`: sampled keys of a thread,
/// which one access or two load.
template <class E, class Shape, unsigned kNeighbours>
class ScreenedSegment {
 public:
  static constexpr unsigned kThreads = ScreenedPolicy::kThreads;
  static constexpr unsigned kWarps = kThreads / kLanes;
  static constexpr unsigned kLoads = ScreenedPolicy::kLoads;

  using Element = typename E::Element;
  using Key = typename E::Key;
  using Order = OrderOfKept<E, kThreads, Shape::kKept>;

  static constexpr unsigned kRoom = kThreads * Shape::kKept;
  static constexpr unsigned kSampled = kThreads * kNeighbours;

 private:
  static constexpr unsigned kStages = Shape::kStages;
  static constexpr unsigned kBins = 4 * kThreads;  ///< bins of the sample

 public:
  struct Shared {
    union {
      uint4 stages[kStages][kLoads][kThreads];
      typename Order::Shared order;  ///< when all tiles have been looked at
    };
    union {
      Element kept[kRoom];
      uint4 counts[kBins / 4];  ///< counts of the sample, before any row is kept
    };
    BlockRange<Key, kThreads> range;
    unsigned count;              ///< places given away
    RankedBin<kThreads> wanted;  ///< the bin that has the wanted key of the sample
    unsigned tie_end;            ///< see below
  };

  /// Takes a segment of `size` keys, more than kSampled.
  __device__ ScreenedSegment(const Key* keys, unsigned size, Shared& shared)
      : keys_(keys), size_(size), shared_(shared) {}

  /// Keeps the k least and some more, unless count() tells otherwise.
  __device__ void read(unsigned k) {
    if (threadIdx.x == 0) shared_.count = 0;
#pragma unroll
    for (unsigned stage = 0; stage + 1 < kStages; ++stage) copy_tile(threadIdx.x / kLanes + stage * kWarps, stage);
    find_bound(rank_in_sample(k));
    scan();
    scan_rest();
    __syncthreads();
  }

  /// Rows within the bound, more than kRoom if not all were kept.
  __device__ unsigned count() const { return shared_.count; }

  /// Hands on the k least, of no more than there is room for, in order: put(rank, element).
  template <class Put>
  __device__ void finish(unsigned k, Put put) {
    const unsigned tied_rows = min(size_, tie_end_ + kTile);
    Order::order(shared_.kept, shared_.count, k, {knot_, limit_, size_, tied_rows}, shared_.order, put);
  }

 private:
  static constexpr unsigned kWidth = 16 / sizeof(Key);  ///< keys of a load
  static constexpr unsigned kItems = kLoads * kWidth;   ///< keys of a lane in a tile
  static constexpr unsigned kTile = kLanes * kItems;
  static_assert(kItems <= 32);

  __device__ unsigned rank_in_sample(unsigned k) const {
    const float mean = quotient(static_cast<float>(k * kSampled), static_cast<float>(size_));
    return min(static_cast<unsigned>(most_in_sample(mean)), kSampled);
  }

  /// The first of this thread's rows in the sample.
  __device__ unsigned sampled_row() const {
    const auto address = reinterpret_cast<std::uintptr_t>(keys_) / sizeof(Key);
    const unsigned lead = static_cast<unsigned>(-address) % kNeighbours;
    const std::size_t accesses = (size_ - lead) / kNeighbours;
    return lead + kNeighbours * static_cast<unsigned>(sampled_place(threadIdx.x, kThreads, accesses));
  }

  /// Finds the sampled key of a rank, from 1, or one that comes little later. The interval of the sample's least keys
  /// is divided into bins, and the bin with that key again, until it has few keys, or one.
  __device__ void find_bound(unsigned rank) {
    const unsigned row = sampled_row();
    Key keys[kNeighbours];
#pragma unroll
    for (unsigned i = 0; i < kNeighbours / kWidth; ++i) {
      const uint4 loaded = __ldg(reinterpret_cast<const uint4*>(keys_ + row) + i);
      __builtin_memcpy(keys + i * kWidth, &loaded, sizeof(loaded));
    }
    const unsigned few = 2 + rank / 16;
    unsigned inside = 0;  // a bit for each key in the interval
    unsigned before = 0;
    Key least = find_first_range(keys, rank, inside);
    knot_ = least;
    while (least != limit_) {
      divide(keys, inside, rank - before, EvenBins<Key, kBins>(least, limit_));
      before += shared_.wanted.before;
      least = find_range(keys, inside);
      if (shared_.wanted.inside <= few) break;
    }
    tie_end_ = size_;
    if (least != limit_) return;
    bound_ties(inside, rank - before, few, row);
    // So few are less that they need no more bins than there are below the knot.
    if (before <= few) knot_ = limit_;
  }

  /// Returns the least of the block's keys. The limit is one that at least `rank` keys are at or below: the greatest of
  /// what is the least of each group, where there are as many groups. Keys that are spread unevenly, as normal ones,
  /// are mostly far above it, so that bins up to it are narrow. `inside` gets a bit for each key up to the limit.
  __device__ Key find_first_range(const Key (&keys)[kNeighbours], unsigned rank, unsigned& inside) {
    constexpr unsigned kThreadsOfGroup = 4;
    Key least = keys[0];
    Key greatest = keys[0];
#pragma unroll
    for (unsigned i = 1; i < kNeighbours; ++i) {
      least = keys[i] < least ? keys[i] : least;
      greatest = keys[i] > greatest ? keys[i] : greatest;
    }
    if (rank <= kThreads) greatest = least;
    if (rank <= kThreads / kThreadsOfGroup) {
#pragma unroll
      for (unsigned step = 1; step < kThreadsOfGroup; step *= 2) {
        const Key other = __shfl_xor_sync(kAllLanes, greatest, static_cast<int>(step));
        greatest = other < greatest ? other : greatest;
      }
    }
    shared_.range.find(least, greatest);
    limit_ = greatest;
    inside = 0;
#pragma unroll
    for (unsigned i = 0; i < kNeighbours; ++i) inside |= unsigned{keys[i] <= limit_} << i;
    return least;
  }

  /// Returns the least of the block's keys that `inside` has bits for; the greatest is the limit.
  __device__ Key find_range(const Key (&keys)[kNeighbours], unsigned inside) {
    Key least = static_cast<Key>(~Key{0});
    limit_ = 0;
#pragma unroll
    for (unsigned i = 0; i < kNeighbours; ++i) {
      if ((inside >> i & 1) == 0) continue;
      least = keys[i] < least ? keys[i] : least;
      limit_ = keys[i] > limit_ ? keys[i] : limit_;
    }
    shared_.range.find(least, limit_);
    return least;
  }

  /// Counts the keys in bins and leaves those inside that are in the bin with the key of a rank, from 1.
  __device__ void divide(const Key (&keys)[kNeighbours], unsigned& inside, unsigned rank,
                         const EvenBins<Key, kBins>& bins) {
    uint4& own = shared_.counts[threadIdx.x];
    auto* const counts = reinterpret_cast<unsigned*>(shared_.counts);
    own = make_uint4(0, 0, 0, 0);
    __syncthreads();
#pragma unroll
    for (unsigned i = 0; i < kNeighbours; ++i) {
      if ((inside >> i & 1) != 0) atomicAdd(&counts[bins.of(keys[i])], 1u);
    }
    __syncthreads();
    shared_.wanted.find(own, rank);
    const unsigned chosen = shared_.wanted.bin;
#pragma unroll
    for (unsigned i = 0; i < kNeighbours; ++i) {
      if ((inside >> i & 1) != 0 && bins.of(keys[i]) != chosen) inside &= ~(1u << i);
    }
  }

  /// The keys inside are one. If there are many more than `rank` of them, only rows up to that one are in. `row`: of
  /// the thread's first.
  __device__ void bound_ties(unsigned inside, unsigned rank, unsigned few, unsigned row) {
    const auto own = static_cast<unsigned>(__popc(inside));
    unsigned all = 0;
    const unsigned before = sum_before<kThreads>(own, all);
    if (all <= rank + few) return;
    if (before < rank && rank <= before + own) shared_.tie_end = row + kNeighbours;
    __syncthreads();
    tie_end_ = shared_.tie_end;
  }

  /// Rows before the first one at a multiple of 128 bytes, where tiles begin.
  __device__ unsigned lead() const {
    return static_cast<unsigned>(-(reinterpret_cast<std::uintptr_t>(keys_) / sizeof(Key))) % (128 / sizeof(Key));
  }
  /// Returns the number of whole tiles.
  __device__ unsigned tiles() const { return (size_ - lead()) / kTile; }

  /// Begins to, if there is such a tile.
  __device__ void copy_tile(unsigned tile, unsigned stage) {
    if (tile < tiles()) {
      const auto* const words = reinterpret_cast<const uint4*>(keys_ + lead()) + threadIdx.x % kLanes;
      const auto* const own = words + std::size_t{tile} * (kLoads * kLanes);
#pragma unroll
      for (unsigned i = 0; i < kLoads; ++i) copy_ahead<16>(&shared_.stages[stage][i][threadIdx.x], own + i * kLanes);
    }
    end_copies();
  }

  /// Keeps what is within the bound, of whole tiles. Of each warp the first ones are on their way.
  __device__ void scan() {
    const unsigned tiles = this->tiles();
    unsigned stage = 0;
    for (unsigned tile = threadIdx.x / kLanes; tile < tiles; tile += kWarps) {
      copy_tile(tile + (kStages - 1) * kWarps, stage == 0 ? kStages - 1 : stage - 1);
      wait_for_copies<kStages - 1>();
      look_at(stage, lead() + tile * kTile);
      __syncwarp();  // for the lanes to copy together again
      stage = stage + 1 == kStages ? 0 : stage + 1;
    }
  }

  /// Scans the rows before and behind the whole tiles.
  __device__ void scan_rest() {
    const unsigned first = lead();
    const unsigned behind = first + tiles() * kTile;
    for (unsigned i = threadIdx.x; i < first + size_ - behind; i += kThreads) {
      const unsigned row = i < first ? i : behind + i - first;
      const Key key = keys_[row];
      if (key > limit_ || (key == limit_ && row >= tie_end_)) continue;
      const unsigned place = atomicAdd(&shared_.count, 1u);
      if (place < kRoom) shared_.kept[place] = element(key, row);
    }
  }

  /// A tile whose keys have come.
  __device__ void look_at(unsigned stage, unsigned first_row) {
    const bool ties = first_row < tie_end_;
    if (limit_ == 0 && !ties) return;
    const Key most = ties ? limit_ : static_cast<Key>(limit_ - 1);
    unsigned hits = 0;
#pragma unroll
    for (unsigned i = 0; i < kLoads; ++i) {
      Key keys[kWidth];
      const uint4 loaded = shared_.stages[stage][i][threadIdx.x];
      __builtin_memcpy(keys, &loaded, sizeof(loaded));
#pragma unroll
      for (unsigned j = 0; j < kWidth; ++j) hits |= unsigned{keys[j] <= most} << (i * kWidth + j);
    }
    if (hits != 0) keep(hits, stage, first_row + threadIdx.x % kLanes * kWidth);
  }

  /// Keeps those of a lane's keys in a tile that `hits` has bits for, unless there is no room. `first_row` is the
  /// lane's.
  __device__ void keep(unsigned hits, unsigned stage, unsigned first_row) {
    const auto own = static_cast<unsigned>(__popc(hits));
    const unsigned place = atomicAdd(&shared_.count, own);
    if (place + own > kRoom) return;
    if (own == kItems) return keep_all(shared_.kept + place, stage, first_row);
    Element* next = shared_.kept + place;
#pragma unroll 1
    do {
      const unsigned i = 31 - static_cast<unsigned>(__clz(static_cast<int>(hits)));
      hits ^= 1u << i;
      *next++ = element_of_tile(i, stage, first_row);
    } while (hits != 0);
  }

  /// All of a lane's keys in a tile. The lanes' places are as far apart as the banks repeat, so each begins with
  /// another key.
  __device__ void keep_all(Element* places, unsigned stage, unsigned first_row) {
#pragma unroll 1
    for (unsigned iteration = 0; iteration < kItems; ++iteration) {
      const unsigned i = (iteration + threadIdx.x) % kItems;
      places[i] = element_of_tile(i, stage, first_row);
    }
  }

  /// The i-th of a lane's.
  __device__ Element element_of_tile(unsigned i, unsigned stage, unsigned first_row) const {
    const auto* const keys = reinterpret_cast<const Key*>(&shared_.stages[stage][0][threadIdx.x]);
    const unsigned load = i / kWidth;
    const unsigned of_load = i % kWidth;
    return element(keys[load * (kThreads * kWidth) + of_load], first_row + load * (kLanes * kWidth) + of_load);
  }

  __device__ static Element element(Key key, unsigned row) { return static_cast<Element>(key) << E::kRowBits | row; }

  const Key* keys_;
  unsigned size_;
  Shared& shared_;
  Key knot_ = 0;          ///< the least sampled key, or one of many that are the bound's
  Key limit_ = 0;         ///< keys below it are within the bound, and those equal to it of the tiles
  unsigned tie_end_ = 0;  ///< end of the rows that tie and are kept
};

template <class E, class Shape, unsigned kNeighbours>
__global__ void __launch_bounds__(ScreenedPolicy::kThreads, Shape::kBlocks)
    least_of_each_screened(E elements, Segments segments, unsigned k, RowId* answer) {
  using Segment = ScreenedSegment<E, Shape, kNeighbours>;
  let_next_start();
  auto& shared = *dynamic_shared<typename Segment::Shared>();
  const auto is_mine = [&](std::size_t i) {
    return path_of(segments.end(i) - segments.begin(i), k, sizeof(typename E::Key)) == SegmentPath::screened;
  };
  if (segments.offsets != nullptr && !share_has_any(segments.count, is_mine)) return;
  for (std::size_t i = blockIdx.x; i < segments.count; i += gridDim.x) {
    if (!is_mine(i)) continue;
    const std::size_t first = segments.begin(i);
    const std::size_t size = segments.end(i) - first;
    __syncthreads();
    Segment segment(elements.keys + first, static_cast<unsigned>(size), shared);
    segment.read(k);
    RowId* const own = answer + i * k;
    if (segment.count() < k || segment.count() > Segment::kRoom) {
      if (threadIdx.x == 0) own[0] = static_cast<RowId>(NoRow::left_over);
      continue;
    }
    segment.finish(k, [&](unsigned rank, typename E::Element element) {
      own[rank] = static_cast<RowId>(first) + static_cast<RowId>(element & E::kRowMask);
    });
  }
}

template <class E, class Shape, unsigned kNeighbours>
bool launch_screening(const E& elements, const Segments& segments, std::size_t k, RowId* rows, DeviceContext& device) {
  const std::size_t shared_bytes = sizeof(typename ScreenedSegment<E, Shape, kNeighbours>::Shared);
  if (shared_bytes > device.properties().shared_bytes_per_block) return false;
  // Of one length a block for each: the next one begins where one has ended. Of many, most may be for others.
  const std::size_t resident = Shape::kBlocks * static_cast<std::size_t>(device.properties().multiprocessors);
  const std::size_t most = segments.offsets != nullptr ? resident : std::size_t{1} << 20;
  launch("least_of_each_screened", least_of_each_screened<E, Shape, kNeighbours>,
         {.blocks = std::min(segments.count, most), .threads = ScreenedPolicy::kThreads, .shared_bytes = shared_bytes},
         device.stream(), elements, segments, static_cast<unsigned>(k), rows);
  return true;
}

/// Returns true if the bound by a sample of so many keys of random rows keeps more than there is room for at most once
/// in 10^5 segments. One of thousands that is done again costs as much as a tenth of all.
bool is_large_enough(unsigned sampled, unsigned room, std::size_t rows, std::size_t k) {
  const float share = static_cast<float>(sampled) / static_cast<float>(rows);
  const float rank = most_in_sample(static_cast<float>(k) * share);
  return most_in_sample(rank) <= static_cast<float>(room) * share;
}

}  // namespace

template <class E>
bool least_of_screened_segments(const E& elements, const Segments& segments, std::size_t k, RowId* rows,
                                DeviceContext& device) {
  using Policy = ScreenedPolicy;
  // Of 32-bit keys what one access brings is enough.
  constexpr unsigned kOneAccess = 32 / sizeof(typename E::Key);
  constexpr unsigned kTwoAccesses = 8;
  const auto is_enough_for = [&](unsigned kept) {
    return segments.offsets == nullptr &&
           is_large_enough(Policy::kThreads * kOneAccess, Policy::kThreads * kept, segments.rows, k);
  };
  if constexpr (sizeof(typename E::Element) == 8) {
    const bool may_be_short =
        segments.offsets != nullptr || segments.rows * sizeof(typename E::Key) < Policy::kLongBytes;
    if (may_be_short && is_enough_for(Policy::Short::kKept)) {
      return launch_screening<E, Policy::Short, kOneAccess>(elements, segments, k, rows, device);
    }
    if (k > Policy::kFewWanted && is_enough_for(Policy::FarAhead::kKept)) {
      return launch_screening<E, Policy::FarAhead, kOneAccess>(elements, segments, k, rows, device);
    }
    if (may_be_short) return launch_screening<E, Policy::RoomyShort, kOneAccess>(elements, segments, k, rows, device);
  }
  using Large = Policy::Roomy<sizeof(typename E::Element)>;
  return is_enough_for(Large::kKept) ? launch_screening<E, Large, kOneAccess>(elements, segments, k, rows, device)
                                     : launch_screening<E, Large, kTwoAccesses>(elements, segments, k, rows, device);
}

template bool least_of_screened_segments(const ShortElements&, const Segments&, std::size_t, RowId*, DeviceContext&);
template bool least_of_screened_segments(const LongElements&, const Segments&, std::size_t, RowId*, DeviceContext&);
template bool least_of_screened_segments(const ManyElements&, const Segments&, std::size_t, RowId*, DeviceContext&);

}  // namespace skyrank::kernels::cuda::topk
