#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/common/keys.hpp"
#include "kernels/common/keys/with_key.hpp"
#include "kernels/common/stored.hpp"
#include "kernels/cuda/device/kernel/load_once.cuh"
#include "kernels/cuda/groups/contenders.hpp"

// Keys as a kernel reads them: several neighbouring ones at a time, with loads of up to 16 bytes, so that a thread
// waits for many rows at once.
namespace skyrank::kernels::cuda::groups {

inline constexpr unsigned kRowsOfLoad = 4;

/// The values of neighbouring rows.
template <class T>
struct alignas(sizeof(T) * kRowsOfLoad > 16 ? 16 : sizeof(T) * kRowsOfLoad) Neighbours {
  T values[kRowsOfLoad];
};

/// Makes keys of the width of the values that they are read from.
template <class T>
struct KeyReader {
  const T* values;
  T flip;
  T base;
  bool is_float;
  bool high;

  explicit KeyReader(const ReadKeys& keys)
      : values(keys.column.as<T>()),
        flip(static_cast<T>(keys.flip)),
        base(static_cast<T>(keys.base)),
        is_float(keys.is_float),
        high(keys.high) {}

  __device__ T key(T value) const {
    if constexpr (sizeof(T) > 1) {
      if (is_float) return float_key(value, high);
    }
    return static_cast<T>(static_cast<T>(value ^ flip) - base);
  }

  __device__ T at(std::size_t place) const { return key(values[place]); }

  /// The values from `place` on, a multiple of kRowsOfLoad; those of rows that are there, in the last load.
  __device__ Neighbours<T> load(std::size_t place, std::size_t n) const {
    if (place + kRowsOfLoad <= n) return load_all(values + place);
    Neighbours<T> some{};
#pragma unroll
    for (unsigned i = 0; i < kRowsOfLoad; ++i) {
      if (place + i < n) some.values[i] = values[place + i];
    }
    return some;
  }

 private:
  struct Long {
    uint4 first;
    uint4 second;
  };

  __device__ static Neighbours<T> load_all(const T* from) {
    using All = Neighbours<T>;
    if constexpr (sizeof(All) == sizeof(unsigned)) {
      return with_bits_of<All>(*reinterpret_cast<const unsigned*>(from));
    } else if constexpr (sizeof(All) == sizeof(uint2)) {
      return with_bits_of<All>(load_once(reinterpret_cast<const uint2*>(from)));
    } else if constexpr (sizeof(All) == sizeof(uint4)) {
      return with_bits_of<All>(load_once(reinterpret_cast<const uint4*>(from)));
    } else {
      const auto* const halves = reinterpret_cast<const uint4*>(from);
      return with_bits_of<All>(Long{load_once(halves), load_once(halves + 1)});
    }
  }
};

/// Calls f with a reader of codes and one of keys.
template <class F>
void with_readers(const ReadKeys& codes, const ReadKeys& keys, const F& f) {
  with_key(codes.column.width, [&]<class Code>(Code) {
    with_key(keys.column.width, [&]<class Key>(Key) { f(KeyReader<Code>(codes), KeyReader<Key>(keys)); });
  });
}

}  // namespace skyrank::kernels::cuda::groups
