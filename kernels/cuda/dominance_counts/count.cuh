#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/device/kernel/shared.cuh"
#include "kernels/cuda/dominance_counts/tables.cuh"

// Counts by the tables of tiles. A row finds its place among the rows of a tile by each key; the sets there have in
// common the asking rows that are nowhere greater. Sets are added up as numbers in bits side by side, as in
// kernels/cpu/dominance_counts/few.cpp (Harley and Seal; Muła, Kurz and Lemire, Computer Journal 61(1), 2018).
namespace skyrank::kernels::cuda::dominance_counts {

inline constexpr unsigned kCountThreads = CountPolicy::kThreads;
inline constexpr unsigned kBatch = CountPolicy::kBatch;
inline constexpr unsigned kPlanes = CountPolicy::kPlanes;
inline constexpr unsigned kGroups = kCountThreads / kWords;  ///< threads that take one row together: a word of it each
inline constexpr unsigned kStepPlanes = 4;                   ///< bits of a number up to kStep
inline constexpr unsigned kStep = 1u << kStepPlanes;         ///< rows whose sets are added up at a time
inline constexpr unsigned kRowsOfGroup = kBatch / kGroups;   ///< rows of a batch
inline constexpr unsigned kMaxBatches = ((1u << kPlanes) - 1) / kBatch;  ///< batches that a block can count
static_assert(kBatch % kCountThreads == 0 && kRowsOfGroup % kStep == 0 && kLanes % kStep == 0);
static_assert(kTile * kWords < 1u << 16, "words before a set fit 16 bits");

/// Bytes of shared memory for the places of a batch.
inline std::size_t places_bytes(int d) { return static_cast<std::size_t>(d) * kBatch * sizeof(std::uint16_t); }

/// Adds two bits to a sum of one, 32 times side by side, and returns what is carried.
__device__ inline std::uint32_t carry(std::uint32_t& sum, std::uint32_t a, std::uint32_t b) {
  const std::uint32_t carried = (sum & a) | (sum & b) | (a & b);
  sum ^= a ^ b;
  return carried;
}

/// A thread's share of a tile: 32 asking rows.
template <class Key>
class WordCounts {
 public:
  __device__ WordCounts(const Tables<Key>& tables, std::size_t first_table, int d, const std::uint16_t* places)
      : lesser_(tables.lesser + first_table * kTile),
        sets_(tables.sets + first_table * Tables<Key>::kSets + threadIdx.x % kWords),
        places_(places),
        d_(d) {}

  /// Adds the sets of kStep rows of the batch from `first` on. Bit i of `may_equal` says if the i-th may equal an
  /// asking row.
  __device__ void add(unsigned first, std::uint32_t may_equal) {
    std::uint32_t sets[kStep];
#pragma unroll
    for (unsigned i = 0; i < kStep; ++i) sets[i] = ~0u;
    const std::uint32_t* of_key = sets_;
    for (int k = 0; k < d_; ++k, of_key += Tables<Key>::kSets) {
      const std::uint16_t* const places = places_ + k * kBatch + first;
#pragma unroll
      for (unsigned i = 0; i < kStep; i += 2) {
        std::uint32_t two;
        __builtin_memcpy(&two, __builtin_assume_aligned(places + i, sizeof(two)), sizeof(two));
        sets[i] &= __ldg(of_key + (two & 0xffffu));
        sets[i + 1] &= __ldg(of_key + (two >> 16));
      }
    }
    for (; may_equal != 0; may_equal &= may_equal - 1) {
      const auto row = static_cast<unsigned>(__ffs(static_cast<int>(may_equal))) - 1;
      const std::uint32_t equal = equal_to(first + row);
#pragma unroll
      for (unsigned i = 0; i < kStep; ++i) sets[i] &= i == row ? ~equal : ~0u;
    }
    add_up(sets);
  }

  /// Adds the numbers of all groups of the block, to those of the first. All threads of the block call.
  __device__ void add_groups(std::uint32_t (*sums)[kPlanes][kWords]) {
    const unsigned group = threadIdx.x / kWords;
    const unsigned word = threadIdx.x % kWords;
    for (unsigned half = kGroups / 2; half > 0; half /= 2) {
      if (group >= half && group < 2 * half) store(sums[group - half], word);
      __syncthreads();
      if (group < half) {
        std::uint32_t carried = 0;
#pragma unroll
        for (unsigned p = 0; p < kPlanes; ++p) carried = carry(planes_[p], sums[group][p][word], carried);
      }
      __syncthreads();
    }
    if (group == 0) store(sums[0], word);
    __syncthreads();
  }

 private:
  /// The asking rows that equal a row.
  __device__ std::uint32_t equal_to(unsigned row) const {
    std::uint32_t equal = ~0u;
    const std::uint32_t* of_key = sets_;
    for (int k = 0; k < d_; ++k, of_key += Tables<Key>::kSets) {
      const unsigned word = places_[k * kBatch + row];
      equal &= of_key[word] & ~of_key[lesser_[k * kTile + word / kWords - 1] * kWords];
    }
    return equal;
  }

