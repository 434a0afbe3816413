#include "kernels/cuda/skyline/sort_rows.hpp"

#include <cub/device/device_radix_sort.cuh>
#include <utility>

#include "kernels/cuda/device/calls.hpp"

namespace skyrank::kernels::cuda::skyline {

template <class Key>
SortedRows<Key> sort_rows(Buffer<Key> keys, Buffer<std::uint32_t> rows, int bits, DeviceContext& device) {
  const auto count = static_cast<std::uint32_t>(rows.size());
  auto other_keys = device.allocate<Key>(count);
  auto other_rows = device.allocate<std::uint32_t>(count);
  cub::DoubleBuffer<Key> key_buffers(keys.data(), other_keys.data());
  cub::DoubleBuffer<std::uint32_t> row_buffers(rows.data(), other_rows.data());
  with_temporary(device, [&](void* temporary, std::size_t& bytes) {
    SKYRANK_CUDA_CALL(
        cub::DeviceRadixSort::SortPairs(temporary, bytes, key_buffers, row_buffers, count, 0, bits, device.stream()));
  });
  if (key_buffers.Current() != keys.data()) std::swap(keys, other_keys);
  if (row_buffers.Current() != rows.data()) std::swap(rows, other_rows);
  return {std::move(keys), std::move(rows)};
}

template SortedRows<std::uint32_t> sort_rows(Buffer<std::uint32_t>, Buffer<std::uint32_t>, int, DeviceContext&);
template SortedRows<std::uint64_t> sort_rows(Buffer<std::uint64_t>, Buffer<std::uint32_t>, int, DeviceContext&);

}  // namespace skyrank::kernels::cuda::skyline
