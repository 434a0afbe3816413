#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/device/block.cuh"
#include "kernels/cuda/topk/tiles.cuh"

// One pass over keys of 1 or 2 bytes that keeps the elements at or below a threshold. Keys stay together as they were
// loaded and are compared several at a time; few loads have one that is wanted, and those are looked at one after
// another, in a loop that needs few registers, so that as many loads are under way as of wider keys.
namespace skyrank::kernels::cuda {

/// Tiles of keys of 1 or 2 bytes. Each load of a block's threads, of 16 bytes a thread or of 8, is a stretch of
/// neighbouring rows; the kLoads of a tile lie apart, so that where all of a few thousand neighbours are wanted, many
/// blocks have some of them.
template <class E, unsigned kThreads, unsigned kLoads, unsigned kBytes>
class NarrowTiles : public KeyTiles<E, kThreads, 1, kBytes> {
 public:
  using Stretches = KeyTiles<E, kThreads, 1, kBytes>;
  static constexpr unsigned kLoadsOfTile = kLoads;

  __host__ __device__ NarrowTiles(const E& elements, std::size_t n)
      : Stretches(elements, n), stretches_(static_cast<unsigned>(Stretches::count())) {}

  __host__ __device__ std::size_t count() const {
    const unsigned groups = stretches_ / kOfGroup;
    return std::size_t{groups} * kApart + (stretches_ % kOfGroup + kLoads - 1) / kLoads;
  }

  /// Of a tile's loads; past the last one where a tile has fewer.
  __device__ unsigned stretch(std::size_t tile, unsigned load) const {
    const auto group = static_cast<unsigned>(tile) / kApart;
    const unsigned apart = min(kApart, (stretches_ - group * kOfGroup + kLoads - 1) / kLoads);
    return group * kOfGroup + load * apart + static_cast<unsigned>(tile) % kApart;
  }

  /// Whether all of a tile's loads lie in the array.
  __device__ bool covers_all(std::size_t tile) const {
    return Stretches::covers(stretch(tile, 0)) && Stretches::covers(stretch(tile, kLoads - 1));
  }

  /// Of the tiles with a stretch, or with neighbours of it.
  __device__ unsigned first_tile(unsigned stretch) const { return stretch / kOfGroup * kApart; }
  __device__ unsigned end_tile(unsigned stretch) const { return first_tile(stretch) + kApart; }

  __device__ void prefetch(std::size_t tile) const {
#pragma unroll 1
    for (unsigned load = 0; load < kLoads; ++load) Stretches::prefetch(stretch(tile, load));
  }

 private:
  static constexpr unsigned kApart = 64;  ///< stretches from one load of a tile to the next
  static constexpr unsigned kOfGroup = kApart * kLoads;

  unsigned stretches_;
};

/// Which keys of a stretch may be wanted. Of the rows of the threshold's key those up to the threshold's row are, or
/// from it on where ties go to the last ones.
template <class Rows>
class StretchBound {
 public:
  using Key = typename Rows::Item;

  __device__ StretchBound(const Rows& rows, typename Rows::Element threshold)
      : limit_(Rows::key(threshold)),
        row_(static_cast<unsigned>(rows.tile_of(rows.row(threshold)))),
        descending_(rows.descending()) {
    if (limit_ == 0 && descending_) first_tile_ = rows.first_tile(row_);
    if (limit_ == 0 && !descending_) end_tile_ = rows.end_tile(row_);
  }

  /// Whether a tile may have some. Where the threshold's key is zero, most have none and need not be read.
  __device__ bool may_be_in(std::size_t tile) const { return first_tile_ <= tile && tile < end_tile_; }
  /// The greatest key that may be; -1 where none is.
  __device__ int most(unsigned stretch) const { return ties(stretch) ? limit_ : limit_ - 1; }
  /// The same of a tile.
  __device__ int most_of_tile(const Rows& rows, std::size_t tile) const {
    return most(rows.stretch(tile, descending_ ? Rows::kLoadsOfTile - 1 : 0));
  }
  /// Whether it depends on the row, too.
  __device__ bool mixed(unsigned stretch) const { return stretch == row_; }

 private:
  __device__ bool ties(unsigned stretch) const { return descending_ ? stretch >= row_ : stretch <= row_; }

  int limit_;
  unsigned row_;  ///< the stretch of the threshold's row
  bool descending_;
  unsigned first_tile_ = 0;
  unsigned end_tile_ = ~0u;
};

/// The least key of a word.
template <class Key>
__device__ unsigned least_of(const uint4& word) {
#if defined(__CUDACC__)
  unsigned least = ~0u;
  // The least of halves has the least of their high bytes on top.
  const auto take = [&](unsigned part) {
    least = __vminu2(least, part);
    if constexpr (sizeof(Key) == 1) least = __vminu2(least, part << 8);
  };
  take(word.x);
  take(word.y);
  take(word.z);
  take(word.w);
  return min(least & 0xffff, least >> 16) >> (16 - 8 * sizeof(Key));
#else
  Key keys[sizeof(word) / sizeof(Key)];
  __builtin_memcpy(keys, &word, sizeof(word));
  Key least = keys[0];
  for (const Key key : keys) least = key < least ? key : least;
  return least;
#endif
}

/// Keys of a word of 16 bytes by bits: that of the j-th one of the i-th of its four parts is i + j * (bits of a key),
/// so that parts are compared as they are.
template <class Key>
struct KeysOfWord {
  static constexpr unsigned kBits = 8 * sizeof(Key);
  static constexpr unsigned kOfPart = 4 / sizeof(Key);

