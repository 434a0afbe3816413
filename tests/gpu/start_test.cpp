#include <skyrank/engine.hpp>

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "kernels/cuda/registry.hpp"
#include "kernels/cuda/runtime/start.hpp"
#include "tests/gpu/gpu_test.hpp"

// When `device: auto` starts a GPU. A process starts it once, so each case has a process of its own.
namespace skyrank {
namespace {

using kernels::cuda::Started;

/// Columns of independent values.
Table random_table(std::size_t rows, int columns) {
  std::mt19937 random(3);
  std::vector<Column> all;
  for (int c = 0; c < columns; ++c) {
    std::vector<float> values(rows);
    for (float& value : values) value = std::uniform_real_distribution<float>()(random);
    all.push_back(Column::own("c" + std::to_string(c), std::move(values)));
  }
  return Table(std::move(all));
}

Query skyline_of(int columns) {
  std::vector<Preference> terms;
  for (int c = 0; c < columns; ++c) terms.push_back(low("c" + std::to_string(c)));
  return Query::from("t").prefer(pareto(terms));
}

/// Ends the process with 0 where `holds`, otherwise with 1 and the plan on stderr.
[[noreturn]] void leave(bool holds, const PlanNode& plan) {
  if (!holds) std::fprintf(stderr, "%s\n", to_string(plan).c_str());
  std::exit(holds ? 0 : 1);  // NOLINT(concurrency-mt-unsafe): a child of one thread
}

class AutoDevice : public ::testing::Test {
 protected:
  void SetUp() override {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    if (kernels::cuda::skyline_algorithms().empty()) gpu_testing::require_gpu(kernels::cuda::find_devices());
    if (!kernels::cuda::shows_gpu()) gpu_testing::require_gpu({.devices = {}, .reason = "the system shows no device"});
  }
};

TEST_F(AutoDevice, StartsNothingForAShortQuery) {
  const auto run = [] {
    const Result result = Engine().run(skyline_of(4), random_table(100'000, 4));
    leave(kernels::cuda::started() == Started::nothing &&
              result.plan.reason.find("the start of a GPU") != std::string::npos,
          result.plan);
  };
  EXPECT_EXIT(run(), ::testing::ExitedWithCode(0), "");
}

TEST_F(AutoDevice, StartsTheGpuForALongQuery) {
  const auto run = [] {
    const Result result = Engine({.threads = 1}).run(skyline_of(14), random_table(1'000'000, 14));
    leave(kernels::cuda::started() == Started::context, result.plan);
  };
  EXPECT_EXIT(run(), ::testing::ExitedWithCode(0), "");
}

TEST_F(AutoDevice, StartsTheGpuForManyQueriesThatShareIt) {
  const auto run = [] {
    const Engine engine({.threads = 1, .share_columns = true});
    const Table table = random_table(500'000, 10);
    const PlanNode alone = engine.explain(skyline_of(10), table);
    if (kernels::cuda::started() != Started::nothing) leave(false, alone);
    const PlanNode first_of_many = engine.explain(skyline_of(10), table, {.later_queries = 500});
    leave(kernels::cuda::started() == Started::driver, first_of_many);
  };
  EXPECT_EXIT(run(), ::testing::ExitedWithCode(0), "");
}

TEST_F(AutoDevice, FindsTheGpuOfAnAlgorithmThatIsAskedFor) {
  const auto run = [] {
    const Query query = skyline_of(3).using_path(
        {.algorithms = {"cuda-blocked-bitmap"}, .device = DeviceChoice::automatic, .parameters = {}});
    const Result result = Engine().run(query, random_table(1000, 3));
    leave(kernels::cuda::started() == Started::context, result.plan);
  };
  EXPECT_EXIT(run(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace skyrank
