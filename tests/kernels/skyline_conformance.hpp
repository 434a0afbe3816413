#pragma once

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "tests/gpu/gpu_test.hpp"
#include "tests/kernels/algorithms.hpp"
#include "tests/kernels/problems.hpp"
#include "tests/oracle/oracle.hpp"

// Every registered skyline algorithm against the oracle. A program that includes this says which of the registry's
// entries it can run.
namespace skyrank::kernels::tests {

inline constexpr KeyWidth kSkylineWidths[] = {KeyWidth::bytes4, KeyWidth::bytes8};

class SkylineConformance : public testing::TestWithParam<const SkylineAlgorithm*> {
 protected:
  void SetUp() override {
    if (GetParam()->device == Device::cuda) skyrank::gpu_testing::require_gpu(cuda::find_devices());
  }

  /// Runs the algorithm in every setting; on the emulator, with its defaults and with one other setting after the
  /// other.
  void expect_oracle(const SkylineCase& data) {
    const SkylineProblem problem = data.problem();
    const std::vector<RowId>& expected = answer_to(problem);
    if (!GetParam()->supports(shape_of(problem))) return;
    std::vector<ParameterValues> settings = settings_of(*GetParam());
    if (kEmulated && settings.size() > 2) settings = {settings[0], settings[1 + turn_++ % (settings.size() - 1)]};
    for (const ParameterValues& values : settings) {
      ASSERT_EQ(GetParam()->run(problem, values, {}).rows, expected);
    }
  }

  SkylineSolution run(const SkylineProblem& problem, const Context& context = {}) const {
    return GetParam()->run(problem, ParameterValues(GetParam()->parameters, {}), context);
  }

  const std::vector<RowId>& answer_to(const SkylineProblem& problem) {
    return answers_.next([&] { return oracle::skyline(problem); });
  }

 private:
  std::size_t turn_ = 0;
  SharedAnswers answers_;
};

TEST_P(SkylineConformance, EveryDistribution) {
  Turns turns(7);
  for (const Distribution distribution : kDistributions) {
    for (const KeyWidth width : kSkylineWidths) {
      for (const std::size_t d : {1, 2, 3, 5, 8}) {
        if (turns.skip()) continue;
        SCOPED_TRACE(name_of(distribution) + ", d = " + std::to_string(d) + ", bits = " + std::to_string(bits(width)));
        expect_oracle({300, make_columns(distribution, 300, d, width, d), width});
      }
    }
  }
}

TEST_P(SkylineConformance, EverySize) {
  Turns turns(5);
  for (const std::size_t n : sizes()) {
    for (const KeyWidth width : kSkylineWidths) {
      for (const Distribution distribution :
           {Distribution::independent, Distribution::anticorrelated, Distribution::few_distinct}) {
        if (turns.skip()) continue;
        SCOPED_TRACE(name_of(distribution) + ", n = " + std::to_string(n) + ", bits = " + std::to_string(bits(width)));
        expect_oracle({n, make_columns(distribution, n, 4, width, n), width});
      }
    }
  }
}

TEST_P(SkylineConformance, EveryNumberOfDimensions) {
  // On the emulator those around the widths of masks, of sort keys and of what is unrolled.
  std::vector<std::size_t> dims{1, 4, 5, 16, 17, 27, 28, 32, 33, 57, 58, 64};
  if (!kEmulated) {
    dims.resize(kMaxDims);
    std::iota(dims.begin(), dims.end(), std::size_t{1});
  }
  Turns turns(7);
  for (const std::size_t d : dims) {
    for (const KeyWidth width : kSkylineWidths) {
      for (const Distribution distribution :
           {Distribution::independent, Distribution::correlated, Distribution::equal_sums, Distribution::extremes}) {
        if (turns.skip()) continue;
        SCOPED_TRACE(name_of(distribution) + ", d = " + std::to_string(d) + ", bits = " + std::to_string(bits(width)));
        expect_oracle({130, make_columns(distribution, 130, d, width, d), width});
      }
    }
  }
}

// The sum of 64 keys of 64 bits needs 70 bits: an algorithm that orders rows by a sum must not let it wrap around.
TEST_P(SkylineConformance, SumsBeyond64Bits) {
  const std::uint64_t top = ~std::uint64_t{0};
  std::vector<Values> columns(64, Values(3));
  for (std::size_t c = 0; c < 64; ++c) columns[c] = {c == 0 ? top : top - 1, top, c < 2 ? 0 : top};
  expect_oracle({3, columns, KeyWidth::bytes8});
}

// Keys that are distinct, but not where a double rounds them.
TEST_P(SkylineConformance, KeysThatRoundToTheSameDouble) {
  std::mt19937_64 engine(5);
  std::vector<Values> columns(3, Values(200));
  for (Values& column : columns) {
    std::ranges::generate(column, [&] { return (std::uint64_t{1} << 63) + engine() % 8; });
    column[0] = 0;  // so that the column's range is wide
  }
  columns[0][0] = ~std::uint64_t{0};
  expect_oracle({200, columns, KeyWidth::bytes8});
}

// A row of greatest keys only is what a padded vector would look like.
TEST_P(SkylineConformance, RowsOfGreatestKeys) {
  for (const std::size_t n : {1, 2, 17}) {
    for (const KeyWidth width : kSkylineWidths) {
      expect_oracle({n, std::vector<Values>(2, Values(n, ~std::uint64_t{0})), width});
    }
  }
}

TEST_P(SkylineConformance, RandomOrderTrees) {
  std::mt19937_64 engine(11);
  for (int round = 0; round < (kSlow ? 20 : kEmulated ? 60 : 300); ++round) {
    const std::size_t d = 1 + engine() % (round % 10 == 0 ? kMaxDims : 6);
    const KeyWidth width = kSkylineWidths[round % 2];
    const Distribution distribution = kDistributions[engine() % std::size(kDistributions)];
    SCOPED_TRACE("round " + std::to_string(round) + ", " + name_of(distribution) + ", d = " + std::to_string(d));
    expect_oracle({120, make_columns(distribution, 120, d, width, engine()), width, random_order(d, engine)});
  }
}

TEST_P(SkylineConformance, CountsWorkOnlyWhenAsked) {
  const std::size_t d = GetParam()->supports({.n = 500, .d = 4, .width = KeyWidth::bytes4}) ? 4 : 3;
  const SkylineCase data(500, make_columns(Distribution::independent, 500, d, KeyWidth::bytes4, 1), KeyWidth::bytes4);
  const SkylineSolution counted = run(data.problem(), {.count_work = true, .stop = {}});
  EXPECT_EQ(counted.rows, run(data.problem()).rows);
  // Each row but the first must at least be compared with one that decides it or with all that stay.
  EXPECT_GE(counted.work.dominance_tests + counted.work.mask_tests, 499u);
  EXPECT_GE(counted.work.bytes_read, 500u * d * 4);
  EXPECT_GE(counted.work.candidates, counted.rows.size());
  EXPECT_LE(counted.work.candidates, 500u);
  const Work none = run(data.problem()).work;
  EXPECT_EQ(none.dominance_tests + none.mask_tests + none.bytes_read + none.bytes_written + none.candidates, 0u);
}

TEST_P(SkylineConformance, StopsWhenAskedBefore) {
  const std::size_t n = 50000;
  const SkylineCase data(n, make_columns(Distribution::independent, n, 3, KeyWidth::bytes4, 1), KeyWidth::bytes4);
  std::stop_source source;
  source.request_stop();
  EXPECT_THROW(run(data.problem(), {.count_work = false, .stop = source.get_token()}), Cancelled);
}

}  // namespace skyrank::kernels::tests
