#include "engine/operators/group/group.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include <skyrank/error.hpp>
#include <skyrank/query.hpp>

#include "tests/engine/operator_test.hpp"

namespace skyrank::exec {
namespace {

using Ids = std::vector<RowId>;
using Function = Aggregate::Function;

constexpr std::int64_t kMaxInteger = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMinInteger = std::numeric_limits<std::int64_t>::min();

/// Groups by the column `g` through the binder, so that types are those a query gets.
Grouped group_by_g(const Table& table, std::vector<Aggregate> aggregates) {
  Query query = Query::from("t").group_by({"g"}).aggregate(std::move(aggregates));
  const query::BoundQuery bound = query::bind(query, query::schema_of(table));
  return group(*bound.group, table, all_rows(table));
}

/// The only aggregate over values that all are in one group.
Column over(Column column, Function function) {
  const auto n = static_cast<std::size_t>(column.size());
  const Table table({Column::own("g", std::vector<std::int8_t>(n)), column.renamed("x")});
  return group_by_g(table, {Aggregate{"out", function, Expression("x")}}).table.column("out");
}

Value value_over(Column column, Function function) { return over(std::move(column), function).value(0); }

TEST(Group, GroupsComeInOrderOfTheirFirstRows) {
  const Table table({text_column("g", {"b", "a", "b", "c", "a"}), Column::own<std::int32_t>("x", {1, 2, 3, 4, 5})});
  const Grouped grouped = group_by_g(table, {count("n"), sum("s", "x")});
  EXPECT_EQ(grouped.first_rows, (Ids{0, 1, 3}));
  EXPECT_EQ(values(grouped.table.column("g")),
            (std::vector<Value>{std::string("b"), std::string("a"), std::string("c")}));
  EXPECT_EQ(values(grouped.table.column("n")), (std::vector<Value>{std::int64_t{2}, std::int64_t{2}, std::int64_t{1}}));
  EXPECT_EQ(values(grouped.table.column("s")), (std::vector<Value>{std::int64_t{4}, std::int64_t{7}, std::int64_t{4}}));
}

TEST(Group, ShowsTheValueOfTheFirstRow) {
  const Table table({Column::own<double>("g", {-0.0, 0.0})});
  const Grouped grouped = group_by_g(table, {count("n")});
  ASSERT_EQ(grouped.table.num_rows(), 1);
  EXPECT_TRUE(std::signbit(std::get<double>(grouped.table.column("g").value(0))));
}

TEST(Group, OfFilteredRows) {
  const Table table({Column::own<std::int64_t>("g", {1, 1, 2, 2}), Column::own<std::int64_t>("x", {1, 2, 3, 4})});
  Query query = Query::from("t").group_by({"g"}).aggregate({max("m", "x"), min("l", "x + 1")});
  const query::BoundQuery bound = query::bind(query, query::schema_of(table));
  const Ids rows{1, 3};
  const Grouped grouped = group(*bound.group, table, {2, rows.data()});
  EXPECT_EQ(grouped.first_rows, (Ids{1, 3}));
  EXPECT_EQ(values(grouped.table.column("m")), (std::vector<Value>{std::int64_t{2}, std::int64_t{4}}));
  EXPECT_EQ(values(grouped.table.column("l")), (std::vector<Value>{std::int64_t{3}, std::int64_t{5}}));
}

TEST(Group, NoRowsMakeNoGroups) {
  const Table table({Column::own<std::int64_t>("g", {}), Column::own<double>("x", {})});
  const Grouped grouped = group_by_g(table, {count("n"), sum("s", "x"), min("m", "x"), avg("a", "x")});
  EXPECT_EQ(grouped.table.num_rows(), 0);
  EXPECT_EQ(grouped.table.num_columns(), 5);
}

TEST(Group, AggregatesSkipNulls) {
  const auto column = [] { return Column::own<std::int32_t>("x", {5, 1, 9}, {true, false, true}); };
  EXPECT_EQ(value_over(column(), Function::count), Value(std::int64_t{2}));
  EXPECT_EQ(value_over(column(), Function::sum), Value(std::int64_t{14}));
  EXPECT_EQ(value_over(column(), Function::min), Value(std::int64_t{5}));
  EXPECT_EQ(value_over(column(), Function::max), Value(std::int64_t{9}));
  EXPECT_EQ(value_over(column(), Function::avg), Value(7.0));
}

TEST(Group, NothingButNulls) {
  const auto column = [] { return Column::own<std::int32_t>("x", {5, 1}, {false, false}); };
  EXPECT_EQ(value_over(column(), Function::count), Value(std::int64_t{0}));
  for (const Function function : {Function::sum, Function::min, Function::max, Function::avg}) {
    EXPECT_EQ(value_over(column(), function), Value(Null{}));
  }
}

TEST(Group, NaNSpreadsThroughSumsButNotThroughExtremes) {
  const auto column = [] { return Column::own<double>("x", {kNaN, 2, 1}); };
  EXPECT_TRUE(std::isnan(std::get<double>(value_over(column(), Function::sum))));
  EXPECT_TRUE(std::isnan(std::get<double>(value_over(column(), Function::avg))));
  EXPECT_EQ(value_over(column(), Function::min), Value(1.0));
  EXPECT_EQ(value_over(column(), Function::max), Value(2.0));
  EXPECT_TRUE(std::isnan(std::get<double>(value_over(Column::own<double>("x", {kNaN, kNaN}), Function::max))));
}

TEST(Group, ExtremesKeepTheType) {
  const auto type_of_max = [](Column column) { return over(std::move(column), Function::max).type(); };
  EXPECT_EQ(type_of_max(Column::own<std::int8_t>("x", {1})), DataType(Type::int8));
  EXPECT_EQ(type_of_max(Column::own<std::uint16_t>("x", {1})), DataType(Type::uint16));
  EXPECT_EQ(type_of_max(Column::own<float>("x", {1})), DataType(Type::float32));
  EXPECT_EQ(type_of_max(Column::own<Float16>("x", {{0x3c00}})), DataType(Type::float16));
  EXPECT_EQ(type_of_max(Column::own<Date>("x", {{1}})), DataType(Type::date));
  EXPECT_EQ(type_of_max(Column::own("x", std::vector<bool>{true})), DataType(Type::boolean));
  const DataType stamp(Type::timestamp, TimeUnit::millisecond);
  EXPECT_EQ(type_of_max(Column::own_as<std::int64_t>("x", stamp, {1})), stamp);
}

TEST(Group, ExtremesOfEveryKind) {
  EXPECT_EQ(value_over(Column::own<std::uint64_t>("x", {1, ~std::uint64_t{0}}), Function::max),
            Value(~std::uint64_t{0}));
  EXPECT_EQ(value_over(Column::own<std::int64_t>("x", {kMinInteger, kMaxInteger}), Function::min), Value(kMinInteger));
  EXPECT_EQ(value_over(Column::own<Date>("x", {{3}, {-5}}), Function::min), Value(Date{-5}));
  EXPECT_EQ(value_over(Column::own("x", std::vector<bool>{false, true}), Function::max), Value(true));
  EXPECT_EQ(value_over(Column::own<float>("x", {0.1F, 0.5F}), Function::min), Value(static_cast<double>(0.1F)));
}

TEST(Group, ExtremesOfEqualValuesAreTheFirst) {
  EXPECT_TRUE(std::signbit(std::get<double>(value_over(Column::own<double>("x", {-0.0, 0.0}), Function::max))));
}

TEST(Group, SumsOfIntegersAreExact) {
  EXPECT_EQ(value_over(Column::own<std::int64_t>("x", {kMaxInteger, 1, -1}), Function::sum), Value(kMaxInteger))
      << "what overflows on the way but not in the end is no overflow";
  EXPECT_EQ(value_over(Column::own<std::uint64_t>("x", {~std::uint64_t{0} - 1, 1}), Function::sum),
            Value(~std::uint64_t{0}));
  EXPECT_EQ(over(Column::own<std::uint8_t>("x", {200, 100}), Function::sum).type(), DataType(Type::uint64));
  EXPECT_EQ(over(Column::own<std::int8_t>("x", {100, 100}), Function::sum).value(0), Value(std::int64_t{200}));
}

TEST(Group, AveragesOfLargeIntegersDoNotOverflow) {
  EXPECT_EQ(value_over(Column::own<std::int64_t>("x", {kMaxInteger, kMaxInteger}), Function::avg),
            Value(static_cast<double>(kMaxInteger)));
  EXPECT_EQ(value_over(Column::own<std::uint8_t>("x", {1, 2}), Function::avg), Value(1.5));
}

TEST(Group, AnOverflowNamesTheFirstRowOfTheGroup) {
  const Table table(
      {Column::own<std::int64_t>("g", {1, 2, 1, 2}), Column::own<std::int64_t>("x", {1, kMaxInteger, 1, 1})});
  try {
    group_by_g(table, {sum("s", "x")});
    FAIL() << "the overflow went through";
  } catch (const DataError& error) {
    EXPECT_NE(error.message().find("row 1"), std::string::npos) << error.message();
    EXPECT_NE(error.message().find("sum(x)"), std::string::npos) << error.message();
  }
}

// Sums of floats are exact and rounded once, for any number of threads.
TEST(Group, FloatSumsAreTheSameForAnyNumberOfThreads) {
  Random random(1);
  std::vector<std::int64_t> groups;
  std::vector<double> numbers;
  for (int i = 0; i < 200'000; ++i) {
    groups.push_back(random.below(10) == 0 ? random.below(1000) : 0);  // one large group and many small ones
    numbers.push_back(static_cast<double>(random.below(1'000'000)) * 1e-3 + 1e-12);
  }
  const Table table({Column::own("g", groups), Column::own("x", numbers)});
  const auto run = [&](int threads) {
    return with_threads(threads, [&] {
      const Grouped grouped = group_by_g(table, {sum("s", "x"), avg("a", "x"), count("n"), max("m", "x")});
      std::vector<std::vector<Value>> all;
      for (const Column& column : grouped.table.columns()) all.push_back(values(column));
      return all;
    });
  };
  EXPECT_EQ(run(1), run(4));
}

TEST(Group, LargeGroupsAgreeWithALoop) {
  Random random(2);
  std::vector<std::int64_t> groups;
  std::vector<std::int64_t> numbers;
  std::vector<std::int64_t> sums(3);
  std::vector<std::int64_t> lowest(3, kMaxInteger);
  for (int i = 0; i < 100'000; ++i) {
    groups.push_back(i < 3 ? i : random.below(3));  // in order of first rows: 0, 1, 2
    numbers.push_back(random.below(1'000'000) - 500'000);
    sums[groups.back()] += numbers.back();
    lowest[groups.back()] = std::min(lowest[groups.back()], numbers.back());
  }
  const Table table({Column::own("g", groups), Column::own("x", numbers)});
  const Grouped grouped = group_by_g(table, {sum("s", "x"), min("m", "x")});
  for (int g = 0; g < 3; ++g) {
    EXPECT_EQ(grouped.table.column("s").value(g), Value(sums[g]));
    EXPECT_EQ(grouped.table.column("m").value(g), Value(lowest[g]));
  }
}

/// The sum rounded once, of at most 2^17 values from 0 to 1,000, which have no bits below 2^-92.
double exact_sum(const std::vector<double>& values) {
  __extension__ using Int128 = __int128;
  Int128 high = 0;  // in units of 2^-40
  Int128 low = 0;   // in units of 2^-92
  for (const double value : values) {
    const double whole = std::floor(std::ldexp(value, 40));
    high += static_cast<std::int64_t>(whole);
    low += static_cast<std::int64_t>(std::ldexp(std::ldexp(value, 40) - whole, 52));
  }
  return static_cast<double>((high << 52) + low) * 0x1p-92;
}

constexpr std::int64_t kSkewedRows = 100'000;  // enough for shards of several threads

/// Groups of skewed sizes, one of them of most rows.
Table skewed_table(std::int64_t groups) {
  Random random(static_cast<std::uint64_t>(groups));
  std::vector<std::int64_t> g;
  std::vector<double> x;
  for (std::int64_t i = 0; i < kSkewedRows; ++i) {
    g.push_back(random.below(3) == 0 ? random.below(groups) : groups / 2);
    x.push_back(static_cast<double>(random.below(1'000'000)) * 1e-3 + 1e-12);
  }
  return Table({Column::own("g", g), Column::own("x", x)});
}

TEST(Group, AggregatesAgreeWithALoopToTheLastBit) {
  for (const std::int64_t groups : {1, 7, 3000, 30'000}) {
    SCOPED_TRACE(groups);
    const Table table = skewed_table(groups);
    std::map<std::int64_t, std::vector<double>> expected;
    for (std::int64_t i = 0; i < kSkewedRows; ++i) {
      expected[std::get<std::int64_t>(table.column("g").value(i))].push_back(
          std::get<double>(table.column("x").value(i)));
    }
    const Query query = Query::from("t").group_by({"g"}).aggregate({count("n"), sum("s", "x"), max("m", "x")});
    const query::BoundQuery bound = query::bind(query, query::schema_of(table));
    for (const auto& [threads, numbering] : {std::pair(1, Numbering::by_values), std::pair(4, Numbering::by_values),
                                             std::pair(4, Numbering::by_hashing)}) {
      const Grouped grouped =
          with_threads(threads, [&, by = numbering] { return group(*bound.group, table, all_rows(table), by); });
      ASSERT_EQ(grouped.table.num_rows(), static_cast<std::int64_t>(expected.size()));
      for (std::int64_t i = 0; i < grouped.table.num_rows(); ++i) {
        const auto& values = expected.at(std::get<std::int64_t>(grouped.table.column("g").value(i)));
        ASSERT_EQ(grouped.table.column("n").value(i), Value(static_cast<std::int64_t>(values.size())));
        ASSERT_EQ(grouped.table.column("s").value(i), Value(exact_sum(values)));
        ASSERT_EQ(grouped.table.column("m").value(i), Value(*std::max_element(values.begin(), values.end())));
      }
    }
  }
}

/// Groups by hashing have the aggregates of groups by values, those of NULLs, NaNs and decimals among them, and errors
/// name the same row.
TEST(Group, HashingChangesNoAggregate) {
  Random random(5);
  std::vector<std::int32_t> g;
  std::vector<std::int64_t> x;
  std::vector<double> d;
  std::vector<bool> valid;
  for (std::int64_t i = 0; i < kSkewedRows; ++i) {
    g.push_back(static_cast<std::int32_t>(random.below(20'000)));
    x.push_back(random.below(1000) - 500);
    d.push_back(random.below(9) == 0
                    ? kNaN
                    : std::ldexp(1 + static_cast<double>(random.below(100)), static_cast<int>(random.below(90))));
    valid.push_back(random.below(3) != 0);
  }
  const auto bound_sum = [](const Table& table, const std::vector<Aggregate>& aggregates) {
    const Query query = Query::from("t").group_by({"g"}).aggregate(aggregates);
    return query::bind(query, query::schema_of(table));
  };
  const Table table({Column::own("g", g, valid), Column::own("x", x, valid), Column::own("d", d, valid),
                     Column::own_as("m", DataType::decimal(10, 2), x, valid)});
  std::vector<Aggregate> all{count("n"), Aggregate{"nx", Function::count, Expression("x")}};
  for (const std::string column : {"x", "d", "m"}) {
    all.push_back(Aggregate{"sum_" + column, Function::sum, Expression(column)});
    all.push_back(Aggregate{"avg_" + column, Function::avg, Expression(column)});
    all.push_back(Aggregate{"min_" + column, Function::min, Expression(column)});
    all.push_back(Aggregate{"max_" + column, Function::max, Expression(column)});
  }
  const query::BoundQuery bound = bound_sum(table, all);
  const Grouped expected = group(*bound.group, table, all_rows(table), Numbering::by_values);
  for (const int threads : {1, 2, 8}) {
    const Grouped found =
        with_threads(threads, [&] { return group(*bound.group, table, all_rows(table), Numbering::by_hashing); });
    ASSERT_EQ(found.first_rows, expected.first_rows);
    for (int c = 0; c < expected.table.num_columns(); ++c) {
      const Column& column = expected.table.column(c);
      for (std::int64_t i = 0; i < column.size(); ++i) {
        ASSERT_EQ(to_string(found.table.column(c).value(i)), to_string(column.value(i))) << column.name() << ", " << i;
      }
    }
  }
  std::fill(x.begin() + kSkewedRows / 2, x.end(), kMaxInteger);
  const Table overflowing({Column::own("g", g), Column::own("x", x)});
  const query::BoundQuery sums = bound_sum(overflowing, {sum("s", "x")});
  std::vector<std::string> messages;
  for (const auto& [threads, numbering] :
       {std::pair(1, Numbering::by_values), std::pair(1, Numbering::by_hashing), std::pair(8, Numbering::by_hashing)}) {
    try {
      with_threads(threads, [&, by = numbering] { return group(*sums.group, overflowing, all_rows(overflowing), by); });
    } catch (const Error& error) {
      messages.push_back(error.what());
    }
  }
  ASSERT_EQ(messages.size(), 3);
  EXPECT_EQ(messages[0], messages[1]);
  EXPECT_EQ(messages[0], messages[2]);
}

}  // namespace
}  // namespace skyrank::exec
