#include "engine/expression/evaluate.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <skyrank/error.hpp>

#include "engine/expression/operand_order.hpp"
#include "engine/expression/program.hpp"
#include "tests/build.hpp"
#include "tests/engine/edge_columns.hpp"
#include "tests/engine/layout_columns.hpp"
#include "tests/engine/operator_test.hpp"
#include "tests/engine/reference.hpp"

namespace skyrank::exec {
namespace {

/// The evaluator gives what the reference gives, for all rows; where rows fail, it names the lowest, and gives the
/// values of the others when asked for those alone.
void expect_as_reference(std::string_view text, const Table& table) {
  SCOPED_TRACE(text);
  const query::BoundExpression expression = bound(text, table);
  std::vector<std::optional<Value>> expected;
  std::vector<RowId> good;
  std::optional<RowId> bad;
  for (RowId row = 0; row < table.num_rows(); ++row) {
    expected.push_back(reference::try_evaluate(expression, table, row));
    if (expected.back()) good.push_back(row);
    if (!expected.back() && !bad) bad = row;
  }
  if (bad) {
    try {
      evaluate_all(expression, table, all_rows(table), "result");
      ADD_FAILURE() << "row " << *bad << " should fail";
    } catch (const DataError& error) {
      const std::string start = "row " + std::to_string(*bad) + ": ";
      EXPECT_EQ(error.message().substr(0, start.size()), start) << error.message();
      EXPECT_NE(error.message().find("'" + expression.text + "'"), std::string::npos) << error.message();
    }
  }
  const Rows rows{static_cast<std::int64_t>(good.size()), good.data()};
  const Column result = evaluate_all(expression, table, rows, "result");
  EXPECT_EQ(result.type(), expression.root->type);
  ASSERT_EQ(result.size(), rows.n);
  for (std::int64_t i = 0; i < rows.n; ++i) {
    const Value& want = *expected[static_cast<std::size_t>(rows[i])];
    ASSERT_TRUE(reference::same(result.value(i), want))
        << "row " << rows[i] << " gives " << to_string(result.value(i)) << ", not " << to_string(want);
  }
}

/// All pairs of values of two types, NULL included, as columns a and b.
template <class A, class B>
Table pair_table(DataType type_a, const std::vector<A>& a, DataType type_b, const std::vector<B>& b) {
  return Table({paired_column("a", type_a, a, b.size() + 1, true), paired_column("b", type_b, b, a.size() + 1, false)});
}

void expect_all_as_reference(const std::vector<std::string_view>& expressions, const Table& table) {
  SCOPED_TRACE(to_string(table.column(0).type()) + " with " + to_string(table.column(table.num_columns() - 1).type()));
  for (const std::string_view expression : expressions) expect_as_reference(expression, table);
}

const std::vector<std::string_view> kComparisons = {
    "a = b",
    "a != b",
    "a < b",
    "a <= b",
    "a > b",
    "a >= b",
    "a between b and 7.0 * b",
    "a not between b and a",
    "a in (b, b)",
    "a not in (b, NULL)",
};

const std::vector<std::string_view> kComparisonsOfStrings = {
    "a",
    "a = b",
    "a != b",
    "a < b",
    "a <= b",
    "a > b",
    "a >= b",
    "a between b and 'b'",
    "a not between 'a' and 'b'",
    "a in (b, 'Oslo')",
    "a in ('Oslo', 'a', '')",
    "a not in ('Oslo', 'a', NULL)",
    "a = 'Oslo'",
    "'Oslo' != a",
    "a < 'b'",
    "'b' <= a",
    "a = NULL",
    "a between NULL and 'b'",
    "'b' in (a, 'b')",
    "'b' not in ('b', a, NULL)",
    "'a' in ('b', a)",
    "'a' between 'x' and a",
    "'a' not between 'x' and a",
    "'b' not between a and 'a'",
    "a not between NULL and NULL",
    "a is null",
    "a is not null",
    "min(a, b)",
    "max(a, 'b')",
    "case when a < b then a else 'none' end",
    "coalesce(a, b, 'none')",
    "lower(a)",
    "upper(a) = lower(b)",
    "upper(case when a < b then a else lower(b) end)",
    "length(a)",
    "length(lower(a)) + length(b)",
    "a like 'Oslo%'",
    "a not like '_'",
    "a like b",
    "a like NULL",
    "'Oslo' like a",
    "lower(a) like '%o%'",
    "a in ('1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'ab')",
};

TEST(Evaluate, NumbersOfAllPairsOfTypesCompareExactly) {
  for_number_types([](DataType type_a, const auto& a) {
    for_number_types([&](DataType type_b, const auto& b) {
      expect_all_as_reference(kComparisons, pair_table(type_a, a, type_b, b));
    });
  });
}

TEST(Evaluate, ArithmeticOfAllPairsOfTypes) {
  for_number_types([](DataType type_a, const auto& a) {
    for_number_types([&](DataType type_b, const auto& b) {
      expect_all_as_reference(
          {"a + b", "a - b", "a * b", "a / b", "a % b", "min(a, b)", "max(a, b)", "min(b, a, 3)", "max(a, 5, b)",
           "coalesce(a, b)", "coalesce(b, 2, a)", "case when a < b then a when a > b then b end", "a + b * 2 - a / 3"},
          pair_table(type_a, a, type_b, b));
    });
  });
}

TEST(Evaluate, FunctionsAndLiteralsOfAllTypes) {
  for_number_types([](DataType type, const auto& values) {
    expect_all_as_reference({"a",
                             "-a",
                             "- -a",
                             "abs(a)",
                             "sqrt(a)",
                             "log(a)",
                             "exp(a)",
                             "floor(a)",
                             "ceil(a)",
                             "round(a)",
                             "coalesce(a, 7)",
                             "coalesce(NULL, a, 1 / 0)",
                             "a is null",
                             "a is not null",
                             "a + 1",
                             "1 + a",
                             "a - 1",
                             "1 - a",
                             "a * 2",
                             "a * -1",
                             "a / 2",
                             "a / -1",
                             "a / 0",
                             "7 / a",
                             "a % 3",
                             "a % -1",
                             "a % 0",
                             "a + 0.5",
                             "a / 0.0",
                             "a % 0.0",
                             "a * 1.0",
                             "a + 9223372036854775807",
                             "a - 18446744073709551615",
                             "a <= 2",
                             "a < 2.5",
                             "a = 2.5",
                             "a >= -1",
                             "a > -1.5",
                             "a = 9223372036854775807",
                             "a < 9223372036854775808",
                             "a <= 18446744073709551615",
                             "a < 18446744073709551616.0",
                             "9007199254740993 = a",
                             "9007199254740992.0 = a",
                             "2 > a",
                             "a = NULL",
                             "NULL < a",
                             "a between -1 and 2.5",
                             "a not between 1 and NULL",
                             "a between NULL and 0",
                             "a in (1, 2, 3)",
                             "a in (1.0, 2.5, -100)",
                             "a not in (0)",
                             "a in (0, NULL)",
                             "a not in (3, NULL)",
                             "a in (-0.0, 9007199254740993, 18446744073709551615, -9223372036854775808)",
                             "a in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 100, 0.5)",
                             "a not in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 100, NULL)",
                             "NULL in (a, 1)",
                             "2 in (a, 1)",
                             "min(a, 2)",
                             "max(a, 2, NULL)",
                             "max(a, -2)",
                             "min(a, 18446744073709551615)",
                             "a + NULL",
                             "-9223372036854775808 + a",
                             "a = a",
                             "a != a",
                             "case when a > 1 then 'many' end = 'many'"},
                            Table({paired_column("a", type, values, 1, true)}));
  });
}

TEST(Evaluate, DatesAndTimestampsOfAllPairsOfUnits) {
  for_time_types([](DataType type_a, const auto& a) {
    for_time_types([&](DataType type_b, const auto& b) {
      const Table table = pair_table(type_a, a, type_b, b);
      expect_all_as_reference(
          {"a = b", "a != b", "a < b", "a <= b", "a > b", "a >= b", "a between b and b", "a in (b, NULL)", "min(a, b)",
           "max(a, b)", "coalesce(a, b)", "case when a < b then a else b end"},
          table);
      if (type_a.type == type_b.type) expect_as_reference("a - b", table);
    });
  });
}

TEST(Evaluate, ResultsOfTwoUnitsFitWhereAnOperandDoesNot) {
  constexpr std::int64_t kYears300 = 9'467'280'000;  // seconds: beyond what int64 holds in nanoseconds
  constexpr std::int64_t kBillion = 1'000'000'000;
  constexpr std::int64_t kYears200 = 6'311'520'000;
  const Table table({Column::own_as<std::int64_t>("s", {Type::timestamp, TimeUnit::second}, {kYears300, -kYears300}),
                     Column::own_as<std::int64_t>("ns", {Type::timestamp, TimeUnit::nanosecond},
                                                  {kYears200 * kBillion, -kYears200 * kBillion})});
  const auto row = [&](const char* text, RowId id) {
    return evaluate_all(bound(text, table), table, Rows{1, &id}, "x").value(0);
  };
  const auto later = Value(Timestamp{kYears200 * kBillion, TimeUnit::nanosecond});
  const auto earlier = Value(Timestamp{-kYears200 * kBillion, TimeUnit::nanosecond});
  EXPECT_EQ(row("min(s, ns)", 0), later);
  EXPECT_EQ(row("max(ns, s)", 1), earlier);
  EXPECT_EQ(row("s - ns", 0), Value((kYears300 - kYears200) * kBillion));
  EXPECT_EQ(row("ns - s", 1), Value((kYears300 - kYears200) * kBillion));
  EXPECT_THROW(row("max(s, ns)", 0), DataError);
  EXPECT_THROW(row("min(s, ns)", 1), DataError);
}

TEST(Evaluate, TimesWithLiterals) {
  for_time_types([](DataType type, const auto& values) {
    const Table table({paired_column("a", type, values, 1, true)});
    expect_all_as_reference({"min(a, timestamp '1970-01-02 00:00:00.000000001')",
                             "max(timestamp '1970-01-02 00:00:00.000000001', date '1970-01-01', a)",
                             "min(a, date '1970-01-02')", "max(a, NULL)"},
                            table);
    expect_all_as_reference(
        {"year(a)", "month(a)", "day(a)", "hour(a)", "minute(a)", "second(a)", "weekday(a)", "year(NULL)"}, table);
    expect_all_as_reference(
        {"a", "a = date '1970-01-02'", "a < date '1970-01-02'", "a >= timestamp '1970-01-02 00:00:00'",
         "a = timestamp '1970-01-02 00:00:00.000000000'", "a > timestamp '1970-01-01 00:00:00.000000001'",
         "a between date '1970-01-01' and timestamp '1970-01-03 00:00:00.001'", "a != NULL", "a is null",
         "a in (date '1970-01-01', date '1970-01-02', timestamp '1970-01-01 00:00:01', NULL)", "date '1970-01-02' <= a",
         "max(a, NULL)"},
        table);
    if (type.type == Type::date) {
      expect_all_as_reference({"a + 1", "1 + a", "a - 1", "a - -1", "a + NULL", "a - date '1970-01-01'",
                               "date '2000-01-01' - a", "a + 9223372036854775807", "a - 18446744073709551615"},
                              table);
    }
  });
}

Table string_table(bool dictionary) {
  const std::vector<std::string> texts{"",     "a",    "b",    "ab",          std::string("a\0", 2),
                                       "\xff", "\x7f", "Oslo", "Oslo, Norway"};
  std::vector<std::string> a;
  std::vector<std::string> b;
  std::vector<bool> valid_a;
  std::vector<bool> valid_b;
  for (std::size_t i = 0; i <= texts.size(); ++i) {
    for (std::size_t j = 0; j <= texts.size(); ++j) {
      a.push_back(texts[i % texts.size()]);
      b.push_back(texts[j % texts.size()]);
      valid_a.push_back(i < texts.size());
      valid_b.push_back(j < texts.size());
    }
  }
  Column column = Column::own("a", a, valid_a);
  if (dictionary) {
    ColumnData data = column.data();
    auto indices = std::make_shared<std::vector<std::int16_t>>();
    for (std::size_t i = 0; i < a.size(); ++i) {
      const auto entry = std::find(texts.begin(), texts.end(), a[i]) - texts.begin();
      // The value under a NULL is nobody's business.
      indices->push_back(valid_a[i] ? static_cast<std::int16_t>(entry) : std::int16_t{-7});
    }
    data.layout = Layout::dictionary;
    data.index_type = Type::int16;
    data.stride = sizeof(std::int16_t);
    data.values = indices->data();
    data.dictionary = std::make_shared<ColumnData>(Column::own("entries", texts).data());
    data.owner =
        std::make_shared<std::pair<std::shared_ptr<const void>, std::shared_ptr<const void>>>(indices, data.owner);
    column = Column("a", data);
  }
  return Table({column, Column::own("b", b, valid_b)});
}

TEST(Evaluate, Strings) {
  for (const bool dictionary : {false, true}) {
    SCOPED_TRACE(dictionary ? "dictionary" : "plain");
    const Table table = string_table(dictionary);
    expect_all_as_reference(kComparisonsOfStrings, table);
  }
}

TEST(Evaluate, EveryDayHasTheDateThatTheCalendarSays) {
  std::vector<std::int32_t> days;
  for (std::int32_t day = -1'000'000; day <= 1'000'000; day += 61) days.push_back(day);
  days.insert(days.end(), {std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()});
  const Table table({Column::own_as<std::int32_t>("a", Type::date, days)});
  expect_all_as_reference({"year(a)", "month(a)", "day(a)", "weekday(a)", "hour(a)"}, table);
  const auto first = [](const char* text) {
    return evaluate_all(bound(text, string_table(false)), string_table(false), {1}, "x").value(0);
  };
  EXPECT_EQ(first("weekday(date '2026-11-26')"), Value(std::int64_t{4}));
  EXPECT_EQ(first("year(date '-0001-12-31')"), Value(std::int64_t{-1}));
  EXPECT_EQ(first("second(timestamp '1969-12-31 23:59:58.5')"), Value(std::int64_t{58}));
}

TEST(Evaluate, HalvesAreRoundedAwayFromZero) {
  const Table table({Column::own(
      "a", std::vector<double>{0.5, -0.5, 2.5, -2.5, 0.49999999999999994, 4503599627370497.5,
                               std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()})});
  expect_as_reference("round(a)", table);
  const Table decimals({Column::own_as<std::int64_t>("a", DataType::decimal(10, 2), {250, -250, 249, -251, 0})});
  const Column result = evaluate_all(bound("round(a)", decimals), decimals, all_rows(decimals), "x");
  EXPECT_EQ(result.type(), DataType::decimal(9, 0));
  const std::vector<int> expected = {3, -3, 2, -3, 0};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(result.value(static_cast<std::int64_t>(i)), Value(Decimal{expected[i], 0})) << i;
  }
}

TEST(Evaluate, PatternsOfLike) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", ""},           {"", "%"},        {"", "_"},        {"a", ""},         {"abc", "a%c"},
      {"abc", "a_c"},     {"abc", "_%_"},   {"aab", "%ab"},   {"abab", "%ab%b"}, {"Ö", "_"},
      {"größe", "gr__e"}, {"größe", "%ß%"}, {"50%", "50\\%"}, {"500", "50\\%"},  {"a_b", "a\\_b"},
      {"axb", "a\\_b"},   {"a\\", "a\\"},   {"a\\", "a\\\\"}, {"ABC", "abc"},    {"mississippi", "m%iss%ip%"}};
  std::vector<std::string> texts;
  std::vector<std::string> patterns;
  for (const auto& [text, pattern] : cases) {
    texts.push_back(text);
    patterns.push_back(pattern);
  }
  const Table table({Column::own("a", texts), Column::own("b", patterns)});
  expect_all_as_reference({"a like b", "a not like b", "length(a)", "upper(a)"}, table);
}

