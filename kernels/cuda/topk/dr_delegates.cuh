#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/topk/element.cuh"

// Delegates: the `kBeta` least elements of each subrange, ascending, side by side (dr-topk-sc21,
// sections 4.3, 5.1, 5.3). Places that a short last subrange cannot fill hold kNoElement. An element holds its row and
// so its subrange.
namespace skyrank::kernels::cuda::topk::delegate {

inline constexpr unsigned kDelegateThreads = 256;
inline constexpr unsigned kDelegateWarps = kDelegateThreads / 32;

/// Keys of one 16-byte load.
template <class Key>
struct alignas(16) Chunk {
  static constexpr unsigned kKeys = 16 / sizeof(Key);
  Key keys[kKeys];
};

/// Whether rows that are a multiple of a chunk can be loaded as chunks.
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

/// Subranges of 2^9 rows or more: a warp each, lanes exchanging what they found by shuffles.
inline constexpr int kWarpExponent = 9;

template <int kBeta, class E>
__global__ void __launch_bounds__(kDelegateThreads)
    delegates_by_warps(E elements, std::size_t n, int exponent, std::size_t subranges, typename E::Element* delegates) {
  using Key = typename E::Key;
  constexpr int kLoads = 4;
  constexpr unsigned kKeys = Chunk<Key>::kKeys;
  const unsigned lane = threadIdx.x % 32;
  const std::size_t length = std::size_t{1} << exponent;
  const bool chunks = in_chunks(elements.keys);
  const std::size_t warps = std::size_t{gridDim.x} * kDelegateWarps;
  for (std::size_t subrange = std::size_t{blockIdx.x} * kDelegateWarps + threadIdx.x / 32; subrange < subranges;
       subrange += warps) {
    const std::size_t begin = subrange << exponent;
    Least<kBeta, typename E::Element> least;
    if (chunks && begin + length <= n) {
      const std::size_t end = begin + length;
      for (std::size_t row = begin + lane * kKeys; row < end; row += kLoads * 32 * kKeys) {
        Chunk<Key> loaded[kLoads];
#pragma unroll
        for (unsigned i = 0; i < kLoads; ++i) loaded[i] = load_chunk(elements.keys, row + i * 32 * kKeys);
#pragma unroll
        for (unsigned i = 0; i < kLoads; ++i) {
          for (unsigned j = 0; j < kKeys; ++j) {
            least.insert(elements.of(loaded[i].keys[j], row + i * 32 * kKeys + j));
          }
        }
      }
    } else {
      const std::size_t end = begin + length < n ? begin + length : n;
      for (std::size_t row = begin + lane; row < end; row += 32) least.insert(elements.at(row));
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

/// A key's place in a tile: one place in 128 bytes stays free, so that lanes meet in no bank.
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

template <int kBeta, class E>
__global__ void __launch_bounds__(kDelegateThreads)
    delegates_in_shared(E elements, std::size_t n, int exponent, std::size_t subranges,
                        typename E::Element* delegates) {
  using Key = typename E::Key;
  constexpr unsigned kPlaces = kTileKeys + kTileKeys / (128 / sizeof(Key));
  __shared__ Key tiles[kDelegateWarps][kPlaces];
  const unsigned lane = threadIdx.x % 32;
  Key* const tile = tiles[threadIdx.x / 32];
  const bool chunks = in_chunks(elements.keys);
  const unsigned length = 1u << exponent;
  const unsigned run = length < kLaneKeys ? length : kLaneKeys;  // keys of one subrange that one lane has
  const unsigned lanes = length / run;                           // that share a subrange
  const std::size_t step = std::size_t{gridDim.x} * kDelegateWarps * kTileKeys;
  for (std::size_t first = (std::size_t{blockIdx.x} * kDelegateWarps + threadIdx.x / 32) * kTileKeys; first < n;
       first += step) {
    load_tile(elements.keys, n, first, chunks, tile);
    __syncwarp();
    for (unsigned offset = 0; offset < kLaneKeys; offset += run) {
      const unsigned place = lane * kLaneKeys + offset;
      Least<kBeta, typename E::Element> least;
#pragma unroll 4
      for (unsigned i = place; i < place + run; ++i) {
        if (first + i < n) least.insert(elements.of(tile[padded<Key>(i)], first + i));
      }
      const std::size_t subrange = (first + place) >> exponent;
      for (unsigned i = 0; i < kBeta; ++i) {
        const auto delegate = least.take_least(lanes);
        if (subrange < subranges && i % lanes == lane % lanes) delegates[subrange * kBeta + i] = delegate;
      }
    }
    __syncwarp();
  }
}

}  // namespace skyrank::kernels::cuda::topk::delegate
