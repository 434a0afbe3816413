#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/cuda/topk/sampled_threshold/threshold_plan.hpp"
#include "planner/choose.hpp"
#include "planner/cost/cuda_common.hpp"
#include "planner/cost/cuda_counts.hpp"
#include "planner/cost/cuda_partitions.hpp"
#include "planner/cost/models.hpp"
#include "planner/facts/estimate.hpp"
#include "planner/price_list.hpp"

namespace skyrank::planner {
namespace {

using kernels::KeyWidth;
using kernels::SkylineShape;
using kernels::TieRule;
using kernels::TopKShape;

constexpr std::size_t kGrid[] = {0,     1,     2,     10,     100,     1000,     2048,      5000,
                                 20000, 32768, 65536, 100000, 1000000, 10000000, 100000000, 10000000000};

/// Factor by which a sum of terms may fall if one path takes another's place, or more threads a part: seconds are
/// fitted.
constexpr double kHardly = 0.9;

/// Up to 4,096 rows sampled-threshold selects among all of them, and takes no sample.
bool starts_to_sample(std::string_view algorithm, std::size_t before, std::size_t n) {
  return algorithm == "sampled-threshold" && before <= 4096 && n > 4096;
}

TEST(CostModels, EveryAlgorithmHasOneThatHardlyFallsWithN) {
  for (const auto* algorithm : kernels::skyline_algorithms()) {
    for (const std::size_t d : {1, 2, 4, 12, 64}) {
      for (const int threads : {1, 2, 16}) {
        double before = 0;
        for (const std::size_t n : kGrid) {
          const SkylineShape shape{.n = n, .d = d, .width = KeyWidth::bytes8, .general_order = false};
          const Machine machine{.threads = threads, .cuda = true};
          const double seconds = predict(*algorithm, shape, machine);
          EXPECT_TRUE(std::isfinite(seconds) && seconds > 0) << algorithm->name << ", n = " << n << ", d = " << d;
          EXPECT_GE(seconds, kHardly * before) << algorithm->name << ", n = " << n << ", d = " << d;
          before = seconds;
        }
      }
    }
  }
}

TEST(CostModels, EveryTopKAlgorithmHasOneThatHardlyFallsWithN) {
  for (const auto* algorithm : kernels::topk_algorithms()) {
    for (const std::size_t k : {0, 1, 100, 100000}) {
      for (const int threads : {1, 2, 16}) {
        double before = 0;
        std::size_t rows_before = 0;
        for (const std::size_t n : kGrid) {
          const TopKShape shape{.n = n, .k = k, .widths = {KeyWidth::bytes4}, .ties = TieRule::first};
          const Machine machine{.threads = threads, .cuda = true};
          const double seconds = predict(*algorithm, shape, machine);
          EXPECT_TRUE(std::isfinite(seconds) && seconds > 0) << algorithm->name << ", n = " << n << ", k = " << k;
          if (!starts_to_sample(algorithm->name, rows_before, n)) {
            EXPECT_GE(seconds, kHardly * before)
                << algorithm->name << ", n = " << n << ", k = " << k << ", threads " << threads;
          }
          rows_before = n;
          before = seconds;
        }
      }
    }
  }
}

// By the clock of a Xeon: 26 and 8 us.
TEST(CostModels, SampledThresholdTakesNoSampleOfFewRows) {
  const auto seconds = [](std::size_t n) {
    const TopKShape shape{.n = n, .k = 10, .widths = {KeyWidth::bytes4}};
    return seconds_of(cost_of("sampled-threshold", shape, {.threads = 2}));
  };
  EXPECT_GT(seconds(3000), 2 * seconds(8000));
}

// The events of a device see neither the keys on their way there nor the answer on its way back.
TEST(CostModels, SecondsOnADeviceAreWithoutTransfers) {
  const TopKShape shape{.n = 1000000, .k = 500000, .widths = {KeyWidth::bytes4}};
  const auto seconds = [&](kernels::Memory memory) {
    Statistics statistics;
    statistics.memory = memory;
    const cost::Cost cost = cost_of("cuda-sort", shape, {.cuda = true}, statistics);
    return std::pair(seconds_of(cost), seconds_on_device(cost));
  };
  const auto [from_host, sent] = seconds(kernels::Memory::host);
  const auto [resident, there] = seconds(kernels::Memory::device);
  EXPECT_NEAR(sent, there, 1e-9);
  EXPECT_GT(from_host, resident);
  EXPECT_GT(resident - there, 100e-6);  // 4 MB of row ids
  const cost::Cost on_cpu = cost_of("sort", shape, {});
  EXPECT_DOUBLE_EQ(seconds_on_device(on_cpu), seconds_of(on_cpu));
}

TEST(CostModels, MoreThreadsNeverCostMore) {
  for (const auto* algorithm : kernels::skyline_algorithms()) {
    const SkylineShape shape{.n = 1000000, .d = 8, .width = KeyWidth::bytes4, .general_order = false};
    EXPECT_LE(predict(*algorithm, shape, {.threads = 16}), predict(*algorithm, shape, {.threads = 1}))
        << algorithm->name;
  }
}

/// Calls visit(model, shape, statistics) for a variety of problems of each model.
template <class Visit>
void for_each_model(const Visit& visit) {
  Statistics seen;
  seen.sample = 64;
  seen.distinct = 0.5;
  seen.quantiles = {0, 1, 2, 3, 4, 5, 6, 7, 8};
  for (const Statistics& statistics : {Statistics{}, seen}) {
    for (const std::size_t n : kGrid) {
      for (const auto& [name, model] : cost::skyline_models()) {
        for (const std::size_t d : {1, 5}) visit(model, SkylineShape{.n = n, .d = d}, statistics);
      }
      for (const auto& [name, model] : cost::topk_models()) {
        for (const std::size_t k : {std::size_t{1}, n / 50, n}) {
          visit(model, TopKShape{.n = n, .k = k, .widths = {KeyWidth::bytes4}}, statistics);
          visit(model, TopKShape{.n = n, .k = k, .widths = {KeyWidth::bytes8, KeyWidth::bytes1}}, statistics);
        }
      }
    }
  }
}

// A price list knows them by their places.
TEST(CostModels, TermsAreTheSameForAllProblems) {
  std::map<const void*, std::vector<std::string_view>> first;
  for_each_model([&](const auto& model, const auto& shape, const Statistics& statistics) {
    std::vector<std::string_view> names;
    for (const cost::Term& term : model.cost(shape, statistics, {.threads = 4}, {}).terms) names.push_back(term.name);
    const auto [known, is_new] = first.try_emplace(reinterpret_cast<const void*>(model.cost), names);
    EXPECT_EQ(known->second, names) << "n = " << shape.n;
  });
}

TEST(CostModels, RowsOnACurveMeetThoseOfTheirLevels) {
  const SkylineShape shape{.n = 50'000, .d = 4, .width = KeyWidth::bytes8, .general_order = false};
  Statistics statistics;
  statistics.sample = 2048;
  statistics.growth = {.sample = 2048, .dims = 64, .drift = 1};  // all rows stay
  const auto& algorithm =
      **std::ranges::find(kernels::skyline_algorithms(), "blocked-bitmap", &kernels::SkylineAlgorithm::name);
  const double apart = predict(algorithm, shape, {.threads = 1}, statistics);
  statistics.together = 1;
  EXPECT_GT(predict(algorithm, shape, {.threads = 1}, statistics), 4 * apart);
}

TEST(CostModels, DefaultsAreTheFirstThatArePriced) {
  for_each_model([](const auto& model, const auto& shape, const Statistics& statistics) {
    if (model.candidates == nullptr || !model.defaults_first) return;
    const auto seconds = [&](const cost::Values& values) {
      return seconds_of(model.cost(shape, statistics, {}, values));
    };
    EXPECT_EQ(seconds({}), seconds(model.candidates(shape).front())) << "n = " << shape.n;
  });
}

// By events on an H200, without the start and the answers' way to the host.
TEST(CostModels, PartitionsAtOnceTakeWhatWasMeasured) {
  const auto milliseconds = [](double partitions, double length, double k) {
    cost::Cost cost = cost::cuda_partitions({.partitions = partitions, .rows = partitions * length, .k = k});
    for (cost::Term& term : cost.terms) {
      if (term.name == "start" || term.name == "bytes-sent" || term.name == "bytes-fetched") term.count = 0;
    }
    return seconds_of(cost) * 1e3;
  };
  EXPECT_NEAR(milliseconds(4096, 65536, 32), 0.29, 0.05);
  EXPECT_NEAR(milliseconds(262144, 256, 100), 0.70, 0.3);
  EXPECT_NEAR(milliseconds(67108, 1000, 100), 0.31, 0.1);
}

TEST(CostModels, CountsGrowWithRowsAndWithThoseThatAsk) {
  const auto seconds = [](double rows, double asking, double dims, double sent = 0) {
    return seconds_of(cost::cuda_counts({.rows = rows, .asking = asking, .dims = dims, .sent = sent}));
  };
  EXPECT_LT(seconds(1e5, 500, 4), seconds(1e6, 500, 4));
  EXPECT_LT(seconds(1e6, 500, 4), seconds(1e6, 5000, 4));
  EXPECT_LT(seconds(1e6, 500, 4), seconds(1e6, 500, 8));
  EXPECT_NEAR(seconds(1e6, 500, 4, 16e6) - seconds(1e6, 500, 4), 16e6 / 8e9, 1e-5);
  // Ten times as many tiles take ten times as long, but for the start.
  const double start = seconds(0, 0, 4);
  EXPECT_NEAR((seconds(1e6, 5120, 4) - start) / (seconds(1e6, 512, 4) - start), 10, 2);
  // No more than some seconds for all pairs of a million rows.
  EXPECT_LT(seconds(1e6, 1e6, 4), 1);
}

TEST(CostModels, SkybandsCountAFewTimesTheirRows) {
  const auto seconds = [](double rows, double kept) {
    return seconds_of(cost::cuda_skyband({.rows = rows, .asking = kept, .dims = 4}));
  };
  EXPECT_LT(seconds(1e5, 1000), seconds(1e6, 1000));
  EXPECT_LT(seconds(1e6, 1000), seconds(1e6, 10'000));
  EXPECT_LT(seconds(1e6, 2000), 1e-3);
  // A skyband of most rows leaves none out, and all count each other.
  EXPECT_GT(seconds(1e6, 1e6), seconds_of(cost::cuda_counts({.rows = 1e6, .asking = 1e6, .dims = 4})));
}

/// Returns the statistics of a scan of columns that ranks by some of them; the others belong to a filter.
Statistics scan_of(double scored, double elsewhere, double selectivity) {
  Statistics statistics;
  statistics.memory = kernels::Memory::device;
  statistics.scanned = scored + elsewhere;
  statistics.scored = scored;
  statistics.selectivity = selectivity;
  return statistics;
}

// Compared with times of an H200 by device events, without the start of the query.
TEST(CostModels, OnePassReadsFiltersWhereScoresAreWanted) {
  const auto milliseconds = [](double scored, double elsewhere, double selectivity) {
    const TopKShape shape{.n = std::size_t{1} << 28, .k = 1024, .widths = {KeyWidth::bytes4}};
    cost::Cost cost = cost::cuda_sampled_threshold(shape, scan_of(scored, elsewhere, selectivity), {}, {});
    for (cost::Term& term : cost.terms) {
      if (term.name == "start") term.count = 0;
    }
    return seconds_of(cost) * 1e3;
  };
  EXPECT_NEAR(milliseconds(4, 4, 0.1), 0.30, 0.03);
  EXPECT_NEAR(milliseconds(4, 4, 0.99), 0.29, 0.03);
  EXPECT_NEAR(milliseconds(4, 8, 0.5), 0.30, 0.03);
  EXPECT_NEAR(milliseconds(4, 4, 1e-6), 0.56, 0.05);
  EXPECT_NEAR(milliseconds(8, 0, 1), 0.53, 0.05);
  EXPECT_NEAR(milliseconds(8, 0, 0.5), 0.53, 0.05);  // its filter is one of the score's columns
  EXPECT_NEAR(milliseconds(16, 0, 1), 1.00, 0.1);
}

TEST(CostModels, OnePassNeverFallsWithN) {
  for (const double selectivity : {1e-6, 0.01, 0.5, 1.0}) {
    for (const double elsewhere : {0, 4, 64}) {
      double before = 0;
      for (const std::size_t n : kGrid) {
        const TopKShape shape{.n = n, .k = 1000, .widths = {KeyWidth::bytes4}};
        const Statistics statistics = scan_of(4, elsewhere, selectivity);
        const double seconds = seconds_of(cost::cuda_sampled_threshold(shape, statistics, {}, {}));
        EXPECT_GE(seconds, before) << "n = " << n << ", " << selectivity << " pass, " << elsewhere << " bytes";
        before = seconds;
      }
    }
  }
}

// By the host's clock on an H200: 71 and 204 us more for 2.5 million rows than by two columns, k = 20 and 3,000.
TEST(CostModels, KeysOfMoreThan64BitsGoPartByPart) {
  const auto more = [](std::size_t k) {
    const auto seconds = [&](std::vector<KeyWidth> widths) {
      const TopKShape shape{.n = 2'500'000, .k = k, .widths = std::move(widths)};
      return seconds_of(cost::cuda_sampled_threshold(shape, scan_of(0, 0, 1), {}, {}));
    };
    return 1e6 * (seconds({KeyWidth::bytes4, KeyWidth::bytes4, KeyWidth::bytes4}) -
                  seconds({KeyWidth::bytes4, KeyWidth::bytes4}));
  };
  EXPECT_NEAR(more(20), 70, 20);
  EXPECT_NEAR(more(3000), 204, 30);
}

// The emulated path takes as much (SampledThreshold.TakesTheMemoryThatItsPlanTells), so that limits of memory hold.
TEST(CostModels, MemoryOfTheSampledThresholdIsThatOfItsPlan) {
  constexpr std::size_t kRows = std::size_t{1} << 26;
  const auto bytes = [](std::size_t k, KeyWidth width, bool scans) {
    Statistics statistics;
    statistics.memory = kernels::Memory::device;
    if (scans) statistics.scanned = 8;
    const TopKShape shape{.n = kRows, .k = k, .widths = {width}};
    const double keys = static_cast<double>(kRows) * cost::packed_bytes(shape);
    return cost::cuda_sampled_threshold(shape, statistics, {}, {}).bytes - keys;
  };
  const auto told = [](std::size_t k, std::size_t element) {
    const auto plan = kernels::cuda::topk::plan_threshold(kRows, k);
    return static_cast<double>(bytes_kept(plan, plan_kept(plan), element) + 8 * k);
  };
  for (const std::size_t k : {1, 100, 1024, 65536}) {
    EXPECT_NEAR(bytes(k, KeyWidth::bytes4, false), told(k, 8), 1) << k;
    EXPECT_NEAR(bytes(k, KeyWidth::bytes8, false), told(k, 16), 1) << k;
    EXPECT_NEAR(bytes(k, KeyWidth::bytes2, false), told(k, 8), 1) << k;
  }
  EXPECT_GT(bytes(1024, KeyWidth::bytes8, true), told(1024, 16));  // a list besides
  // Some 104,000 candidates of 8 bytes: 24 times as many in bins, rounded up to 352 in each, and once beyond them
  // with their places.
  EXPECT_NEAR(bytes(65536, KeyWidth::bytes4, false), 8192 * 352 * 8 + 2 * 8 * 104e3, 1e6);
  EXPECT_LT(bytes(100, KeyWidth::bytes4, false), 3e6);
  // Too many for bins: a list, and buckets.
  EXPECT_NEAR(bytes(1 << 20, KeyWidth::bytes4, false), 5.5 * 8 * 1.25 * (1 << 20), 8e6);
}

TEST(ExpectedSkyline, OfFewDimensions) {
  EXPECT_EQ(expected_skyline(0, 3), 0);
  EXPECT_EQ(expected_skyline(1, 3), 1);
  EXPECT_EQ(expected_skyline(1000, 1), 1);
  // Two dimensions: the harmonic number.
  EXPECT_NEAR(expected_skyline(1000, 2), 7.4855, 0.01);
  EXPECT_NEAR(expected_skyline(1000000, 2), 14.3927, 0.01);
}

// Sizes measured on data of the classic generator.
TEST(ExpectedSkyline, OfManyDimensions) {
  EXPECT_NEAR(expected_skyline(1000000, 4), 512, 15);
  EXPECT_NEAR(expected_skyline(1000000, 8), 30277, 900);
  EXPECT_NEAR(expected_skyline(1000000, 12), 242830, 8000);
  EXPECT_NEAR(expected_skyline(1000000, 16), 626257, 20000);
  EXPECT_LE(expected_skyline(100, 64), 100);
  EXPECT_GE(expected_skyline(100, 64), 95);
}

}  // namespace
}  // namespace skyrank::planner
