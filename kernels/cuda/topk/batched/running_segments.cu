#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "kernels/cuda/device/kernel/block.cuh"
#include "kernels/cuda/device/kernel/scan.cuh"
#include "kernels/cuda/device/kernel/shared.cuh"
#include "kernels/cuda/device/launch.cuh"
#include "kernels/cuda/topk/batched/segment_paths.hpp"
#include "kernels/cuda/topk/batched/share_of_block.cuh"
#include "kernels/cuda/topk/block_spread_sort.cuh"
#include "kernels/cuda/topk/even_bins.cuh"
#include "kernels/cuda/topk/tiles.cuh"

// A block a segment, for many wanted rows. What is within the bound, at first everything, is kept in shared memory.
// Where there is no more room, the bound comes closer: the first time to what makes the k least of the segment likely,
// judged by the rows so far; later, or where these are no fair sample, to the k least that were seen. The others go.
// Each warp reads tiles of its own and waits for nobody until the room is full. Tiles are read in an order that spreads
// over the segment, so that sorted rows are no worse than others. A guess that was too close is found out in the end,
// and the segment is read again without one.
//
// Floor: one read of the keys. Besides, 230 instructions of a warp for each 512 keys, and what is kept is looked at two
// or three times.
namespace skyrank::kernels::cuda::topk {
namespace {

using Policy = RunningPolicy;
constexpr unsigned kThreads = Policy::kThreads;
constexpr unsigned kWarps = kThreads / kLanes;
constexpr unsigned kLoads = Policy::kLoads;

/// Returns the distance to the next tile, among the `tiles` of a round. The golden section divides the tiles between
/// those that have been read most evenly; without a common divisor all are met.
__device__ unsigned stride_of_tiles(unsigned tiles) {
  constexpr float kGoldenSection = 0.618034f;
  auto stride = static_cast<unsigned>(static_cast<float>(tiles) * kGoldenSection);
  const auto common_divisor = [](unsigned a, unsigned b) {
    while (b != 0) {
      const unsigned rest = a % b;
      a = b;
      b = rest;
    }
    return a;
  };
  while (common_divisor(tiles, stride) != 1) ++stride;
  return stride;
}

/// Elements among which the k least are looked for in the end.
SKYRANK_HD constexpr unsigned sorted_for(unsigned k) {
  const unsigned items = (k + k / 8 + kThreads - 1) / kThreads;
  return kThreads * (items <= Policy::kFewItems    ? Policy::kFewItems
                     : items <= Policy::kSomeItems ? Policy::kSomeItems
                                                   : Policy::kManyItems);
}

/// The elements that a block has seen of a segment and keeps. All of its threads call.
template <class E>
class RunningSegment {
 public:
  using Element = typename E::Element;
  using Rows = KeyTiles<E, kLanes, kLoads>;
  using Key = typename E::Key;
  using Sort = BlockSpreadSort<Element, kThreads>;
  /// The bits of an element below its key.
  using RowBits = std::conditional_t<sizeof(Element) == 8, std::uint32_t, std::uint64_t>;

  /// Elements that there is room for, of which a thread has so many where all are looked at.
  static constexpr unsigned kRoom = Policy::kHeldBytes / sizeof(Element);
  static constexpr unsigned kItems = kRoom / kThreads;
  static_assert(2 * kMaxOfSegment<E> <= kRoom && sorted_for(kMaxOfSegment<E>) <= kRoom);
  /// A warp's tile has room once the bound is close, so that each time some are read.
  static_assert(kMaxOfSegment<E> + (kRoom - kMaxOfSegment<E>) / 4 + Rows::kTile <= kRoom);

  struct Shared {
    typename Sort::Shared sort;
    BlockRange<Key, kThreads> keys;
    BlockRange<RowBits, kThreads> rows;
    unsigned count;            ///< places given away
    unsigned filled;           ///< first place of the first warp for which there was no room
    RankedBin<kThreads> last;  ///< the bin that has the k-th element
    unsigned of_tiles[kRoom / Rows::kTile];
    unsigned stride;  ///< stride of the order in which tiles are read
  };

  /// The elements lie behind `shared`.
  __device__ RunningSegment(const Rows& rows, const Key* keys, Shared& shared, unsigned k)
      : rows_(rows), keys_(keys), shared_(shared), held_(reinterpret_cast<Element*>(&shared + 1)), k_(k) {}

  static constexpr std::size_t shared_bytes() { return sizeof(Shared) + kRoom * sizeof(Element); }

