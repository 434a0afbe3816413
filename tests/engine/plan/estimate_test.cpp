#include "engine/plan/estimate.hpp"

#include "tests/engine/operator_test.hpp"

namespace skyrank::exec {
namespace {

double selectivity(std::string_view condition) {
  const Table table({Column::own<std::int64_t>("a", {}), Column::own<std::int64_t>("b", {}, {})});
  return guess_selectivity(bound(condition, table));
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

TEST(Estimate, GroupsOfASample) {
  EXPECT_EQ(estimate_groups(1e6, 5, 0, 0), 5) << "every group was seen often";
  EXPECT_EQ(estimate_groups(1e3, 100, 100, 0), 1e3) << "every row has been alone: never more than rows";
  EXPECT_DOUBLE_EQ(estimate_groups(1e6, 80, 60, 20), 80 + 60 * 59 / 42.0);
}

}  // namespace
}  // namespace skyrank::exec
