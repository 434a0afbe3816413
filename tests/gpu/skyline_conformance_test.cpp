#include "tests/kernels/skyline_conformance.hpp"

#include <numeric>
#include <stop_token>
#include <thread>

#include "kernels/cuda/registry.hpp"

namespace skyrank::kernels::tests {
namespace {

TEST_P(SkylineConformance, ManyRows) {
  const std::size_t n = kEmulated ? 3000 : 14400;
  for (const Distribution distribution : {Distribution::independent, Distribution::anticorrelated,
                                          Distribution::repeated, Distribution::descending, Distribution::all_equal}) {
    for (const std::size_t d : {3, 6}) {
      SCOPED_TRACE(name_of(distribution) + ", d = " + std::to_string(d));
      expect_oracle({n, make_columns(distribution, n, d, KeyWidth::bytes4, 9), KeyWidth::bytes4});
    }
  }
}

// Asked in the midst of the work, or after all of it on a fast device.
TEST_P(SkylineConformance, StopsOrEndsRightWhenAskedMeanwhile) {
  const std::size_t n = kEmulated ? 3000 : 1000000;
  std::vector<Values> columns(2, Values(n));
  std::iota(columns[0].begin(), columns[0].end(), 0u);
  std::iota(columns[1].rbegin(), columns[1].rend(), 0u);
  const SkylineCase staircase(n, columns, KeyWidth::bytes4);
  std::stop_source source;
  std::jthread stopper([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    source.request_stop();
  });
  try {
    EXPECT_EQ(run(staircase.problem(), {.count_work = false, .stop = source.get_token()}).rows.size(), n);
  } catch (const Cancelled&) {
    stopper.join();
  }
  EXPECT_EQ(run(SkylineCase(1, {{1}}, KeyWidth::bytes4).problem()).rows, std::vector<RowId>{0});
}

// A build without CUDA has none.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SkylineConformance);
INSTANTIATE_TEST_SUITE_P(Cuda, SkylineConformance, testing::ValuesIn(cuda::skyline_algorithms()), TestName{});

}  // namespace
}  // namespace skyrank::kernels::tests
