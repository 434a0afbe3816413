#include "kernels/cuda/topk/keys.hpp"

#include <cstdint>

#include "kernels/cuda/device/launch.cuh"

namespace skyrank::kernels::cuda {
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

template <class Key>
void pack_into(const Packing& packing, std::size_t n, std::byte* packed, DeviceContext& device) {
  const std::size_t resident = 8 * static_cast<std::size_t>(device.properties().multiprocessors);
  launch("pack_keys", pack_keys<Key>, {.blocks = std::min(blocks_for(n, kThreads), resident), .threads = kThreads},
         device.stream(), packing, n, reinterpret_cast<Key*>(packed));
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
  Packing packing{};
  packing.rows = rows;
  for (const KeyColumn& column : columns) {
    packing.data[packing.count] = column.data;
    packing.widths[packing.count++] = column.width;
  }
  const KeyWidth width = total_bits(columns) <= 32 ? KeyWidth::bytes4 : KeyWidth::bytes8;
  auto packed = device.allocate<std::byte>(n * static_cast<std::size_t>(width));
  if (width == KeyWidth::bytes4)
    pack_into<std::uint32_t>(packing, n, packed.data(), device);
  else
    pack_into<std::uint64_t>(packing, n, packed.data(), device);
  const void* const data = packed.data();
  return {.data = data, .width = width, .owned = std::move(packed)};
}

}  // namespace skyrank::kernels::cuda
