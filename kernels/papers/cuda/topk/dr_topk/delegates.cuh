#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/topk/block/element.cuh"

// Delegates: the `kBeta` least elements of each subrange, ascending, side by side (Gaihre et al., SC 2021, sections
// 4.3, 5.1, 5.3). Places that a short last subrange cannot fill hold kNoElement. An element holds its row and so its
// subrange.
namespace skyrank::kernels::cuda::topk::delegate {

inline constexpr unsigned kDelegateThreads = 256;
inline constexpr unsigned kDelegateWarps = kDelegateThreads / 32;

/// Keys of one 16-byte load.
template <class Key>
struct alignas(16) Chunk {
  static constexpr unsigned kKeys = 16 / sizeof(Key);
  Key keys[kKeys];
};

/// Returns true if rows that are a multiple of a chunk can be loaded as chunks.
template <class Key>
__device__ bool in_chunks(const Key* keys) {
  return reinterpret_cast<std::uintptr_t>(keys) % sizeof(Chunk<Key>) == 0;
}

template <class Key>
__device__ Chunk<Key> load_chunk(const Key* keys, std::size_t row) {
  return *reinterpret_cast<const Chunk<Key>*>(keys + row);
}

__device__ inline std::uint64_t exchange(std::uint64_t element, unsigned distance) {
  return __shfl_xor_sync(0xffffffffu, element, static_cast<int>(distance));
}

__device__ inline Uint128 exchange(Uint128 element, unsigned distance) {
  const std::uint64_t high = exchange(static_cast<std::uint64_t>(element >> 64), distance);
  const std::uint64_t low = exchange(static_cast<std::uint64_t>(element), distance);
  return static_cast<Uint128>(high) << 64 | low;
}

/// The least of the elements that a thread has seen, ascending.
template <int kBeta, class Element>
struct Least {
  Element elements[kBeta];

  __device__ Least() {
    for (int i = 0; i < kBeta; ++i) elements[i] = kNoElement<Element>;
  }

  __device__ void insert(Element element) {
    for (int i = 0; i < kBeta; ++i) {
      const bool before = element < elements[i];
      const Element next = before ? elements[i] : element;
      elements[i] = before ? element : elements[i];
      element = next;
    }
  }

  /// Takes out the least element that `lanes`, a power of two, neighbours have, and gives it to all of them. Called by
  /// the whole warp.
  __device__ Element take_least(unsigned lanes) {
    Element least = elements[0];
    for (unsigned distance = lanes / 2; distance > 0; distance /= 2) {
      const Element other = exchange(least, distance);
      least = other < least ? other : least;
    }
    if (elements[0] == least) {
      for (int i = 0; i + 1 < kBeta; ++i) elements[i] = elements[i + 1];
      elements[kBeta - 1] = kNoElement<Element>;
    }
    return least;
  }
};

/// The same from keys and their places in a subrange, which takes a third fewer instructions: of 64 integer operations
/// a cycle and multiprocessor, reading 4-byte keys at the memory's speed leaves 13 for a key. Of equal keys the one
/// that comes later goes before, so rows come in descending order where ties go to the lowest, else in ascending order.
template <int kBeta, class Key>
struct LeastKeys {
  static constexpr unsigned kNoPlace = 0xffffffffu;

  Key keys[kBeta];
  unsigned places[kBeta];

  __device__ LeastKeys() {
    for (int i = 0; i < kBeta; ++i) {
      keys[i] = static_cast<Key>(~Key{0});
      places[i] = kNoPlace;
    }
  }

  __device__ void insert(Key key, unsigned place) {
    for (int i = 0; i < kBeta; ++i) {
      const bool before = key <= keys[i];
      const Key next_key = before ? keys[i] : key;
      const unsigned next_place = before ? places[i] : place;
      keys[i] = before ? key : keys[i];
      places[i] = before ? place : places[i];
      key = next_key;
      place = next_place;
    }
  }

