#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/cuda/topk/batched/batched.hpp"
#include "tests/kernels/cuda/device_copies.hpp"
#include "tests/kernels/problems.hpp"

namespace skyrank::kernels::tests {

/// Returns the offsets of `count` segments of `rows` rows each.
inline std::vector<std::size_t> equal_offsets(std::size_t count, std::size_t rows) {
  std::vector<std::size_t> offsets(count + 1);
  for (std::size_t i = 0; i <= count; ++i) offsets[i] = i * rows;
  return offsets;
}

template <class Key>
std::vector<Key> narrowed(const Values& values) {
  std::vector<Key> keys(values.size());
  std::ranges::transform(values, keys.begin(), [](std::uint64_t value) { return static_cast<Key>(value); });
  return keys;
}

/// The rows that a device finds for each segment, with the offsets given or, if all segments are as long as the first
/// (`equal`), not. Row ids are complemented where ties go to the last.
template <class E>
std::vector<RowId> least_on_device(const std::vector<typename E::Key>& keys, const std::vector<std::size_t>& offsets,
                                   bool equal, std::size_t k, typename E::Element complement) {
  cuda::DeviceContext device;
  const cuda::Lease lease(device);
  const auto there = on_device(keys, device);
  const auto bounds = on_device(offsets, device);
  const std::size_t count = offsets.size() - 1;
  const auto rows = device.allocate<RowId>(count * k);
  device.synchronize();
  cuda::topk::least_of_segments(E{there.data(), complement},
                                {.count = count, .rows = offsets[1], .offsets = equal ? nullptr : bounds.data()}, k,
                                rows.data(), device);
  return on_host(rows, device);
}

}  // namespace skyrank::kernels::tests
