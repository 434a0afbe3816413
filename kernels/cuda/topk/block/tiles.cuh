#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/device/kernel/load_once.cuh"

// Reading arrays of device memory 16 bytes at a time, several of them in flight.
namespace skyrank::kernels::cuda::topk {

/// An array that groups of `kThreads` threads of a block read tile by tile. Tiles begin at a 16-byte boundary,
/// wherever the values do. A thread has `kLoads` loads of a tile in flight, of 16 bytes.
template <class T, unsigned kThreads, unsigned kLoads>
class Tiles {
 public:
  using Item = T;
  static constexpr unsigned kLoadsOfTile = kLoads;  ///< loads of a thread
  static constexpr unsigned kWidth = sizeof(uint4) / sizeof(T);
  /// Values of a thread in one tile.
  static constexpr unsigned kItems = kLoads * kWidth;
  static constexpr unsigned kTile = kThreads * kItems;

  __host__ __device__ Tiles(const T* data, std::size_t size)
      : data_(data),
        size_(size),
        lead_(static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(data) % 16 / sizeof(T))) {}

  /// Values of all tiles.
  __host__ __device__ std::size_t size() const { return size_; }

  __host__ __device__ std::size_t count() const { return (lead_ + size_ + kTile - 1) / kTile; }

  /// Returns the number of this thread among those that read a tile.
  __device__ static unsigned own_thread() { return threadIdx.x % kThreads; }

  /// Returns the place of a thread's item `i` in the array; at least `size` if it is not in there.
  __device__ std::size_t place(std::size_t tile, unsigned i, unsigned thread = own_thread()) const {
    return first(tile, i / kWidth, thread) + i % kWidth;
  }

  /// The tile that covers a place.
  __device__ std::size_t tile_of(std::size_t place) const { return (place + lead_) / kTile; }

  /// Returns true if all of a tile lies in the array.
  __host__ __device__ bool covers(std::size_t tile) const {
    return (tile > 0 || lead_ == 0) && (tile + 1) * kTile <= lead_ + size_;
  }

  /// Tiles that end in the array.
  __host__ __device__ unsigned whole() const { return static_cast<unsigned>((lead_ + size_) / kTile); }

  /// Returns the address that a thread's first item of the first tile would have.
  __device__ std::uintptr_t address_of(unsigned thread) const {
    return reinterpret_cast<std::uintptr_t>(data_) + thread * sizeof(uint4) - lead_ * sizeof(T);
  }

  /// Loads this thread's items of a tile. Bit i of the answer: there is an item i; the others are all ones.
  __device__ unsigned load(std::size_t tile, T (&items)[kItems]) const {
    uint4 words[kLoads];
    const bool all = load_words(tile, words);
    static_assert(sizeof(items) == sizeof(words));
    __builtin_memcpy(items, words, sizeof(words));
    unsigned present = ~0u >> (32 - kItems);
    if (all) return present;
#pragma unroll
    for (unsigned i = 0; i < kItems; ++i) {
      if (place(tile, i) >= size_) present &= ~(1u << i);
    }
    return present;
  }

  /// One load of a tile of which all lies in the array, as a word of 16 bytes.
  __device__ uint4 word(std::size_t tile, unsigned load, unsigned thread = own_thread()) const {
    return word_at(reinterpret_cast<std::uintptr_t>(data_ + first(tile, load, thread)));
  }
  /// kOnce: past the L1 cache, where it would take the place of what is asked for again.
  template <bool kOnce = false>
  __device__ static uint4 word_at(std::uintptr_t from) {
    const auto* const word = reinterpret_cast<const uint4*>(from);  // NOLINT(performance-no-int-to-ptr)
    return kOnce ? load_once(word) : __ldg(word);
  }

  /// Loads a thread's items as words of 16 bytes; what of these does not lie in the array is all ones. Whether all of
  /// it does.
  __device__ bool load_words(std::size_t tile, uint4 (&words)[kLoads], unsigned thread = own_thread()) const {
    if (covers(tile)) {
#pragma unroll
      for (unsigned i = 0; i < kLoads; ++i) words[i] = word(tile, i, thread);
      return true;
    }
#pragma unroll
    for (unsigned i = 0; i < kLoads; ++i) {
      // Before the array's beginning places are negative. Compared one by one they would take many registers.
      const auto from = static_cast<std::int64_t>(first(tile, i, thread));
      const unsigned begin = part_up_to(-from);
      const unsigned end = part_up_to(static_cast<std::int64_t>(size_) - from);
      T items[kWidth];
#pragma unroll
      for (unsigned j = 0; j < kWidth; ++j) items[j] = begin <= j && j < end ? data_[from + j] : static_cast<T>(~T{0});
      __builtin_memcpy(&words[i], items, sizeof(items));
    }
    return false;
  }

 private:
  /// Returns `values`, or the nearest number of values that a load can have.
  __device__ static unsigned part_up_to(std::int64_t values) {
    return static_cast<unsigned>(min(max(values, std::int64_t{0}), std::int64_t{kWidth}));
  }

  // Before the array's beginning it wraps around, to more than any size.
  __device__ std::size_t first(std::size_t tile, unsigned load, unsigned thread = own_thread()) const {
    return tile * kTile + (load * kThreads + thread) * kWidth - lead_;
  }

  const T* data_;
  std::size_t size_;
  unsigned lead_;  ///< values that the first tile has room for before the array
};

