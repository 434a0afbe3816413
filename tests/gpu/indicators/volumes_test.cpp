#include "kernels/cuda/indicators/volumes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <random>
#include <stop_token>
#include <vector>

#include "kernels/common/problem.hpp"
#include "tests/gpu/gpu_test.hpp"
#include "tests/kernels/front_points.hpp"

// Hypervolumes on a GPU, against inclusion and exclusion of all subsets of few points, and against a sweep along each
// objective for more.
namespace skyrank::kernels::tests {
namespace {

using VolumesOnGpu = skyrank::gpu_testing::GpuTest;

struct Front {
  std::vector<double> values;
  std::size_t dims = 5;
  std::vector<double> reference;

  std::size_t size() const { return values.size() / dims; }
  cuda::FrontRows rows() const { return {values.data(), size(), dims}; }
  double volume() const { return cuda::hypervolume(rows(), reference.data(), {}); }
  std::vector<double> contributions(bool keeps_dominated, unsigned max_steps = cuda::kMaxSteps) const {
    std::vector<double> found(size(), -1);
    cuda::hypervolume_contributions(rows(), reference.data(), keeps_dominated, found, {}, max_steps);
    return found;
  }
  Front without(std::size_t point) const {
    Front other = *this;
    other.values = tests::without_point(values, dims, point);
    return other;
  }
  bool dominates(std::size_t a, std::size_t b) const { return tests::dominates(rows()[a], rows()[b], dims); }
};

/// Returns the volume of points in their first `dims` objectives, as the sum of slabs between the values of the last.
double swept_volume(std::vector<const double*> points, const std::vector<double>& reference, std::size_t dims) {
  const std::size_t last = dims - 1;
  std::erase_if(points, [&](const double* point) { return point[last] >= reference[last]; });
  std::sort(points.begin(), points.end(), [&](const double* a, const double* b) { return a[last] < b[last]; });
  if (points.empty()) return 0;
  if (dims == 1) return reference[0] - points.front()[0];
  double volume = 0;
  std::vector<const double*> below;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double* const added = points[i];
    const auto is_no_less = [&](const double* a, const double* b) {
      for (std::size_t j = 0; j < last; ++j) {
        if (a[j] < b[j]) return false;
      }
      return true;
    };
    const bool adds = std::none_of(below.begin(), below.end(), [&](const double* b) { return is_no_less(added, b); });
    if (adds) {
      std::erase_if(below, [&](const double* b) { return is_no_less(b, added); });
      below.push_back(added);
    }
    const double end = i + 1 < points.size() ? points[i + 1][last] : reference[last];
    if (end > added[last]) volume += (end - added[last]) * swept_volume(below, reference, last);
  }
  return volume;
}

double expected_volume(const Front& front) {
  std::vector<const double*> points;
  for (std::size_t i = 0; i < front.size(); ++i) points.push_back(front.rows()[i]);
  return swept_volume(points, front.reference, front.dims);
}

/// Returns the sum of the volumes of all subsets of the points from `next` on, joined with a corner; those of even size
/// count negative. It takes as long for many dimensions as for few.
double volume_of_subsets(const Front& front, std::size_t next, const std::vector<double>& corner, double sign) {
  double volume = 0;
  for (std::size_t i = next; i < front.size(); ++i) {
    std::vector<double> joined = corner;
    double box = 1;
    for (std::size_t j = 0; j < front.dims; ++j) {
      joined[j] = std::max(joined[j], front.rows()[i][j]);
      box *= std::max(0.0, front.reference[j] - joined[j]);
    }
    if (box > 0) volume += sign * box + volume_of_subsets(front, i + 1, joined, -sign);
  }
  return volume;
}

std::vector<double> expected_contributions(const Front& front, bool keeps_dominated) {
  Front kept = front;
  std::vector<std::size_t> rows(front.size());
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  for (std::size_t i = front.size(); i-- > 0 && !keeps_dominated;) {
    bool is_dominated = false;
    for (std::size_t other = 0; other < front.size(); ++other) is_dominated |= front.dominates(other, i);
    if (!is_dominated) continue;
    kept = kept.without(i);
    rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(i));
  }
  const double all = expected_volume(kept);
  std::vector<double> expected(front.size(), 0);
  for (std::size_t i = 0; i < rows.size(); ++i) expected[rows[i]] = all - expected_volume(kept.without(i));
  return expected;
}

/// Points of few whole values have ties, duplicates, dominated points, and points on the reference or beyond it, one in
/// six. Their volumes are whole numbers, which floating point has exactly.
Front whole_points(std::mt19937_64& generator, std::size_t dims, std::size_t size, int values) {
  std::uniform_int_distribution<int> value(0, values);
  Front front;
  front.dims = dims;
  front.reference.assign(dims, values + 1);
  for (std::size_t i = 0; i < size * dims; ++i) front.values.push_back(value(generator));
  for (std::size_t i = 0; i < size; i += 6) front.values[i * dims + generator() % dims] = values + 1 + value(generator);
  return front;
}

/// Points of a sphere, or of a plane, do not dominate each other.
Front front_of_length(std::mt19937_64& generator, std::size_t dims, std::size_t size, double power) {
  std::exponential_distribution<double> value;
  Front front;
  front.dims = dims;
  front.reference.assign(dims, 1.1);
  for (std::size_t i = 0; i < size; ++i) {
    std::vector<double> point(dims);
    double length = 0;
    for (double& coordinate : point) length += std::pow(coordinate = value(generator), power);
    for (const double coordinate : point) front.values.push_back(1 - coordinate / std::pow(length, 1 / power));
  }
  return front;
}