  __device__ void add_up(std::uint32_t (&sets)[kStep]) {
#pragma unroll
    for (unsigned p = 0; p < kStepPlanes; ++p) {
#pragma unroll
      for (unsigned i = 0; i < kStep >> (p + 1); ++i) sets[i] = carry(planes_[p], sets[2 * i], sets[2 * i + 1]);
    }
    std::uint32_t carried = sets[0];
#pragma unroll
    for (unsigned p = kStepPlanes; p < kPlanes; ++p) {
      const std::uint32_t next = planes_[p] & carried;
      planes_[p] ^= carried;
      carried = next;
    }
  }

  __device__ void store(std::uint32_t (&to)[kPlanes][kWords], unsigned word) const {
#pragma unroll
    for (unsigned p = 0; p < kPlanes; ++p) to[p][word] = planes_[p];
  }

  const std::uint16_t* lesser_;
  const std::uint32_t* sets_;
  const std::uint16_t* places_;
  int d_;
  std::uint32_t planes_[kPlanes] = {};
};

/// Writes the places of kBatch rows from `first` on, key by key and as words before the set there, and the bits of
/// those that may equal an asking row. All threads of the block call.
template <class Key>
__device__ void find_places(const KeyTable<Key>& table, std::uint32_t first, const Key* all_sorted, Key flip,
                            Key (&sorted)[kTile], std::uint16_t* places, std::uint32_t* may_equal) {
  constexpr unsigned kRows = kBatch / kCountThreads;
  bool equal[kRows];
#pragma unroll
  for (unsigned i = 0; i < kRows; ++i) equal[i] = first + i * kCountThreads + threadIdx.x < table.n;
  for (int k = 0; k < table.d; ++k) {
    __syncthreads();  // the keys before, and the places of the batch before, have been read
    for (unsigned i = threadIdx.x; i < kTile; i += kCountThreads) sorted[i] = all_sorted[k * kTile + i];
    __syncthreads();
#pragma unroll
    for (unsigned i = 0; i < kRows; ++i) {
      const unsigned own = i * kCountThreads + threadIdx.x;
      unsigned place = 0;
      if (first + own < table.n) {
        const Key key = table.columns[k][first + own] ^ flip;
#pragma unroll
        for (unsigned half = kTile / 2; half > 0; half /= 2) place += sorted[place + half - 1] <= key ? half : 0;
        place += sorted[place] <= key ? 1 : 0;
        equal[i] &= place > 0 && sorted[place > 0 ? place - 1 : 0] == key;
      }
      places[k * kBatch + own] = static_cast<std::uint16_t>(place * kWords);
    }
  }
#pragma unroll
  for (unsigned i = 0; i < kRows; ++i) {
    const unsigned lanes = __ballot_sync(kAllLanes, equal[i]);
    if (threadIdx.x % kLanes == 0) may_equal[(i * kCountThreads + threadIdx.x) / kLanes] = lanes;
  }
  __syncthreads();
}

/// Adds the rows of every `blocks_of_tile`-th batch to the numbers of a tile, which has so many blocks.
template <class Key>
__global__ void __launch_bounds__(kCountThreads)
    count_rows(const __grid_constant__ KeyTable<Key> table, Tables<Key> tables, Key flip, unsigned blocks_of_tile,
               std::uint32_t* counts) {
  __shared__ Key sorted[kTile];
  __shared__ std::uint32_t may_equal[kBatch / kLanes];
  __shared__ std::uint32_t sums[kGroups / 2][kPlanes][kWords];
  auto* const places = dynamic_shared<std::uint16_t>();
  const unsigned tile = blockIdx.x / blocks_of_tile;
  const std::size_t first_table = std::size_t{tile} * static_cast<unsigned>(table.d);
  WordCounts<Key> own(tables, first_table, table.d, places);
  for (std::size_t first = std::size_t{blockIdx.x % blocks_of_tile} * kBatch; first < table.n;
       first += std::size_t{blocks_of_tile} * kBatch) {
    find_places(table, static_cast<std::uint32_t>(first), tables.sorted + first_table * kTile, flip, sorted, places,
                may_equal);
    for (unsigned step = 0; step < kRowsOfGroup; step += kStep) {
      const unsigned row = threadIdx.x / kWords * kRowsOfGroup + step;
      own.add(row, may_equal[row / kLanes] >> row % kLanes & 0xffffu);
    }
  }
  own.add_groups(sums);
  for (unsigned i = threadIdx.x; i < kTile; i += kCountThreads) {
    std::uint32_t count = 0;
#pragma unroll
    for (unsigned p = 0; p < kPlanes; ++p) count |= (sums[0][p][i / 32] >> i % 32 & 1u) << p;
    if (count > 0) atomicAdd(&counts[std::size_t{tile} * kTile + i], count);
  }
}

}  // namespace skyrank::kernels::cuda::dominance_counts
