#include "kernels/cuda/values/upload.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include "kernels/common/problem.hpp"
#include "kernels/common/transfers.hpp"
#include "kernels/cuda/device/array.hpp"
#include "kernels/cuda/device/context.hpp"
#include "kernels/cuda/runtime/scope.hpp"
#include "tests/gpu/gpu_test.hpp"

namespace skyrank::kernels::cuda {
namespace {

using UploadOnGpu = skyrank::gpu_testing::GpuTest;

std::vector<std::uint32_t> some_values(std::size_t count) {
  std::vector<std::uint32_t> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<std::uint32_t>(i * 2654435761u);
  return values;
}

std::vector<std::uint32_t> back(const std::shared_ptr<void>& there, std::size_t count) {
  std::vector<std::uint32_t> values(count);
  read_array(values.data(), there.get(), count * sizeof(std::uint32_t));
  return values;
}

TEST_F(UploadOnGpu, PageableMemoryIsStagedByAnyNumberOfThreads) {
  for (const std::size_t count : {std::size_t{1}, std::size_t{1} << 19, (std::size_t{5} << 20) + 77}) {
    const std::vector<std::uint32_t> values = some_values(count);
    for (const int threads : {1, 2, 5}) {
      const DeviceScope on_device({.copy_threads = threads});
      TransferTally tally;
      const TallyScope tallied(&tally);
      const auto there = upload({values.data(), 4, 4, count}, {});
      EXPECT_EQ(tally.bytes().to_device, 4 * count);
      EXPECT_EQ(back(there, count), values) << count << " by " << threads;
    }
  }
}

TEST_F(UploadOnGpu, ValuesApartFromEachOtherArePacked) {
  constexpr std::size_t kCount = 3'000'001;
  const std::vector<std::uint32_t> values = some_values(2 * kCount);
  const DeviceScope on_device({.copy_threads = 3});
  const auto there = upload({values.data() + 1, 4, 8, kCount}, {});
  const std::vector<std::uint32_t> packed = back(there, kCount);
  for (std::size_t i = 0; i < kCount; ++i) ASSERT_EQ(packed[i], values[2 * i + 1]) << i;
}

TEST_F(UploadOnGpu, PinnedMemoryIsReadInPlace) {
  constexpr std::size_t kCount = (std::size_t{17} << 20) + 5;  // more than one piece
  void* pinned = nullptr;
  ASSERT_EQ(cudaMallocHost(&pinned, 4 * kCount), cudaSuccess);
  const std::vector<std::uint32_t> values = some_values(kCount);
  std::memcpy(pinned, values.data(), 4 * kCount);
  const auto there = upload({pinned, 4, 4, kCount}, {});
  EXPECT_TRUE(back(there, kCount) == values);
  EXPECT_EQ(cudaFreeHost(pinned), cudaSuccess);
}

TEST_F(UploadOnGpu, SeveralAtATimeDoNotDisturbEachOther) {
  constexpr std::size_t kCount = (std::size_t{1} << 20) + 3;
  std::vector<std::thread> threads;
  for (std::uint32_t caller = 0; caller < 4; ++caller) {
    threads.emplace_back([caller] {
      std::vector<std::uint32_t> values = some_values(kCount + caller);
      for (int round = 0; round < 3; ++round) {
        const DeviceScope on_device({.copy_threads = 1 + round});
        values.back() = caller;
        EXPECT_TRUE(back(upload({values.data(), 4, 4, values.size()}, {}), values.size()) == values);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(UploadOnGpu, AStopAndALimitEndIt) {
  const std::vector<std::uint32_t> values = some_values(std::size_t{1} << 20);
  const HostValues all{values.data(), 4, 4, values.size()};
  std::stop_source stop;
  stop.request_stop();
  EXPECT_THROW(upload(all, stop.get_token()), Cancelled);
  const DeviceScope on_device({.memory_limit = std::size_t{1} << 20});
  try {
    upload(all, {});
    ADD_FAILURE() << "no error";
  } catch (const OutOfMemory& failure) {
    EXPECT_THAT(failure.what(), testing::HasSubstr("the limit of 1048576 bytes of device memory is reached"));
  }
}

// Each device has its own context, memory and threads.
TEST_F(UploadOnGpu, EachDeviceHasItsOwnMemory) {
  if (found().devices.size() < 2) GTEST_SKIP() << "one GPU only";
  const std::vector<std::uint32_t> values = some_values(std::size_t{3} << 20);
  for (const int ordinal : {0, 1, 0}) {
    const DeviceScope on_device({.ordinal = ordinal, .copy_threads = 2});
    EXPECT_EQ(DeviceContext::of_process().ordinal(), ordinal);
    const auto there = upload({values.data(), 4, 4, values.size()}, {});
    EXPECT_TRUE(back(there, values.size()) == values);
    cudaPointerAttributes attributes{};
    ASSERT_EQ(cudaPointerGetAttributes(&attributes, there.get()), cudaSuccess);
    EXPECT_EQ(attributes.device, ordinal);
    // Memory may end on a thread that has selected another device.
    const DeviceScope elsewhere({.ordinal = 1 - ordinal});
    const DeviceArray array(values.data(), 400);
  }
}

}  // namespace
}  // namespace skyrank::kernels::cuda
