#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <skyrank/error.hpp>

#include "tests/semantics/parts/parts.hpp"
#include "tests/semantics/tables.hpp"

// Partial answers of queries with groups: a row a group, with the states of its aggregates.
namespace skyrank {
namespace {

Table sales() {
  return Table({Column::own("shop", std::vector<std::string>{"b", "a", "b", "a", "c"}),
                Column::own("price", std::vector<double>{1e100, 2.5, 1, 0.5, 3}, {true, true, true, true, false}),
                ints("sold", {4, kMaxInt64, 7, 1, std::nullopt})});
}

Query of_shops() {
  return Query::from("t").group_by({"shop"}).aggregate(
      {count("n"), sum("s", "price"), avg("m", "price"), min("low", "price"), max("high", "sold")});
}

TEST(PartsGroups, KeepARowForEachGroup) {
  const Partial part = sequential_engine().partial(of_shops(), sales(), 10);
  EXPECT_EQ(part.rows(), (std::vector<RowId>{10, 11, 14}));
  const Table& columns = part.columns();
  EXPECT_EQ(columns.column("state.0.count").value(0), Value(std::int64_t{2}));
  EXPECT_EQ(columns.column("state.1.count").value(2), Value(std::int64_t{0}));
  EXPECT_EQ(columns.column("state.1.sum").value(1), Value(std::string("3p0")));
  EXPECT_EQ(columns.column("state.3.row").value(0), Value(std::int64_t{12}));
  EXPECT_EQ(columns.column("state.3.value").value(0), Value(1.0));
  EXPECT_TRUE(columns.column("state.3.row").is_null(2));
  EXPECT_TRUE(columns.column("state.3.value").is_null(2));
  EXPECT_EQ(columns.column("state.4.value").value(1), Value(kMaxInt64));
}

/// The columns of a table as texts.
std::string text_of(const Table& table) {
  std::string text;
  for (const Column& column : table.columns()) {
    text += column.name() + ":";
    for (std::int64_t i = 0; i < column.size(); ++i) text += " " + to_string(column.value(i));
    text += "\n";
  }
  return text;
}

void expect_law(const Query& query, const Table& table) {
  const Result expected = sequential_engine().run(query, table);
  for (RowId first = 0; first <= table.num_rows(); ++first) {
    for (RowId second = first; second <= table.num_rows(); ++second) {
      std::vector<Partial> parts;
      for (const Partial& part : partials_of(sequential_engine(), query, table, {first, second})) {
        parts.push_back(through_arrow(part));
      }
      const Partial ends = sequential_engine().merge_partials(query, {parts[2], parts[0]});
      const Result found = sequential_engine().merge(query, {ends, parts[1]});
      EXPECT_EQ(found.rows, expected.rows) << first << " " << second;
      EXPECT_EQ(text_of(found.table), text_of(expected.table)) << first << " " << second;
    }
  }
}

TEST(PartsGroups, MergeInAnySplit) {
  expect_law(of_shops(), sales());
  expect_law(of_shops().where("sold < 100").rank_by({high("s")}).limit(1), sales());
  expect_law(of_shops().prefer({low("n"), high("high")}).select({"shop", "row", "level"}), sales());
}

TEST(PartsGroups, OfAllRowsMergeInAnySplit) {
  const Query query = Query::from("t").aggregate(
      {count("n"), sum("s", "price"), min("low", "sold"), min("first", "shop"), max("last", "shop")});
  expect_law(query, sales());
  expect_law(Query(query).where("sold < 100"), sales());
  expect_law(Query(query).where("sold < 100 and sold > 200"), sales());
  expect_law(Query(query).having("n > 100"), sales());
  expect_law(of_shops().having("n > 1 and s > 0").rank_by({high("s")}).limit(1), sales());
}

TEST(PartsGroups, SumsOfFloatsDoNotDependOnTheSplit) {
  const Table table({ints("g", {1, 1, 1, 1, 1}), floats("x", {1e100, 1, 1e-20, -1e100, 0.1})});
  expect_law(Query::from("t").group_by({"g"}).aggregate({sum("s", "x"), avg("m", "x")}), table);
}

TEST(PartsGroups, SumsOfAPartMayExceedTheirType) {
  const Table table({ints("g", {1, 1, 1}), ints("x", {kMaxInt64, kMaxInt64, -kMaxInt64})});
  expect_law(Query::from("t").group_by({"g"}).aggregate({sum("s", "x"), avg("m", "x"), sum("d", "x / 2")}), table);
}

// The first of equal values counts, though its part is merged last, and its group began in another part.
TEST(PartsGroups, ExtremesAreThoseOfTheFirstRow) {
  const Table table({ints("g", {1, 2, 1, 2, 1}), floats("x", {3, 1, -0.0, 5, 0.0})});
  expect_law(Query::from("t").group_by({"g"}).aggregate({min("l", "x"), max("h", "0 - x")}), table);
}

TEST(PartsGroups, NameStatesApartFromColumns) {
  const Table table({ints("state.0.count", {1, 1, 2}), ints("x", {1, 2, 3})});
  const Query query = Query::from("t").group_by({"`state.0.count`"}).aggregate({count("n"), sum("s", "x")});
  EXPECT_TRUE(sequential_engine().partial(query, table, 0).columns().find("state_.0.count"));
  expect_law(query, table);
}

/// Expects that merging refuses a partial answer with another column in one place, with all the words in its message.
void expect_refused(const std::string& place, const Column& other, const std::vector<std::string>& words) {
  const Partial part = sequential_engine().partial(of_shops(), sales(), 0);
  std::vector<Column> columns = part.columns().columns();
  columns.at(static_cast<std::size_t>(*part.columns().find(place))) = other;
  const Partial damaged(part.fingerprint(), part.covers(), part.rows(), Table(std::move(columns)));
  for (const bool whole : {true, false}) {
    try {
      whole ? static_cast<void>(sequential_engine().merge(of_shops(), {damaged}))
            : static_cast<void>(sequential_engine().merge_partials(of_shops(), {damaged}));
      ADD_FAILURE() << "no error";
    } catch (const DataError& error) {
      for (const std::string& word : words) {
        EXPECT_NE(error.message().find(word), std::string::npos) << "no '" << word << "' in: " << error.message();
      }
    }
  }
}

TEST(PartsGroups, RefuseDamagedStates) {
  expect_refused("state.0.count", ints("state.0.count", {1, -1, 1}), {"'state.0.count' in row 1", "0 to 2^60"});
  expect_refused("state.0.count", ints("state.0.count", {1, std::nullopt, 1}), {"'state.0.count' in row 1"});
  expect_refused("state.0.count", ints("state.0.count", {1, 1, kMaxInt64}), {"'state.0.count' in row 2"});
  expect_refused("state.0.count", floats("state.0.count", {1, 1, 1}), {"(float64)", "'state.0.count' (int64)"});
  expect_refused("state.0.count", ints("other", {1, 1, 1}), {"'other'", "'state.0.count'"});
  for (const char* text : {"", "1", "1p-2000", "1p2000", "gp0", "1p0x", "--1p0"}) {
    expect_refused("state.1.sum", Column::own("state.1.sum", std::vector<std::string>{"0", "0", text}),
                   {"'state.1.sum' in row 2", "no sum"});
  }
  expect_refused("state.3.row", ints("state.3.row", {0, std::nullopt, std::nullopt}),
                 {"'state.3.row' in row 1", "'state.3.value'"});
  expect_refused("state.3.row", ints("state.3.row", {-1, 1, std::nullopt}), {"'state.3.row' in row 0"});
  expect_refused("state.3.row", ints("state.3.row", {2, 0, std::nullopt}), {"'state.3.row' in row 1", "of the group"});
}

TEST(PartsGroups, RefuseMoreValuesThanAnyTableHas) {
  const Query query = Query::from("t").group_by({"g"}).aggregate({count("n")});
  std::vector<Partial> parts;
  for (RowId row = 0; row < 9; ++row) {
    const Table states({ints("g", {1}), ints("state.0.count", {std::int64_t{1} << 60})});
    parts.emplace_back(fingerprint_of(query), std::vector<RowRange>{{row, row + 1}}, std::vector<RowId>{row}, states);
  }
  EXPECT_THROW(sequential_engine().merge(query, parts), DataError);
  EXPECT_THROW(sequential_engine().merge_partials(query, parts), DataError);
}

TEST(PartsGroups, RefuseSumsThatAreTooLargeForTheirCount) {
  const Query query = Query::from("t").group_by({"g"}).aggregate({sum("s", "x")});
  const Partial part = sequential_engine().partial(query, Table({ints("g", {1}), ints("x", {1})}), 0);
  const auto merge = [&](std::int64_t count, const std::string& text) {
    const Table table({part.columns().column("g"), part.columns().column("x"), ints("state.0.count", {count}),
                       Column::own("state.0.sum", std::vector<std::string>{text})});
    return sequential_engine().merge(query, {Partial(part.fingerprint(), part.covers(), part.rows(), table)});
  };
  EXPECT_EQ(merge(3, "-1f").table.column("s").value(0), Value(std::int64_t{-31}));
  EXPECT_THROW(merge(3, std::string(33, 'f')), DataError);
  EXPECT_THROW(merge(3, std::string(47, 'f')), DataError);
  EXPECT_THROW(merge(3, std::string(48, 'f')), DataError);
  EXPECT_THROW(merge(3, "8000000000000000"), DataError);
}

TEST(PartsGroups, RefusePartialAnswersWithoutStates) {
  const Query query = Query::from("t").group_by({"g"}).aggregate({sum("s", "x")});
  const Table rows({ints("g", {1}), ints("x", {1})});
  EXPECT_THROW(sequential_engine().merge(query, {Partial(fingerprint_of(query), {{0, 1}}, {0}, rows)}), DataError);
}

}  // namespace
}  // namespace skyrank
