#pragma once

#include <cstdint>

#include "kernels/cuda/device/context.hpp"

namespace skyrank::kernels::cuda::skyline {

/// Sorts `count` pairs by bits [0, bits) of the keys, stably. Returns the sorted keys and rows; the given arrays are
/// overwritten. `Key` is of 32 or 64 bits.
template <class Key>
struct SortedRows {
  Buffer<Key> keys;
  Buffer<std::uint32_t> rows;
};

template <class Key>
SortedRows<Key> sort_rows(Buffer<Key> keys, Buffer<std::uint32_t> rows, int bits, DeviceContext& device);

}  // namespace skyrank::kernels::cuda::skyline
