#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/tools/program.hpp"

// skyrank_mpi as users run it: by mpirun, beside `skyrank run`.
namespace skyrank::testing {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

using Words = std::vector<std::string>;

/// Open MPI 4 and 5 want to be told that root, and more ranks than cores, are meant.
ProgramOptions options_in(const std::filesystem::path& folder) {
  ProgramOptions options;
  options.folder = folder;
  options.environment = {"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
                         "OMPI_MCA_rmaps_base_oversubscribe=1", "PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe"};
  return options;
}

Outcome run_ranks(int ranks, const Words& arguments, const std::filesystem::path& folder) {
  Words words = {"-n", std::to_string(ranks), SKYRANK_MPI_PROGRAM};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return run_program(SKYRANK_MPIRUN, words, options_in(folder));
}

constexpr const char* kHotels = R"(name,city,price,stars,opened,rating
Astoria,Oslo,120,4,1999-05-01,4.5
"Bay, the",Aarhus,,3,2010-01-31,
Central,Oslo,95.5,3,2001-07-15,4.1
Dome,,210,5,1987-12-24,4.9
Eden,Bergen,80,2,2015-03-03,3.2
Fjord,Bergen,80,4,,4.4
Garden,Aarhus,149.9,4,2020-10-10,nan
Harbour,Oslo,95.5,2,1999-05-01,4.1
)";

