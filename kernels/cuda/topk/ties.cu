#include "kernels/cuda/topk/ties.hpp"

#include <algorithm>
#include <cstdint>

#include "kernels/cuda/device/kernel/block.cuh"
#include "kernels/cuda/device/launch.cuh"
#include "kernels/cuda/topk/tiles.cuh"

// All ties with the last of the k least elements. These have the lowest row ids of their key, so what is missing are
// the rows behind the last one's that have the same key, in the order of the rows: nothing has to be sorted. One pass
// counts them, tile by tile; a second one reads again the tiles that have some, and writes their rows where they
// belong.
//
// Floor: one read of the keys behind the last row, a second one of the tiles with ties, and 8 bytes written for each.
namespace skyrank::kernels::cuda::topk {
namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kWarps = kThreads / kLanes;
constexpr std::size_t kBlocks = 8;  // of a multiprocessor

using TileCount = std::uint16_t;

/// Returns which of a word's keys are equal to `key`: a bit each.
template <class Key>
__device__ unsigned equal_in_word(unsigned word, Key key) {
  if constexpr (sizeof(Key) == 1) {
    const unsigned other = word ^ (key * 0x01010101u);
    const unsigned equal = ~(((other & 0x7f7f7f7fu) + 0x7f7f7f7fu) | other | 0x7f7f7f7fu) >> 7;
    return equal * 0x01020408u >> 24 & 0xfu;
  } else if constexpr (sizeof(Key) == 2) {
    return unsigned{static_cast<Key>(word) == key} | unsigned{static_cast<Key>(word >> 16) == key} << 1;
  } else {
    return unsigned{word == key};
  }
}

template <class Key>
__device__ unsigned equal_in(const uint4& words, Key key) {
  if constexpr (sizeof(Key) == 8) {
    const auto key_of = [](unsigned low, unsigned high) { return std::uint64_t{high} << 32 | low; };
    return unsigned{key_of(words.x, words.y) == key} | unsigned{key_of(words.z, words.w) == key} << 1;
  } else {
    constexpr unsigned kOfWord = 4 / sizeof(Key);
    return equal_in_word(words.x, key) | equal_in_word(words.y, key) << kOfWord |
           equal_in_word(words.z, key) << 2 * kOfWord | equal_in_word(words.w, key) << 3 * kOfWord;
  }
}

/// The rows behind the last of the chosen ones that have its key, and how they are divided among warps: each has
/// consecutive tiles.
template <class E>
class Ties {
 public:
  using Key = typename E::Key;
  using Rows = KeyTiles<E, kLanes, 4>;
  static_assert(Rows::kTile <= 0xffff);

  __device__ Ties(const Rows& rows, typename E::Element last)
      : rows_(rows), key_(E::key(last)), first_(rows.row(last) + 1), first_tile_(rows.tile_of(rows.row(last))) {
    const std::size_t warps = std::size_t{gridDim.x} * kWarps;
    const std::size_t tiles = rows.count() - first_tile_;
    const std::size_t each = (tiles + warps - 1) / warps;
    begin_ = first_tile_ + min(tiles, warp() * each);
    end_ = min(rows.count(), begin_ + each);
  }

  /// The warp, of all of the grid.
  __device__ static std::size_t warp() { return (std::size_t{blockIdx.x} * kThreads + threadIdx.x) / kLanes; }

  /// Returns the first of this warp's tiles.
  __device__ std::size_t begin() const { return begin_; }
  __device__ std::size_t end() const { return end_; }

  /// A bit for each of this lane's rows of a tile, for each load.
  __device__ void find(std::size_t tile, unsigned (&ties)[Rows::kLoadsOfTile]) const {
    uint4 words[Rows::kLoadsOfTile];
    const bool whole = rows_.load_words(tile, words);
#pragma unroll
    for (unsigned load = 0; load < Rows::kLoadsOfTile; ++load) ties[load] = equal_in(words[load], key_);
    if (whole && tile > first_tile_) return;
#pragma unroll
    for (unsigned i = 0; i < Rows::kItems; ++i) {
      const std::size_t place = rows_.place(tile, i);
      if (place < first_ || place >= rows_.size()) ties[i / Rows::kWidth] &= ~(1u << i % Rows::kWidth);
    }
  }