void expect_near(const std::vector<double>& found, const std::vector<double>& expected, double tolerance) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], tolerance) << "point " << i;
}

TEST_F(VolumesOnGpu, OfWholePointsAreExact) {
  std::mt19937_64 generator(1);
  for (std::size_t dims = 5; dims <= 10; ++dims) {
    for (int round = 0; round < 12; ++round) {
      const std::size_t most = dims < 8 ? 20 : 12;
      const Front front = whole_points(generator, dims, generator() % most, 2 + round % 6);
      EXPECT_EQ(front.volume(), expected_volume(front)) << dims << " dimensions, round " << round;
    }
  }
}

TEST_F(VolumesOnGpu, ContributionsOfWholePointsAreExact) {
  std::mt19937_64 generator(2);
  for (std::size_t dims = 4; dims <= 8; ++dims) {
    for (int round = 0; round < 10; ++round) {
      const Front front = whole_points(generator, dims, generator() % (dims < 7 ? 16 : 11), 2 + round % 6);
      for (const bool keeps_dominated : {false, true}) {
        EXPECT_EQ(front.contributions(keeps_dominated), expected_contributions(front, keeps_dominated))
            << dims << " dimensions, round " << round;
      }
    }
  }
}

TEST_F(VolumesOnGpu, OfSpheresAndPlanes) {
  std::mt19937_64 generator(3);
  for (const double power : {1.0, 2.0}) {
    for (const auto& [dims, size] : {std::pair<std::size_t, std::size_t>{5, 80}, {6, 40}, {7, 24}}) {
      const Front front = front_of_length(generator, dims, size, power);
      const double expected = expected_volume(front);
      EXPECT_NEAR(front.volume(), expected, 1e-12 * expected) << dims << " dimensions, power " << power;
    }
    const Front front = front_of_length(generator, 4, 70, power);
    expect_near(front.contributions(false), expected_contributions(front, false), 1e-12);
  }
}

/// More points than a warp has lanes, of which many limit each other, so that lists of several vectors shift.
TEST_F(VolumesOnGpu, OfManyPointsInALine) {
  Front front;
  front.reference.assign(front.dims, 200);
  for (int i = 0; i < 150; ++i) {
    for (const int value : {i, 150 - i, i, 150 - i, i}) front.values.push_back(value);
  }
  const double expected = expected_volume(front);
  EXPECT_NEAR(front.volume(), expected, 1e-12 * expected);
}

TEST_F(VolumesOnGpu, OfFewPoints) {
  for (std::size_t dims = 5; dims <= kMaxDims; dims += 7) {
    Front front;
    front.dims = dims;
    front.reference.assign(dims, 2);
    EXPECT_EQ(front.volume(), 0);
    EXPECT_TRUE(front.contributions(false).empty());
    front.values.assign(dims, 2);  // on the reference
    EXPECT_EQ(front.volume(), 0);
    EXPECT_EQ(front.contributions(false), std::vector<double>{0});
    front.values.assign(dims, 1);
    EXPECT_EQ(front.volume(), 1);
    EXPECT_EQ(front.contributions(false), std::vector<double>{1});
    front.values.insert(front.values.end(), dims, 1);
    EXPECT_EQ(front.volume(), 1);
    EXPECT_EQ(front.contributions(true), (std::vector<double>{0, 0}));
    front.values.back() = 1.5;  // dominated
    EXPECT_EQ(front.volume(), 1);
    EXPECT_EQ(front.contributions(false), (std::vector<double>{1, 0}));
    EXPECT_EQ(front.contributions(true), (std::vector<double>{0.5, 0}));
  }
}

/// Many dimensions have levels that shared memory has no room for.
TEST_F(VolumesOnGpu, OfManyDimensions) {
  std::mt19937_64 generator(4);
  for (const std::size_t dims : {12, 20, 33, 64}) {
    Front front = whole_points(generator, dims, 12, 3);
    front.reference.assign(dims, 3.5);
    const std::vector<double> least(dims, -std::numeric_limits<double>::infinity());
    const double expected = volume_of_subsets(front, 0, least, 1);
    EXPECT_NEAR(front.volume(), expected, 1e-11 * expected) << dims << " dimensions";
  }
}

/// A warp whose steps are used up goes on in a later launch.
TEST_F(VolumesOnGpu, AreTheSameInManyLaunches) {
  std::mt19937_64 generator(5);
  for (const std::size_t dims : {4, 6, 14}) {
    const Front front = front_of_length(generator, dims, dims == 4 ? 40 : dims == 6 ? 20 : 14, 2);
    const std::vector<double> once = front.contributions(false);
    EXPECT_EQ(front.contributions(false, 7), once);
    EXPECT_EQ(front.contributions(false, 100), once);
    if (dims < cuda::kMinHypervolumeDims) continue;
    EXPECT_EQ(cuda::hypervolume(front.rows(), front.reference.data(), {}, 11), front.volume());
  }
}

TEST_F(VolumesOnGpu, StopWhereAsked) {
  std::mt19937_64 generator(6);
  const Front front = front_of_length(generator, 6, 20, 2);
  std::stop_source source;
  source.request_stop();
  Context context;
  context.stop = source.get_token();
  EXPECT_THROW(cuda::hypervolume(front.rows(), front.reference.data(), context), Cancelled);
}

}  // namespace
}  // namespace skyrank::kernels::tests
