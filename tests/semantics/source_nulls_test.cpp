#include <skyrank/engine.hpp>
#include <skyrank/source.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <vector>

// Units of a source that are skipped by their statistics, where NULL comes first or last.
namespace skyrank {
namespace {

constexpr std::int64_t kUnits = 10;
constexpr std::int64_t kRowsOfUnit = 14'000;  // enough in all for an answer by units

/// Numbers x that rise from unit to unit, with NULLs in units 3 and 7, and y that falls within each.
Table whole() {
  std::vector<double> x;
  std::vector<std::int32_t> y;
  std::vector<std::int8_t> fifth;
  std::vector<bool> valid;
  for (std::int64_t row = 0; row < kUnits * kRowsOfUnit; ++row) {
    const std::int64_t unit = row / kRowsOfUnit;
    const bool odd = row % 1000 == 0;
    x.push_back(odd && unit == 5 ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(row * 7 % 100'000));
    x.back() += static_cast<double>(100'000 * unit);
    y.push_back(static_cast<std::int32_t>(1'000'000 - row % kRowsOfUnit));
    fifth.push_back(static_cast<std::int8_t>(row % 5));
    valid.push_back(!(odd && (unit == 3 || unit == 7)));
  }
  return Table({Column::own("x", x, valid), Column::own("y", y), Column::own("fifth", fifth)});
}

Table rows_of(const Table& table, std::int64_t begin, std::int64_t end) {
  std::vector<RowId> rows(static_cast<std::size_t>(end - begin));
  std::iota(rows.begin(), rows.end(), begin);
  std::vector<Column> columns;
  for (const Column& column : table.columns()) columns.push_back(take(column, rows));
  return Table(std::move(columns));
}

/// Bounds of x in each unit; without them for unit 4, and without the number of NULLs for unit 6.
UnitStatistics statistics_of_x() {
  std::vector<double> lowest;
  std::vector<double> highest;
  std::vector<std::optional<std::int64_t>> nulls;
  for (std::int64_t unit = 0; unit < kUnits; ++unit) {
    lowest.push_back(static_cast<double>(100'000 * unit));
    highest.push_back(static_cast<double>(100'000 * (unit + 1)));
    nulls.push_back(unit == 6 ? std::nullopt : std::optional<std::int64_t>(unit == 3 || unit == 7 ? 14 : 0));
  }
  std::vector<bool> known(kUnits, true);
  known[4] = false;
  return {Column::own("x", lowest, known), Column::own("x", highest, known), nulls};
}

const Table& nullable_table() {
  static const Table table = whole();
  return table;
}

std::shared_ptr<const Source> source() {
  const auto read = [](std::size_t unit, std::span<const int>) {
    const auto begin = static_cast<std::int64_t>(unit) * kRowsOfUnit;
    return rows_of(nullable_table(), begin, begin + kRowsOfUnit);
  };
  const auto statistics = [](int column) { return column == 0 ? std::optional(statistics_of_x()) : std::nullopt; };
  return unit_source(rows_of(nullable_table(), 0, 0), std::vector<SourceUnit>(kUnits, SourceUnit{kRowsOfUnit}), read,
                     statistics);
}

double statistic(const PlanNode& plan, const std::string& name) {
  for (const PlanNode* node = &plan;; node = &node->children.front()) {
    for (const auto& [key, value] : node->statistics) {
      if (key == name) return value;
    }
    if (node->children.empty()) break;
  }
  ADD_FAILURE() << "no statistic " << name;
  return 0;
}

/// Expects the answer over the table, after reading at most `max_read` units.
void expect_same(const Query& query, double max_read) {
  const Engine engine({.threads = 1, .device = DeviceChoice::cpu, .profile = ""});
  const Result expected = engine.run(query, nullable_table());
  const Result found = engine.run(query, *source());
  EXPECT_EQ(found.rows, expected.rows);
  EXPECT_EQ(found.levels, expected.levels);
  EXPECT_LE(kUnits - statistic(found.plan, "units skipped"), max_read);
}

Query ranked(std::vector<RankTerm> ranking, std::int64_t limit) {
  return Query::from("t").rank_by(std::move(ranking)).limit(limit);
}

TEST(SourceNulls, UnitsWithNullComeFirstWhereNullIsBest) {
  // Units 3 and 7 have 28 NULLs; units 4 and 6 may have some.
  expect_same(ranked({low("x")}, 10).nulls(Missing::best), 4);
  expect_same(ranked({high("x")}, 28).nulls(Missing::best), kUnits);
  expect_same(ranked({high("x"), low("y")}, 20).nulls(Missing::best).ties(Ties::all), kUnits);
  // Behind the NULLs come the lowest values, of unit 0.
  expect_same(ranked({low("x")}, 40).nulls(Missing::best), kUnits);
  expect_same(ranked({low("x")}, 5).offset(26).nulls(Missing::best).ties(Ties::last), kUnits);
}

TEST(SourceNulls, UnitsWithNullMatterLittleWhereNullIsWorst) {
  expect_same(ranked({low("x")}, 10), 2);
  expect_same(ranked({high("x")}, 10), 2);
  expect_same(ranked({low("x")}, 10).nulls(Missing::exclude), 2);
}

TEST(SourceNulls, SkylinesKeepTheNullsOfAllUnits) {
  const Query query = Query::from("t").prefer({low("x"), low("y")});
  expect_same(query, kUnits);
  expect_same(Query(query).nulls(Missing::best), kUnits);
  expect_same(Query::from("t").prefer({low("x")}).nulls(Missing::best), 4);
  expect_same(Query::from("t").prefer({inverse(low("x"))}).nulls(Missing::best), 4);
  expect_same(Query::from("t").prefer({low("x")}), 2);
}

// Statistics leave NaN out, so no unit can be skipped by them.
TEST(SourceNulls, NanIsFoundInAllUnitsWhereItIsBest) {
  expect_same(ranked({low("x")}, 10).nan(Missing::best), kUnits);
  expect_same(ranked({high("x")}, 40).nan(Missing::best).nulls(Missing::best), kUnits);
  expect_same(Query::from("t").prefer({low("x")}).nan(Missing::best), kUnits);
  expect_same(Query::from("t").prefer({low("x"), low("y")}).nan(Missing::best), kUnits);
}

TEST(SourceNulls, PartialAnswersKeepThemToo) {
  const Engine engine({.threads = 1, .device = DeviceChoice::cpu, .profile = ""});
  for (const Query& query :
       {ranked({low("x")}, 40).nulls(Missing::best), Query::from("t").prefer({low("x"), low("y")}).nulls(Missing::best),
        ranked({high("x")}, 3).partition_by({"fifth"}).nulls(Missing::best), ranked({high("x")}, 40).nan(Missing::best),
        Query::from("t").prefer({low("x"), low("y")}).levels(2).nan(Missing::best).nulls(Missing::best),
        Query::from("t").group_by({"fifth"}).aggregate({avg("mean", "x")}).rank_by({low("mean")}).nan(Missing::best)}) {
    std::vector<Partial> parts;
    for (std::size_t unit = 0; unit < kUnits; unit += 5) {
      parts.push_back(
          engine.partial(query, *unit_range(source(), unit, unit + 5), static_cast<RowId>(unit) * kRowsOfUnit));
    }
    EXPECT_EQ(engine.merge(query, parts).rows, engine.run(query, nullable_table()).rows);
  }
}

}  // namespace
}  // namespace skyrank
