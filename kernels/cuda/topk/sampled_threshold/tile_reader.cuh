#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/device/kernel/block.cuh"
#include "kernels/cuda/device/kernel/registers.cuh"
#include "kernels/cuda/topk/block/tiles.cuh"

// Reads the tiles of a scan and bounds the keys that are wanted. Values that are the same for all tiles are computed
// once, since work between two tiles delays the loads of the second.
namespace skyrank::kernels::cuda::topk {

/// Tells the keys of a stretch that may be wanted. Rows of the threshold's key are wanted up to the threshold's row, or
/// from it on if ties go to the last rows.
template <class Rows>
class StretchBound {
 public:
  using OfTile = typename Rows::OfTile;
  using Key = typename Rows::Item;

  __device__ StretchBound(const Rows& rows, typename Rows::Element threshold)
      : limit_(Rows::key(threshold)),
        row_(static_cast<unsigned>(rows.tile_of(rows.row(threshold)))),
        first_(rows.descending() ? row_ : 0),
        others_(rows.descending() ? ~0u - row_ : row_),
        least_load_(rows.descending() ? Rows::kLoadsOfTile - 1 : 0) {
    if (limit_ == 0 && rows.descending()) first_tile_ = rows.first_tile(row_);
    if (limit_ == 0 && !rows.descending()) end_tile_ = rows.end_tile(row_);
    hold_in_register(first_);
    hold_in_register(others_);
    hold_in_register(first_tile_);
    hold_in_register(end_tile_);
  }

  /// Returns true if a tile may have wanted keys. If the threshold's key is zero, most tiles have none.
  __device__ bool may_be_in(unsigned tile) const { return first_tile_ <= tile && tile < end_tile_; }
  /// Returns true if a key may be wanted in one of these stretches.
  __device__ bool admits(Key key, const OfTile& stretches) const {
    return ties_any(stretches) ? key <= limit_ : key < limit_;
  }
  /// Returns true if a key may be wanted in some row; ties_with() tells if that depends on the row.
  __device__ bool admits_some(Key key) const { return key <= limit_; }
  __device__ bool ties_with(Key key) const { return key == limit_; }

  /// Returns the greatest key that may be wanted in a tile which has admitted one.
  __device__ Key most(const OfTile& stretches) const {
    return static_cast<Key>(limit_ - (ties_any(stretches) ? 0 : 1));
  }
  /// Returns true if that key is lower in some of the stretches, or depends on the row.
  __device__ bool mixed(const OfTile& stretches) const {
    const unsigned first = stretches[0];
    const unsigned last = stretches[Rows::kLoadsOfTile - 1];
    return ties(first) != ties(last) || first == row_ || last == row_;
  }

 private:
  __device__ bool ties(unsigned stretch) const { return stretch - first_ <= others_; }
  __device__ bool ties_any(const OfTile& stretches) const { return ties(stretches[least_load_]); }

  Key limit_;
  unsigned row_;         ///< the stretch of the threshold's row
  unsigned first_;       ///< first of the stretches whose rows of the threshold's key may be wanted,
  unsigned others_;      ///< and how many more there are
  unsigned least_load_;  ///< load of a tile that is the first to be among these
  unsigned first_tile_ = 0;
  unsigned end_tile_ = ~0u;
};

/// Returns the least of a thread's keys.
template <class Key, unsigned kItems>
__device__ Key least_of(const Key (&keys)[kItems]) {
  Key least = keys[0];
#pragma unroll
  for (unsigned i = 1; i < kItems; ++i) least = keys[i] < least ? keys[i] : least;
  return least;
}

/// Words of a tile that a thread has loaded.
template <unsigned kLoads>
struct LoadedWords {
  uint4 words[kLoads];

  template <class Key>
  __device__ Key least() const {
    Key keys[kLoads * (sizeof(uint4) / sizeof(Key))];
    __builtin_memcpy(keys, words, sizeof(words));
    return least_of(keys);
  }
};

/// Loads a thread's part of tiles, or the part of another thread.
template <class Rows>
class TileReader {
 public:
  using OfTile = typename Rows::OfTile;
  using Words = LoadedWords<Rows::kLoadsOfTile>;

  __device__ explicit TileReader(const Rows& rows, unsigned thread = Rows::own_thread())
      : rows_(rows), thread_(thread), from_(rows.address_of(thread)) {}

  /// Loads a tile and returns the stretches of its loads. Words without rows are all ones. `once` bypasses the L1
  /// cache, for tiles that are not read again soon.
  __device__ OfTile load(unsigned tile, Words& loaded, bool once) const {
    constexpr unsigned kLoads = Rows::kLoadsOfTile;
    if (rows_.is_whole(tile)) {
      const OfTile stretches = Rows::stretches_of_whole(tile);
      const std::uintptr_t from = from_ + std::uint64_t{stretches.first} * kStretchBytes;
      if (once)
        load_whole<true>(from, stretches, loaded);
      else
        load_whole<false>(from, stretches, loaded);
      return stretches;
    }
    const OfTile stretches = rows_.stretches(tile);
#pragma unroll 1
    for (unsigned i = 0; i < kLoads; ++i) {
      uint4 word[1];
      rows_.load_words(stretches[i], word, thread_);
      set_chosen(loaded.words, i, word[0]);
    }
    return stretches;
  }

 private:
  static constexpr unsigned kStretchBytes = Rows::kTile * sizeof(typename Rows::Item);

  template <bool kOnce>
  __device__ static void load_whole(std::uintptr_t from, const OfTile& stretches, Words& loaded) {
#pragma unroll
    for (unsigned i = 0; i < Rows::kLoadsOfTile; ++i)
      loaded.words[i] = Rows::template word_at<kOnce>(from + std::uint64_t{i} * stretches.apart * kStretchBytes);
  }

  const Rows& rows_;
  unsigned thread_;
  std::uintptr_t from_;  ///< address of the thread's part of the first stretch
};

}  // namespace skyrank::kernels::cuda::topk
