#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "kernels/cuda/device/context.hpp"

// CUB's algorithms of a whole device that several kernels need, compiled once. Sorts are stable, by bits [0, bits).
namespace skyrank::kernels::cuda {

/// Sorts `n` keys of 32, 64 or 128 bits into another array.
template <class Key>
void sort_keys(const Key* keys, Key* sorted, std::size_t n, DeviceContext& device, int bits = 8 * sizeof(Key));

/// Sorts `n` keys of 32 or 64 bits into another array, and the value beside each: 64 bits, or 32 where `n` has no more.
template <class Key, class Value>
void sort_pairs(const Key* keys, Key* sorted_keys, const Value* values, Value* sorted_values, std::size_t n,
                DeviceContext& device, int bits = 8 * sizeof(Key));

/// The same with memory of the caller's, in the order of a stream: sets `bytes` to what it needs where `temporary` is
/// null, and else sorts.
template <class Key, class Value>
void sort_pairs(void* temporary, std::size_t& bytes, const Key* keys, Key* sorted_keys, const Value* values,
                Value* sorted_values, std::size_t n, cudaStream_t stream, int bits);

/// Values in an array, and another array that a sort may move them to.
template <class T>
struct TwoArrays {
  T* current;
  T* other;
};

/// Sorts keys and values between their two arrays; which one holds them may change.
template <class Key>
void sort_pairs(TwoArrays<Key>& keys, TwoArrays<std::uint32_t>& values, std::uint32_t n, DeviceContext& device,
                int bits);

/// The same of arrays that have all the keys and values.
template <class Key>
void sort_pairs(Buffer<Key>& keys, Buffer<std::uint32_t>& values, DeviceContext& device, int bits) {
  auto other_keys = device.allocate<Key>(keys.size());
  auto other_values = device.allocate<std::uint32_t>(values.size());
  TwoArrays<Key> key_arrays{keys.data(), other_keys.data()};
  TwoArrays<std::uint32_t> value_arrays{values.data(), other_values.data()};
  sort_pairs(key_arrays, value_arrays, static_cast<std::uint32_t>(values.size()), device, bits);
  if (key_arrays.current != keys.data()) std::swap(keys, other_keys);
  if (value_arrays.current != values.data()) std::swap(values, other_values);
}

/// Replaces each value by the sum of those before it.
void exclusive_sum(std::uint64_t* values, std::size_t n, DeviceContext& device);

}  // namespace skyrank::kernels::cuda
