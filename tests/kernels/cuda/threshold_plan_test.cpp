#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <string>

#include "kernels/cuda/topk/sampled_threshold/threshold_plan.hpp"

// How the sampled-threshold path sizes its samples.
namespace skyrank::kernels::tests {
namespace {

/// Returns the probability that a Poisson variable is r or more.
double poisson_tail(double mean, std::size_t r) {
  double term = std::exp(-mean);
  double below = 0;
  for (std::size_t i = 0; i < r; ++i) {
    below += term;
    term *= mean / static_cast<double>(i + 1);
  }
  return 1 - below;
}

TEST(PoissonQuantile, IsTheLeastThatKeepsTheRisk) {
  for (const double mean : {1e-6, 0.1, 1.0, 30.0, 600.0}) {
    for (const double risk : {0.5, 1e-2, 1e-5}) {
      const std::size_t r = cuda::topk::poisson_quantile(mean, risk);
      EXPECT_LE(poisson_tail(mean, r), risk * (1 + 1e-6)) << mean;
      if (r > 0) {
        EXPECT_GT(poisson_tail(mean, r - 1), risk * (1 - 1e-6)) << mean;
      }
    }
  }
}

TEST(PoissonQuantile, OfLargeMeansIsARoundedUpNormalOne) {
  const std::size_t r = cuda::topk::poisson_quantile(1e4, 1e-5);
  EXPECT_GT(static_cast<double>(r), 1e4 + 4.2 * 100);
  EXPECT_LT(static_cast<double>(r), 1e4 + 5 * 100);
}

TEST(ThresholdPlan, HasRoomForItsCandidates) {
  for (const std::size_t n : {std::size_t{8193}, std::size_t{1} << 20, std::size_t{1} << 29, std::size_t{1} << 40}) {
    for (std::size_t k = 1; k <= n / 4; k = 3 * k + 1) {
      SCOPED_TRACE("n = " + std::to_string(n) + ", k = " + std::to_string(k));
      const cuda::topk::ThresholdPlan plan = cuda::topk::plan_threshold(n, k);
      const std::size_t sample = plan.sample();
      EXPECT_LE(sample, n);
      EXPECT_LE(plan.rows, cuda::topk::kMaxOfBlock);
      EXPECT_TRUE(std::has_single_bit(plan.rows));
      EXPECT_TRUE(std::has_single_bit(plan.group));
      EXPECT_GE(plan.group, 2u);
      EXPECT_LE(plan.group, plan.rows);
      EXPECT_GE(plan.rank, 1u);
      EXPECT_LE(plan.rank, sample / plan.group);
      EXPECT_GE(plan.expected, k);
      EXPECT_GE(plan.capacity, plan.expected);
      EXPECT_LE(plan.capacity, n);
    }
  }
}

// The target of memory: n / 64 keys, and some multiple of k.
TEST(ThresholdPlan, KeepsLittle) {
  const std::size_t n = std::size_t{1} << 29;
  for (std::size_t k = 1; k <= n / 32; k *= 4) {
    EXPECT_LT(cuda::topk::plan_threshold(n, k).capacity * sizeof(std::uint64_t),
              n / 64 * sizeof(std::uint32_t) + 16 * k);
  }
  const std::size_t k = n / 32;
  EXPECT_LT(static_cast<double>(cuda::topk::plan_threshold(n, k).expected), 1.35 * static_cast<double>(k));
}

TEST(BinPlan, HasBinsForAllKnotsAndTakesSomeMultipleOfTheCandidates) {
  for (const std::size_t n : {std::size_t{8193}, std::size_t{1} << 20, std::size_t{1} << 29}) {
    for (std::size_t k = 1; k <= n / 4; k = 3 * k + 1) {
      const cuda::topk::ThresholdPlan plan = cuda::topk::plan_threshold(n, k);
      if (plan.expected > cuda::topk::SamplePolicy::kMaxBinned) break;
      const cuda::topk::BinPlan bins = cuda::topk::plan_bins(plan);
      EXPECT_GE(bins.knots, 1u);
      EXPECT_LE(bins.knots, std::min<std::size_t>(cuda::topk::kMaxKnots, plan.rank));
      EXPECT_GE(bins.low_bins, cuda::topk::kLowBins);
      EXPECT_LE(bins.knots * bins.width + bins.low_bins, bins.count);
      EXPECT_GE(std::size_t{bins.room} * bins.knots * bins.width, 8 * plan.expected);
      EXPECT_LE(std::size_t{bins.room} * bins.count, 32 * plan.expected + 32 * bins.count);
    }
  }
}

TEST(KeptPlan, HasBinsWhereManyAreExpected) {
  constexpr std::size_t kRows = std::size_t{1} << 24;
  const auto kept = [](std::size_t n, std::size_t k) {
    return cuda::topk::plan_kept(cuda::topk::plan_threshold(n, k));
  };
  EXPECT_FALSE(kept(kRows / 256, 10).bins.some());
  EXPECT_GT(kept(kRows / 256, 10).listed, 0U);
  for (const std::size_t k : {32, 1024, 65'536}) {
    EXPECT_TRUE(kept(kRows, k).bins.some()) << k;
    EXPECT_EQ(kept(kRows, k).listed, 0U) << k;
  }
  // More than bins are meant for goes to a list.
  EXPECT_FALSE(kept(kRows, kRows / 8).bins.some());
}

TEST(BinPlan, PlacesOfSizesLieApart) {
  for (unsigned bin = 1; bin <= cuda::topk::kBins; ++bin) {
    EXPECT_GT(cuda::topk::place_of_size(bin), cuda::topk::place_of_size(bin - 1));
    // Eight are read at a time.
    if (bin % 8 != 0) {
      EXPECT_EQ(cuda::topk::place_of_size(bin), cuda::topk::place_of_size(bin - 1) + 1);
    }
  }
  EXPECT_EQ(cuda::topk::kSizesOfBins, cuda::topk::place_of_size(cuda::topk::kBins) + 1);
}

TEST(BinPlan, OfFewKnotsHasMoreBinsBelowThem) {
  const auto bins_of = [](std::size_t rank, std::size_t expected) {
    return cuda::topk::plan_bins(
        {.blocks = 1, .group = 16, .rank = rank, .expected = expected, .capacity = 4 * expected});
  };
  // Bins for four intervals' elements are half of them, and twice as wide as others.
  for (const std::size_t rank : {6, 9, 20}) {
    const cuda::topk::BinPlan bins = bins_of(rank, 100'000);
    EXPECT_NEAR(bins.low_bins, 4 * bins.width, 8) << rank;
    EXPECT_EQ(bins.beyond, 400'000U);
  }
  EXPECT_EQ(bins_of(100, 100'000).low_bins, cuda::topk::kLowBins);
  EXPECT_EQ(bins_of(100, 100'000).beyond, 100'000U);
  EXPECT_EQ(bins_of(9, 100'000).count, cuda::topk::kBins);
  EXPECT_EQ(bins_of(9, 10'000).count, cuda::topk::kFewBins);
}

}  // namespace
}  // namespace skyrank::kernels::tests
