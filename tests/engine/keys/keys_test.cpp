#include "engine/keys/keys.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <compare>
#include <functional>
#include <limits>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <skyrank/error.hpp>

#include "engine/keys/key_columns.hpp"
#include "engine/keys/key_memory.hpp"
#include "tests/build.hpp"
#include "tests/engine/edge_columns.hpp"
#include "tests/engine/layout_columns.hpp"
#include "tests/engine/operator_test.hpp"
#include "tests/engine/reference.hpp"

namespace skyrank::exec {
namespace {

using kernels::KeyWidth;
using query::BoundPreference;
using reference::Wide;
using Kind = Preference::Kind;

std::vector<std::uint64_t> numbers(const Keys& keys, std::int64_t n) {
  std::vector<std::uint64_t> result;
  with_width(keys.column.width, [&]<class Key>(Key) {
    for (std::int64_t i = 0; i < n; ++i) result.push_back(keys.column.as<Key>()[i]);
  });
  return result;
}

BoundPreference term(Kind kind, std::string_view expression, const Table& table, bool inverted = false) {
  BoundPreference result;
  result.kind = kind;
  result.expression = bound(expression, table);
  result.inverted = inverted;
  return result;
}

BoundPreference range_term(std::string_view expression, const Table& table, Value from, Value to,
                           bool inverted = false) {
  BoundPreference result = term(from == to ? Kind::around : Kind::between, expression, table, inverted);
  result.target = std::move(from);
  result.upper = std::move(to);
  return result;
}

/// NULL is worse than NaN, which is worse than anything else, unless NULL comes first.
int missing_rank(const Value& value, bool nulls_first = false) {
  if (reference::is_null(value)) return nulls_first ? -1 : 2;
  const auto* number = std::get_if<double>(&value);
  return number != nullptr && std::isnan(*number) ? 1 : 0;
}

using Order = std::function<std::partial_ordering(const Value&, const Value&)>;

/// All pairs of keys compare as `order` says of the values: less is better.
void expect_order(const Keys& keys, const std::vector<Value>& values, const Order& order, bool nulls_first = false) {
  const std::vector<std::uint64_t> key = numbers(keys, static_cast<std::int64_t>(values.size()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (std::size_t j = 0; j < values.size(); ++j) {
      const int a = missing_rank(values[i], nulls_first);
      const int b = missing_rank(values[j], nulls_first);
      const auto expected = a != 0 || b != 0 ? std::partial_ordering(a <=> b) : order(values[i], values[j]);
      ASSERT_EQ(key[i] <=> key[j], expected)
          << to_string(values[i]) << " has key " << key[i] << ", " << to_string(values[j]) << " has " << key[j];
    }
  }
}

/// The keys of a term order as `order` says, with NULL behind and before the values.
template <class Term>
void expect_orders(Term term, const Table& table, const std::vector<Value>& values, const Order& order) {
  for (const bool nulls_first : {false, true}) {
    SCOPED_TRACE(nulls_first ? "NULL first" : "NULL last");
    term.nulls_first = nulls_first;
    expect_order(make_keys(term, table, all_rows(table)), values, order, nulls_first);
  }
}

Order reversed(const Order& order) {
  return [order](const Value& a, const Value& b) { return order(b, a); };
}

/// The values of rows, twice over so that equal ones meet.
template <class T>
Table edge_table(DataType type, const std::vector<T>& values, bool nulls) {
  if (nulls) return Table({paired_column("a", type, values, 2, false)});
  std::vector<T> twice = values;
  twice.insert(twice.end(), values.begin(), values.end());
  return Table({Column::own_as("a", type, twice)});
}

template <class F>
void for_all_types(F f) {
  for_number_types(f);
  for_time_types(f);
}

template <class F>
void for_edge_tables(F f) {
  for_all_types([&](DataType type, const auto& edges) {
    for (const bool nulls : {false, true}) {
      const Table table = edge_table(type, edges, nulls);
      SCOPED_TRACE(to_string(type) + (nulls ? " with NULLs" : ""));
      f(table, values(table.column(0)));
    }
  });
}

TEST(Keys, LowAndHighOrderAllPairsOfValues) {
  for_edge_tables([](const Table& table, const std::vector<Value>& values) {
    const Order low = reference::compare;
    expect_orders(term(Kind::low, "a", table), table, values, low);
    expect_orders(term(Kind::high, "a", table), table, values, reversed(low));
    expect_orders(term(Kind::low, "a", table, true), table, values, reversed(low));
    expect_orders(term(Kind::high, "a", table, true), table, values, low);
    expect_orders(query::BoundRankTerm{bound("a", table), false}, table, values, low);
    expect_orders(query::BoundRankTerm{bound("a", table), true}, table, values, reversed(low));
  });
}

TEST(Keys, ComputedExpressionsOrderTheSame) {
  for_edge_tables([](const Table& table, const std::vector<Value>& values) {
    // An expression that is not a column, with the column's values.
    const query::BoundExpression same = bound("case when true then a end", table);
    ASSERT_EQ(same.column, -1);
    BoundPreference high = term(Kind::high, "a", table);
    high.expression = same;
    expect_orders(high, table, values, reversed(reference::compare));
  });
}

TEST(Keys, EveryFloat16) {
  std::vector<Float16> values;
  for (unsigned bits = 0; bits < 65536; ++bits) values.push_back(Float16{static_cast<std::uint16_t>(bits)});
  const Table table({Column::view<Float16>("a", values)});
  for (const bool high : {false, true}) {
    const Keys keys = make_keys(query::BoundRankTerm{bound("a", table), high}, table, all_rows(table));
    ASSERT_EQ(keys.column.width, KeyWidth::bytes2);
    const auto* key = keys.column.as<std::uint16_t>();
    std::vector<std::size_t> order(values.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return key[a] < key[b]; });
    for (std::size_t i = 1; i < order.size(); ++i) {
      const float a = static_cast<float>(values[order[i - 1]]);
      const float b = static_cast<float>(values[order[i]]);
      if (std::isnan(b)) {
        ASSERT_EQ(key[order[i - 1]] == key[order[i]], std::isnan(a));
        continue;
      }
      ASSERT_FALSE(std::isnan(a));
      ASSERT_EQ(key[order[i - 1]] == key[order[i]], a == b) << a << " and " << b;
      ASSERT_TRUE(a == b || (high ? a > b : a < b)) << a << " before " << b;
    }
  }
}

TEST(Keys, TakeTheFewestBytes) {
  const auto width = [](Column column, bool high = false) {
    const Table table({std::move(column)});
    return static_cast<int>(
        make_keys(query::BoundRankTerm{bound("a", table), high}, table, all_rows(table)).column.width);
  };
  using Longs = std::vector<std::int64_t>;
  constexpr auto kMin = std::numeric_limits<std::int64_t>::min();
  constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(width(Column::own("a", Longs{})), 1);
  EXPECT_EQ(width(Column::own("a", Longs{kMin, kMin + 255})), 1);
  EXPECT_EQ(width(Column::own("a", Longs{kMin, kMin + 255, 0}, {true, true, false})), 2);
  EXPECT_EQ(width(Column::own("a", Longs{kMin, kMin + 254, 0}, {true, true, false})), 1);
  EXPECT_EQ(width(Column::own("a", Longs{kMin, kMax}, {false, false})), 1);
  EXPECT_EQ(width(Column::own("a", Longs{kMax, kMax - 256}), true), 2);
  EXPECT_EQ(width(Column::own("a", Longs{-5, 65'531})), 4);
  EXPECT_EQ(width(Column::own("a", Longs{0, 4'294'967'295})), 4);
  EXPECT_EQ(width(Column::own("a", Longs{0, 4'294'967'296})), 8);
  EXPECT_EQ(width(Column::own("a", Longs{kMin, kMax})), 8);
  EXPECT_EQ(width(Column::own("a", Longs{kMin, kMax, 0}, {true, true, false})), 1) << "three ranks";
  EXPECT_EQ(width(Column::own("a", std::vector<std::uint8_t>{0, 255, 7}, {true, true, false})), 2);
  EXPECT_EQ(width(Column::own("a", std::vector<std::uint64_t>{1ULL << 63, (1ULL << 63) + 9})), 1);
  EXPECT_EQ(width(Column::own("a", std::vector<bool>{true, false, true}, {true, true, false})), 1);
  EXPECT_EQ(width(Column::own("a", std::vector<Float16>(3), {true, true, false})), 2);
  EXPECT_EQ(width(Column::own("a", std::vector<float>(3), {true, true, false})), 4);
  EXPECT_EQ(width(Column::own("a", std::vector<double>(3), {true, true, false})), 8);
}

TEST(Keys, FullRangesWithNullsAreStillExact) {
  // 2^64 values and NULL: one more than 64 bits tell apart.
  const auto check = [](const auto& edges, DataType type) {
    const Table table = edge_table(type, edges, true);
    for (const bool high : {false, true}) {
      const query::BoundRankTerm term{bound("a", table), high};
      EXPECT_EQ(make_keys(term, table, all_rows(table)).column.width, KeyWidth::bytes1);
      const Order low = reference::compare;
      expect_orders(term, table, values(table.column(0)), high ? reversed(low) : low);
    }
  };
  check(edge_values<std::int64_t>(), Type::int64);
  check(edge_values<std::uint64_t>(), Type::uint64);
}

/// Numbers in units of 2^-60, exactly, for the numbers of these tests.
Wide scaled(const Value& value) {
  if (const auto integer = reference::integer(value)) return *integer * (Wide{1} << 60);
  return static_cast<Wide>(static_cast<long double>(std::get<double>(value)) * 0x1p60L);
}

template <class Measure>
Order by_distance(Measure measure, const Value& from, const Value& to) {
  const auto distance = [=](const Value& value) {
    const auto x = measure(value);
    const auto low = measure(from);
    const auto high = measure(to);
    return x < low ? low - x : x > high ? x - high : decltype(x){0};
  };
  return [=](const Value& a, const Value& b) -> std::partial_ordering { return distance(a) <=> distance(b); };
}

void expect_distances(const Table& table, const std::vector<Value>& rows, const Value& from, const Value& to,
                      const Order& order) {
  SCOPED_TRACE("from " + to_string(from) + " to " + to_string(to));
  expect_orders(range_term("a", table, from, to), table, rows, order);
  expect_orders(range_term("a", table, from, to, true), table, rows, reversed(order));
}

TEST(Keys, DistancesOfIntegersAreExact) {
  const std::vector<Value> ends{std::numeric_limits<std::int64_t>::min(),
                                std::int64_t{-101},
                                -100.5,
                                -2.25,
                                -0x1p-60,
                                0.0,
                                0x1p-60,
                                0.25,
                                0.5,
                                0.75,
                                1 - 0x1p-53,
                                std::int64_t{1},
                                1.5,
                                2.0,
                                std::int64_t{50},
                                127.5,
                                4503599627370495.5,
                                std::int64_t{9007199254740993},
                                std::numeric_limits<std::int64_t>::max(),
                                std::uint64_t{1} << 63,
                                std::numeric_limits<std::uint64_t>::max()};
  for_number_types([&](DataType type, const auto& edges) {
    if (is_floating(type.type)) return;
    for (const bool nulls : {false, true}) {
      const Table table = edge_table(type, edges, nulls);
      SCOPED_TRACE(to_string(type) + (nulls ? " with NULLs" : ""));
      for (const Value& from : ends) {
        for (const Value& to : ends) {
          if (scaled(from) > scaled(to)) continue;
          expect_distances(table, values(table.column(0)), from, to, by_distance(scaled, from, to));
        }
      }
    }
  });
}

TEST(Keys, DistancesBetweenNeighboursAreExact) {
  // Small numbers around the target meet every case of ties and of one side running out.
  for (const std::int64_t lowest : {-10, -3, 0, 2, 9}) {
    std::vector<std::int8_t> numbers(12);
    std::iota(numbers.begin(), numbers.end(), static_cast<std::int8_t>(lowest));
    const Table table({Column::view<std::int8_t>("a", numbers)});
    for (const double from : {-20.0, -1.5, 0.0, 0.3, 0.5, 0.7, 3.0, 3.999, 11.25, 40.0}) {
      for (const double length : {0.0, 0.2, 0.5, 1.0, 2.75, 100.0}) {
        const Value to = from + length;
        expect_distances(table, values(table.column(0)), from, to, by_distance(scaled, from, to));
      }
    }
  }
}

TEST(Keys, DistancesOfTimesAreExact) {
  std::vector<Value> ends{Date{0}, Date{1}, Date{-719'162}, Date{std::numeric_limits<std::int32_t>::max()}};
  for (const TimeUnit unit : {TimeUnit::second, TimeUnit::millisecond, TimeUnit::microsecond, TimeUnit::nanosecond}) {
    for (const std::int64_t ticks : {-1, 0, 1, 43'200, 1'500'000'000}) ends.push_back(Timestamp{ticks, unit});
    ends.push_back(Timestamp{std::numeric_limits<std::int64_t>::max(), unit});
    ends.push_back(Timestamp{std::numeric_limits<std::int64_t>::min(), unit});
  }
  for_time_types([&](DataType type, const auto& edges) {
    const Table table = edge_table(type, edges, true);
    SCOPED_TRACE(to_string(type));
    for (const Value& from : ends) {
      for (const Value& to : ends) {
        if (reference::time_in_nanoseconds(from) > reference::time_in_nanoseconds(to)) continue;
        expect_distances(table, values(table.column(0)), from, to,
                         by_distance(reference::time_in_nanoseconds, from, to));
      }
    }
  });
}

TEST(Keys, DistancesOfFloatsAreFloats) {
  const std::vector<double> ends{-1e300, -2.5, -0.0, 0.0, 0.1, 1, 9007199254740992.0, 1.7e308};
  for_number_types([&](DataType type, const auto& edges) {
    if (!is_floating(type.type)) return;
    const Table table = edge_table(type, edges, true);
    SCOPED_TRACE(to_string(type));
    for (const double from : ends) {
      for (const double to : ends) {
        if (from > to) continue;
        expect_distances(table, values(table.column(0)), from, to, by_distance(reference::real, from, to));
      }
    }
  });
}

TEST(Keys, LevelsOfSets) {
  for_edge_tables([](const Table& table, const std::vector<Value>& values) {
    // Sets of some of the values; zero is written with the other sign.
    std::vector<std::vector<Value>> sets(3);
    std::vector<Value> listed;
    for (std::size_t i = 0; i < values.size() / 2; ++i) {
      if (missing_rank(values[i]) != 0 || i % 4 == 3) continue;
      const auto equal = [&](const Value& other) { return reference::compare(values[i], other) == 0; };
      if (std::any_of(listed.begin(), listed.end(), equal)) continue;
      listed.push_back(values[i]);
      const auto* number = std::get_if<double>(&values[i]);
      sets[i % 4].push_back(number != nullptr && *number == 0 ? Value(-*number) : values[i]);
    }
    const Order order = [&](const Value& a, const Value& b) -> std::partial_ordering {
      const auto level = [&](const Value& value) {
        for (std::size_t s = 0; s < sets.size(); ++s) {
          for (const Value& member : sets[s]) {
            if (reference::compare(member, value) == 0) return s;
          }
        }
        return sets.size();
      };
      return level(a) <=> level(b);
    };
    for (const bool inverted : {false, true}) {
      BoundPreference in = term(Kind::in, "a", table, inverted);
      in.values = sets;
      EXPECT_EQ(make_keys(in, table, all_rows(table)).column.width, KeyWidth::bytes1);
      expect_orders(in, table, values, inverted ? reversed(order) : order);
    }
  });
}

TEST(Keys, LevelsOfValuesThatTheTypeDoesNotHold) {
  const Table table({Column::own("a", std::vector<std::int8_t>{1, 2, 3})});
  BoundPreference in = term(Kind::in, "a", table);
  in.values = {{2.5, std::int64_t{300}, std::uint64_t{1} << 63}, {3.0}, {std::int64_t{1}}};
  EXPECT_EQ(numbers(make_keys(in, table, all_rows(table)), 3), (std::vector<std::uint64_t>{2, 3, 1}));
}

TEST(Keys, LevelsOfStringsInEveryLayout) {
  const std::int64_t n = 3000;
  std::vector<std::string> texts;
  std::vector<bool> valid;
  std::vector<std::uint8_t> indices;
  const std::vector<std::string> entries{"Oslo", "Aarhus", "Lund", "", "Rome"};
  for (std::int64_t i = 0; i < n; ++i) {
    indices.push_back(static_cast<std::uint8_t>(i % 5));
    texts.push_back(entries[static_cast<std::size_t>(i % 5)]);
    valid.push_back(i % 7 != 0);
  }
  const Column plain = Column::own("a", texts, valid);
  ColumnData data = plain.data();
  data.layout = Layout::dictionary;
  data.values = indices.data();
  data.index_type = Type::uint8;
  data.stride = 1;
  data.dictionary = std::make_shared<ColumnData>(Column::own("entries", entries).data());
  for (const Column& column : {plain, Column("a", data)}) {
    const Table table({column});
    for (const std::string_view expression : {"a", "case when a != 'nowhere' then a end"}) {
      for (const bool inverted : {false, true}) {
        BoundPreference in = term(Kind::in, expression, table, inverted);
        in.values = {{std::string("Lund"), std::string("")}, {std::string("Oslo"), std::string("Paris")}};
        const std::vector<std::uint64_t> keys = numbers(make_keys(in, table, all_rows(table)), n);
        in.nulls_first = true;
        const std::vector<std::uint64_t> nulls_first = numbers(make_keys(in, table, all_rows(table)), n);
        for (std::int64_t i = 0; i < n; ++i) {
          const std::uint64_t level = std::vector<std::uint64_t>{1, 2, 0, 0, 2}[static_cast<std::size_t>(i % 5)];
          const std::uint64_t directed = inverted ? 2 - level : level;
          ASSERT_EQ(keys[static_cast<std::size_t>(i)], i % 7 == 0 ? 3 : directed) << "row " << i;
          ASSERT_EQ(nulls_first[static_cast<std::size_t>(i)], i % 7 == 0 ? 0 : directed + 1) << "row " << i;
        }
      }
    }
  }
}

TEST(Keys, ManySetsTakeTwoBytes) {
  const Table table({Column::own("a", std::vector<std::int32_t>{0, 299, 300, -1, 7}, {true, true, true, true, false})});
  BoundPreference in = term(Kind::in, "a", table);
  for (std::int64_t i = 0; i < 300; ++i) in.values.push_back({i});
  const Keys keys = make_keys(in, table, all_rows(table));
  EXPECT_EQ(keys.column.width, KeyWidth::bytes2);
  EXPECT_EQ(numbers(keys, 5), (std::vector<std::uint64_t>{0, 299, 300, 300, 301}));
}

TEST(Keys, ConditionsThatAreNotTrueAreEqual) {
  const Table table({Column::own("a", std::vector<std::int32_t>{1, 5, 7}, {true, true, false}),
                     Column::own("flag", std::vector<bool>{true, false, true}, {true, true, false})});
  for (const std::string_view condition : {"a < 3", "flag"}) {
    EXPECT_EQ(numbers(make_keys(term(Kind::where, condition, table), table, all_rows(table)), 3),
              (std::vector<std::uint64_t>{0, 1, 1}));
    EXPECT_EQ(numbers(make_keys(term(Kind::where, condition, table, true), table, all_rows(table)), 3),
              (std::vector<std::uint64_t>{1, 0, 0}));
  }
}

TEST(Keys, EveryLayoutRowListAndBlockBoundary) {
  for (const std::int64_t n : {0, 1, 2047, 2048, 2049, 64 * 2048 + 1}) {
    const Table table(layouts(n));
    std::vector<RowId> third;
    for (RowId row = 2; row < n; row += 3) third.push_back(row);
    // The sanitizers watch how keys are made, not how they are compared.
    const std::int64_t step = tests::kSanitized && n > 3000 ? 17 : 1;
    for (const Rows& rows : {all_rows(table), Rows{static_cast<std::int64_t>(third.size()), third.data()}}) {
      for (const Column& column : table.columns()) {
        SCOPED_TRACE(column.name() + " of " + std::to_string(n) + " rows");
        for (const bool high : {false, true}) {
          const auto key =
              numbers(make_keys(query::BoundRankTerm{bound(column.name(), table), high}, table, rows), rows.n);
          Random random(3);
          for (std::int64_t i = 0; i < rows.n; i += step) {
            const std::int64_t j = random.below(rows.n);
            const Value a = column.value(rows[i]);
            const Value b = column.value(rows[j]);
            const auto missing = missing_rank(a) <=> missing_rank(b);
            const bool values = missing_rank(a) == 0 && missing_rank(b) == 0;
            const auto expected = !values ? std::partial_ordering(missing)
                                  : high  ? reference::compare(b, a)
                                          : reference::compare(a, b);
            ASSERT_EQ(key[static_cast<std::size_t>(i)] <=> key[static_cast<std::size_t>(j)], expected);
          }
        }
      }
    }
  }
}

TEST(Keys, StringsAreInTheOrderOfTheirBytes) {
  // Also those that differ behind their first eight bytes, hold zeros, or are the beginning of another.
  const std::string zeros("a\0\0", 3);
  std::vector<std::string> texts{
      "",         "a",         "b",    "ab",       "B",        zeros,       "a long beginning, then 1",
      "12345678", "123456789", "\x7f", "\xc3\xa9", "12345678", zeros + "b", "a long beginning, then 0"};
  std::vector<bool> valid(texts.size(), true);
  texts.insert(texts.end(), {"x", "y"});
  valid.insert(valid.end(), {false, false});
  std::vector<std::uint8_t> indices(texts.size());
  std::iota(indices.begin(), indices.end(), std::uint8_t{0});
  const Column plain = Column::own("a", texts, valid);
  ColumnData data = plain.data();
  data.layout = Layout::dictionary;
  data.values = indices.data();
  data.index_type = Type::uint8;
  data.stride = 1;
  data.dictionary = std::make_shared<ColumnData>(Column::own("entries", texts).data());
  const Column entries("a", data);
  std::vector<std::string> more_texts = texts;
  more_texts.resize(300, "an entry that no row has");
  data.dictionary = std::make_shared<ColumnData>(Column::own("entries", more_texts).data());
  for (const Column& column : {plain, entries, Column("a", data)}) {
    const Table table({column});
    for (const std::string_view expression : {"a", "case when a != 'nowhere' then a end", "lower(a)"}) {
      SCOPED_TRACE(expression);
      std::vector<Value> found = values(table.column(0));
      for (Value& value : found) {
        auto* text = std::get_if<std::string>(&value);
        if (text != nullptr && *text == "B" && expression == "lower(a)") *text = "b";
      }
      const Order low = reference::compare;
      expect_orders(term(Kind::low, expression, table), table, found, low);
      expect_orders(term(Kind::high, expression, table), table, found, reversed(low));
      expect_orders(term(Kind::high, expression, table, true), table, found, low);
      expect_orders(query::BoundRankTerm{bound(expression, table), true}, table, found, reversed(low));
    }
  }
}

TEST(Keys, OfNoRowsOfADictionary) {
  ColumnData data = Column::own("a", std::vector<std::string>{}).data();
  data.layout = Layout::dictionary;
  data.index_type = Type::uint8;
  data.stride = 1;
  data.dictionary = std::make_shared<ColumnData>(Column::own("entries", std::vector<std::string>{}).data());
  const Table table({Column("a", data)});
  EXPECT_EQ(make_keys(query::BoundRankTerm{bound("a", table), false}, table, all_rows(table)).column.width,
            KeyWidth::bytes1);
}

TEST(Keys, OfCompositionsAreRefused) {
  const Table table({text_column("a", {"x"})});
  EXPECT_THROW(make_keys(BoundPreference{}, table, all_rows(table)), std::logic_error);
}

Keys keys_of(const std::vector<std::uint64_t>& values, KeyWidth width) {
  return with_width(width, [&]<class Key>(Key) {
    KeyMemory<Key> memory(static_cast<std::int64_t>(values.size()));
    for (std::size_t i = 0; i < values.size(); ++i) memory[static_cast<std::int64_t>(i)] = static_cast<Key>(values[i]);
    return std::move(memory).keys();
  });
}

TEST(Widen, KeepsKeys) {
  for (const KeyWidth from : {KeyWidth::bytes1, KeyWidth::bytes2, KeyWidth::bytes4, KeyWidth::bytes8}) {
    const std::uint64_t highest = ~std::uint64_t{0} >> (64 - kernels::bits(from));
    const std::vector<std::uint64_t> values{0, 1, highest - 1, highest};
    for (const KeyWidth to : {KeyWidth::bytes1, KeyWidth::bytes2, KeyWidth::bytes4, KeyWidth::bytes8}) {
      if (to < from) {
        EXPECT_THROW(widen(keys_of(values, from), 4, to), std::logic_error);
        continue;
      }
      const Keys wide = widen(keys_of(values, from), 4, to);
      EXPECT_EQ(wide.column.width, to);
      EXPECT_EQ(numbers(wide, 4), values);
    }
  }
}

/// combine_prior orders as the columns do one after the other.
void expect_lexicographic(const std::vector<std::vector<std::uint64_t>>& columns, KeyWidth width) {
  std::vector<Keys> keys;
  for (const auto& column : columns) {
    keys.push_back(keys_of(column, width_for(*std::max_element(column.begin(), column.end()))));
  }
  const std::size_t n = columns.front().size();
  const Keys combined = combine_prior(keys, static_cast<std::int64_t>(n));
  EXPECT_EQ(combined.column.width, width);
  const auto key = numbers(combined, static_cast<std::int64_t>(n));
  const auto row = [&](std::size_t i) {
    std::vector<std::uint64_t> values;
    for (const auto& column : columns) values.push_back(column[i]);
    return values;
  };
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) ASSERT_EQ(key[i] <=> key[j], row(i) <=> row(j)) << i << " and " << j;
  }
}

TEST(CombinePrior, UsesTheBitsThatTheKeysNeed) {
  constexpr std::uint64_t kMax = ~std::uint64_t{0};
  expect_lexicographic({{1, 0, 1, 0}, {0, 7, 3, 7}}, KeyWidth::bytes1);
  expect_lexicographic({{255, 254, 255}, {0, 1, 1}}, KeyWidth::bytes2);
  expect_lexicographic({{65'535, 0, 3}, {65'535, 0, 9}}, KeyWidth::bytes4);
  expect_lexicographic({{1ULL << 31, 0, 3}, {1ULL << 31, 5, 0}}, KeyWidth::bytes8);
  expect_lexicographic({{0, 0, 0}, {0, 0, 0}}, KeyWidth::bytes1);
  expect_lexicographic({{0, 0, 0}, {kMax, 5, kMax - 1}}, KeyWidth::bytes8);
  expect_lexicographic({{kMax, 5, kMax - 1}, {0, 0, 0}}, KeyWidth::bytes8);
  expect_lexicographic({{kMax, 5, kMax - 1, 5}, {0, 1, 0, 0}}, KeyWidth::bytes1);
  expect_lexicographic({{kMax, 5, kMax, 5}, {kMax, 1, 7, 1}, {3, 1, 2, 0}}, KeyWidth::bytes1);
  EXPECT_EQ(numbers(combine_prior({keys_of({3, 1, 2}, KeyWidth::bytes4)}, 3), 3),
            (std::vector<std::uint64_t>{3, 1, 2}));
  const std::vector<Keys> empty{keys_of({}, KeyWidth::bytes8), keys_of({}, KeyWidth::bytes1)};
  EXPECT_TRUE(numbers(combine_prior(empty, 0), 0).empty());
}

TEST(CombinePrior, RanksManyRowsThatNeedMoreThan64Bits) {
  const std::int64_t n = 200'000;
  Random random(11);
  std::vector<std::uint64_t> a;
  std::vector<std::uint64_t> b;
  for (std::int64_t i = 0; i < n; ++i) {
    a.push_back(~std::uint64_t{0} - random.next() % 300);
    b.push_back(random.next() % 1000);
  }
  const Keys combined = combine_prior({keys_of(a, KeyWidth::bytes8), keys_of(b, KeyWidth::bytes2)}, n);
  EXPECT_EQ(combined.column.width, KeyWidth::bytes4);
  const auto key = numbers(combined, n);
  for (std::int64_t k = 0; k < n; ++k) {
    const auto i = static_cast<std::size_t>(k);
    const auto j = static_cast<std::size_t>(random.below(n));
    ASSERT_EQ(key[i] <=> key[j], std::pair(a[i], b[i]) <=> std::pair(a[j], b[j]));
  }
}

}  // namespace
}  // namespace skyrank::exec
