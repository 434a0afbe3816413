#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/device/kernel/scan.cuh"
#include "kernels/cuda/device/launch.cuh"
#include "kernels/cuda/select/digit_search.cuh"
#include "kernels/cuda/select/list_order.cuh"
#include "kernels/cuda/select/numbers.cuh"
#include "kernels/cuda/select/policy.hpp"
#include "kernels/cuda/select/row_groups.cuh"
#include "kernels/cuda/select/rows.hpp"
#include "kernels/cuda/select/tie_search.cuh"

// From long rows to lists of the few numbers of each that may be among the k best.
namespace skyrank::kernels::cuda::select {

inline constexpr unsigned kLongThreads = LongPolicy::Shape::kThreads;
inline constexpr unsigned kBoundThreads = LongPolicy::kBoundThreads;
inline constexpr unsigned kBoundItems = LongPolicy::kBoundItems;

/// The words that a thread of a block reads if the groups are those of several blocks.
class SharedWords {
 public:
  __device__ SharedWords(unsigned first, unsigned apart, unsigned step) : first_(first), apart_(apart), step_(step) {}

  __device__ unsigned first() const { return first_; }
  __device__ unsigned apart() const { return apart_; }
  __device__ unsigned step() const { return step_; }

 private:
  unsigned first_;
  unsigned apart_;
  unsigned step_;
};

/// How the groups of a row are shared out: each block of the row has `of_block` that follow each other. Where it has
/// fewer than loads, several loads or threads have words of one group.
struct GroupShares {
  unsigned blocks = 1;
  unsigned of_block = 1;  ///< kAllGroups, or kLongThreads or less, a power of two

  SKYRANK_HD unsigned all() const { return blocks * of_block; }
  __device__ SharedWords words(unsigned block) const {
    const unsigned begin = block * of_block;
    if (of_block > kLongThreads) return SharedWords(begin + threadIdx.x, kLongThreads, all());
    const unsigned at_a_time = kLongThreads / of_block;  // words of a group
    return SharedWords(begin + threadIdx.x % of_block + threadIdx.x / of_block * all(), at_a_time * all(),
                       at_a_time * LongPolicy::Shape::kGroups * all());
  }
};

/// The rows and the memory that the kernels share, all on the device.
template <class N>
struct LongRows {
  using Key = typename N::Key;
  using Element = typename N::Element;
  using Groups = RowGroups<N, LongPolicy::Shape, SharedWords>;

  RowParts<typename N::Stored> rows;
  KeyOrder<Key> order;
  GroupShares shares;
  Key* least = nullptr;         ///< least keys of groups, row after row
  DigitSearch<Key> search;      ///< for the bound
  TieSearch ties;               ///< for the end of what equals the bound
  ElementLists<Element> lists;  ///< the elements within the bound, a list for each row
  unsigned* zeros = nullptr;    ///< counts that the first kernel sets to zero
  std::size_t zero_count = 0;

  __device__ Groups groups_of(std::size_t row, unsigned block) const {
    return Groups({rows.numbers + row * rows.stride, order}, static_cast<unsigned>(rows.columns), shares.words(block));
  }
  __device__ Key* least_of(std::size_t row) const { return least + row * shares.all(); }
  /// Returns the range of the bound, once it has been found. No wanted number has a key above its end.
  __device__ DigitRange<Key> bound_of(std::size_t row) const { return *search.range_of(row, search.places.count); }
  /// Returns true if too many numbers may equal the bound.
  __device__ bool has_ties(const DigitRange<Key>& bound) const { return bound.within > search.enough; }
};

template <class N>
__global__ void __launch_bounds__(kLongThreads) find_least_of_groups(LongRows<N> from) {
  using Key = typename N::Key;
  wait_for_previous();
  let_next_start();
  for (std::size_t i = std::size_t{blockIdx.x} * kLongThreads + threadIdx.x; i < from.zero_count;
       i += std::size_t{gridDim.x} * kLongThreads) {
    from.zeros[i] = 0;
  }
  const std::size_t row = blockIdx.x / from.shares.blocks;
  const unsigned block = blockIdx.x % from.shares.blocks;
  const unsigned of_block = from.shares.of_block;
  auto groups = from.groups_of(row, block);
  groups.find_least();
  auto* const least = from.least_of(row) + block * of_block;
  if (of_block > kLongThreads) {
#pragma unroll
    for (unsigned i = 0; i < groups.kGroups; ++i) least[i * kLongThreads + threadIdx.x] = groups.least(i);
    return;
  }
  Key key = groups.least(0);
#pragma unroll
  for (unsigned i = 1; i < groups.kGroups; ++i) key = min(key, groups.least(i));
  __shared__ Key keys[kLongThreads];
  keys[threadIdx.x] = key;
  __syncthreads();
  if (threadIdx.x >= of_block) return;
  for (unsigned i = threadIdx.x + of_block; i < kLongThreads; i += of_block) key = min(key, keys[i]);
  least[threadIdx.x] = key;
}

/// The least keys of a row's groups.
template <class Key>
struct LeastKeys {
  const Key* keys;
  std::size_t each;  ///< keys of a row

