#include <gtest/gtest.h>

#include <map>

#include "planner/choose.hpp"
#include "planner/cost/papers/models.hpp"
#include "tests/planner/cheapest.hpp"

// Cost models of the papers' algorithms, and the parameters that these price.
namespace skyrank::planner {
namespace {

using kernels::KeyWidth;
using kernels::TopKShape;

TopKShape shape(std::size_t n, std::size_t k, std::vector<KeyWidth> widths = {KeyWidth::bytes4}) {
  return {.n = n, .k = k, .widths = std::move(widths), .ties = kernels::TieRule::first};
}

TEST(GpuParameters, SubrangesFollowRule4) {
  // With the constant 5, (log2 n - log2 k + 5) / 2; fitted factors may move the best by one.
  EXPECT_NEAR(static_cast<double>(cheapest("cuda-dr-topk", shape(1u << 29, 1u << 20)).at("alpha")), 7, 1);
  EXPECT_NEAR(static_cast<double>(cheapest("cuda-dr-topk", shape(1u << 29, 1u << 24)).at("alpha")), 4, 1);
  EXPECT_EQ(cheapest("cuda-dr-topk", shape(1u << 29, 1024), {}, {{"alpha", 6}}).at("alpha"), 6);
}

TEST(GpuParameters, ThreadsOfLongKeysHaveFewElements) {
  for (const auto& values : priced_parameters("cuda-bitonic", shape(1u << 26, 256, {KeyWidth::bytes8}))) {
    EXPECT_LE(values.at("elements"), 16);
  }
}

// Runs of 15,000 to 10^6 rows take 0 to 5 % less with short digits.
TEST(GpuParameters, LongDigitsOfSharedBitsAndEitherOfFewRows) {
  const auto seconds = [&](std::int64_t bits) {
    const Machine machine{.cuda = true};
    return seconds_of(cost_of("cuda-radix-select", shape(1u << 20, 100), machine, {}, {{"digit_bits", bits}}));
  };
  EXPECT_NEAR(seconds(8) / seconds(11), 1, 0.05);
  Statistics equal;
  equal.sample = 1024;
  equal.quantiles.assign(9, 7);
  EXPECT_EQ(cheapest("cuda-radix-select", shape(1u << 29, 100), equal).at("digit_bits"), 11);
}

TEST(GpuParameters, SurerPivotsWhereTheMiddleIsSmall) {
  const auto few = cheapest("cuda-randomized", shape(1u << 29, 32)).at("probability");
  const auto half = cheapest("cuda-randomized", shape(1u << 29, 1u << 28)).at("probability");
  EXPECT_GE(few, half);
}

// By the device's clock on an H200.
TEST(CostModels, AnswersWithoutOrderAreNotPutInOrder) {
  Statistics statistics;
  statistics.memory = kernels::Memory::device;
  const auto ms = [&](std::size_t n, std::size_t k, std::int64_t ordered) {
    return 1e3 * seconds_on_device(cost::cuda_randomized(shape(n, k), statistics, {}, {{"ordered", ordered}}));
  };
  const auto within_half = [](double predicted, double measured) {
    EXPECT_GE(predicted, measured / 1.5);
    EXPECT_LE(predicted, measured * 1.5);
  };
  within_half(ms(1u << 26, 1u << 26, 0), 0.52);
  within_half(ms(1u << 26, 1u << 24, 0), 0.48);
  within_half(ms(1u << 28, 1u << 26, 0), 1.19);
  EXPECT_GE(ms(1u << 26, 1u << 26, 1), 5 * ms(1u << 26, 1u << 26, 0));
}

// By the host's clock on an H200: 184 and 128 us.
TEST(CostModels, ListsOfThreadsHardlyChangeWhereRowsAreInOrder) {
  const TopKShape shape{.n = 150'000, .k = 20, .widths = {KeyWidth::bytes4}};
  const auto seconds = [&](double order) {
    Statistics statistics;
    statistics.memory = kernels::Memory::device;
    statistics.order = order;
    return seconds_of(cost::cuda_per_thread(shape, statistics, {}, {}));
  };
  EXPECT_NEAR(seconds(0) - seconds(1), 56e-6, 15e-6);
  EXPECT_GE(seconds(-1), seconds(0));
}

}  // namespace
}  // namespace skyrank::planner
