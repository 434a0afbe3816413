#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <string>

#include "kernels/papers/common/subrange.hpp"
#include "kernels/papers/cuda/topk/randomized_select/pivots.hpp"

// Tests the decisions of GPU top-k algorithms on the host.
namespace skyrank::kernels::tests {
namespace {

namespace delegate = cuda::topk::delegate;

constexpr double kCounts[] = {1 << 10, 1e5, 1 << 22, 1e9, 1e12};
constexpr double kParts[] = {1, 1e-1, 1e-3, 1e-6};

TEST(SubrangeRule, IsTheLeastOfEquationSix) {
  for (const double n : kCounts) {
    for (const double part : kParts) {
      const double k = std::max(1.0, part * n);
      for (const double constant : {1.0, 3.0, 5.0}) {
        const double shuffle = delegate::shuffle_cost(constant);
        const double best = delegate::best_exponent(n, k, constant);
        const double least = delegate::delegate_cost(n, k, best, shuffle);
        for (const double other : {0.1, 1.0, 4.0}) {
          EXPECT_LT(least, delegate::delegate_cost(n, k, best - other, shuffle)) << n << ", " << k;
          EXPECT_LT(least, delegate::delegate_cost(n, k, best + other, shuffle)) << n << ", " << k;
        }
      }
    }
  }
}

TEST(SubrangeRule, ConstantAndShuffleCostAreOneFigure) {
  EXPECT_EQ(delegate::shuffle_cost(0), 0);
  for (const double constant : {1.0, 3.0, 4.5}) {
    EXPECT_NEAR(std::log2(6 + 31 * delegate::shuffle_cost(constant)) - std::log2(6), constant, 1e-12);
  }
}

// Equation 6, added up by hand: one shuffle costs one access.
TEST(SubrangeRule, EquationSixAddsUp) {
  EXPECT_DOUBLE_EQ(delegate::delegate_cost(1024, 2, 4, 1), 31 * 64 + 6 * 64 + 6 * 2 * 16 + 4 + 1024);
  EXPECT_DOUBLE_EQ(delegate::radix_cost(1024, 2), 5 * 1024 + 4);
}

// Section 5.3: 2^4 for the 2^24 best of 2^30.
TEST(SubrangeRule, GivesThePapersExample) {
  EXPECT_EQ(static_cast<int>(delegate::best_exponent(1 << 30, 1 << 24, delegate::kPaperConstant)), 4);
}

// Values measured on an H200.
TEST(SubrangeRule, IsCalibrated) {
  constexpr std::size_t kRows = std::size_t{1} << 29;
  EXPECT_EQ(delegate::subranges_for(kRows, 1 << 10, 2).exponent, 12);
  EXPECT_EQ(delegate::subranges_for(kRows, 1 << 20, 2).exponent, 7);
  EXPECT_EQ(delegate::subranges_for(kRows, 1 << 24, 2).exponent, 5);
}

TEST(Subranges, CoverAllElements) {
  for (const std::size_t n : {1000, 1024, 1025, 99999}) {
    for (int exponent = 1; exponent <= 16; ++exponent) {
      for (int beta = 1; beta <= 4; ++beta) {
        const delegate::Subranges subranges = delegate::subranges_for(n, 10, beta, exponent);
        EXPECT_EQ(subranges.exponent, std::max({exponent, 2, beta == 4 ? 3 : 2}));
        EXPECT_GE(subranges.count << subranges.exponent, n);
        EXPECT_LT((subranges.count - 1) << subranges.exponent, n);
        EXPECT_GT(std::size_t{1} << subranges.exponent, static_cast<std::size_t>(beta));
      }
    }
  }
}

TEST(Subranges, AreUsefulOnlyWithMoreDelegatesThanAreWanted) {
  EXPECT_TRUE(delegate::subranges_for(1024, 63, 1, 4).useful);
  EXPECT_FALSE(delegate::subranges_for(1024, 64, 1, 4).useful);
  EXPECT_TRUE(delegate::subranges_for(1024, 127, 2, 4).useful);
  EXPECT_FALSE(delegate::subranges_for(1024, 128, 2, 4).useful);
  // Delegates of the last, short, subrange do not count: it may have none.
  EXPECT_FALSE(delegate::subranges_for(1039, 64, 1, 4).useful);
}

TEST(Subranges, OfTheRuleAreUsefulUpToASixteenth) {
  const std::size_t n = 1 << 20;
  for (std::size_t k = 1; k <= n; k *= 2) {
    const delegate::Subranges subranges = delegate::subranges_for(n, k, 2);
    EXPECT_EQ(subranges.useful, k <= n / 16) << k;
    EXPECT_LE(subranges.exponent, delegate::kGreatestExponent);
  }
}

TEST(Pivots, BucketProbabilitiesAreBinomial) {
  // 10 of 20 splitters below the median: 184756 / 2^20.
  EXPECT_NEAR(cuda::topk::bucket_probability(20, 10, 0.5), 184756.0 / 1048576, 1e-12);
  EXPECT_NEAR(cuda::topk::bucket_probability(3, 0, 0.1), 0.729, 1e-12);
  for (const double p : {1e-9, 0.01, 0.5, 0.999}) {
    double sum = 0;
    for (std::size_t i = 0; i <= 1000; ++i) sum += cuda::topk::bucket_probability(1000, i, p);
    EXPECT_NEAR(sum, 1, 1e-9) << p;
  }
}

TEST(Pivots, HoldTheRowWithTheWishedProbabilityAndNoMoreThanNeeded) {
  for (const std::size_t n : {2, 10, 1000, 1 << 20, 1 << 29}) {
    const std::size_t splitters = cuda::topk::splitter_count(n);
    for (const std::size_t k : {std::size_t{1}, n / 1000 + 1, n / 2, n - 1}) {
      for (const double wished : {0.01, 0.3, 0.8, 0.99}) {
        SCOPED_TRACE("n = " + std::to_string(n) + ", k = " + std::to_string(k) + ", p = " + std::to_string(wished));
        const double p = static_cast<double>(k) / static_cast<double>(n);
        const cuda::topk::PivotPair pivots = cuda::topk::likely_pivots(n, k, splitters, wished);
        ASSERT_LT(pivots.low, pivots.high);
        ASSERT_GE(pivots.low, -1);
        ASSERT_LE(pivots.high, static_cast<std::ptrdiff_t>(splitters));
        double sum = 0;
        for (auto i = pivots.low + 1; i <= pivots.high; ++i) {
          sum += cuda::topk::bucket_probability(splitters, static_cast<std::size_t>(i), p);
        }
        EXPECT_GE(sum, wished * (1 - 1e-9));
        // Without the outermost buckets it would not do.
        if (pivots.high - pivots.low > 2) {
          const double lowest = cuda::topk::bucket_probability(splitters, static_cast<std::size_t>(pivots.low + 1), p);
          const double highest = cuda::topk::bucket_probability(splitters, static_cast<std::size_t>(pivots.high), p);
          EXPECT_LT(sum - lowest - highest, wished);
        }
      }
    }
  }
}

TEST(Pivots, OfTheFirstRowAreTheFirstBucket) {
  const std::size_t n = 1 << 20;
  EXPECT_EQ(cuda::topk::likely_pivots(n, 1, cuda::topk::splitter_count(n), 0.8), (cuda::topk::PivotPair{-1, 0}));
}

TEST(Pivots, ShiftByWholeRangesUpToTheEnds) {
  const cuda::topk::PivotPair pivots{10, 15};
  EXPECT_EQ(cuda::topk::shifted_up(pivots, 100), (cuda::topk::PivotPair{15, 20}));
  EXPECT_EQ(cuda::topk::shifted_up(pivots, 17), (cuda::topk::PivotPair{15, 17}));
  EXPECT_EQ(cuda::topk::shifted_down(pivots), (cuda::topk::PivotPair{5, 10}));
  EXPECT_EQ(cuda::topk::shifted_down(cuda::topk::PivotPair{2, 7}), (cuda::topk::PivotPair{-1, 2}));
}

}  // namespace
}  // namespace skyrank::kernels::tests