TEST(Evaluate, MadeTextsOutliveTheirBlocks) {
  std::vector<std::string> texts;
  std::vector<bool> valid;
  for (int i = 0; i < 3 * static_cast<int>(kBlockRows) + 5; ++i) {
    texts.push_back("Text of a row that is long: " + std::to_string(i));
    valid.push_back(i % 7 != 0);
  }
  const Table table({Column::own("a", texts, valid)});
  expect_all_as_reference({"upper(a)", "coalesce(lower(a), 'none')"}, table);
}

TEST(Evaluate, BooleansAndThreeValuedLogic) {
  std::vector<bool> a;
  std::vector<bool> valid_a;
  std::vector<bool> b;
  std::vector<bool> valid_b;
  for (int i = 0; i < 9; ++i) {
    a.push_back(i % 3 == 1);
    valid_a.push_back(i % 3 != 2);
    b.push_back(i / 3 == 1);
    valid_b.push_back(i / 3 != 2);
  }
  const Table table({Column::own("a", a, valid_a), Column::own("b", b, valid_b)});
  expect_all_as_reference({"a",
                           "not a",
                           "a and b",
                           "a or b",
                           "not (a and b) or b",
                           "a and NULL",
                           "NULL and a",
                           "a or NULL",
                           "NULL or a",
                           "a and true",
                           "false or a",
                           "a and b and not a",
                           "a or b or a",
                           "a = b",
                           "a != b",
                           "a < b",
                           "a >= b",
                           "a in (true)",
                           "a in (false, NULL)",
                           "a is null",
                           "a is not null and b",
                           "min(a, b)",
                           "max(a, b)",
                           "case when a then b else not b end",
                           "case when a then 1 when b then 2 end",
                           "a between b and true",
                           "NULL",
                           "not NULL",
                           "NULL = NULL",
                           "NULL is null",
                           "case when NULL then 1 else 2 end",
                           "1 + NULL",
                           "true"},
                          table);
}

