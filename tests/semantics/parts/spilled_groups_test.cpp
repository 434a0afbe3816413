#include "engine/parts/states/spilled_groups.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <skyrank/error.hpp>

#include "engine/operators/gather/gather.hpp"
#include "tests/semantics/expect_equal.hpp"
#include "tests/semantics/parts/parts.hpp"
#include "tests/semantics/parts/steps.hpp"
#include "tests/semantics/random_case.hpp"
#include "tests/semantics/tables.hpp"

// Groups that went to a temporary file give the answer that they give in memory.
namespace skyrank::exec {
namespace {

const EngineOptions kOptions{.threads = 2, .device = DeviceChoice::cpu, .profile = ""};

const Engine& engine() {
  static const Engine one(kOptions);
  return one;
}

/// Spills the groups of three parts of a table, in no order.
Result spilled(const Query& query, const Table& table) {
  const StateSteps steps = steps_of(query, table);
  const std::vector<Partial> parts = partials_of(engine(), query, table, {table.num_rows() / 3, table.num_rows() / 2});
  SpilledGroups groups(steps, table.num_rows(), parts[1], state().memory->limit());
  for (const std::size_t part : {2, 0, 1}) groups.sink(parts[part]);
  return groups.finalize();
}

/// Takes in the rows of parts of a table, in no order, and the groups of the part at `grouped`.
Result spilled_by_rows(const Query& query, const Table& input, std::int64_t part_rows, std::int64_t grouped = -1) {
  const Table table = keyed(query, input);
  const StateSteps steps = steps_of(query, input);
  const auto part_at = [&](std::int64_t begin) {
    std::vector<RowId> rows(static_cast<std::size_t>(std::min(part_rows, table.num_rows() - begin)));
    std::iota(rows.begin(), rows.end(), begin);
    return gather(table, rows);
  };
  SpilledGroups groups(steps, table.num_rows(), partial_of(steps, part_at(0), 0), state().memory->limit());
  const std::int64_t parts = (table.num_rows() + part_rows - 1) / part_rows;
  for (std::int64_t i = parts - 1; i >= 0; --i) {
    const std::int64_t begin = (i + parts / 2) % parts * part_rows;
    if (i == grouped) {
      groups.sink(partial_of(steps, part_at(begin), begin));
    } else {
      groups.sink(part_at(begin), begin);
    }
  }
  return groups.finalize();
}

void expect_same(const Query& query, const Table& table) {
  const Result expected = engine().run(query, table);
  expect_equal(spilled(query, table), expected);
  const std::int64_t third = std::max<std::int64_t>(1, table.num_rows() / 3);
  expect_equal(spilled_by_rows(query, table, third), expected);
  expect_equal(spilled_by_rows(query, table, third, 1), expected);
}

std::optional<std::string> error_of(const auto& f) {
  try {
    f();
  } catch (const DataError& error) {
    return error.message();
  }
  return std::nullopt;
}

/// Returns true if no row passes the condition of a case that has no error there.
bool has_no_group(const RandomCase& random) {
  std::optional<Partial> groups;
  const auto error = error_of([&] { groups = engine().partial(random.query, random.table, 0); });
  return !error && groups->rows().empty();
}

bool may_spill(const Query& query, const Table& table) {
  return may_spill_groups(query::bind_with_keys(query, table).query);
}

// Columns of all types, with NULL, NaN and both zeros; partitions within groups, ties, offsets and skylines.
TEST(SpilledGroups, AnswerRandomQueriesAsGroupsInMemory) {
  constexpr int kCases = 60;
  int cases = 0;
  for (std::uint64_t seed = 1; cases < kCases; ++seed) {
    const RandomCase random = random_case(seed);
    if (random.table.num_rows() < 4 || !may_spill(random.query, random.table)) continue;
    if (has_no_group(random)) continue;
    SCOPED_TRACE(seed);
    ++cases;
    if (error_of([&] { engine().run(random.query, random.table); })) {
      EXPECT_TRUE(error_of([&] { spilled(random.query, random.table); }));
      EXPECT_TRUE(error_of([&] { spilled_by_rows(random.query, random.table, random.table.num_rows() / 3); }));
    } else {
      expect_same(random.query, random.table);
    }
    if (::testing::Test::HasFailure()) return;
  }
}

/// Strings, numbers and NULLs, of which few rows share a group.
Table sales() {
  std::vector<std::string> shop;
  std::vector<bool> known;
  std::vector<double> price;
  std::vector<std::int64_t> sold;
  for (std::int64_t i = 0; i < 3000; ++i) {
    const std::int64_t number = i * 7919 % 1301;
    shop.push_back(std::string(static_cast<std::size_t>(number % 20), 'x') + std::to_string(number));
    known.push_back(number % 13 != 0);
    price.push_back(static_cast<double>(number) * 0.1 + (i % 3 == 0 ? 1e20 : i % 3 == 1 ? -1e20 : 1e-9));
    sold.push_back(i * 31 % 97 - 40);
  }
  return Table({Column::own("shop", shop, known), Column::own("price", std::move(price), known),
                Column::own("sold", std::move(sold))});
}

Query of_shops() {
  return Query::from("t").group_by({"shop"}).aggregate(
      {count("n"), sum("s", "price"), avg("m", "price"), min("low", "price"), max("high", "sold"), sum("all", "sold")});
}

TEST(SpilledGroups, KeepEveryAggregate) {
  for (const char* name : {"n", "s", "m", "low", "high", "all"}) {
    SCOPED_TRACE(name);
    expect_same(of_shops().rank_by({high(name)}).limit(40), sales());
    expect_same(of_shops().rank_by({low(name)}).limit(7).offset(3).ties(Ties::all), sales());
  }
  expect_same(of_shops().where("sold > 0").prefer({low("s"), high("high")}).select({"shop", "row", "m"}), sales());
  expect_same(of_shops().limit(5), sales());
  expect_same(
      Query::from("t").group_by({"length(shop)", "sold"}).aggregate({max("p", "price")}).rank_by({high("p")}).limit(9),
      sales());
  expect_same(Query::from("t")
                  .group_by({"sold", {"len", "length(shop)"}})
                  .aggregate({max("p", "price")})
                  .rank_by({low("len"), high("p")})
                  .limit(9),
              sales());
}

TEST(SpilledGroups, NameTheGroupOnWhichAQueryFails) {
  const Query query = of_shops().rank_by({low("1 / (high - 11)")}).limit(3);
  const auto expected = error_of([&] { engine().run(query, sales()); });
  ASSERT_TRUE(expected);
  EXPECT_EQ(error_of([&] { spilled(query, sales()); }), expected);
  EXPECT_EQ(error_of([&] { spilled_by_rows(query, sales(), 1000); }), expected);
}

// Half of the rows are of one group, and more than are grouped at a time; the others are of a group each.
TEST(SpilledGroups, GroupTheRowsOfALargeGroupPartByPart) {
  constexpr std::int64_t kRows = 200000;
  std::vector<std::int64_t> key;
  std::vector<std::int64_t> value;
  for (std::int64_t i = 0; i < kRows; ++i) {
    key.push_back(i % 2 == 0 ? -1 : i);
    value.push_back(i * 7919 % 1009);
  }
  const Table table({Column::own("key", std::move(key)), Column::own("x", std::move(value))});
  const Query query = Query::from("t").group_by({"key"}).aggregate(
      {count("n"), sum("s", "x"), avg("m", "x"), min("low", "x"), max("high", "x")});
  const Query first = Query(query).rank_by({high("n"), low("s")}).limit(20);
  expect_equal(spilled_by_rows(first, table, kRows / 8), engine().run(first, table));
  const Query passing = Query(query).where("x > 500").rank_by({high("s"), low("key")}).limit(20);
  expect_equal(spilled_by_rows(passing, table, kRows / 8), engine().run(passing, table));
}

TEST(SpilledGroups, NameTheGroupWhoseSumOverflows) {
  std::vector<std::optional<std::int64_t>> numbers(500, kMaxInt64);
  std::vector<std::optional<std::int64_t>> keys;
  for (std::int64_t i = 0; i < 500; ++i) keys.emplace_back(i < 100 ? i : i % 50 + 200);
  const Table table({ints("g", keys), ints("x", numbers)});
  const Query query = Query::from("t").group_by({"g"}).aggregate({sum("s", "x")}).rank_by({high("s")}).limit(3);
  const auto expected = error_of([&] { engine().run(query, table); });
  EXPECT_EQ(expected, "sum(x) overflows int64 in the group of row 100");
  EXPECT_EQ(error_of([&] { spilled(query, table); }), expected);
  EXPECT_EQ(error_of([&] { spilled_by_rows(query, table, 500); }), expected);
}

TEST(SpilledGroups, AreThoseOfWhichTheAnswerNeedsAFew) {
  EXPECT_TRUE(may_spill(of_shops().rank_by({low("n")}).limit(3), sales()));
  EXPECT_TRUE(may_spill(of_shops().prefer({low("n")}), sales()));
  EXPECT_FALSE(may_spill(of_shops().rank_by({low("n")}), sales()));
  EXPECT_FALSE(may_spill(Query::from("t").rank_by({low("sold")}).limit(3), sales()));
}

}  // namespace
}  // namespace skyrank::exec
