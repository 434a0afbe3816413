#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "kernels/cuda/device/kernel/shared.cuh"
#include "tests/emulator/support.hpp"

// Whole kernels, as the product writes them. With nvcc and a GPU these tests pass as well.
namespace skyrank::emulator {
namespace {

constexpr unsigned kAll = 0xffffffffU;

/// The sum over a block's threads, in thread 0.
__device__ unsigned long long block_sum(unsigned long long value) {
  __shared__ unsigned long long of_warps[32];
#pragma unroll
  for (unsigned distance = 16; distance > 0; distance /= 2) value += __shfl_down_sync(kAll, value, distance);
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = value;
  __syncthreads();
  if (threadIdx.x < 32) {
    value = threadIdx.x < blockDim.x / 32 ? of_warps[threadIdx.x] : 0;
    for (unsigned distance = 16; distance > 0; distance /= 2) value += __shfl_down_sync(kAll, value, distance);
  }
  return value;
}

__global__ void __launch_bounds__(256)
    sum_all(const std::uint32_t* __restrict__ values, std::size_t count, unsigned long long* total) {
  unsigned long long mine = 0;
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride) mine += values[i];
  const unsigned long long sum = block_sum(mine);
  if (threadIdx.x == 0) atomicAdd(total, sum);
}

TEST(Kernel, ReducesBlocks) {
  std::vector<std::uint32_t> values(10007);
  std::iota(values.begin(), values.end(), 4'000'000'000U);
  DeviceArray<std::uint32_t> in(values);
  DeviceArray<unsigned long long> total(std::vector{0ULL});
  launch(5, 256, sum_all, in.data(), values.size(), total.data());
  EXPECT_EQ(total.to_host()[0], std::accumulate(values.begin(), values.end(), 0ULL));
}

/// Keeps the values below the bound. Each warp takes room for its own at once.
__global__ void compact(const std::uint32_t* values, unsigned count, std::uint32_t bound, unsigned* kept,
                        std::uint32_t* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  const bool keep = i < count && values[i] < bound;
  const unsigned lane = threadIdx.x % 32;
  const unsigned keepers = __ballot_sync(kAll, keep);
  unsigned first = 0;
  if (lane == 0 && keepers != 0) first = atomicAdd(kept, static_cast<unsigned>(__popc(keepers)));
  first = __shfl_sync(kAll, first, 0);
  if (keep) out[first + __popc(keepers & ((1U << lane) - 1))] = values[i];
}

TEST(Kernel, CompactsByBallot) {
  constexpr unsigned kCount = 1000;
  std::vector<std::uint32_t> values(kCount);
  for (unsigned i = 0; i < kCount; ++i) values[i] = i * 7919 % kCount;
  DeviceArray<std::uint32_t> in(values);
  DeviceArray<unsigned> kept(std::vector{0U});
  DeviceArray<std::uint32_t> out(kCount);
  launch(4, 256, compact, in.data(), kCount, 300U, kept.data(), out.data());
  std::erase_if(values, [](std::uint32_t value) { return value >= 300; });
  EXPECT_EQ(kept.to_host()[0], values.size());
  std::vector<std::uint32_t> found = out.to_host();
  found.resize(values.size());
  std::ranges::sort(found);
  std::ranges::sort(values);
  EXPECT_EQ(found, values);
}

/// The block that ends last adds up what all blocks found.
__global__ void last_block_sums(unsigned* sums, unsigned* ended, unsigned* total) {
  __shared__ bool is_last;
  const int odd = __syncthreads_count(threadIdx.x % 2 == 1);
  if (threadIdx.x == 0) {
    sums[blockIdx.x] = static_cast<unsigned>(odd) * blockIdx.x;
    __threadfence();
    is_last = atomicAdd(ended, 1U) == gridDim.x - 1;
  }
  __syncthreads();
  if (is_last && threadIdx.x == 0) {
    *total = 0;
    for (unsigned i = 0; i < gridDim.x; ++i) *total += sums[i];
  }
}

TEST(Kernel, TheLastBlockFinishes) {
  DeviceArray<unsigned> sums(10);
  DeviceArray<unsigned> ended(std::vector{0U});
  DeviceArray<unsigned> total(1);
  launch(10, 64, last_block_sums, sums.data(), ended.data(), total.data());
  EXPECT_EQ(total.to_host()[0], 32U * 45);
}

/// A bitonic sort in dynamic shared memory, one element a thread.
template <class Key>
__global__ void sort_block(Key* keys) {
  Key* const shared = kernels::cuda::dynamic_shared<Key>();
  const unsigned i = threadIdx.x;
  shared[i] = keys[i];
  __syncthreads();
  for (unsigned run = 2; run <= blockDim.x; run *= 2) {
    for (unsigned stride = run / 2; stride > 0; stride /= 2) {
      const unsigned other = i ^ stride;
      if (other > i && (shared[i] > shared[other]) == ((i & run) == 0)) {
        const Key key = shared[i];
        shared[i] = shared[other];
        shared[other] = key;
      }
      __syncthreads();
    }
  }
  keys[i] = shared[i];
}

template <class Key>
void expect_sorted(unsigned threads) {
  std::vector<Key> keys(threads);
  for (unsigned i = 0; i < threads; ++i) keys[i] = static_cast<Key>(i * 7919 % threads);
  DeviceArray<Key> on_device(keys);
  const cudaLaunchConfig_t config = shape(1, threads, threads * sizeof(Key));
  ASSERT_EQ(cudaLaunchKernelEx(&config, sort_block<Key>, on_device.data()), cudaSuccess);
  std::ranges::sort(keys);
  EXPECT_EQ(on_device.to_host(), keys);
}

TEST(Kernel, SortsInDynamicSharedMemory) {
  expect_sorted<std::uint32_t>(1024);
  expect_sorted<std::uint64_t>(64);
}

}  // namespace
}  // namespace skyrank::emulator
