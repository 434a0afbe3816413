#pragma once

#include <skyrank/engine.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

// Random tables whose columns make groups and partitions on a device.
namespace skyrank::gpu_testing {

/// Draws for tables and queries.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed) {}

  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n)); }
  bool chance(int percent) { return below(100) < percent; }
  template <class T>
  const T& one_of(const std::vector<T>& values) {
    return values[static_cast<std::size_t>(below(static_cast<std::int64_t>(values.size())))];
  }

  std::vector<bool> bits(std::int64_t n, int percent) {
    std::vector<bool> drawn(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < drawn.size(); ++i) drawn[i] = chance(percent);
    return drawn;
  }

  /// Few different values, some of them extreme.
  template <class T>
  std::vector<T> numbers(std::int64_t n, std::int64_t different) {
    using Limits = std::numeric_limits<T>;
    std::vector<T> values(static_cast<std::size_t>(n));
    for (T& value : values) {
      value = static_cast<T>(below(different));
      if (Limits::is_signed && chance(20)) value = static_cast<T>(-value);  // -0.0 too
      if (!chance(2)) continue;
      value = chance(50) ? Limits::max() : Limits::lowest();
      if (Limits::has_quiet_NaN && chance(50)) value = chance(50) ? Limits::quiet_NaN() : -Limits::quiet_NaN();
    }
    return values;
  }

 private:
  std::mt19937_64 random_;
};

/// Strings as indices into a dictionary that names one of its strings twice.
inline Column dictionary_column(const std::string& name, Draw& draw, std::int64_t n, bool nulls) {
  const std::vector<std::string> words = {"oslo", "", "bergen", "oslo", "trondheim"};
  std::vector<std::uint8_t> indices(static_cast<std::size_t>(n));
  for (std::uint8_t& index : indices) index = static_cast<std::uint8_t>(draw.below(std::ssize(words)));
  const Column index = nulls ? Column::own(name, indices, draw.bits(n, 85)) : Column::own(name, indices);
  ColumnData data = index.data();
  data.layout = Layout::dictionary;
  data.type = Type::string;
  data.index_type = Type::uint8;
  data.dictionary = std::make_shared<const ColumnData>(Column::own("words", words).data());
  return Column(name, data);
}

/// Columns of all types that have codes there, with NULLs, NaN and ties.
inline Table random_table(Draw& draw, std::int64_t n) {
  return Table({Column::own("i8", draw.numbers<std::int8_t>(n, 5)),
                Column::own("i16", draw.numbers<std::int16_t>(n, 30), draw.bits(n, 90)),
                Column::own("i32", draw.numbers<std::int32_t>(n, 1'000'000)),
                Column::own("i64", draw.numbers<std::int64_t>(n, 9), draw.bits(n, 90)),
                Column::own("u16", draw.numbers<std::uint16_t>(n, 500)),
                Column::own("u64", draw.numbers<std::uint64_t>(n, 40), draw.bits(n, 80)),
                Column::own("f32", draw.numbers<float>(n, 6), draw.bits(n, 90)),
                Column::own("f64", draw.numbers<double>(n, 100)), Column::own("truth", draw.bits(n, 30)),
                Column::own_as("day", Type::date, draw.numbers<std::int32_t>(n, 70)),
                Column::own_as("time", Type::timestamp, draw.numbers<std::int64_t>(n, 4), draw.bits(n, 90)),
                Column::own_as("price", DataType::decimal(12, 2), draw.numbers<std::int64_t>(n, 20)),
                dictionary_column("city", draw, n, false), dictionary_column("town", draw, n, true)});
}

inline const std::vector<std::string> kColumns = {"i8",  "i16",   "i32", "i64",  "u16",   "u64",  "f32",
                                                  "f64", "truth", "day", "time", "price", "city", "town"};

/// A query over all rows, or over those that pass a condition.
inline Query random_rows(Draw& draw) {
  Query query = Query::from("t");
  if (draw.chance(40)) {
    query.where(draw.one_of<std::string>(
        {"f64 > 20", "truth", "u16 in (1, 2, 3)", "i32 < 0", "city = 'oslo'", "u16 < 0", "i8 > 0 or day is null"}));
  }
  return query;
}

/// One to three different columns.
inline std::vector<GroupKey> random_keys(Draw& draw) {
  std::vector<std::string> columns;
  for (std::int64_t i = 1 + draw.below(3); i > 0; --i) {
    const std::string column = draw.one_of(kColumns);
    if (std::ranges::find(columns, column) == columns.end()) columns.push_back(column);
  }
  return {columns.begin(), columns.end()};
}

inline void expect_same_values(const Table& there, const Table& here) {
  ASSERT_EQ(there.num_columns(), here.num_columns());
  ASSERT_EQ(there.num_rows(), here.num_rows());
  for (int c = 0; c < here.num_columns(); ++c) {
    for (std::int64_t row = 0; row < here.num_rows(); ++row) {
      ASSERT_EQ(to_string(there.column(c).value(row)), to_string(here.column(c).value(row)))
          << here.column(c).name() << ", row " << row << " of the answer";
    }
  }
}

/// The outcome of a rule in a plan.
inline RuleOutcome outcome_of(const std::string& rule, const PlanNode& plan) {
  for (const RuleOutcome& outcome : plan.rules) {
    if (outcome.rule == rule) return outcome;
  }
  return {};
}

}  // namespace skyrank::gpu_testing
