#include "engine/plan/estimate.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "tests/engine/operator_test.hpp"

namespace skyrank::exec {
namespace {

double selectivity(std::string_view condition) {
  const Table table({Column::own<std::int64_t>("a", {}), Column::own<std::int64_t>("b", {}, {})});
  return guess_selectivity(lower(*bound(condition, table).root));
}

TEST(Estimate, EqualityIsMoreSelectiveThanARange) {
  EXPECT_LT(selectivity("a = 1"), selectivity("a < 1"));
  EXPECT_LT(selectivity("a between 1 and 2"), selectivity("a < 1"));
  EXPECT_LT(selectivity("a in [1, 2]"), selectivity("a in [1, 2, 3]"));
}

TEST(Estimate, LogicFollowsProbability) {
  const double a = selectivity("a < 1");
  const double b = selectivity("b = 1");
  EXPECT_DOUBLE_EQ(selectivity("a < 1 and b = 1"), a * b);
  EXPECT_DOUBLE_EQ(selectivity("a < 1 or b = 1"), a + b - a * b);
  EXPECT_DOUBLE_EQ(selectivity("not b = 1"), 1 - b);
  EXPECT_DOUBLE_EQ(selectivity("a is not null"), 1 - selectivity("a is null"));
}

TEST(Estimate, SelectivitiesAreShares) {
  for (const char* condition : {"a = 1", "a in [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]", "not a != 2",
                                "a not between 1 and 2", "true", "false", "case when a = 1 then true else false end"}) {
    EXPECT_GE(selectivity(condition), 0) << condition;
    EXPECT_LE(selectivity(condition), 1) << condition;
  }
}

TEST(Estimate, GroupsAreNeverMoreThanRows) {
  EXPECT_EQ(guess_groups(1e6, {Type::boolean}), 2);
  EXPECT_EQ(guess_groups(1e6, {Type::int32}), 1e3);
  EXPECT_EQ(guess_groups(100, {Type::int32, Type::int32, Type::int32}), 100);
  EXPECT_EQ(guess_groups(0, {Type::int32}), 0);
}

/// Counts the groups of rows that are drawn from groups in proportion to their weights.
template <class Weight>
SampledGroups drawn(std::size_t groups, std::size_t rows, const Weight& weight) {
  std::vector<double> weights(groups);
  for (std::size_t i = 0; i < groups; ++i) weights[i] = weight(static_cast<double>(i + 1));
  std::discrete_distribution<std::size_t> draw(weights.begin(), weights.end());
  std::mt19937 random(1);
  std::vector<int> sizes(groups);
  for (std::size_t i = 0; i < rows; ++i) ++sizes[draw(random)];
  const auto of_size = [&](int size) { return static_cast<double>(std::ranges::count(sizes, size)); };
  return {static_cast<double>(rows), static_cast<double>(groups) - of_size(0), of_size(1), of_size(2), of_size(3)};
}

TEST(Estimate, GroupsOfASample) {
  EXPECT_EQ(estimate_groups(1e6, {100, 5, 0, 0, 0}), 5) << "every group was seen often";
  EXPECT_NEAR(estimate_groups(1e3, {100, 100, 100, 0, 0}), 1e3, 100) << "every row has been alone";
  EXPECT_LE(estimate_groups(101, {100, 100, 100, 0, 0}), 101) << "never more than rows";
  EXPECT_EQ(estimate_groups(100, {100, 80, 60, 20, 0}), 80) << "all rows were seen";
  EXPECT_NEAR(estimate_groups(1e9, {100, 80, 60, 20, 0}), 80 + 60 * 60 / 42.0, 1e-6) << "groups of one size";
}

TEST(Estimate, GroupsThatNextToNoRowRepeatMayBeMany) {
  const auto equal = [](double) { return 1.0; };
  for (const std::size_t rows : {24, 128, 471}) {
    const auto seen = static_cast<double>(rows);
    EXPECT_GT(estimate_groups(500 * seen, {seen, seen, seen, 0, 0}), 500 * seen / 8) << "all rows may differ";
    for (const std::size_t groups : {rows * rows / 2, 20 * rows, 100 * rows}) {  // of 500 times as many rows
      const double estimated = estimate_groups(500 * seen, drawn(groups, rows, equal));
      EXPECT_GT(estimated, static_cast<double>(groups) / 6) << rows << " of " << groups;
      EXPECT_LT(estimated, static_cast<double>(groups) * 12) << rows << " of " << groups;
    }
    double before = 1e12;
    for (const double repeats : {0.0, 1.0, 2.0, 3.0}) {
      const double estimated = estimate_groups(1e6, {seen, seen - repeats, seen - 2 * repeats, repeats, 0});
      EXPECT_LT(estimated, before) << repeats << " repeats";
      before = estimated;
    }
  }
}

TEST(Estimate, GroupsOfOneSizeAndOfAPowerLaw) {
  const auto equal = [](double) { return 1.0; };
  for (const std::size_t groups : {300, 3000, 20000}) {
    EXPECT_NEAR(estimate_groups(1e8, drawn(groups, 10000, equal)) / static_cast<double>(groups), 1, 0.3) << groups;
  }
  for (const double exponent : {1.1, 1.3, 1.6}) {
    const auto zipf = [&](double place) { return std::pow(place, -exponent); };
    const SampledGroups all = drawn(3'000'000, 2'000'000, zipf);
    const double estimated = estimate_groups(all.rows, drawn(3'000'000, 10'000, zipf));
    EXPECT_GT(estimated, all.distinct / 2) << exponent;
    EXPECT_LT(estimated, all.distinct * 2) << exponent;
  }
}

TEST(Estimate, GroupsAreWithinTheirBoundsInNearlyAllCases) {
  int within = 0;
  int all = 0;
  for (const double exponent : {0.0, 0.5, 0.8, 1.0, 1.3}) {
    for (const std::size_t groups : {10, 100, 1000, 10'000, 100'000}) {
      for (const std::size_t sample : {128, 2000}) {
        const auto zipf = [&](double place) { return std::pow(place, -exponent); };
        const SampledGroups all_rows = drawn(groups, 100'000, zipf);
        const auto bounds = bounded_groups(planner::Cardinality::exactly(100'000), drawn(groups, sample, zipf));
        EXPECT_LE(bounds.low, bounds.expected);
        EXPECT_LE(bounds.expected, bounds.high);
        EXPECT_LE(bounds.high, 100'000);
        ++all;
        within += bounds.low <= all_rows.distinct && all_rows.distinct <= bounds.high ? 1 : 0;
      }
    }
  }
  EXPECT_GE(within, 0.93 * all) << within << " of " << all;
}

TEST(Estimate, GuessedGroupsHaveNoMoreThanTheirTypesHaveValues) {
  const auto rows = planner::Cardinality::exactly(1e6);
  EXPECT_EQ(bounded_guess_of_groups(rows, {Type::boolean}).high, 3) << "NULL is a group";
  EXPECT_EQ(bounded_guess_of_groups(rows, {Type::int8, Type::boolean}).high, 257 * 3);
  EXPECT_EQ(bounded_guess_of_groups(rows, {Type::int32}).high, 1e6);
  EXPECT_EQ(bounded_guess_of_groups(rows, {Type::int32}).low, 1);
}

TEST(Estimate, GroupsGrowWithRows) {
  for (const SampledGroups& sample : {SampledGroups{1000, 700, 600, 60, 20}, SampledGroups{1000, 700, 600, 60, 0},
                                      SampledGroups{1000, 999, 998, 1, 0}, SampledGroups{1000, 300, 250, 30, 15}}) {
    double before = sample.distinct;
    for (double n = sample.rows; n < 1e10; n *= 3) {
      const double groups = estimate_groups(n, sample);
      EXPECT_GE(groups, before);
      EXPECT_LE(groups, n);
      before = groups;
    }
  }
}

}  // namespace
}  // namespace skyrank::exec