  /// Afterwards at most `sorted` are held, the k least among them, or all of fewer. `shared.stride` is that of the
  /// segment's tiles. `may_guess`: what was read first may be taken for a sample.
  __device__ void read(unsigned sorted, bool may_guess) {
    while (true) {
      read_all(sorted, may_guess);
      if (count() >= min(std::size_t{k_}, rows_.size())) return;
      guessed_wrong_ = true;
      may_guess = false;
      limit_ = static_cast<Key>(~Key{0});
      bound_all_rows();
    }
  }

  /// Returns true if a guess was of no use.
  __device__ bool guessed_wrong() const { return guessed_wrong_; }

  /// Hands on what is held in the order of the answer: put(rank, element).
  template <class Put>
  __device__ void finish(Element complement, Put put) {
    const unsigned held = count();
    if (complement != 0) {
      for (unsigned i = threadIdx.x; i < held; i += kThreads) held_[i] ^= complement;
      __syncthreads();
    }
    if (held <= kThreads)
      Sort::template sort<Policy::kFewItems>(held_, held, held_, shared_.sort, put);
    else if (held <= kThreads * Policy::kSomeItems)
      Sort::template sort<Policy::kSomeItems>(held_, held, held_, shared_.sort, put);
    else
      Sort::template sort<Policy::kManyItems>(held_, held, held_, shared_.sort, put);
  }

  /// After a barrier.
  __device__ unsigned count() const { return min(shared_.count, shared_.filled); }

 private:
  __device__ static RowBits row_bits(Element element) { return static_cast<RowBits>(element); }
  __device__ static Element element_of(Key key, RowBits row) {
    return static_cast<Element>(key) << E::kRowBits | static_cast<Element>(row);
  }

  /// All of the segment. `may_guess`: the first bound may be one that fewer than k rows are within in the end.
  __device__ void read_all(unsigned sorted, bool may_guess) {
    const auto tiles = static_cast<unsigned>(rows_.count());
    begin_list();
    unsigned visit = threadIdx.x / kLanes;
    const unsigned stride = shared_.stride;
    unsigned tile = visit * stride % max(tiles, 1u);
    const unsigned step = kWarps * stride % max(tiles, 1u);
    while (true) {
      bool full = false;
      while (visit < tiles) {
        // The second one is the last, so that rows in descending order begin as well as ascending ones.
        full = !read_tile(tile == stride ? tiles - 1 : tile == tiles - 1 ? stride : tile, tiles);
        if (full) break;
        visit += kWarps;
        tile = tile + step < tiles ? tile + step : tile + step - tiles;
      }
      const bool again = __syncthreads_or(full ? 1 : 0) != 0;
      const unsigned most = again ? most_while_reading() : sorted;
      if (count() > most) narrow(most, again && may_guess);
      if (!again) return;
      may_guess = false;
    }
  }

  /// The more room there is, the fewer times it is full; the closer the bound, the less each time.
  __device__ unsigned most_while_reading() const { return k_ + (kRoom - k_) / 4; }

  /// Returns the rank, among `held` rows, that is enough to bound the k least rows of the segment, with some room. The
  /// held rows are all that were read, and as good as random ones.
  __device__ unsigned guessed_rank(unsigned held) const {
    const float mean = static_cast<float>(k_) * static_cast<float>(held) / static_cast<float>(rows_.size());
    return static_cast<unsigned>(1.5f * mean + 6 * sqrtf(mean)) + 8;
  }

  /// Returns true if the `rank` kept items come from few of the tiles that were read first, as those of sorted rows do.
  __device__ bool come_from_few_tiles(unsigned kept, unsigned rank) {
    constexpr unsigned kTiles = kRoom / Rows::kTile;
    constexpr unsigned kOfTile = kItems / kTiles;
    if (threadIdx.x < kTiles) shared_.of_tiles[threadIdx.x] = 0;
    __syncthreads();
#pragma unroll
    for (unsigned tile = 0; tile < kTiles; ++tile) {
      const unsigned own = kept >> tile * kOfTile & ((1u << kOfTile) - 1);
      const unsigned of_warp = __reduce_add_sync(kAllLanes, static_cast<unsigned>(__popc(own)));
      if (threadIdx.x % kLanes == 0) atomicAdd(&shared_.of_tiles[tile], of_warp);
    }
    __syncthreads();
    unsigned most = 0;
#pragma unroll
    for (unsigned tile = 0; tile < kTiles; ++tile) most = max(most, shared_.of_tiles[tile]);
    constexpr unsigned kOfChance = 16;
    return most > 2 * rank / kTiles + kOfChance;
  }

