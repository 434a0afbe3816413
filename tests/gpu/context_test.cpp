#include "kernels/cuda/device/context.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <stdexcept>
#include <utility>

#include "kernels/cuda/device/array.hpp"
#include "kernels/cuda/registry.hpp"
#include "kernels/cuda/skyline/resident.hpp"
#include "tests/gpu/gpu_test.hpp"
#include "tests/kernels/algorithms.hpp"
#include "tests/kernels/problems.hpp"
#include "tests/oracle/oracle.hpp"
#include "tools/bench/residence/residence.hpp"

namespace skyrank::kernels::cuda {
namespace {

using bench::Residence;
using DeviceContextOnGpu = skyrank::gpu_testing::GpuTest;
using tests::Distribution;
using tests::make_columns;
using tests::SkylineCase;
using tests::TopKCase;

TopKCase keys_of(Distribution distribution, std::size_t n, const std::vector<KeyWidth>& widths) {
  return {n, make_columns(distribution, n, widths.size(), KeyWidth::bytes8, 3), widths};
}

TopKCase some_keys(std::size_t n, KeyWidth width) { return keys_of(Distribution::independent, n, {width}); }

/// With so small a k that every algorithm supports it.
TopKSolution run(const TopKAlgorithm& algorithm, const TopKProblem& problem, DeviceContext* device = nullptr) {
  EXPECT_TRUE(algorithm.supports(shape_of(problem))) << algorithm.name;
  return algorithm.run(problem, ParameterValues(algorithm.parameters, {}),
                       {.count_work = false, .stop = {}, .device = device});
}

SkylineCase some_points(std::size_t n, std::size_t d, KeyWidth width) {
  return {n, make_columns(Distribution::independent, n, d, width, 3), width};
}

SkylineSolution run(const SkylineAlgorithm& algorithm, const SkylineProblem& problem, DeviceContext* device = nullptr) {
  EXPECT_TRUE(algorithm.supports(shape_of(problem))) << algorithm.name;
  return algorithm.run(problem, ParameterValues(algorithm.parameters, {}),
                       {.count_work = false, .stop = {}, .device = device});
}

std::vector<RowId> answer(const TopKProblem& problem) { return oracle::topk(problem); }
std::vector<RowId> answer(const SkylineProblem& problem) { return oracle::skyline(problem); }

TEST_F(DeviceContextOnGpu, TransfersOfManyStagingBuffers) {
  DeviceContext device;
  const Lease lease(device);
  for (const std::size_t bytes :
       {std::size_t{1}, Transfer::kStagingBytes, 2 * Transfer::kStagingBytes + 1, 5 * Transfer::kStagingBytes - 7}) {
    std::vector<unsigned char> sent(bytes);
    for (std::size_t i = 0; i < bytes; ++i) sent[i] = static_cast<unsigned char>(i * 131 + i / 4099);
    const auto there = device.allocate<unsigned char>(bytes);
    device.synchronize();
    device.transfer().upload(there.data(), sent.data(), bytes);
    std::vector<unsigned char> received(bytes);
    device.transfer().download(received.data(), there.data(), bytes);
    EXPECT_EQ(received, sent) << bytes;
  }
}

TEST_F(DeviceContextOnGpu, TheLimitOfMemoryIsToldAndLeavesTheContextUsable) {
  constexpr std::size_t kLimit = std::size_t{1} << 20;
  DeviceContext device(0, kLimit);
  const TopKCase large = some_keys(400'000, KeyWidth::bytes4);
  const TopKCase small = some_keys(500, KeyWidth::bytes4);
  for (const TopKAlgorithm* algorithm : topk_algorithms()) {
    try {
      run(*algorithm, large.problem(10, TieRule::first), &device);
      ADD_FAILURE() << algorithm->name << " found room";
    } catch (const OutOfMemory& failure) {
      EXPECT_THAT(failure.what(),
                  testing::HasSubstr("the limit of 1048576 bytes of device memory is reached: 0 are in use"));
    }
    const TopKProblem fits = small.problem(10, TieRule::first);
    EXPECT_EQ(run(*algorithm, fits, &device).rows, oracle::topk(fits)) << algorithm->name;
  }
  auto& pool = static_cast<PoolResource&>(device.memory());
  EXPECT_EQ(pool.in_use(), 0u);
  EXPECT_GT(pool.peak(), 0u);
  EXPECT_LE(pool.peak(), kLimit);
}

/// Fails one allocation, and counts what is not given back.
class FailingResource final : public MemoryResource {
 public:
  explicit FailingResource(MemoryResource& memory) : memory_(memory) {}

  void fail_at(int allocation) {
    fail_at_ = allocation;
    allocations_ = 0;
  }
  std::size_t outstanding() const { return outstanding_; }

  void* allocate(std::size_t bytes, cudaStream_t stream) override {
    if (allocations_++ == fail_at_) throw OutOfMemory("FailingResource::allocate", "on purpose", __FILE__, __LINE__);
    outstanding_ += bytes;
    return memory_.allocate(bytes, stream);
  }
  void deallocate(void* data, std::size_t bytes, cudaStream_t stream) noexcept override {
    outstanding_ -= bytes;
    memory_.deallocate(data, bytes, stream);
  }

 private:
  MemoryResource& memory_;
  int fail_at_ = -1;
  int allocations_ = 0;
  std::size_t outstanding_ = 0;
};

/// Fails each allocation of a run in turn, until there is none left to fail, and runs again after it: after every one,
/// or under sanitizers after one in five. How many there were.
template <class Algorithm>
int fail_everywhere(const Algorithm& algorithm, const typename Algorithm::Problem& problem, FailingResource& memory,
                    DeviceContext& device) {
  const std::vector<RowId> expected = answer(problem);
  tests::Turns turns(5);
  for (int failing = 0;; ++failing) {
    memory.fail_at(failing);
    try {
      EXPECT_EQ(run(algorithm, problem, &device).rows, expected) << algorithm.name;
      return failing;
    } catch (const OutOfMemory&) {
      EXPECT_EQ(memory.outstanding(), 0u) << algorithm.name << ", allocation " << failing;
    }
    memory.fail_at(-1);
    if (turns.skip()) continue;
    EXPECT_EQ(run(algorithm, problem, &device).rows, expected) << algorithm.name << " after allocation " << failing;
  }
}

TEST_F(DeviceContextOnGpu, AFailureOfAnyAllocationLeavesNothingBehind) {
  PoolResource pool(0);
  FailingResource memory(pool);
  DeviceContext device(0, memory);
  // Few rows and many, few wanted and many, equal keys, and keys that are compared in parts: algorithms may take other
  // ways.
  std::vector<std::pair<TopKCase, std::size_t>> cases;
  constexpr std::size_t kMany = tests::kSanitized ? 2'000 : 20'000;
  cases.emplace_back(some_keys(700, KeyWidth::bytes2), 20);
  cases.emplace_back(some_keys(kMany, KeyWidth::bytes8), 20);
  cases.emplace_back(some_keys(kMany, KeyWidth::bytes4), kMany / 20 * 9);
  cases.emplace_back(some_keys(300, KeyWidth::bytes4), 300);
  cases.emplace_back(keys_of(Distribution::all_equal, kMany, {KeyWidth::bytes4}), 20);
  cases.emplace_back(
      keys_of(Distribution::few_distinct, kMany / 4, {KeyWidth::bytes4, KeyWidth::bytes8, KeyWidth::bytes2}), 20);
  for (const TopKAlgorithm* algorithm : topk_algorithms()) {
    for (const auto& [data, k] : cases) {
      for (const TieRule ties : {TieRule::first, TieRule::all}) {
        const TopKProblem problem = data.problem(k, ties);
        if (!algorithm->supports(shape_of(problem))) continue;
        EXPECT_GE(fail_everywhere(*algorithm, problem, memory, device), 3) << algorithm->name;
      }
    }
  }
}

TEST_F(DeviceContextOnGpu, AFailureOfAnyAllocationOfASkylineLeavesNothingBehind) {
  PoolResource pool(0);
  FailingResource memory(pool);
  DeviceContext device(0, memory);
  const SkylineCase few = some_points(tests::kSanitized ? 150 : 300, 2, KeyWidth::bytes4);
  const SkylineCase wide = some_points(tests::kSanitized ? 40 : 500, tests::kSanitized ? 20 : 40, KeyWidth::bytes8);
  for (const SkylineAlgorithm* algorithm : skyline_algorithms()) {
    EXPECT_GE(fail_everywhere(*algorithm, few.problem(), memory, device), 3) << algorithm->name;
    EXPECT_GE(fail_everywhere(*algorithm, wide.problem(), memory, device), 3) << algorithm->name;
  }
}

TEST_F(DeviceContextOnGpu, TheLimitOfMemoryOfASkylineIsTold) {
  constexpr std::size_t kLimit = std::size_t{1} << 20;
  DeviceContext device(0, kLimit);
  const SkylineCase large = some_points(100'000, 4, KeyWidth::bytes4);
  const SkylineCase small = some_points(500, 4, KeyWidth::bytes4);
  for (const SkylineAlgorithm* algorithm : skyline_algorithms()) {
    EXPECT_THROW(run(*algorithm, large.problem(), &device), OutOfMemory) << algorithm->name;
    EXPECT_EQ(run(*algorithm, small.problem(), &device).rows, oracle::skyline(small.problem())) << algorithm->name;
  }
  EXPECT_EQ(static_cast<PoolResource&>(device.memory()).in_use(), 0u);
}

TEST_F(DeviceContextOnGpu, ResidentKeysGiveTheSameSkyline) {
  const SkylineCase data = some_points(3'001, 5, KeyWidth::bytes4);
  SkylineProblem problem = data.problem();
  const std::vector<RowId> expected = oracle::skyline(problem);
  const Residence resident(problem.keys, data.n);
  problem.keys = resident.keys();
  problem.memory = Memory::device;
  for (const SkylineAlgorithm* algorithm : skyline_algorithms()) {
    const SkylineSolution solution = run(*algorithm, problem);
    EXPECT_EQ(solution.rows, expected) << algorithm->name;
    EXPECT_GT(solution.times.run_ms, 0) << algorithm->name;
  }
}

TEST_F(DeviceContextOnGpu, EntriesHaveTheVariantsOfTheirAlgorithms) {
  const SkylineCase data = some_points(3'001, 5, KeyWidth::bytes4);
  const std::vector<RowId> expected = oracle::skyline(data.problem());
  for (const SkylineAlgorithm* algorithm : cuda::skyline_algorithms()) {
    ASSERT_NE(algorithm->variants.resident, nullptr) << algorithm->name;
    const auto found = algorithm->variants.resident(data.problem(), {algorithm->parameters, {}}, {}, false);
    std::vector<RowId> rows(found.count);
    cuda::read_array(rows.data(), found.rows.data(), found.count * sizeof(RowId));
    EXPECT_EQ(rows, expected) << algorithm->name;
  }
  for (const TopKAlgorithm* algorithm : cuda::topk_algorithms()) {
    const bool scans = algorithm->name == "cuda-sampled-threshold" || algorithm->name == "cuda-bitonic";
    EXPECT_EQ(algorithm->variants.scan != nullptr, scans) << algorithm->name;
    EXPECT_EQ(algorithm->variants.part != nullptr, algorithm->name == "cuda-dr-topk") << algorithm->name;
  }
}

TEST_F(DeviceContextOnGpu, ResidentKeysGiveTheSameAnswer) {
  const TopKCase data = some_keys(10'001, KeyWidth::bytes4);
  const TopKProblem from_host = data.problem(30, TieRule::last);
  const Residence resident(from_host.keys, data.n);
  TopKProblem there = from_host;
  there.keys = resident.keys();
  there.memory = Memory::device;
  EXPECT_GT(resident.bytes(), 4 * data.n);
  EXPECT_GT(resident.read_ms(), 0);
  for (const TopKAlgorithm* algorithm : topk_algorithms()) {
    resident.evict();
    const TopKSolution solution = run(*algorithm, there);
    EXPECT_EQ(solution.rows, run(*algorithm, from_host).rows) << algorithm->name;
    EXPECT_GT(solution.times.run_ms, 0) << algorithm->name;
  }
}

TEST_F(DeviceContextOnGpu, KeysThatAreNotAlignedForWideLoads) {
  const TopKCase data = some_keys(9'000, KeyWidth::bytes4);
  const TopKProblem all = data.problem(30, TieRule::first);
  const Residence resident(all.keys, data.n);
  for (const std::size_t skipped : {1, 2, 3, 5}) {
    const KeyColumn host{all.keys.front().as<std::uint32_t>() + skipped, KeyWidth::bytes4};
    const KeyColumn device{resident.keys().front().as<std::uint32_t>() + skipped, KeyWidth::bytes4};
    TopKProblem problem = all;
    problem.n = data.n - skipped;
    problem.keys = {&host, 1};
    const std::vector<RowId> expected = oracle::topk(problem);
    problem.keys = {&device, 1};
    problem.memory = Memory::device;
    for (const TopKAlgorithm* algorithm : topk_algorithms()) {
      EXPECT_EQ(run(*algorithm, problem).rows, expected) << algorithm->name << ", offset " << skipped;
    }
  }
}

/// Gives back what the process's own context keeps, so that a checker of memory finds nothing left.
class GiveBackAtTheEnd final : public ::testing::Environment {
 public:
  void TearDown() override {
    if (find_devices().devices.empty()) return;
    DeviceContext& device = DeviceContext::of_process();
    static_cast<PoolResource&>(device.memory()).give_back_kept();
    device.transfer().give_back_staging();
  }
};

const ::testing::Environment* const kGiveBack = ::testing::AddGlobalTestEnvironment(new GiveBackAtTheEnd);

}  // namespace
}  // namespace skyrank::kernels::cuda