TEST(Evaluate, OperandsForTheFewRowsThatAreLeft) {
  constexpr std::size_t kRows = 9 * static_cast<std::size_t>(kBlockRows) + 77;
  std::vector<double> a;
  std::vector<std::int64_t> b;
  std::vector<std::string> s;
  std::vector<bool> has_b;
  std::vector<bool> has_s;
  for (std::size_t i = 0; i < kRows; ++i) {
    const std::size_t mixed = i * 7919 % 10007;
    a.push_back(static_cast<double>(mixed) / 10007);
    b.push_back(static_cast<std::int64_t>(mixed % 50));
    s.push_back(std::string(mixed % 5, 'x') + std::to_string(mixed % 70));
    has_b.push_back(mixed % 11 != 0);
    has_s.push_back(mixed % 13 != 0);
  }
  const Table table({Column::own("a", a), Column::own("b", b, has_b), Column::own("s", s, has_s)});
  for (const std::string_view text :
       {"b = 3 and s like '%x6%'", "s like '%x6%' and b = 3", "a < 0.01 and s like 'xx%' and b between 5 and 30",
        "(a < 0.01 or b = 3) and length(s) > 2", "b = 3 or s = 'xx7' or a > 0.99", "not (b = 3 and lower(s) < 'x1')",
        "a < 0.02 and (b = 3 or s like 'x%' and a > 0.001) and not (b is null)",
        "case when a < 0.01 and s like 'x%' then length(s) when b = 3 then b else 0 end > 2",
        // Operands that may fail guard those after them.
        "b != 0 and 100 / b > 20", "b is null or b = 0 or 100 % b = 0 and s like '%3'",
        "a < 0.01 and b = 7 and 100 / (b - 7) > 1", "a > 0.999 and 100 / (b - 7) > 1 and 100 / (b - 8) > 1"}) {
    expect_as_reference(text, table);
  }
}

