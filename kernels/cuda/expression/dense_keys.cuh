#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/common/keys/key_recipe.hpp"
#include "kernels/cuda/device/kernel/block.cuh"
#include "kernels/cuda/device/map.cuh"
#include "kernels/cuda/expression/columns.hpp"

// Keys of all rows of a column without NULLs, whose values lie next to each other. A thread reads 16 bytes at a time in
// the values' own width: kernels that read a value at a time wait for memory, of narrow values up to ten times as long.
namespace skyrank::kernels::cuda::expression {

/// Values that a thread reads at once.
template <class T>
struct alignas(16) DenseWord {
  static constexpr unsigned kValues = 16 / sizeof(T);
  T values[kValues];
};

/// The range that blocks agree on.
struct SharedRange {
  unsigned long long lowest;
  unsigned long long highest;
  unsigned any_value;
  unsigned any_null;
};

/// Returns true if values can be read in words.
inline bool lies_dense(const StoredColumn& column, const DeviceRows& rows) {
  const bool has_width = column.stored != Stored::truth_bits && column.stored != Stored::truth_bytes;
  return has_width && rows.ids == nullptr && column.validity == nullptr &&
         reinterpret_cast<std::uintptr_t>(column.values) % alignof(DenseWord<std::uint8_t>) == 0;
}

/// Calls `word(i)` for each word of n values, and `value(i)` for each of the last ones that are no whole word.
template <class T, class Word, class Value>
__device__ void for_dense(std::size_t n, Word word, Value value) {
  constexpr unsigned kValues = DenseWord<T>::kValues;
  for_all(n / kValues, word);
  const std::size_t last = n - n % kValues + threadIdx.x;
  if (blockIdx.x == 0 && last < n) value(last);
}

template <class T>
__global__ void __launch_bounds__(kMapThreads)
    find_range_of_dense(const T* values, std::size_t n, bool with_sign, SharedRange* range) {
  const T sign = with_sign ? static_cast<T>(T{1} << (8 * sizeof(T) - 1)) : T{0};
  T lowest = static_cast<T>(~T{0});
  T highest = 0;
  const auto see = [&](T value) {
    const auto place = static_cast<T>(value ^ sign);
    lowest = place < lowest ? place : lowest;
    highest = place > highest ? place : highest;
  };
  for_dense<T>(
      n,
      [&](std::size_t i) {
        const DenseWord<T> word = reinterpret_cast<const DenseWord<T>*>(values)[i];
#pragma unroll
        for (unsigned item = 0; item < DenseWord<T>::kValues; ++item) see(word.values[item]);
      },
      [&](std::size_t i) { see(values[i]); });
  lowest = least_of_warp(lowest);
  highest = static_cast<T>(~least_of_warp(static_cast<T>(~highest)));
  if (threadIdx.x % kLanes != 0 || lowest > highest) return;
  const auto wide = [&](T value) -> unsigned long long {
    // In the order of 64 bits the sign lies above; what has none is as it is.
    return with_sign ? (std::uint64_t{1} << 63) - sign + value : value;
  };
  atomicMin(&range->lowest, wide(lowest));
  atomicMax(&range->highest, wide(highest));
  range->any_value = 1;
}

/// A recipe for integers or floating-point numbers whose keys are no wider than they are: then what a key has is made
/// of the values' own bits alone.
template <class T>
struct DenseRecipe {
  T flip;
  T base;
  T first;
  bool is_float;
  bool inverted;

  explicit DenseRecipe(const KeyRecipe& recipe)
      : flip(static_cast<T>(recipe.flip)),
        base(static_cast<T>(recipe.base)),
        first(static_cast<T>(recipe.first)),
        is_float(recipe.kind == KeyRecipe::Kind::number),
        inverted(recipe.inverted) {}

  __device__ T operator()(T bits) const {
    if constexpr (sizeof(T) > 1) {
      if (is_float) return static_cast<T>(first + float_key(bits, inverted));
    }
    return static_cast<T>(first + (bits ^ flip) - base);
  }
};

inline bool is_dense_recipe(const KeyRecipe& recipe) {
  return recipe.kind == KeyRecipe::Kind::integer || recipe.kind == KeyRecipe::Kind::number;
}

template <class T, class Key>
__global__ void __launch_bounds__(kMapThreads)
    encode_dense(const T* values, std::size_t n, DenseRecipe<T> recipe, Key* keys) {
  constexpr unsigned kValues = DenseWord<T>::kValues;
  struct alignas(sizeof(Key) * kValues) KeysOfWord {
    Key keys[kValues];
  };
  for_dense<T>(
      n,
      [&](std::size_t i) {
        const DenseWord<T> word = reinterpret_cast<const DenseWord<T>*>(values)[i];
        KeysOfWord made;
#pragma unroll
        for (unsigned item = 0; item < kValues; ++item) made.keys[item] = static_cast<Key>(recipe(word.values[item]));
        reinterpret_cast<KeysOfWord*>(keys)[i] = made;
      },
      [&](std::size_t i) { keys[i] = static_cast<Key>(recipe(values[i])); });
}

}  // namespace skyrank::kernels::cuda::expression
