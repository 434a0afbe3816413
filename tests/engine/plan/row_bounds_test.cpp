#include <gmock/gmock.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include <skyrank/engine.hpp>

#include "engine/plan/rules/make_plan.hpp"
#include "tests/engine/operator_test.hpp"

// The bounds of row counts that plans predict, beside the rows that come.
namespace skyrank::exec {
namespace {

double uniform(Random& random) { return static_cast<double>(random.below(1 << 30)) / (1 << 30); }

/// A table of columns that samples see with more or less ease: independent ones, clusters of neighbours, sorted and
/// skewed values, rows near a front, and groups of one size and of a power law.
Table random_table(std::int64_t rows, std::uint64_t seed) {
  Random random(seed);
  std::vector<double> even;
  std::vector<double> clustered;
  std::vector<double> sorted;
  std::vector<double> skewed;
  std::vector<double> front;
  std::vector<std::int64_t> equal_groups;
  std::vector<std::int64_t> skewed_groups;
  std::vector<bool> flags;
  const double groups = std::pow(static_cast<double>(rows), uniform(random));
  double cluster = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    const double x = uniform(random);
    if (row % 16 == 0) cluster = uniform(random);
    even.push_back(x);
    clustered.push_back(cluster);
    sorted.push_back(static_cast<double>(row) / static_cast<double>(rows));
    skewed.push_back(std::exp(8 * uniform(random)));
    front.push_back(1 - x + uniform(random) / 50);
    equal_groups.push_back(static_cast<std::int64_t>(groups * uniform(random)));
    skewed_groups.push_back(static_cast<std::int64_t>(1 / (1e-6 + uniform(random))));
    flags.push_back(random.below(4) == 0);
  }
  return Table({Column::own("even", std::move(even)), Column::own("clustered", std::move(clustered)),
                Column::own("sorted", std::move(sorted)), Column::own("skewed", std::move(skewed)),
                Column::own("front", std::move(front)), Column::own("g", std::move(equal_groups)),
                Column::own("z", std::move(skewed_groups)), Column::own("flag", std::move(flags))});
}

Query from_any() { return Query::from("t"); }

std::string any_condition(Random& random) {
  const char* columns[] = {"even", "clustered", "sorted", "skewed / 3000", "front"};
  const auto any = [&] {
    return std::string(columns[random.below(5)]) + (random.below(2) == 0 ? " < " : " > ") +
           std::to_string(uniform(random));
  };
  return random.below(3) == 0 ? any() + " and " + any() : any();
}

/// A query whose operators all have bounds.
Query random_query(Random& random) {
  Query query = from_any();
  if (random.below(2) == 0) query.where(any_condition(random));
  switch (random.below(8)) {
    case 0: return query.group_by({"g"}).aggregate({count("n")});
    case 1: return query.group_by({"z"}).aggregate({count("n")}).rank_by({high("n")}).limit(10);
    case 2: return query.group_by({"flag"}).aggregate({count("n")});
    case 3: return query.prefer({low("even"), low("front")}).rank_by({low("even")}).limit(5);
    case 4: return query.prefer({low("even"), high("skewed"), low("clustered")}).levels(1 + random.below(3));
    case 5: return query.prefer({low("even"), low("front"), low("clustered"), low("skewed")});
    case 6: return query.partition_by({"g"}).rank_by({low("even")}).limit(1 + random.below(3)).offset(random.below(2));
    default: return query.rank_by({low("skewed")}).limit(1 + random.below(100)).offset(random.below(20));
  }
}

void for_each_node(const PlanNode& node, const std::function<void(const PlanNode&)>& visit) {
  visit(node);
  for (const PlanNode& child : node.children) for_each_node(child, visit);
}

bool is_within_bounds(const PlanNode& node) {
  const auto rows = static_cast<double>(node.measured_rows.value());
  return node.predicted_rows_low <= rows + 1e-6 && rows <= node.predicted_rows_high + 1e-6;
}

bool was_sampled(const PlanNode& root) {
  for (const RuleOutcome& outcome : root.rules) {
    if (outcome.rule == "statistics") return outcome.applied;
  }
  return false;
}

void expect_order(const PlanNode& node) {
  constexpr double kRounding = 1e-6;
  EXPECT_LE(0, node.predicted_rows_low);
  EXPECT_LE(node.predicted_rows_low, node.predicted_rows + kRounding);
  EXPECT_LE(node.predicted_rows, node.predicted_rows_high + kRounding);
  if (node.children.empty()) return;
  EXPECT_LE(node.predicted_rows_high, node.children.front().predicted_rows_high + kRounding);
}

const Engine& engine() {
  static const Engine kEngine({.threads = 1, .device = DeviceChoice::cpu});
  return kEngine;
}

// Without a sample the bounds are what must be and what may be.
TEST(RowBounds, HoldOnTablesThatAreNotSampled) {
  Random random(11);
  for (const std::int64_t rows : {0, 1, 2, 10, 60}) {
    for (int i = 0; i < 60; ++i) {
      const Table table = random_table(rows, random.next());
      const Query query = random_query(random);
      const PlanNode plan = engine().run(query, table).plan;
      ASSERT_FALSE(was_sampled(plan));
      for_each_node(plan, [&](const PlanNode& node) {
        SCOPED_TRACE(to_string(plan));
        expect_order(node);
        EXPECT_TRUE(!node.measured_rows || is_within_bounds(node)) << node.op;
      });
    }
  }
}

TEST(RowBounds, HoldInNearlyAllCasesOnSampledTables) {
  Random random(12);
  int within = 0;
  int all = 0;
  std::string misses;
  for (int i = 0; i < 150; ++i) {
    const Table table = random_table(20'000 + random.below(80'000), random.next());
    const Query query = random_query(random);
    const PlanNode plan = engine().run(query, table).plan;
    for_each_node(plan, [&](const PlanNode& node) {
      SCOPED_TRACE(to_string(plan));
      expect_order(node);
      const bool estimated = node.op == "filter" || node.op == "group" || node.op == "skyline" || node.op == "top-k";
      if (!was_sampled(plan) || !estimated || !node.measured_rows) return;
      ++all;
      within += is_within_bounds(node) ? 1 : 0;
      if (is_within_bounds(node)) return;
      misses += node.op + " " + node.detail + ": " + std::to_string(*node.measured_rows) + " not in " +
                std::to_string(node.predicted_rows_low) + " to " + std::to_string(node.predicted_rows_high) + "\n";
    });
  }
  EXPECT_GT(all, 150);
  EXPECT_GE(within, 0.93 * all) << within << " of " << all << "\n" << misses;
}

