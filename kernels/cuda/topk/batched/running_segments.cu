#include <algorithm>
#include <cstddef>

#include "kernels/cuda/device/kernel/block.cuh"
#include "kernels/cuda/device/kernel/scan.cuh"
#include "kernels/cuda/device/kernel/shared.cuh"
#include "kernels/cuda/device/launch.cuh"
#include "kernels/cuda/topk/batched/segment_paths.hpp"
#include "kernels/cuda/topk/batched/share_of_block.cuh"
#include "kernels/cuda/topk/block/block_select.cuh"
#include "kernels/cuda/topk/block/block_spread_sort.cuh"
#include "kernels/cuda/topk/block/tiles.cuh"

// A block a segment, for segments of any length. Elements within a bound, at first all, are kept in shared memory. When
// there is no more room, the k-th least of those kept becomes the bound and the others go. Each warp reads tiles of its
// own and waits for nobody until the room is full. Tiles are read in an order that spreads over the segment, so that
// sorted rows make the bound close as early as others do.
//
// Floor: one read of the keys. Besides, the room is full about log(rows / k) times.
namespace skyrank::kernels::cuda::topk {
namespace {

/// Returns the bits of the numbers below `count`, at least 1.
__device__ int bits_below(unsigned count) { return 32 - __clz(static_cast<int>(max(count, 2u) - 1)); }

/// The i-th number of so many bits in an order in which the first ones are evenly spread: with its bits reversed.
__device__ unsigned spread(unsigned i, int bits) { return __brev(i) >> (32 - bits); }

/// The elements that a block keeps of a segment. All of its threads call.
template <class E>
class RunningSegment {
 public:
  static constexpr unsigned kThreads = RunningPolicy::kThreads;
  static constexpr unsigned kWarps = kThreads / kLanes;

  using Element = typename E::Element;
  using Key = typename E::Key;
  using Rows = KeyTiles<E, kLanes, RunningPolicy::kLoads>;

  /// Elements that there is room for, of which a thread has so many where all are looked at.
  static constexpr unsigned kRoom = RunningPolicy::kHeldBytes / sizeof(Element);
  static constexpr unsigned kItems = kRoom / kThreads;
  static_assert(kMaxOfSegment<E> + Rows::kTile <= kRoom, "a tile has room once k elements are left");

  struct Shared {
    typename BlockSpreadSort<Element, kThreads>::Shared sort;
    BlockSelect<Element, kThreads> select;
    unsigned count;   ///< places given away
    unsigned filled;  ///< first place of the first warp for which there was no room
    Element held[kRoom];
  };

  __device__ RunningSegment(const Rows& rows, Shared& shared, unsigned k) : rows_(rows), shared_(shared), k_(k) {}

  /// Afterwards the k least elements are held, perhaps with some more, or all of fewer.
  __device__ void read() {
    const auto tiles = static_cast<unsigned>(rows_.count());
    const int bits = bits_below(tiles);
    begin_list();
    for (unsigned visit = threadIdx.x / kLanes;; narrow()) {
      bool full = false;
      for (; visit < 1u << bits; visit += kWarps) {
        const unsigned tile = spread(visit, bits);
        full = tile < tiles && !read_tile(tile);
        if (full) break;
      }
      if (__syncthreads_or(full ? 1 : 0) == 0) break;
    }
    // With complemented row ids elements are not in the order of the answer.
    if (count() > (rows_.descending() ? k_ : most_sorted())) narrow();
  }

  /// Hands on what is held by key, then ascending row id: put(rank, element).
  template <class Put>
  __device__ void finish(Put put) {
    const unsigned held = count();
    if (rows_.descending()) {
      for (unsigned i = threadIdx.x; i < held; i += kThreads) shared_.held[i] ^= E::kRowMask;
      __syncthreads();
    }
    if (held <= kThreads) return sort<1>(held, put);
    if (held <= 4 * kThreads) return sort<4>(held, put);
    sort<kMaxItems>(held, put);
  }

 private:
  static constexpr unsigned kMaxItems = kMaxOfSegment<E> / kThreads;  ///< elements of a thread that are sorted

  /// Elements that are sorted rather than narrowed.
  __device__ unsigned most_sorted() const { return k_ <= kThreads ? kThreads : kMaxItems * kThreads; }

  /// After a barrier.
  __device__ unsigned count() const { return min(shared_.count, shared_.filled); }

  __device__ void begin_list() {
    __syncthreads();
    if (threadIdx.x == 0) {
      shared_.count = 0;
      shared_.filled = ~0u;
    }
    __syncthreads();
  }

  /// Keeps what is within the bound; nothing, and returns false, if there is no room for all of it. A warp calls it.
  __device__ bool read_tile(unsigned tile) {
    // Rows of the bound's key are all within it, or none of them, but for one tile.
    const bool ties = rows_.descending() ? tile >= bound_tile_ : tile <= bound_tile_;
    const Key limit = E::key(bound_);
    if (limit == 0 && !ties) return true;
    const Key most = ties ? limit : static_cast<Key>(limit - 1);
    Key keys[Rows::kItems];
    unsigned taken = rows_.load(tile, keys);
    const auto element = [&](unsigned i) { return rows_.element(keys[i], rows_.place(tile, i)); };
#pragma unroll
    for (unsigned i = 0; i < Rows::kItems; ++i) {
      if (keys[i] > most) taken &= ~(1u << i);
    }
    if (tile == bound_tile_) {
#pragma unroll
      for (unsigned i = 0; i < Rows::kItems; ++i) {
        if (element(i) > bound_) taken &= ~(1u << i);
      }
    }
    return keep<Rows::kItems>(taken, element);
  }

