#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <skyrank/error.hpp>

#include "tools/bench/data/grid.hpp"

namespace skyrank::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string error_of(const std::string& yaml) {
  try {
    parse_grid(yaml, "g.yaml");
  } catch (const QueryError& error) {
    return error.what();
  }
  return "no error";
}

std::vector<Cell> cells_of(const std::string& cell) {
  return parse_grid("version: 1\ncells:\n  - " + cell, "folder/some-grid.yaml").cells;
}

TEST(Grid, IsNamedAfterItsFile) {
  const Grid grid = parse_grid("version: 1\ncells: [{op: skyline, distribution: uniform, n: 5, d: 2}]", "a/some.yaml");
  EXPECT_EQ(grid.suite, "some");
}

TEST(Grid, ACellHasDefaults) {
  Cell expected;
  expected.op = Op::skyline;
  expected.distribution = "independent";
  expected.n = 1000;
  expected.d = 3;
  EXPECT_THAT(cells_of("{op: skyline, distribution: independent, n: 1000, d: 3}"), ElementsAre(expected));
  EXPECT_EQ(expected.type, Type::float32);
  EXPECT_EQ(expected.ties, kernels::TieRule::first);
}

TEST(Grid, ReadsEveryKey) {
  const std::vector<Cell> cells = cells_of(
      "{op: top-k, distribution: zipf, n: 50, d: 2, k: 7, type: uint16, ties: last, seed: 9, threads: 3, algorithms: "
      "sort, warmups: 0, repeats: 2, budget_s: 0.5, enough_s: 0.25}");
  Cell expected;
  expected.op = Op::topk;
  expected.distribution = "zipf";
  expected.n = 50;
  expected.d = 2;
  expected.k = 7;
  expected.type = Type::uint16;
  expected.ties = kernels::TieRule::last;
  expected.seed = 9;
  expected.threads = 3;
  expected.algorithms = {"sort"};
  expected.warmups = 0;
  expected.repeats = 2;
  expected.budget_s = 0.5;
  expected.enough_s = 0.25;
  EXPECT_THAT(cells, ElementsAre(expected));
}

TEST(Grid, KeysAreSentOrResident) {
  const auto residencies = [](const std::string& value) {
    std::vector<kernels::Memory> list;
    for (const Cell& cell : cells_of("{op: skyline, distribution: uniform, n: 5, d: 2, residency: " + value + "}")) {
      list.push_back(cell.residency);
    }
    return list;
  };
  EXPECT_THAT(residencies("[sent, resident]"), ElementsAre(kernels::Memory::host, kernels::Memory::device));
  EXPECT_THAT(residencies("resident"), ElementsAre(kernels::Memory::device));
}

TEST(Grid, ListsStandForAllCombinationsDataFirst) {
  std::vector<std::string> seen;
  for (const Cell& cell :
       cells_of("{threads: [1, 2], k: [1, n/10], op: top-k, n: [100, 200], distribution: [uniform, normal]}")) {
    seen.push_back(cell.distribution + " " + std::to_string(cell.n) + " " + std::to_string(cell.k) + " " +
                   std::to_string(cell.threads));
  }
  EXPECT_THAT(seen, ElementsAre("uniform 100 1 1", "uniform 100 1 2", "uniform 100 10 1", "uniform 100 10 2",
                                "uniform 200 1 1", "uniform 200 1 2", "uniform 200 20 1", "uniform 200 20 2",
                                "normal 100 1 1", "normal 100 1 2", "normal 100 10 1", "normal 100 10 2",
                                "normal 200 1 1", "normal 200 1 2", "normal 200 20 1", "normal 200 20 2"));
}

TEST(Grid, AShareOfNIsAtLeastOneRow) {
  EXPECT_EQ(cells_of("{op: top-k, distribution: uniform, n: 5, k: n/100}").front().k, 1);
  EXPECT_EQ(cells_of("{op: top-k, distribution: uniform, n: 5, k: n/1}").front().k, 5);
}

TEST(Grid, SaysWhatIsWrongWithTheDocument) {
  EXPECT_EQ(error_of(""), "g.yaml:1:1: the grid is empty; it needs the keys version and cells");
  EXPECT_EQ(error_of("version: 2\ncells: []"), "g.yaml:1:10: version 2 is not known; this program reads version 1");
  EXPECT_EQ(error_of("version: 1"), "g.yaml:1:1: a grid needs the key 'cells'");
  EXPECT_EQ(error_of("version: 1\ncell: []"),
            "g.yaml:2:1: a grid has no key 'cell'; did you mean 'cells'? (keys are version, cells)");
  EXPECT_EQ(error_of("version: 1\ncells: []"),
            "g.yaml:2:8: 'cells' is empty; it needs a list such as [{op: skyline, distribution: independent, n: "
            "100000, d: 8}]");
  EXPECT_EQ(error_of("version: 1\ncells: [5]"), "g.yaml:2:9: a cell needs a map (key: value), found '5'");
}

