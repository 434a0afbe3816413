#include "kernels/cpu/indicators/indicators.hpp"

#include <gtest/gtest.h>
#include <hwy/targets.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <set>
#include <stop_token>
#include <vector>

#include "kernels/common/problem.hpp"
#include "kernels/cpu/indicators/rank_set.hpp"
#include "kernels/cpu/indicators/value_order.hpp"
#include "kernels/cpu/threads.hpp"
#include "tests/kernels/front_points.hpp"

// Tests indicators against their definitions: volumes against inclusion and exclusion of all subsets of points, and
// contributions against the difference of two volumes.
namespace skyrank::kernels {
namespace {

struct Case {
  std::vector<double> values;
  std::size_t dims = 1;
  std::vector<double> reference;

  std::size_t size() const { return values.size() / dims; }
  PointRows rows() const { return {values.data(), size(), dims}; }
  double volume() const { return hypervolume(rows(), reference.data(), {}); }
  std::vector<double> contributions(Dominated dominated) const {
    std::vector<double> found(size(), -1);
    hypervolume_contributions(rows(), reference.data(), dominated, found, {});
    return found;
  }
  Case without(std::size_t point) const {
    Case other = *this;
    other.values = tests::without_point(values, dims, point);
    return other;
  }
  bool dominates(std::size_t a, std::size_t b) const { return tests::dominates(rows()[a], rows()[b], dims); }
};

/// Adds the volumes of all subsets of the points from `next` on, joined with a box; those of even size count negative.
double volume_of_subsets(const Case& points, std::size_t next, const std::vector<double>& corner, double sign) {
  double volume = 0;
  for (std::size_t i = next; i < points.size(); ++i) {
    std::vector<double> joined = corner;
    double box = 1;
    for (std::size_t j = 0; j < points.dims; ++j) {
      joined[j] = std::max(joined[j], points.rows()[i][j]);
      box *= std::max(0.0, points.reference[j] - joined[j]);
    }
    if (box > 0) volume += sign * box + volume_of_subsets(points, i + 1, joined, -sign);
  }
  return volume;
}

double expected_volume(const Case& points) {
  return volume_of_subsets(points, 0, std::vector<double>(points.dims, -std::numeric_limits<double>::infinity()), 1);
}

std::vector<double> expected_contributions(const Case& points, Dominated dominated) {
  std::vector<double> expected(points.size(), 0);
  Case front = points;
  std::vector<std::size_t> rows(points.size());
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  if (dominated == Dominated::left_out) {
    for (std::size_t i = points.size(); i-- > 0;) {
      bool is_dominated = false;
      for (std::size_t other = 0; other < points.size(); ++other) is_dominated |= points.dominates(other, i);
      if (!is_dominated) continue;
      front = front.without(i);
      rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  const double all = expected_volume(front);
  for (std::size_t i = 0; i < rows.size(); ++i) expected[rows[i]] = all - expected_volume(front.without(i));
  return expected;
}

/// Points of few whole values have ties, duplicates, dominated points, and points on the reference or beyond it. Their
/// volumes are whole numbers, which floating point has exactly.
Case whole_points(std::mt19937_64& generator, std::size_t dims, std::size_t size, int values) {
  std::uniform_int_distribution<int> value(0, values);
  Case points;
  points.dims = dims;
  points.reference.assign(dims, values - 1);
  for (std::size_t i = 0; i < size * dims; ++i) points.values.push_back(value(generator));
  for (double& reference : points.reference) reference += value(generator) % 2;
  return points;
}

/// Points of a sphere do not dominate each other.
Case sphere(std::mt19937_64& generator, std::size_t dims, std::size_t size) {
  std::normal_distribution<double> value;
  Case points;
  points.dims = dims;
  points.reference.assign(dims, 1.1);
  for (std::size_t i = 0; i < size; ++i) {
    std::vector<double> point(dims);
    for (double& coordinate : point) coordinate = std::abs(value(generator));
    const double length = std::sqrt(std::inner_product(point.begin(), point.end(), point.begin(), 0.0));
    for (const double coordinate : point) points.values.push_back(1 - coordinate / length);
  }
  return points;
}

/// Returns the same points with their objectives in another order, which changes no volume.
Case rotated(const Case& points) {
  Case other = points;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const auto first = other.values.begin() + static_cast<std::ptrdiff_t>(i * points.dims);
    std::rotate(first, first + 1, first + static_cast<std::ptrdiff_t>(points.dims));
  }
  std::rotate(other.reference.begin(), other.reference.begin() + 1, other.reference.end());
  return other;
}

/// Calls `test` once for each instruction set that there is code for and that this machine has.
template <class Test>
void on_each_target(const Test& test) {
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    test();
  }
  hwy::SetSupportedTargetsForTest(0);
}

TEST(Hypervolume, OfWholePointsIsThatOfAllSubsets) {
  on_each_target([] {
    std::mt19937_64 generator(1);
    for (std::size_t dims = 1; dims <= 8; ++dims) {
      for (int round = 0; round < 300; ++round) {
        const Case points = whole_points(generator, dims, generator() % 13, 2 + round % 6);
        EXPECT_EQ(points.volume(), expected_volume(points)) << dims << " dimensions, round " << round;
      }
    }
  });
}

TEST(Hypervolume, OfManyWholePointsCountsCells) {
  std::mt19937_64 generator(2);
  for (const std::size_t dims : {2, 3, 4, 5}) {
    constexpr int kValues = 9;
    const Case points = whole_points(generator, dims, 300, kValues);
    std::vector<int> cell(dims, 0);
    double expected = 0;
    for (bool more = true; more;) {
      bool inside = true;
      for (std::size_t j = 0; j < dims; ++j) inside &= cell[j] < points.reference[j];
      bool dominated = false;
      for (std::size_t i = 0; i < points.size() && inside && !dominated; ++i) {
        dominated = true;
        for (std::size_t j = 0; j < dims; ++j) dominated &= points.rows()[i][j] <= cell[j];
      }
      expected += dominated ? 1 : 0;
      std::size_t j = 0;
      while (j < dims && ++cell[j] > kValues) cell[j++] = 0;
      more = j < dims;
    }
    EXPECT_EQ(points.volume(), expected) << dims << " dimensions";
  }
}

TEST(Hypervolume, IsThatOfRotatedObjectives) {
  std::mt19937_64 generator(3);
  for (const auto& [dims, size] : std::vector<std::pair<std::size_t, std::size_t>>{
           {2, 3000}, {3, 3000}, {4, 700}, {5, 150}, {6, 70}, {7, 40}, {9, 25}, {12, 14}}) {
    const Case points = sphere(generator, dims, size);
    const double volume = points.volume();
    EXPECT_NEAR(rotated(points).volume(), volume, 1e-12 * volume) << dims << " dimensions";
  }
}

TEST(Hypervolume, OfALimitSetOfManyPoints) {
  // All points but the last limit the box of the last, in three dimensions, and do not dominate each other.
  std::mt19937_64 generator(4);
  Case flat = sphere(generator, 3, 2000);
  Case points;
  points.dims = 4;
  points.reference = {1.1, 1.1, 1.1, 1};
  for (std::size_t i = 0; i < flat.size(); ++i) {
    points.values.insert(points.values.end(), flat.rows()[i], flat.rows()[i] + 3);
    points.values.push_back(0);
  }
  points.values.insert(points.values.end(), {-1, -1, -1, 0.5});
  const double box = 2.1 * 2.1 * 2.1;
  const double volume = flat.volume();
  EXPECT_NEAR(points.volume(), volume + 0.5 * (box - volume), 1e-12 * box);
}

/// Expects the same volume and contributions, bit by bit, of one thread and of more.
void expect_the_same_on_threads(const Case& points) {
  const double volume = points.volume();
  const std::vector<double> contributions =
      points.size() > 10'000 ? std::vector<double>() : points.contributions(Dominated::left_out);
  for (const int threads : {1, 4}) {
    const WorkerThreads workers(threads);
    tbb::task_arena arena(threads);
    arena.execute([&] {
      EXPECT_EQ(points.volume(), volume);
      if (contributions.empty()) return;
      EXPECT_EQ(points.contributions(Dominated::left_out), contributions);
    });
  }
}

TEST(Hypervolume, DoesNotDependOnThreads) {
  std::mt19937_64 generator(5);
  for (const auto& [dims, size] :
       std::vector<std::pair<std::size_t, std::size_t>>{{3, 40'000}, {4, 900}, {5, 200}, {6, 80}}) {
    expect_the_same_on_threads(sphere(generator, dims, size));
  }
  // Tenths are rounded, so that sums depend on the order of points that tie.
  for (const int values : {5, 12, 40}) {
    Case points = whole_points(generator, 4, 900, values);
    for (double& value : points.values) value *= 0.1;
    for (double& value : points.reference) value *= 0.1;
    expect_the_same_on_threads(points);
  }
}

TEST(Hypervolume, StopsWhenAsked) {
  std::mt19937_64 generator(6);
  std::stop_source stop;
  stop.request_stop();
  Context context;
  context.stop = stop.get_token();
  for (const std::size_t dims : {3, 4, 6}) {
    const Case points = sphere(generator, dims, 100);
    EXPECT_THROW(hypervolume(points.rows(), points.reference.data(), context), Cancelled);
    std::vector<double> found(points.size());
    EXPECT_THROW(hypervolume_contributions(points.rows(), points.reference.data(), Dominated::kept, found, context),
                 Cancelled);
  }
}

TEST(HypervolumeContributions, OfWholePointsAreDifferences) {
  on_each_target([] {
    std::mt19937_64 generator(7);
    for (std::size_t dims = 1; dims <= 8; ++dims) {
      for (int round = 0; round < 200; ++round) {
        const Case points = whole_points(generator, dims, generator() % 10, 2 + round % 6);
        for (const Dominated dominated : {Dominated::left_out, Dominated::kept}) {
          EXPECT_EQ(points.contributions(dominated), expected_contributions(points, dominated))
              << dims << " dimensions, round " << round;
        }
      }
    }
  });
}

TEST(HypervolumeContributions, OfFrontsAreDifferences) {
  std::mt19937_64 generator(8);
  for (const auto& [dims, size] :
       std::vector<std::pair<std::size_t, std::size_t>>{{2, 300}, {3, 300}, {4, 100}, {5, 60}, {6, 30}, {9, 12}}) {
    const Case points = sphere(generator, dims, size);
    const double volume = points.volume();
    const std::vector<double> found = points.contributions(Dominated::left_out);
    for (std::size_t i = 0; i < points.size(); ++i) {
      EXPECT_NEAR(found[i], volume - points.without(i).volume(), 1e-13) << dims << " dimensions, point " << i;
    }
  }
}

TEST(HypervolumeContributions, OfThreeObjectivesAreThoseOfSlices) {
  std::mt19937_64 generator(9);
  for (int round = 0; round < 20; ++round) {
    const Case points = round % 2 == 0 ? sphere(generator, 3, 1000) : whole_points(generator, 3, 200, 20 + round);
    std::vector<double> slices(points.size());
    std::vector<double> sweep(points.size());
    indicators::contributions_by_slices(points.rows(), std::vector<double>(3, 100).data(), Dominated::left_out, slices,
                                        {});
    indicators::contributions_3d(points.rows(), std::vector<double>(3, 100).data(), sweep, {});
    for (std::size_t i = 0; i < points.size(); ++i) EXPECT_NEAR(sweep[i], slices[i], 1e-9) << i;
  }
}

double expected_distance(Distance distance, const Case& points, const double* reference) {
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < points.size(); ++i) {
    double squares = 0;
    for (std::size_t j = 0; j < points.dims; ++j) {
      const double difference = points.rows()[i][j] - reference[j];
      if (distance == Distance::euclidean || difference > 0) squares += difference * difference;
    }
    least = std::min(least, std::sqrt(squares));
  }
  return least;
}

double expected_excess(Excess excess, const Case& points, const double* reference) {
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < points.size(); ++i) {
    double greatest = -std::numeric_limits<double>::infinity();
    for (std::size_t j = 0; j < points.dims; ++j) {
      const double value = points.rows()[i][j];
      greatest = std::max(greatest, excess == Excess::ratio ? value / reference[j] : value - reference[j]);
    }
    least = std::min(least, greatest);
  }
  return least;
}

TEST(Distances, AreThoseOfTheNearestPoints) {
  on_each_target([] {
    std::mt19937_64 generator(10);
    for (const std::size_t dims : {1, 2, 3, 5, 17}) {
      for (const std::size_t size : {1, 2, 7, 8, 9, 100, 3000}) {
        Case points = sphere(generator, dims, size);
        Case reference = sphere(generator, dims, 50);
        for (double& value : points.values) value += 0.1;
        for (double& value : reference.values) value += 0.1;
        for (const Distance distance : {Distance::euclidean, Distance::worse}) {
          double sum = 0;
          for (std::size_t i = 0; i < 50; ++i) sum += expected_distance(distance, points, reference.rows()[i]);
          EXPECT_EQ(mean_distance(distance, points.rows(), reference.rows(), {}), sum / 50) << dims << " x " << size;
        }
        for (const Excess excess : {Excess::difference, Excess::ratio}) {
          double greatest = -std::numeric_limits<double>::infinity();
          for (std::size_t i = 0; i < 50; ++i) {
            greatest = std::max(greatest, expected_excess(excess, points, reference.rows()[i]));
          }
          EXPECT_EQ(least_excess(excess, points.rows(), reference.rows(), {}), greatest) << dims << " x " << size;
        }
      }
    }
  });
}

TEST(Distances, StopWhenAsked) {
  std::mt19937_64 generator(12);
  const Case points = sphere(generator, 3, 100);
  std::stop_source stop;
  stop.request_stop();
  Context context;
  context.stop = stop.get_token();
  EXPECT_THROW(mean_distance(Distance::worse, points.rows(), points.rows(), context), Cancelled);
  EXPECT_THROW(least_excess(Excess::ratio, points.rows(), points.rows(), context), Cancelled);
}

/// Values of few bins, of one, and far apart; few points and many.
TEST(ValueOrder, IsTheOrderOfValues) {
  std::mt19937_64 generator(13);
  const double most = std::numeric_limits<double>::max();
  for (const std::size_t n : {0, 1, 2, 100, 257, 5000, 70'000}) {
    for (const auto& [low, high] : std::vector<std::pair<double, double>>{
             {0, 1}, {1e9, 1e9 + 1e-5}, {-1, 1e300}, {-most, most}, {0, 5e-324}, {2, 2}}) {
      std::uniform_real_distribution<double> value(0, 1);
      std::vector<double> values(n);
      for (double& one : values) one = low + value(generator) * (high / 2 - low / 2) * 2;
      if (n > 2) values[1] = values[n - 1] = high;
      const auto less = [&](std::size_t a, std::size_t b) {
        return values[a] != values[b] ? values[a] < values[b] : a < b;
      };
      const auto found = indicators::value_order(n, [&](std::size_t i) { return values[i]; }, less, {});
      std::vector<std::size_t> expected(n);
      std::iota(expected.begin(), expected.end(), std::size_t{0});
      std::sort(expected.begin(), expected.end(), less);
      EXPECT_TRUE(std::equal(found.begin(), found.end(), expected.begin(), expected.end())) << n << ", " << low;
    }
  }
}

TEST(RankSet, FindsNeighbours) {
  std::mt19937_64 generator(11);
  for (const std::size_t n : {1, 2, 63, 64, 65, 4096, 4097, 300'000}) {
    indicators::RankSet set(n);
    std::set<std::size_t> expected;
    for (int step = 0; step < 3000; ++step) {
      const std::size_t rank = generator() % n;
      if (generator() % 3 == 0) {
        set.erase(rank);
        expected.erase(rank);
      } else {
        set.insert(rank);
        expected.insert(rank);
      }
      const std::size_t at = generator() % n;
      const auto after = expected.upper_bound(at);
      EXPECT_EQ(set.after(at), after == expected.end() ? indicators::RankSet::kNone : *after);
      const auto before = expected.lower_bound(at);
      EXPECT_EQ(set.before(at), before == expected.begin() ? indicators::RankSet::kNone : *std::prev(before));
    }
  }
}

}  // namespace
}  // namespace skyrank::kernels
