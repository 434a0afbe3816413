#include <gmock/gmock.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <skyrank/engine.hpp>

#include "engine/operators/skyline/levels.hpp"
#include "engine/operators/skyline/skyline.hpp"
#include "tests/build.hpp"
#include "tests/engine/operator_test.hpp"

// Guards of skyline paths: the fallback gives the same answer wherever one strikes, and plans tell of both.
namespace skyrank::exec {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr std::int64_t kRowsOfSegment = 60;
constexpr std::int64_t kSegments = 24;

/// Segments of rows of few values, in some of which all rows are best, or a late row beats all.
Table table_of_segments() {
  Random random(11);
  std::vector<std::vector<std::int32_t>> columns(5);
  for (std::int64_t i = 0; i < kSegments * kRowsOfSegment; ++i) {
    const std::int64_t kind = i / kRowsOfSegment % 4;
    const auto x = static_cast<std::int32_t>(random.below(30));
    const auto y = static_cast<std::int32_t>(random.below(30));
    const bool late = kind == 2 && i % kRowsOfSegment == kRowsOfSegment - 1;
    const auto rest = kind == 0 ? static_cast<std::int32_t>(random.below(30)) : 60 - x - y;
    columns[0].push_back(late ? -1 : x);
    columns[1].push_back(late ? -1 : y);
    columns[2].push_back(late ? -1 : rest);
    columns[3].push_back(kind == 3 ? 60 - x : 0);
    columns[4].push_back(static_cast<std::int32_t>(random.below(3)));
  }
  std::vector<Column> table;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    table.push_back(Column::own("c" + std::to_string(c), std::move(columns[c])));
  }
  return Table(std::move(table));
}

Preference flat() { return pareto({low("c0"), low("c1"), low("c2"), low("c3")}); }
Preference tree() { return pareto({low("c0"), prior({pareto({low("c1"), low("c2")}), low("c4")}), low("c3")}); }
Preference steps() { return prior({pareto({low("c0"), low("c1"), low("c2"), low("c3")}), low("c4")}); }

/// A preference over the segments, without a sample that shows how many rows are best.
class Segmented {
 public:
  explicit Segmented(const Preference& preference)
      : table_(table_of_segments()),
        bound_(query::bind(Query::from("t").prefer(preference), query::schema_of(table_))),
        plan_(plan_preference(*bound_.preference)),
        keys_(make_skyline_keys(plan_, table_, RowSet::all(table_.num_rows()))) {
    for (std::int64_t s = 0; s <= kSegments; ++s) bounds_.push_back(s * kRowsOfSegment);
  }

  struct Answer {
    std::vector<std::int64_t> rows;
    std::vector<std::int32_t> levels;
    kernels::Work work;
    std::string guard;
    std::int64_t strikes = 0;

    bool operator==(const Answer& other) const {
      return rows == other.rows && levels == other.levels && guard == other.guard &&
             work.dominance_tests == other.work.dominance_tests && work.candidates == other.work.candidates;
    }
  };

  Answer run(const LevelRule& rule, std::optional<std::uint64_t> steps, const char* algorithm = nullptr) const {
    ExecutionContext context;
    context.preference.sample = 64;
    context.preference.growth = {.sample = 64, .dims = 1};
    context.kernel_context.count_work = true;
    context.guard_steps = steps;
    if (algorithm != nullptr) context.constraints.algorithms = {algorithm};
    SkylineSolver solver(plan_, context, kRowsOfSegment);
    EXPECT_EQ(solver.path(0, keys_.steps[0].width, kRowsOfSegment).guard.has_value(), algorithm == nullptr);
    StepReports reports(solver.num_steps());
    const Kept kept = keep_best(keys_, bounds_, rule, solver, reports);
    return {{kept.rows.begin(), kept.rows.end()},
            {kept.levels.begin(), kept.levels.end()},
            reports[0].work,
            describe(reports[0].guard),
            reports[0].guard.strikes};
  }

 private:
  Table table_;
  query::BoundQuery bound_;
  PreferencePlan plan_;
  SkylineKeys keys_;
  Vector<std::int64_t> bounds_;
};