TEST(Grid, SaysWhatIsWrongWithACell) {
  const auto error = [](const std::string& cell) { return error_of("version: 1\ncells:\n  - {" + cell + "}"); };
  const std::string skyline = "op: skyline, distribution: uniform, n: 10, d: 2";
  const std::string topk = "op: top-k, distribution: uniform, n: 10, k: 1";
  EXPECT_EQ(error("n: 5"), "g.yaml:3:5: a cell needs the key 'op'");
  EXPECT_EQ(error("op: skyine"), "g.yaml:3:10: 'op' is one of skyline, top-k, found 'skyine'; did you mean 'skyline'?");
  EXPECT_EQ(error("op: skyline"), "g.yaml:3:5: a cell needs the key 'distribution'");
  EXPECT_EQ(error("op: skyline, distribution: uniform, n: 10"), "g.yaml:3:5: a cell needs the key 'd'");
  EXPECT_EQ(error("op: top-k, distribution: uniform, n: 10"), "g.yaml:3:5: a cell needs the key 'k'");
  EXPECT_EQ(error(skyline + ", k: 5"), "g.yaml:3:58: 'k' is for top-k, not for skylines");
  EXPECT_EQ(error(skyline + ", ties: all"), "g.yaml:3:61: 'ties' is for top-k, not for skylines");
  EXPECT_EQ(error(topk + ", k: 5"), "g.yaml:3:53: the key 'k' comes twice");
  EXPECT_EQ(error(skyline + ", thread: 5"), "g.yaml:3:55: a cell has no key 'thread'; did you mean 'threads'?");
  EXPECT_EQ(
      error("op: skyline, distribution: [uniform, skewed], n: 1, d: 1"),
      "g.yaml:3:43: 'distribution' is one of independent, correlated, anticorrelated, uniform, normal, increasing, "
      "decreasing, bucket-killer, crowded-bucket, all-equal, few-distinct, nan-heavy, zipf, found 'skewed'");
  EXPECT_EQ(error("op: skyline, distribution: uniform, n: 0, d: 1"), "g.yaml:3:45: 'n' must be at least 1, found 0");
  EXPECT_EQ(error("op: skyline, distribution: uniform, n: 1, d: 65"), "g.yaml:3:51: 'd' must be at most 64, found 65");
  EXPECT_EQ(error("op: top-k, distribution: uniform, n: 10, k: n/0"),
            "g.yaml:3:52: the divisor in 'k' must be at least 1, found 0");
  EXPECT_EQ(error("op: top-k, distribution: uniform, n: 10, k: 11"),
            "g.yaml:3:50: 'k' is 11, more than the 10 rows of 'n'");
  EXPECT_EQ(error(topk + ", type: int8"),
            "g.yaml:3:59: 'type' is one of float32, float64, uint8, uint16, uint32, uint64, found 'int8'; did you mean "
            "'uint8'?");
  EXPECT_EQ(error(topk + ", threads: 1025"), "g.yaml:3:62: 'threads' must be at most 1024, found 1025");
  EXPECT_EQ(error(topk + ", repeats: 0"), "g.yaml:3:62: 'repeats' must be at least 1, found 0");
  EXPECT_EQ(error(topk + ", budget_s: 0"), "g.yaml:3:63: 'budget_s' needs a number of seconds above 0, found '0'");
  EXPECT_EQ(error(topk + ", budget_s: soon"),
            "g.yaml:3:63: 'budget_s' needs a number of seconds above 0, found 'soon'");
  EXPECT_EQ(error(topk + ", where: 1.5"), "g.yaml:3:60: 'where' must be at most 1");
  EXPECT_EQ(error(topk + ", where: 0"), "g.yaml:3:60: 'where' needs a share above 0, found '0'");
  EXPECT_EQ(error(skyline + ", where: 0.5"), "g.yaml:3:62: 'where' is for top-k, not for skylines");
  EXPECT_EQ(error(topk + ", residency: pinned"), "g.yaml:3:64: 'residency' is one of sent, resident, found 'pinned'");
  EXPECT_EQ(error(topk + ", n: []"), "g.yaml:3:53: the key 'n' comes twice");
  EXPECT_EQ(error("op: top-k, distribution: [], n: 1, k: 1"),
            "g.yaml:3:31: 'distribution' is empty; it needs a list such as [a, b]");
}

TEST(Grid, ParametersAreCombined) {
  std::vector<std::string> seen;
  for (const Cell& cell :
       cells_of("{op: skyline, distribution: uniform, n: 9, d: 1, threads: [1, 2], algorithms: [sfs, "
                "salsa], parameters: {block: [7, 8]}}")) {
    seen.push_back(std::to_string(cell.threads) + " " + to_string(cell.parameters));
  }
  EXPECT_THAT(seen, ElementsAre("1 block=7", "1 block=8", "2 block=7", "2 block=8"));
  EXPECT_EQ(to_string(Parameters{}), "");
  EXPECT_EQ(to_string(Parameters{{"b", -2}, {"a", 1}}), "a=1 b=-2");
}

