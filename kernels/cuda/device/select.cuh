#pragma once

#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include <cstddef>
#include <cstdint>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_select.cuh>

#include "kernels/common/host_device.hpp"
#include "kernels/cuda/device/calls.hpp"

// Compaction in order, for conditions that are cheap to ask twice: once for the size of the result, once for what is in
// it. A condition is a function of a place, in [0, n), that returns a std::uint32_t, 0 or 1.
namespace skyrank::kernels::cuda {

/// Holds for the places whose bit is `wanted`, 1 or 0.
struct BitIs {
  const std::uint32_t* words;
  std::uint32_t wanted = 1;

  SKYRANK_HD std::uint32_t operator()(std::size_t i) const { return (words[i / 32] >> i % 32 & 1u) == wanted ? 1 : 0; }
};

/// Returns how many places a condition holds for. Waits for the device.
template <class Condition>
std::size_t count_where(const Condition& condition, std::size_t n, DeviceContext& device) {
  const thrust::transform_iterator<Condition, thrust::counting_iterator<std::size_t>> holds(
      thrust::counting_iterator<std::size_t>(0), condition);
  const auto count = device.allocate<std::size_t>(1);
  with_temporary(device, [&](void* temporary, std::size_t& bytes) {
    SKYRANK_CUDA_CALL(
        cub::DeviceReduce::Sum(temporary, bytes, holds, count.data(), static_cast<std::int64_t>(n), device.stream()));
  });
  return value_at(count.data(), device);
}

/// Writes items[i] of each place that a condition holds for to `to`, in their order. `items` is an iterator.
template <class Condition, class Items, class T>
void list_where(const Condition& condition, std::size_t n, Items items, T* to, DeviceContext& device) {
  const thrust::transform_iterator<Condition, thrust::counting_iterator<std::size_t>> holds(
      thrust::counting_iterator<std::size_t>(0), condition);
  const auto count = device.allocate<std::size_t>(1);
  with_temporary(device, [&](void* temporary, std::size_t& bytes) {
    SKYRANK_CUDA_CALL(cub::DeviceSelect::Flagged(temporary, bytes, items, holds, to, count.data(),
                                                 static_cast<std::int64_t>(n), device.stream()));
  });
}

/// The places themselves, as items.
template <class T>
thrust::counting_iterator<T> places_from(std::size_t first) {
  return thrust::counting_iterator<T>(static_cast<T>(first));
}

}  // namespace skyrank::kernels::cuda
