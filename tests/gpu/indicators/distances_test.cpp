#include "kernels/cuda/indicators/distances.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <random>
#include <stop_token>
#include <vector>

#include "kernels/common/problem.hpp"
#include "tests/gpu/gpu_test.hpp"

// Least distances on a GPU, against all pairs one by one.
namespace skyrank::kernels::tests {
namespace {

using DistancesOnGpu = skyrank::gpu_testing::GpuTest;
using cuda::FrontRows;
using cuda::PointDistance;

constexpr PointDistance kDistances[] = {PointDistance::squared, PointDistance::squared_worse, PointDistance::difference,
                                        PointDistance::ratio};

double distance_of_pair(PointDistance kind, const double* point, const double* reference, std::size_t dims) {
  double sum = 0;
  double greatest = -std::numeric_limits<double>::infinity();
  for (std::size_t j = 0; j < dims; ++j) {
    double difference = point[j] - reference[j];
    greatest = std::max(greatest, kind == PointDistance::ratio ? point[j] / reference[j] : difference);
    if (kind == PointDistance::squared_worse) difference = std::max(difference, 0.0);
    const double square = difference * difference;
    sum += square;
  }
  return kind == PointDistance::squared || kind == PointDistance::squared_worse ? sum : greatest;
}

std::vector<double> random_points(std::mt19937_64& generator, std::size_t size, std::size_t dims) {
  std::uniform_real_distribution<double> value(0.1, 1);
  std::vector<double> points(size * dims);
  for (double& coordinate : points) coordinate = value(generator);
  return points;
}

TEST_F(DistancesOnGpu, AreThoseOfAllPairs) {
  std::mt19937_64 generator(1);
  for (const std::size_t dims : {1, 3, 64}) {
    for (const std::size_t size : {1, 31, 200}) {
      for (const std::size_t references : {1, 8, 21}) {
        const std::vector<double> values = random_points(generator, size, dims);
        const std::vector<double> others = random_points(generator, references, dims);
        for (const PointDistance kind : kDistances) {
          std::vector<double> expected(references, std::numeric_limits<double>::infinity());
          for (std::size_t r = 0; r < references; ++r) {
            for (std::size_t i = 0; i < size; ++i) {
              const double own = distance_of_pair(kind, values.data() + i * dims, others.data() + r * dims, dims);
              expected[r] = std::min(expected[r], own);
            }
          }
          EXPECT_EQ(
              cuda::least_distances(kind, {values.data(), size, dims}, {others.data(), references, dims}, Context{}),
              expected)
              << size << " points and " << references << " of " << dims << " dimensions";
        }
      }
    }
  }
}

TEST_F(DistancesOnGpu, StopWhereAsked) {
  const std::vector<double> point = {1};
  std::stop_source source;
  source.request_stop();
  Context context;
  context.stop = source.get_token();
  const FrontRows rows{point.data(), 1, 1};
  EXPECT_THROW(cuda::least_distances(PointDistance::squared, rows, rows, context), Cancelled);
}

}  // namespace
}  // namespace skyrank::kernels::tests
