#include <gtest/gtest.h>

#include "tests/semantics/paths.hpp"
#include "tests/semantics/tables.hpp"

// Tests "Errors" of engine/docs/meaning.md: `run`, `check` and `explain` report the same errors.
namespace skyrank {
namespace {

Table table() { return Table({ints("price", {1, 2}), strings("city", {"x", "y"})}); }

template <class E>
void expect_refused(const Query& query, const std::string& word) {
  const Engine engine;
  const auto message = [&](const auto& call) -> std::string {
    try {
      call();
    } catch (const E& error) {
      return error.message();
    }
    return "(no error)";
  };
  for (const std::string& text :
       {message([&] { engine.run(query, table()); }), message([&] { engine.explain(query, table()); })}) {
    EXPECT_NE(text.find(word), std::string::npos) << "no '" << word << "' in: " << text;
  }
}

TEST(Errors, NeitherPreferenceNorRanking) { expect_refused<QueryError>(from(), "rank_by"); }
TEST(Errors, AnEmptyPrefer) {
  EXPECT_THROW(from().prefer(std::vector<Preference>{}), QueryError);
  expect_refused<QueryError>(from().prefer(Preference{}), "at least one");
}
TEST(Errors, ANegativeLimit) { expect_refused<QueryError>(from().rank_by({low("price")}).limit(-1), "limit"); }
TEST(Errors, ANegativeOffset) { expect_refused<QueryError>(from().rank_by({low("price")}).offset(-1), "offset"); }
TEST(Errors, NoLevels) { expect_refused<QueryError>(from().prefer(low("price")).levels(0), "levels"); }

TEST(Errors, AnUnknownNameGetsTheNearest) { expect_refused<BindError>(from().prefer(low("prize")), "price"); }
TEST(Errors, AStringHasNoDistance) {
  expect_refused<BindError>(from().prefer(around("city", std::string("x"))), "city");
}
TEST(Errors, LevelNeedsAPreference) {
  expect_refused<BindError>(from().rank_by({low("price")}).select({"level"}), "prefer");
}
TEST(Errors, ScoreNeedsARanking) {
  expect_refused<BindError>(from().prefer(low("price")).select({"score"}), "rank_by");
}
TEST(Errors, SixtyFiveDimensions) {
  expect_refused<QueryError>(from().prefer(std::vector<Preference>(65, low("price"))), "64");
}

TEST(Errors, StepsThatAreNone) {
  for (const Value& size :
       {Value(std::int64_t{0}), Value(std::int64_t{-5}), Value(kNaN), Value(kInfinity), Value(Null{}), Value(true),
        Value(std::string("ten")), Value(std::string("7")), Value(std::string("-7d")), Value(std::string("0s")),
        Value(std::string("1e9d")), Value(std::string("0.1ns"))}) {
    EXPECT_THROW(step(low("price"), size), QueryError) << to_string(size);
  }
  for (const char* ratio : {"0%", "-10%", "0.00001%", "1e9%", "%"}) {
    EXPECT_THROW(step(low("price"), std::string(ratio)), QueryError) << ratio;
  }
  EXPECT_THROW(step(around("price", std::int64_t{3}), std::int64_t{5}), QueryError);
  EXPECT_THROW(step(pareto({low("price")}), std::int64_t{5}), QueryError);
}

TEST(Errors, StepsThatDoNotSuitATerm) {
  const auto refused = [](const char* column, Value size, const std::string& words) {
    expect_refused<BindError>(from().prefer(step(low(column), std::move(size))), words);
  };
  refused("city", std::int64_t{5}, "boxes are of numbers, dates and timestamps, not of city (string)");
  refused("city", std::string("10%"), "'log_bucket' needs a number, got string");
  refused("price", 0.5, "a size of at least 1; every value has a box of its own there, not 0.5");
  refused("price", std::string("7d"), "need a number, not '7d'");
  expect_refused<BindError>(from().rank_by({low("bucket(price, price)")}), "'bucket' needs a number as it stands");
  expect_refused<BindError>(from().rank_by({low("bucket(price, -1)")}), "is a number above 0");
}

TEST(Errors, AnUnknownAlgorithm) {
  const ForcedPath path{.algorithms = {"bubble-sort"}, .device = DeviceChoice::automatic, .parameters = {}};
  expect_refused<BindError>(from().rank_by({low("price")}).using_path(path), "bubble-sort");
}
TEST(Errors, AnUnknownParameter) {
  const ForcedPath path{.algorithms = {}, .device = DeviceChoice::automatic, .parameters = {{"no_such_parameter", 1}}};
  expect_refused<BindError>(from().rank_by({low("price")}).using_path(path), "no_such_parameter");
}

TEST(Errors, AForcedNameThatTheQueryCannotUse) {
  const ForcedPath heap{.algorithms = {"heap"}, .parameters = {}};
  expect_refused<BindError>(from().prefer(low("price")).using_path(heap), "'heap' is a top-k algorithm, for 'rank_by'");
  const ForcedPath bnl{.algorithms = {"bnl"}, .parameters = {}};
  expect_refused<BindError>(from().rank_by({low("price")}).using_path(bnl),
                            "'bnl' is a skyline algorithm, for 'prefer'");
}

/// The place and the message of the error of a query over a table made without its columns `tags` and `n`.
std::string error_over_lacking(const Query& query) {
  const Table lacking = table().with_unsupported(
      {{.name = "tags", .type = "list<int64>"}, {.name = "n", .type = "binary", .reason = "row 0 is not UTF-8 text"}});
  try {
    Engine().run(query, lacking);
    return {};
  } catch (const BindError& error) {
    return error.what();
  }
}

TEST(Errors, AColumnThatTheTableLacksForItsType) {
  EXPECT_EQ(error_over_lacking(from().rank_by({low("price")})), "");
  const std::string refusal = "column 'tags' has type list<int64>, which skyrank cannot read";
  EXPECT_EQ(error_over_lacking(from().rank_by({low("price + tags")})), "expression:1:9: " + refusal);
  EXPECT_EQ(error_over_lacking(from().where("price > 1 and tags is null").rank_by({low("price")})),
            "expression:1:15: " + refusal);
  EXPECT_EQ(error_over_lacking(from().rank_by({low(Expression::column("tags"))})), refusal);
  EXPECT_EQ(error_over_lacking(from().group_by({"tags"}).aggregate({count("c")})), "expression:1:1: " + refusal);
  EXPECT_EQ(error_over_lacking(from().prefer(low("n"))),
            "expression:1:1: column 'n' has type binary, which skyrank cannot read: row 0 is not UTF-8 text");
  // The ranking is by the aggregate of that name.
  EXPECT_EQ(error_over_lacking(from().group_by({"city"}).aggregate({count("n")}).rank_by({low("n")})), "");
}

TEST(Errors, AnEngineOfNegativeThreads) {
  EXPECT_THROW(Engine(EngineOptions{.threads = -1, .device = DeviceChoice::automatic}), Error);
}

}  // namespace
}  // namespace skyrank
