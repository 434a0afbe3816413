#include <skyrank/engine.hpp>
#include <skyrank/error.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/executor/run_whole.hpp"
#include "engine/parts/run_query.hpp"
#include "engine/parts/sources/plan_source.hpp"
#include "tests/semantics/parts/steps.hpp"

// Plans of queries over sources: they are made without a read, equal input gives equal plans, and what explain shows is
// what ran.
namespace skyrank::exec {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::int64_t kRowsOfUnit = 100'000;

/// A source of four units of the columns x, y, city and note, that counts its reads.
class Counted : public Source {
 public:
  const Table& schema() const override { return schema_; }
  const std::vector<SourceUnit>& units() const override { return units_; }
  std::uint64_t bytes() const override { return 1'000'000; }

  SourceRows read(std::span<const std::size_t> units, std::span<const int> columns) const override {
    std::vector<RowId> rows;
    for (const std::size_t unit : units) {
      for (RowId row = 0; row < kRowsOfUnit; ++row) rows.push_back(static_cast<RowId>(unit) * kRowsOfUnit + row);
    }
    return read_rows(rows, columns);
  }

  SourceRows read_rows(std::span<const RowId> rows, std::span<const int> /*columns*/) const override {
    ++reads_;
    return {made(rows), rows.size() * 8};
  }

  int reads() const { return reads_; }

 private:
  static Table made(std::span<const RowId> rows) {
    std::vector<double> x;
    std::vector<double> y;
    std::vector<std::string> city;
    std::vector<std::int64_t> note;
    for (const RowId row : rows) {
      const RowId spread = row * 7919 % 1'000'003;
      x.push_back(static_cast<double>(spread));
      y.push_back(static_cast<double>(1'000'003 - spread + row % 5));
      city.push_back(row % 2 == 0 ? "Bergen" : "Oslo");
      note.push_back(row);
    }
    return Table({Column::own("x", std::move(x)), Column::own("y", std::move(y)), Column::own("city", std::move(city)),
                  Column::own("note", std::move(note))});
  }