TEST(Grid, SaysWhatIsWrongWithParameters) {
  const auto error = [](const std::string& cell) {
    return error_of("version: 1\ncells:\n  - {op: skyline, distribution: uniform, n: 9, d: 1, " + cell + "}");
  };
  EXPECT_EQ(error("algorithms: sfs, parameters: {blocks: 7}"),
            "g.yaml:3:92: 'sfs': there is no parameter 'blocks'; did you mean 'block'?");
  EXPECT_EQ(error("algorithms: sfs, parameters: {block: [7, 0]}"),
            "g.yaml:3:95: 'sfs': parameter 'block' is 0, but must be from 1 to 1048576");
  EXPECT_EQ(error("parameters: {block: 0}"),
            "g.yaml:3:74: no algorithm of the cell takes this: parameter 'block' is 0, but must be from 1 to 1048576");
  EXPECT_EQ(error("algorithms: bnl, parameters: {block: 7}"), "g.yaml:3:91: 'bnl': there is no parameter 'block'");
  EXPECT_EQ(error("parameters: 7"), "g.yaml:3:66: 'parameters' needs a map (key: value), found '7'");
  EXPECT_EQ(error("algorithms: sfs, parameters: {block: wide}"),
            "g.yaml:3:91: 'block' needs a whole number, found 'wide'");
}

TEST(Grid, ReadsColumnsOfFiles) {
  Cell expected;
  expected.op = Op::topk;
  expected.file = "folder/scores.csv";
  expected.distribution = "scores.csv";
  expected.columns = {"score", "id"};
  expected.high = true;
  expected.d = 2;
  expected.n = 50;
  expected.k = 5;
  EXPECT_THAT(cells_of("{op: top-k, file: scores.csv, columns: [score, id], order: high, n: 50, k: n/10}"),
              ElementsAre(expected));
  EXPECT_EQ(cells_of("{op: skyline, file: /data/a.parquet, columns: x, n: 5}").front().file, "/data/a.parquet");
}

TEST(Grid, SaysWhatIsWrongWithFiles) {
  const auto error = [](const std::string& cell) {
    return error_of("version: 1\ncells:\n  - {op: top-k, " + cell + "}");
  };
  EXPECT_EQ(error("file: a.csv, n: 5, k: 1"), "g.yaml:3:5: a cell needs the key 'columns'");
  EXPECT_EQ(error("file: a.csv, columns: x, distribution: uniform, n: 5, k: 1"),
            "g.yaml:3:56: 'distribution' is for generated data, not for a file");
  EXPECT_EQ(error("file: a.csv, columns: x, type: uint8, n: 5, k: 1"),
            "g.yaml:3:48: 'type' is for generated data, not for a file");
  EXPECT_EQ(error("distribution: uniform, columns: x, n: 5, k: 1"),
            "g.yaml:3:49: 'columns' is for a file, and there is none");
  EXPECT_EQ(error("file: a.csv, columns: x, order: up, n: 5, k: 1"),
            "g.yaml:3:49: 'order' is one of low, high, found 'up'");
  EXPECT_EQ(error("distribution: uniform, seeds: all, n: 5, k: 1"),
            "g.yaml:3:47: 'seeds' is one of one, each_run, found 'all'");
  EXPECT_EQ(error("file: a.csv, columns: [], n: 5, k: 1"),
            "g.yaml:3:39: 'columns' is empty; it needs a list such as [a, b]");
}

TEST(Grid, GeneratedDataMayBeBestWhereGreatest) {
  const std::vector<Cell> cells =
      cells_of("{op: top-k, distribution: uniform, order: high, seeds: each_run, n: 50, k: 1}");
  ASSERT_EQ(cells.size(), 1U);
  EXPECT_TRUE(cells.front().high);
  EXPECT_TRUE(cells.front().seed_each_run);
}

TEST(Grid, AlgorithmsAreThoseOfTheProblem) {
  EXPECT_THAT(error_of("version: 1\ncells: [{op: top-k, distribution: uniform, n: 9, k: 1, algorithms: [srot]}]"),
              HasSubstr("did you mean 'sort'?"));
  EXPECT_THAT(error_of("version: 1\ncells: [{op: skyline, distribution: uniform, n: 9, d: 1, algorithms: sort}]"),
              HasSubstr("g.yaml:2:70: 'algorithms' is one of "));
}

TEST(Grid, HasALimit) {
  std::string hundred = "[1";
  for (int i = 2; i <= 101; ++i) hundred += ", " + std::to_string(i);
  hundred += "]";
  EXPECT_EQ(error_of("version: 1\ncells: [{op: skyline, distribution: uniform, n: " + hundred +
                     ", d: 1, seed: " + hundred + "}]"),
            "g.yaml:2:9: these are more than 10000 cells");
}

}  // namespace
}  // namespace skyrank::bench
