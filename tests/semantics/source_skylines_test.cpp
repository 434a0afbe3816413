#include <skyrank/engine.hpp>
#include <skyrank/source.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "engine/operators/gather/gather.hpp"
#include "engine/parts/sources/checked_source.hpp"

// Skylines of sources whose units are answered one by one, without the rows that known ones dominate.
namespace skyrank {
namespace {

constexpr std::int64_t kTableRows = 320'000;
constexpr std::int64_t kUnitRows = 80'000;

/// Returns a value as a number; NaN for NULL.
double number(const Column& column, RowId row) {
  if (column.is_null(row)) return std::numeric_limits<double>::quiet_NaN();
  const Value value = column.value(row);
  const auto* const integer = std::get_if<std::int64_t>(&value);
  return integer != nullptr ? static_cast<double>(*integer) : std::get<double>(value);
}

/// Returns bounds of a column of numbers in runs of `length` rows from [begin, end).
ZoneStatistics zones_of(const Column& column, RowId begin, RowId end, std::int64_t length) {
  std::vector<std::int64_t> rows;
  std::vector<RowId> min;
  std::vector<RowId> max;
  std::vector<std::optional<std::int64_t>> nulls;
  while (begin < end) {
    rows.push_back(std::min(length, end - begin));
    min.push_back(begin);
    max.push_back(begin);
    std::int64_t missing = 0;
    for (const RowId last = begin + rows.back(); begin < last; ++begin) {
      missing += column.is_null(begin) ? 1 : 0;
      const double value = number(column, begin);
      if (!(number(column, min.back()) <= value) && !std::isnan(value)) min.back() = begin;
      if (!(number(column, max.back()) >= value) && !std::isnan(value)) max.back() = begin;
    }
    nulls.emplace_back(missing);
  }
  return {std::move(rows), {take(column, min), take(column, max), std::move(nulls)}};
}

/// A table in units without statistics, which may have zones of another length in each column.
class TableInUnits final : public Source {
 public:
  TableInUnits(Table table, bool has_zones)
      : table_(std::move(table)), has_zones_(has_zones), schema_(exec::gather(table_, {})) {
    for (std::int64_t row = 0; row < table_.num_rows(); row += kUnitRows) {
      units_.push_back({std::min(kUnitRows, table_.num_rows() - row)});
    }
  }

  const Table& schema() const override { return schema_; }
  const std::vector<SourceUnit>& units() const override { return units_; }
  std::uint64_t bytes() const override { return static_cast<std::uint64_t>(table_.num_rows()); }

  SourceRows read(std::span<const std::size_t> units, std::span<const int> columns) const override {
    std::vector<RowId> rows;
    for (const std::size_t unit : units) {
      for (std::int64_t i = 0; i < units_[unit].rows; ++i) rows.push_back(static_cast<RowId>(unit) * kUnitRows + i);
    }
    return read_rows(rows, columns);
  }

  SourceRows read_rows(std::span<const RowId> rows, std::span<const int>) const override {
    rows_read_ += rows.size();
    return {exec::gather(table_, rows), rows.size()};
  }

  std::optional<ZoneStatistics> zones(std::size_t unit, int column) const override {
    if (!has_zones_ || table_.column(column).type() == Type::string) return std::nullopt;
    const RowId begin = static_cast<RowId>(unit) * kUnitRows;
    return zones_of(table_.column(column), begin, begin + units_[unit].rows, 900 + 500 * column);
  }

  std::size_t rows_read() const { return rows_read_; }

 private:
  Table table_;
  bool has_zones_;
  mutable std::atomic<std::size_t> rows_read_ = 0;
  Table schema_;
  std::vector<SourceUnit> units_;
};

/// Rows in a random order, or sorted by their sum.
Table made(bool sorted, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> x(kTableRows);
  std::vector<double> y(kTableRows);
  for (auto& value : x) value = static_cast<float>(random() >> 8);
  for (auto& value : y) value = static_cast<double>(random()) / 7;
  if (sorted) {
    std::ranges::sort(x);
    std::ranges::sort(y);
    std::shuffle(y.begin(), y.begin() + kTableRows / 2, random);
  }
  std::vector<std::int32_t> stars;
  std::vector<bool> has_stars;
  std::vector<double> holes;
  std::vector<std::string> name;
  for (std::int64_t row = 0; row < kTableRows; ++row) {
    stars.push_back(static_cast<std::int32_t>(random() % 1000));
    has_stars.push_back(random() % 100 != 0);
    holes.push_back(random() % 100 == 0 ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(random()));
    name.push_back("n" + std::to_string(random() % 500));
  }
  return Table({Column::own("x", std::move(x)), Column::own("y", std::move(y)),
                Column::own("stars", std::move(stars), has_stars), Column::own("holes", std::move(holes)),
                Column::own("name", std::move(name))});
}

std::string outcome_of_units(const Result& result) {
  const auto rule = std::ranges::find(result.plan.rules, "by-units", &RuleOutcome::rule);
  return rule == result.plan.rules.end() || !rule->applied ? "" : rule->reason;
}

class SourceSkylines : public ::testing::TestWithParam<bool> {
 protected:
  /// The answer from units has the rows of that from memory; returns what the rule says.
  std::string expect_same(const Query& query) const {
    const Result all = engine_.run(query, table_);
    const Result units = engine_.run(query, source_);
    EXPECT_EQ(units.rows, all.rows);
    EXPECT_GT(all.rows.size(), 0U);
    return outcome_of_units(units);
  }

