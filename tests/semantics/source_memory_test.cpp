#include <skyrank/engine.hpp>
#include <skyrank/error.hpp>
#include <skyrank/source.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/build.hpp"

// Sources that do not fit the engine's limit of memory.
namespace skyrank {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::int64_t kUnits = 40;
constexpr std::int64_t kRowsOfUnit = 20'000;
constexpr std::size_t kBytesOfUnit = kRowsOfUnit * (8 + 8);

/// The finaliser of SplitMix64: random values that need no state.
std::uint64_t hash(RowId of) {
  std::uint64_t value = static_cast<std::uint64_t>(of) + 0x9E3779B97F4A7C15U;
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9U;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EBU;
  return value ^ (value >> 31);
}

/// Columns x and y of random doubles, an id for two rows each, and one of 50 bands, made anew for every read.
class MadeUnits : public Source {
 public:
  explicit MadeUnits(std::int64_t units = kUnits, std::int64_t rows_of_unit = kRowsOfUnit)
      : schema_(made({})),
        rows_of_unit_(rows_of_unit),
        units_(static_cast<std::size_t>(units), SourceUnit{rows_of_unit}) {}

  const Table& schema() const override { return schema_; }
  const std::vector<SourceUnit>& units() const override { return units_; }
  std::uint64_t bytes() const override { return static_cast<std::uint64_t>(num_rows(*this)) * 16; }

  SourceRows read(std::span<const std::size_t> units, std::span<const int>) const override {
    std::vector<RowId> rows;
    for (const std::size_t unit : units) {
      for (std::int64_t row = 0; row < rows_of_unit_; ++row) {
        rows.push_back(static_cast<RowId>(unit) * rows_of_unit_ + row);
      }
    }
    return {made(rows), rows.size() * 16};
  }

  SourceRows read_rows(std::span<const RowId> rows, std::span<const int>) const override {
    return {made(rows), rows.size() * 16};
  }

 private:
  static Table made(std::span<const RowId> rows) {
    std::vector<double> x;
    std::vector<double> y;
    std::vector<std::int64_t> id;
    std::vector<std::int8_t> band;
    for (const RowId row : rows) {
      x.push_back(static_cast<double>(hash(3 * row) >> 40));
      y.push_back(static_cast<double>(hash(3 * row + 1) >> 40));
      id.push_back(row / 2);
      band.push_back(static_cast<std::int8_t>(hash(3 * row + 2) % 50));
    }
    return Table({Column::own("x", std::move(x)), Column::own("y", std::move(y)), Column::own("id", std::move(id)),
                  Column::own("band", std::move(band))});
  }

