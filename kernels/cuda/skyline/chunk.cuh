#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "kernels/common/host_device.hpp"
#include "kernels/cuda/skyline/solve.cuh"

// Rows of keys side by side, padded with zeros to whole chunks of 16 bytes.
namespace skyrank::kernels::cuda::skyline {

template <class Key>
inline constexpr int kChunkKeys = 16 / static_cast<int>(sizeof(Key));

/// Keys from one row to the next.
template <class Key>
SKYRANK_HD constexpr int padded_dims(int d) {
  return (d + kChunkKeys<Key> - 1) / kChunkKeys<Key> * kChunkKeys<Key>;
}

template <class Key>
struct Chunk {
  Key keys[kChunkKeys<Key>];
};

template <class Key>
__device__ Chunk<Key> load_chunk(const Key* keys) {
  const uint4 loaded = __ldg(reinterpret_cast<const uint4*>(keys));
  Chunk<Key> chunk;
  __builtin_memcpy(&chunk, &loaded, sizeof(loaded));
  return chunk;
}

template <class Key>
__device__ void store_chunk(Key* keys, const Chunk<Key>& chunk) {
  uint4 stored;
  __builtin_memcpy(&stored, &chunk, sizeof(stored));
  *reinterpret_cast<uint4*>(keys) = stored;
}

/// Copies a row of a table, padded, and calls visit(c, key) for each of its keys.
template <class Key, class Visit>
__device__ void copy_row(const KeyTable<Key>& table, std::uint32_t row, Key* to, const Visit& visit) {
  for (int first = 0; first < table.d; first += kChunkKeys<Key>) {
    Chunk<Key> chunk = {};
#pragma unroll
    for (int own = 0; own < kChunkKeys<Key>; ++own) {
      const int c = first + own;
      if (c >= table.d) break;
      chunk.keys[own] = table.columns[c][row];
      visit(c, chunk.keys[own]);
    }
    store_chunk(to + first, chunk);
  }
}

/// A thread's own row for dominance tests: in registers where its length in keys is known to the compiler, else (0)
/// read again for each test.
template <class Key, int kDims>
class OwnRow {
 public:
  __device__ void load(const Key* row, int /*dims*/) {
#pragma unroll
    for (int c = 0; c < kDims; c += kChunkKeys<Key>) chunks_[c / kChunkKeys<Key>] = load_chunk(row + c);
  }
  __device__ int dims() const { return kDims; }
  __device__ Chunk<Key> chunk(int c) const { return chunks_[c / kChunkKeys<Key>]; }

 private:
  Chunk<Key> chunks_[kDims / kChunkKeys<Key>] = {};
};

template <class Key>
class OwnRow<Key, 0> {
 public:
  __device__ void load(const Key* row, int dims) {
    row_ = row;
    dims_ = dims;
  }
  __device__ int dims() const { return dims_; }
  __device__ Chunk<Key> chunk(int c) const { return load_chunk(row_ + c); }

 private:
  const Key* row_ = nullptr;
  int dims_ = 0;
};

/// Returns true if `other` is at least as good as the thread's own row in all keys: for rows that are known to differ,
/// dominance (Bøgh, Chester, Assent, PVLDB 2015, Definition 1, right half).
template <class Key, int kDims>
__device__ bool at_least_as_good(const Key* other, const OwnRow<Key, kDims>& own) {
#pragma unroll
  for (int c = 0; c < own.dims(); c += kChunkKeys<Key>) {
    const Chunk<Key> its = load_chunk(other + c);
    const Chunk<Key> mine = own.chunk(c);
    bool worse = false;
#pragma unroll
    for (int i = 0; i < kChunkKeys<Key>; ++i) worse |= its.keys[i] > mine.keys[i];
    if (worse) return false;
  }
  return true;
}

/// Returns true if the two rows differ.
template <class Key, int kDims>
__device__ bool differs(const Key* other, const OwnRow<Key, kDims>& own) {
  bool any = false;
#pragma unroll
  for (int c = 0; c < own.dims(); c += kChunkKeys<Key>) {
    const Chunk<Key> its = load_chunk(other + c);
    const Chunk<Key> mine = own.chunk(c);
#pragma unroll
    for (int i = 0; i < kChunkKeys<Key>; ++i) any |= its.keys[i] != mine.keys[i];
  }
  return any;
}

}  // namespace skyrank::kernels::cuda::skyline
