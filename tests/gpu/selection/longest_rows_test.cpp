#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "kernels/cuda/device/context.hpp"
#include "kernels/cuda/runtime/check.hpp"
#include "kernels/cuda/select/select.hpp"
#include "tests/gpu/gpu_test.hpp"
#include "tests/kernels/cuda/device_copies.hpp"

// Rows whose columns need more than 32 bits. They have too many bytes for the emulator.
namespace skyrank::kernels::cuda {
namespace {

using LongestRowsOnGpu = skyrank::gpu_testing::GpuTest;

constexpr std::int64_t kColumns = (std::int64_t{1} << 32) + 5'000'003;
constexpr std::uint8_t kUsual = 100;

/// Returns the columns of the k least or greatest of kColumns bytes, which are kUsual but for some.
std::vector<std::int64_t> selected(const std::map<std::int64_t, std::uint8_t>& unusual, std::int64_t k, bool largest) {
  DeviceContext device;
  const Lease lease(device);
  const auto numbers = device.allocate<std::uint8_t>(kColumns);
  SKYRANK_CUDA_CALL(cudaMemsetAsync(numbers.data(), kUsual, kColumns, device.stream()));
  for (const auto& [column, value] : unusual) {
    SKYRANK_CUDA_CALL(cudaMemsetAsync(numbers.data() + column, value, 1, device.stream()));
  }
  const auto values = device.allocate<std::uint8_t>(static_cast<std::size_t>(k));
  const auto positions = device.allocate<std::int64_t>(static_cast<std::size_t>(k));
  const SelectProblem problem{.values = numbers.data(),
                              .element = Element::uint8,
                              .rows = 1,
                              .columns = kColumns,
                              .row_stride = kColumns,
                              .column_stride = 1,
                              .k = k,
                              .largest = largest,
                              .selected_values = values.data(),
                              .selected_positions = positions.data(),
                              .wide_positions = true};
  const std::size_t bytes = select_workspace_bytes(problem);
  const auto workspace = device.allocate<std::byte>(std::max<std::size_t>(bytes, 1));
  select_rows(problem, workspace.data(), bytes, device.stream());
  return tests::on_host(positions, device);
}

TEST_F(LongestRowsOnGpu, TiesOfStretchesAreInTheOrderOfColumns) {
  constexpr std::int64_t k30 = std::int64_t{1} << 30;
  const std::map<std::int64_t, std::uint8_t> unusual = {
      {5, 3}, {k30 - 1, 3}, {k30, 3}, {2 * k30 + 7, 1}, {4 * k30 - 1, 2}, {4 * k30, 2}, {kColumns - 1, 0}, {9, 200}};
  const std::vector<std::int64_t> least = {kColumns - 1, 2 * k30 + 7, 4 * k30 - 1, 4 * k30, 5, k30 - 1, k30};
  EXPECT_EQ(selected(unusual, 1, false), std::vector(least.begin(), least.begin() + 1));
  EXPECT_EQ(selected(unusual, 6, false), std::vector(least.begin(), least.begin() + 6));
  for (const std::int64_t k : {1'000, 50'000}) {
    std::vector<std::int64_t> expected = least;
    for (std::int64_t column = 0; static_cast<std::int64_t>(expected.size()) < k; ++column) {
      if (unusual.count(column) == 0) expected.push_back(column);
    }
    EXPECT_EQ(selected(unusual, k, false), expected) << k;
  }
  EXPECT_EQ(selected(unusual, 3, true), (std::vector<std::int64_t>{9, 0, 1}));
}

}  // namespace
}  // namespace skyrank::kernels::cuda