  __device__ void begin_list() {
    __syncthreads();
    if (threadIdx.x == 0) {
      shared_.count = 0;
      shared_.filled = ~0u;
    }
    __syncthreads();
  }

  /// Takes what is within the bound; not if there is no room for all of it. A warp calls it.
  __device__ bool read_tile(unsigned tile, unsigned tiles) {
    // Rows of the bound's key are all within it, or none of them, but for one tile.
    const bool mixed = tile == bound_tile_;
    const bool ties = rows_.descending() ? tile >= bound_tile_ : tile <= bound_tile_;
    if (limit_ == 0 && !ties) return true;
    const Key most = ties ? limit_ : static_cast<Key>(limit_ - 1);
    Key keys[Rows::kItems];
    unsigned taken = load(tile, tiles, keys);
#pragma unroll
    for (unsigned i = 0; i < Rows::kItems; ++i) {
      if (keys[i] > most) taken &= ~(1u << i);
    }
    // Row ids count upwards from the lane's first one, their complements downwards.
    const auto first = static_cast<RowBits>(rows_.place(tile, 0));
    const auto row_of = [&](unsigned i) { return rows_.descending() ? ~first - distance(i) : first + distance(i); };
    if (mixed) {
#pragma unroll
      for (unsigned i = 0; i < Rows::kItems; ++i) {
        if (keys[i] == limit_ && row_of(i) > last_) taken &= ~(1u << i);
      }
    }
    unsigned place = 0;
    if (!make_room(taken, place)) return false;
    if (rows_.descending())
      put<Rows::kItems>(taken, place, [&](unsigned i) { return element_of(keys[i], ~first - distance(i)); });
    else
      put<Rows::kItems>(taken, place, [&](unsigned i) { return element_of(keys[i], first + distance(i)); });
    return true;
  }

  /// Returns the distance of a lane's i-th row in a tile from its first one.
  __device__ static RowBits distance(unsigned i) {
    return i / Rows::kWidth * (kLanes * Rows::kWidth) + i % Rows::kWidth;
  }

  /// A bit for each key that is there.
  __device__ unsigned load(unsigned tile, unsigned tiles, Key (&keys)[Rows::kItems]) const {
    if (tile == 0 || tile + 1 == tiles) return rows_.load(tile, keys);
    const auto lead = reinterpret_cast<std::uintptr_t>(keys_) % 16 / sizeof(Key);
    const auto* const words = reinterpret_cast<const uint4*>(keys_ - lead) + threadIdx.x % kLanes;
    const auto* const own = words + std::size_t{tile} * (Rows::kTile / Rows::kWidth);
#pragma unroll
    for (unsigned i = 0; i < kLoads; ++i) {
      const uint4 loaded = __ldg(own + i * kLanes);
      __builtin_memcpy(keys + i * Rows::kWidth, &loaded, sizeof(loaded));
    }
    return ~0u >> (32 - Rows::kItems);
  }

  /// Room for as many elements of each lane as `taken` has bits, from `place` on; if there is so much. A warp calls it.
  __device__ bool make_room(unsigned taken, unsigned& place) {
    const auto mine = static_cast<unsigned>(__popc(taken));
    unsigned all = 0;
    const unsigned before_lane = sum_before_lane(mine, all);
    if (all == 0) return true;
    const unsigned lane = threadIdx.x % kLanes;
    unsigned begin = 0;
    if (lane == 0) begin = atomicAdd(&shared_.count, all);
    begin = __shfl_sync(kAllLanes, begin, 0);
    place = begin + before_lane;
    if (begin + all <= kRoom) return true;
    // Whoever comes later finds no room either.
    if (lane == 0 && begin <= kRoom) shared_.filled = begin;
    return false;
  }

  /// Puts those of a lane's items that `taken` has a bit for.
  template <unsigned kOfLane, class Make>
  __device__ void put(unsigned taken, unsigned place, Make element) {
    Element* next = held_ + place;
#pragma unroll
    for (unsigned i = 0; i < kOfLane; ++i) {
      if ((taken >> i & 1) != 0) *next++ = element(i);
    }
  }

