#include <cstdint>
#include <vector>

#include "kernels/cuda/device/device.hpp"
#include "kernels/cuda/device/shared.cuh"
#include "tests/emulator/support.hpp"

// Whole kernels, as the product writes them.
namespace skyrank::emulator {
namespace {

using kernels::cuda::dynamic_shared;

TEST(Kernel, TheProductsOwnSelfCheckPasses) {
  const kernels::cuda::Devices found = kernels::cuda::find_devices();
  ASSERT_EQ(found.devices.size(), 1U);
  EXPECT_EQ(found.devices[0].name, "CUDA emulation on the CPU");
  EXPECT_EQ(found.devices[0].capability_major, 9);
  kernels::cuda::self_check(0);
}

}  // namespace
}  // namespace skyrank::emulator