  __device__ std::size_t size(std::size_t /*row*/) const { return each; }
  __device__ Key at(std::size_t row, std::size_t i) const { return keys[row * each + i]; }
};

template <class T, class Values>
__global__ void __launch_bounds__(kDigitThreads)
    count_by_digit(Values values, DigitSearch<T> search, unsigned digit, unsigned blocks_of_row) {
  wait_for_previous();
  let_next_start();
  const std::size_t row = blockIdx.x / blocks_of_row;
  const unsigned block = blockIdx.x % blocks_of_row;
  DigitRange<T> range = search.template before<kDigitThreads>(row, digit);
  const std::size_t size = values.size(row);
  if (digit == 0) {
    range.within = static_cast<unsigned>(size);
    range.is_found = range.within <= search.enough;
  }
  if (block == 0 && threadIdx.x == 0) *search.range_of(row, digit) = range;
  if (range.is_found) return;
  DigitCount<T> count(range, search.places.shifts[digit], search.counts_of(row, digit));
  const std::size_t stride = std::size_t{blocks_of_row} * kDigitThreads;
#pragma unroll 4
  for (std::size_t i = std::size_t{block} * kDigitThreads + threadIdx.x; i < size; i += stride) {
    count.add(values.at(row, i));
  }
  count.finish();
}

/// Searches for the bound among few keys in the registers of a block of kBoundThreads.
template <class Key>
class KeySearch {
 public:
  /// Memory that the threads share.
  struct Shared {
    unsigned counts[kDigits];
    DigitRange<Key> narrowed;
    typename RowThreads<kBoundThreads>::Shared threads;
  };

  __device__ KeySearch(const Key* keys, unsigned size, Shared& shared) : size_(size), shared_(shared) {
#pragma unroll
    for (unsigned i = 0; i < kBoundItems; ++i) keys_[i] = has(i) ? keys[i * kBoundThreads + threadIdx.x] : Key{0};
  }

  /// Returns the range of the k-th least key. It has been found.
  __device__ DigitRange<Key> find(unsigned k, unsigned enough) {
    DigitRange<Key> range = all();
    for (unsigned bits = width_of(range.high - range.low); !range.is_found; bits -= min(bits, kDigitBits)) {
      const unsigned shift = bits - min(bits, kDigitBits);
      count(range, shift);
      narrow<kBoundThreads>(range, shared_.counts, shift, k, enough, shared_.narrowed);
      __syncthreads();
      range = shared_.narrowed;
    }
    return range;
  }

 private:
  /// Returns true if the thread has an i-th key.
  __device__ bool has(unsigned i) const { return i * kBoundThreads + threadIdx.x < size_; }

