#include <skyrank/engine.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <string>
#include <vector>

#include "tests/build.hpp"
#include "tests/gpu/gpu_test.hpp"

// Queries that force cuda-bitonic: filter and ranking function are part of its first kernel, as in the paper's
// experiments with MapD, or run before it.
namespace skyrank {
namespace {

using FusedBitonicOnGpu = gpu_testing::GpuTest;

constexpr std::size_t kRows = tests::kEmulated ? 6001 : 300'001;

/// Returns tweets with NULLs, NaN and, as few values occur, ties.
Table tweets() {
  std::mt19937_64 random(5);
  std::vector<std::int64_t> time(kRows);
  std::vector<std::int32_t> retweets(kRows);
  std::vector<float> likes(kRows);
  std::vector<double> score(kRows);
  std::vector<std::string> lang(kRows);
  std::vector<bool> scored(kRows);
  for (std::size_t row = 0; row < kRows; ++row) {
    time[row] = 1'493'596'800 + static_cast<std::int64_t>(random() % 86'400);
    retweets[row] = static_cast<std::int32_t>(random() % 500);
    likes[row] = row % 71 == 0 ? std::numeric_limits<float>::quiet_NaN() : static_cast<float>(random() % 300) / 4;
    score[row] = static_cast<double>(random() % 1000) / 8 - 60;
    lang[row] = std::vector<std::string>{"en", "es", "pt", "ja"}[random() % 4];
    scored[row] = row != 0 && random() % 3 != 0;
  }
  return Table({Column::own("tweet_time", std::move(time)), Column::own("retweet_count", std::move(retweets)),
                Column::own("likes_count", std::move(likes)), Column::own("score", std::move(score), std::move(scored)),
                Column::own("lang", std::move(lang))});
}

Result run(const Query& query, const Table& table, std::map<std::string, std::int64_t> parameters = {}) {
  ForcedPath path;
  path.algorithms = {"cuda-bitonic"};
  path.parameters = std::move(parameters);
  return Engine({.threads = 2, .device = DeviceChoice::cuda}).run(Query(query).using_path(path), table);
}

Result run_on_cpu(const Query& query, const Table& table) {
  return Engine({.threads = 2, .device = DeviceChoice::cpu}).run(query, table);
}

/// Expects the rows of the CPU, and a plan that says where the filter and the ranking function ran: `how`.
void expect_fused(const Query& query, const Table& table, const std::string& how) {
  for (const Ties ties : {Ties::first, Ties::last}) {
    const Query tied = Query(query).ties(ties);
    const Result there = run(tied, table);
    EXPECT_EQ(there.rows, run_on_cpu(tied, table).rows) << to_string(there.plan);
    EXPECT_THAT(to_string(there.plan), testing::HasSubstr(how));
    EXPECT_THAT(to_string(there.plan), testing::HasSubstr("cuda-bitonic"));
  }
}

TEST_F(FusedBitonicOnGpu, ColumnsAreFilteredAndRankedInTheFirstKernel) {
  const Table table = tweets();
  for (const char* condition : {"", "tweet_time < 1493640000", "tweet_time < 0", "retweet_count >= 499",
                                "score is not null and likes_count > 10", "score is null",
                                "retweet_count between 10 and 400 and score > -20 and tweet_time > 1493600000"}) {
    for (const char* expression : {"retweet_count", "likes_count", "score", "tweet_time",
                                   "retweet_count + 0.5 * likes_count", "score + 0.5 * retweet_count"}) {
      Query query = Query::from("tweets");
      if (*condition != '\0') query.where(condition);
      expect_fused(Query(query).rank_by({high(expression)}).limit(50), table, "in one pass over the columns");
      expect_fused(Query(query).rank_by({low(expression)}).offset(3).limit(300), table, "in one pass over the columns");
    }
  }
  expect_fused(Query::from("tweets").rank_by({high("likes_count")}).limit(2048), table, "in one pass over the columns");
}

TEST_F(FusedBitonicOnGpu, ProgramsFilterAndRankInTheFirstKernel) {
  const Table table = tweets();
  for (const char* condition : {"lang in ['en', 'es']", "lang = 'ja' and retweet_count > 100",
                                "score * 2 > likes_count", "score > 50 or likes_count < 3", "not (lang = 'pt')"}) {
    for (const char* expression : {"retweet_count", "score", "retweet_count * likes_count", "sqrt(abs(score))",
                                   "case when retweet_count > 250 then score else likes_count end"}) {
      const Query query = Query::from("tweets").where(condition);
      expect_fused(Query(query).rank_by({high(expression)}).limit(50), table, "in one pass of programs");
      expect_fused(Query(query).rank_by({low(expression)}).limit(500), table, "in one pass of programs");
    }
  }
}

TEST_F(FusedBitonicOnGpu, ParametersSwitchItOff) {
  const Table table = tweets();
  const Query query = Query::from("tweets")
                          .where("tweet_time < 1493640000")
                          .rank_by({high("retweet_count + 0.5 * likes_count")})
                          .limit(50);
  const Result fused = run(query, table);
  for (const char* parameter : {"fused", "padding"}) {
    const Result separate = run(query, table, {{parameter, 0}});
    EXPECT_EQ(fused.rows, separate.rows);
    EXPECT_THAT(to_string(separate.plan), testing::HasSubstr(std::string(parameter) + "=0"));
    EXPECT_THAT(to_string(separate.plan), testing::Not(testing::HasSubstr("in one pass over the columns")));
  }
  EXPECT_THAT(to_string(fused.plan), testing::HasSubstr("fused=1"));
  EXPECT_THAT(to_string(fused.plan), testing::HasSubstr("filter, score and ranking in one pass over the columns"));
}

// Ties that are all kept, and several ranking terms, are not for the fused kernel.
TEST_F(FusedBitonicOnGpu, OtherRankingsRunAfterTheirFilter) {
  const Table table = tweets();
  const Query filtered = Query::from("tweets").where("likes_count > 10");
  for (const Query& query : {Query(filtered).rank_by({high("retweet_count")}).limit(50).ties(Ties::all),
                             Query(filtered).rank_by({high("retweet_count"), low("likes_count")}).limit(50),
                             Query(filtered).rank_by({high("retweet_count")}).limit(0)}) {
    EXPECT_EQ(run(query, table).rows, run_on_cpu(query, table).rows);
  }
}

TEST_F(FusedBitonicOnGpu, AFailingRowIsNamedAsOnTheCpu) {
  const Table table = tweets();
  const Query query =
      Query::from("tweets").where("likes_count > 10").rank_by({low("100 / (retweet_count - 7)")}).limit(5);
  const auto message = [&](const auto& run) {
    try {
      run(query, table);
    } catch (const DataError& error) {
      return error.message();
    }
    return std::string("no error");
  };
  const std::string told = message([](const Query& q, const Table& t) { return run(q, t); });
  EXPECT_THAT(told, testing::HasSubstr("division of an integer by zero"));
  EXPECT_EQ(told, message(run_on_cpu));
}

}  // namespace
}  // namespace skyrank