TEST(Evaluate, OperandsThatDecideMostForTheirCostComeFirst) {
  const auto order_of = [](std::string_view text, const std::vector<double>& shares) {
    const Table table({Column::own("a", std::vector<double>(1)), Column::own("b", std::vector<std::int64_t>(1)),
                       Column::own("s", std::vector<std::string>(1))});
    const auto program = compile(bound(text, table), table);
    OperandOrder order(program->ir.operations(), program->ir.root());
    std::vector<std::size_t> places;
    for (int block = 0; block < 9; ++block) {
      std::int64_t left = 1'000'000;
      places.clear();
      for (std::size_t place = 0; place < shares.size(); ++place) {
        const std::int64_t before = left;
        places.push_back(order[place]);
        left = static_cast<std::int64_t>(static_cast<double>(left) * shares[order[place]]);
        if (place + 1 < shares.size()) order.learn(place, before, left);
      }
      order.end_block();
    }
    return places;
  };
  using Places = std::vector<std::size_t>;
  EXPECT_EQ(order_of("a < 1 and b < 2 and a > 0", {0.9, 0.1, 0.5}), (Places{1, 2, 0}));
  EXPECT_EQ(order_of("s like '%x%' and a < 1", {0.5, 0.5}), (Places{1, 0}));
  EXPECT_EQ(order_of("s like '%x%' and a < 1", {0.001, 0.99}), (Places{0, 1}));
  EXPECT_EQ(order_of("b / 2 > 1 and b < 2 and a > 0", {0.9, 0.1, 0.5}), (Places{0, 1, 2}));
}