  /// Lets all but k to `most` go, the least of more than `most` that are held; the bound is that of those. Or, where
  /// it may guess, of as many as make a bound of the segment's k least likely.
  __device__ void narrow(unsigned most, bool may_guess) {
    const unsigned held = count();
    Element items[kItems];
#pragma unroll
    for (unsigned i = 0; i < kItems; ++i) {
      const unsigned place = i * kThreads + threadIdx.x;
      items[i] = place < held ? held_[place] : kNoElement<Element>;
    }
    unsigned rank = may_guess ? min(guessed_rank(held), k_) : k_;
    unsigned kept = 0;
    while (true) {
      const bool guesses = rank < k_;
      kept = keep(items, held, rank, guesses ? rank + rank / 4 : most);
      if (!guesses || !come_from_few_tiles(kept, rank)) break;
      guessed_wrong_ = true;
      rank = k_;
    }
    begin_list();
    unsigned place = 0;
    make_room(kept, place);
    put<kItems>(kept, place, [&](unsigned i) { return items[i]; });
    __syncthreads();
  }

  /// Returns which items are among the least, `rank` to `most` of them, and sets the bound. The interval of all keys is
  /// divided into bins. If the bin with the last wanted element has too many, it is divided again, and if all of these
  /// have one key, by their rows.
  __device__ unsigned keep(const Element (&items)[kItems], unsigned held, unsigned rank, unsigned most) {
    unsigned inside = 0;  // a bit for each that lies in the interval,
    unsigned kept = 0;    // and below it
#pragma unroll
    for (unsigned i = 0; i < kItems; ++i) inside |= unsigned{i * kThreads + threadIdx.x < held} << i;
    unsigned before = 0;
    bool by_rows = false;
    do {
      Key least = static_cast<Key>(~Key{0});
      Key greatest = 0;
      find_range(items, inside, E::key, shared_.keys, least, greatest);
      by_rows = least == greatest;
      if (!by_rows) {
        divide(items, inside, kept, rank - before, EvenBins<Key, Sort::kBins>(least, greatest), E::key);
      } else {
        RowBits first = static_cast<RowBits>(~RowBits{0});
        RowBits last = 0;
        find_range(items, inside, row_bits, shared_.rows, first, last);
        divide(items, inside, kept, rank - before, EvenBins<RowBits, Sort::kBins>(first, last), row_bits);
      }
      before += shared_.last.before;
    } while (before + shared_.last.inside > most);
    set_bound(items, inside, by_rows);
    return kept | inside;
  }

  /// To the greatest of those in the last interval, and all rows of that key unless these were divided by rows.
  __device__ void set_bound(const Element (&items)[kItems], unsigned inside, bool by_rows) {
    Key least = static_cast<Key>(~Key{0});
    limit_ = 0;
    find_range(items, inside, E::key, shared_.keys, least, limit_);
    bound_all_rows();
    if (!by_rows) return;
    RowBits first = last_;
    last_ = 0;
    find_range(items, inside, row_bits, shared_.rows, first, last_);
    bound_tile_ = static_cast<unsigned>(rows_.tile_of(rows_.row(element_of(limit_, last_))));
  }

  __device__ void bound_all_rows() {
    last_ = static_cast<RowBits>(~RowBits{0});
    bound_tile_ = rows_.descending() ? 0 : ~0u;
  }

  /// The least and the greatest of what `value_of` makes of the block's items that `inside` has bits for.
  template <class Value, class ValueOf>
  __device__ static void find_range(const Element (&items)[kItems], unsigned inside, ValueOf value_of,
                                    BlockRange<Value, kThreads>& range, Value& least, Value& greatest) {
#pragma unroll
    for (unsigned i = 0; i < kItems; ++i) {
      if ((inside >> i & 1) == 0) continue;
      const Value value = value_of(items[i]);
      least = value < least ? value : least;
      greatest = value > greatest ? value : greatest;
    }
    range.find(least, greatest);
  }

  /// Counts the elements in bins and chooses the bin with the one of a rank, from 1. Those in bins before it are kept;
  /// those in it are left inside.
  template <class Bins, class ValueOf>
  __device__ void divide(const Element (&items)[kItems], unsigned& inside, unsigned& kept, unsigned rank,
                         const Bins& bins, ValueOf value_of) {
    auto* const own_bins = reinterpret_cast<uint4*>(shared_.sort.begins) + threadIdx.x;
    *own_bins = make_uint4(0, 0, 0, 0);
    __syncthreads();
#pragma unroll
    for (unsigned i = 0; i < kItems; ++i) {
      if ((inside >> i & 1) != 0) atomicAdd(&shared_.sort.begins[bins.of(value_of(items[i]))], 1u);
    }
    __syncthreads();
    shared_.last.find(*own_bins, rank);
    const unsigned chosen = shared_.last.bin;
    unsigned left = 0;
#pragma unroll
    for (unsigned i = 0; i < kItems; ++i) {
      if ((inside >> i & 1) == 0) continue;
      const unsigned bin = bins.of(value_of(items[i]));
      left |= unsigned{bin == chosen} << i;
      kept |= unsigned{bin < chosen} << i;
    }
    inside = left;
  }

