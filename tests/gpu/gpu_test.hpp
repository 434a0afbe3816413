#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string_view>

#include "kernels/cuda/device/device.hpp"

namespace skyrank::gpu_testing {

/// For tests that need a GPU. Without one they are skipped with the driver's message; where the environment says
/// SKYRANK_REQUIRE_GPU=1 they fail instead, so that a run that was meant to use a GPU cannot pass by not using it.
inline void require_gpu(const kernels::cuda::Devices& found) {
  if (!found.devices.empty()) return;
  const char* required = std::getenv("SKYRANK_REQUIRE_GPU");
  if (required != nullptr && std::string_view(required) == "1") {
    FAIL() << "SKYRANK_REQUIRE_GPU=1, but there is no GPU: " << found.reason;
  }
  GTEST_SKIP() << "no GPU: " << found.reason;
}

/// Base of the tests that need a GPU.
class GpuTest : public ::testing::Test {
 protected:
  void SetUp() override { require_gpu(found_); }

  const kernels::cuda::Devices& found() const { return found_; }

 private:
  const kernels::cuda::Devices found_ = kernels::cuda::find_devices();
};

}  // namespace skyrank::gpu_testing
