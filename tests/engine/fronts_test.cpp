#include <skyrank/fronts.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include <skyrank/error.hpp>

#include "tests/engine/row_points.hpp"

namespace skyrank {
namespace {

/// Returns true if the first value is better: smaller, or a number where the other is NaN.
template <class T>
bool is_better(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a)) return false;
    if (std::isnan(b)) return true;
  }
  return a < b;
}

/// The definition: a row's rank is one more than the greatest of the rows that dominate it.
template <class T>
std::vector<std::int32_t> expected_ranks(const std::vector<T>& values, std::size_t columns) {
  const std::size_t rows = values.size() / columns;
  const auto dominates = [&](std::size_t a, std::size_t b) {
    bool better = false;
    for (std::size_t c = 0; c < columns; ++c) {
      if (is_better(values[b * columns + c], values[a * columns + c])) return false;
      better |= is_better(values[a * columns + c], values[b * columns + c]);
    }
    return better;
  };
  std::vector<std::int32_t> ranks(rows, 0);
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t a = 0; a < rows; ++a) {
      for (std::size_t b = 0; b < rows; ++b) {
        if (ranks[b] > ranks[a] || !dominates(a, b)) continue;
        ranks[b] = ranks[a] + 1;
        changed = true;
      }
    }
  }
  return ranks;
}

template <class T>
void expect_fronts(const std::vector<T>& values, std::size_t columns, Type type) {
  const Points points = rows_of(values, columns, type);
  const std::vector<std::int32_t> expected = expected_ranks(values, columns);
  EXPECT_EQ(pareto_ranks(points), expected);
  std::vector<RowId> best;
  for (std::size_t row = 0; row < expected.size(); ++row) {
    if (expected[row] == 0) best.push_back(static_cast<RowId>(row));
  }
  EXPECT_EQ(nondominated_rows(points), best);
}

template <class T>
void expect_random_fronts(Type type) {
  std::mt19937_64 random(7);
  for (std::size_t columns = 1; columns <= 7; ++columns) {
    for (const std::size_t rows : {1u, 2u, 30u, 200u}) {
      SCOPED_TRACE("type " + to_string(DataType{type}) + ", " + std::to_string(rows) + " x " + std::to_string(columns));
      for (const std::uint64_t different : {3u, 1000u}) {
        std::vector<T> values(rows * columns);
        for (T& value : values)
          value = static_cast<T>(static_cast<T>(random() % different) - static_cast<T>(different / 2));
        expect_fronts(values, columns, type);
      }
    }
  }
}

TEST(Fronts, AsDefined) {
  expect_random_fronts<float>(Type::float32);
  expect_random_fronts<double>(Type::float64);
  expect_random_fronts<std::int32_t>(Type::int32);
  expect_random_fronts<std::int64_t>(Type::int64);
  expect_random_fronts<std::uint32_t>(Type::uint32);
  expect_random_fronts<std::uint64_t>(Type::uint64);
}

TEST(Fronts, NanIsWorstAndZerosAreEqual) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  expect_fronts<double>({nan, 1, infinity, 1, -infinity, 2, 0.0, 3, -0.0, 3, nan, nan, -nan, nan}, 2, Type::float64);
}

// Few rows are compared by codes of a few bits first, which tell such values apart or not at all.
TEST(Fronts, ValuesOfVeryDifferentSizes) {
  std::mt19937_64 random(11);
  for (const std::size_t columns : {3u, 4u, 10u}) {
    for (const double rare : {1e-300, 1e300, -1e300}) {
      std::vector<double> values(300 * columns);
      for (double& value : values) value = random() % 100 == 0 ? rare : 1 + 1e-9 * static_cast<double>(random() % 50);
      expect_fronts(values, columns, Type::float64);
    }
    std::vector<std::int64_t> values(300 * columns);
    for (std::int64_t& value : values) {
      value = random() % 100 == 0 ? std::numeric_limits<std::int64_t>::min() : static_cast<std::int64_t>(random() % 50);
    }
    expect_fronts(values, columns, Type::int64);
  }
}

TEST(Fronts, StridesOfAnyLayout) {
  // Two columns of three, column by column, with a gap that no alignment fits.
  std::vector<std::byte> memory(3 * 8 * 2 + 1);
  const double values[2][3] = {{1, 2, 3}, {3, 3, 1}};
  std::memcpy(memory.data() + 1, values, sizeof values);
  EXPECT_EQ(pareto_ranks({memory.data() + 1, Type::float64, 3, 2, 8, 24}), (std::vector<std::int32_t>{0, 1, 0}));
  // The same from the last row to the first.
  EXPECT_EQ(nondominated_rows({memory.data() + 17, Type::float64, 3, 2, -8, 24}), (std::vector<RowId>{0, 2}));
}

TEST(Fronts, WhatCannotBe) {
  const double value = 1;
  EXPECT_THROW(pareto_ranks({&value, Type::string, 1, 1, 8, 8}), DataError);
  EXPECT_THROW(pareto_ranks({&value, Type::float64, 1, 0, 8, 8}), DataError);
  EXPECT_THROW(pareto_ranks({&value, Type::float64, 1, 65, 8, 0}), DataError);
  EXPECT_THROW(nondominated_rows({&value, Type::float64, -1, 1, 8, 8}), DataError);
  EXPECT_THROW(nondominated_rows({&value, Type::float64, std::int64_t{1} << 31, 1, 0, 8}), DataError);
  EXPECT_TRUE(pareto_ranks({&value, Type::float64, 0, 1, 8, 8}).empty());
}

}  // namespace
}  // namespace skyrank
