#include "engine/parts/sources/units_cost.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <skyrank/query.hpp>
#include <skyrank/source.hpp>

#include "engine/parts/sources/checked_source.hpp"
#include "engine/parts/sources/prune.hpp"
#include "engine/query/bound.hpp"

namespace skyrank::exec {
namespace {

/// A source of two columns that is priced, and never read. Its units have ascending values of the first.
class PricedSource final : public Source {
 public:
  PricedSource(std::size_t units, std::int64_t rows, std::optional<ReadCost> cost = {})
      : units_(units, SourceUnit{rows}), cost_(cost) {}

  const Table& schema() const override { return schema_; }
  const std::vector<SourceUnit>& units() const override { return units_; }
  std::uint64_t bytes() const override { return 0; }
  std::optional<ReadCost> read_cost(int /*column*/) const override { return cost_; }
  std::optional<UnitStatistics> statistics(int column) const override {
    if (column != 0) return std::nullopt;
    std::vector<double> min;
    std::vector<double> max;
    for (std::size_t unit = 0; unit < units_.size(); ++unit) {
      min.push_back(static_cast<double>(unit));
      max.push_back(static_cast<double>(unit) + 1);
    }
    return UnitStatistics{Column::own("min", min), Column::own("max", max),
                          std::vector<std::optional<std::int64_t>>(units_.size(), 0)};
  }
  SourceRows read(std::span<const std::size_t>, std::span<const int>) const override { return {}; }
  SourceRows read_rows(std::span<const RowId>, std::span<const int>) const override { return {}; }

 private:
  Table schema_{{Column::own("a", std::vector<double>{}), Column::own("b", std::vector<double>{})}};
  std::vector<SourceUnit> units_;
  std::optional<ReadCost> cost_;
};

constexpr int kColumns[] = {0, 1};

TEST(UnitsCost, ReadingTakesTimeThatGrowsWithRowsAndUnitsAndFallsWithThreads) {
  double before = 0;
  for (const std::int64_t rows : {1, 1'000, 100'000, 10'000'000}) {
    const PricedSource source(8, rows);
    const double one = read_seconds(source, all_units(source), kColumns, 1);
    EXPECT_GT(one, before) << rows;
    before = one;
    double slower = one;
    for (const int threads : {2, 4, 16, 64}) {
      const double seconds = read_seconds(source, all_units(source), kColumns, threads);
      EXPECT_LE(seconds, slower) << threads << " threads";
      EXPECT_GE(seconds, one / threads) << threads << " threads";
      slower = seconds;
    }
    const double pieces = rows > 1'000'000 ? 64 : 16;  // large chunks are decoded in pieces
    EXPECT_EQ(slower, one / pieces) << "a thread for each column of each unit, and no more";
  }
  const PricedSource few(8, 100'000);
  const PricedSource many(800, 1'000);
  EXPECT_GT(read_seconds(many, all_units(many), kColumns, 1), 2 * read_seconds(few, all_units(few), kColumns, 1));
}

TEST(UnitsCost, SomeRowsTakeNoLessThanFewerOfThemAndNoMoreWhereTheyAreInFewUnits) {
  const PricedSource source(100, 100'000);
  for (const int threads : {1, 2, 16}) {
    double before = 0;
    for (const double rows : {0.5, 1.0, 10.0, 100.0, 1e4, 1e6}) {
      const double seconds = read_rows_seconds(source, rows, 100, kColumns, threads);
      EXPECT_GE(seconds, 0.9 * before) << rows << " rows, " << threads << " threads";  // more of them keep threads busy
      EXPECT_LE(seconds, read_rows_seconds(source, rows, 100, kColumns, 1));
      EXPECT_GT(seconds, 0);
      before = seconds;
    }
  }
  EXPECT_LT(read_rows_seconds(source, 1000, 1, kColumns, 1), read_rows_seconds(source, 1000, 100, kColumns, 1) / 10);
}

TEST(UnitsCost, SourcesTellWhatTheirColumnsTake) {
  const PricedSource source(10, 1'000, ReadCost{.value = 1e-3, .unit = 2.0});
  EXPECT_DOUBLE_EQ(read_seconds(source, all_units(source), kColumns, 1), 10 * 2 * 2 + 10'000 * 2 * 1e-3);
  EXPECT_DOUBLE_EQ(read_seconds(*unit_range(std::make_shared<PricedSource>(source), 2, 5), {0, 1, 2}, kColumns, 1),
                   3 * 2 * 2 + 3'000 * 2 * 1e-3);
  const double usual = read_seconds(PricedSource(10, 1'000), all_units(source), kColumns, 1);
  constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();
  for (const ReadCost wrong : {ReadCost{kNoNumber, 1}, ReadCost{1, -1}, ReadCost{HUGE_VAL, 1}}) {
    const PricedSource mistaken(10, 1'000, wrong);
    EXPECT_EQ(read_seconds(CheckedSource(mistaken), all_units(source), kColumns, 1), usual);
  }
}

TEST(UnitsCost, TheBestRowsOfAscendingUnitsAreInTheFirst) {
  const PricedSource source(50, 100'000);
  const auto bound = [&](const Query& query) { return query::bind(query, query::schema_of(source.schema())); };
  const auto units = [&](const Query& query) {
    return price_units(bound(query), source, all_units(source), kColumns, 5e6, 1).units;
  };
  EXPECT_LE(units(Query::from("t").rank_by({low("a")}).limit(10)), 3);
  EXPECT_NEAR(units(Query::from("t").rank_by({low("a")}).limit(1'000'000)), 11, 2);
  EXPECT_EQ(units(Query::from("t").rank_by({low("b")}).limit(10)), 50) << "nothing is known of b";
}

TEST(UnitsCost, ThreadsAnswerAUnitEach) {
  const auto prices = [](std::size_t units, int threads) {
    const PricedSource source(units, 4'000'000, ReadCost{.value = 1e-8, .unit = 0});
    const Query query = Query::from("t").prefer({low("a"), low("b")});
    return price_units(query::bind(query, query::schema_of(source.schema())), source, all_units(source), kColumns,
                       4e6 * static_cast<double>(units), threads);
  };
  for (const std::size_t units : {1, 2, 3, 5, 16}) {
    const UnitPrices one = prices(units, 1);
    const auto rounds = static_cast<double>((units + 3) / 4);
    EXPECT_NEAR(prices(units, 4).one_by_one.high, one.one_by_one.high * rounds / static_cast<double>(units), 1e-9);
    EXPECT_NEAR(prices(units, 4).together.expected, one.together.expected / 4, 1e-9) << "all threads read all units";
  }
}

}  // namespace
}  // namespace skyrank::exec
