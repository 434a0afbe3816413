#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/semantics/paths.hpp"
#include "tests/semantics/tables.hpp"

// Tests "A few rows" of engine/docs/meaning.md.
namespace skyrank {
namespace {

using By = Pick::By;

Query picked(Preference preference, std::int64_t count, By by, std::vector<double> reference = {}) {
  return skyline_of(std::move(preference)).pick(Pick{count, by, std::move(reference)});
}

Preference low_a_b() { return pareto({low("a"), low("b")}); }

/// A front of five rows in two terms, the third of them dominated.
Table front() { return Table({ints("a", {0, 1, 5, 2, 8, 9}), ints("b", {10, 9, 9, 7, 1, 0})}); }

TEST(Pick, ByDistanceBeginsWithTheBestInTheFirstTerm) {
  expect_rows(picked(low_a_b(), 1, By::distance), front(), {0});
  expect_rows(picked(low_a_b(), 2, By::distance), front(), {0, 5});
  expect_rows(picked(low_a_b(), 3, By::distance), front(), {0, 3, 5});
  expect_rows(picked(pareto({low("b"), low("a")}), 1, By::distance), front(), {5});
  expect_rows(picked(low_a_b(), 99, By::distance), front(), {0, 1, 3, 4, 5});
}

TEST(Pick, TiesGoToTheLowerRow) {
  const Table table({ints("a", {4, 0, 2, 2, 0, 4}), ints("b", {0, 4, 2, 2, 4, 0})});
  expect_rows(picked(low_a_b(), 1, By::distance), table, {1});
  expect_rows(picked(low_a_b(), 2, By::distance), table, {0, 1});
  expect_rows(picked(low_a_b(), 3, By::distance), table, {0, 1, 2});
  expect_rows(picked(low_a_b(), 4, By::distance), table, {0, 1, 2, 3});
  expect_rows(picked(low_a_b(), 2, By::coverage), table, {0, 1});
  expect_rows(picked(low_a_b(), 1, By::hypervolume, {5, 5}), table, {2});
  expect_rows(picked(low_a_b(), 2, By::hypervolume, {5, 5}), table, {0, 2});
}

TEST(Pick, ByCoverageCountsRowsThatNoneDominatesYet) {
  // Row 0 dominates 3, 4, 5; row 1 dominates 4, 5, 6; row 2 dominates 6 and 7.
  const Table table({ints("a", {0, 2, 4, 1, 3, 3, 5, 9}), ints("b", {6, 4, 2, 9, 7, 7, 5, 3})});
  expect_rows(picked(low_a_b(), 1, By::coverage), table, {0});
  expect_rows(picked(low_a_b(), 2, By::coverage), table, {0, 2});
  expect_rows(picked(low_a_b(), 3, By::coverage), table, {0, 1, 2});
}

TEST(Pick, ByCoverageTakesAllTerms) {
  const Table table({ints("a", {1, 9, 4, 6, 2, 8}), strings("s", {"x", "y", "x", "z", "z", "z"}),
                     Column::own("met", std::vector<bool>{false, true, true, true, true, true})});
  const Preference terms = pareto({around("a", std::int64_t{5}), in("s", {{std::string("y")}, {std::string("x")}})});
  expect_rows(picked(terms, 1, By::coverage), table, {2});
  expect_reference(picked(terms, 2, By::coverage), table);
  expect_reference(picked(prior({where("met"), terms}), 1, By::coverage).levels(2), table);
}

TEST(Pick, ByHypervolume) {
  expect_rows(picked(low_a_b(), 1, By::hypervolume, {10, 10}), front(), {3});
  expect_rows(picked(low_a_b(), 2, By::hypervolume, {10, 10}), front(), {3, 4});
  expect_rows(picked(pareto({inverse(high("a")), inverse(inverse(low("b")))}), 2, By::hypervolume, {10, 10}), front(),
              {3, 4});
  // Values of `high` terms are above the reference.
  const Table negated({ints("a", {0, -1, -5, -2, -8, -9}), ints("b", {10, 9, 9, 7, 1, 0})});
  expect_rows(picked(pareto({high("a"), low("b")}), 2, By::hypervolume, {-10, 10}), negated, {3, 4});
  // Rows that are not better than the reference in every term gain nothing.
  expect_rows(picked(low_a_b(), 2, By::hypervolume, {1, 1}), front(), {0, 1});
}

TEST(Pick, OfEachPartitionAndOfAllLevels) {
  const Table table({ints("p", {1, 2, 1, 2, 1, 2, 1, 2}), ints("a", {0, 0, 1, 1, 2, 2, 3, 3}),
                     ints("b", {3, 3, 2, 2, 1, 1, 3, 0}),
                     Column::own("met", std::vector<bool>{false, false, true, true, true, true, true, true})});
  for (const By by : {By::distance, By::coverage, By::hypervolume}) {
    const std::vector<double> reference = by == By::hypervolume ? std::vector<double>{4, 4} : std::vector<double>{};
    for (const Query& query :
         {picked(low_a_b(), 2, by, reference).partition_by({"p"}), picked(low_a_b(), 3, by, reference).levels(2),
          picked(low_a_b(), 2, by, reference).partition_by({"p"}).at_least(4).rank_by({high("a")}).limit(1),
          picked(low_a_b(), 2, by, reference).where("met").rank_by({low("b")}).offset(1),
          picked(low_a_b(), 2, by, reference).partition_by({"p"}).limit(1).select({"level", "a"})}) {
      expect_reference(query, table);
    }
  }
}

// A limit cuts what was picked, in the order of the ranking.
TEST(Pick, ComesBeforeTheRanking) {
  expect_rows(picked(low_a_b(), 2, By::distance).rank_by({high("a")}), front(), {5, 0});
  expect_rows(picked(low_a_b(), 2, By::distance).rank_by({high("a")}).limit(1), front(), {5});
  expect_rows(picked(low_a_b(), 2, By::distance).limit(1), front(), {0});
}

TEST(Pick, MissingAndInfiniteValues) {
  const Table table({floats("a", {1, kNaN, 3, std::nullopt, -kInfinity}), floats("b", {3, -1, 1, -2, 9})});
  for (const By by : {By::distance, By::coverage}) {
    for (const std::int64_t count : {1, 2, 3, 4}) {
      expect_reference(picked(low_a_b(), count, by), table);
      expect_reference(picked(low_a_b(), count, by).nulls(Missing::best), table);
      expect_reference(picked(low_a_b(), count, by).nan(Missing::exclude).nulls(Missing::exclude), table);
    }
  }
  expect_rows(picked(low_a_b(), 2, By::hypervolume, {9, 9}), table, {0, 2});
  expect_rows(picked(low_a_b(), 3, By::hypervolume, {9, 9}), table, {0, 1, 2});
}

TEST(Pick, AmongRowsThatMeetACondition) {
  const Table table({ints("w", {1, 1, 1, 9, 8}), ints("a", {0, 5, 9, 0, 0}), ints("b", {9, 5, 0, 0, 0})});
  expect_rows(picked(feasible("w < 5", {"w"}, low_a_b()), 2, By::distance), table, {0, 2});
  expect_rows(picked(feasible("w < 5", {"w"}, low_a_b()), 2, By::hypervolume, {10, 10}), table, {0, 1});
  expect_rows(picked(feasible("w < 5", {"w"}, low_a_b()), 1, By::coverage), table, {0});
}

TEST(Pick, OfGroupsAndOfNothing) {
  const Table table({strings("s", {"x", "y", "x", "z"}), ints("a", {4, 0, 1, 2}), ints("b", {0, 5, 1, 2})});
  const Query groups = picked(pareto({low("least"), low("n")}), 1, By::coverage);
  Query grouped = groups;
  expect_reference(grouped.group_by({"s"}).aggregate({min("least", "a"), count("n")}), table);
  for (const By by : {By::distance, By::coverage}) {
    Query none = picked(low_a_b(), 2, by);
    expect_rows(none.where("a > 99"), table, {});
  }
}

const PlanNode* find_node(const PlanNode& plan, const std::string& op) {
  if (plan.op == op) return &plan;
  return plan.children.empty() ? nullptr : find_node(plan.children.front(), op);
}

TEST(Pick, IsAnOperatorOfThePlan) {
  const Query query = picked(low_a_b(), 2, By::hypervolume, {10, 10.5}).rank_by({low("a")});
  const PlanNode planned = Engine().explain(query, front());
  const PlanNode* const pick = find_node(planned, "pick");
  ASSERT_NE(pick, nullptr);
  EXPECT_EQ(pick->detail, "2 by hypervolume; reference: 10, 10.5");
  EXPECT_EQ(pick->predicted_rows_high, 2);
  EXPECT_FALSE(pick->measured_rows.has_value());
  EXPECT_EQ(pick->children.front().op, "skyline");
  const Result result = Engine().run(query, front());
  EXPECT_EQ(find_node(result.plan, "pick")->measured_rows, 2);
  EXPECT_EQ(find_node(result.plan, "skyline")->measured_rows, 5);
}

TEST(Pick, ByDistanceOfManyRows) {
  std::vector<std::optional<std::int64_t>> a;
  std::vector<std::optional<std::int64_t>> b;
  for (std::int64_t i = 0; i <= 10'000; ++i) {
    a.emplace_back(i);
    b.emplace_back(-i);
  }
  const Table table({ints("a", a), ints("b", b)});
  for (const int threads : {1, 3}) {
    const Engine engine({.threads = threads, .device = DeviceChoice::cpu});
    EXPECT_EQ(engine.run(picked(low_a_b(), 4, By::distance), table).rows, (std::vector<RowId>{0, 2500, 5000, 10'000}));
  }
}

TEST(Pick, ByHypervolumeOfFiveTerms) {
  std::mt19937 random(5);
  std::vector<Column> columns;
  std::vector<Preference> terms;
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    std::vector<std::optional<std::int64_t>> cells;
    for (int i = 0; i < 60; ++i) cells.emplace_back(static_cast<std::int64_t>(random() % 7));
    columns.push_back(ints(name, cells));
    terms.push_back(low(name));
  }
  const Table table(std::move(columns));
  expect_reference(picked(pareto(terms), 6, By::hypervolume, {7, 7, 6, 7, 7}), table);
  expect_reference(picked(pareto(terms), 5, By::hypervolume, {7, 5, 6, 7, 4}).levels(2), table);
}

// More rows than one block of a kernel, and more than one thread.
TEST(Pick, ByCoverageOfManyRows) {
  constexpr std::size_t kRows = 40'000;
  std::mt19937 random(3);
  std::vector<std::optional<std::int64_t>> a;
  std::vector<std::optional<std::int64_t>> b;
  std::vector<std::pair<std::int64_t, std::int64_t>> rows;
  for (std::size_t i = 0; i < kRows; ++i) {
    const std::int64_t sum = 100 + static_cast<std::int64_t>(random() % 300);
    const std::int64_t first = static_cast<std::int64_t>(random()) % (sum + 1);
    a.emplace_back(first);
    b.emplace_back(sum - first);
    rows.emplace_back(first, sum - first);
  }
  const auto dominates = [&](std::size_t x, std::size_t y) {
    return rows[x].first <= rows[y].first && rows[x].second <= rows[y].second && rows[x] != rows[y];
  };
  const Table table({ints("a", a), ints("b", b)});
  const Engine engine({.threads = 3, .device = DeviceChoice::cpu});
  const std::vector<RowId> front = engine.run(skyline_of(low_a_b()), table).rows;
  std::vector<bool> covered(kRows, false);
  std::vector<RowId> expected;
  for (int pick = 0; pick < 6; ++pick) {
    std::int64_t most = -1;
    RowId best = 0;
    for (const RowId row : front) {
      if (std::ranges::find(expected, row) != expected.end()) continue;
      std::int64_t gain = 0;
      for (std::size_t i = 0; i < kRows; ++i)
        gain += !covered[i] && dominates(static_cast<std::size_t>(row), i) ? 1 : 0;
      if (gain > most) {
        most = gain;
        best = row;
      }
    }
    for (std::size_t i = 0; i < kRows; ++i) {
      if (dominates(static_cast<std::size_t>(best), i)) covered[i] = true;
    }
    expected.push_back(best);
  }
  std::ranges::sort(expected);
  EXPECT_GT(front.size(), 50U);
  EXPECT_EQ(engine.run(picked(low_a_b(), 6, By::coverage), table).rows, expected);
}

TEST(Pick, EndsWhenItIsToldTo) {
  std::vector<std::optional<std::int64_t>> a;
  std::vector<std::optional<std::int64_t>> b;
  for (std::int64_t i = 0; i < 20'000; ++i) {
    a.emplace_back(i);
    b.emplace_back(-i);
  }
  const Table table({ints("a", a), ints("b", b)});
  Query query = picked(low_a_b(), 20'000, By::distance);
  EXPECT_THROW(Engine().run(query.timeout(std::chrono::milliseconds(5)), table), TimeoutError);
  Query covering = picked(low_a_b(), 20'000, By::coverage);
  EXPECT_THROW(Engine().run(covering.timeout(std::chrono::milliseconds(5)), table), TimeoutError);
}

template <class E>
void expect_refused(const Query& query, const std::string& words) {
  const Table table({ints("a", {1}), ints("b", {1}), strings("s", {"x"})});
  try {
    Engine().explain(query, table);
    ADD_FAILURE() << "no error; expected " << words;
  } catch (const E& error) {
    EXPECT_NE(error.message().find(words), std::string::npos) << error.message();
  }
}

TEST(Pick, Errors) {
  expect_refused<QueryError>(from().rank_by({low("a")}).pick(Pick{1, By::distance, {}}), "'pick' needs 'prefer'");
  expect_refused<QueryError>(picked(low("a"), 0, By::distance), "'pick' must be of at least 1 row, not 0");
  expect_refused<QueryError>(picked(low("a"), 1, By::hypervolume), "needs a 'reference'");
  expect_refused<QueryError>(picked(low("a"), 1, By::distance, {1}), "takes no 'reference'");
  expect_refused<QueryError>(picked(low("a"), 1, By::hypervolume, {kNaN}), "finite");
  expect_refused<BindError>(picked(low("a"), 1, By::hypervolume, {1, 2}), "1 term, and the reference has 2 values");
  expect_refused<BindError>(picked(low("s"), 1, By::distance), "numbers, dates and timestamps, not s (string)");
  expect_refused<BindError>(picked(around("a", std::int64_t{1}), 1, By::distance), "'low' and 'high'");
  expect_refused<BindError>(picked(pareto({low("a"), prior({low("b"), low("a")})}), 1, By::distance),
                            "'low' and 'high'");
  expect_refused<BindError>(picked(pareto({prior({low_a_b(), low("a")}), low("b")}), 1, By::coverage),
                            "Pareto order within another");
}

}  // namespace
}  // namespace skyrank