  /// The same from units with zones; returns how many rows were read for it.
  std::size_t rows_of_zones(const Query& query) const {
    const std::size_t before = zoned_.rows_read();
    const Result all = engine_.run(query, table_);
    EXPECT_EQ(engine_.run(query, zoned_).rows, all.rows);
    // Columns that do not decide are read for the rows of the answer.
    return zoned_.rows_read() - before - all.rows.size();
  }

  static Query from() { return Query::from("t"); }

  const Table table_ = made(GetParam(), 7);
  const TableInUnits source_{table_, false};
  const TableInUnits zoned_{table_, true};
  const Engine engine_{{.threads = 2, .device = DeviceChoice::cpu, .profile = ""}};
};

TEST_P(SourceSkylines, AreThoseOfTheTable) {
  for (const Query& query : {
           from().prefer({low("x"), low("y")}),
           from().prefer({low("x"), high("y"), low("stars")}),
           from().prefer({low("x"), low("y"), high("holes"), low("stars")}),
           from().prefer({low("x"), low("y")}).where("stars > 500"),
           from().prefer({low("y"), low("holes")}).rank_by({high("x / 3")}).limit(3),
           from().prefer({high("stars"), high("x")}).distinct(true),
       }) {
    const std::string outcome = expect_same(query);
    // Sorted columns that oppose each other leave too many rows.
    EXPECT_TRUE(GetParam() || outcome.find("known rows dominate") != std::string::npos) << outcome;
  }
}

TEST_P(SourceSkylines, ReadOnlyZonesThatKnownRowsLeave) {
  // Two threads read a unit each before anything is known. Where rows are sorted, these dominate all that follow.
  const std::int64_t rows = GetParam() ? 2 * kUnitRows : kTableRows;
  EXPECT_LE(rows_of_zones(from().prefer({low("x"), low("y")})), static_cast<std::size_t>(rows));
  EXPECT_LE(rows_of_zones(from().prefer({low("x"), low("y")}).where("stars > 500")), static_cast<std::size_t>(rows));
  for (const Missing rule : {Missing::best, Missing::worst, Missing::exclude}) {
    rows_of_zones(from().prefer({low("y"), low("x"), low("stars")}).nulls(rule));
    rows_of_zones(from().prefer({low("holes"), low("x"), low("y")}).nan(rule));
  }
}

TEST_P(SourceSkylines, FollowTheRulesOfNullAndNan) {
  for (const Missing rule : {Missing::best, Missing::worst, Missing::exclude}) {
    expect_same(from().prefer({low("stars"), low("x"), low("holes")}).nulls(rule));
    expect_same(from().prefer({low("holes"), low("x"), low("stars")}).nan(rule));
  }
}

TEST_P(SourceSkylines, OfTextsAndLevelsLeaveNothingOut) {
  for (const Query& query : {from().prefer({low("name"), low("x")}), from().prefer({low("x"), low("y")}).levels(3),
                             from().prefer({low("x"), low("y")}).skyband(3),
                             from().prefer({low("x"), low("y"), high("stars")}).skyband(2).distinct(true),
                             from().prefer({low("x"), low("y")}).rank_by({high("dominates()")}).limit(9)}) {
    EXPECT_EQ(expect_same(query).find("known rows dominate"), std::string::npos);
  }
}

TEST_P(SourceSkylines, ArePickedFromAsAWhole) {
  for (const std::vector<double>& reference : {std::vector<double>{1e7, 1e8}, std::vector<double>{1e300, 1e300}}) {
    expect_same(from().prefer({low("x"), low("y")}).pick(Pick{4, Pick::By::hypervolume, reference}));
  }
  expect_same(from().prefer({low("x"), high("stars")}).nulls(Missing::exclude).pick(Pick{5, Pick::By::distance, {}}));
  // The rows that others dominate count, so that no unit may leave them out.
  const std::string outcome = expect_same(from().prefer({low("x"), low("y")}).pick(Pick{3, Pick::By::coverage, {}}));
  EXPECT_EQ(outcome, "");
}

TEST_P(SourceSkylines, NameTheRowOnWhichAConditionFails) {
  const Query query = from().prefer({low("x"), low("y")}).where("10 / (stars - 999) < 3");
  const auto message_over = [&](const auto& data) -> std::string {
    try {
      engine_.run(query, data);
    } catch (const DataError& error) {
      return error.message();
    }
    return "no error";
  };
  EXPECT_NE(message_over(table_), "no error");
  EXPECT_EQ(message_over(source_), message_over(table_));
}

TEST(SourceZones, HaveTheRowsOfTheirUnit) {
  const Column x = Column::own("x", std::vector<double>{1, 2, 3, 4, 5});
  ZoneStatistics zones = zones_of(x, 0, 5, 2);
  EXPECT_NO_THROW(exec::check_zones(zones, x, 5));
  EXPECT_THROW(exec::check_zones(zones, x, 6), DataError);
  EXPECT_THROW(exec::check_zones(zones, x, 4), DataError);
  zones.rows = {6, -1, 0};
  EXPECT_THROW(exec::check_zones(zones, x, 5), DataError);
  zones.rows = {2, 3};
  EXPECT_THROW(exec::check_zones(zones, x, 5), DataError);
}

INSTANTIATE_TEST_SUITE_P(, SourceSkylines, ::testing::Bool(),
                         [](const auto& sorted) { return sorted.param ? "Sorted" : "Shuffled"; });

}  // namespace
}  // namespace skyrank
