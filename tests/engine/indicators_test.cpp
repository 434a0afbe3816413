#include <skyrank/indicators.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <numeric>
#include <random>
#include <stop_token>
#include <string>
#include <vector>

#include <skyrank/error.hpp>

#include "engine/indicators/distinct_rows.hpp"
#include "kernels/cuda/device/device.hpp"

// Tests what callers give to indicators: types, strides, directions and errors. tests/kernels/indicators_test.cpp tests
// the values against their definitions. Tests crowding and survival against theirs.
#include "tests/engine/row_points.hpp"

namespace skyrank {
namespace {

using Indicator = double (*)(const Points&, const Points&, const IndicatorOptions&);

constexpr Indicator kIndicators[] = {igd, igd_plus, epsilon_additive, epsilon_multiplicative};
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Points rows_of(const std::vector<double>& values, std::size_t columns) {
  return rows_of(values, columns, Type::float64);
}

/// Returns the message of the error that a call throws.
template <class Call>
std::string error_of(const Call& call) {
  try {
    call();
  } catch (const DataError& error) {
    return error.what();
  }
  return "";
}

constexpr std::array<double, 8> kFront = {5, 5, 4, 6, 2, 7, 7, 4};
constexpr std::array<double, 1> kTen = {10};

/// Four points of two objectives.
Points front_points(Type type = Type::float64) { return {kFront.data(), type, 4, 2, 16, 8}; }

TEST(Indicators, ValuesOfTheLiterature) {
  const Points front = front_points();
  EXPECT_EQ(hypervolume(front, kTen), 38);
  EXPECT_EQ(hypervolume(front, std::vector<double>{10, 10}), 38);
  EXPECT_EQ(hypervolume(front, std::vector<double>{0}, {.maximise = {true}}), 39);
  EXPECT_EQ(hypervolume_contributions(front, kTen), (std::vector<double>{2, 1, 6, 3}));
  // Ishibuchi et al., EMO 2015, example 4: the first set is better, which IGD does not say.
  const std::vector<double> reference = {10, 0, 6, 1, 2, 2, 1, 6, 0, 10};
  const std::vector<double> a = {4, 2, 3, 3, 2, 4};
  const std::vector<double> b = {8, 2, 4, 4, 2, 8};
  EXPECT_NEAR(igd(rows_of(a, 2), rows_of(reference, 2)), 3.707092031609239, 1e-14);
  EXPECT_NEAR(igd(rows_of(b, 2), rows_of(reference, 2)), 2.59148346584763, 1e-14);
  EXPECT_NEAR(igd_plus(rows_of(a, 2), rows_of(reference, 2)), 1.482842712474619, 1e-14);
  EXPECT_NEAR(igd_plus(rows_of(b, 2), rows_of(reference, 2)), 2.260112615949154, 1e-14);
  const std::vector<double> points = {3.5, 5.5, 3.6, 4.1, 4.1, 3.2, 5.5, 1.5};
  const std::vector<double> line = {1, 6, 2, 5, 3, 4, 4, 3, 5, 2, 6, 1};
  EXPECT_EQ(epsilon_additive(rows_of(points, 2), rows_of(line, 2)), 2.5);
  EXPECT_EQ(epsilon_multiplicative(rows_of(points, 2), rows_of(line, 2)), 3.5);
}

TEST(Indicators, DominatedPointsCountIfAsked) {
  const std::vector<double> points = {5, 1, 1, 5, 4, 2, 4, 4, 5, 1};
  const std::vector<double> reference = {6};
  EXPECT_EQ(hypervolume_contributions(rows_of(points, 2), reference), (std::vector<double>{0, 3, 3, 0, 0}));
  EXPECT_EQ(hypervolume_contributions(rows_of(points, 2), reference, DominatedPoints::counted),
            (std::vector<double>{0, 3, 2, 0, 0}));
}

TEST(Indicators, TakeAllTypesAndStrides) {
  const std::vector<std::int32_t> narrow = {5, 5, 4, 6, 2, 7, 7, 4};
  const std::vector<std::uint64_t> wide = {5, 5, 4, 6, 2, 7, 7, 4};
  const std::vector<float> floats = {5, 5, 4, 6, 2, 7, 7, 4};
  EXPECT_EQ(hypervolume(rows_of(narrow, 2, Type::int32), kTen), 38);
  EXPECT_EQ(hypervolume(rows_of(wide, 2, Type::uint64), kTen), 38);
  EXPECT_EQ(hypervolume(rows_of(floats, 2, Type::float32), kTen), 38);
  EXPECT_EQ(igd(rows_of(narrow, 2, Type::int32), rows_of(floats, 2, Type::float32)), 0);
  const std::vector<double> columns = {5, 4, 2, 7, 5, 6, 7, 4};
  EXPECT_EQ(hypervolume({columns.data(), Type::float64, 4, 2, 8, 32}, kTen), 38);
  // The rows from the last to the first, and one row four times.
  EXPECT_EQ(hypervolume({kFront.data() + 6, Type::float64, 4, 2, -16, 8}, kTen), 38);
  EXPECT_EQ(hypervolume({kFront.data(), Type::float64, 4, 2, 0, 8}, kTen), 25);
}

TEST(Indicators, MaximisedObjectivesAreThoseOfNegatives) {
  std::mt19937_64 generator(1);
  std::uniform_real_distribution<double> value(0.1, 1);
  for (std::size_t dims = 1; dims <= 5; ++dims) {
    std::vector<double> points(20 * dims);
    std::vector<double> others(15 * dims);
    for (double& coordinate : points) coordinate = value(generator);
    for (double& coordinate : others) coordinate = value(generator);
    IndicatorOptions options;
    std::vector<double> reference(dims);
    std::vector<double> negative_reference(dims);
    std::vector<double> negative = points;
    std::vector<double> negative_others = others;
    for (std::size_t j = 0; j < dims; ++j) {
      options.maximise.push_back(generator() % 2 == 0);
      const double sign = options.maximise[j] ? -1 : 1;
      reference[j] = 0.6;
      negative_reference[j] = sign * 0.6;
      for (std::size_t i = j; i < points.size(); i += dims) negative[i] *= sign;
      for (std::size_t i = j; i < others.size(); i += dims) negative_others[i] *= sign;
    }
    const Points given = rows_of(points, dims);
    const Points minimised = rows_of(negative, dims);
    EXPECT_EQ(hypervolume(given, reference, options), hypervolume(minimised, negative_reference));
    for (const auto dominated : {DominatedPoints::ignored, DominatedPoints::counted}) {
      EXPECT_EQ(hypervolume_contributions(given, reference, dominated, options),
                hypervolume_contributions(minimised, negative_reference, dominated));
    }
    for (const Indicator indicator : std::initializer_list<Indicator>{igd, igd_plus, epsilon_additive}) {
      EXPECT_EQ(indicator(given, rows_of(others, dims), options),
                indicator(minimised, rows_of(negative_others, dims), {}));
    }
  }
  // The factor of a maximised objective is reference / point.
  const std::vector<double> point = {2, 3};
  const std::vector<double> target = {1, 6};
  EXPECT_EQ(epsilon_multiplicative(rows_of(point, 2), rows_of(target, 2), {.maximise = {false, true}}), 2);
  EXPECT_EQ(epsilon_multiplicative(rows_of(point, 2), rows_of(target, 2), {.maximise = {true}}), 2);
  EXPECT_EQ(epsilon_multiplicative(rows_of(point, 2), rows_of(target, 2)), 2);
}

/// Builds without GPU kernels, and machines without a GPU, say so; no points need none.
TEST(Indicators, OfADeviceThatIsNotThere) {
  if (!kernels::cuda::find_devices().devices.empty()) GTEST_SKIP() << "there is a GPU";
  const std::vector<double> values = {5, 5, 4, 6};
  const Points points = rows_of(values, 2);
  EXPECT_THROW(hypervolume(points, kTen, {}, nullptr), DeviceError);
  EXPECT_THROW(hypervolume_contributions(points, kTen, DominatedPoints::ignored, {}, nullptr), DeviceError);
  using OfDevice = double (*)(const Points&, const Points&, const IndicatorOptions&, void*);
  for (const OfDevice indicator :
       std::initializer_list<OfDevice>{igd, igd_plus, epsilon_additive, epsilon_multiplicative}) {
    EXPECT_THROW(indicator(points, points, {}, nullptr), DeviceError);
  }
  const Points none{.values = nullptr, .rows = 0, .columns = 2};
  EXPECT_EQ(hypervolume(none, kTen, {}, nullptr), 0);
}

TEST(Indicators, OfNoPoints) {
  const Points none{.values = nullptr, .rows = 0, .columns = 2};
  EXPECT_EQ(hypervolume(none, kTen), 0);
  EXPECT_TRUE(hypervolume_contributions(none, kTen).empty());
  for (const Indicator indicator : kIndicators) {
    EXPECT_EQ(indicator(none, front_points(), {}), kInfinity);
    EXPECT_EQ(error_of([&] { indicator(front_points(), none, {}); }), "the reference set has no points");
  }
}

TEST(Indicators, SayWhatIsWrong) {
  const Points front = front_points();
  EXPECT_EQ(error_of([&] {
              hypervolume(front, std::vector<double>{1, 2, 3});
            }),
            "the reference has one value for all objectives or 2, one for each, not 3");
  EXPECT_EQ(error_of([&] {
              hypervolume(front, std::vector<double>{kInfinity, 1});
            }),
            "the reference has finite values, not inf");
  EXPECT_EQ(error_of([&] {
              hypervolume(front, kTen, {.maximise = {true, false, true}});
            }),
            "`maximise` has one value for all objectives or 2, one for each, not 3");
  const std::vector<double> bad = {1, 2, 3, kNan};
  EXPECT_EQ(error_of([&] { hypervolume(rows_of(bad, 2), kTen); }), "points have finite values; row 1, column 1 is nan");
  const std::vector<double> infinite = {1, -kInfinity};
  EXPECT_EQ(error_of([&] { igd(front, rows_of(infinite, 2)); }),
            "points of the reference set have finite values; row 0, column 1 is -inf");
  EXPECT_EQ(error_of([&] {
              igd(front, Points{kFront.data(), Type::float64, 2, 4, 32, 8});
            }),
            "the points have 2 columns, and the reference set has 4");
  const std::vector<double> zero = {1, 0};
  EXPECT_EQ(error_of([&] { epsilon_multiplicative(rows_of(zero, 2), front); }),
            "points of the multiplicative epsilon have values above 0, not 0.000000");
  EXPECT_EQ(error_of([&] { epsilon_multiplicative(front, rows_of(zero, 2)); }),
            "reference sets of the multiplicative epsilon have values above 0, not 0.000000");
  EXPECT_EQ(error_of([&] { hypervolume(front_points(Type::string), kTen); }),
            "points are floats or integers of 32 or 64 bits, not string");
  EXPECT_EQ(error_of([&] { hypervolume({.values = nullptr, .rows = 1, .columns = 2}, kTen); }),
            "points are a null pointer");
  EXPECT_EQ(error_of([&] { hypervolume({.values = nullptr, .rows = 0, .columns = 0}, kTen); }),
            "points have 1 to 64 columns, not 0");
  EXPECT_EQ(error_of([&] { hypervolume({.values = nullptr, .rows = 0, .columns = 65}, kTen); }),
            "points have 1 to 64 columns, not 65");
  EXPECT_EQ(error_of([&] { hypervolume({.values = nullptr, .rows = -1, .columns = 2}, kTen); }),
            "points have 0 to 2147483647 rows, not -1");
}

TEST(Indicators, StopAndTakeThreads) {
  std::mt19937_64 generator(2);
  std::normal_distribution<double> value;
  std::vector<double> points(2500);
  for (double& coordinate : points) coordinate = value(generator);
  const std::vector<double> reference = {2};
  const double volume = hypervolume(rows_of(points, 5), reference);
  EXPECT_GT(volume, 0);
  EXPECT_EQ(hypervolume(rows_of(points, 5), reference, {.threads = 1}), volume);
  EXPECT_EQ(hypervolume(rows_of(points, 5), reference, {.threads = 3}), volume);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_THROW(hypervolume(rows_of(points, 5), reference, {.stop = stop.get_token()}), CancelledError);
  EXPECT_THROW(igd(rows_of(points, 5), rows_of(points, 5), {.stop = stop.get_token()}), CancelledError);
}

/// Returns what each row of a level gets of a column: the difference between the values after and before it by (value,
/// row), as a share of the difference between the greatest and the least finite value.
std::vector<double> column_crowding(const std::vector<double>& values) {
  std::vector<std::size_t> sorted(values.size());
  std::iota(sorted.begin(), sorted.end(), std::size_t{0});
  std::stable_sort(sorted.begin(), sorted.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> finite;
  std::copy_if(values.begin(), values.end(), std::back_inserter(finite),
               [](double value) { return std::isfinite(value); });
  double span = 1;
  if (!finite.empty()) {
    const auto [least, greatest] = std::minmax_element(finite.begin(), finite.end());
    if (*greatest > *least) span = *greatest - *least;
  }
  std::vector<double> crowding(values.size(), 0);
  if (values.empty() || values[sorted.front()] == values[sorted.back()]) return crowding;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const double before = i == 0 ? -kInfinity : values[sorted[i - 1]];
    const double after = i + 1 == sorted.size() ? kInfinity : values[sorted[i + 1]];
    if (i == 0 || i + 1 == sorted.size()) {
      crowding[sorted[i]] = kInfinity;
    } else if (before != after) {
      crowding[sorted[i]] = (after - before) / span;
    }
  }
  return crowding;
}

/// The definition, level by level.
std::vector<double> expected_crowding(const std::vector<double>& values, std::size_t columns,
                                      const std::vector<std::int32_t>& levels) {
  std::vector<double> crowding(levels.size(), 0);
  for (std::int32_t level = 0; level < static_cast<std::int32_t>(levels.size()); ++level) {
    std::vector<std::size_t> rows;
    for (std::size_t row = 0; row < levels.size(); ++row) {
      if (levels[row] == level) rows.push_back(row);
    }
    for (std::size_t j = 0; j < columns; ++j) {
      std::vector<double> column;
      for (const std::size_t row : rows) column.push_back(values[row * columns + j]);
      const std::vector<double> added = column_crowding(column);
      for (std::size_t i = 0; i < rows.size(); ++i) crowding[rows[i]] += added[i];
    }
  }
  return crowding;
}

std::vector<double> whole_values(std::mt19937_64& generator, std::size_t size, int most) {
  std::uniform_int_distribution<int> value(0, most);
  std::vector<double> values(size);
  for (double& one : values) one = value(generator);
  return values;
}

TEST(Crowding, IsAsDefined) {
  std::mt19937_64 generator(3);
  for (int round = 0; round < 300; ++round) {
    const std::size_t columns = 1 + generator() % 5;
    std::vector<double> values = whole_values(generator, columns * (generator() % 40), 1 << (round % 6));
    for (double& value : values) {
      if (round % 3 == 0 && value <= 1) value = value < 1 ? -kInfinity : kInfinity;
    }
    const Points points = rows_of(values, columns);
    EXPECT_EQ(crowding_distances(points), expected_crowding(values, columns, pareto_ranks(points))) << round;
  }
}

TEST(Crowding, OfOneRowAndOfEqualRows) {
  const std::vector<double> one = {1, 2};
  EXPECT_EQ(crowding_distances(rows_of(one, 2)), (std::vector<double>{0}));
  const std::vector<double> equal = {1, 2, 1, 2, 1, 2};
  EXPECT_EQ(crowding_distances(rows_of(equal, 2)), (std::vector<double>{0, 0, 0}));
  const std::vector<double> bad = {1, kNan};
  EXPECT_EQ(error_of([&] { crowding_distances(rows_of(bad, 2)); }), "points have no NaN; row 0, column 1 is nan");
  // Differences of finite values do not overflow.
  const double most = std::numeric_limits<double>::max();
  const std::vector<double> far = {-most, most, most / 2, -most / 2, most, -most};
  EXPECT_EQ(crowding_distances(rows_of(far, 2)), (std::vector<double>{kInfinity, 2, kInfinity}));
}

/// The definition, with constraint domination as a relation of two rows.
std::vector<RowId> expected_survivors(const std::vector<double>& values, std::size_t columns,
                                      const std::vector<double>& violations, std::size_t count) {
  const std::size_t size = values.size() / columns;
  const auto violation = [&](std::size_t row) { return violations.empty() ? 0 : std::max(0.0, violations[row]); };
  const auto dominates = [&](std::size_t a, std::size_t b) {
    if (violation(a) > 0 || violation(b) > 0) return violation(a) < violation(b);
    bool less = false;
    for (std::size_t j = 0; j < columns; ++j) {
      if (values[a * columns + j] > values[b * columns + j]) return false;
      less |= values[a * columns + j] < values[b * columns + j];
    }
    return less;
  };
  std::vector<RowId> rows;
  std::vector<bool> taken(size, false);
  while (rows.size() < size) {
    std::vector<std::size_t> level;
    for (std::size_t row = 0; row < size; ++row) {
      bool dominated = taken[row];
      for (std::size_t other = 0; other < size; ++other) dominated |= !taken[other] && dominates(other, row);
      if (dominated) continue;
      level.push_back(row);
    }
    std::vector<std::int32_t> levels(size, -1);
    for (const std::size_t row : level) levels[row] = 0;
    const std::vector<double> crowding = expected_crowding(values, columns, levels);
    std::stable_sort(level.begin(), level.end(),
                     [&](std::size_t a, std::size_t b) { return crowding[a] > crowding[b]; });
    for (const std::size_t row : level) {
      rows.push_back(static_cast<RowId>(row));
      taken[row] = true;
    }
  }
  rows.resize(count);
  return rows;
}

TEST(Survival, IsAsDefined) {
  std::mt19937_64 generator(4);
  for (int round = 0; round < 400; ++round) {
    const std::size_t columns = 1 + generator() % 4;
    const std::size_t size = generator() % 30;
    const std::vector<double> values = whole_values(generator, columns * size, 1 << (round % 5));
    std::vector<double> violations;
    if (round % 2 == 0) {
      violations = whole_values(generator, size, 6);
      for (double& violation : violations) violation -= round % 3 == 0 ? 0 : 3;
    }
    const std::size_t count = generator() % (size + 1);
    EXPECT_EQ(nsga2_survivors(rows_of(values, columns), static_cast<std::int64_t>(count), violations),
              expected_survivors(values, columns, violations, count))
        << round;
  }
}

TEST(Survival, SaysWhatIsWrong) {
  const Points front = front_points();
  EXPECT_EQ(error_of([&] { nsga2_survivors(front, 5); }), "0 to 4 rows can survive, not 5");
  EXPECT_EQ(error_of([&] { nsga2_survivors(front, -1); }), "0 to 4 rows can survive, not -1");
  EXPECT_EQ(error_of([&] { nsga2_survivors(front, 1, std::vector<double>{1}); }),
            "there is a violation for each of 4 rows, not 1");
  EXPECT_EQ(error_of([&] {
              nsga2_survivors(front, 1, std::vector<double>{1, kNan, 0, 0});
            }),
            "the violation of row 1 is NaN");
}

TEST(DistinctRows, AreTheFirstOfEqualOnes) {
  const std::vector<double> values = {0, 1, -0.0, 1, kNan, 2, 0, 1, -kNan, 2, 2, kNan};
  EXPECT_EQ(exec::distinct_rows(rows_of(values, 2)), (std::vector<RowId>{0, 2, 5}));
  const std::vector<std::int64_t> large = {(std::int64_t{1} << 53) + 1, std::int64_t{1} << 53,
                                           (std::int64_t{1} << 53) + 1};
  EXPECT_EQ(exec::distinct_rows(rows_of(large, 1, Type::int64)), (std::vector<RowId>{0, 1}));
}

}  // namespace
}  // namespace skyrank