 private:
  const Rows& rows_;
  Key key_;
  std::size_t first_;       ///< row that may be one
  std::size_t first_tile_;  ///< with such a row, or the one before
  std::size_t begin_;
  std::size_t end_;
};

/// How many ties each tile has, and each warp.
template <class E>
__global__ void __launch_bounds__(kThreads) count_ties(E elements, std::size_t n, const typename E::Element* last,
                                                       TileCount* of_tiles, unsigned long long* of_warps) {
  using Rows = typename Ties<E>::Rows;
  const Rows rows(elements, n);
  const Ties<E> ties(rows, *last);
  unsigned long long all = 0;
  for (std::size_t tile = ties.begin(); tile < ties.end(); ++tile) {
    unsigned bits[Rows::kLoadsOfTile];
    ties.find(tile, bits);
    unsigned mine = 0;
#pragma unroll
    for (unsigned load = 0; load < Rows::kLoadsOfTile; ++load) mine += static_cast<unsigned>(__popc(bits[load]));
    const unsigned count = __reduce_add_sync(kAllLanes, mine);
    if (threadIdx.x % kLanes == 0) of_tiles[tile] = static_cast<TileCount>(count);
    all += count;
  }
  if (threadIdx.x % kLanes == 0) of_warps[ties.warp()] = all;
}

/// One block turns each warp's count into those of all before it, and the last one's successor into the total.
__global__ void __launch_bounds__(1024) place_ties(unsigned long long* of_warps, unsigned warps) {
  const unsigned each = (warps + blockDim.x - 1) / blockDim.x;
  const unsigned begin = min(warps, threadIdx.x * each);
  const unsigned end = min(warps, begin + each);
  unsigned long long mine = 0;
  for (unsigned warp = begin; warp < end; ++warp) mine += of_warps[warp];
  unsigned long long total = 0;
  unsigned long long before = sum_before(mine, total);
  for (unsigned warp = begin; warp < end; ++warp) {
    const unsigned long long count = of_warps[warp];
    of_warps[warp] = before;
    before += count;
  }
  if (threadIdx.x == 0) of_warps[warps] = total;
}

/// Writes the rows, those of neighbouring places together.
template <class E>
__global__ void __launch_bounds__(kThreads)
    write_ties(E elements, std::size_t n, const typename E::Element* last, const TileCount* of_tiles,
               const unsigned long long* of_warps, RowId* answer) {
  using Rows = typename Ties<E>::Rows;
  constexpr unsigned kOfLoad = kLanes * Rows::kWidth;
  __shared__ std::uint16_t places[kWarps][kOfLoad];
  const unsigned lane = threadIdx.x % kLanes;
  std::uint16_t* const found = places[threadIdx.x / kLanes];
  const Rows rows(elements, n);
  const Ties<E> ties(rows, *last);
  RowId* next = answer + of_warps[ties.warp()];
  for (std::size_t tile = ties.begin(); tile < ties.end(); ++tile) {
    if (of_tiles[tile] == 0) continue;
    unsigned bits[Rows::kLoadsOfTile];
    ties.find(tile, bits);
#pragma unroll
    for (unsigned load = 0; load < Rows::kLoadsOfTile; ++load) {
      const auto mine = static_cast<unsigned>(__popc(bits[load]));
      const unsigned up_to_lane = sum_up_to_lane(mine);
      const unsigned count = __shfl_sync(kAllLanes, up_to_lane, kLanes - 1);
      if (count == 0) continue;
      unsigned place = up_to_lane - mine;
      for (unsigned rest = bits[load]; rest != 0; rest &= rest - 1) {
        const auto item = static_cast<unsigned>(__ffs(static_cast<int>(rest))) - 1;
        found[place++] = static_cast<std::uint16_t>(lane * Rows::kWidth + item);
      }
      __syncwarp();
      // Before the array's beginning places wrap around.
      const auto first = static_cast<RowId>(rows.place(tile, load * Rows::kWidth) - lane * Rows::kWidth);
      for (unsigned i = lane; i < count; i += kLanes) next[i] = first + found[i];
      next += count;
      __syncwarp();
    }
  }
}

template <class Element>
__global__ void least_rows(const Element* least, std::size_t k, Element row_mask, RowId* rows) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < k) rows[i] = static_cast<RowId>(least[i] & row_mask);
}

}  // namespace

template <class E>
Buffer<RowId> rows_with_ties(const E& elements, std::size_t n, const typename E::Element* least, std::size_t k,
                             DeviceContext& device) {
  using Element = typename E::Element;
  const std::size_t tiles = typename Ties<E>::Rows(elements, n).count();
  const Grid grid{.blocks = std::min(blocks_for(tiles, kWarps),
                                     kBlocks * static_cast<std::size_t>(device.properties().multiprocessors)),
                  .threads = kThreads};
  const std::size_t warps = grid.blocks * kWarps;
  const auto of_tiles = device.allocate<TileCount>(tiles);
  const auto of_warps = device.allocate<unsigned long long>(warps + 1);
  const Element* const last = least + k - 1;
  launch("count_ties", count_ties<E>, grid, device.stream(), elements, n, last, of_tiles.data(), of_warps.data());
  launch("place_ties", place_ties, {.blocks = 1, .threads = 1024}, device.stream(), of_warps.data(),
         static_cast<unsigned>(warps));
  unsigned long long ties = 0;
  SKYRANK_CUDA_CALL(
      cudaMemcpyAsync(&ties, of_warps.data() + warps, sizeof(ties), cudaMemcpyDeviceToHost, device.stream()));
  device.synchronize();
  auto rows = device.allocate<RowId>(k + ties);
  launch("least_rows", least_rows<Element>, {.blocks = blocks_for(k, kThreads), .threads = kThreads}, device.stream(),
         least, k, E::kRowMask, rows.data());
  if (ties == 0) return rows;
  launch("write_ties", write_ties<E>, grid, device.stream(), elements, n, last, of_tiles.data(), of_warps.data(),
         rows.data() + k);
  return rows;
}

#define SKYRANK_INSTANTIATE(E) \
  template Buffer<RowId> rows_with_ties(const E&, std::size_t, const E::Element*, std::size_t, DeviceContext&);
SKYRANK_INSTANTIATE(ByteElements)
SKYRANK_INSTANTIATE(HalfElements)
SKYRANK_INSTANTIATE(ShortElements)
SKYRANK_INSTANTIATE(LongElements)
SKYRANK_INSTANTIATE(ManyElements)
#undef SKYRANK_INSTANTIATE

}  // namespace skyrank::kernels::cuda::topk
