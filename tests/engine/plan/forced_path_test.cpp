#include "engine/plan/forced_path.hpp"
#include "engine/query/locations.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include <skyrank/engine.hpp>

namespace skyrank::exec {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

Table small_table() {
  return Table({Column::own("x", std::vector<float>{1, 2, 3}), Column::own("y", std::vector<float>{3, 2, 1})});
}

Query from_small() { return Query::from("t"); }
Query small_skyline() { return from_small().prefer({low("x"), low("y")}); }
Query ranking() { return from_small().rank_by({low("x")}).limit(2); }
Query groups() { return from_small().group_by({"x"}).aggregate({count("n")}); }

ForcedPath algorithms(std::vector<std::string> names) { return {.algorithms = std::move(names), .parameters = {}}; }
ForcedPath parameter(const std::string& name, std::int64_t value) {
  return {.algorithms = {}, .parameters = {{name, value}}};
}

/// The error of a query with a forced path, from both that plan one; empty where the query is answered.
std::string refusal(Query query, const ForcedPath& path) {
  const Engine engine({.threads = 1, .device = DeviceChoice::cpu});
  query.using_path(path);
  std::string message;
  try {
    engine.explain(query, small_table());
  } catch (const BindError& error) {
    message = error.message();
  }
  if (message.empty()) {
    engine.run(query, small_table());
  } else {
    EXPECT_THROW(engine.run(query, small_table()), BindError);
  }
  return message;
}

TEST(ForcedPath, AnAlgorithmNeedsAPartOfTheQueryThatCanUseIt) {
  EXPECT_EQ(refusal(small_skyline(), algorithms({"bnl"})), "");
  EXPECT_EQ(refusal(ranking(), algorithms({"heap"})), "");
  EXPECT_EQ(refusal(small_skyline().rank_by({low("x")}), algorithms({"bnl", "heap"})), "");
  EXPECT_THAT(
      refusal(small_skyline(), algorithms({"heap"})),
      AllOf(StartsWith("'using': 'heap' is a top-k algorithm, for 'rank_by', which the query does not have; the "
                       "query takes bnl, sfs, "),
            Not(HasSubstr("nth-element"))));
  EXPECT_THAT(
      refusal(ranking(), algorithms({"bnl"})),
      StartsWith("'using': 'bnl' is a skyline algorithm, for 'prefer', which the query does not have; the query "
                 "takes sort, "));
}

TEST(ForcedPath, OneThatIsOfUseDoesNotExcuseAnother) {
  EXPECT_THAT(refusal(ranking(), algorithms({"heap", "bnl"})), HasSubstr("'bnl' is a skyline algorithm"));
  EXPECT_THAT(refusal(small_skyline(), algorithms({"sfs", "heap"})), HasSubstr("'heap' is a top-k algorithm"));
}

TEST(ForcedPath, LevelsPartitionsAndGroupsPoseNoOtherProblem) {
  for (Query query : {small_skyline().levels(2), small_skyline().at_least(2), small_skyline().partition_by({"x"}),
                      small_skyline().limit(1), groups().prefer({low("n"), low("x")})}) {
    EXPECT_EQ(refusal(query, algorithms({"bnl"})), "");
    EXPECT_THAT(refusal(query, algorithms({"heap"})), HasSubstr("'rank_by', which the query does not have"));
  }
  for (Query query : {from_small().rank_by({low("x")}), ranking().partition_by({"y"}), groups().rank_by({high("n")})}) {
    EXPECT_EQ(refusal(query, algorithms({"heap"})), "");
    EXPECT_THAT(refusal(query, algorithms({"bnl"})), HasSubstr("'prefer', which the query does not have"));
  }
  EXPECT_EQ(refusal(groups(), algorithms({"heap"})),
            "'using': 'heap' is a top-k algorithm, for 'rank_by', which the query does not have; the query takes none");
}

TEST(ForcedPath, AParameterNeedsAnAlgorithmOfTheQuery) {
  EXPECT_EQ(refusal(small_skyline(), parameter("block", 64)), "");
  EXPECT_EQ(refusal(small_skyline().rank_by({low("x")}), parameter("block", 64)), "");
  EXPECT_THAT(refusal(ranking(), parameter("block", 64)),
              StartsWith("'using': parameter 'block' belongs to sfs; 'sfs' is a skyline algorithm, for 'prefer', which "
                         "the query does not have; the query takes "));
  EXPECT_EQ(refusal(groups(), parameter("block", 64)),
            "'using': parameter 'block' belongs to sfs; 'sfs' is a skyline algorithm, for 'prefer', which the query "
            "does not have; the query takes none");
  ForcedPath both = algorithms({"heap"});
  both.parameters["block"] = 64;
  EXPECT_EQ(refusal(small_skyline().rank_by({low("x")}), both), "heap has no parameter 'block'");
}

TEST(ForcedPath, TheErrorStandsWhereTheNameDoes) {
  Query query = small_skyline();
  query::set_path(query, {algorithms({"heap"}), {{"heap", {.source = "batch.yaml", .line = 7, .column = 24}}}});
  try {
    check_forced(query);
    FAIL();
  } catch (const BindError& error) {
    EXPECT_EQ(to_string(error.location()), "batch.yaml:7:24");
  }
}

}  // namespace
}  // namespace skyrank::exec
