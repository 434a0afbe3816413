#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <set>

#include <skyrank/engine.hpp>

#include "tests/build.hpp"
#include "tests/semantics/paths.hpp"

// Rules of the planner on tables that are large enough for them. (On small ones the other suites run without each.)
namespace skyrank {
namespace {

constexpr std::int64_t kRows = 150'000;  // enough for zone maps

/// Columns with and without ties, NaN and NULL, in and out of order.
const Table& large_table() {
  static const Table table = [] {
    std::mt19937_64 random(3);
    std::uniform_real_distribution<double> unit(0, 1);
    std::vector<float> f;
    std::vector<double> g;
    std::vector<double> h;
    std::vector<std::int32_t> i;
    std::vector<std::int64_t> wide;
    std::vector<std::int32_t> rising;
    std::vector<std::string> s;
    std::vector<bool> valid;
    for (std::int64_t row = 0; row < kRows; ++row) {
      f.push_back(row % 997 == 0 ? std::numeric_limits<float>::quiet_NaN() : static_cast<float>(unit(random)));
      g.push_back(static_cast<double>(random() % 1000) / 8);
      h.push_back(unit(random));
      i.push_back(static_cast<std::int32_t>(random() % 500));
      wide.push_back(static_cast<std::int64_t>(random()));
      rising.push_back(static_cast<std::int32_t>(row / 3));
      s.emplace_back(1, static_cast<char>('a' + random() % 5));
      valid.push_back(random() % 50 != 0);
    }
    return Table({Column::own("f", f), Column::own("g", g), Column::own("h", h), Column::own("i", i),
                  Column::own("wide", wide), Column::own("rising", rising), Column::own("s", s),
                  Column::own("n", i, valid)});
  }();
  return table;
}

std::vector<Query> large_queries() {
  std::vector<Query> queries = {
      from().rank_by({low("f")}).limit(20),
      from().rank_by({high("f")}).limit(50).offset(7),
      from().rank_by({low("rising")}).limit(10).ties(Ties::last),
      from().rank_by({high("g")}).limit(5).ties(Ties::all),
      from().where("i < 250 and s != 'b'").rank_by({high("g")}).limit(100),
      from().where("i < 3").rank_by({low("h")}).limit(100),
      from().where("wide % 7 = 0").rank_by({low("f")}).limit(100),
      from().rank_by({high("0.5 * g + h - 2 * f")}).limit(100),
      from().where("n is not null").rank_by({high("0.5 * g + h")}).limit(2000),
      from().where("i + 1 < 100").rank_by({low("n")}).limit(30).ties(Ties::all),
      from().rank_by({high("i"), low("n"), high("g")}).limit(40),
      from().where("s = 'a'").rank_by({high("i"), low("rising")}).limit(40).partition_by({"n"}),
      from().rank_by({high("f")}).limit(5).partition_by({"i"}),
      from().rank_by({low("g")}).limit(3).offset(2).ties(Ties::last).partition_by({"s", "n"}),
      from().where("n < 400").rank_by({low("wide")}).limit(2).partition_by({"rising"}),
      from().rank_by({high("h")}).limit(4).partition_by({"f"}),
      from().prefer({low("f"), high("g"), low("h")}),
      from().where("g <= 60").prefer({low("g"), low("h"), high("i")}).rank_by({low("g + h"), high("i")}).limit(5),
      from().prefer({low("f"), low("h"), low("g")}).rank_by({low("f + h + g")}).limit(3).ties(Ties::all),
      from().prefer({low("f"), low("h"), low("g"), low("i")}).rank_by({low("f + h + g + i")}).limit(3).ties(Ties::all),
      from().where("h <= 0.95").prefer({low("h"), high("f")}),
      from().where("2 * h - g <= 1.5 and g > 3").prefer({low("h"), high("g")}).distinct(true).rank_by({high("i")}),
      from().prefer({high("g"), low("i")}).levels(3).rank_by({high("i")}).limit(12),
      from().group_by({"i"}).aggregate({sum("total", "g")}).rank_by({high("total")}).limit(10),
      from().rank_by({high("s"), low("h")}).limit(40),
      from().rank_by({low("s")}).limit(3).ties(Ties::last).partition_by({"i"}),
      from().where("h < 0.5").prefer({low("s"), low("h"), high("g")}).rank_by({low("s")}).limit(7),
      from().rank_by({low("n")}).limit(3500).ties(Ties::last).nulls(Missing::best),
      from().where("i < 250").rank_by({high("n"), low("h")}).limit(40).nulls(Missing::best),
      from().where("n <= 450").prefer({low("n"), low("h")}).nulls(Missing::best),
      from().prefer({low("n"), low("h"), low("g")}).rank_by({low("n + h")}).limit(5).nulls(Missing::best),
      from().rank_by({high("f")}).limit(3500).ties(Ties::last).nan(Missing::best),
      from().where("f <= 20 or i < 250").prefer({low("f"), low("h")}).nan(Missing::best),
      from().prefer({low("f"), low("h"), low("g")}).rank_by({low("f + h")}).limit(5).nan(Missing::best),
  };
  for (std::size_t q = 0; q < queries.size(); ++q) queries[q].name("query-" + std::to_string(q));
  return queries;
}

const Engine& engine() {
  static const Engine engine({.threads = 2, .shared_key_bytes = std::size_t{1} << 25});
  return engine;
}

/// The rules that some plan applies.
std::set<std::string> applied(const PlanNode& plan) {
  std::set<std::string> names;
  for (const RuleOutcome& outcome : plan.rules) {
    if (outcome.applied) names.insert(outcome.rule);
  }
  return names;
}

TEST(Rules, AnswersDoNotDependOnThem) {
  const std::vector<Query> queries = large_queries();
  const std::vector<RuleInfo> known = rules();
  for (std::size_t q = 0; q < queries.size(); ++q) {
    const Query& query = queries[q];
    SCOPED_TRACE(query.name());
    const Result all = engine().run(query, large_table());
    const std::set<std::string> useful = applied(all.plan);
    ForcedPath none;
    for (std::size_t r = 0; r < known.size(); ++r) {
      const RuleInfo& rule = known[r];
      none.without.push_back(rule.name);
      if (tests::kSanitized && !useful.contains(rule.name)) continue;  // the plan is the same, and slow
      if (tests::kThreadSanitized && (q + r) % 8 != 0) continue;       // an eighth of the queries without each rule
      Query without = query;
      without.using_path({.algorithms = {}, .parameters = {}, .without = {rule.name}});
      const Result result = engine().run(without, large_table());
      EXPECT_EQ(result.rows, all.rows) << "without " << rule.name;
      EXPECT_EQ(result.levels, all.levels) << "without " << rule.name;
    }
    Query bare = query;
    EXPECT_EQ(engine().run(bare.using_path(none), large_table()).rows, all.rows) << "without any rule";
  }
}

TEST(Rules, EachOfTheCpuIsAppliedToSomeQueryAndToNoneWithoutIt) {
  std::set<std::string> seen;
  for (const Query& query : large_queries()) {
    seen.merge(applied(engine().run(query, large_table()).plan));
    for (const RuleInfo& rule : rules()) {
      Query without = query;
      without.using_path({.algorithms = {}, .parameters = {}, .without = {rule.name}});
      EXPECT_FALSE(applied(engine().explain(without, large_table())).contains(rule.name)) << query.name();
    }
  }
  for (const RuleInfo& rule : rules()) {
    const bool needs_gpu = rule.name.starts_with("device-");
    // Sources have rules of their own; tests/differential/sources.cpp fails where one is never applied.
    const bool needs_source = rule.name == "late-columns" || rule.name == "unit-pruning" || rule.name == "by-units";
    EXPECT_TRUE(needs_gpu || needs_source || seen.contains(rule.name)) << rule.name;
  }
}

TEST(Rules, PlansTellOfEveryRuleOnceWithAReasonWhereItIsApplied) {
  for (const Query& query : large_queries()) {
    const PlanNode plan = engine().explain(query, large_table());
    ASSERT_EQ(plan.rules.size(), rules().size());
    for (std::size_t r = 0; r < plan.rules.size(); ++r) {
      EXPECT_EQ(plan.rules[r].rule, rules()[r].name);
      EXPECT_FALSE(plan.rules[r].applied && plan.rules[r].reason.empty());
    }
  }
}

TEST(Rules, OfAnEngineAreOffForAllItsQueries) {
  const Engine bare({.threads = 1, .without = {"fusion"}});
  const PlanNode plan = bare.explain(from().rank_by({low("f")}).limit(20), large_table());
  EXPECT_FALSE(applied(plan).contains("fusion"));
  for (const RuleOutcome& outcome : plan.rules) {
    EXPECT_EQ(outcome.reason == "switched off", outcome.rule == "fusion") << outcome.rule;
  }
}

TEST(Rules, UnknownOnesAreRefused) {
  const auto message = [](const auto& f) -> std::string {
    try {
      f();
    } catch (const BindError& error) {
      return error.message();
    }
    return "";
  };
  EXPECT_TRUE(message([] {
                Engine({.without = {"fussion"}});
              }).starts_with("the planner has no rule 'fussion'; did you mean 'fusion'? (there are statistics, "));
  Query query = from().rank_by({low("f")});
  query.using_path({.algorithms = {}, .parameters = {}, .without = {"zone-map"}});
  EXPECT_NE(message([&] { engine().explain(query, large_table()); }).find("did you mean 'zone-maps'?"),
            std::string::npos);
}

}  // namespace
}  // namespace skyrank
