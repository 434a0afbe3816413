#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/decimal.hpp"
#include "tests/semantics/paths.hpp"
#include "tests/semantics/tables.hpp"

// Tests that decimals are exact: "Values" of engine/docs/meaning.md.
namespace skyrank {
namespace {

/// A column of decimals by their texts; NULL for what is absent.
Column decimals(std::string name, int digits, int scale, const std::vector<std::optional<std::string>>& cells) {
  const DataType type = DataType::decimal(digits, scale);
  std::vector<Int128> values;
  std::vector<bool> valid;
  for (const auto& cell : cells) {
    values.push_back(cell ? rescaled(parse_decimal(*cell).value(), scale).value() : 0);
    valid.push_back(cell.has_value());
  }
  if (type.type == Type::decimal128) return Column::own_as(std::move(name), type, std::move(values), valid);
  return Column::own_as(std::move(name), type, std::vector<std::int64_t>(values.begin(), values.end()), valid);
}

Query all() { return Query::from("t"); }
Query all_ranked_by(RankTerm term) { return all().rank_by({std::move(term)}); }
Query kept_by(const std::string& condition) { return all().where(Expression(condition)).rank_by({low("row_number")}); }

/// Two tables of the same values: in 64 and in 128 bits.
std::vector<Table> tables(const std::vector<std::optional<std::string>>& cells) {
  std::vector<std::int64_t> numbers;
  for (std::size_t i = 0; i < cells.size(); ++i) numbers.push_back(static_cast<std::int64_t>(i));
  std::vector<Table> result;
  for (const int digits : {12, 30}) {
    result.emplace_back(std::vector<Column>{decimals("a", digits, 2, cells), Column::own("row_number", numbers)});
  }
  return result;
}

/// The texts of a column of the answer, which every path gives alike.
std::vector<std::string> texts(const Query& query, const Table& table, const std::string& column) {
  std::vector<std::string> result;
  bool first = true;
  for (const Path& path : paths(query, table)) {
    const Result answer = run(query, table, path);
    std::vector<std::string> cells;
    const Column& values = answer.table.column(column);
    for (std::int64_t row = 0; row < values.size(); ++row) {
      cells.push_back(values.is_null(row) ? "NULL" : to_string(values.value(row)));
    }
    if (!first) {
      EXPECT_EQ(cells, result) << path.name;
    }
    result = cells;
    first = false;
  }
  return result;
}

std::vector<std::string> values_of(const std::string& expression, const Table& table) {
  return texts(all().rank_by({low("row_number")}).select({{"x", Expression(expression)}}), table, "x");
}

using Texts = std::vector<std::string>;

const std::vector<std::optional<std::string>> kPrices = {"12.30", "0.05", std::nullopt, "-7.00", "100.00", "12.30"};

TEST(Decimals, OrderByValueAndPrintAllDigits) {
  for (const Table& table : tables(kPrices)) {
    expect_rows(all_ranked_by(low("a")), table, {3, 1, 0, 5, 4, 2});
    expect_rows(all_ranked_by(high("a")), table, {4, 0, 5, 1, 3, 2});
    expect_rows(all_ranked_by(low("a")).limit(2), table, {3, 1});
    expect_rows(all().prefer(low("a")), table, {3});
    expect_rows(all().prefer(high("a")), table, {4});
    EXPECT_EQ(values_of("a", table), (Texts{"12.30", "0.05", "NULL", "-7.00", "100.00", "12.30"}));
  }
}

TEST(Decimals, ALiteralIsTheDecimalThatItsTextSays) {
  for (const Table& table : tables(kPrices)) {
    expect_rows(kept_by("a = 12.30"), table, {0, 5});
    expect_rows(kept_by("12.3 = a"), table, {0, 5});
    expect_rows(kept_by("a = 0.05"), table, {1});
    expect_rows(kept_by("a != 12.3"), table, {1, 3, 4});
    expect_rows(kept_by("a <= 12.3"), table, {0, 1, 3, 5});
    expect_rows(kept_by("a < 12.3000000000000000001"), table, {0, 1, 3, 5});
    expect_rows(kept_by("a < 12.3"), table, {1, 3});
    expect_rows(kept_by("a = -7"), table, {3});
    expect_rows(kept_by("a >= -7.0 and a < 1e2"), table, {0, 1, 3, 5});
    expect_rows(kept_by("a < 1e300"), table, {0, 1, 3, 4, 5});
    expect_rows(kept_by("a in [0.05, 12.3, 55.555]"), table, {0, 1, 5});
    expect_rows(kept_by("a not in [0.05, 12.3]"), table, {3, 4});
    expect_rows(kept_by("a between 0.05 and 12.3"), table, {0, 1, 5});
    expect_rows(kept_by("a is null"), table, {2});
  }
}

TEST(Decimals, DigitsThatAFloatLosesCount) {
  const Table table({decimals("a", 38, 18, {"12345678901234567.890000000000000001", "12345678901234567.89"}),
                     ints("row_number", {0, 1})});
  expect_rows(kept_by("a = 12345678901234567.890000000000000001"), table, {0});
  expect_rows(kept_by("a = 12345678901234567.89"), table, {1});
  expect_rows(all().prefer(around("a", Decimal{Int128{123456789012345678} * 10 + 9, 2})), table, {1});
}

TEST(Decimals, CompareWithOtherNumbersByValue) {
  const Table table({decimals("a", 10, 2, {"1.00", "0.10", "2.50", "-1.00", "3.01"}),
                     decimals("b", 38, 5, {"1.00001", "0.10000", "2.50000", "-2.00000", "3.01000"}),
                     ints("i", {1, 0, 3, -1, 3}), floats("f", {1, 0.1, 2.5, kNaN, kInfinity}),
                     Column::own<std::uint64_t>("u", {1, kMaxUint64, 2, 1, 3}), ints("row_number", {0, 1, 2, 3, 4})});
  expect_rows(kept_by("a = b"), table, {1, 2, 4});
  expect_rows(kept_by("a < b"), table, {0});
  expect_rows(kept_by("a = i"), table, {0, 3});
  expect_rows(kept_by("a > i"), table, {1, 4});
  expect_rows(kept_by("a = f"), table, {0, 2});  // the float64 nearest to 0.1 is no decimal of one digit
  expect_rows(kept_by("a < f"), table, {1, 4});
  expect_rows(kept_by("u > a"), table, {1, 3});
  expect_rows(kept_by("a in [b, i]"), table, {0, 1, 2, 3, 4});
  expect_rows(kept_by("a between i and f"), table, {0, 1, 4});
}

TEST(Decimals, DistancesAreExact) {
  for (const Table& table : tables({"1.00", "1.10", "1.20", std::nullopt, "1.15", "9.99"})) {
    expect_rows(all().prefer(around("a", 1.1)), table, {1});
    // 1.15 lies midway between 1.10 and 1.20 as a decimal, not as a float64.
    expect_levels(all().prefer(around("a", 1.15)).levels(2), table, {{1, 2}, {2, 2}, {4, 1}});
    expect_levels(all().prefer(around("a", 1.1501)).levels(3), table, {{1, 3}, {2, 2}, {4, 1}});
    expect_levels(all().prefer(around("a", 1.125)).levels(2), table, {{1, 1}, {2, 2}, {4, 1}});
    expect_levels(all().prefer(between("a", 1.105, 1.155)).levels(2), table, {{1, 2}, {4, 1}});
    expect_rows(all().prefer(inverse(around("a", 1.1))), table, {5});
    expect_rows(all().prefer(around("a", std::int64_t{10})), table, {5});
    expect_rows(all().prefer(around("a", 1e300)), table, {5});
    expect_rows(all().prefer(around("a", -1e30)), table, {0});
  }
}

TEST(Decimals, SetsAreExact) {
  for (const Table& table : tables({"0.10", "0.20", "0.30", std::nullopt})) {
    expect_levels(all().prefer(in("a", {{0.3}, {0.1}})).levels(4), table, {{0, 2}, {1, 3}, {2, 1}, {3, 4}});
  }
}

TEST(Decimals, ValuesThatSpanMoreThan64Bits) {
  const std::string nines(38, '9');
  const Table table({decimals("a", 38, 0, {nines, "-" + nines, "0", std::nullopt, "1", "-1"})});
  expect_rows(all_ranked_by(low("a")), table, {1, 5, 2, 4, 0, 3});
  expect_rows(all_ranked_by(high("a")), table, {0, 4, 2, 5, 1, 3});
  expect_levels(all().prefer(around("a", 0.25)).levels(5), table, {{0, 4}, {1, 5}, {2, 1}, {4, 2}, {5, 3}});
  expect_levels(all().prefer(around("a", std::int64_t{0})).levels(3), table, {{0, 3}, {1, 3}, {2, 1}, {4, 2}, {5, 2}});
  expect_levels(all().prefer(inverse(between("a", -0.5, 1.25))).levels(2), table, {{0, 2}, {1, 1}});
}

TEST(Decimals, PartitionsAndGroups) {
  for (const Table& table : tables({"1.50", "2.00", "1.50", std::nullopt, "2.00", std::nullopt})) {
    expect_rows(all().partition_by({"a"}).rank_by({high("row_number")}).limit(1), table, {2, 4, 5});
    const Query query = all()
                            .group_by({"a"})
                            .aggregate({count("n"), sum("s", "a"), avg("m", "a"), min("lowest", "row_number")})
                            .rank_by({low("lowest")});
    EXPECT_EQ(texts(query, table, "a"), (Texts{"1.50", "2.00", "NULL"}));
    EXPECT_EQ(texts(query, table, "n"), (Texts{"2", "2", "2"}));
    EXPECT_EQ(texts(query, table, "s"), (Texts{"3.00", "4.00", "NULL"}));
    EXPECT_EQ(texts(query, table, "m"), (Texts{"1.5", "2", "NULL"}));
  }
}

TEST(Decimals, Aggregates) {
  for (const Table& table : tables({"0.10", "0.20", "0.40", std::nullopt, "-5.00"})) {
    const Query query = all()
                            .group_by({"g"})
                            .aggregate({count("n", "a"), sum("s", "a"), avg("m", "a"), min("l", "a"), max("h", "a")})
                            .rank_by({low("g")});
    std::vector<Column> columns = table.columns();
    columns.push_back(ints("g", {0, 0, 0, 0, 1}));
    const Table grouped(columns);
    EXPECT_EQ(texts(query, grouped, "n"), (Texts{"3", "1"}));
    EXPECT_EQ(texts(query, grouped, "s"), (Texts{"0.70", "-5.00"}));
    EXPECT_EQ(texts(query, grouped, "m"), (Texts{"0.23333333333333334", "-5"}));
    EXPECT_EQ(texts(query, grouped, "l"), (Texts{"0.10", "-5.00"}));
    EXPECT_EQ(texts(query, grouped, "h"), (Texts{"0.40", "-5.00"}));
  }
}

TEST(Decimals, ASumOfMoreThan38DigitsNamesTheRow) {
  const std::string nines(38, '9');
  const Table table({ints("g", {0, 1, 1}), decimals("a", 38, 0, {"1", nines, nines})});
  const Query query = all().group_by({"g"}).aggregate({sum("s", "a")}).rank_by({low("g")});
  expect_error<DataError>(query, table, {"sum(a) overflows decimal(38,0) in the group of row 1"});
  const Query average = all().group_by({"g"}).aggregate({avg("m", "a")}).rank_by({low("g")});
  EXPECT_EQ(texts(average, table, "m"), (Texts{"1", "1e+38"}));
}

TEST(Decimals, ArithmeticIsExactAndKeepsTheDigitsOfItsResult) {
  for (const Table& table : tables({"12.30", "-0.05", std::nullopt})) {
    EXPECT_EQ(values_of("a + 0.001", table), (Texts{"12.301", "-0.049", "NULL"}));
    EXPECT_EQ(values_of("a - 1", table), (Texts{"11.30", "-1.05", "NULL"}));
    EXPECT_EQ(values_of("2 - a", table), (Texts{"-10.30", "2.05", "NULL"}));
    EXPECT_EQ(values_of("a * 1.1", table), (Texts{"13.530", "-0.055", "NULL"}));
    EXPECT_EQ(values_of("a * a", table), (Texts{"151.2900", "0.0025", "NULL"}));
    EXPECT_EQ(values_of("a * row_number", table), (Texts{"0.00", "-0.05", "NULL"}));
    EXPECT_EQ(values_of("a / 2", table), (Texts{"6.15", "-0.025", "NULL"}));
    EXPECT_EQ(values_of("a % 0.5", table), (Texts{"0.30", "-0.05", "NULL"}));
    EXPECT_EQ(values_of("-a", table), (Texts{"-12.30", "0.05", "NULL"}));
    EXPECT_EQ(values_of("abs(a)", table), (Texts{"12.30", "0.05", "NULL"}));
    EXPECT_EQ(values_of("floor(a)", table), (Texts{"12", "-1", "NULL"}));
    EXPECT_EQ(values_of("ceil(a)", table), (Texts{"13", "0", "NULL"}));
    EXPECT_EQ(values_of("min(a, 1)", table), (Texts{"1.00", "-0.05", "NULL"}));
    EXPECT_EQ(values_of("max(a, 0.125, row_number)", table), (Texts{"12.300", "1.000", "NULL"}));
    EXPECT_EQ(values_of("sqrt(a - a + 2.25)", table), (Texts{"1.5", "1.5", "NULL"}));
    EXPECT_EQ(values_of("case when a > 0 then a else 0.5 end", table), (Texts{"12.30", "0.50", "0.50"}));
    EXPECT_EQ(values_of("case when a > 0 then a end", table), (Texts{"12.30", "NULL", "NULL"}));
    expect_rows(kept_by("a * 10 = 123"), table, {0});
    expect_rows(all_ranked_by(low("a * 1.5 - 1")), table, {1, 0, 2});
    expect_rows(all_ranked_by(high("floor(a)")), table, {0, 1, 2});
  }
}

TEST(Decimals, WithAFloatTheResultIsAFloat) {
  const Table table({decimals("a", 10, 2, {"0.10"}), floats("f", {0.2}), ints("row_number", {0})});
  EXPECT_EQ(values_of("a + f", table), (Texts{"0.30000000000000004"}));
  EXPECT_EQ(values_of("max(a, f)", table), (Texts{"0.2"}));
  EXPECT_EQ(values_of("a + 0.2", table), (Texts{"0.30"}));
}

TEST(Decimals, OverflowIsAnErrorThatNamesTheRow) {
  const std::string nines(38, '9');
  const Table table({decimals("a", 38, 0, {"1", nines}), decimals("b", 38, 2, {"1.00", "0.00"})});
  expect_error<DataError>(all_ranked_by(low("a + 1")), table,
                          {"row 1: decimal overflow", nines + " + 1", "(in 'a + 1')"});
  expect_error<DataError>(all_ranked_by(low("a * a")), table, {"row 1: decimal overflow"});
  expect_error<DataError>(all_ranked_by(low("max(a, b)")), table, {"row 1: decimal overflow"});
  expect_error<DataError>(all_ranked_by(low("a % b")), table, {"row 1: "});
  expect_error<DataError>(all_ranked_by(low("b % (b - 1)")), table, {"row 0: division of a decimal by zero"});
  expect_rows(all_ranked_by(low("case when a < 5 then a + 1 else 0 end")), table, {1, 0});
}

TEST(Decimals, ScalesBeyond38DigitsAreRefused) {
  const Table table({decimals("a", 38, 20, {"1"}), decimals("b", 12, 2, {"1"})});
  try {
    Engine().run(all_ranked_by(low("a * a")), table);
    FAIL() << "no error";
  } catch (const BindError& error) {
    EXPECT_NE(error.message().find("40 digits behind the point"), std::string::npos) << error.message();
  }
  try {
    Engine().run(all().prefer(around("b", 1e-60)), table);
    FAIL() << "no error";
  } catch (const BindError& error) {
    EXPECT_NE(error.message().find("at most 38 digits behind the point"), std::string::npos) << error.message();
  }
}

TEST(Decimals, MissingRules) {
  for (const Table& table : tables(kPrices)) {
    expect_rows(all_ranked_by(low("a")).nulls(Missing::exclude), table, {3, 1, 0, 5, 4});
    expect_error<DataError>(all_ranked_by(low("a")).nulls(Missing::error), table, {"NULL in row 2"});
  }
}

}  // namespace
}  // namespace skyrank
