#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kernels/cuda/device/context.hpp"
#include "kernels/cuda/registry.hpp"
#include "tests/gpu/gpu_test.hpp"
#include "tests/kernels/algorithms.hpp"
#include "tests/kernels/problems.hpp"
#include "tests/oracle/oracle.hpp"

// Every top-k entry where something in it changes: k around its limits, sizes around those of warps, blocks, tiles and
// grids.
namespace skyrank::kernels::tests {
namespace {

class LimitsOnGpu : public testing::TestWithParam<const TopKAlgorithm*> {
 protected:
  void SetUp() override { skyrank::gpu_testing::require_gpu(cuda::find_devices()); }

  static void expect_oracle(const TopKCase& data, std::size_t k, TieRule ties) {
    const TopKProblem problem = data.problem(k, ties);
    if (!GetParam()->supports(shape_of(problem))) return;
    const auto found = GetParam()->run(problem, ParameterValues(GetParam()->parameters, {}), {}).rows;
    EXPECT_TRUE(found == oracle::topk(problem))
        << "n = " << data.n << ", k = " << k << ", tie rule " << static_cast<int>(ties);
  }
};

// Lists in registers (8, 32) and in shared memory (192 and 384 elements of 128 and 64 bits), runs of a bitonic network
// (powers of two from 32 to 2048), what one block sorts (2048 and 4096), an eighth, a tenth and a quarter of the rows.
TEST_P(LimitsOnGpu, K) {
  constexpr std::size_t kRows = 20'000;
  Turns turns(4);
  for (const KeyWidth width : {KeyWidth::bytes4, KeyWidth::bytes8}) {
    SCOPED_TRACE("bits = " + std::to_string(bits(width)));
    const TopKCase data(kRows, make_columns(Distribution::repeated, kRows, 1, width, 5), {width});
    for (const std::size_t limit :
         {std::size_t{8}, std::size_t{32}, std::size_t{64}, std::size_t{128}, std::size_t{192}, std::size_t{256},
          std::size_t{384}, std::size_t{512}, std::size_t{1024}, std::size_t{2048}, std::size_t{4096}, kRows / 8,
          kRows / 10, kRows / 4, kRows}) {
      for (const std::size_t k : {limit - 1, limit, limit + 1}) {
        if (turns.skip()) continue;
        expect_oracle(data, k, k % 2 == 0 ? TieRule::first : TieRule::last);
      }
    }
  }
}

TEST_P(LimitsOnGpu, Rows) {
  // Threads of a block times 4 to 32 keys, and as many tiles as the largest grids have blocks.
  const auto multiprocessors = static_cast<std::size_t>(cuda::DeviceContext::of_process().properties().multiprocessors);
  for (const std::size_t limit :
       {std::size_t{4096}, std::size_t{8192}, std::size_t{16'384}, std::size_t{32'768}, multiprocessors * 8 * 4096}) {
    for (const std::size_t n : {limit - 1, limit, limit + 1}) {
      const TopKCase data(n, make_columns(Distribution::few_distinct, n, 1, KeyWidth::bytes4, 6), {KeyWidth::bytes4});
      expect_oracle(data, 33, n % 2 == 0 ? TieRule::last : TieRule::first);
    }
  }
}

// The columns before decide nothing, something, and nearly everything, and the parts are of one column and of
// many.
TEST_P(LimitsOnGpu, KeysInParts) {
  constexpr std::size_t kRows = 9'001;
  const Values equal(kRows, 7);
  const Values few = make_columns(Distribution::few_distinct, kRows, 1, k8, 1).front();
  const Values many = make_columns(Distribution::independent, kRows, 1, k8, 2).front();
  const std::vector<TopKCase> cases = [&] {
    std::vector<TopKCase> made;
    made.emplace_back(kRows, std::vector<Values>{equal, equal, many}, std::vector{k8, k8, k8});
    made.emplace_back(kRows, std::vector<Values>{equal, few, few}, std::vector{k8, k4, k8});
    made.emplace_back(kRows, std::vector<Values>{few, equal, many, few}, std::vector{k4, k8, k1, k8});
    made.emplace_back(kRows, std::vector<Values>{many, few}, std::vector{k8, k1});
    made.emplace_back(kRows, std::vector<Values>(20, few), std::vector(20, k1));
    made.emplace_back(kRows, std::vector<Values>{equal, equal}, std::vector{k8, k8});
    return made;
  }();
  Turns turns(4);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE("case " + std::to_string(i));
    for (const std::size_t k : {std::size_t{1}, std::size_t{30}, std::size_t{2000}, kRows - 1, kRows}) {
      for (const TieRule ties : {TieRule::first, TieRule::last, TieRule::all}) {
        if (!turns.skip()) expect_oracle(cases[i], k, ties);
      }
    }
  }
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(LimitsOnGpu);
INSTANTIATE_TEST_SUITE_P(Cuda, LimitsOnGpu, testing::ValuesIn(cuda::topk_algorithms()), TestName{});

}  // namespace
}  // namespace skyrank::kernels::tests
