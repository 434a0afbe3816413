#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/device/kernel/block.cuh"
#include "kernels/cuda/device/kernel/block_sort.cuh"
#include "kernels/cuda/device/kernel/search.cuh"
#include "kernels/cuda/dominance_counts/policy.hpp"
#include "kernels/cuda/skyline/solve.cuh"

// Tables of a tile of asking rows: by each key the rows in order and, for each place in this order, the set of the rows
// before it.
namespace skyrank::kernels::cuda::dominance_counts {

using skyline::KeyTable;

inline constexpr unsigned kWords = CountPolicy::kWords;
inline constexpr unsigned kTile = CountPolicy::kTile;
static_assert(kWords <= kLanes && kTile <= 1024, "a warp writes a set, and a block sorts a tile");

/// Tables of the tiles of one launch; those of a tile lie side by side, key by key.
template <class Key>
struct Tables {
  Key* sorted = nullptr;            ///< kTile keys, ascending; behind those of the last row the greatest key
  std::uint16_t* lesser = nullptr;  ///< for each of these: how many are less
  std::uint32_t* sets = nullptr;    ///< kTile + 1 sets of kWords words: bit i % 32 of word i / 32 is the i-th row
  static constexpr std::size_t kSets = std::size_t{kTile + 1} * kWords;  ///< words of the sets by one key
};

/// Bytes of the tables of one tile by one key.
template <class Key>
inline constexpr std::size_t kTablesBytes = kTile*(sizeof(Key) + sizeof(std::uint16_t)) + Tables<Key>::kSets *
                                                                                              sizeof(std::uint32_t);

/// Rows that ask for their numbers.
struct Asking {
  const std::uint32_t* rows = nullptr;  ///< null: all rows of the table, in their order
  std::uint32_t count = 0;

  __device__ std::uint32_t operator[](std::uint32_t i) const { return rows == nullptr ? i : rows[i]; }
};

template <class Key>
struct PlacedKey {
  Key key;
  std::uint32_t place;

  __device__ bool operator<(const PlacedKey& other) const {
    return key < other.key || (key == other.key && place < other.place);
  }
};

/// Makes the tables of tile `first_tile` + i / d by key i % d, for each block i. Keys are taken by exclusive or with
/// `flip`.
template <class Key>
__global__ void __launch_bounds__(kTile) make_tables(const __grid_constant__ KeyTable<Key> table, Asking asking,
                                                     std::uint32_t first_tile, Key flip, Tables<Key> tables) {
  constexpr unsigned kChunks = kTile / kLanes;
  __shared__ PlacedKey<Key> elements[kTile];
  __shared__ std::uint32_t chunk_sets[kChunks][kWords];
  const auto d = static_cast<unsigned>(table.d);
  const Key* const column = table.columns[blockIdx.x % d];
  const std::uint32_t own = (first_tile + blockIdx.x / d) * kTile + threadIdx.x;
  elements[threadIdx.x] = {
      own < asking.count ? static_cast<Key>(column[asking[own]] ^ flip) : static_cast<Key>(~Key{0}), threadIdx.x};
  __syncthreads();
  sort_in_block<kTile>(elements, kTile);
  const Key key = elements[threadIdx.x].key;
  const std::size_t at = std::size_t{blockIdx.x} * kTile + threadIdx.x;
  tables.sorted[at] = key;
  tables.lesser[at] = static_cast<std::uint16_t>(
      first_where(0u, threadIdx.x, [&](unsigned place) { return !(elements[place].key < key); }));

  // Each warp writes the sets of as many places as it has lanes, behind the union of those before them.
  const unsigned chunk = threadIdx.x / kLanes;
  const unsigned word = threadIdx.x % kLanes;
  std::uint32_t* const sets = tables.sets + blockIdx.x * Tables<Key>::kSets;
  const auto add = [&](std::uint32_t set, unsigned i) {
    const std::uint32_t row = elements[chunk * kLanes + i].place;
    return row / 32 == word ? set | 1u << row % 32 : set;
  };
  std::uint32_t set = 0;
  for (unsigned i = 0; i < kLanes; ++i) set = add(set, i);
  if (word < kWords) chunk_sets[chunk][word] = set;
  __syncthreads();
  if (word >= kWords) return;
  set = 0;
  for (unsigned before = 0; before < chunk; ++before) set |= chunk_sets[before][word];
  if (chunk == 0) sets[word] = 0;
  for (unsigned i = 0; i < kLanes; ++i) {
    set = add(set, i);
    sets[(chunk * kLanes + i + 1) * kWords + word] = set;
  }
}

}  // namespace skyrank::kernels::cuda::dominance_counts
