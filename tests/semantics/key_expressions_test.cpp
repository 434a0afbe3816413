#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
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

/// The same of sources, of the first unit and the others.
Result in_parts_of_source(const Engine& engine, const Query& query, const Table& table) {
  const auto source = in_units(table);
  const std::size_t units = source->units().size();
  return engine.merge(query, {through_arrow(engine.partial(query, *unit_range(source, 1, units), 2)),
                              engine.partial(query, *unit_range(source, 0, 1), 0)});
}

/// Answers over the table, over a source, and in parts are all as expected.
void expect_answer(const Query& query, const Table& table, const std::string& expected) {
  const Engine engine({.threads = 2, .device = DeviceChoice::cpu});
  EXPECT_EQ(text_or_error([&] { return engine.run(query, table); }), expected);
  EXPECT_EQ(text_or_error([&] { return engine.run(query, *in_units(table)); }), expected);
  EXPECT_EQ(text_or_error([&] { return in_parts_of_source(engine, query, table); }), expected);
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

TEST(KeyExpressions, GroupsHaveTheNamesThatTheyAreGiven) {
  const Query by_length =
      Query::from("t").group_by({{"len", "length(name)"}}).aggregate({count("n"), max("most", "x")});
  expect_answer(Query(by_length).rank_by({high("len")}), people(),
                "0 2 5 \nrow int64: 0 2 5\nlen int64: 3 2 NULL\nn int64: 3 2 1\nmost int64: 5 9 4");
  expect_answer(Query(by_length)
                    .rank_by({low("length(name) * 2")})
                    .select({SelectItem{"twice", "length(name) * 2"}, SelectItem{"len", "len"}}),
                people(), "2 0 5 \ntwice int64: 4 6 NULL\nlen int64: 2 3 NULL");
  expect_answer(Query(by_length).prefer({low("len"), low("most")}), people(),
                "0 2 5 \nrow int64: 0 2 5\nlen int64: 3 2 NULL\nn int64: 3 2 1\nmost int64: 5 9 4");
  expect_answer(Query::from("t")
                    .group_by({"d", {"long", "length(name) > 2"}})
                    .aggregate({count("n")})
                    .partition_by({"long"})
                    .rank_by({high("n")})
                    .limit(1),
                people(), "0 2 5 \nrow int64: 0 2 5\nd int64: 1 0 1\nlong bool: true false NULL\nn int64: 2 1 1");
}

TEST(KeyExpressions, PartitionsShowNamedKeysAsColumns) {
  const Query by_length = Query::from("t").partition_by({{"len", "length(name)"}});
  expect_answer(Query(by_length).rank_by({high("x")}).limit(1), people(),
                "0 2 5 \nrow int64: 0 2 5\nname string: Ann Bo NULL\nx int64: 5 9 4\nd int64: 1 0 1\n"
                "len int64: 3 2 NULL");
  expect_answer(Query(by_length).prefer(low("x * len")).select({"len", "x"}), people(),
                "3 4 5 \nlen int64: 3 2 NULL\nx int64: 1 7 4");
}

TEST(KeyExpressions, ColumnsMayHaveAnotherName) {
  const std::string by_day = "1 0 2 \nrow int64: 1 0 2\nday int64: 2 1 0\nn int64: 2 3 1";
  const Query days = Query::from("t").group_by({{"day", "d"}}).aggregate({count("n")});
  expect_answer(Query(days).rank_by({high("day")}), people(), by_day);
  expect_answer(Query(days).rank_by({high("d")}), people(), by_day);
  expect_answer(Query::from("t").group_by({"d", {"day", "d"}}).rank_by({high("d + day")}).limit(1), people(),
                "1 \nrow int64: 1\nd int64: 2\nday int64: 2");
  expect_answer(Query::from("t").partition_by({{"day", "d"}}).rank_by({low("x")}).limit(1).select({"d", "day"}),
                people(), "3 1 2 \nd int64: 1 2 0\nday int64: 1 2 0");
}

TEST(KeyExpressions, AreColumnsWhoseNamesAreTheirTexts) {
  const Table table({ints("x", {1, 5, 2, 4}), ints("d", {2, 1, 1, 2}), ints("x + d", {7, 7, 8, 8})});
  expect_answer(Query::from("t").partition_by({"x + d"}).rank_by({low("x")}).limit(1), table,
                "0 2 \nrow int64: 0 2\nx int64: 1 2\nd int64: 2 1\nx + d int64: 7 8");
  expect_answer(Query::from("t").group_by({"x + d"}).aggregate({sum("s", "x")}), table,
                "0 2 \nrow int64: 0 2\nx + d int64: 7 8\ns int64: 6 6");
  expect_answer(Query::from("t").partition_by({{"k", "x + d"}}).rank_by({low("x")}).limit(1).select({"k"}), table,
                "0 2 \nk int64: 7 8");
  expect_answer(Query::from("t").prefer(low("x + d")).select({"x + d"}), table, "0 1 \nx + d int64: 7 7");
  expect_answer(Query::from("t").prefer(high("x + d")).select({"d"}), table, "2 3 \nd int64: 1 2");
}

TEST(KeyExpressions, MeetColumnsThatTheirTextsName) {
  const Table table({ints("x", {1, 5, 2}), ints("d", {2, 1, 1}), ints("x+d", {7, 7, 8})});
  const Query query = Query::from("t").rank_by({low("x")}).limit(1);
  expect_answer(Query(query).select({"x+d"}), table, "0 \nx+d int64: 7");
  expect_answer(Query(query).select({{"sum", "x + d"}, {"column", "x+d"}}), table, "0 \nsum int64: 3\ncolumn int64: 7");
  expect_answer(Query(query).select({"x+d", "`x+d`"}), table, "error: 'select' names 'x+d' twice");
  expect_answer(Query::from("t").group_by({"x+d", "`x+d`"}), table, "error: 'group_by' names 'x+d' twice");
  expect_answer(Query::from("t").group_by({"x+d"}).aggregate({count("x+d")}), table,
                "error: the aggregate 'x+d' has the name of a column of 'group_by', which the answer has too; name it "
                "otherwise, such as 'total_x+d'");
}

TEST(KeyExpressions, OfMissingValuesAreKeysLikeThoseOfColumns) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Table table(
      {Column::own("v", std::vector<double>{nan, 0.0, -0.0, 1.0, nan, 2.0}, {true, true, true, true, true, false})});
  const Query groups = Query::from("t").group_by({{"half", "v / 2"}}).aggregate({count("n")});
  expect_answer(groups, table, "0 1 3 5 \nrow int64: 0 1 3 5\nhalf float64: nan 0 0.5 NULL\nn int64: 2 2 1 1");
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
            "0 \nrow int64: 0\nx + d int64: 3");
  EXPECT_EQ(error(Query::from("t").group_by({{"x", "length(name)"}}), people()),
            "error: the table has a column 'x' already; name the key length(name) otherwise");
  EXPECT_EQ(error(Query::from("t").group_by({{"len", "length(nme)"}}), people()),
            "error: there is no column 'nme'; did you mean 'name'?");
  const Query named = Query::from("t").group_by({{"len", "length(name)"}});
  EXPECT_EQ(error(Query(named).where("len > 2"), people()),
            "error: there is no column 'len'; if it is a text, write 'len' in quotes");
  EXPECT_EQ(error(Query(named).rank_by({low("le")}), people()), "error: there is no column 'le'; did you mean 'len'?");
  EXPECT_EQ(error(Query(named).partition_by({{"size", "len"}}), people()),
            "error: 'partition_by' takes columns of the groups by their names, not the column len as size; name it in "
            "'group_by'");
  EXPECT_EQ(error(Query::from("t").group_by({"d", {"d", "x"}}), people()), "error: 'group_by' names 'd' twice");
  EXPECT_EQ(error(Query::from("t").group_by({"`x + d`"}), Table({ints("x + d", {3})})),
            "0 \nrow int64: 0\nx + d int64: 3");
}

/// A key that has the same values as the column.
Query with_expressions(const Query& query) {
  std::vector<GroupKey> keys;
  for (const GroupKey& key : query.partition_by()) {
    keys.emplace_back("coalesce(" + key.expression.text() + ", NULL)");
  }
  return Query(query).partition_by(keys);
}

TEST(KeyExpressions, AnswerLikeColumnsOfTheSameValues) {
  const Engine engine({.threads = 2, .device = DeviceChoice::cpu});
  std::mt19937 random(1);
  int compared = 0;
  for (std::uint64_t seed = 0; seed < 600 && !HasFailure(); ++seed) {
    const RandomCase one = random_case(seed);
    const Query& query = one.query;
    const bool by_columns = std::ranges::all_of(query.partition_by(), &GroupKey::is_column);
    if (!by_columns || query.partition_by().empty() || !query.group_by().empty()) continue;
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
