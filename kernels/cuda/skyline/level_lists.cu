#include "kernels/cuda/skyline/level_lists.hpp"

#include "kernels/cuda/device/context.hpp"
#include "kernels/cuda/device/kernel/block.cuh"
#include "kernels/cuda/device/launch.cuh"
#include "kernels/cuda/skyline/ranks.cuh"

namespace skyrank::kernels::cuda::skyline {
namespace {

constexpr unsigned kThreads = 256;

__global__ void __launch_bounds__(kThreads)
    mark_levels(std::int32_t* levels, const std::int64_t* rows, std::size_t count, std::int32_t level) {
  const std::size_t i = std::size_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i < count) levels[rows[i]] = level;
}

/// A bit for each row: whether it has a level. Whole warps, so that the last word is written too.
__global__ void __launch_bounds__(kThreads)
    find_leveled(const std::int32_t* levels, std::uint32_t n, std::uint32_t* words) {
  const std::uint32_t row = blockIdx.x * kThreads + threadIdx.x;
  const unsigned word = __ballot_sync(kAllLanes, row < n && levels[row] != 0);
  if (row % kLanes == 0 && row < n) words[row / kLanes] = word;
}

__global__ void __launch_bounds__(kThreads)
    list_leveled(skyline::Ranks ranks, const std::int32_t* levels, std::uint32_t n, std::int64_t* rows,
                 std::int32_t* levels_of_rows) {
  const std::uint32_t row = blockIdx.x * kThreads + threadIdx.x;
  if (row >= n || !ranks.keeps(row)) return;
  const std::uint32_t place = ranks.of(row);
  rows[place] = row;
  levels_of_rows[place] = levels[row];
}

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
  launch("mark_levels", mark_levels, {.blocks = blocks_for(count, kThreads), .threads = kThreads}, device.stream(),
         static_cast<std::int32_t*>(levels.data()) + first, static_cast<const std::int64_t*>(rows.data()), count,
         level);
}

LeveledRows rows_with_levels(const DeviceArray& levels, std::size_t n, std::size_t count) {
  LeveledRows listed{DeviceArray(count * sizeof(std::int64_t)), DeviceArray(count * sizeof(std::int32_t))};
  if (count == 0) return listed;
  DeviceContext& device = DeviceContext::of_process();
  const Lease lease(device);
  const auto size = static_cast<std::uint32_t>(n);
  const auto* const there = static_cast<const std::int32_t*>(levels.data());
  const auto words = device.allocate<std::uint32_t>(skyline::words_for_ranks(n));
  const auto kept = device.allocate<std::uint32_t>(skyline::words_for_ranks(n));
  const auto before = device.allocate<std::uint32_t>(skyline::words_for_ranks(n));
  const auto sizes = device.allocate<std::uint32_t>(2);
  SKYRANK_CUDA_CALL(cudaMemcpyAsync(sizes.data(), &size, sizeof(size), cudaMemcpyHostToDevice, device.stream()));
  const Grid grid{.blocks = blocks_for(n, kThreads), .threads = kThreads};
  launch("find_leveled", find_leveled, grid, device.stream(), there, size, words.data());
  skyline::rank_bits({.words = words.data(), .zeros = false, .first = nullptr, .size = sizes.data()}, kept.data(),
                     before.data(), sizes.data() + 1, device);
  launch("list_leveled", list_leveled, grid, device.stream(), skyline::Ranks{kept.data(), before.data()}, there, size,
         static_cast<std::int64_t*>(listed.rows.data()), static_cast<std::int32_t*>(listed.levels.data()));
  return listed;
}

}  // namespace skyrank::kernels::cuda::skyline