  __device__ DigitRange<Key> all() {
    RowThreads<kBoundThreads> threads(shared_.threads);
    constexpr Key kMaxKey = static_cast<Key>(~Key{0});
    Key low = kMaxKey;
    Key high_complement = kMaxKey;
#pragma unroll
    for (unsigned i = 0; i < kBoundItems; ++i) {
      if (!has(i)) continue;
      low = min(low, keys_[i]);
      high_complement = min(high_complement, static_cast<Key>(~keys_[i]));
    }
    low = threads.least(low);
    const Key high = static_cast<Key>(~threads.least(high_complement));
    return {.low = low, .high = high, .below = 0, .within = size_, .is_found = low == high};
  }

  __device__ void count(const DigitRange<Key>& range, unsigned shift) {
    for (unsigned i = threadIdx.x; i < kDigits; i += kBoundThreads) shared_.counts[i] = 0;
    __syncthreads();
#pragma unroll
    for (unsigned i = 0; i < kBoundItems; ++i) {
      if (has(i) && keys_[i] >= range.low && keys_[i] <= range.high) {
        atomicAdd(&shared_.counts[static_cast<unsigned>((keys_[i] - range.low) >> shift)], 1u);
      }
    }
    __syncthreads();
  }

  unsigned size_;
  Key keys_[kBoundItems];
  Shared& shared_;
};

/// Finds the bound of a row with few groups, by one block.
template <class N>
__global__ void __launch_bounds__(kBoundThreads) find_bound_of_few(LongRows<N> from) {
  using Search = KeySearch<typename N::Key>;
  __shared__ typename Search::Shared shared;
  wait_for_previous();
  let_next_start();
  Search search(from.least_of(blockIdx.x), from.shares.all(), shared);
  const auto bound = search.find(from.search.k, from.search.enough);
  if (threadIdx.x == 0) *from.search.range_of(blockIdx.x, from.search.places.count) = bound;
}

/// Returns the thread's share of the numbers with a key in kTieWords words.
template <class Groups>
__device__ unsigned ties_of(const Groups& groups, unsigned first, typename Groups::Key key) {
  unsigned ties = 0;
#pragma unroll 4
  for (unsigned i = threadIdx.x; i < kTieWords; i += kLongThreads) {
    typename Groups::Key keys[Groups::kWidth];
    const unsigned present = groups.load(first + i, keys);
#pragma unroll
    for (unsigned j = 0; j < Groups::kWidth; ++j) ties += (present >> j & 1) != 0 && keys[j] == key ? 1 : 0;
  }
  return ties;
}

/// Finds out where in a row that has too many numbers that equal the bound they are enough. Blocks take one piece of
/// the row after the other.
template <class N>
__global__ void __launch_bounds__(kLongThreads) find_end_of_ties(LongRows<N> from, unsigned blocks_of_row) {
  __shared__ unsigned piece;
  wait_for_previous();
  let_next_start();
  const std::size_t row = blockIdx.x / blocks_of_row;
  const bool is_first = blockIdx.x % blocks_of_row == 0 && threadIdx.x == 0;
  const bool is_known = from.search.places.count == 0;
  const auto bound =
      is_known ? from.bound_of(row) : from.search.template before<kLongThreads>(row, from.search.places.count);
  if (is_first && !is_known) *from.search.range_of(row, from.search.places.count) = bound;
  if (!from.has_ties(bound)) return;
  const auto groups = from.groups_of(row, 0);
  const unsigned wanted = from.search.k - bound.below;
  const unsigned pieces = (groups.words() + kTieWords - 1) / kTieWords;
  while (true) {
    __syncthreads();
    if (threadIdx.x == 0) piece = from.ties.take(row, wanted);
    __syncthreads();
    if (piece >= pieces) return;
    unsigned all = 0;
    sum_before<kLongThreads>(ties_of(groups, piece * kTieWords, bound.high), all);
    if (threadIdx.x == 0) from.ties.add(row, piece, all);
  }
}

/// Lists the elements of a block's groups that are within the bound. All threads of the block call each function.
template <class N>
class BoundLister {
 public:
  using Groups = typename LongRows<N>::Groups;
  using Key = typename N::Key;
  using Element = typename N::Element;

  /// Memory that the threads share.
  struct Shared {
    std::uint16_t chosen[Groups::kAllGroups];  ///< groups of the block that are read again
    unsigned count;
  };

