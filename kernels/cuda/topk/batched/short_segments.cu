#include "kernels/cuda/topk/batched/short_segments.hpp"

#include <algorithm>

#include "kernels/cuda/device/kernel/block.cuh"
#include "kernels/cuda/device/kernel/shared.cuh"
#include "kernels/cuda/device/launch.cuh"
#include "kernels/cuda/topk/block_select.cuh"
#include "kernels/cuda/topk/tiles.cuh"

// A warp a segment. Each lane knows the least of the rows that it has seen; the k-th least of those bounds the k-th
// least of all, in whatever order the rows come, and of random rows little more than k are at or below it. These are
// collected in shared memory and counted against each other in the end.
namespace skyrank::kernels::cuda::topk {
namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kWarps = kThreads / kLanes;
constexpr unsigned kLoads = 8;
constexpr unsigned kBlocks = 4;  // of a multiprocessor

/// Elements that a warp has room for: what a tile can bring at most, each of k lanes all that it reads of it, and the k
/// least of those before.
template <class Rows>
__host__ __device__ constexpr unsigned room_for(unsigned k) {
  return k * (Rows::kItems + 1);
}

/// The elements that a warp has seen and keeps. All of its lanes call.
template <class E>
class WarpSelection {
 public:
  using Element = typename E::Element;
  using Key = typename E::Key;
  using Rows = KeyTiles<E, kLanes, kLoads>;

  /// `shared` has room for a warp's lanes and for room_for(k) elements.
  __device__ WarpSelection(Element* shared, unsigned k) : minima_(shared), held_(shared + kLanes), k_(k) {}

  __device__ void read(const Rows& rows) {
    for (std::size_t tile = 0; tile < rows.count(); ++tile) {
      Key keys[Rows::kItems];
      const unsigned present = rows.load(tile, keys);
      const auto element = [&](Key key, unsigned i) { return rows.element(key, rows.place(tile, i)); };
      Element least = kNoElement<Element>;
      if (!__any_sync(kAllLanes, find_least(keys, present, element, least))) continue;
      if (least < least_) least_ = least;
      lower_bound();
      take(keys, present, element);
    }
    __syncwarp();
  }

  /// Hands on what was read in the order of the answer, the k least at least: put(rank, element). `complement` as in
  /// Elements.
  template <class Put>
  __device__ void finish(Element complement, Put put) {
    if (complement != 0) {
      if (count_ > k_) keep_least();
      for (unsigned i = lane(); i < count_; i += kLanes) held_[i] ^= complement;
      __syncwarp();
    }
    for (unsigned i = lane(); i < count_; i += kLanes) put(rank_of(held_[i]), held_[i]);
    __syncwarp();
  }

  __device__ unsigned count() const { return count_; }

 private:
  __device__ static unsigned lane() { return threadIdx.x % kLanes; }

  /// The least of a lane's part of a tile, if it is within the bound. Keys are compared first, so that few elements are
  /// made.
  template <class Make>
  __device__ bool find_least(const Key (&keys)[Rows::kItems], unsigned present, Make element, Element& found) const {
    constexpr Key kGreatest = static_cast<Key>(~Key{0});
    Key least = kGreatest;
#pragma unroll
    for (unsigned i = 0; i < Rows::kItems; ++i) {
      const Key key = (present >> i & 1) != 0 ? keys[i] : kGreatest;
      least = key < least ? key : least;
    }
    if (least > E::key(bound_)) return false;
    unsigned with_it = 0;
#pragma unroll
    for (unsigned i = 0; i < Rows::kItems; ++i) with_it |= unsigned{keys[i] == least} << i;
    with_it &= present;
    if (with_it == 0) return false;
    // Places rise with i; with complemented row ids the last one is the least.
    const Element first = element(least, static_cast<unsigned>(__ffs(static_cast<int>(with_it)) - 1));
    const Element last = element(least, static_cast<unsigned>(31 - __clz(static_cast<int>(with_it))));
    found = first < last ? first : last;
    return found <= bound_;
  }

  /// To the k-th least of what the lanes have as their least.
  __device__ void lower_bound() {
    minima_[lane()] = least_;
    __syncwarp();
    unsigned below = 0;
#pragma unroll
    for (unsigned i = 0; i < kLanes; ++i) below += minima_[i] < least_ ? 1 : 0;
    const unsigned with_rank = __ballot_sync(kAllLanes, below == k_ - 1 && least_ != kNoElement<Element>);
    if (with_rank != 0) bound_ = minima_[__ffs(static_cast<int>(with_rank)) - 1];
    __syncwarp();
  }

