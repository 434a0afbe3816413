#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <skyrank/skyrank.hpp>

#include "engine/arrow_metadata.hpp"
#include "tests/build.hpp"
#include "tests/semantics/parts/parts.hpp"
#include "tests/semantics/random_case.hpp"
#include "tests/semantics/tables.hpp"

// The law of partial answers: merged in any split and order, they give what the whole table gives.
namespace skyrank {
namespace {

/// The answer, or the message of the error, as text.
std::string outcome(const std::function<Result()>& answer, bool with_rows) {
  try {
    const Result result = answer();
    std::string text;
    if (with_rows) {
      for (const RowId row : result.rows) text += std::to_string(row) + " ";
      text += "| ";
    }
    for (const std::int32_t level : result.levels) text += std::to_string(level) + " ";
    for (const Column& column : result.table.columns()) {
      text += "\n" + column.name() + " " + to_string(column.type()) + ":";
      for (std::int64_t i = 0; with_rows && i < column.size(); ++i) {
        text += column.is_null(i) ? " NULL" : " " + to_string(column.value(i));
      }
    }
    return text + "\n" + std::to_string(result.table.num_rows()) + " rows";
  } catch (const Error& error) {
    return "error: " + error.message();
  }
}

/// Returns a source of the rows between the cuts, a unit each.
std::shared_ptr<const Source> source_of(const Table& table, const std::vector<RowId>& cuts) {
  std::vector<SourceUnit> units;
  for (std::size_t i = 1; i < cuts.size(); ++i) units.push_back({cuts[i] - cuts[i - 1]});
  return unit_source(table, units, [table, cuts](std::size_t unit, std::span<const int>) {
    return rows_of(table, cuts[unit], cuts[unit + 1]);
  });
}

/// Returns the partial answer over the rows between two cuts: of a table, of a unit of a source, or of a table that is
/// numbered from 0 and moved to its place.
Partial partial_between(const Engine& engine, const Query& query, const Table& table, const std::vector<RowId>& cuts,
                        std::size_t part, std::uint64_t way) {
  const RowId begin = cuts[part];
  if (way == 0) return engine.partial(query, *unit_range(source_of(table, cuts), part, part + 1), begin);
  const Table rows = rows_of(table, begin, cuts[part + 1]);
  if (way == 1) {
    try {
      return moved(query, engine.partial(query, rows, 0), begin);
    } catch (const DataError&) {  // names a row of the part
    }
  }
  return engine.partial(query, rows, begin);
}

/// Splits a table at random, and merges its partial answers in a random tree.
Result answer_in_parts(const Engine& engine, const Query& query, const Table& table, std::mt19937& random) {
  std::vector<RowId> cuts = {0, table.num_rows()};
  for (auto more = random() % 6; more > 0; --more) {
    cuts.push_back(static_cast<RowId>(random() % static_cast<std::uint64_t>(table.num_rows() + 1)));
  }
  std::ranges::sort(cuts);
  std::vector<Partial> partials;
  for (std::size_t i = 1; i < cuts.size(); ++i) {
    partials.push_back(partial_between(engine, query, table, cuts, i - 1, random() % 3));
    if (random() % 2 == 0) partials.back() = through_arrow(partials.back());
  }
  std::ranges::shuffle(partials, random);
  while (partials.size() > 1 && random() % 3 != 0) {
    const Partial both = engine.merge_partials(query, {partials[partials.size() - 2], partials.back()});
    partials.erase(partials.end() - 2, partials.end());
    partials.insert(partials.begin() + static_cast<std::ptrdiff_t>(random() % (partials.size() + 1)), both);
  }
  return engine.merge(query, partials);
}

class RandomParts : public testing::TestWithParam<std::uint64_t> {};

TEST_P(RandomParts, MergeToTheWholeAnswer) {
  constexpr std::uint64_t kQueries = tests::kThreadSanitized ? 8 : tests::kSanitized ? 20 : 100;
  const Engine engine({.threads = 2, .device = DeviceChoice::cpu});
  for (std::uint64_t i = 0; i < kQueries && !HasFailure(); ++i) {
    const std::uint64_t seed = GetParam() * kQueries + i;
    SCOPED_TRACE("seed " + std::to_string(seed));
    const RandomCase one = random_case(seed);
    std::mt19937 random(static_cast<std::uint32_t>(seed));
    const bool exact = one.query.ties() != Ties::any;
    EXPECT_EQ(outcome([&] { return answer_in_parts(engine, one.query, one.table, random); }, exact),
              outcome([&] { return engine.run(one.query, one.table); }, exact));
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomParts, testing::Range<std::uint64_t>(0, 40));

const Table& small() {
  static const Table table({ints("a", {3, 1, 2, 9223372036854775807}), ints("g", {1, 1, 2, 2})});
  return table;
}

TEST(Parts, AnErrorNamesTheRowOfTheWholeTable) {
  const Engine engine({.threads = 1});
  const Query query = Query::from("t").rank_by({high("a + 1")}).limit(1);
  try {
    engine.partial(query, small(), 100);
    FAIL() << "no error";
  } catch (const DataError& error) {
    EXPECT_NE(error.message().find("row 103"), std::string::npos) << error.message();
  }
  const Query grouped = Query::from("t").group_by({"g"}).aggregate({sum("s", "a")});
  const Partial partial = engine.partial(grouped, small(), 100);
  try {
    engine.merge(grouped, {partial});
    FAIL() << "no error";
  } catch (const DataError& error) {
    EXPECT_NE(error.message().find("row 102"), std::string::npos) << error.message();
  }
}

TEST(Parts, PartitionsKeepTheOrderOfTheirFirstRows) {
  const Engine engine({.threads = 1});
  const Table table({ints("a", {9, 1, 0}), ints("g", {1, 2, 1})});
  const Query query = Query::from("t").prefer(low("a")).partition_by({"g"});
  EXPECT_EQ(engine.merge(query, {engine.partial(query, table, 0)}).rows, (std::vector<RowId>{2, 1}));
}

TEST(Parts, AtLeastNeedsDeeperLevelsThanAPartAloneTells) {
  const Engine engine({.threads = 1});
  // Row 3 is behind row 0 alone; rows 1 and 2 are behind row 4.
  const Table table({ints("x", {0, 5, 5, 1, 4}), ints("y", {9, 1, 1, 9, 0})});
  const Query query = Query::from("t").prefer({low("x"), low("y")}).at_least(3);
  const auto split = {engine.partial(query, rows_of(table, 0, 4), 0), engine.partial(query, rows_of(table, 4, 5), 4)};
  EXPECT_EQ(engine.merge(query, split).rows, engine.run(query, table).rows);
}

TEST(Parts, RefusesWhatDoesNotFit) {
  const Engine engine({.threads = 1});
  const Query query = Query::from("t").rank_by({high("a")}).limit(1);
  const Query other = Query::from("t").rank_by({high("a")}).limit(2);
  const Partial partial = engine.partial(query, small(), 0);
  EXPECT_THROW(engine.merge(query, {}), DataError);
  EXPECT_THROW(engine.merge(other, {partial}), DataError);
  EXPECT_THROW(engine.merge(query, {partial, partial}), DataError);
  EXPECT_THROW(engine.partial(query, small(), -1), DataError);
  EXPECT_THROW(engine.partial(query, small(), kMaxInt64 - 3), DataError);
  const std::string print = fingerprint_of(query);
  EXPECT_THROW(Partial("short", {}, {}, Table()), DataError);
  EXPECT_THROW(Partial(print, {{0, 4}}, {5}, Table({ints("a", {1})})), DataError);
  EXPECT_THROW(Partial(print, {{0, 4}}, {1, 1}, Table({ints("a", {1, 1})})), DataError);
  EXPECT_THROW(Partial(print, {{0, 4}}, {1}, Table({ints("a", {1, 1})})), DataError);
  EXPECT_THROW(Partial(print, {{2, 4}, {0, 2}}, {}, Table()), DataError);
}

TEST(Parts, RefusesRecordBatchesThatAreNone) {
  const std::string print = fingerprint_of(Query::from("t").prefer(low("a")));
  const auto import = [&](const Table& table, const ArrowMetadata& metadata) {
    ArrowArray array{};
    ArrowSchema schema{};
    export_arrow(table, metadata, &array, &schema);
    try {
      Partial::import_arrow(&array, &schema);
    } catch (...) {
      EXPECT_EQ(array.release, nullptr);
      EXPECT_EQ(schema.release, nullptr);
      throw;
    }
  };
  const auto metadata = [&](std::string version, std::string query, std::string covers) {
    return ArrowMetadata{{"skyrank.partial", version}, {"skyrank.query", query}, {"skyrank.covers", covers}};
  };
  const Table good({ints("row", {0, 2})});
  EXPECT_NO_THROW(import(good, metadata("2", print, "0-3")));
  EXPECT_THROW(import(good, {}), DataError);
  EXPECT_THROW(import(good, metadata("3", print, "0-3")), DataError);
  EXPECT_THROW(import(good, metadata("2", "x", "0-3")), DataError);
  for (const char* covers : {"", "0", "0-", "0-2", "3-0", "0-3,1-4", "-1-3", "0-3,", "0-99999999999999999999", "a-b"}) {
    EXPECT_THROW(import(good, metadata("2", print, covers)), DataError) << covers;
  }
  EXPECT_THROW(import(Table({floats("row", {0, 2})}), metadata("2", print, "0-3")), DataError);
  EXPECT_THROW(import(Table({ints("row", {0, std::nullopt})}), metadata("2", print, "0-3")), DataError);
  EXPECT_THROW(import(Table(), metadata("2", print, "0-3")), DataError);
}

}  // namespace
}  // namespace skyrank
