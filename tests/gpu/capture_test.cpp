#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "kernels/cuda/device/check.hpp"
#include "kernels/cuda/device/context.hpp"
#include "kernels/cuda/topk/batched.hpp"
#include "tests/gpu/gpu_test.hpp"
#include "tests/kernels/device_copies.hpp"

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

/// By key, then by row id, from every segment.
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

/// A captured selection from every segment, over keys that stay where they are.
class CapturedSelection {
 public:
  CapturedSelection(DeviceContext& device, const Shape& shape)
      : device_(device),
        keys_(device.allocate<std::uint32_t>(shape.count * shape.rows)),
        rows_(device.allocate<RowId>(shape.count * shape.k)) {
    cudaGraph_t graph = nullptr;
    SKYRANK_CUDA_CALL(cudaStreamBeginCapture(device.stream(), cudaStreamCaptureModeThreadLocal));
    least_of_segments(ShortElements{keys_.data(), 0}, Segments{.count = shape.count, .rows = shape.rows}, shape.k,
                      rows_.data(), device);
    SKYRANK_CUDA_CALL(cudaStreamEndCapture(device.stream(), &graph));
    SKYRANK_CUDA_CALL(cudaGraphInstantiate(&replay_, graph, 0));
    SKYRANK_CUDA_CALL(cudaGraphDestroy(graph));
  }
  ~CapturedSelection() { (void)cudaGraphExecDestroy(replay_); }
  CapturedSelection(const CapturedSelection&) = delete;
  CapturedSelection& operator=(const CapturedSelection&) = delete;

  std::vector<RowId> replay(const std::vector<std::uint32_t>& keys) {
    tests::copy_to(keys_, keys, device_);
    SKYRANK_CUDA_CALL(cudaGraphLaunch(replay_, device_.stream()));
    return tests::on_host(rows_, device_);
  }

 private:
  DeviceContext& device_;
  Buffer<std::uint32_t> keys_;
  Buffer<RowId> rows_;
  cudaGraphExec_t replay_ = nullptr;
};

// Each of the ways that a segment may go: lanes of a warp, a warp that narrows, a block with and without a sample.
TEST_F(CaptureOnGpu, SelectionsFromSegmentsAreReplayed) {
  for (const Shape& shape : {Shape{50, 1000, 8}, Shape{50, 1000, 100}, Shape{5, 40'000, 32}, Shape{9, 1500, 700}}) {
    DeviceContext device;
    const Lease lease(device);
    CapturedSelection captured(device, shape);
    for (const unsigned seed : {1u, 2u, 3u}) {
      const auto keys = random_keys(shape.count * shape.rows, seed);
      EXPECT_EQ(captured.replay(keys), best_rows(keys, shape)) << shape.rows << " rows, k = " << shape.k;
    }
  }
}

}  // namespace
}  // namespace skyrank::kernels::cuda