  /// Keeps those of a lane's elements that `taken` has a bit for, if there is room for all of the warp's. A warp calls
  /// it.
  template <unsigned kOfLane, class Make>
  __device__ bool keep(unsigned taken, Make element) {
    unsigned all = 0;
    const unsigned before_lane = sum_before_lane(static_cast<unsigned>(__popc(taken)), all);
    if (all == 0) return true;
    unsigned begin = 0;
    if (threadIdx.x % kLanes == 0) begin = atomicAdd(&shared_.count, all);
    begin = __shfl_sync(kAllLanes, begin, 0);
    if (begin + all > kRoom) {
      // Warps that come later find no room either.
      if (threadIdx.x % kLanes == 0 && begin <= kRoom) shared_.filled = begin;
      return false;
    }
    Element* next = shared_.held + begin + before_lane;
#pragma unroll
    for (unsigned i = 0; i < kOfLane; ++i) {
      if ((taken >> i & 1) != 0) *next++ = element(i);
    }
    return true;
  }

  /// Makes the k-th least of what is held the bound, and drops what is beyond it. More than k are held.
  __device__ void narrow() {
    const unsigned held = count();
    Element items[kItems];
    SetBits<Element> bits;
#pragma unroll
    for (unsigned i = 0; i < kItems; ++i) {
      const unsigned place = i * kThreads + threadIdx.x;
      items[i] = place < held ? shared_.held[place] : kNoElement<Element>;
      if (place < held) bits.add(items[i]);
    }
    bound_ = shared_.select.kth(shared_.held, held, k_, bits);
    bound_tile_ = static_cast<unsigned>(rows_.tile_of(rows_.row(bound_)));
    unsigned kept = 0;
#pragma unroll
    for (unsigned i = 0; i < kItems; ++i) kept |= unsigned{items[i] <= bound_} << i;
    begin_list();
    keep<kItems>(kept, [&](unsigned i) { return items[i]; });
    __syncthreads();
  }

  template <unsigned kOfThread, class Put>
  __device__ void sort(unsigned held, Put put) {
    BlockSpreadSort<Element, kThreads>::template sort<kOfThread>(shared_.held, held, shared_.held, shared_.sort, put);
  }

  const Rows& rows_;
  Shared& shared_;
  unsigned k_;
  Element bound_ = kNoElement<Element>;                 ///< the greatest element that may be wanted,
  unsigned bound_tile_ = rows_.descending() ? 0 : ~0u;  ///< and the tile of its row
};

template <class E>
__global__ void __launch_bounds__(RunningPolicy::kThreads, RunningPolicy::kBlocks)
    least_of_each_running(E elements, Segments segments, unsigned k, bool screened, RowId* answer) {
  using Segment = RunningSegment<E>;
  wait_for_previous();
  auto& shared = *dynamic_shared<typename Segment::Shared>();
  const auto is_mine = [&](std::size_t i) {
    const SegmentPath path = path_of(segments.end(i) - segments.begin(i), k, sizeof(typename E::Key));
    if (path == SegmentPath::screened) return !screened || NoRow{answer[i * k]} == NoRow::left_over;
    return path == SegmentPath::running;
  };
  const bool some_are_not = screened || segments.offsets != nullptr;
  if (some_are_not && !share_has_any(segments.count, is_mine)) return;
  for (std::size_t i = blockIdx.x; i < segments.count; i += gridDim.x) {
    if (some_are_not && !is_mine(i)) continue;
    const std::size_t first = segments.begin(i);
    const std::size_t size = segments.end(i) - first;
    E of_segment = elements;
    of_segment.keys += first;
    const typename Segment::Rows rows(of_segment, size);
    Segment segment(rows, shared, k);
    segment.read();
    RowId* const own = answer + i * k;
    for (std::size_t rank = size + threadIdx.x; rank < k; rank += RunningPolicy::kThreads) {
      own[rank] = static_cast<RowId>(NoRow::absent);
    }
    segment.finish([&](unsigned rank, typename E::Element element) {
      if (rank < k) own[rank] = static_cast<RowId>(first) + static_cast<RowId>(element & E::kRowMask);
    });
  }
}

}  // namespace

template <class E>
void least_of_running_segments(const E& elements, const Segments& segments, std::size_t k, bool screened, RowId* rows,
                               DeviceContext& device) {
  const std::size_t bytes = sizeof(typename RunningSegment<E>::Shared);
  const std::size_t resident = resident_blocks(least_of_each_running<E>, RunningPolicy::kThreads, bytes) *
                               static_cast<std::size_t>(device.properties().multiprocessors);
  launch("least_of_each_running", least_of_each_running<E>,
         {.blocks = std::min(segments.count, resident),
          .threads = RunningPolicy::kThreads,
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