/// A block's tiles of `count`: in waves of a tile for each block, from the first ones on and from the last ones back.
/// Orders tiles so that those with many candidates come first. In rows sorted either way few tiles have all candidates;
/// they take long, while others read.
class TileWaves {
 public:
  /// From a wave on. Keys that fit a device's memory have far fewer than 2^31 tiles.
  __device__ explicit TileWaves(std::size_t count, unsigned which = 0)
      : count_(static_cast<unsigned>(count)),
        index_(which * gridDim.x + blockIdx.x),
        place_(which / 2 * gridDim.x + blockIdx.x),
        which_(which) {}

  __device__ bool some() const { return index_ < count_; }
  __device__ unsigned tile() const { return from_end() ? count_ - 1 - place_ : place_; }
  /// Returns which of the block's tiles it is, from 0.
  __device__ unsigned which() const { return which_; }
  __device__ void next() {
    index_ += gridDim.x;
    if (from_end()) place_ += gridDim.x;
    ++which_;
  }

 private:
  __device__ bool from_end() const { return which_ % 2 != 0; }

  unsigned count_;
  unsigned index_;  ///< the place in the order of all blocks' tiles
  unsigned place_;  ///< from the first tile on, or from the last one back
  unsigned which_;
};

/// The keys of all rows, to be made elements of.
template <class E, unsigned kThreads, unsigned kLoads = 4>
class KeyTiles : public Tiles<typename E::Key, kThreads, kLoads> {
 public:
  using Element = typename E::Element;

  __host__ __device__ KeyTiles(const E& elements, std::size_t n)
      : Tiles<typename E::Key, kThreads, kLoads>(elements.keys, n), elements_(elements) {}

  __device__ Element element(typename E::Key key, std::size_t place) const { return elements_.of(key, place); }
  __device__ Element at(std::size_t place) const { return elements_.at(place); }
  __device__ static typename E::Key key(Element element) { return E::key(element); }
  __device__ std::size_t row(Element element) const { return elements_.row(element); }
  /// Returns the row bits of the first element of a key.
  __host__ __device__ std::uint64_t first_row_bits() const {
    return elements_.complement == 0 ? 0 : static_cast<std::uint64_t>(E::kRowMask) - (this->size() - 1);
  }
  /// Returns true if rows with higher ids come first among equal keys.
  __device__ bool descending() const { return elements_.complement != 0; }

 private:
  E elements_;
};

/// The keys of all rows in tiles whose loads lie apart. Each load of a block's threads, of 16 bytes a thread,
/// is a stretch of neighbouring rows; the kLoads of a tile are kApart stretches from one another, so that where all of
/// some thousand neighbours are wanted, as of sorted rows, many blocks have some of them.
template <class E, unsigned kThreads, unsigned kLoads>
class ApartTiles : public KeyTiles<E, kThreads, 1> {
 public:
  using Stretches = KeyTiles<E, kThreads, 1>;
  static constexpr unsigned kLoadsOfTile = kLoads;
  static constexpr unsigned kApart = 128;

  __host__ __device__ ApartTiles(const E& elements, std::size_t n)
      : Stretches(elements, n),
        stretches_(static_cast<unsigned>(Stretches::count())),
        first_whole_(Stretches::covers(0) ? 0 : 1) {
    const unsigned end = Stretches::whole() / kOfGroup * kApart;
    whole_ = end > first_whole_ ? end - first_whole_ : 0;
  }

  __host__ __device__ std::size_t count() const {
    const unsigned groups = stretches_ / kOfGroup;
    return std::size_t{groups} * kApart + (stretches_ % kOfGroup + kLoads - 1) / kLoads;
  }

  /// The stretches of a tile's loads; past the last one where a tile has fewer.
  struct OfTile {
    unsigned first;
    unsigned apart;

    __device__ unsigned operator[](unsigned load) const { return first + load * apart; }
  };
  __device__ OfTile stretches(unsigned tile) const {
    const unsigned group = tile / kApart;
    const unsigned apart = min(kApart, (stretches_ - group * kOfGroup + kLoads - 1) / kLoads);
    return {.first = group * kOfGroup + tile % kApart, .apart = apart};
  }
  /// The same where it is a whole tile, one of a group that is not the last one.
  __device__ static OfTile stretches_of_whole(unsigned tile) {
    return {.first = tile + tile / kApart * (kOfGroup - kApart), .apart = kApart};
  }
  /// Returns true if all of a tile's loads surely lie in the array. Two instructions tell; covers_all also tells of the
  /// tiles of the last group, of which this returns false.
  __device__ bool is_whole(unsigned tile) const { return tile - first_whole_ < whole_; }

  /// Returns true if all of a tile's loads lie in the array.
  __device__ bool covers_all(const OfTile& stretches) const {
    return Stretches::covers(stretches[0]) && Stretches::covers(stretches[kLoads - 1]);
  }

  /// Returns the first of the tiles with a stretch, or with neighbours of it.
  __device__ unsigned first_tile(unsigned stretch) const { return stretch / kOfGroup * kApart; }
  __device__ unsigned end_tile(unsigned stretch) const { return first_tile(stretch) + kApart; }

 private:
  static constexpr unsigned kOfGroup = kApart * kLoads;

  unsigned stretches_;
  unsigned first_whole_;  ///< the first of the tiles of which all loads lie in the array,
  unsigned whole_ = 0;    ///< and how many there are, but for those of the last group
};

/// A list of elements.
template <class ElementT, unsigned kThreads, unsigned kLoads = 4>
class ElementTiles : public Tiles<ElementT, kThreads, kLoads> {
 public:
  using Element = ElementT;

  using Tiles<Element, kThreads, kLoads>::Tiles;

  __device__ Element element(Element item, std::size_t /*place*/) const { return item; }
};

}  // namespace skyrank::kernels::cuda::topk
