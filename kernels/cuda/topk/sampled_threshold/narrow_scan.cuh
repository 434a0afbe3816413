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

/// Tiles of keys of 1 or 2 bytes.
template <class E, unsigned kThreads, unsigned kLoads, unsigned kBytes>
using NarrowTiles = ApartTiles<E, kThreads, kLoads, kBytes, 64>;

/// Has the compiler keep what it would compute again for each tile.
__device__ inline void keep_computed([[maybe_unused]] unsigned& value) {
#if defined(__CUDA_ARCH__)
  asm("" : "+r"(value));
#endif
}
__device__ inline void keep_computed([[maybe_unused]] std::uintptr_t& value) {
#if defined(__CUDA_ARCH__)
  asm("" : "+l"(value));
#endif
}

/// Which keys of a stretch may be wanted. Of the rows of the threshold's key those up to the threshold's row are, or
/// from it on where ties go to the last ones.
template <class Rows>
class StretchBound {
 public:
  using OfTile = typename Rows::OfTile;

  __device__ StretchBound(const Rows& rows, typename Rows::Element threshold)
      : limit_(Rows::key(threshold)),
        row_(static_cast<unsigned>(rows.tile_of(rows.row(threshold)))),
        first_(rows.descending() ? row_ : 0),
        others_(rows.descending() ? ~0u - row_ : row_),
        least_load_(rows.descending() ? Rows::kLoadsOfTile - 1 : 0) {
    if (limit_ == 0 && rows.descending()) first_tile_ = rows.first_tile(row_);
    if (limit_ == 0 && !rows.descending()) end_tile_ = rows.end_tile(row_);
    keep_computed(first_);
    keep_computed(others_);
  }

  /// Whether a tile may have some. Where the threshold's key is zero, most have none and need not be read.
  __device__ bool may_be_in(unsigned tile) const { return first_tile_ <= tile && tile < end_tile_; }
  /// The greatest key that may be; -1 where none is.
  __device__ int most(unsigned stretch) const { return limit_ - (ties(stretch) ? 0 : 1); }
  /// The same of a tile.
  __device__ int most(const OfTile& stretches) const { return most(stretches[least_load_]); }
  /// Whether it depends on the row, too, in any of a tile's stretches.
  __device__ bool mixed(const OfTile& stretches) const {
    bool any = false;
#pragma unroll
    for (unsigned load = 0; load < Rows::kLoadsOfTile; ++load) any |= stretches[load] == row_;
    return any;
  }

 private:
  __device__ bool ties(unsigned stretch) const { return stretch - first_ <= others_; }

  int limit_;
  unsigned row_;         ///< the stretch of the threshold's row
  unsigned first_;       ///< of the stretches of which rows of the threshold's key may be wanted,
  unsigned others_;      ///< and how many more there are
  unsigned least_load_;  ///< that of a tile which is the first to be among these
  unsigned first_tile_ = 0;
  unsigned end_tile_ = ~0u;
};

/// The least of several words' keys.
template <class Key>
class LeastOfWords {
 public:
  __device__ void add(const uint4& word) {
    take(word.x);
    take(word.y);
    take(word.z);
    take(word.w);
  }
  __device__ Key least() const { return static_cast<Key>(min(halves_ & 0xffff, halves_ >> 16) >> kSpare); }

 private:
  static constexpr unsigned kSpare = 16 - 8 * sizeof(Key);

  // The least of halves has the least of their high bytes on top.
  __device__ void take(unsigned part) {
    halves_ = least_halves(halves_, part);
    if constexpr (sizeof(Key) == 1) halves_ = least_halves(halves_, part << 8);
  }
  __device__ static unsigned least_halves(unsigned a, unsigned b) {
#if defined(__CUDACC__)
    return __vminu2(a, b);
#else
    return min(a & 0xffff, b & 0xffff) | min(a >> 16, b >> 16) << 16;
#endif
  }

  unsigned halves_ = ~0u;
};

/// What a thread has loaded of a tile.
template <unsigned kLoads>
struct LoadedWords {
  uint4 words[kLoads];

