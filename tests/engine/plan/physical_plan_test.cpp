#include "engine/plan/physical_plan.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <skyrank/engine.hpp>

#include "engine/operators/skyline/skyline_plan.hpp"
#include "engine/plan/forced_path.hpp"
#include "engine/plan/operator_cost.hpp"
#include "engine/plan/rules/device_counts.hpp"
#include "engine/plan/rules/make_plan.hpp"
#include "engine/plan/rules/rewrites.hpp"
#include "engine/plan/tree.hpp"
#include "tests/engine/operator_test.hpp"

namespace skyrank::exec {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;

/// Points near a plane, so that many are in the skyline of a, b and c.
const Table& points() {
  static const Table kPoints = [] {
    constexpr int kRows = 100'000;
    Random random(1);
    std::vector<float> a;
    std::vector<float> b;
    std::vector<float> c;
    std::vector<std::int32_t> group;
    for (int i = 0; i < kRows; ++i) {
      const auto x = static_cast<float>(random.below(1000)) / 1000;
      const auto y = static_cast<float>(random.below(1000)) / 1000;
      a.push_back(x);
      b.push_back(y);
      c.push_back(2 - x - y + static_cast<float>(random.below(100)) / 10'000);
      group.push_back(static_cast<std::int32_t>(random.below(10)));
    }
    return Table({Column::own("a", std::move(a)), Column::own("b", std::move(b)), Column::own("c", std::move(c)),
                  Column::own("g", std::move(group))});
  }();
  return kPoints;
}

Query from() { return Query::from("points"); }
Query skyline() { return from().prefer({low("a"), low("b"), low("c")}); }

PhysicalPlan planned(const Query& query, const Rules& rules = {}, const planner::Constraints& constraints = {}) {
  return make_plan(query::bind(query, query::schema_of(points())), points(), constraints, {.threads = 1}, rules);
}

/// A plan that no rule has rewritten but those that sample and price may.
PhysicalPlan unwritten(const Query& query) {
  PhysicalPlan plan = planned(query, without({}, {"fusion", "skyline-top-k", "filter-last"}));
  plan.rules = RuleLog(Rules());
  return plan;
}

std::vector<std::string> names(const PhysicalPlan& plan, bool fell_back = false) {
  std::vector<std::string> all;
  for (const Operator* op : pipeline(plan, fell_back)) all.emplace_back(name_of(op->kind));
  return all;
}

RuleOutcome outcome(const PhysicalPlan& plan, const std::string& rule) {
  for (const RuleOutcome& found : plan.rules.outcomes()) {
    if (found.rule == rule) return found;
  }
  return {};
}

TEST(PhysicalPlan, WithoutRulesAllOperatorsRunOneAfterTheOther) {
  const PhysicalPlan plan = unwritten(skyline().where("g < 5").rank_by({low("a")}).limit(5));
  EXPECT_EQ(plan.strategy, Strategy::stages);
  EXPECT_FALSE(plan.fallback);
  EXPECT_THAT(names(plan), ElementsAre("scan", "filter", "keys", "skyline", "keys", "top-k", "gather"));
}

// All rows are equal, so that a larger sample always seems worth its time, and of the sampled rows half pass or fewer.
TEST(PhysicalPlan, SamplesOfFewerRowsThanWereDrawnStopGrowing) {
  std::size_t sampled = 0;
  for (int percent = 40; percent <= 60; ++percent) {
    const std::string condition = "a < 0." + std::to_string(percent);
    const PhysicalPlan plan = planned(from().where(condition).prefer({low("0")}));
    sampled += plan.sample.preference.sample > 0 ? 1 : 0;
    EXPECT_GE(plan.sample.rows, 128U) << condition;
  }
  EXPECT_GE(sampled, 2U);
}

// A skyline of independent rows grows with their number, so that the best rows of a ranking leave fewer than all do.
TEST(PhysicalPlan, ThePrefixOfASkylineHasTheSkylineOfItsOwnRows) {
  constexpr int kRows = 100'000;
  Random random(2);
  std::vector<Column> columns;
  std::vector<Preference> terms;
  for (const char* name : {"a", "b", "c", "d", "e", "f", "g", "h"}) {
    std::vector<float> values;
    for (int i = 0; i < kRows; ++i) values.push_back(static_cast<float>(random.below(1 << 20)));
    columns.push_back(Column::own(name, std::move(values)));
    terms.push_back(low(name));
  }
  const Table table(std::move(columns));
  const Query query = from().prefer(terms).rank_by({low("a")}).limit(3);
  const PhysicalPlan plan = make_plan(query::bind(query, query::schema_of(table)), table, {}, {.threads = 1}, {});
  const kernels::TopKShape prefix{.n = kRows, .k = 4096, .widths = {kernels::KeyWidth::bytes4}};
  const double kept = skyline_of_prefix(plan, prefix).growth.rows(4096);
  EXPECT_GT(kept, 400);
  EXPECT_LT(kept, 3000);
  EXPECT_EQ(plan.strategy, Strategy::skyline_prefix);
}

TEST(PhysicalPlan, ItsPathsAreChosenForEstimatedSizes) {
  PhysicalPlan plan = unwritten(skyline().rank_by({low("a")}).limit(5));
  EXPECT_FALSE(plan.operators.order->path);
  choose_paths(plan);
  ASSERT_TRUE(plan.operators.skyline.front().path);
  ASSERT_TRUE(plan.operators.order->path);
  EXPECT_FALSE(plan.operators.order->path->algorithm.empty());
}

TEST(PhysicalPlan, AtHighHasTheUpperBoundsAndTheirCosts) {
  const PhysicalPlan plan = unwritten(skyline().where("g < 5").rank_by({low("a + b")}).limit(5));
  const PhysicalPlan high = plan_at_high(plan);
  const std::vector<const Operator*> expected = pipeline(plan);
  const std::vector<const Operator*> raised = pipeline(high);
  ASSERT_EQ(expected.size(), raised.size());
  for (std::size_t i = 0; i < raised.size(); ++i) {
    EXPECT_EQ(raised[i]->estimate.rows, planner::Cardinality::exactly(expected[i]->estimate.rows.high));
    EXPECT_GE(raised[i]->estimate.ms, expected[i]->estimate.ms);
  }
  const Operator& filter = *plan.operators.filter;
  EXPECT_GT(filter.estimate.rows.high, filter.estimate.rows.expected);
  EXPECT_NEAR(high.operators.skyline_keys->estimate.ms / plan.operators.skyline_keys->estimate.ms,
              filter.estimate.rows.high / filter.estimate.rows.expected, 1e-6);
  EXPECT_GE(planner::skyline_rows({.n = 10'000, .d = 3}, high.sample.preference),
            planner::skyline_rows({.n = 10'000, .d = 3}, plan.sample.preference));
}

TEST(PhysicalPlan, SaysWhyNoPathFits) {
  const planner::Constraints on_gpu{kernels::Device::cuda, {}, {}};
  PhysicalPlan plan = planned(skyline(), {}, on_gpu);
  try {
    choose_paths(plan);
    FAIL() << "there is no GPU";
  } catch (const planner::NoPath& none) {
    EXPECT_FALSE(none.reason.empty());
  }
}

TEST(FusionRule, TakesTheFilterAndTheKeysIntoTheRanking) {
  PhysicalPlan plan = unwritten(from().where("g < 5").rank_by({low("a + c")}).limit(20).offset(2));
  ASSERT_THAT(names(plan), ElementsAre("scan", "filter", "keys", "top-k", "gather"));
  fuse_ranking(plan, points());
  EXPECT_EQ(plan.strategy, Strategy::fused_ranking);
  EXPECT_FALSE(plan.fallback) << "one pass always answers";
  ASSERT_TRUE(plan.selection);
  EXPECT_EQ(plan.selection->k, 22);
  EXPECT_THAT(names(plan), ElementsAre("scan", "top-k", "gather"));
  EXPECT_THAT(plan.operators.order->detail, EndsWith("fused with its keys and the filter g < 5"));
  EXPECT_TRUE(outcome(plan, "fusion").applied);
}

TEST(FusionRule, LeavesAFilterThatGoesAgainstTheRankingApart) {
  const auto strategy = [](const std::string& condition) {
    return planned(from().where(condition).rank_by({low("a")}).limit(10)).strategy;
  };
  EXPECT_EQ(strategy("a > 0.8"), Strategy::stages) << "nearly all rows that fail rank before those that pass";
  EXPECT_EQ(strategy("b > 0.5"), Strategy::fused_ranking);
}

TEST(FusionRule, LeavesAPlanOfSeveralTermsAsItIs) {
  PhysicalPlan plan = unwritten(from().rank_by({low("a"), low("b")}).limit(20));
  fuse_ranking(plan, points());
  EXPECT_EQ(plan.strategy, Strategy::stages);
  EXPECT_FALSE(outcome(plan, "fusion").applied);
  EXPECT_FALSE(outcome(plan, "fusion").reason.empty());
}

TEST(SkylineTopKRule, NamesItsFallback) {
  PhysicalPlan plan = unwritten(skyline().where("g < 9").rank_by({low("a + b + c")}).limit(5));
  select_before_skyline(plan, points());
  ASSERT_EQ(plan.strategy, Strategy::skyline_prefix) << outcome(plan, "skyline-top-k").reason;
  EXPECT_EQ(plan.fallback, Strategy::stages);
  EXPECT_EQ(plan.operators.skyline_keys->estimate.rows.expected, static_cast<double>(plan.selection->k));
  EXPECT_THAT(names(plan), ElementsAre("scan", "top-k", "keys", "skyline", "keys", "top-k", "gather"));
  EXPECT_THAT(names(plan, true), ElementsAre("scan", "filter", "keys", "skyline", "keys", "top-k", "gather"));
}

TEST(SkylineTopKRule, ChangesNothingWhereItIsLeftOut) {
  PhysicalPlan plan = unwritten(skyline().rank_by({high("a")}).limit(5));
  const double rows = plan.operators.skyline_keys->estimate.rows.expected;
  select_before_skyline(plan, points());
  EXPECT_EQ(plan.strategy, Strategy::stages);
  EXPECT_FALSE(plan.selection);
  EXPECT_FALSE(plan.operators.skyline_prefix);
  EXPECT_EQ(plan.operators.skyline_keys->estimate.rows.expected, rows);
}

TEST(FilterLastRule, PutsTheFilterAfterTheSkyline) {
  PhysicalPlan plan = unwritten(from().where("a < 0.9").prefer({low("a"), low("b")}));
  filter_after_skyline(plan, points());
  ASSERT_TRUE(plan.operators.filter_last) << outcome(plan, "filter-last").reason;
  EXPECT_THAT(names(plan), ElementsAre("scan", "keys", "skyline", "filter", "gather"));
}

TEST(DeviceScanRule, IsAGuessWithAFallback) {
  PhysicalPlan plan = unwritten(from().rank_by({low("a")}).limit(5));
  try_device_scan(plan, points());
  EXPECT_EQ(plan.strategy, Strategy::stages) << "keys are made on the host";
  plan.on_device = true;
  try_device_scan(plan, points());
  EXPECT_EQ(plan.strategy, Strategy::device_scan);
  EXPECT_EQ(plan.fallback, Strategy::stages);
}

TEST(DeviceScanRule, NeedsARankingAlone) {
  PhysicalPlan plan = unwritten(skyline().rank_by({low("a")}).limit(5));
  plan.on_device = true;
  try_device_scan(plan, points());
  EXPECT_EQ(plan.strategy, Strategy::stages);
  EXPECT_THAT(outcome(plan, "device-scan").reason, HasSubstr("more than what a scan of columns can do"));
}

/// Plans for one thread and a GPU that nothing forces the query to.
PhysicalPlan planned_beside_gpu(const Query& query, const Table& table, const Rules& rules = {}) {
  planner::Constraints constraints;
  constraints.lists_candidates = true;
  return make_plan(query::bind(query, query::schema_of(table)), table, constraints, {.threads = 1, .cuda = true},
                   rules);
}

std::optional<RuleOutcome> device_counts_of(const PhysicalPlan& plan) {
  for (const RuleOutcome& outcome : plan.rules.outcomes()) {
    if (outcome.rule == "device-counts" && (outcome.applied || !outcome.reason.empty())) return outcome;
  }
  return std::nullopt;
}

TEST(DeviceCountsRule, CountsAllPairsOfManyRowsOnTheGpu) {
  const Query query = skyline().skyband(kAllRows).rank_by({high("dominates()")}).limit(10);
  const PhysicalPlan plan = planned_beside_gpu(query, points());
  EXPECT_TRUE(plan.counts_on_device);
  EXPECT_EQ(plan.operators.measure->device, kernels::Device::cuda);
  const auto decision = std::ranges::find(plan.rules.decisions(), "device-counts", &PricedDecision::subject);
  ASSERT_NE(decision, plan.rules.decisions().end());
  ASSERT_EQ(decision->candidates.size(), 2u);
  EXPECT_TRUE(decision->candidates.front().taken);
  EXPECT_LT(decision->candidates.front().predicted_ms, decision->candidates.back().predicted_ms);
  EXPECT_DOUBLE_EQ(decision->candidates.front().predicted_ms, plan.operators.measure->estimate.ms);
}

TEST(DeviceCountsRule, LeavesFewRowsToTheCpu) {
  const Table few({Column::own("a", std::vector<float>(50, 1)), Column::own("b", std::vector<float>(50, 2)),
                   Column::own("c", std::vector<float>(50, 3))});
  const PhysicalPlan plan = planned_beside_gpu(skyline().skyband(3), few);
  EXPECT_FALSE(plan.counts_on_device);
  EXPECT_EQ(plan.operators.skyline.back().device, kernels::Device::cpu);
  EXPECT_EQ(device_counts_of(plan)->reason, "the CPU counts sooner");
}

TEST(DeviceCountsRule, SaysWhyTheHostCounts) {
  const Query query = skyline().skyband(kAllRows).rank_by({high("dominates()")}).limit(10);
  const auto reason = [](const Query& asked) {
    const PhysicalPlan plan = planned_beside_gpu(asked, points());
    EXPECT_FALSE(plan.counts_on_device);
    return device_counts_of(plan)->reason;
  };
  EXPECT_THAT(reason(Query(query).distinct(true)), HasSubstr("equal rows"));
  EXPECT_THAT(reason(Query(query).partition_by({"g"})), HasSubstr("partitions"));
  EXPECT_FALSE(planned_beside_gpu(query, points(), without({}, {"device-counts"})).counts_on_device);
}

TEST(DeviceCountsRule, DoesNotComeUpWhereNothingIsCounted) {
  for (const Query& query : {skyline(), skyline().skyband(kAllRows), skyline().select({"dominated_by()"}),
                             skyline().select({"level()", "crowding()"})}) {
    const PhysicalPlan plan = planned_beside_gpu(query, points());
    EXPECT_FALSE(plan.counts_on_device);
    EXPECT_FALSE(counts_dominance(plan.query));
    EXPECT_EQ(device_counts_of(plan), std::nullopt);
  }
}

TEST(PlanTree, ShowsWhatARunRecorded) {
  // A kernel, which has a path, ranks so many rows of a partition.
  PhysicalPlan plan = unwritten(from().partition_by({"g"}).rank_by({low("a")}).limit(1000));
  choose_paths(plan);
  ASSERT_TRUE(plan.operators.order->path);
  RunRecord record(plan);
  record.of(*plan.operators.partition).partitions = 10;
  record.of(*plan.operators.order).rows = 20;
  record.of(*plan.operators.order).path.emplace().algorithm = "heap";
  record.of(*plan.operators.rank_keys).note = "in one pass with the ranking";
  const PlanNode gather = tree(plan, record);
  const PlanNode& order = gather.children.front();
  const PlanNode& keys = order.children.front();
  EXPECT_EQ(gather.op, "gather");
  EXPECT_EQ(order.measured_rows, 20);
  EXPECT_EQ(order.algorithm, "heap");
  EXPECT_EQ(keys.reason, "in one pass with the ranking");
  EXPECT_EQ(keys.children.front().detail, "g (10 partitions)");
  const PlanNode before = tree(plan);
  EXPECT_FALSE(before.children.front().measured_rows);
  EXPECT_EQ(before.children.front().algorithm, plan.operators.order->path->algorithm);
}

TEST(PlanTree, ExplainAndRunShowTheSameOperators) {
  const Engine engine({.threads = 1, .device = DeviceChoice::cpu});
  const auto shape = [](const PlanNode& root) {
    std::string text;
    for (const PlanNode* node = &root; node != nullptr;
         node = node->children.empty() ? nullptr : &node->children.front()) {
      text += node->op + " " + node->detail + "\n";
    }
    return text;
  };
  for (const Query& query : {from().rank_by({low("a")}).limit(5), skyline().rank_by({low("a + b + c")}).limit(5),
                             from().where("a < 0.9").prefer({low("a"), low("b")})}) {
    EXPECT_EQ(shape(engine.explain(query, points())), shape(engine.run(query, points()).plan));
  }
}

TEST(PhysicalPlan, NumbersGroupsByHashWhereSampledValuesAreFarApart) {
  const auto group_by = [](const std::string& column) {
    return planned(from().group_by({column}).aggregate({count("n")}));
  };
  const PhysicalPlan close = group_by("g");
  EXPECT_EQ(close.numbering, Numbering::by_values);
  EXPECT_THAT(close.operators.group->note, HasSubstr("by value"));
  const PhysicalPlan floats = group_by("a");
  EXPECT_EQ(floats.numbering, Numbering::by_hashing);
  EXPECT_THAT(floats.operators.group->note, HasSubstr("by hash"));
  EXPECT_GT(floats.operators.group->estimate.ms, close.operators.group->estimate.ms);
  const PhysicalPlan partitions = planned(from().rank_by({high("b")}).partition_by({"a"}).limit(3));
  EXPECT_EQ(partitions.numbering == Numbering::by_hashing, partitions.sample.groups.has_value());
}

TEST(KeysCost, IsHigherForRowsThatLieFarApart) {
  const auto plan = planned(skyline());
  const auto expressions = preference_expressions(plan);
  constexpr double kRows = 1e5;
  const auto seconds = [&](double among) { return keys_cost(expressions, 12, {kRows, among}, 1).seconds; };
  EXPECT_GT(seconds(kRows), 1.2 * seconds(0));
  EXPECT_LT(seconds(4 * kRows), 1.1 * seconds(kRows));  // all of it is in the cache
  EXPECT_GT(seconds(100 * kRows), 2 * seconds(kRows));
  EXPECT_LT(seconds(1e6 * kRows), 1.5 * seconds(100 * kRows));
  constexpr double kMany = 1e7;
  const double listed = keys_cost(expressions, 12, {kMany, kMany}, 1).seconds;
  EXPECT_GT(keys_cost(expressions, 12, {kMany, kMany, /*is_permuted=*/true}, 1).seconds, 2 * listed);
  const double apart = keys_cost(expressions, 12, {kMany}, 1).seconds;
  EXPECT_GT(keys_cost(expressions, 12, {kMany}, 16).seconds, apart / 8) << "memory has not the speed of 16 threads";
}

TEST(TableSample, TellsAConditionThatGoesWithTheRanking) {
  const auto ahead = [](const std::string& condition, std::int64_t limit = 10) {
    return planned(from().where(condition).rank_by({low("a")}).limit(limit)).sample.ranking.ahead;
  };
  EXPECT_NEAR(ahead("a > 0.8"), 0.8, 0.1);
  EXPECT_NEAR(ahead("c < 0.7"), 0.3, 0.2) << "as c is 2 - a - b";
  EXPECT_EQ(ahead("b > 0.8"), 0);
  EXPECT_EQ(ahead("a < 0.2"), 0) << "too few rows of a sample tell";
  EXPECT_NEAR(ahead("a < 0.2", 10'000), 0.1, 0.03) << "not half of all rows";
}

/// Returns the groups that a plan expects among 200,000 rows of these keys, over those that there are.
double groups_expected(std::vector<std::int64_t> keys) {
  const std::set<std::int64_t> distinct(keys.begin(), keys.end());
  const Table table({Column::own("key", std::move(keys))});
  const Query query = Query::from("t").group_by({"key"}).aggregate({count("n")});
  const PhysicalPlan plan = make_plan(query::bind(query, query::schema_of(table)), table, {}, {.threads = 1}, {});
  return plan.operators.group->estimate.rows.expected / static_cast<double>(distinct.size());
}

TEST(TableSample, CountsGroupsOfSkewedAndOfSortedKeys) {
  constexpr std::size_t kRows = 200'000;
  Random random(3);
  std::vector<std::int64_t> skewed;  // the k-th value has a share of about 1 / k^2
  std::vector<std::int64_t> equal;
  for (std::size_t i = 0; i < kRows; ++i) {
    skewed.push_back(static_cast<std::int64_t>(1e6 / (1 + static_cast<double>(random.below(1'000'000)))));
    equal.push_back(static_cast<std::int64_t>(random.below(5000)));
  }
  EXPECT_NEAR(groups_expected(skewed), 1, 0.7);
  EXPECT_NEAR(groups_expected(equal), 1, 0.7);
  std::ranges::sort(equal);
  EXPECT_NEAR(groups_expected(equal), 1, 0.7);
}

}  // namespace
}  // namespace skyrank::exec
