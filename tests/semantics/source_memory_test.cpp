#include <skyrank/engine.hpp>
#include <skyrank/error.hpp>
#include <skyrank/source.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

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
class MadeUnits final : public Source {
 public:
  MadeUnits() : schema_(made({})), units_(kUnits, SourceUnit{kRowsOfUnit}) {}

  const Table& schema() const override { return schema_; }
  const std::vector<SourceUnit>& units() const override { return units_; }
  std::uint64_t bytes() const override { return kUnits * kBytesOfUnit; }

  SourceRows read(std::span<const std::size_t> units, std::span<const int>) const override {
    std::vector<RowId> rows;
    for (const std::size_t unit : units) {
      for (std::int64_t row = 0; row < kRowsOfUnit; ++row) rows.push_back(static_cast<RowId>(unit) * kRowsOfUnit + row);
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
  std::vector<SourceUnit> units_;
};

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

  static std::string refusal(const Query& query, const Source& source, std::size_t bytes) {
    try {
      engine(bytes).run(query, source);
    } catch (const ResourceError& error) {
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
  expect_same(of_ids().rank_by({high("n"), high("id")}).offset(100).limit(1000).select({"id", "row", "best"}), kLimit);
  expect_same(of_ids().where("y > 1e6").prefer({low("best"), high("id")}), kLimit);
  expect_same(Query::from("t").group_by({"id % 100000"}).aggregate({count("n")}).rank_by({high("n")}).limit(3), kLimit);
}

TEST_F(SourceMemory, PlansSayWhatIsSpilled) {
  constexpr std::size_t kLimit = 60 * kBytesOfUnit;
  const Query query = of_ids().rank_by({low("best")}).limit(5);
  EXPECT_THAT(to_string(engine(kLimit).explain(query, source_)),
              HasSubstr("fit the limit of memory; groups that do not fit it either go to a temporary file; the rows"));
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
  EXPECT_THAT(plan, HasSubstr("the rows are those of the first of 40 units"));
  EXPECT_THAT(to_string(engine(20 * kBytesOfUnit).run(query, source_).plan), HasSubstr("40 units: partial answers"));
}

TEST(EngineMemoryLimit, IsAShareOfTheMachineByDefault) {
  EXPECT_EQ(Engine({.profile = "", .memory_bytes = 12345}).memory_limit(), 12345U);
  EXPECT_GT(Engine({.profile = ""}).memory_limit(), std::size_t{1} << 20);
}

TEST_F(SourceMemory, AUnitThatDoesNotFitIsRefused) {
  const Query query = Query::from("t").rank_by({low("x")}).limit(100);
  EXPECT_THAT(refusal(query, source_, kBytesOfUnit / 2), HasSubstr("of its table at a time"));
}

}  // namespace
}  // namespace skyrank
