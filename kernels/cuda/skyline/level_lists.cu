#include "kernels/cuda/skyline/level_lists.hpp"

#include "kernels/common/host_device.hpp"
#include "kernels/cuda/device/context.hpp"
#include "kernels/cuda/device/launch.cuh"
#include "kernels/cuda/device/select.cuh"

namespace skyrank::kernels::cuda::skyline {
namespace {

__global__ void __launch_bounds__(kMapThreads)
    mark_levels(std::int32_t* levels, const std::int64_t* rows, std::size_t count, std::int32_t level) {
  const std::size_t i = std::size_t{blockIdx.x} * kMapThreads + threadIdx.x;
  if (i < count) levels[rows[i]] = level;
}

/// Holds for rows that have a level.
struct HasLevel {
  const std::int32_t* levels;

  SKYRANK_HD bool operator()(std::size_t row) const { return levels[row] != 0; }
};

}  // namespace

DeviceArray no_levels(std::size_t n) {
  DeviceArray levels(n * sizeof(std::int32_t));
  if (n == 0) return levels;
  DeviceContext& device = DeviceContext::of_process();
  const Lease lease(device);
  SKYRANK_CUDA_CALL(cudaMemsetAsync(levels.data(), 0, levels.bytes(), device.stream()));
  return levels;
}

void set_levels(const DeviceArray& levels, std::size_t first, const DeviceArray& rows, std::size_t count,
                std::int32_t level) {
  if (count == 0) return;
  DeviceContext& device = DeviceContext::of_process();
  const Lease lease(device);
  launch("mark_levels", mark_levels, one_each(count), device.stream(),
         static_cast<std::int32_t*>(levels.data()) + first, static_cast<const std::int64_t*>(rows.data()), count,
         level);
}

LeveledRows rows_with_levels(const DeviceArray& levels, std::size_t n, std::size_t count) {
  LeveledRows listed{DeviceArray(count * sizeof(std::int64_t)), DeviceArray(count * sizeof(std::int32_t))};
  if (count == 0) return listed;
  DeviceContext& device = DeviceContext::of_process();
  const Lease lease(device);
  const auto* const there = static_cast<const std::int32_t*>(levels.data());
  const Selection with_level(HasLevel{there}, n, device);
  with_level.list(IdAt{}, static_cast<std::int64_t*>(listed.rows.data()));
  with_level.list(ItemAt<std::int32_t>{there}, static_cast<std::int32_t*>(listed.levels.data()));
  return listed;
}

}  // namespace skyrank::kernels::cuda::skyline
