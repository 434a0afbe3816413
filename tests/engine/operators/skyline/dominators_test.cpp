#include "engine/operators/skyline/dominators.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace skyrank::exec {
namespace {

constexpr std::int64_t kCandidates = 5000;

/// Columns of several types: integers that floats cannot tell apart, floats with NaN, bytes, and integers with NULL.
Table random_table(std::mt19937& random) {
  std::vector<std::int64_t> large;
  std::vector<float> floats;
  std::vector<std::uint8_t> bytes;
  std::vector<double> doubles;
  std::vector<std::int32_t> few;
  std::vector<bool> has_few;
  for (std::int64_t row = 0; row < kCandidates; ++row) {
    large.push_back((std::int64_t{1} << 60) + static_cast<std::int64_t>(random() % 1000));
    floats.push_back(random() % 50 == 0 ? std::numeric_limits<float>::quiet_NaN() : static_cast<float>(random() % 64));
    bytes.push_back(static_cast<std::uint8_t>(random() % 8));
    doubles.push_back(std::ldexp(static_cast<double>(random()), static_cast<int>(random() % 300)));
    few.push_back(static_cast<std::int32_t>(random() % 100));
    has_few.push_back(random() % 20 != 0);
  }
  return Table({Column::own("large", std::move(large)), Column::own("floats", std::move(floats)),
                Column::own("bytes", std::move(bytes)), Column::own("doubles", std::move(doubles)),
                Column::own("few", std::move(few), has_few)});
}

/// Returns a value as a number of which less is better; NaN for NULL.
long double number(const Column& column, RowId row, bool high) {
  if (column.is_null(row)) return std::numeric_limits<long double>::quiet_NaN();
  const Value value = column.value(row);
  long double number = 0;
  if (const auto* integer = std::get_if<std::int64_t>(&value)) number = static_cast<long double>(*integer);
  if (const auto* floating = std::get_if<double>(&value)) number = *floating;
  return high ? -number : number;
}

class DominatorsTest : public ::testing::Test {
 protected:
  /// Orders of some columns, one after the other low and high.
  std::vector<Order> orders_of(const Table& table, const std::vector<int>& columns) {
    expressions_.clear();
    for (const int column : columns) {
      query::BoundExpression expression;
      expression.column = column;
      expression.type = table.column(column).type();
      expressions_.push_back(expression);
    }
    std::vector<Order> orders;
    for (std::size_t i = 0; i < columns.size(); ++i) orders.push_back({&expressions_[i], i % 2 == 1});
    return orders;
  }

  std::vector<query::BoundExpression> expressions_;
};

bool is_better(const Table& table, const std::vector<Order>& orders, RowId row, RowId than) {
  return std::ranges::all_of(orders, [&](const Order& order) {
    const Column& column = table.column(order.expression->column);
    return number(column, row, order.high) < number(column, than, order.high);
  });
}

TEST_F(DominatorsTest, LeaveOutOnlyRowsThatSomeRowOfTheSkylineIsBetterThanInEveryColumn) {
  std::mt19937 random(2);
  for (const std::vector<int>& columns :
       {std::vector{1}, {1, 3}, {3, 1}, {0, 1}, {2, 4}, {1, 4, 3}, {3, 2, 1, 4}, {4, 3, 2, 1, 0}}) {
    const Table table = random_table(random);
    const std::vector<Order> orders = orders_of(table, columns);
    std::vector<RowId> chosen;
    for (int i = 0; i < 40; ++i) chosen.push_back(static_cast<RowId>(random() % kCandidates));
    Dominators dominators(orders);
    dominators.learn(table, table, chosen);
    const std::vector<RowId> left = dominators.not_dominated(table);
    EXPECT_TRUE(std::ranges::is_sorted(left));
    for (RowId row = 0; row < kCandidates; ++row) {
      const bool beaten =
          std::ranges::any_of(chosen, [&](RowId better) { return is_better(table, orders, better, row); });
      EXPECT_TRUE(beaten || std::ranges::binary_search(left, row)) << "row " << row;
    }
    // Integers whose floats are equal leave nothing out.
    if (std::ranges::find(columns, 0) == columns.end()) {
      EXPECT_LT(left.size(), kCandidates) << columns.size();
    }
  }
}

TEST_F(DominatorsTest, LeaveOutCornersThatARowOfSomeSkylineIsBetterThan) {
  std::mt19937 random(4);
  for (const std::vector<int>& columns : {std::vector{1}, {1, 3}, {2, 4}, {3, 2, 1, 4}, {1, 3, 1}}) {
    const Table table = random_table(random);
    const std::vector<Order> orders = orders_of(table, columns);
    std::vector<Column> corners;
    for (const Order& order : orders) corners.push_back(table.column(order.expression->column));
    Dominators dominators(orders);
    EXPECT_EQ(dominators.corners_left(corners).size(), static_cast<std::size_t>(kCandidates));
    std::vector<RowId> chosen;
    for (int unit = 0; unit < 4; ++unit) {
      std::vector<RowId> skyline;
      for (int i = 0; i < 600; ++i) skyline.push_back(static_cast<RowId>(random() % kCandidates));
      chosen.insert(chosen.end(), skyline.begin(), skyline.end());
      dominators.learn(table, table, skyline);
    }
    const std::vector<RowId> left = dominators.corners_left(corners);
    EXPECT_LE(left.size(), dominators.not_dominated(table).size());
    for (RowId row = 0; row < kCandidates; ++row) {
      if (std::ranges::binary_search(left, row)) continue;
      EXPECT_TRUE(std::ranges::any_of(chosen, [&](RowId better) { return is_better(table, orders, better, row); }));
    }
  }
}

TEST_F(DominatorsTest, RememberTheBestOfSeveralUnits) {
  std::mt19937 random(3);
  const Table table = random_table(random);
  const std::vector<Order> orders = orders_of(table, {1, 2});
  Dominators dominators(orders);
  const std::vector<RowId> any = {17};
  dominators.learn(table, table, any);
  const std::size_t before = dominators.not_dominated(table).size();
  std::vector<RowId> all;
  for (RowId row = 0; row < kCandidates; ++row) all.push_back(row);
  dominators.learn(table, table, all);
  const std::size_t after = dominators.not_dominated(table).size();
  EXPECT_LE(after, before);
  // Nothing is better than the best byte, which an eighth has, or the best float.
  EXPECT_LT(after, kCandidates / 4);
}

TEST_F(DominatorsTest, LeaveTextsAlone) {
  const Table table(
      {Column::own("name", std::vector<std::string>{"a", "b", "c"}), Column::own("x", std::vector<double>{1, 2, 3})});
  Dominators dominators(orders_of(table, {0, 1}));
  const std::vector<RowId> first = {0};
  dominators.learn(table, table, first);
  EXPECT_TRUE(dominators.empty());
  const std::vector<Column> corners = {table.column(0), table.column(1)};
  EXPECT_EQ(dominators.corners_left(corners).size(), 3U);
}

}  // namespace
}  // namespace skyrank::exec