void expect_same_answers(const Preference& preference, const LevelRule& rule, std::uint64_t step) {
  const Segmented segmented(preference);
  const Segmented::Answer expected = segmented.run(rule, std::nullopt, "bnl");
  EXPECT_THAT(expected.guard, IsEmpty()) << "an algorithm that was asked for has no guard";
  constexpr std::uint64_t kMaxSteps = kRowsOfSegment * kRowsOfSegment / 2;
  for (std::uint64_t steps = 0; steps <= kMaxSteps; steps += step) {
    const Segmented::Answer found = segmented.run(rule, steps);
    ASSERT_EQ(found.rows, expected.rows) << steps << " comparisons";
    ASSERT_EQ(found.levels, expected.levels) << steps << " comparisons";
  }
}

TEST(SkylineGuard, MayStrikeAtAnyPoint) {
  const std::uint64_t step = tests::kSlow ? 41 : 1;
  expect_same_answers(flat(), {}, step);
  expect_same_answers(tree(), {}, step);
  expect_same_answers(steps(), {}, 7 * step);
  expect_same_answers(flat(), {.levels = 4, .at_least = {}}, 7 * step);
  expect_same_answers(tree(), {.levels = 1, .at_least = 20}, 7 * step);
  expect_same_answers(flat(), {.levels = 2, .at_least = {}, .distinct = true}, 7 * step);
}

TEST(SkylineGuard, StrikesAtTheSamePointsOnAnyNumberOfThreads) {
  const Segmented segmented(flat());
  for (const std::optional<std::uint64_t> steps : {std::optional<std::uint64_t>(300), std::optional<std::uint64_t>()}) {
    const Segmented::Answer expected = with_threads(1, [&] { return segmented.run({}, steps); });
    for (const int threads : {2, 4}) {
      EXPECT_EQ(with_threads(threads, [&] { return segmented.run({}, steps); }), expected) << threads << " threads";
    }
  }
}

/// Partitions whose rows are all best; those of one partition beat those of the next, so that a sample of all rows
/// shows hardly any.
Table trend(std::int64_t partitions, std::int64_t rows) {
  Random random(5);
  std::vector<std::vector<double>> columns(4);
  std::vector<std::int64_t> partition;
  for (std::int64_t i = 0; i < partitions * rows; ++i) {
    std::vector<double> row;
    double sum = 0;
    for (int c = 0; c < 4; ++c) sum += row.emplace_back(1 + static_cast<double>(random.below(1 << 20)));
    for (std::size_t c = 0; c < 4; ++c) columns[c].push_back(row[c] / sum + 10.0 * static_cast<double>(i / rows));
    partition.push_back(i / rows);
  }
  std::vector<Column> table{Column::own("p", std::move(partition))};
  for (std::size_t c = 0; c < 4; ++c) table.push_back(Column::own("c" + std::to_string(c), std::move(columns[c])));
  return Table(std::move(table));
}

std::string guard_of(const PlanNode& node) {
  std::string found = node.op == "skyline" ? node.guard : "";
  for (const PlanNode& child : node.children) found += guard_of(child);
  return found;
}

TEST(SkylineGuard, IsToldBeforeARunAndAfterIt) {
  const Engine engine({.threads = 2});
  const Table table = trend(40, 700);
  Query query =
      Query::from("t").partition_by({"p"}).prefer({low("c0"), low("c1"), low("c2"), low("c3")}).select({"row"});
  const PlanNode plan = engine.explain(query, table);
  EXPECT_THAT(guard_of(plan), HasSubstr("4 x the predicted"));
  EXPECT_THAT(guard_of(plan), HasSubstr("; then "));
  EXPECT_THAT(guard_of(plan), Not(HasSubstr("struck")));
  EXPECT_THAT(to_string(plan), HasSubstr("guard: 4 x the predicted"));

  const Result answer = engine.run(query, table);
  EXPECT_EQ(answer.rows.size(), 40u * 700u);
  EXPECT_THAT(guard_of(answer.plan), HasSubstr("; struck in 40 of 40 runs, after "));
  EXPECT_THAT(guard_of(answer.plan), HasSubstr(" rows and spared about "));

  query.using_path({.algorithms = {"bnl"}, .parameters = {}});
  const Result forced = engine.run(query, table);
  EXPECT_THAT(guard_of(forced.plan), IsEmpty());
  EXPECT_EQ(forced.rows, answer.rows);
}

TEST(SkylineGuard, IsNotToldWhereItCannotStrike) {
  const Engine engine({.threads = 1});
  const Query query = Query::from("t").prefer({low("c0"), low("c1"), low("c2"), low("c3")});
  EXPECT_THAT(guard_of(engine.explain(query, trend(1, 20))), IsEmpty());
}

}  // namespace
}  // namespace skyrank::exec