  /// `first` is the subrange's first row.
  template <class E>
  __device__ Least<kBeta, typename E::Element> of(const E& elements, std::size_t first) const {
    Least<kBeta, typename E::Element> least;
    for (int i = 0; i < kBeta; ++i) {
      if (places[i] != kNoPlace) least.elements[i] = elements.of(keys[i], first + places[i]);
    }
    return least;
  }
};

/// Subranges of 2^9 rows or more: a warp each, lanes exchanging what they found by shuffles. Shorter ones likewise if
/// that is asked for, with a load of one key a lane and idle lanes below 2^5 rows (section 5.1).
inline constexpr int kWarpExponent = 9;

/// Returns the least keys that a lane finds in a subrange, of which the warp loads 32 chunks at a time.
template <bool kDescending, int kBeta, class Key>
__device__ LeastKeys<kBeta, Key> scan_chunks(const Key* keys, unsigned length) {
  constexpr unsigned kLoads = 4;
  constexpr unsigned kKeys = Chunk<Key>::kKeys;
  constexpr unsigned kStep = 32 * kKeys;
  const unsigned lane = threadIdx.x % 32;
  LeastKeys<kBeta, Key> least;
  for (unsigned done = 0; done < length; done += kLoads * kStep) {
    Chunk<Key> loaded[kLoads];
    unsigned places[kLoads];
#pragma unroll
    for (unsigned i = 0; i < kLoads; ++i) {
      const unsigned step = done + i * kStep;
      places[i] = (kDescending ? length - kStep - step : step) + lane * kKeys;
      loaded[i] = load_chunk(keys, places[i]);
    }
#pragma unroll
    for (unsigned i = 0; i < kLoads; ++i) {
#pragma unroll
      for (unsigned j = 0; j < kKeys; ++j) {
        const unsigned in_chunk = kDescending ? kKeys - 1 - j : j;
        least.insert(loaded[i].keys[in_chunk], places[i] + in_chunk);
      }
    }
  }
  return least;
}

template <int kBeta, class E>
__global__ void __launch_bounds__(kDelegateThreads)
    delegates_by_warps(E elements, std::size_t n, int exponent, std::size_t subranges, typename E::Element* delegates) {
  using Key = typename E::Key;
  const unsigned lane = threadIdx.x % 32;
  const unsigned length = 1u << exponent;
  const bool chunks = in_chunks(elements.keys);
  const std::size_t warps = std::size_t{gridDim.x} * kDelegateWarps;
  for (std::size_t subrange = std::size_t{blockIdx.x} * kDelegateWarps + threadIdx.x / 32; subrange < subranges;
       subrange += warps) {
    const std::size_t begin = subrange << exponent;
    const Key* const keys = elements.keys + begin;
    Least<kBeta, typename E::Element> least;
    if (!chunks || begin + length > n || exponent < kWarpExponent) {
      const std::size_t end = begin + length < n ? begin + length : n;
      for (std::size_t row = begin + lane; row < end; row += 32) least.insert(elements.at(row));
    } else if (elements.complement == 0) {
      least = scan_chunks<true, kBeta>(keys, length).of(elements, begin);
    } else {
      least = scan_chunks<false, kBeta>(keys, length).of(elements, begin);
    }
    for (unsigned i = 0; i < kBeta; ++i) {
      const auto delegate = least.take_least(32);
      if (lane == i) delegates[subrange * kBeta + i] = delegate;
    }
  }
}

/// Shorter subranges: a warp loads a tile of rows into shared memory, lanes side by side, and then each lane scans keys
/// in a row, so that few lanes (one, up to 2^4 rows) have to exchange what they found.
inline constexpr unsigned kLaneKeys = 16;
inline constexpr unsigned kTileKeys = 32 * kLaneKeys;

/// A key's place in a tile: one place in 128 bytes stays free, so that lanes meet in no bank. A lane's keys stay in a
/// row.
template <class Key>
__device__ unsigned padded(unsigned place) {
  constexpr unsigned kEvery = 128 / sizeof(Key);
  return place + place / kEvery;
}

/// Loads the keys of a tile that starts at `first`; those of rows from n on stay as they are.
template <class Key>
__device__ void load_tile(const Key* keys, std::size_t n, std::size_t first, bool chunks, Key* tile) {
  constexpr unsigned kKeys = Chunk<Key>::kKeys;
  constexpr unsigned kLoads = kLaneKeys / kKeys;
  const unsigned lane = threadIdx.x % 32;
  if (chunks && first + kTileKeys <= n) {
    Chunk<Key> loaded[kLoads];
#pragma unroll
    for (unsigned i = 0; i < kLoads; ++i) loaded[i] = load_chunk(keys, first + (i * 32 + lane) * kKeys);
#pragma unroll
    for (unsigned i = 0; i < kLoads; ++i) {
      for (unsigned j = 0; j < kKeys; ++j) tile[padded<Key>((i * 32 + lane) * kKeys + j)] = loaded[i].keys[j];
    }
  } else {
    for (unsigned place = lane; place < kTileKeys && first + place < n; place += 32) {
      tile[padded<Key>(place)] = keys[first + place];
    }
  }
}

/// Returns the least keys that a lane finds among `kRun` keys in a row.
template <bool kDescending, int kBeta, unsigned kRun, class Key>
__device__ LeastKeys<kBeta, Key> scan_run(const Key* keys) {
  LeastKeys<kBeta, Key> least;
#pragma unroll
  for (unsigned j = 0; j < kRun; ++j) {
    const unsigned place = kDescending ? kRun - 1 - j : j;
    least.insert(keys[place], place);
  }
  return least;
}

/// A tile whose subranges have `kRun` rows or, where that is all that a lane has, more.
template <int kBeta, unsigned kRun, class E>
__device__ void delegates_of_tile(const E& elements, std::size_t n, int exponent, std::size_t first,
                                  const typename E::Key* tile, typename E::Element* delegates) {
  const unsigned lane = threadIdx.x % 32;
  const unsigned lanes = kRun < kLaneKeys ? 1 : (1u << exponent) / kRun;  // that share a subrange
  for (unsigned offset = 0; offset < kLaneKeys; offset += kRun) {
    const unsigned place = lane * kLaneKeys + offset;
    const std::size_t row = first + place;
    const typename E::Key* const keys = tile + padded<typename E::Key>(place);
    Least<kBeta, typename E::Element> least;
    if (first + kTileKeys > n) {
      for (unsigned i = 0; i < kRun && row + i < n; ++i) least.insert(elements.of(keys[i], row + i));
    } else if (elements.complement == 0) {
      least = scan_run<true, kBeta, kRun>(keys).of(elements, row);
    } else {
      least = scan_run<false, kBeta, kRun>(keys).of(elements, row);
    }
    const std::size_t subrange = row >> exponent;
    for (unsigned i = 0; i < kBeta; ++i) {
      const auto delegate = least.take_least(lanes);
      if (subrange << exponent < n && i % lanes == lane % lanes) delegates[subrange * kBeta + i] = delegate;
    }
  }
}

template <int kBeta, class E>
__global__ void __launch_bounds__(kDelegateThreads)
    delegates_in_shared(E elements, std::size_t n, int exponent, std::size_t /*subranges*/,
                        typename E::Element* delegates) {
  using Key = typename E::Key;
  constexpr unsigned kPlaces = kTileKeys + kTileKeys / (128 / sizeof(Key));
  __shared__ Key tiles[kDelegateWarps][kPlaces];
  Key* const tile = tiles[threadIdx.x / 32];
  const bool chunks = in_chunks(elements.keys);
  const std::size_t step = std::size_t{gridDim.x} * kDelegateWarps * kTileKeys;
  for (std::size_t first = (std::size_t{blockIdx.x} * kDelegateWarps + threadIdx.x / 32) * kTileKeys; first < n;
       first += step) {
    load_tile(elements.keys, n, first, chunks, tile);
    __syncwarp();
    if (exponent == 2) {
      delegates_of_tile<kBeta, 4>(elements, n, exponent, first, tile, delegates);
    } else if (exponent == 3) {
      delegates_of_tile<kBeta, 8>(elements, n, exponent, first, tile, delegates);
    } else {
      delegates_of_tile<kBeta, 16>(elements, n, exponent, first, tile, delegates);
    }
    __syncwarp();
  }
}

}  // namespace skyrank::kernels::cuda::topk::delegate