TEST(Evaluate, RowsThatNeedNoValueDoNotFail) {
  const std::vector<std::int64_t> a{1, 2, 0, 4, 0, 9};
  const Table table({Column::view<std::int64_t>("a", a), Column::own("b", std::vector<std::int64_t>{1, 0, 0, 5, 0, 0},
                                                                     {true, true, true, true, true, false})});
  expect_all_as_reference(
      {"a != 0 and 10 / a > 2", "a = 0 or 10 / a > 2", "case when a != 0 then 10 / a else -1 end",
       "case when a = 0 then 0 when 10 / a = 5 then 1 else 2 end", "NULL and 1 / a = 1", "false and 1 / a = 1",
       "true or 1 / 0 = 1", "false and 1 / 0 = 1", "case when false then 1 / 0 else a end",
       "a = 0 or (b = 0 or a / b = 0)", "case when a > 3 then case when b != 0 then a / b else 0 end else a end",
       "10 / a", "1 / 0", "a / b", "a > 100 and a / b > 0", "b = 0 or a / b > 0", "a / 0 > 1 and false",
       "1 / a > 0 and 1 / b > 0"},
      table);
}

TEST(Evaluate, ErrorsSayWhatFailedAndWhatWouldBeRight) {
  const Table table({Column::own("a", std::vector<std::int64_t>{1, 0, std::numeric_limits<std::int64_t>::max()}),
                     Column::own("u", std::vector<std::uint32_t>{3, 4, 5}),
                     Column::own_as("d", Type::date, std::vector<std::int32_t>{0, 1, 2})});
  const auto message = [&](std::string_view text) -> std::string {
    try {
      evaluate_all(bound(text, table), table, all_rows(table), "x");
    } catch (const DataError& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(message("7 / a"),
            "expression:1:1: row 1: division of an integer by zero: 7 / 0; guard it with 'case when', or divide by a "
            "float (in '7 / a')");
  EXPECT_EQ(message("a + 1"),
            "expression:1:1: row 2: integer overflow: 9223372036854775807 + 1 does not fit int64; with a float operand "
            "it would be computed as float64 (in 'a + 1')");
  EXPECT_EQ(message("u - 5"), "no error");  // a difference is int64
  EXPECT_EQ(message("d + 2147483647"),
            "expression:1:1: row 1: date overflow: 1970-01-02 + 2147483647 does not fit date (in 'd + 2147483647')");
  EXPECT_EQ(message("-(-9223372036854775807 - a)"),
            "expression:1:1: row 0: integer overflow: -(-9223372036854775808) does not fit int64; with a float operand "
            "it would be computed as float64 (in '-(-9223372036854775807 - a)')");
}

TEST(Evaluate, LoadsEveryLayoutAtEveryBlockBoundary) {
  for (const std::int64_t n : {0, 1, 7, 8, 9, 2047, 2048, 2049, 4096, 64 * 2048 - 1, 64 * 2048, 64 * 2048 + 1}) {
    const Table table(layouts(n));
    std::vector<RowId> third;
    for (RowId row = 1; row < n; row += 3) third.push_back(row);
    // The sanitizers watch how values are loaded, not how they are compared.
    const std::int64_t step = tests::kSanitized && n > 3000 ? 17 : 1;
    for (const Rows& rows : {all_rows(table), Rows{static_cast<std::int64_t>(third.size()), third.data()}}) {
      for (const Column& column : table.columns()) {
        SCOPED_TRACE(column.name() + " of " + std::to_string(n) + " rows");
        const Column result = evaluate_all(bound(column.name(), table), table, rows, "x");
        ASSERT_EQ(result.size(), rows.n);
        for (std::int64_t i = 0; i < rows.n; i += step) {
          ASSERT_TRUE(reference::same(result.value(i), column.value(rows[i]))) << "place " << i;
        }
      }
    }
  }
}

TEST(Evaluate, BlocksBeginAnywhere) {
  const Table table(layouts(5000));
  Evaluator evaluator(bound("unaligned", table), table);
  for (const std::int64_t begin : {0, 1, 63, 2047, 4999}) {
    for (const std::int64_t size : {0, 1, 2048}) {
      if (begin + size > 5000) continue;
      const Block block = evaluator.evaluate(all_rows(table), begin, size);
      ASSERT_EQ(block.size, size);
      for (std::int64_t i = 0; i < size; ++i) {
        const Value value = table.column("unaligned").value(begin + i);
        const bool valid = block.valid == nullptr || block.valid[i] != 0;
        ASSERT_EQ(valid, !reference::is_null(value));
        if (valid) {
          ASSERT_EQ(Value(block.as<std::int64_t>()[i]), value);
        }
      }
    }
  }
}

TEST(Evaluate, LowestFailingRowWhateverTheThreads) {
  const std::int64_t n = 10 * 64 * 2048;
  std::vector<std::int32_t> values(static_cast<std::size_t>(n), 1);
  for (const std::int64_t row : {n - 1, n - 70'000, std::int64_t{655'437}, std::int64_t{655'438}}) {
    values[static_cast<std::size_t>(row)] = 0;
  }
  const Table table({Column::view<std::int32_t>("a", values)});
  for (const int threads : {1, 2, 8}) {
    for (int repeat = 0; repeat < 5; ++repeat) {
      with_threads(threads, [&] {
        try {
          filter(bound("1 / a = 1", table), table, all_rows(table));
          ADD_FAILURE() << "should fail";
        } catch (const DataError& error) {
          EXPECT_EQ(error.message().substr(0, 11), "row 655437:") << error.message();
        }
        return 0;
      });
    }
  }
}

TEST(Filter, KeepsTheRowsForWhichTheConditionIsTrue) {
  for (const std::int64_t n : {0, 1, 63, 64, 65, 2048, 2049, 64 * 2048 + 1, 3 * 64 * 2048 + 100}) {
    if (tests::kSanitized && n > 64 * 2048 + 1) continue;  // the reference takes long
    SCOPED_TRACE(n);
    const Table table(layouts(n));
    std::vector<RowId> odd;
    for (RowId row = 1; row < n; row += 2) odd.push_back(row);
    const Rows odd_rows{static_cast<std::int64_t>(odd.size()), odd.data()};
    for (const std::string_view text : {"nulls > 0", "bits", "strings = 'text 7'", "floats <= 250", "true", "false",
                                        "NULL", "bits and nulls > 0 or views < 'text 3'"}) {
      SCOPED_TRACE(text);
      const query::BoundExpression condition = bound(text, table);
      std::vector<RowId> expected;
      for (RowId row = 0; row < n; ++row) {
        if (reference::is(reference::evaluate(*condition.root, table, row), true)) expected.push_back(row);
      }
      ASSERT_EQ(filter(condition, table, all_rows(table)), expected);
      std::erase_if(expected, [](RowId row) { return row % 2 == 0; });
      ASSERT_EQ(filter(condition, table, odd_rows), expected) << "of the odd rows";
    }
  }
}

TEST(Filter, AnEmptyDictionaryMatchesNothing) {
  ColumnData data;
  data.type = Type::string;
  data.layout = Layout::dictionary;
  data.length = 3;
  const std::vector<std::int32_t> indices{9, -1, 0};
  const std::vector<std::uint8_t> none{0};
  data.values = indices.data();
  data.stride = sizeof(std::int32_t);
  data.validity = {none.data(), 0};
  data.dictionary = std::make_shared<ColumnData>(Column::own("entries", std::vector<std::string>{}).data());
  const Table table({Column("a", data)});
  EXPECT_TRUE(filter(bound("a = 'x'", table), table, all_rows(table)).empty());
  EXPECT_TRUE(filter(bound("a != 'x' or a in ('y', 'z') or a > 'b'", table), table, all_rows(table)).empty());
  EXPECT_EQ(filter(bound("a is null", table), table, all_rows(table)).size(), 3U);
}

}  // namespace
}  // namespace skyrank::exec