  template <class Make>
  __device__ void take(const Key (&keys)[Rows::kItems], unsigned present, Make element) {
    const Key limit = E::key(bound_);
    unsigned taken = 0;
#pragma unroll
    for (unsigned i = 0; i < Rows::kItems; ++i) taken |= unsigned{keys[i] <= limit} << i;
    taken &= present;
#pragma unroll
    for (unsigned i = 0; i < Rows::kItems; ++i) {
      if ((taken >> i & 1) != 0 && element(keys[i], i) > bound_) taken &= ~(1u << i);
    }
    const auto mine = static_cast<unsigned>(__popc(taken));
    const unsigned up_to_lane = sum_up_to_lane(mine);
    const unsigned total = __shfl_sync(kAllLanes, up_to_lane, kLanes - 1);
    if (count_ + total > room_for<Rows>(k_)) keep_least();
    unsigned place = count_ + up_to_lane - mine;
#pragma unroll
    for (unsigned i = 0; i < Rows::kItems; ++i) {
      if ((taken >> i & 1) != 0) held_[place++] = element(keys[i], i);
    }
    count_ += total;
    __syncwarp();
  }

  __device__ unsigned rank_of(Element element) const {
    unsigned below = 0;
#pragma unroll 4
    for (unsigned i = 0; i < count_; ++i) below += held_[i] < element ? 1 : 0;
    return below;
  }

  /// Lets all but the k least go; there are more.
  __device__ void keep_least() {
    Element kept = kNoElement<Element>;  // of rank `lane`
    for (unsigned rank = 0; rank < k_; ++rank) {
      Element least = kNoElement<Element>;
      for (unsigned i = lane(); i < count_; i += kLanes) {
        if (held_[i] < least && (rank == 0 || held_[i] > minima_[0])) least = held_[i];
      }
      for (unsigned distance = 1; distance < kLanes; distance *= 2) {
        const Element other = from_lane_xor(least, distance);
        if (other < least) least = other;
      }
      __syncwarp();
      if (lane() == 0) minima_[0] = least;
      __syncwarp();
      if (lane() == rank) kept = least;
    }
    if (lane() < k_) held_[lane()] = kept;
    count_ = k_;
    __syncwarp();
  }

  Element* minima_;
  Element* held_;
  unsigned k_;
  unsigned count_ = 0;
  Element least_ = kNoElement<Element>;
  Element bound_ = kNoElement<Element>;
};

template <class E>
__global__ void __launch_bounds__(kThreads, kBlocks)
    least_of_each_short(E elements, Segments segments, unsigned k, RowId* answer) {
  using Element = typename E::Element;
  using Selection = WarpSelection<E>;
  const unsigned of_warp = kLanes + room_for<typename Selection::Rows>(k);
  const unsigned lane = threadIdx.x % kLanes;
  const unsigned warp = threadIdx.x / kLanes;
  const std::size_t stride = std::size_t{gridDim.x} * kWarps;
  for (std::size_t segment = std::size_t{blockIdx.x} * kWarps + warp; segment < segments.count; segment += stride) {
    const std::size_t first = segments.begin(segment);
    const std::size_t size = segments.end(segment) - first;
    if (path_of(size, k, sizeof(typename E::Key)) != SegmentPath::lanes) continue;
    E of_segment = elements;
    of_segment.keys += first;
    Selection selection(dynamic_shared<Element>() + warp * of_warp, k);
    selection.read({of_segment, size});
    RowId* const rows = answer + segment * k;
    selection.finish(elements.complement, [&](unsigned rank, Element element) {
      if (rank < k) rows[rank] = static_cast<RowId>(first) + static_cast<RowId>(element & E::kRowMask);
    });
    if (lane >= selection.count() && lane < k) rows[lane] = -1;
  }
}

}  // namespace

template <class E>
void least_of_short_segments(const E& elements, const Segments& segments, std::size_t k, RowId* rows,
                             DeviceContext& device) {
  using Rows = typename WarpSelection<E>::Rows;
  const std::size_t bytes = kWarps * (kLanes + room_for<Rows>(static_cast<unsigned>(k))) * sizeof(typename E::Element);
  const std::size_t resident = resident_blocks(least_of_each_short<E>, kThreads, bytes) *
                               static_cast<std::size_t>(device.properties().multiprocessors);
  launch("least_of_each_short", least_of_each_short<E>,
         {.blocks = std::min(blocks_for(segments.count, kWarps), resident), .threads = kThreads, .shared_bytes = bytes},
         device.stream(), elements, segments, static_cast<unsigned>(k), rows);
}

template void least_of_short_segments(const ShortElements&, const Segments&, std::size_t, RowId*, DeviceContext&);
template void least_of_short_segments(const LongElements&, const Segments&, std::size_t, RowId*, DeviceContext&);
template void least_of_short_segments(const ManyElements&, const Segments&, std::size_t, RowId*, DeviceContext&);

}  // namespace skyrank::kernels::cuda::topk
