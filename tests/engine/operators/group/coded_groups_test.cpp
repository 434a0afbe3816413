#include "engine/operators/group/coded_groups.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <skyrank/error.hpp>
#include <skyrank/query.hpp>

#include "tests/engine/operator_test.hpp"

// Groups that grow from units with codes, beside `group` over the same rows as one table.
namespace skyrank::exec {
namespace {

constexpr std::int64_t kRowsOfTable = 3'000;

/// A unit whose first column comes as codes.
struct Coded {
  UnitCodes codes;
  Table unit;
};

/// Returns rows [begin, end) of a table as a unit; some values have several codes.
Coded coded_unit(const Table& table, RowId begin, RowId end, Random& random) {
  const Column& keys = table.column(0);
  std::vector<RowId> rows;
  std::vector<RowId> entries;
  std::vector<std::uint32_t> codes;
  std::vector<bool> valid;
  for (RowId row = begin; row < end; ++row) {
    rows.push_back(row);
    valid.push_back(!keys.is_null(row));
    const auto is_same = [&](RowId entry) { return keys.value(entry) == keys.value(row); };
    auto found = std::ranges::find_if(entries, is_same);
    const bool again = random.below(20) == 0;
    if (valid.back() && (found == entries.end() || again)) {
      entries.push_back(row);
      found = entries.end() - 1;
    }
    codes.push_back(valid.back() ? static_cast<std::uint32_t>(found - entries.begin()) : 0);
  }
  const bool has_nulls = std::ranges::count(valid, false) > 0;
  std::vector<Column> columns;
  for (const Column& column : table.columns()) columns.push_back(take(column, rows));
  columns.front() = take(keys, std::vector<RowId>(rows.size(), begin));  // any values
  Column values = take(keys, entries);
  if (values.may_have_nulls()) {  // a bitmap without a 0
    ColumnData data = values.data();
    data.validity = {};
    values = Column(values.name(), std::move(data));
  }
  return {{Column::own("codes", std::move(codes), has_nulls ? valid : std::vector<bool>()), values, 0},
          Table(std::move(columns))};
}

query::BoundGroup bound_group(const Table& table, std::vector<Aggregate> aggregates) {
  return *query::bind(Query::from("t").group_by({"g"}).aggregate(std::move(aggregates)), query::schema_of(table)).group;
}

/// Cuts a table into units, and takes them in, in any order, into groups of two threads.
Grouped grouped_by_codes(const query::BoundGroup& group, const Table& table, Random& random) {
  std::vector<RowId> cuts{0, table.num_rows()};
  for (int i = 0; i < 4; ++i) cuts.push_back(random.below(table.num_rows() + 1));
  std::ranges::sort(cuts);
  std::array<CodedGroups, 2> threads{CodedGroups(group, table), CodedGroups(group, table)};
  std::vector<std::size_t> units{0, 1, 2, 3, 4};
  for (std::size_t i = 1; i < units.size(); ++i) {
    std::swap(units[i], units[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(i) + 1))]);
  }
  for (const std::size_t unit : units) {
    const Coded coded = coded_unit(table, cuts[unit], cuts[unit + 1], random);
    threads[static_cast<std::size_t>(random.below(2))].sink(coded.codes, coded.unit, cuts[unit]);
  }
  threads[0].combine(threads[1]);
  return threads[0].finish(table.num_rows());
}

std::string text_of(const Value& value) {
  const auto* const number = std::get_if<double>(&value);
  return number != nullptr && *number == 0 && std::signbit(*number) ? "-0" : to_string(value);
}

std::vector<std::string> texts(const Column& column) {
  std::vector<std::string> all;
  for (const Value& value : values(column)) all.push_back(text_of(value));
  return all;
}

void expect_equal(const Grouped& found, const Grouped& expected) {
  EXPECT_EQ(found.first_rows, expected.first_rows);
  ASSERT_EQ(found.table.num_columns(), expected.table.num_columns());
  for (int c = 0; c < expected.table.num_columns(); ++c) {
    EXPECT_EQ(found.table.column(c).type(), expected.table.column(c).type());
    EXPECT_EQ(texts(found.table.column(c)), texts(expected.table.column(c))) << expected.table.column(c).name();
  }
}

std::vector<bool> some_valid(Random& random) {
  std::vector<bool> valid;
  for (std::int64_t i = 0; i < kRowsOfTable; ++i) valid.push_back(random.below(9) != 0);
  return valid;
}

template <class T>
Column random_numbers(const std::string& name, DataType type, std::int64_t range, Random& random, bool nulls) {
  std::vector<T> numbers;
  for (std::int64_t i = 0; i < kRowsOfTable; ++i) {
    const std::int64_t drawn = random.below(range) - (std::is_unsigned_v<T> ? 0 : range / 3);
    numbers.push_back(static_cast<T>(drawn));
    if constexpr (std::is_floating_point_v<T>) {
      if (drawn % 7 == 1) numbers.back() = static_cast<T>(kNaN);
      if (drawn % 5 == 1) numbers.back() = static_cast<T>(-0.0);
      if (drawn % 11 == 1) numbers.back() = static_cast<T>(drawn) / 3;
    }
  }
  return Column::own_as(name, type, std::move(numbers), nulls ? some_valid(random) : std::vector<bool>());
}

