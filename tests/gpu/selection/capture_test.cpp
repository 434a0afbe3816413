#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "kernels/cuda/device/context.hpp"
#include "kernels/cuda/runtime/check.hpp"
#include "kernels/cuda/select/select.hpp"
#include "tests/gpu/gpu_test.hpp"
#include "tests/kernels/cuda/device_copies.hpp"

// Work that is captured once and replayed on other keys in the same place.
namespace skyrank::kernels::cuda {
namespace {

using CaptureOnGpu = skyrank::gpu_testing::GpuTest;

struct Shape {
  std::size_t count;
  std::size_t rows;
  std::size_t k;
};

std::vector<std::uint32_t> random_keys(std::size_t n, unsigned seed) {
  std::mt19937 engine(seed);
  std::vector<std::uint32_t> keys(n);
  for (std::uint32_t& key : keys) key = static_cast<std::uint32_t>(engine() % 100'000);
  return keys;
}

/// By key, then by row id, from every row of a matrix.
std::vector<RowId> best_rows(const std::vector<std::uint32_t>& keys, const Shape& shape) {
  std::vector<RowId> best;
  for (std::size_t segment = 0; segment < shape.count; ++segment) {
    std::vector<std::pair<std::uint32_t, RowId>> rows;
    for (std::size_t i = segment * shape.rows; i < (segment + 1) * shape.rows; ++i) {
      rows.emplace_back(keys[i], static_cast<RowId>(i));
    }
    std::sort(rows.begin(), rows.end());
    for (std::size_t i = 0; i < shape.k; ++i) best.push_back(rows[i].second);
  }
  return best;
}

/// Launches that were captured on a device's stream.
class Replay {
 public:
  template <class Work>
  Replay(DeviceContext& device, Work&& work) : device_(device) {
    cudaGraph_t graph = nullptr;
    SKYRANK_CUDA_CALL(cudaStreamBeginCapture(device.stream(), cudaStreamCaptureModeThreadLocal));
    work();
    SKYRANK_CUDA_CALL(cudaStreamEndCapture(device.stream(), &graph));
    SKYRANK_CUDA_CALL(cudaGraphInstantiate(&replay_, graph, 0));
    SKYRANK_CUDA_CALL(cudaGraphDestroy(graph));
  }
  ~Replay() { (void)cudaGraphExecDestroy(replay_); }
  Replay(const Replay&) = delete;
  Replay& operator=(const Replay&) = delete;

  void start() { SKYRANK_CUDA_CALL(cudaGraphLaunch(replay_, device_.stream())); }

 private:
  DeviceContext& device_;
  cudaGraphExec_t replay_ = nullptr;
};

// A warp or a block a row, several blocks a row for few and for many wanted numbers, and a sort.
TEST_F(CaptureOnGpu, SelectionsFromRowsAreReplayed) {
  for (const Shape& shape :
       {Shape{50, 1000, 10}, Shape{1, 100'000, 30}, Shape{1, 200'000, 5000}, Shape{2, 5000, 3000}}) {
    DeviceContext device;
    const Lease lease(device);
    const auto numbers = device.allocate<std::uint32_t>(shape.count * shape.rows);
    const auto values = device.allocate<std::uint32_t>(shape.count * shape.k);
    const auto positions = device.allocate<std::int64_t>(shape.count * shape.k);
    const SelectProblem problem{.values = numbers.data(),
                                .element = Element::uint32,
                                .rows = static_cast<std::int64_t>(shape.count),
                                .columns = static_cast<std::int64_t>(shape.rows),
                                .row_stride = static_cast<std::int64_t>(shape.rows * sizeof(std::uint32_t)),
                                .column_stride = sizeof(std::uint32_t),
                                .k = static_cast<std::int64_t>(shape.k),
                                .selected_values = values.data(),
                                .selected_positions = positions.data()};
    const std::size_t bytes = select_workspace_bytes(problem);
    const auto workspace = device.allocate<std::byte>(std::max<std::size_t>(bytes, 1));
    device.synchronize();
    Replay replay(device, [&] { select_rows(problem, workspace.data(), bytes, device.stream()); });
    for (const unsigned seed : {1U, 2U}) {
      const auto keys = random_keys(shape.count * shape.rows, seed);
      tests::copy_to(numbers, keys, device);
      replay.start();
      std::vector<RowId> rows = tests::on_host(positions, device);
      for (std::size_t i = 0; i < rows.size(); ++i) rows[i] += static_cast<RowId>(i / shape.k * shape.rows);
      EXPECT_EQ(rows, best_rows(keys, shape)) << shape.k << " of rows of " << shape.rows;
    }
  }
}

}  // namespace
}  // namespace skyrank::kernels::cuda