  /// By a number that is known only at run time: registers have no addresses.
  __device__ void set(unsigned load, const uint4& word) {
#pragma unroll
    for (unsigned i = 0; i < kLoads; ++i) {
      if (i == load) words[i] = word;
    }
  }

  template <class Key>
  __device__ Key least() const {
    LeastOfWords<Key> least;
#pragma unroll
    for (const uint4& word : words) least.add(word);
    return least.least();
  }
};

/// A thread's way to read tiles. What is the same for all of them is found once: the next loads are late by all that is
/// done between two tiles.
template <class Rows>
class NarrowReader {
 public:
  using OfTile = typename Rows::OfTile;
  using Words = LoadedWords<Rows::kLoadsOfTile>;

  __device__ explicit NarrowReader(const Rows& rows)
      : rows_(rows), own_(rows.own_address()), first_whole_(rows.covers(0) ? 0 : 1), end_whole_(rows.end_of_whole()) {
    keep_computed(own_);
    keep_computed(end_whole_);
  }

  /// Loads a tile and says where its loads lie. What of it no row lies in is all ones.
  __device__ OfTile load(unsigned tile, Words& loaded) const {
    constexpr unsigned kLoads = Rows::kLoadsOfTile;
    if (first_whole_ <= tile && tile < end_whole_) {
      const OfTile stretches = Rows::stretches_of_whole(tile);
      const std::uintptr_t from = own_ + std::uint64_t{stretches.first} * kStretchBytes;
#pragma unroll
      for (unsigned i = 0; i < kLoads; ++i)
        loaded.words[i] = Rows::word_at(from + std::uint64_t{i} * stretches.apart * kStretchBytes);
      return stretches;
    }
    const OfTile stretches = rows_.stretches(tile);
#pragma unroll 1
    for (unsigned i = 0; i < kLoads; ++i) {
      uint4 word[1];
      rows_.load_words(stretches[i], word);
      loaded.set(i, word[0]);
    }
    return stretches;
  }

 private:
  static constexpr unsigned kStretchBytes = Rows::kTile * sizeof(typename Rows::Item);

  const Rows& rows_;
  std::uintptr_t own_;  ///< where this thread's part of the first stretch lies
  unsigned first_whole_;
  unsigned end_whole_;
};

/// Keys of a tile that a thread has loaded, by bits. Loads are parts of 4 bytes, compared as they are: the bit of the
/// j-th key of part p is p % kBits + j * kBits, of word p / kBits.
template <class Rows>
class KeysOfTile {
 public:
  using Key = typename Rows::Item;
  static constexpr unsigned kBits = 8 * sizeof(Key);
  static constexpr unsigned kPartsOfLoad = Rows::kWidth * sizeof(Key) / 4;
  static constexpr unsigned kWords = (Rows::kLoadsOfTile * kPartsOfLoad + kBits - 1) / kBits;

  unsigned bits[kWords] = {};

  /// Takes the keys of a load that are at most so great, none if that is -1.
  __device__ void take_up_to(int most, unsigned load, const uint4& word) {
    const unsigned parts[] = {word.x, word.y, word.z, word.w};
    const unsigned bound = static_cast<Key>(most) * (~0u / static_cast<Key>(~Key{0}));  // in all places of a part
    const unsigned wanted = most < 0 ? 0 : kTops;
#pragma unroll
    for (unsigned i = 0; i < kPartsOfLoad; ++i) {
      const unsigned part = load * kPartsOfLoad + i;
      bits[part / kBits] |= (tops_up_to(parts[i], bound) & wanted) >> (kBits - 1 - part % kBits);
    }
  }

  /// Where a key lies, from the first of the loads on, of which each begins so many rows after the one before.
  __device__ static unsigned offset(unsigned rows_apart, unsigned word, unsigned bit) {
    const unsigned part = word * kBits + bit % kBits;
    return part / kPartsOfLoad * rows_apart + part % kPartsOfLoad * (4 / sizeof(Key)) + bit / kBits;
  }

