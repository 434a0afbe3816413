#include "tests/kernels/skyline_conformance.hpp"

#include <tbb/global_control.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <random>
#include <thread>

namespace skyrank::kernels::tests {
namespace {

TEST_P(SkylineConformance, SameAnswerForAnyNumberOfThreads) {
  const tbb::global_control more(tbb::global_control::max_allowed_parallelism, 7);
  const std::size_t n = kSlow ? 6000 : 14400;
  std::mt19937_64 engine(3);
  const auto expect_oracle_on_any_arena = [&](const SkylineCase& data) {
    const std::vector<RowId>& expected = answer_to(data.problem());
    if (!GetParam()->supports(shape_of(data.problem()))) return;
    for (const int threads : kSlow ? std::vector{2, 7} : std::vector{1, 2, 4, 7}) {
      tbb::task_arena arena(threads);
      EXPECT_EQ(arena.execute([&] { return run(data.problem()).rows; }), expected) << threads << " threads";
    }
  };
  for (const Distribution distribution :
       {Distribution::independent, Distribution::repeated, Distribution::descending, Distribution::all_equal}) {
    SCOPED_TRACE(name_of(distribution));
    expect_oracle_on_any_arena({n, make_columns(distribution, n, 3, KeyWidth::bytes4, 9), KeyWidth::bytes4});
  }
  expect_oracle_on_any_arena(
      {n, make_columns(Distribution::repeated, n, 4, KeyWidth::bytes8, 9), KeyWidth::bytes8, random_order(4, engine)});
}

TEST_P(SkylineConformance, StopsSoonOrEndsWhenAskedMeanwhile) {
  // Every row stays: minutes of work for most algorithms, in which the stop comes after a twentieth of a second.
  const std::size_t n = 1000000;
  std::vector<Values> columns(4, Values(n));
  for (std::size_t dim = 0; dim < 4; dim += 2) {
    std::iota(columns[dim].begin(), columns[dim].end(), 0u);
    std::iota(columns[dim + 1].rbegin(), columns[dim + 1].rend(), 0u);
  }
  std::mt19937_64 engine(3);
  std::shuffle(columns[2].begin(), columns[2].end(), engine);
  std::shuffle(columns[3].begin(), columns[3].end(), engine);
  const SkylineCase staircase(n, columns, KeyWidth::bytes8);
  std::stop_source source;
  std::chrono::steady_clock::time_point asked;
  std::jthread stopper([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    asked = std::chrono::steady_clock::now();
    source.request_stop();
  });
  try {
    EXPECT_EQ(run(staircase.problem(), {.count_work = false, .stop = source.get_token()}).rows.size(), n);
  } catch (const Cancelled&) {
  }
  stopper.join();
  EXPECT_LT(std::chrono::steady_clock::now() - asked, std::chrono::seconds(10));
}

INSTANTIATE_TEST_SUITE_P(Registry, SkylineConformance, testing::ValuesIn(on_cpu(skyline_algorithms())), TestName{});

}  // namespace
}  // namespace skyrank::kernels::tests
