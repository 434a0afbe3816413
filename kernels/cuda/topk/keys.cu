#include "kernels/cuda/topk/keys.hpp"

#include <cstdint>

#include "kernels/cuda/device/launch.cuh"

namespace skyrank::kernels::cuda::topk {
namespace {

constexpr unsigned kThreads = 256;

struct Packing {
  const void* data[kMaxPacked];
  KeyWidth widths[kMaxPacked];
  int count;
  const RowId* rows;  ///< to be packed; null: all
};

__device__ std::uint64_t key_at(const void* data, KeyWidth width, std::size_t row) {
  switch (width) {
    case KeyWidth::bytes1: return static_cast<const std::uint8_t*>(data)[row];
    case KeyWidth::bytes2: return static_cast<const std::uint16_t*>(data)[row];
    case KeyWidth::bytes4: return static_cast<const std::uint32_t*>(data)[row];
    case KeyWidth::bytes8: return static_cast<const std::uint64_t*>(data)[row];
  }
  return 0;
}

template <class Key>
__global__ void pack_keys(Packing packing, std::size_t n, Key* packed) {
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stride) {
    const std::size_t row = packing.rows != nullptr ? static_cast<std::size_t>(packing.rows[i]) : i;
    std::uint64_t key = 0;
    for (int c = 0; c < packing.count; ++c) {
      const int bits_of_column = 8 * static_cast<int>(packing.widths[c]);
      const std::uint64_t above = bits_of_column == 64 ? 0 : key << bits_of_column;
      key = above | key_at(packing.data[c], packing.widths[c], row);
    }
    packed[i] = static_cast<Key>(key);
  }
}

constexpr unsigned kAtOnce = 4;

template <class T>
struct alignas(kAtOnce * sizeof(T)) Four {
  T keys[kAtOnce];
};

/// Widens keys of 1 or 2 bytes, four at a time, which begin at a multiple of as many.
template <class Narrow>
__global__ void widen_keys(const Narrow* keys, std::size_t n, std::uint32_t* wide) {
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  const std::size_t fours = n / kAtOnce;
  const std::size_t first = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
#pragma unroll 4
  for (std::size_t i = first; i < fours; i += stride) {
    const Four<Narrow> narrow = reinterpret_cast<const Four<Narrow>*>(keys)[i];
    Four<std::uint32_t> widened;
#pragma unroll
    for (unsigned j = 0; j < kAtOnce; ++j) widened.keys[j] = narrow.keys[j];
    reinterpret_cast<Four<std::uint32_t>*>(wide)[i] = widened;
  }
  const std::size_t rest = fours * kAtOnce + first;
  if (rest < n) wide[rest] = keys[rest];
}

std::size_t resident_blocks_of(const DeviceContext& device) {
  return 8 * static_cast<std::size_t>(device.properties().multiprocessors);
}

/// Widens a column if it is one of narrow keys that can be read four at a time.
template <class Narrow>
bool widen_narrow(const KeyColumn& column, std::size_t n, std::byte* wide, DeviceContext& device) {
  const auto* const keys = column.as<Narrow>();
  const bool in_fours = reinterpret_cast<std::uintptr_t>(keys) % sizeof(Four<Narrow>) == 0;
  if (static_cast<std::size_t>(column.width) != sizeof(Narrow) || !in_fours) return false;
  const std::size_t blocks = std::min(blocks_for(n, kAtOnce * kThreads), resident_blocks_of(device));
  launch("widen_keys", widen_keys<Narrow>, {.blocks = blocks, .threads = kThreads}, device.stream(), keys, n,
         reinterpret_cast<std::uint32_t*>(wide));
  return true;
}

template <class Key>
void pack_into(const Packing& packing, std::size_t n, std::byte* packed, DeviceContext& device) {
  launch("pack_keys", pack_keys<Key>,
         {.blocks = std::min(blocks_for(n, kThreads), resident_blocks_of(device)), .threads = kThreads},
         device.stream(), packing, n, reinterpret_cast<Key*>(packed));
}

Packing packing_of(std::span<const KeyColumn> columns, const RowId* rows) {
  Packing packing{};
  packing.rows = rows;
  for (const KeyColumn& column : columns) {
    packing.data[packing.count] = column.data;
    packing.widths[packing.count++] = column.width;
  }
  return packing;
}

}  // namespace

int total_bits(std::span<const KeyWidth> widths) {
  int total = 0;
  for (const KeyWidth width : widths) total += bits(width);
  return total;
}

int total_bits(std::span<const KeyColumn> columns) {
  int total = 0;
  for (const KeyColumn& column : columns) total += bits(column.width);
  return total;
}

ResidentKeys pack(std::span<const KeyColumn> columns, std::size_t n, DeviceContext& device, const RowId* rows) {
  const bool as_it_is = rows == nullptr && columns.size() == 1 && bits(columns.front().width) >= 32;
  if (as_it_is) return {.data = columns.front().data, .width = columns.front().width, .owned = {}};
  const KeyWidth width = total_bits(columns) <= 32 ? KeyWidth::bytes4 : KeyWidth::bytes8;
  auto packed = device.allocate<std::byte>(n * static_cast<std::size_t>(width));
  const KeyColumn& only = columns.front();
  const bool alone = rows == nullptr && columns.size() == 1;
  const bool done = alone && (widen_narrow<std::uint8_t>(only, n, packed.data(), device) ||
                              widen_narrow<std::uint16_t>(only, n, packed.data(), device));
  if (!done) {
    const Packing packing = packing_of(columns, rows);
    if (width == KeyWidth::bytes4)
      pack_into<std::uint32_t>(packing, n, packed.data(), device);
    else
      pack_into<std::uint64_t>(packing, n, packed.data(), device);
  }
  const void* const data = packed.data();
  return {.data = data, .width = width, .owned = std::move(packed)};
}

}  // namespace skyrank::kernels::cuda::topk
