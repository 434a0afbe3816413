#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "kernels/cuda/device/kernel/scan.cuh"
#include "kernels/cuda/device/kernel/shared.cuh"
#include "kernels/cuda/select/order_of_kept.cuh"
#include "kernels/cuda/select/row_threads.cuh"
#include "kernels/cuda/select/search_range.cuh"

// Lists of elements, one for each row, and their k least in order.
namespace skyrank::kernels::cuda::select {

/// Lists in device memory, each with its own room.
template <class Element>
struct ElementLists {
  Element* elements = nullptr;
  std::size_t room = 0;       ///< elements of a list, at most
  unsigned* sizes = nullptr;  ///< zeros at first

  __device__ Element* elements_of(std::size_t row) const { return elements + row * room; }
};

/// Appends elements to the list of a row, by the threads of a block of kThreads: first to shared memory, from where
/// many at a time are written.
template <class Element, unsigned kThreads>
class ListWriter {
 public:
  __device__ ListWriter(const ElementLists<Element>& lists, std::size_t row)
      : elements_(lists.elements_of(row)), size_(lists.sizes + row), staged_(shared()) {
    if (threadIdx.x == 0) staged_.clear();
    __syncthreads();
  }

  /// Returns the place of `count` more elements, which the caller writes. All threads of a warp call it.
  __device__ Element* room_for(unsigned count) {
    unsigned all = 0;
    const unsigned before = sum_before_lane(count, all);
    if (all == 0) return nullptr;
    unsigned place = 0;
    if (threadIdx.x % kLanes == 0) place = atomicAdd(&staged_.count, all);
    place = __shfl_sync(kAllLanes, place, 0);
    if (place + all <= kRoom) return staged_.elements + place + before;
    // No one finds room there after this.
    if (threadIdx.x % kLanes == 0) {
      atomicMin(&staged_.end, place);
      place = atomicAdd(size_, all);
    }
    return elements_ + __shfl_sync(kAllLanes, place, 0) + before;
  }
  /// Writes what was put if there is little room left. All threads call it, and finish().
  __device__ void make_room() {
    // Whoever put the last one sees all.
    if (__syncthreads_or(staged_.count > kRoom / 2 ? 1 : 0) != 0) write();
  }
  __device__ void finish() {
    __syncthreads();
    write();
  }

 private:
  static constexpr unsigned kRoom = 16 * 1024 / sizeof(Element);
  struct Staged {
    Element elements[kRoom];
    unsigned count;  ///< elements that there was to be room for,
    unsigned end;    ///< and the place of the first ones for which there was none
    unsigned begin;

    __device__ void clear() {
      count = 0;
      end = kRoom;
    }
  };

  __device__ static Staged& shared() {
    __shared__ Staged staged;
    return staged;
  }
  __device__ void write() {
    const unsigned count = min(staged_.count, staged_.end);
    if (threadIdx.x == 0 && count > 0) staged_.begin = atomicAdd(size_, count);
    __syncthreads();
    for (unsigned i = threadIdx.x; i < count; i += kThreads) elements_[staged_.begin + i] = staged_.elements[i];
    __syncthreads();
    if (threadIdx.x == 0) staged_.clear();
    __syncthreads();
  }

  Element* elements_;
  unsigned* size_;
  Staged& staged_;
};

inline constexpr unsigned kListThreads = 512;

/// Puts the k least elements of a list in order, by the threads of a block of kListThreads. `N`: Numbers.
template <class N>
class ListOrder {
 public:
  using Key = typename N::Key;
  using Element = typename N::Element;
  using Bits = typename N::Bits;
  static constexpr unsigned kItems = 7;
  static constexpr unsigned kRoom = kListThreads * kItems;
  static constexpr unsigned kMaxWanted = 2048;
  using Threads = RowThreads<kListThreads>;
  using Order = OrderOfKept<Bits, kListThreads, kItems>;

  struct Shared {
    Element kept[kRoom];
    typename Order::Shared order;
    typename Threads::Shared threads;
    unsigned count;
  };

  __device__ ListOrder(const Element* list, unsigned size, Shared& shared)
      : list_(list), size_(size), shared_(shared), threads_(shared.threads) {}

  /// Calls put(rank, position) for the k least, no more than kMaxWanted and no less than there are. No key is above
  /// `bound`, and no position as great as `positions`.
  template <class Put>
  __device__ void order(unsigned k, Key bound, unsigned positions, Put put) {
    const Key least = least_key();
    Element greatest = Bits({}).of(bound, positions);
    if (size_ > kRoom) {
      SearchRange<Element> range{.low = Bits({}).of(least, 0), .high = greatest, .within = size_};
      range.search(k, kRoom, [&](Element guess) { return count(guess); });
      greatest = range.high;
    }
    keep(greatest);
    const KeptRange<Key> known{
        .knot = least, .greatest = Bits::key(greatest), .rows = positions, .tied_rows = positions};
    Order::order(shared_.kept, shared_.count, k, known, shared_.order, [&](unsigned rank, Element element) {
      if (rank < k) put(rank, static_cast<std::size_t>(element & Bits::kRowMask));
    });
  }

 private:
  __device__ Key least_key() {
    Key least = static_cast<Key>(~Key{0});
    for (unsigned i = threadIdx.x; i < size_; i += kListThreads) least = min(least, Bits::key(list_[i]));
    return threads_.least(least);
  }
  __device__ unsigned count(Element greatest) {
    unsigned mine = 0;
    for (unsigned i = threadIdx.x; i < size_; i += kListThreads) mine += list_[i] <= greatest ? 1 : 0;
    return threads_.sum(mine);
  }
  __device__ void keep(Element greatest) {
    if (threadIdx.x == 0) shared_.count = 0;
    __syncthreads();
    for (unsigned i = threadIdx.x; i < size_; i += kListThreads) {
      const Element element = list_[i];
      if (element <= greatest) shared_.kept[atomicAdd(&shared_.count, 1u)] = element;
    }
    __syncthreads();
  }

  const Element* list_;
  unsigned size_;
  Shared& shared_;
  Threads threads_;
};

}  // namespace skyrank::kernels::cuda::select
