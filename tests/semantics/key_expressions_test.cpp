#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <skyrank/skyrank.hpp>

#include "tests/semantics/parts/parts.hpp"
#include "tests/semantics/random_case.hpp"
#include "tests/semantics/tables.hpp"

// Groups and partitions by expressions.
namespace skyrank {
namespace {

std::string text_of(const Result& result) {
  std::string text;
  for (const RowId row : result.rows) text += std::to_string(row) + " ";
  for (const Column& column : result.table.columns()) {
    text += "\n" + column.name() + " " + to_string(column.type()) + ":";
    for (std::int64_t i = 0; i < column.size(); ++i) {
      text += column.is_null(i) ? " NULL" : " " + to_string(column.value(i));
    }
  }
  return text;
}

template <class F>
std::string text_or_error(const F& answer) {
  try {
    return text_of(answer());
  } catch (const Error& error) {
    return "error: " + error.message();
  }
}

Table people() {
  return Table({Column::own("name", std::vector<std::string>{"Ann", "bob", "Bo", "ann", "Cy", ""},
                            {true, true, true, true, true, false}),
                ints("x", {5, 3, 9, 1, 7, 4}), ints("d", {1, 2, 0, 1, 2, 1})});
}

/// The same table, two rows a unit.
std::shared_ptr<const Source> in_units(const Table& table) {
  std::vector<SourceUnit> units(static_cast<std::size_t>(table.num_rows() / 2), SourceUnit{2});
  return unit_source(rows_of(table, 0, 0), units, [table](std::size_t unit, std::span<const int>) {
    const auto first = static_cast<RowId>(unit) * 2;
    return rows_of(table, first, first + 2);
  });
}

Result in_parts(const Engine& engine, const Query& query, const Table& table, RowId cut) {
  return engine.merge(query, {through_arrow(engine.partial(query, rows_of(table, cut, table.num_rows()), cut)),
                              engine.partial(query, rows_of(table, 0, cut), 0)});
}

/// Answers over the table, over a source, and in parts are all as expected.
void expect_answer(const Query& query, const Table& table, const std::string& expected) {
  const Engine engine({.threads = 2, .device = DeviceChoice::cpu});
  EXPECT_EQ(text_or_error([&] { return engine.run(query, table); }), expected);
  EXPECT_EQ(text_or_error([&] { return engine.run(query, *in_units(table)); }), expected);
  for (RowId cut = 0; cut <= table.num_rows(); ++cut) {
    EXPECT_EQ(text_or_error([&] { return in_parts(engine, query, table, cut); }), expected) << cut;
  }
}

TEST(KeyExpressions, PartitionsShowTheTablesColumnsAlone) {
  expect_answer(Query::from("t").partition_by({"lower(name)"}).rank_by({high("x")}).limit(1), people(),
                "0 1 2 4 5 \nrow int64: 0 1 2 4 5\nname string: Ann bob Bo Cy NULL\nx int64: 5 3 9 7 4\n"
                "d int64: 1 2 0 2 1");
  expect_answer(Query::from("t").partition_by({"length(name)", "d"}).prefer(low("x")).select({"x"}), people(),
                "3 1 2 4 5 \nx int64: 1 3 9 7 4");
}

TEST(KeyExpressions, GroupsHaveTheTextAsNameAndMeanItAfterwards) {
  expect_answer(Query::from("t")
                    .group_by({"length(name) % 2"})
                    .aggregate({count("n"), sum("s", "x")})
                    .rank_by({high("length(name) % 2 + 1")}),
                people(),
                "0 2 5 \nrow int64: 0 2 5\nlength(name) % 2 int64: 1 0 NULL\nn int64: 3 2 1\ns int64: 9 16 4");
  expect_answer(Query::from("t")
                    .group_by({"upper(name)", "d > 0"})
                    .aggregate({max("m", "x")})
                    .prefer(high("m"))
                    .partition_by({"d > 0"})
                    .select({SelectItem{"who", "lower(upper(name))"}, SelectItem{"m", "m"}}),
                people(), "4 2 \nwho string: cy bo\nm int64: 7 9");
}

TEST(KeyExpressions, FailOnlyForRowsThatPassTheCondition) {
  const Query query = Query::from("t").partition_by({"12 / d"}).rank_by({low("x")}).limit(1).select({"x"});
  expect_answer(Query(query).where("d != 0"), people(), "3 1 \nx int64: 1 3");
  const std::string error =
      "error: row 2: division of an integer by zero: 12 / 0; guard it with 'case when', or "
      "divide by a float (in '12 / d')";
  expect_answer(query, people(), error);
  expect_answer(Query::from("t").group_by({"12 / d"}).aggregate({count("n")}), people(), error);
  expect_answer(Query(query).where("12 / d > 0"), people(),
                "error: row 2: division of an integer by zero: 12 / 0; guard it with 'case when', or divide by a float "
                "(in '12 / d > 0')");
}

TEST(KeyExpressions, MistakesAreToldBeforeRowsThatFail) {
  const Engine engine;
  const auto error = [&](const Query& query, const Table& table) {
    return text_or_error([&] { return engine.run(query, table); });
  };
  const Query by_length = Query::from("t").group_by({"length(name)"}).aggregate({count("n")});
  EXPECT_EQ(error(Query(by_length).partition_by({"n % 2"}), people()),
            "error: 'partition_by' takes columns of the groups, not the expression n % 2; add it to 'group_by'");
  EXPECT_EQ(error(Query(by_length).rank_by({low("length(nam)")}), people()), "error: there is no column 'nam'");
  EXPECT_EQ(error(Query::from("t").partition_by({"1 / (d - d)"}).rank_by({low("y")}), people()),
            "error: there is no column 'y'");
  EXPECT_EQ(error(Query::from("t").group_by({"x + d"}), Table({ints("x", {1}), ints("d", {2}), ints("x + d", {3})})),
            "error: the table has a column named like the key x + d; put the name in backquotes to mean the column, or "
            "rename it");
  EXPECT_EQ(error(Query::from("t").group_by({"`x + d`"}), Table({ints("x + d", {3})})),
            "0 \nrow int64: 0\nx + d int64: 3");
}

/// A key that has the same values as the column.
Query with_expressions(const Query& query) {
  std::vector<Expression> keys;
  for (const Expression& key : query.partition_by()) keys.emplace_back("coalesce(" + key.text() + ", NULL)");
  return Query(query).partition_by(keys);
}

TEST(KeyExpressions, AnswerLikeColumnsOfTheSameValues) {
  const Engine engine({.threads = 2, .device = DeviceChoice::cpu});
  std::mt19937 random(1);
  int compared = 0;
  for (std::uint64_t seed = 0; seed < 600 && !HasFailure(); ++seed) {
    const RandomCase one = random_case(seed);
    const Query& query = one.query;
    if (query.partition_by().empty() || !query.group_by().empty() || query.ties() == Ties::any) continue;
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Query keyed = with_expressions(query);
    const std::string expected = text_or_error([&] { return engine.run(query, one.table); });
    EXPECT_EQ(text_or_error([&] { return engine.run(keyed, one.table); }), expected);
    const auto cut = static_cast<RowId>(random() % static_cast<std::uint64_t>(one.table.num_rows() + 1));
    EXPECT_EQ(text_or_error([&] { return in_parts(engine, keyed, one.table, cut); }), expected);
    ++compared;
  }
  EXPECT_GT(compared, 30);
}

}  // namespace
}  // namespace skyrank
