#include "tests/kernels/topk_conformance.hpp"

#include "kernels/cuda/registry.hpp"

namespace skyrank::kernels::tests {
namespace {

TEST_P(TopKConformance, ManyRows) {
  const std::size_t n = kEmulated ? 20000 : 100000;
  for (const auto& [distribution, widths] : many_rows()) {
    const TopKCase data(n, make_columns(distribution, n, widths.size(), k8, 2), widths);
    for (const auto& [k, ties] : some_ks(n)) {
      const TopKProblem problem = data.problem(k, ties);
      if (!GetParam()->supports(shape_of(problem))) continue;
      EXPECT_EQ(run(problem).rows, oracle::topk(problem)) << name_of(distribution) << ", k = " << k;
    }
  }
}

// A build without CUDA has none.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(TopKConformance);
INSTANTIATE_TEST_SUITE_P(Cuda, TopKConformance, testing::ValuesIn(cuda::topk_algorithms()), TestName{});

}  // namespace
}  // namespace skyrank::kernels::tests