  __device__ BoundLister(const LongRows<N>& from, std::size_t row, unsigned block, Shared& shared)
      : groups_(from.groups_of(row, block)),
        bound_(from.bound_of(row)),
        tie_words_(from.has_ties(bound_) ? from.ties.template end<kLongThreads>(row, from.search.k - bound_.below)
                                         : groups_.words()),
        shares_(from.shares),
        first_group_(block * from.shares.of_block),
        least_(from.least_of(row) + first_group_),
        writer_(from.lists, row),
        shared_(shared) {}

  __device__ void list() {
    choose([&](Key least) { return least < bound_.high; });
    read(groups_.words());
    choose([&](Key least) { return least == bound_.high; });
    read(tie_words_);
    writer_.finish();
  }

 private:
  static constexpr unsigned kWords = Groups::kWidth < 8 ? 8 / Groups::kWidth : 1;  // that a thread reads at a time

  template <class IsChosen>
  __device__ void choose(IsChosen is_chosen) {
    __syncthreads();
    if (threadIdx.x == 0) shared_.count = 0;
    __syncthreads();
    for (unsigned i = threadIdx.x; i < shares_.of_block; i += kLongThreads) {
      if (is_chosen(least_[i])) shared_.chosen[atomicAdd(&shared_.count, 1u)] = static_cast<std::uint16_t>(i);
    }
    __syncthreads();
  }

  /// Lists what is within the bound in the words before one of the chosen groups. Neighbouring threads read words that
  /// are not far from each other.
  __device__ void read(unsigned end) {
    const unsigned count = shared_.count;
    const unsigned all = count * ((end + shares_.all() - 1) / shares_.all());
    for (unsigned first = threadIdx.x; first - threadIdx.x < all; first += kLongThreads * kWords) {
      unsigned words[kWords];
#pragma unroll
      for (unsigned i = 0; i < kWords; ++i) {
        const unsigned item = first + i * kLongThreads;
        words[i] = item < all ? first_group_ + shared_.chosen[item % count] + item / count * shares_.all() : end;
        if (words[i] >= end) words[i] = groups_.words();
      }
      list_words(words);
      writer_.make_room();
    }
  }

  __device__ void list_words(const unsigned (&words)[kWords]) {
    Key keys[kWords][Groups::kWidth];
    unsigned within[kWords];
    unsigned count = 0;
#pragma unroll
    for (unsigned i = 0; i < kWords; ++i) within[i] = groups_.load(words[i], keys[i]);
#pragma unroll
    for (unsigned i = 0; i < kWords; ++i) {
#pragma unroll
      for (unsigned j = 0; j < Groups::kWidth; ++j) {
        const bool is_within = keys[i][j] < bound_.high || (keys[i][j] == bound_.high && words[i] < tie_words_);
        if (!is_within) within[i] &= ~(1u << j);
      }
      count += static_cast<unsigned>(__popc(within[i]));
    }
    Element* to = writer_.room_for(count);
#pragma unroll
    for (unsigned i = 0; i < kWords; ++i) {
      const unsigned position = groups_.position_of(words[i]);
#pragma unroll
      for (unsigned j = 0; j < Groups::kWidth; ++j) {
        if ((within[i] >> j & 1) != 0) *to++ = typename N::Bits().of(keys[i][j], position + j);
      }
    }
  }

  const Groups groups_;
  const DigitRange<Key> bound_;
  const unsigned tie_words_;  ///< numbers that equal the bound are listed of the words before this one
  const GroupShares shares_;
  const unsigned first_group_;
  const Key* const least_;
  ListWriter<Element, kLongThreads> writer_;
  Shared& shared_;
};

template <class N>
__global__ void __launch_bounds__(kLongThreads) list_within_bound(LongRows<N> from) {
  __shared__ typename BoundLister<N>::Shared shared;
  wait_for_previous();
  let_next_start();
  BoundLister<N>(from, blockIdx.x / from.shares.blocks, blockIdx.x % from.shares.blocks, shared).list();
}

}  // namespace skyrank::kernels::cuda::select