// Bounds of a filter are no wider than a sample makes necessary.
TEST(RowBounds, OfAFilterFollowTheSample) {
  const Table table = random_table(200'000, 13);
  const PlanNode plan =
      engine().run(from_any().where("even < 0.5").rank_by({low("skewed"), low("front")}).limit(10), table).plan;
  for_each_node(plan, [&](const PlanNode& node) {
    if (node.op != "filter") return;
    EXPECT_GT(node.predicted_rows_low, 80'000);
    EXPECT_LT(node.predicted_rows_high, 120'000);
  });
}

TEST(RowBounds, ReachToNoRowsIfNoneOfASamplePass) {
  const Table table = random_table(100'000, 20);
  const PlanNode plan =
      engine().run(from_any().where("even < 0.2 and even > 0.7").rank_by({low("skewed")}), table).plan;
  ASSERT_TRUE(was_sampled(plan));
  for_each_node(plan, [&](const PlanNode& node) {
    if (node.op == "scan") return;
    EXPECT_EQ(node.predicted_rows_low, 0) << node.op;
    EXPECT_LT(node.predicted_rows_high, 10'000) << node.op;
    EXPECT_EQ(node.measured_rows.value_or(0), 0) << node.op;
  });
}

TEST(RowBounds, ALimitCapsThem) {
  const Table table = random_table(100'000, 14);
  const PlanNode plan = engine().explain(from_any().rank_by({low("even")}).limit(7), table);
  EXPECT_EQ(plan.predicted_rows_low, 7);
  EXPECT_EQ(plan.predicted_rows_high, 7);
  EXPECT_EQ(engine().explain(from_any().rank_by({low("even")}).limit(7).ties(Ties::all), table).predicted_rows_high,
            100'000);
}

TEST(Plans, AreTheSameForTheSameTable) {
  Random random(15);
  for (int i = 0; i < 20; ++i) {
    const std::uint64_t seed = random.next();
    const Query query = random_query(random);
    const auto explained = [&] {
      return to_string(engine().explain(query, random_table(50'000, seed), {.candidates = true}));
    };
    EXPECT_EQ(explained(), explained());
  }
}

/// Returns the candidates of the choice that a rule or an operator makes; none if there is none.
std::vector<PricedCandidate> candidates_of(const PlanNode& plan, const std::string& subject) {
  for (const PricedDecision& made : plan.decisions) {
    if (made.subject == subject) return made.candidates;
  }
  return {};
}

TEST(Candidates, AreListedIfAskedForOnly) {
  const Table table = random_table(100'000, 16);
  const Query ranking = from_any().where("even < 0.5").rank_by({low("skewed")}).limit(10);
  EXPECT_TRUE(engine().explain(ranking, table).decisions.empty());
  EXPECT_TRUE(engine().run(ranking, table).plan.decisions.empty());
  for (const PlanNode& plan : {engine().explain(ranking, table, {.candidates = true}),
                               engine().run(ranking, table, {.candidates = true}).plan}) {
    EXPECT_EQ(candidates_of(plan, "fusion").size(), 2U);
    EXPECT_GE(candidates_of(plan, "top-k").size(), 1U);
    for (const PricedDecision& made : plan.decisions) {
      EXPECT_EQ(std::ranges::count_if(made.candidates, &PricedCandidate::taken), 1) << made.subject;
      for (const PricedCandidate& candidate : made.candidates) {
        EXPECT_GT(candidate.predicted_ms, 0) << candidate.name;
        EXPECT_GE(candidate.predicted_ms_high, candidate.predicted_ms) << candidate.name;
      }
    }
  }
}

TEST(Candidates, OfASkylineAndItsFilter) {
  const Table table = random_table(50'000, 17);
  const PlanNode plan = engine().explain(
      from_any().where("even < 0.9").prefer({low("even"), low("front"), low("clustered"), low("skewed")}), table,
      {.candidates = true});
  EXPECT_EQ(candidates_of(plan, "filter-last").size(), 2U);
  EXPECT_GE(candidates_of(plan, "skyline").size(), 1U);
  const std::string text = to_string(plan);
  EXPECT_THAT(text, testing::HasSubstr("candidates\n"));
  EXPECT_THAT(text, testing::HasSubstr("filter first"));
  EXPECT_THAT(text, testing::HasSubstr("at high"));
}

TEST(Candidates, OfFewRowsDecideNothingByBeingListed) {
  Random random(19);
  const auto without_candidates = [](PlanNode plan) {
    plan.decisions.clear();
    for (PlanNode* node = &plan;; node = &node->children.front()) {
      for (Alternative& other : node->alternatives) other.predicted_ms_high = 0;
      if (node->children.empty()) return to_string(plan);
    }
  };
  for (int i = 0; i < 200; ++i) {
    const Table table = random_table(1 + random.below(i % 2 == 0 ? 5000 : 100), random.next());
    const Query query = random_query(random);
    EXPECT_EQ(to_string(engine().explain(query, table)),
              without_candidates(engine().explain(query, table, {.candidates = true})));
  }
}

// The choice is as good as the cheapest and, if it is another one, much better at high.
TEST(Candidates, AreTakenByTheRule) {
  Random random(18);
  for (int i = 0; i < 80; ++i) {
    const Table table = random_table(1 + random.below(60'000), random.next());
    const PlanNode plan = engine().explain(random_query(random), table, {.candidates = true});
    for (const PricedDecision& made : plan.decisions) {
      const auto price = [](const PricedCandidate& it) {
        return planner::Price{it.predicted_ms, it.predicted_ms_high};
      };
      const auto taken = std::ranges::find_if(made.candidates, &PricedCandidate::taken);
      for (const PricedCandidate& other : made.candidates) {
        if (other.taken || made.subject == "late-columns") continue;
        EXPECT_TRUE(price(*taken).expected <= price(other).expected * 1.11 ||
                    planner::prefers(price(*taken), price(other)))
            << to_string(plan);
      }
    }
  }
}

}  // namespace
}  // namespace skyrank::exec
