#include "engine/keys/preference_plan.hpp"

#include <skyrank/error.hpp>
#include <skyrank/query.hpp>

#include "tests/engine/operator_test.hpp"

namespace skyrank::exec {
namespace {

using Kind = kernels::OrderNode::Kind;
using Words = std::vector<std::string>;

/// Binds over columns a, b, c, d and plans.
PreferencePlan planned(const Preference& preference) {
  std::vector<Column> columns;
  for (const char* name : {"a", "b", "c", "d"}) columns.push_back(Column::own<std::int64_t>(name, {}));
  const Query query = Query::from("t").prefer(preference);
  return plan_preference(*query::bind(query, query::schema_of(Table(std::move(columns)))).preference);
}

Words steps(const Preference& preference) {
  const PreferencePlan plan = planned(preference);
  Words words;
  for (const SkylineStep& step : plan.steps) words.push_back(describe(plan, step));
  return words;
}

bool is_general(const Preference& preference) {
  const PreferencePlan plan = planned(preference);
  return !plan.steps.front().order.empty();
}

TEST(PreferencePlan, ATermIsOneKey) { EXPECT_EQ(steps(low("a")), (Words{"low a"})); }

TEST(PreferencePlan, ParetoIsFlat) {
  EXPECT_EQ(steps(pareto({low("a"), pareto({high("b"), low("c")})})), (Words{"low a, high b, low c"}));
  EXPECT_FALSE(is_general(pareto({low("a"), high("b")})));
}

TEST(PreferencePlan, APriorOfTermsIsOneKey) {
  EXPECT_EQ(steps(prior({low("a"), high("b")})), (Words{"prior(low a, high b)"}));
  EXPECT_EQ(steps(pareto({prior({low("a"), high("b")}), low("c")})), (Words{"prior(low a, high b), low c"}));
  EXPECT_FALSE(is_general(pareto({prior({low("a"), high("b")}), low("c")})));
}

TEST(PreferencePlan, APriorAtTheTopBecomesSteps) {
  EXPECT_EQ(steps(prior({low("a"), pareto({low("b"), low("c")}), low("d")})),
            (Words{"low a", "low b, low c", "low d"}));
  EXPECT_EQ(steps(prior({pareto({low("a"), low("b")}), low("c"), low("d")})),
            (Words{"low a, low b", "prior(low c, low d)"}));
}

TEST(PreferencePlan, AKeyBeforeAParetoTermGoesIntoItsKeys) {
  const Preference nested = pareto({low("d"), prior({low("a"), pareto({low("b"), low("c")})})});
  EXPECT_EQ(steps(nested), (Words{"low d, prior(low a, low b), prior(low a, low c)"}));
  EXPECT_FALSE(is_general(nested));
  EXPECT_EQ(planned(nested).terms.size(), 4U) << "the shared term is one term";
}

TEST(PreferencePlan, OnlyAPriorThatBeginsWithParetoNeedsTheGeneralOrder) {
  const Preference nested = pareto({low("d"), prior({pareto({low("a"), low("b")}), low("c")})});
  EXPECT_TRUE(is_general(nested));
  EXPECT_EQ(steps(nested), (Words{"pareto(low d, prior(pareto(low a, low b), low c))"}));
}

TEST(PreferencePlan, TreesAreLaidOutWithConsecutiveChildren) {
  const PreferencePlan plan = planned(pareto({low("d"), prior({pareto({low("a"), low("b")}), low("c")})}));
  const auto& order = plan.steps.front().order;
  ASSERT_EQ(order.size(), 7U);
  EXPECT_EQ(order[0].kind, Kind::pareto);
  EXPECT_EQ(order[0].first, 1U);
  EXPECT_EQ(order[0].count, 2U);
  EXPECT_EQ(order[1].kind, Kind::key);
  EXPECT_EQ(order[2].kind, Kind::prior);
  EXPECT_EQ(order[2].first, 3U);
  EXPECT_EQ(order[3].kind, Kind::pareto);
  EXPECT_EQ(order[3].first, 5U);
  EXPECT_EQ(order[4].kind, Kind::key);
  EXPECT_EQ(plan.steps.front().keys.size(), 4U);
}

TEST(PreferencePlan, DescribesEveryTerm) {
  EXPECT_EQ(steps(around("a", std::int64_t{3})), (Words{"around a to 3"}));
  EXPECT_EQ(steps(between("a", std::int64_t{1}, std::int64_t{2})), (Words{"between a from 1 to 2"}));
  EXPECT_EQ(steps(in("a", {{std::int64_t{1}}})), (Words{"in a"}));
  EXPECT_EQ(steps(where("a > 1")), (Words{"where a > 1"}));
  EXPECT_EQ(steps(inverse(low("a"))), (Words{"inverse low a"}));
}

TEST(PreferencePlan, SixtyFourKeysAreTheMost) {
  std::vector<Preference> terms(64, low("a"));
  EXPECT_EQ(planned(pareto(terms)).steps.front().keys.size(), 64U);
}

}  // namespace
}  // namespace skyrank::exec