constexpr const char* kBatch = R"(version: 1
tables:
  hotels: {file: hotels.csv}
  points: {file: parts/*.parquet}
  tweets: {generate: {distribution: tweets, rows: 3001, seed: 4}}
queries:
  - {name: cheapest, from: hotels, rank_by: [{low: price}, {high: rating}], limit: 3, ties: all}
  - {name: good, from: hotels, where: "city is not null", prefer: [{low: price}, {high: stars}], levels: 2}
  - name: best-per-city
    from: hotels
    rank_by: {high: rating}
    limit: 1
    partition_by: [city]
    select: [row, name, city]
  - name: cities
    from: hotels
    group_by: [city]
    aggregate: {n: count(), sum: sum(price), best: max(rating)}
    rank_by: {high: n}
  - {name: skyline, from: points, prefer: [{low: c0}, {high: c1}, {low: c2}], select: [row, level]}
  - {name: some, from: points, where: c1 > 0.5, prefer: [{low: c0}, {low: c2}], at_least: 20}
  - {name: top, from: points, rank_by: {low: c0 + c1}, limit: 20, offset: 3, select: [row, score]}
  - name: popular
    from: tweets
    where: lang in ['en', 'es']
    rank_by: {high: retweet_count + 0.5 * likes_count}
    limit: 25
  - name: users
    from: tweets
    group_by: [uid]
    aggregate: {n: count(), likes: avg(likes_count)}
    rank_by: {high: n}
    limit: 9
)";

/// Writes the tables of kBatch, of which one is five files.
void write_tables(const TemporaryFolder& folder) {
  folder.write("hotels.csv", kHotels);
  folder.write("batch.yaml", kBatch);
  std::filesystem::create_directory(folder.path() / "parts");
  for (const int seed : {1, 2, 3, 4, 5}) {
    const std::string file = "parts/" + std::to_string(seed) + ".parquet";
    ASSERT_EQ(run_skyrank({"generate", "--distribution", "anticorrelated", "--rows", std::to_string(100 * seed),
                           "--dims", "3", "--seed", std::to_string(seed), "--out", folder / file})
                  .status,
              0);
  }
}

TEST(MpiRun, AnswersAreThoseOfOneProcess) {
  const TemporaryFolder folder;
  write_tables(folder);
  const Outcome one = run_skyrank({"run", folder / "batch.yaml", "--out", folder / "one", "--device", "cpu"});
  ASSERT_EQ(one.status, 0) << one.err;
  const std::vector<std::string> queries = {"cheapest", "good", "best-per-city", "cities", "skyline",
                                            "some",     "top",  "popular",       "users"};
  for (const auto& [ranks, gather] : std::vector<std::pair<int, std::string>>{{2, "flat"}, {4, "tree"}, {7, "tree"}}) {
    const std::string out = "ranks" + std::to_string(ranks);
    const Outcome many = run_ranks(ranks, {"run", "batch.yaml", "--out", out, "--gather", gather}, folder.path());
    EXPECT_EQ(many.status, 0) << many.err;
    for (const std::string& query : queries) {
      EXPECT_EQ(read_file(folder / (out + "/" + query + ".csv")), read_file(folder / ("one/" + query + ".csv")))
          << query << " by " << ranks << " ranks";
    }
  }
}

TEST(MpiRun, ErrorsOfRowsAreThoseOfOneProcessAndOtherQueriesAreAnswered) {
  const TemporaryFolder folder;
  folder.write("hotels.csv", kHotels);
  folder.write("batch.yaml", R"(version: 1
tables: {hotels: {file: hotels.csv}}
queries:
  - {name: wrong, from: hotels, rank_by: {low: 100 / (stars - 2)}, limit: 1, select: [row]}
  - {name: right, from: hotels, rank_by: {low: price}, limit: 1, select: [row]}
)");
  const Outcome one = run_skyrank({"run", folder / "batch.yaml", "--device", "cpu", "--out", folder / "one"});
  const Outcome many = run_ranks(3, {"run", "batch.yaml", "--out", "many"}, folder.path());
  EXPECT_EQ(one.status, 2);
  EXPECT_EQ(many.status, one.status);
  EXPECT_EQ(read_file(folder / "many/right.csv"), read_file(folder / "one/right.csv"));
  EXPECT_FALSE(std::filesystem::exists(folder / "many/wrong.csv"));
  EXPECT_THAT(many.err, HasSubstr("row 4: division of an integer by zero"));
}

TEST(MpiRun, ARankThatCannotBeginEndsAll) {
  const TemporaryFolder folder;
  write_tables(folder);
  // By the rank, as mpirun of Open MPI 5.0.7 crashes where it is to start two programs.
  const std::string command = "test $OMPI_COMM_WORLD_RANK = 2 && batch=missing.yaml || batch=batch.yaml; exec '" +
                              std::string(SKYRANK_MPI_PROGRAM) + "' run $batch";
  const Outcome outcome = run_program(SKYRANK_MPIRUN, {"-n", "3", "sh", "-c", command}, options_in(folder.path()));
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.err, HasSubstr("skyrank: rank 2: missing.yaml: no such file\n"));
  EXPECT_EQ(outcome.out, "");
}

TEST(MpiRun, ARankThatCannotGoOnEndsAll) {
  const TemporaryFolder folder;
  write_tables(folder);
  const Outcome outcome = run_program(
      SKYRANK_MPIRUN,
      {"-n", "2", "sh", "-c", "exec '" SKYRANK_MPI_PROGRAM "' run batch.yaml --format csv --query top > /dev/full"},
      options_in(folder.path()));
  EXPECT_NE(outcome.status, 0);
  EXPECT_THAT(outcome.err, HasSubstr("skyrank: rank 0: "));
  EXPECT_THAT(outcome.err, HasSubstr("No space left on device"));
}

TEST(MpiRun, AMissingFileIsAnErrorOfTheQuery) {
  const TemporaryFolder folder;
  folder.write("batch.yaml",
               "version: 1\ntables: {t: {file: t.csv}}\nqueries: [{name: q, from: t, rank_by: {low: a}}]\n");
  const Outcome many = run_ranks(2, {"run", "batch.yaml"}, folder.path());
  const Outcome one = run_skyrank({"run", "batch.yaml"}, options_in(folder.path()));
  EXPECT_EQ(many.status, one.status);
  EXPECT_THAT(many.err, HasSubstr(one.err));
}

TEST(MpiUsage, MistakesAreToldOnce) {
  const TemporaryFolder folder;
  const auto told = [&](const Words& arguments, const std::string& message) {
    const Outcome outcome = run_ranks(2, arguments, folder.path());
    EXPECT_EQ(outcome.status, 2);
    EXPECT_THAT(outcome.err, HasSubstr("skyrank: rank 0: " + message + "\n"));
    EXPECT_THAT(outcome.err, Not(HasSubstr("rank 1")));
  };
  told({"run", "b.yaml", "--gather", "ring"}, "--gather: 'ring' is not one of flat, tree");
  told({"topk", "--rows", "2^99"}, "--rows: '2^99' is not a number from 1 to 1099511627776 such as 1000 or 2^20");
  told({"topk", "--rows", "9", "--algorithm", "heap", "--exchange-delegates"},
       "--exchange-delegates: heap has no delegates; cuda-dr-topk has");
}

TEST(MpiTopK, AnswersOfCpuRanksAreRight) {
  const TemporaryFolder folder;
  for (const int ranks : {1, 2, 4}) {
    std::vector<std::string> arguments = {
        "topk",         "--rows",    "10000,2^15",  "--k",      "100",
        "--sub-vector", "5000",      "--algorithm", "heap",     "--distinct",
        "500",          "--repeats", "2",           "--gather", ranks == 4 ? "tree" : "flat",
        "--out",        "times.csv"};
    if (ranks > 1) arguments.emplace_back("--overlap");
    const Outcome outcome = run_ranks(ranks, arguments, folder.path());
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("communication ms"));
    EXPECT_THAT(outcome.out, HasSubstr("  yes\n"));
    EXPECT_THAT(outcome.out, Not(HasSubstr("NO")));
  }
  const std::string lines = read_file(folder.path() / "times.csv");
  EXPECT_THAT(lines, HasSubstr("ranks,rows,k,sub_vectors,algorithm,"));
  EXPECT_THAT(lines, HasSubstr("\n1,32768,100,7,heap,flat,0,0,2,"));
  EXPECT_THAT(lines, HasSubstr("\n4,32768,100,2,heap,tree,0,1,2,"));
}

TEST(MpiTopK, Table2IsPrintedBesideThePapers) {
  const TemporaryFolder folder;
  const std::string script = std::string(SKYRANK_SOURCE_DIR) + "/tools/mpi/table2.py";
  const Outcome outcome = run_program("python3",
                                      {script, "--program", SKYRANK_MPI_PROGRAM, "--gpus", "1,2", "--rows", "2^12",
                                       "--sub-vector", "2^11", "--algorithm", "heap", "--repeats", "1"},
                                      options_in(folder.path()));
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("paper: communication"));
  EXPECT_THAT(outcome.out, ContainsRegex("   2   2\\^12 .* yes "));
  const Outcome failed =
      run_program("python3", {script, "--program", "/missing", "--gpus", "1"}, options_in(folder.path()));
  EXPECT_EQ(failed.status, 2);
  EXPECT_THAT(failed.err, HasSubstr("table2: mpirun "));
}

}  // namespace
}  // namespace skyrank::testing
