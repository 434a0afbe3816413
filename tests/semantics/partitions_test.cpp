#include <gtest/gtest.h>

#include <numeric>

#include "tests/build.hpp"
#include "tests/semantics/paths.hpp"
#include "tests/semantics/tables.hpp"

// Tests "Groups and partitions" of engine/docs/meaning.md.
namespace skyrank {
namespace {

/// Partitions by `p`: b (rows 0, 2, 5), a (rows 1, 4), c (row 3).
Table cities() {
  return Table(
      {strings("p", {"b", "a", "b", "c", "a", "b"}), ints("x", {3, 1, 2, 9, 1, 2}), ints("y", {1, 1, 2, 9, 1, 2})});
}

TEST(Partitions, ComeInOrderOfTheirFirstRows) {
  expect_rows(from().prefer(low("x")).partition_by({"p"}), cities(), {2, 5, 1, 4, 3});
  expect_rows(from().prefer({low("x"), low("y")}).partition_by({"p"}), cities(), {0, 2, 5, 1, 4, 3});
}

TEST(Partitions, AreRankedWithin) {
  expect_rows(from().rank_by({high("x")}).partition_by({"p"}), cities(), {0, 2, 5, 1, 4, 3});
  expect_rows(from().rank_by({low("x")}).partition_by({"p"}), cities(), {2, 5, 0, 1, 4, 3});
}

TEST(Partitions, OffsetLimitAndTiesApplyWithin) {
  const auto page = [](std::int64_t offset, std::int64_t limit, Ties ties) {
    return from().rank_by({low("x")}).partition_by({"p"}).offset(offset).limit(limit).ties(ties);
  };
  expect_rows(page(0, 1, Ties::first), cities(), {2, 1, 3});
  expect_rows(page(0, 1, Ties::last), cities(), {5, 4, 3});
  expect_rows(page(0, 1, Ties::all), cities(), {2, 5, 1, 4, 3});
  expect_rows(page(1, 1, Ties::first), cities(), {5, 4});
  expect_rows(page(2, 1, Ties::first), cities(), {0});
  expect_rows(page(0, 0, Ties::all), cities(), {});
}

TEST(Partitions, LimitWithoutRanking) {
  expect_rows(from().prefer({low("x"), low("y")}).partition_by({"p"}).limit(1), cities(), {0, 1, 3});
  expect_rows(from().prefer({low("x"), low("y")}).partition_by({"p"}).offset(1), cities(), {2, 5, 4});
}

TEST(Partitions, LevelsAtLeastAndDistinctApplyWithin) {
  expect_levels(from().prefer(low("x")).partition_by({"p"}).levels(2), cities(),
                {{0, 2}, {2, 1}, {5, 1}, {1, 1}, {4, 1}, {3, 1}});
  expect_rows(from().prefer(low("x")).partition_by({"p"}).at_least(3), cities(), {0, 2, 5, 1, 4, 3});
  expect_rows(from().prefer(low("x")).partition_by({"p"}).distinct(true), cities(), {2, 1, 3});
  expect_rows(from().prefer(low("x")).partition_by({"p"}).distinct(true).at_least(2), cities(), {0, 2, 1, 3});
  expect_rows(from().prefer(low("x")).partition_by({"p"}).at_least(0), cities(), {});
}

TEST(Partitions, ARankedSkylineOfEach) {
  expect_rows(from().prefer({low("x"), low("y")}).partition_by({"p"}).rank_by({low("x")}).limit(2), cities(),
              {2, 5, 1, 4, 3});
}

TEST(Partitions, TheFilterDecidesWhichRowIsFirst) {
  expect_rows(from().where("y > 1").prefer(low("x")).partition_by({"p"}), cities(), {2, 5, 3});
  expect_rows(from().where("row_number > 0").prefer(low("x")).partition_by({"p"}),
              Table({strings("p", {"b", "a", "b"}), ints("x", {1, 1, 1}), ints("row_number", {0, 1, 2})}), {1, 2});
}

TEST(Partitions, NullsNaNsAndZerosAreOneEach) {
  const Table table({floats("p", {kNaN, std::nullopt, 0.0, -kNaN, -0.0, std::nullopt}), ints("x", {2, 2, 2, 1, 1, 1})});
  expect_rows(from().prefer(low("x")).partition_by({"p"}), table, {3, 5, 4});
}

TEST(Partitions, BySeveralColumnsOfAnyType) {
  const Table table({Column::own("f", std::vector<bool>{true, false, true, true}), strings("s", {"x", "x", "x", "y"}),
                     Column::own<Date>("d", {{1}, {1}, {1}, {1}}), ints("x", {2, 2, 1, 3})});
  expect_rows(from().prefer(low("x")).partition_by({"f", "s", "d"}), table, {2, 1, 3});
}

TEST(Partitions, PriorWithinPartitions) {
  const Table table({strings("p", {"a", "b", "a", "b", "a"}), ints("x", {1, 1, 1, 1, 0}), ints("y", {1, 1, 1, 1, 2}),
                     ints("z", {5, 6, 4, 5, 9})});
  expect_reference(from().prefer(prior({pareto({low("x"), low("y")}), low("z")})).partition_by({"p"}), table);
  expect_reference(from().prefer(prior({pareto({low("x"), low("y")}), low("z")})).partition_by({"p"}).levels(2), table);
}

TEST(Partitions, ManyOfOneRow) {
  std::vector<std::int64_t> ids(tests::kEmulated ? 4'000 : tests::kSanitized ? 10'000 : 100'000);
  std::iota(ids.begin(), ids.end(), 0);
  const Table table({Column::own("p", ids), Column::own("x", std::vector<std::int64_t>(ids.rbegin(), ids.rend()))});
  expect_rows(from().prefer({low("x"), high("x")}).partition_by({"p"}), table, ids);
  expect_rows(from().rank_by({low("x")}).partition_by({"p"}).limit(1), table, ids);
}

TEST(Partitions, ManyOfFewRows) {
  // A GPU takes them one after the other, in tens of microseconds each, and an emulated one in milliseconds.
  const std::int64_t partitions = tests::kEmulated ? 50 : has_gpu() ? 200 : tests::kSanitized ? 5'000 : 20'000;
  std::vector<std::int64_t> partition;
  std::vector<std::int64_t> x;
  std::vector<RowId> best;
  for (std::int64_t i = 0; i < 3 * partitions; ++i) {
    partition.push_back(i % partitions);
    x.push_back(i < partitions ? 2 : i < 2 * partitions ? 1 : 3);
  }
  for (std::int64_t i = partitions; i < 2 * partitions; ++i) best.push_back(i);
  const Table table({Column::own("p", partition), Column::own("x", x)});
  expect_rows(from().prefer(low("x")).partition_by({"p"}), table, best);
  expect_rows(from().rank_by({low("x")}).partition_by({"p"}).limit(1), table, best);
}

}  // namespace
}  // namespace skyrank