  Table schema_;
  std::int64_t rows_of_unit_;
  std::vector<SourceUnit> units_;
};

/// The same, of which each read takes a while.
class SlowUnits final : public MadeUnits {
 public:
  SourceRows read(std::span<const std::size_t> units, std::span<const int> columns) const override {
    for (std::size_t i = 0; i < units.size(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return MadeUnits::read(units, columns);
  }
};

/// The same, whose first read asks the query to stop.
class StoppingUnits final : public MadeUnits {
 public:
  SourceRows read(std::span<const std::size_t> units, std::span<const int> columns) const override {
    stop_.request_stop();
    return MadeUnits::read(units, columns);
  }

  std::stop_token stopped() const { return stop_.get_token(); }

 private:
  mutable std::stop_source stop_;
};

/// The same with a unit that cannot be read.
class DamagedUnits final : public MadeUnits {
 public:
  SourceRows read(std::span<const std::size_t> units, std::span<const int> columns) const override {
    most_at_once_ = std::max(most_at_once_.load(), units.size());
    if (std::ranges::find(units, std::size_t{3}) != units.end()) throw DataError("unit 3 is damaged");
    return MadeUnits::read(units, columns);
  }

  std::size_t most_at_once() const { return most_at_once_; }

 private:
  mutable std::atomic<std::size_t> most_at_once_ = 0;
};

/// The same, which counts reads of rows apart from whole columns.
class CountedUnits final : public MadeUnits {
 public:
  SourceRows read_rows(std::span<const RowId> rows, std::span<const int> columns) const override {
    ++reads_of_rows_;
    return MadeUnits::read_rows(rows, columns);
  }

  int reads_of_rows() const { return reads_of_rows_; }

 private:
  mutable std::atomic<int> reads_of_rows_ = 0;
};

std::vector<std::size_t> all_of(const Source& source) {
  std::vector<std::size_t> units(source.units().size());
  std::iota(units.begin(), units.end(), std::size_t{0});
  return units;
}

class SourceMemory : public ::testing::Test {
 protected:
  static Engine engine(std::size_t bytes) {
    return Engine({.threads = 4, .device = DeviceChoice::cpu, .profile = "", .memory_bytes = bytes});
  }

  void expect_same(const Query& query, std::size_t bytes) {
    const Result all = engine(0).run(query, source_);
    Result within;
    ASSERT_NO_THROW(within = engine(bytes).run(query, source_)) << query.name();
    EXPECT_EQ(within.rows, all.rows);
    EXPECT_EQ(within.levels, all.levels);
    EXPECT_GT(within.rows.size(), 0U);
  }

  /// Compares an answer whose only column was read late with that of a query that reads it with the others.
  void expect_as_read_at_once(const Query& query, const Result& late) {
    const Result at_once = Engine({.threads = 4, .profile = "", .without = {"late-columns"}}).run(query, source_);
    ASSERT_EQ(late.rows, at_once.rows);
    for (std::int64_t row = 0; row < std::ssize(late.rows); row += 97) {
      ASSERT_EQ(late.table.column(0).value(row), at_once.table.column(0).value(row)) << row;
    }
  }

  static std::string refusal(const Query& query, const Source& source, std::size_t bytes) {
    try {
      engine(bytes).run(query, source);
    } catch (const Error& error) {
      return error.message();
    }
    return {};
  }

  MadeUnits source_;
};

TEST_F(SourceMemory, AnswersOfTablesLargerThanTheLimit) {
  constexpr std::size_t kLimit = 6 * kBytesOfUnit;  // a seventh of the table
  const auto from = [] { return Query::from("t"); };
  expect_same(from().rank_by({low("x")}).limit(100), kLimit);
  expect_same(from().where("y > 1000").rank_by({low("x + y")}).limit(100).select({"row", "x", "id"}), kLimit);
  expect_same(from().prefer({low("x"), high("y")}), kLimit);
  expect_same(from().prefer({low("x"), high("y")}).levels(3), kLimit);
}

Aggregate count(std::string name) { return {std::move(name), Aggregate::Function::count, {}}; }
Aggregate least(std::string name, const char* column) {
  return {std::move(name), Aggregate::Function::min, Expression::column(column)};
}

// Whole columns are read where they fit; partial answers of the units serve the others.
TEST_F(SourceMemory, QueriesOfEveryKindAreAnsweredByParts) {
  constexpr std::size_t kLimit = 20 * kBytesOfUnit;
  const auto from = [] { return Query::from("t"); };
  const std::vector<Aggregate> aggregates = {count("n"), least("best", "x")};
  expect_same(from().group_by({"band"}).aggregate(aggregates).rank_by({low("best")}).limit(5), kLimit);
  expect_same(from().partition_by({"band"}).rank_by({low("x")}).limit(3), kLimit);
  expect_same(from().partition_by({"band"}).prefer({low("x"), high("y")}), kLimit);
  expect_same(from().where("x < 1e5").rank_by({low("id")}), kLimit);
}

Query of_ids() { return Query::from("t").group_by({"id"}).aggregate({count("n"), least("best", "x")}); }

// The source has 400,000 groups, of which the limit has room for a tenth.
TEST_F(SourceMemory, GroupsThatDoNotFitAreSpilled) {
  constexpr std::size_t kLimit = 60 * kBytesOfUnit;
  expect_same(of_ids().rank_by({low("best")}).limit(5), kLimit);
  if (tests::kThreadSanitized) return;  // the others spill by the same threads, each for ten seconds
  expect_same(of_ids().rank_by({high("n"), high("id")}).offset(100).limit(1000).select({"id", "row", "best"}), kLimit);
  expect_same(of_ids().where("y > 1e6").prefer({low("best"), high("id")}), kLimit);
  expect_same(Query::from("t").group_by({"id % 100000"}).aggregate({count("n")}).rank_by({high("n")}).limit(3), kLimit);
}

TEST_F(SourceMemory, PlansSayWhatIsSpilled) {
  constexpr std::size_t kLimit = 60 * kBytesOfUnit;
  const Query query = of_ids().rank_by({low("best")}).limit(5);
  EXPECT_THAT(to_string(engine(kLimit).explain(query, source_)),
              HasSubstr("fit the limit of memory; groups that do not fit it either go to a temporary file"));
  const std::string plan = to_string(engine(kLimit).run(query, source_).plan);
  EXPECT_THAT(plan, HasSubstr("; groups spilled to a temporary file of "));
  EXPECT_THAT(plan, HasSubstr("bytes spilled"));
  const Query few = Query::from("t").group_by({"band"}).aggregate({count("n")}).rank_by({low("n")}).limit(5);
  EXPECT_THAT(to_string(engine(kLimit).run(few, source_).plan), Not(HasSubstr("spilled")));
}

TEST_F(SourceMemory, GroupsThatAreAllAskedForAreRefused) {
  EXPECT_THAT(refusal(of_ids(), source_, 60 * kBytesOfUnit), HasSubstr("the engine's limit of memory is"));
}

/// Sets TMPDIR while it lives.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(const char* folder) {
    if (const char* const before = std::getenv("TMPDIR")) before_ = before;
    ::setenv("TMPDIR", folder, 1);
  }
  ~TemporaryFolder() { before_ ? ::setenv("TMPDIR", before_->c_str(), 1) : ::unsetenv("TMPDIR"); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

 private:
  std::optional<std::string> before_;
};

TEST_F(SourceMemory, GroupsNeedAFolderForTemporaryFiles) {
  const TemporaryFolder missing("/no/such/folder");
  EXPECT_EQ(refusal(of_ids().rank_by({low("best")}).limit(5), source_, 60 * kBytesOfUnit),
            "groups that do not fit the limit of memory go to a temporary file, which cannot be made in "
            "'/no/such/folder': No such file or directory; let the environment variable TMPDIR name a folder with room "
            "for them, or raise the limit");
}

// Units are answered side by side, in no fixed order.
TEST_F(SourceMemory, TheFirstRowOnWhichAQueryFailsIsNamed) {
  constexpr std::size_t kLimit = 20 * kBytesOfUnit;
  const Query query = Query::from("t").where("id % 7919 != 100 or 1 / (id - id) > 0").partition_by({"band"});
  for (int round = 0; round < 5; ++round) {
    try {
      engine(kLimit).run(Query(query).rank_by({low("x")}).limit(3), source_);
      ADD_FAILURE() << "no error";
    } catch (const DataError& error) {
      EXPECT_THAT(error.message(), HasSubstr("row 200"));
    }
  }
}

TEST_F(SourceMemory, ExplainReadsNoMoreThanFits) {
  const Query query = Query::from("t").partition_by({"band"}).rank_by({low("x")}).limit(3);
  const std::string plan = to_string(engine(20 * kBytesOfUnit).explain(query, source_));
  EXPECT_THAT(plan, HasSubstr("parts  40 units; the plan below is that of the first"));
  EXPECT_THAT(to_string(engine(20 * kBytesOfUnit).run(query, source_).plan), HasSubstr("40 units: partial answers"));
}

TEST(EngineMemoryLimit, IsAShareOfTheMachineByDefault) {
  EXPECT_EQ(Engine({.profile = "", .memory_bytes = 12345}).memory_limit(), 12345U);
  EXPECT_GT(Engine({.profile = ""}).memory_limit(), std::size_t{1} << 20);
}

// Rows that were left out explain the failure of a row, and nothing else: whatever fails besides is told at once.
TEST_F(SourceMemory, AUnitThatCannotBeReadEndsTheQuery) {
  const DamagedUnits damaged;
  EXPECT_EQ(refusal(Query::from("t").rank_by({low("x")}).limit(100), damaged, 20 * kBytesOfUnit), "unit 3 is damaged");
  EXPECT_EQ(damaged.most_at_once(), 1U);
}

TEST_F(SourceMemory, ColumnsOfManyRowsAreReadWithTheOthers) {
  for (const std::int64_t limit : {3, 200'000}) {
    const CountedUnits source;
    const Query query = Query::from("t").where("band != 7").rank_by({low("x")}).limit(limit).select({"y"});
    const Result late = engine(0).run(query, source);
    EXPECT_THAT(to_string(late.plan),
                HasSubstr(limit == 3 ? "y read for the rows of the answer" : "y read sooner with the other columns"));
    EXPECT_EQ(source.reads_of_rows(), limit == 3 ? 1 : 0);
    expect_as_read_at_once(query, late);
  }
}

// Two opposed terms of one column leave all rows, of which a plan expects one.
TEST_F(SourceMemory, LateColumnsOfManyRowsAreReadWhole) {
  const CountedUnits source;
  const Query query = Query::from("t").where("band != 7").prefer({low("x"), high("x")}).select({"y"});
  const Result late = engine(0).run(query, source);
  EXPECT_THAT(to_string(late.plan), HasSubstr("y read for the rows of the answer"));
  EXPECT_EQ(source.reads_of_rows(), 0);
  EXPECT_GT(late.rows.size(), 100'000U);
  expect_as_read_at_once(query, late);
}

TEST_F(SourceMemory, SmallUnitsAreAnsweredTogether) {
  const Query query = Query::from("t").prefer({low("x"), low("y")});
  const auto plan = [&](std::int64_t units, std::int64_t rows_of_unit, std::size_t bytes) {
    return to_string(engine(bytes).run(query, MadeUnits(units, rows_of_unit)).plan);
  };
  EXPECT_THAT(plan(100, 2'000, 0), HasSubstr("a query of each unit takes longer than one of all rows"));
  EXPECT_THAT(plan(4, 100'000, 0), HasSubstr("rows left by 4 units")) << "a unit for each thread";
  EXPECT_THAT(plan(100, 2'000, 200'000 * 16), HasSubstr("rows left by 100 units")) << "where memory is scarce";
}

TEST_F(SourceMemory, AUnitThatDoesNotFitIsRefused) {
  const Query query = Query::from("t").rank_by({low("x")}).limit(100);
  EXPECT_THAT(refusal(query, source_, kBytesOfUnit / 2), HasSubstr("of its table at a time"));
}

/// Queries whose plans depend on the limit of memory, each in its way.
std::vector<Query> queries_of_every_kind() {
  const auto from = [] { return Query::from("t"); };
  const Aggregate mean{"mean", Aggregate::Function::avg, Expression::column("y")};
  return {from().name("ranking").rank_by({low("x")}).limit(100),
          from().name("late").where("y > 1000").rank_by({low("x + y")}).limit(5000).select({"row", "x", "id"}),
          from().name("skyline").prefer({low("x"), high("y")}),
          from()
              .name("skyline-of-groups")
              .group_by({"id"})
              .aggregate({least("best", "x")})
              .prefer({low("best"), low("id")}),
          from()
              .name("many-groups")
              .group_by({"id"})
              .aggregate({count("n"), least("best", "x"), mean})
              .rank_by({high("n"), low("id")})
              .limit(10),
          from().name("all-groups").group_by({"id"}).aggregate({count("n")}),
          from().name("few-groups").group_by({"band"}).aggregate({count("n"), mean}).rank_by({high("mean")}).limit(5),
          from().name("partitions").partition_by({"band"}).rank_by({low("x")}).limit(3)};
}

TEST_F(SourceMemory, ARaisedLimitRefusesNothingThatALowerOneAllows) {
  if (tests::kSanitized) GTEST_SKIP() << "the release build has it, where its many runs take seconds";
  const MadeUnits source(8, 12'500);
  const Table table = source.read(all_of(source), std::vector<int>{0, 1, 2, 3}).table;
  for (const int threads : {1, 4}) {
    for (const Query& query : queries_of_every_kind()) {
      std::optional<double> allowed_from_source;
      std::optional<double> allowed_from_table;
      for (double megabytes = 0.25; megabytes < 40; megabytes *= 1.6) {
        const Engine engine({.threads = threads,
                             .device = DeviceChoice::cpu,
                             .profile = "",
                             .memory_bytes = static_cast<std::size_t>(megabytes * 1e6)});
        const auto expect_allowed = [&](std::optional<double>& allowed, const auto& data) {
          try {
            engine.run(query, data);
            if (!allowed) allowed = megabytes;
          } catch (const Error& error) {
            EXPECT_FALSE(allowed) << query.name() << ", " << threads << " threads: " << *allowed << " MB suffice, and "
                                  << megabytes << " do not: " << error.what();
          }
        };
        expect_allowed(allowed_from_source, source);
        expect_allowed(allowed_from_table, table);
      }
      EXPECT_TRUE(allowed_from_source && allowed_from_table) << query.name();
    }
  }
}

TEST_F(SourceMemory, ATimeLimitChangesNoPlan) {
  if (tests::kSanitized) GTEST_SKIP() << "the release build has it, where its many runs take seconds";
  const RunOptions hour{.timeout = std::chrono::hours(1)};
  for (const std::size_t limit : {std::size_t{0}, 12 * kBytesOfUnit}) {
    const Engine engine({.threads = 1, .device = DeviceChoice::cpu, .profile = "", .memory_bytes = limit});
    for (const Query& query : queries_of_every_kind()) {
      if (query.name() == "all-groups" || query.name() == "skyline-of-groups") continue;  // do not fit
      EXPECT_EQ(to_string(engine.explain(query, source_, hour)), to_string(engine.explain(query, source_)));
      EXPECT_EQ(engine.run(query, source_, hour).plan.rules, engine.run(query, source_).plan.rules) << query.name();
    }
  }
}

TEST_F(SourceMemory, ATimeLimitIsOneOnTheClockForAllParts) {
  const SlowUnits source;
  for (const std::size_t limit : {std::size_t{0}, 12 * kBytesOfUnit}) {
    const Engine engine({.threads = 1, .device = DeviceChoice::cpu, .profile = "", .memory_bytes = limit});
    const auto begin = std::chrono::steady_clock::now();
    try {
      engine.run(Query::from("t").name("slow").partition_by({"band"}).rank_by({low("x")}).limit(3), source,
                 {.timeout = std::chrono::milliseconds(100)});
      ADD_FAILURE() << "took no time";
    } catch (const TimeoutError& error) {
      EXPECT_THAT(error.what(), HasSubstr("the query 'slow' took longer than its time limit of 100 ms, and was at: "));
    }
    // 800 ms are read at once where they fit the limit, by a source that hears no stop.
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(limit == 0 ? 20 : 2));
  }
}

TEST_F(SourceMemory, AStopAmongPartsIsACancelledQuery) {
  for (const Query& query : queries_of_every_kind()) {
    if (query.name() == "all-groups" || query.name() == "skyline-of-groups") continue;  // do not fit
    const StoppingUnits source;
    EXPECT_THROW(engine(60 * kBytesOfUnit).run(query, source, {.stop = source.stopped()}), CancelledError)
        << query.name();
  }
}

}  // namespace
}  // namespace skyrank