  /// The key itself. Registers have no addresses: half of the parts are left after each step.
  __device__ static Key key(const LoadedWords<Rows::kLoadsOfTile>& loaded, unsigned word, unsigned bit) {
    constexpr unsigned kParts = Rows::kLoadsOfTile * kPartsOfLoad;
    const unsigned part = word * kBits + bit % kBits;
    unsigned parts[kParts];
#pragma unroll
    for (unsigned i = 0; i < kParts; ++i) {
      const uint4& of_load = loaded.words[i / kPartsOfLoad];
      const unsigned all[] = {of_load.x, of_load.y, of_load.z, of_load.w};
      parts[i] = all[i % kPartsOfLoad];
    }
#pragma unroll
    for (unsigned step = 1; step < kParts; step *= 2) {
#pragma unroll
      for (unsigned i = 0; i < kParts; i += 2 * step) parts[i] = (part & step) != 0 ? parts[i + step] : parts[i];
    }
    return static_cast<Key>(parts[0] >> (bit / kBits * kBits));
  }

 private:
  static constexpr unsigned kTops = kBits == 8 ? 0x80808080u : 0x80008000u;

  /// Has the top bit of each place set where a part is at most so great; the others may be anything.
  __device__ static unsigned tops_up_to(unsigned part, unsigned bound) {
    const unsigned low_bits = (bound | kTops) - (part & ~kTops);  // without a borrow from any place
    return (~part & bound) | (~(part ^ bound) & low_bits);
  }
};

/// Adds to what is found those of a tile's elements that are at or below the threshold. All lanes call.
template <class Rows, class Found>
__device__ void keep_of_tile(const Rows& rows, const typename NarrowReader<Rows>::Words& loaded,
                             const typename Rows::OfTile& stretches, const StretchBound<Rows>& bound,
                             typename Rows::Element threshold, Found& found) {
  KeysOfTile<Rows> taken;
#pragma unroll
  for (unsigned load = 0; load < Rows::kLoadsOfTile; ++load)
    taken.take_up_to(bound.most(stretches[load]), load, loaded.words[load]);
  const std::size_t first = rows.place(stretches[0], 0);
  const unsigned rows_apart = stretches.apart * Rows::kTile;
  const auto place = [&](unsigned word, unsigned bit) { return first + taken.offset(rows_apart, word, bit); };
  const auto element = [&](unsigned word, unsigned bit) {
    return rows.element(taken.key(loaded, word, bit), place(word, bit));
  };
  if (bound.mixed(stretches) || !rows.covers_all(stretches)) {
#pragma unroll
    for (unsigned word = 0; word < taken.kWords; ++word) {
      for (unsigned left = taken.bits[word]; left != 0; left &= left - 1) {
        const auto bit = static_cast<unsigned>(__ffs(static_cast<int>(left)) - 1);
        if (place(word, bit) >= rows.size() || element(word, bit) > threshold) taken.bits[word] &= ~(1u << bit);
      }
    }
  }
  found.add_in_turns(taken.bits, element);
}

/// Adds every element at or below the threshold to what is found.
template <class Rows, class Ahead, class Found>
__device__ void keep_narrow_within(const Rows& rows, typename Rows::Element threshold, const Ahead& ahead,
                                   Found& found) {
  using Key = typename Rows::Item;
  const StretchBound<Rows> bound(rows, threshold);
  const NarrowReader<Rows> reader(rows);
  unsigned which = 0;
  for (TurnsOfTiles turns(rows.count()); turns.some(); turns.next(), ++which) {
    const auto tile = static_cast<unsigned>(turns.tile());
    if (!bound.may_be_in(tile) || !ahead.may_have(which, [&] { return bound.most(rows.stretches(tile)); })) continue;
    typename NarrowReader<Rows>::Words loaded;
    const typename Rows::OfTile stretches = reader.load(tile, loaded);
    const bool any = static_cast<int>(loaded.template least<Key>()) <= bound.most(stretches);
    if (__any_sync(kAllLanes, any)) keep_of_tile(rows, loaded, stretches, bound, threshold, found);
  }
  found.flush();
}

}  // namespace skyrank::kernels::cuda
