#include "kernels/cuda/device/device.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/cuda/runtime/failure.hpp"
#include "tests/gpu/gpu_test.hpp"

namespace skyrank::kernels::cuda {
namespace {

using Gpu = skyrank::gpu_testing::GpuTest;

TEST(FindDevices, GivesDevicesOrTheReasonWhyThereIsNone) {
  const Devices found = find_devices();
  EXPECT_EQ(found.devices.empty(), !found.reason.empty()) << found.reason;
}

TEST(FindDevices, IsTheSameWhenAskedAgain) {
  const Devices first = find_devices();
  const Devices second = find_devices();
  EXPECT_EQ(first.devices.size(), second.devices.size());
  EXPECT_EQ(first.reason, second.reason);
}

TEST(SelfCheck, OfADeviceThatDoesNotExistThrowsTheCallThePlaceAndTheReason) {
  constexpr int kNoSuchDevice = 1 << 20;
  try {
    self_check(kNoSuchDevice);
    FAIL() << "no Failure was thrown";
  } catch (const Failure& failure) {
    EXPECT_FALSE(failure.call().empty());
    EXPECT_FALSE(failure.reason().empty());
    EXPECT_THAT(failure.place(),
                ::testing::MatchesRegex("(.*/)?kernels/(cuda/device/[a-z_]+|no_cuda)\\.(cu|cpp|hpp):[0-9]+"));
    EXPECT_EQ(failure.what(), failure.call() + " at " + failure.place() + ": " + failure.reason());
  }
}

TEST_F(Gpu, DevicesAreDescribed) {
  EXPECT_GT(found().driver_version, 0);
  EXPECT_GE(found().driver_version / 1000, found().runtime_version / 1000)
      << "the driver is older than the build's CUDA";
  int ordinal = 0;
  for (const DeviceInfo& device : found().devices) {
    EXPECT_EQ(device.ordinal, ordinal++);
    EXPECT_FALSE(device.name.empty());
    EXPECT_GE(10 * device.capability_major + device.capability_minor, 75);
    EXPECT_GT(device.multiprocessors, 0);
    EXPECT_GT(device.memory_bytes, std::size_t{1} << 30);
  }
}

TEST_F(Gpu, EveryDeviceRunsAKernelOfThisBuild) {
  for (const DeviceInfo& device : found().devices) EXPECT_NO_THROW(self_check(device.ordinal)) << device.name;
}

TEST_F(Gpu, AFailedCallLeavesTheDeviceUsable) {
  EXPECT_THROW(self_check(-1), Failure);
  EXPECT_NO_THROW(self_check(0));
}

}  // namespace
}  // namespace skyrank::kernels::cuda