  Table schema_ = made({});
  std::vector<SourceUnit> units_{4, SourceUnit{kRowsOfUnit}};
  mutable std::atomic<int> reads_ = 0;
};

Query best_rows() { return Query::from("t").prefer({low("x"), low("note")}).select({Expression::column("y")}); }

Query sums() {
  return Query::from("t")
      .group_by({"city"})
      .aggregate({sum("total", Expression::column("y"))})
      .rank_by({high("total")})
      .limit(1);
}

QueryPlan plan_of(const Query& query, const Source& source) {
  return plan_query(context(), bind_to(query, source.schema()).query, {.source = &source});
}

TEST(PlanQuery, ReadsNothingOfASource) {
  const Counted source;
  const QueryPlan units = plan_of(best_rows(), source);
  EXPECT_EQ(units.division, Division::units);
  EXPECT_EQ(units.otherwise, Division::whole);
  EXPECT_THAT(units.columns, ElementsAre(0, 3));
  EXPECT_THAT(units.late, ElementsAre(1));
  EXPECT_THAT(units.units, ElementsAre(0, 1, 2, 3));
  const QueryPlan groups = plan_of(sums(), source);
  EXPECT_EQ(groups.division, Division::few_groups);
  EXPECT_THAT(groups.columns, ElementsAre(1, 2));
  EXPECT_THAT(groups.late, IsEmpty());
  EXPECT_EQ(source.reads(), 0);
}

/// Counted with the bounds of x: a unit has values from 0 to 1,000,002.
class Bounded final : public Counted {
 public:
  std::optional<UnitStatistics> statistics(int column) const override {
    if (column != 0) return std::nullopt;
    const auto bounds = [](double bound) { return Column::own("x", std::vector<double>(4, bound)); };
    return UnitStatistics{bounds(0), bounds(1'000'002), std::vector<std::optional<std::int64_t>>(4, 0)};
  }
};

// A unit by itself saves little where few rows pass.
TEST(PlanQuery, SkylinesOfUnitsAreForConditionsThatManyRowsPass) {
  const Bounded source;
  const auto division_of = [&](const std::string& condition) {
    return plan_of(best_rows().where(condition), source).division;
  };
  EXPECT_EQ(division_of("x < 600000"), Division::units);
  EXPECT_EQ(division_of("x > 400000.0"), Division::units);
  EXPECT_EQ(division_of("x < 6000"), Division::whole);
  EXPECT_EQ(division_of("x between 400000 and 406000"), Division::whole);
  EXPECT_EQ(division_of("x < 6000 or x > 300000"), Division::units);
  EXPECT_EQ(division_of("x < 600000 and x > 594000"), Division::whole);
}

TEST(PlanQuery, IsTheSameWhateverRanBefore) {
  const Counted source;
  const Engine engine({.threads = 2, .device = DeviceChoice::cpu, .profile = ""});
  const std::string before = to_string(engine.explain(best_rows(), source));
  engine.run(best_rows(), source);
  engine.run(sums(), source);
  EXPECT_EQ(to_string(engine.explain(best_rows(), source)), before);
}

TEST(PlanQuery, SmallerPlansEndWithOneUnitAtATime) {
  const Counted source;
  std::optional<QueryPlan> plan = plan_of(best_rows(), source);
  std::size_t room = std::numeric_limits<std::size_t>::max();
  int plans = 0;
  while ((plan = smaller_plan(state(), *plan))) {
    EXPECT_EQ(plan->division, Division::memory);
    EXPECT_THAT(plan->late, IsEmpty());
    EXPECT_LT(plan->room, room);
    room = plan->room;
    ++plans;
  }
  EXPECT_EQ(room, 0U);
  EXPECT_GE(plans, 3);
}

TEST(PlanQuery, AnswersOfUnitsShowTheirPartsBelowTheScan) {
  const Counted source;
  const Engine engine({.threads = 2, .device = DeviceChoice::cpu, .profile = ""});
  const Result result = engine.run(best_rows(), source);
  EXPECT_EQ(result.plan.op, "gather");
  EXPECT_EQ(result.plan.reason, "reads y for the rows of the answer");
  EXPECT_EQ(result.plan.measured_rows, 1);
  const PlanNode* node = &result.plan;
  std::vector<std::string> ops;
  for (; !node->children.empty(); node = &node->children.front()) ops.push_back(node->op);
  EXPECT_EQ(std::ranges::count(ops, "parts"), 1);
  EXPECT_EQ(node->op, "scan");
  EXPECT_LT(node->measured_rows, 4 * kRowsOfUnit);
  EXPECT_THAT(to_string(result.plan), HasSubstr(" rows left by 4 units, 0 skipped; known rows dominate "));
  EXPECT_THAT(to_string(result.plan), HasSubstr("otherwise: all rows as one table"));
}

void expect_ordered_bounds(const PlanNode& node) {
  EXPECT_LE(node.predicted_rows_low, node.predicted_rows) << node.op;
  EXPECT_LE(node.predicted_rows, node.predicted_rows_high) << node.op;
  for (const PlanNode& child : node.children) expect_ordered_bounds(child);
}

TEST(PlanQuery, BoundsOfRowsAreInOrderInAllPartsOfAPlan) {
  const Counted source;
  const Engine engine({.threads = 2, .device = DeviceChoice::cpu, .profile = ""});
  const Query skyline = Query::from("t").where("note > 1000").prefer({low("x"), low("y")});
  for (const Query& query : {best_rows(), sums(), skyline}) {
    expect_ordered_bounds(engine.explain(query, source));
    expect_ordered_bounds(engine.run(query, source).plan);
  }
}

TEST(PlanQuery, ListsTheChoicesOfASourceAndOfItsParts) {
  const Counted source;
  const Engine engine({.threads = 2, .device = DeviceChoice::cpu, .profile = ""});
  EXPECT_THAT(engine.explain(best_rows(), source).decisions, IsEmpty());
  for (const PlanNode& plan : {engine.explain(best_rows(), source, {.candidates = true}),
                               engine.run(best_rows(), source, {.candidates = true}).plan}) {
    std::vector<std::string> subjects;
    for (const PricedDecision& made : plan.decisions) subjects.push_back(made.subject);
    EXPECT_THAT(subjects, testing::IsSupersetOf({"by-units", "late-columns", "skyline of a part"}));
    const auto by_units = std::ranges::find(plan.decisions, "by-units", &PricedDecision::subject);
    for (const PricedCandidate& candidate : by_units->candidates) {
      EXPECT_EQ(candidate.taken, candidate.name == "units one by one");
    }
    for (const PlanNode& child : plan.children) EXPECT_THAT(child.decisions, IsEmpty());
  }
}

TEST(PlanQuery, ALimitOfTimeCountsFromTheBeginningThatIsTold) {
  const Counted source;
  const Engine engine({.threads = 2, .device = DeviceChoice::cpu, .profile = ""});
  RunOptions options{.timeout = std::chrono::minutes(10)};
  EXPECT_NO_THROW(engine.run(best_rows(), source, options));
  options.began = std::chrono::steady_clock::now() - std::chrono::minutes(11);
  EXPECT_THROW(engine.run(best_rows(), source, options), TimeoutError);
}

}  // namespace
}  // namespace skyrank::exec
