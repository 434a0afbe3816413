#include <chrono>
#include <numeric>
#include <vector>

#include "kernels/cuda/device/device.hpp"
#include "tests/emulator/poison.hpp"
#include "tests/emulator/support.hpp"

// Tests the emulator's choices where CUDA leaves behaviour open.
namespace skyrank::emulator {
namespace {

constexpr unsigned kAll = 0xffffffffU;

__global__ void outside_source(unsigned* out) {
  if (threadIdx.x < 4) out[threadIdx.x] = __shfl_sync(0xfU, threadIdx.x, 9);
}

TEST(Shuffle, FromALaneOutsideTheMaskGivesPoison) {
  EXPECT_EQ(run_block(32, outside_source)[0], static_cast<unsigned>(kPoisonWord));
}

__global__ void active(unsigned* out) { out[threadIdx.x] = __activemask(); }

TEST(ActiveMask, IsTheCallingLane) {
  const std::vector<unsigned> masks = run_block(32, active);
  for (unsigned lane = 0; lane < 32; ++lane) EXPECT_EQ(masks[lane], 1U << lane);
}

__global__ void write_without_barrier(unsigned* out) {
  __shared__ unsigned values[64];
  values[threadIdx.x] = 0;
  __syncthreads();
  // A reader that runs before the writer does not see what it wrote.
  values[threadIdx.x] = 1;
  out[threadIdx.x] = values[63 - threadIdx.x];
}

TEST(Order, AMissingBarrierShows) {
  const std::vector<unsigned> seen = run_block(64, write_without_barrier);
  EXPECT_EQ(std::accumulate(seen.begin(), seen.end(), 0U), 32U);
}

__global__ void many_shuffles(unsigned* out) {
  unsigned value = threadIdx.x;
  for (int i = 0; i < 100; ++i) value += __shfl_xor_sync(kAll, value, 1 << (i % 5));
  out[threadIdx.x] = value;
}

TEST(Speed, AHundredShufflesOfABlockTakeLittleTime) {
  run_block(256, many_shuffles);  // makes the threads
  const auto start = std::chrono::steady_clock::now();
  run_block(256, many_shuffles);
  const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - start;
  EXPECT_LT(taken.count(), 200);  // one or two on a quiet machine, without sanitizers
}

TEST(Kernel, TheProductsOwnSelfCheckPasses) {
  const kernels::cuda::Devices found = kernels::cuda::find_devices();
  ASSERT_EQ(found.devices.size(), 1U);
  EXPECT_EQ(found.devices[0].name, "CUDA emulation on the CPU");
  EXPECT_EQ(found.devices[0].capability_major, 9);
  EXPECT_NO_THROW(kernels::cuda::self_check(0));
}

}  // namespace
}  // namespace skyrank::emulator