  const uint4& word;

  /// The key of a bit, and which one of the word it is.
  __device__ Key key(unsigned bit) const {
    const unsigned low = (bit & 1) != 0 ? word.y : word.x;
    const unsigned high = (bit & 1) != 0 ? word.w : word.z;
    return static_cast<Key>(((bit & 2) != 0 ? high : low) >> (bit / kBits * kBits));
  }
  __device__ static unsigned index(unsigned bit) { return bit % kBits * kOfPart + bit / kBits; }

  /// The bits of the keys of the first kParts parts that are at most so great.
  template <unsigned kParts>
  __device__ unsigned up_to(Key most) const {
    const unsigned parts[] = {word.x, word.y, word.z, word.w};
    const unsigned bound = most * (~0u / static_cast<Key>(~Key{0}));  // in all places of a part
    unsigned bits = 0;
#pragma unroll
    for (unsigned i = 0; i < kParts; ++i) bits |= tops_up_to(parts[i], bound) >> (kBits - 1 - i);
    return bits;
  }

 private:
  /// The top bit of each place where a part is at most so great.
  __device__ static unsigned tops_up_to(unsigned part, unsigned bound) {
    constexpr unsigned kTop = kBits == 8 ? 0x80808080u : 0x80008000u;
    const unsigned low_bits = (bound | kTop) - (part & ~kTop);  // without a borrow from any place
    return ((~part & bound) | (~(part ^ bound) & low_bits)) & kTop;
  }
};

/// What a thread has loaded of a tile.
template <unsigned kLoads>
struct LoadedWords {
  uint4 words[kLoads];

  /// By a number that is known only at run time: registers have no addresses.
  __device__ uint4 at(unsigned load) const {
    uint4 word = words[0];
#pragma unroll
    for (unsigned i = 1; i < kLoads; ++i) {
      if (i == load) word = words[i];
    }
    return word;
  }
  __device__ void set(unsigned load, const uint4& word) {
#pragma unroll
    for (unsigned i = 0; i < kLoads; ++i) {
      if (i == load) words[i] = word;
    }
  }
};

/// Loads a tile. What of it no row lies in is all ones.
template <class Rows>
__device__ void load_tile(const Rows& rows, std::size_t tile, LoadedWords<Rows::kLoadsOfTile>& loaded) {
  if (rows.covers_all(tile)) {
#pragma unroll
    for (unsigned i = 0; i < Rows::kLoadsOfTile; ++i) loaded.words[i] = rows.word(rows.stretch(tile, i), 0);
    return;
  }
#pragma unroll 1
  for (unsigned i = 0; i < Rows::kLoadsOfTile; ++i) {
    uint4 word[1];
    rows.load_words(rows.stretch(tile, i), word);
    loaded.set(i, word[0]);
  }
}

/// Adds to what is found those of a load's elements that are at or below the threshold.
template <class Rows, class Found>
__device__ void keep_of_word(const Rows& rows, const uint4& word, unsigned stretch, const StretchBound<Rows>& bound,
                             typename Rows::Element threshold, Found& found) {
  using Key = typename Rows::Item;
  const KeysOfWord<Key> keys{word};
  const std::size_t first = rows.place(stretch, 0);
  const auto element = [&](unsigned bit) { return rows.element(keys.key(bit), first + keys.index(bit)); };
  unsigned taken = keys.template up_to<Rows::kWidth * sizeof(Key) / 4>(static_cast<Key>(bound.most(stretch)));
  if (bound.mixed(stretch) || !rows.covers(stretch)) {
    for (unsigned left = taken; left != 0; left &= left - 1) {
      const auto bit = static_cast<unsigned>(__ffs(static_cast<int>(left)) - 1);
      if (first + keys.index(bit) >= rows.size() || element(bit) > threshold) taken &= ~(1u << bit);
    }
  }
  found.add_in_turns(taken, element);
}

/// Adds every element at or below the threshold to what is found.
template <class Rows, class Ahead, class Found>
__device__ void keep_narrow_within(const Rows& rows, typename Rows::Element threshold, const Ahead& ahead,
                                   Found& found) {
  using Key = typename Rows::Item;
  constexpr unsigned kLoads = Rows::kLoadsOfTile;
  const StretchBound<Rows> bound(rows, threshold);
  unsigned which = 0;
  for (TurnsOfTiles turns(rows.count()); turns.some(); turns.next(), ++which) {
    const std::size_t tile = turns.tile();
    if (!bound.may_be_in(tile) || !ahead.may_have(which, bound.most_of_tile(rows, tile))) continue;
    LoadedWords<kLoads> loaded;
    load_tile(rows, tile, loaded);
    unsigned some = 0;  // loads that have keys that may be wanted
#pragma unroll
    for (unsigned load = 0; load < kLoads; ++load) {
      const unsigned stretch = rows.stretch(tile, load);
      const bool any = static_cast<int>(least_of<Key>(loaded.words[load])) <= bound.most(stretch);
      some |= unsigned{any} << load;
    }
    if (!__any_sync(kAllLanes, some != 0)) continue;
    some = __reduce_or_sync(kAllLanes, some);
#pragma unroll 1
    for (; some != 0; some &= some - 1) {
      const auto load = static_cast<unsigned>(__ffs(static_cast<int>(some)) - 1);
      keep_of_word(rows, loaded.at(load), rows.stretch(tile, load), bound, threshold, found);
    }
  }
  found.flush();
}

}  // namespace skyrank::kernels::cuda
