#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <numeric>
#include <vector>

#include "emulator/temporary_storage.hpp"

namespace cub {

/// Two arrays of which one holds the values; sorting may change which.
template <class T>
struct DoubleBuffer {
  T* d_buffers[2] = {nullptr, nullptr};
  int selector = 0;

  DoubleBuffer() = default;
  DoubleBuffer(T* current, T* alternate) : d_buffers{current, alternate} {}
  T* Current() { return d_buffers[selector]; }
  T* Alternate() { return d_buffers[selector ^ 1]; }
};

/// Stable sorts by bits [begin_bit, end_bit) of unsigned keys.
struct DeviceRadixSort {
  template <class Key, class Count>
  static cudaError_t SortKeys(void* storage, std::size_t& bytes, const Key* keys_in, Key* keys_out, Count count,
                              int begin_bit = 0, int end_bit = sizeof(Key) * 8, cudaStream_t /*stream*/ = nullptr) {
    return skyrank::emulator::with_temporary_storage(storage, bytes, kStorage, [&] {
      gather(order(keys_in, count, begin_bit, end_bit, std::less<>()), keys_in, keys_out);
    });
  }

  template <class Key, class Count>
  static cudaError_t SortKeysDescending(void* storage, std::size_t& bytes, const Key* keys_in, Key* keys_out,
                                        Count count, int begin_bit = 0, int end_bit = sizeof(Key) * 8,
                                        cudaStream_t /*stream*/ = nullptr) {
    return skyrank::emulator::with_temporary_storage(storage, bytes, kStorage, [&] {
      gather(order(keys_in, count, begin_bit, end_bit, std::greater<>()), keys_in, keys_out);
    });
  }

  template <class Key, class Value, class Count>
  static cudaError_t SortPairs(void* storage, std::size_t& bytes, const Key* keys_in, Key* keys_out,
                               const Value* values_in, Value* values_out, Count count, int begin_bit = 0,
                               int end_bit = sizeof(Key) * 8, cudaStream_t /*stream*/ = nullptr) {
    return skyrank::emulator::with_temporary_storage(storage, bytes, kStorage, [&] {
      const auto sorted = order(keys_in, count, begin_bit, end_bit, std::less<>());
      gather(sorted, keys_in, keys_out);
      gather(sorted, values_in, values_out);
    });
  }

  template <class Key, class Value, class Count>
  static cudaError_t SortPairsDescending(void* storage, std::size_t& bytes, const Key* keys_in, Key* keys_out,
                                         const Value* values_in, Value* values_out, Count count, int begin_bit = 0,
                                         int end_bit = sizeof(Key) * 8, cudaStream_t /*stream*/ = nullptr) {
    return skyrank::emulator::with_temporary_storage(storage, bytes, kStorage, [&] {
      const auto sorted = order(keys_in, count, begin_bit, end_bit, std::greater<>());
      gather(sorted, keys_in, keys_out);
      gather(sorted, values_in, values_out);
    });
  }

  template <class Key, class Count>
  static cudaError_t SortKeys(void* storage, std::size_t& bytes, DoubleBuffer<Key>& keys, Count count,
                              int begin_bit = 0, int end_bit = sizeof(Key) * 8, cudaStream_t stream = nullptr) {
    const cudaError_t status =
        SortKeys(storage, bytes, keys.Current(), keys.Alternate(), count, begin_bit, end_bit, stream);
    if (storage != nullptr && status == cudaSuccess) keys.selector ^= 1;
    return status;
  }

  template <class Key, class Value, class Count>
  static cudaError_t SortPairs(void* storage, std::size_t& bytes, DoubleBuffer<Key>& keys, DoubleBuffer<Value>& values,
                               Count count, int begin_bit = 0, int end_bit = sizeof(Key) * 8,
                               cudaStream_t stream = nullptr) {
    const cudaError_t status = SortPairs(storage, bytes, keys.Current(), keys.Alternate(), values.Current(),
                                         values.Alternate(), count, begin_bit, end_bit, stream);
    if (storage != nullptr && status == cudaSuccess) {
      keys.selector ^= 1;
      values.selector ^= 1;
    }
    return status;
  }

 private:
  static constexpr std::size_t kStorage = 256;

  /// The positions of the keys in their sorted order.
  template <class Key, class Count, class Before>
  static std::vector<std::size_t> order(const Key* keys, Count count, int begin_bit, int end_bit, Before before) {
    constexpr int kBits = sizeof(Key) * 8;
    static_assert(static_cast<Key>(-1) > static_cast<Key>(0), "keys are unsigned here");
    const auto digits = [=](std::size_t i) -> Key {
      if (begin_bit >= end_bit) return 0;
      const auto without_high_bits = static_cast<Key>(keys[i] << (kBits - end_bit));
      return static_cast<Key>(without_high_bits >> (kBits - end_bit + begin_bit));
    };
    std::vector<std::size_t> positions(static_cast<std::size_t>(count));
    std::iota(positions.begin(), positions.end(), std::size_t{0});
    std::stable_sort(positions.begin(), positions.end(),
                     [&](std::size_t a, std::size_t b) { return before(digits(a), digits(b)); });
    return positions;
  }

  template <class T>
  static void gather(const std::vector<std::size_t>& positions, const T* in, T* out) {
    std::ranges::transform(positions, out, [=](std::size_t i) { return in[i]; });
  }
};

}  // namespace cub