Column random_texts(Random& random) {
  std::vector<std::string> texts;
  for (std::int64_t i = 0; i < kRowsOfTable; ++i) texts.push_back("text " + std::to_string(random.below(70)));
  return Column::own("g", texts, some_valid(random));
}

std::vector<Column> random_keys(Random& random) {
  return {random_numbers<std::int64_t>("g", Type::int64, 200, random, true),
          random_numbers<std::int64_t>("g", Type::int64, 2'000, random, false),
          random_numbers<std::int32_t>("g", Type::date, 100, random, true),
          random_numbers<std::uint64_t>("g", Type::uint64, 60, random, false),
          random_numbers<double>("g", Type::float64, 90, random, true),
          random_numbers<float>("g", Type::float32, 90, random, false),
          random_texts(random)};
}

TEST(CodedGroups, AreThoseOfTheRows) {
  Random random(1);
  for (int round = 0; round < 10; ++round) {
    for (const Column& keys : random_keys(random)) {
      const Table table({keys, random_numbers<double>("f", Type::float64, 500, random, true),
                         random_numbers<std::int32_t>("i", Type::int32, 500, random, false),
                         random_numbers<std::uint64_t>("u", Type::uint64, 500, random, true),
                         random_numbers<std::int64_t>("d", DataType::decimal(9, 2), 500, random, true)});
      const auto group = bound_group(
          table, {count("rows"), count("values", "f"), sum("sf", "f"), avg("af", "f"), avg("ai", "i"), sum("si", "i"),
                  sum("su", "u"), avg("au", "u"), sum("sd", "d"), avg("ad", "d"), min("nf", "f"), max("xf", "f"),
                  min("ni", "i"), max("xi", "i * 2 - 1"), max("xd", "d"), min("nu", "u"), sum("two", "f + i")});
      ASSERT_TRUE(CodedGroups::are_possible(group, table));
      expect_equal(grouped_by_codes(group, table, random), exec::group(group, table, all_rows(table)));
    }
  }
}

TEST(CodedGroups, CountRowsAlone) {
  Random random(2);
  for (const Column& keys : random_keys(random)) {
    const Table table({keys});
    const auto group = bound_group(table, {count("rows")});
    expect_equal(grouped_by_codes(group, table, random), exec::group(group, table, all_rows(table)));
  }
}

TEST(CodedGroups, ShowTheValueOfTheFirstRow) {
  const Table table({Column::own<double>("g", {-0.0, 0.0})});
  const auto group = bound_group(table, {count("rows")});
  Random random(3);
  CodedGroups groups(group, table);
  for (const RowId row : {1, 0}) {
    const Coded coded = coded_unit(table, row, row + 1, random);
    groups.sink(coded.codes, coded.unit, row);
  }
  const Grouped found = groups.finish(2);
  ASSERT_EQ(found.table.num_rows(), 1);
  EXPECT_TRUE(std::signbit(std::get<double>(found.table.column(0).value(0))));
}

TEST(CodedGroups, SumsThatOverflowNameTheFirstRowOfTheirGroup) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  const Table table({Column::own<std::int32_t>("g", {5, 7, 7}), Column::own<std::int64_t>("x", {1, kMax, 1})});
  const auto group = bound_group(table, {sum("s", "x")});
  Random random(4);
  CodedGroups groups(group, table);
  for (const RowId row : {2, 1, 0}) {
    const Coded coded = coded_unit(table, row, row + 1, random);
    groups.sink(coded.codes, coded.unit, row);
  }
  try {
    groups.finish(3);
    FAIL();
  } catch (const RowError& error) {
    EXPECT_EQ(error.row(), 1);
    EXPECT_NE(std::string(error.what()).find("sum(x) overflows int64 in the group of row"), std::string::npos);
  }
}

TEST(CodedGroups, AreNotMadeOfAllTypes) {
  const Table table({Column::own("b", std::vector<bool>{true}), Column::own<std::int64_t>("i", {1}),
                     Column::own_as("w", DataType::decimal(30, 2), std::vector<Int128>{1}),
                     Column::own("s", std::vector<std::string>{"a"})});
  const auto are_possible = [&](const Query& query) {
    return CodedGroups::are_possible(*query::bind(query, query::schema_of(table)).group, table);
  };
  EXPECT_TRUE(are_possible(Query::from("t").group_by({"s"}).aggregate({max("m", "i")})));
  EXPECT_FALSE(are_possible(Query::from("t").group_by({"b"}).aggregate({max("m", "i")})));
  EXPECT_FALSE(are_possible(Query::from("t").group_by({"i"}).aggregate({max("m", "w")})));
  EXPECT_FALSE(are_possible(Query::from("t").group_by({"w"}).aggregate({min("m", "i")})));
  EXPECT_FALSE(are_possible(Query::from("t").group_by({"i", "s"}).aggregate({count("m")})));
}

}  // namespace
}  // namespace skyrank::exec