  const Rows& rows_;
  const Key* keys_;
  Shared& shared_;
  Element* held_;
  unsigned k_;
  bool guessed_wrong_ = false;
  Key limit_ = static_cast<Key>(~Key{0});               ///< the bound's key,
  RowBits last_ = static_cast<RowBits>(~RowBits{0});    ///< the last row of that key within it,
  unsigned bound_tile_ = rows_.descending() ? 0 : ~0u;  ///< and that row's tile
};

template <class E>
__global__ void __launch_bounds__(kThreads, Policy::kBlocks)
    least_of_each_running(E elements, Segments segments, unsigned k, bool screened, RowId* answer) {
  using Element = typename E::Element;
  using Selection = RunningSegment<E>;
  wait_for_previous();
  auto& shared = *dynamic_shared<typename Selection::Shared>();
  const auto is_mine = [&](std::size_t segment) {
    const SegmentPath path = path_of(segments.end(segment) - segments.begin(segment), k, sizeof(typename E::Key));
    if (path == SegmentPath::screened) return !screened || answer[segment * k] == kMarkedRow;
    return path == SegmentPath::running;
  };
  const bool some_are_not = screened || segments.offsets != nullptr;
  if (some_are_not && !share_has_any(segments.count, is_mine)) return;
  // Segments are mostly alike: after a guess that was of no use the next ones do without.
  unsigned doubts = 0;
  unsigned tiles_before = 0;
  // Elements with complemented row ids are not in the order of the answer: only wanted ones may be put in order.
  const unsigned sorted = elements.complement != 0 ? k : sorted_for(k);
  for (std::size_t segment = blockIdx.x; segment < segments.count; segment += gridDim.x) {
    if (some_are_not && !is_mine(segment)) continue;
    const std::size_t first = segments.begin(segment);
    const std::size_t size = segments.end(segment) - first;
    E of_segment = elements;
    of_segment.keys += first;
    const typename Selection::Rows rows(of_segment, size);
    const auto tiles = static_cast<unsigned>(rows.count());
    if (tiles != tiles_before && threadIdx.x == 0) shared.stride = stride_of_tiles(tiles);
    tiles_before = tiles;
    Selection selection(rows, of_segment.keys, shared, k);
    selection.read(sorted, doubts == 0);
    doubts = selection.guessed_wrong() ? Policy::kDoubts : doubts - min(doubts, 1u);
    RowId* const own = answer + segment * k;
    for (std::size_t i = size + threadIdx.x; i < k; i += kThreads) own[i] = -1;
    selection.finish(elements.complement, [&](unsigned rank, Element element) {
      if (rank < k) own[rank] = static_cast<RowId>(first) + static_cast<RowId>(element & E::kRowMask);
    });
  }
}

}  // namespace

template <class E>
void least_of_running_segments(const E& elements, const Segments& segments, std::size_t k, bool screened, RowId* rows,
                               DeviceContext& device) {
  using Selection = RunningSegment<E>;
  const std::size_t bytes = Selection::shared_bytes();
  const std::size_t resident = resident_blocks(least_of_each_running<E>, kThreads, bytes) *
                               static_cast<std::size_t>(device.properties().multiprocessors);
  launch("least_of_each_running", least_of_each_running<E>,
         {.blocks = std::min(segments.count, resident),
          .threads = kThreads,
          .shared_bytes = bytes,
          .overlaps = screened && device.properties().overlaps_launches},
         device.stream(), elements, segments, static_cast<unsigned>(k), screened, rows);
}

template void least_of_running_segments(const ShortElements&, const Segments&, std::size_t, bool, RowId*,
                                        DeviceContext&);
template void least_of_running_segments(const LongElements&, const Segments&, std::size_t, bool, RowId*,
                                        DeviceContext&);
template void least_of_running_segments(const ManyElements&, const Segments&, std::size_t, bool, RowId*,
                                        DeviceContext&);

}  // namespace skyrank::kernels::cuda::topk
