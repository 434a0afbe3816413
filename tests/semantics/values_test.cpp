#include <gtest/gtest.h>

#include <cmath>
#include <span>

#include "tests/semantics/paths.hpp"
#include "tests/semantics/tables.hpp"

// Tests "Values" of engine/docs/meaning.md.
namespace skyrank {
namespace {

Query ranked_by(RankTerm term) { return Query::from("t").rank_by({std::move(term)}); }

TEST(Values, EveryTypeOrdersLowAndHigh) {
  for (const DataType type : preference_types()) {
    SCOPED_TRACE(to_string(type));
    const Table table({column_of(type, "a", {1, 0, 1, 0})});
    expect_rows(skyline_of(low("a")), table, {1, 3});
    expect_rows(skyline_of(high("a")), table, {0, 2});
    expect_rows(ranked_by(low("a")), table, {1, 3, 0, 2});
    expect_rows(ranked_by(high("a")), table, {0, 2, 1, 3});
  }
}

TEST(Values, NullIsWorstOfEveryType) {
  for (const DataType type : preference_types()) {
    SCOPED_TRACE(to_string(type));
    const Table table({column_of(type, "a", {std::nullopt, 1, std::nullopt, 0})});
    expect_rows(ranked_by(low("a")), table, {3, 1, 0, 2});
    expect_rows(ranked_by(high("a")), table, {1, 3, 0, 2});
    expect_levels(skyline_of(low("a")).levels(3), table, {{0, 3}, {1, 2}, {2, 3}, {3, 1}});
    expect_levels(skyline_of(inverse(low("a"))).levels(3), table, {{0, 3}, {1, 1}, {2, 3}, {3, 2}});
  }
}

TEST(Values, NegativeNumbersOfEverySignedType) {
  for (const Type type : {Type::int8, Type::int16, Type::int32, Type::int64, Type::float16, Type::float32,
                          Type::float64, Type::date, Type::timestamp}) {
    SCOPED_TRACE(to_string(DataType(type)));
    const Table table({column_of(type, "a", {0, -5, 3, -1})});
    expect_rows(ranked_by(low("a")), table, {1, 3, 0, 2});
    expect_rows(ranked_by(high("a")), table, {2, 0, 3, 1});
  }
}

template <class T>
void expect_extremes_in_order() {
  const T lowest = std::numeric_limits<T>::lowest();
  const T highest = std::numeric_limits<T>::max();
  const Table table(
      {Column::own<T>("a", {highest, lowest, T{1}, static_cast<T>(highest - 1), static_cast<T>(lowest + 1)})});
  const std::vector<RowId> ascending{1, 4, 2, 3, 0};
  expect_rows(ranked_by(low("a")), table, ascending);
  expect_rows(ranked_by(high("a")), table, {ascending.rbegin(), ascending.rend()});
  expect_rows(skyline_of(low("a")), table, {1});
  expect_rows(skyline_of(high("a")), table, {0});
}

TEST(Values, ExtremesOfIntegers) {
  expect_extremes_in_order<std::int8_t>();
  expect_extremes_in_order<std::int16_t>();
  expect_extremes_in_order<std::int32_t>();
  expect_extremes_in_order<std::int64_t>();
}

TEST(Values, ExtremesOfUnsignedIntegers) {
  const Table table({Column::own<std::uint64_t>("a", {kMaxUint64, 0, 1, kMaxUint64 - 1})});
  expect_rows(ranked_by(low("a")), table, {1, 2, 3, 0});
  expect_rows(ranked_by(high("a")), table, {0, 3, 2, 1});
  const Table bytes({Column::own<std::uint8_t>("a", {255, 0, 128, 127})});
  expect_rows(ranked_by(low("a")), bytes, {1, 3, 2, 0});
}

TEST(Values, ExtremesWithNull) {
  const Table table({ints("a", {kMinInt64, std::nullopt, kMaxInt64})});
  expect_rows(ranked_by(low("a")), table, {0, 2, 1});
  expect_rows(ranked_by(high("a")), table, {2, 0, 1});
  const Table unsigned_table({column<std::uint64_t>("a", {kMaxUint64, std::nullopt, std::uint64_t{0}})});
  expect_rows(ranked_by(low("a")), unsigned_table, {2, 0, 1});
  expect_rows(ranked_by(high("a")), unsigned_table, {0, 2, 1});
}

TEST(Values, Int64IsNeverComparedAsDouble) {
  const std::int64_t big = std::int64_t{1} << 53;
  const Table table({ints("a", {big + 1, big, big + 2})});
  expect_rows(skyline_of(low("a")), table, {1});
  expect_rows(ranked_by(high("a")), table, {2, 0, 1});
  expect_rows(skyline_of(around("a", big + 1)), table, {0});
}

TEST(Values, Float64IsNeverComparedAsFloat32) {
  const Table table({floats("a", {1 + 1e-12, 1, 1 - 1e-12})});
  expect_rows(ranked_by(low("a")), table, {2, 1, 0});
  expect_rows(skyline_of(high("a")), table, {0});
}

TEST(Values, DistancesOfInt64AreExact) {
  const Table table({ints("a", {kMinInt64, kMaxInt64, kMinInt64 + 1})});
  expect_levels(skyline_of(around("a", kMaxInt64)).levels(3), table, {{0, 3}, {1, 1}, {2, 2}});
  expect_rows(skyline_of(around("a", std::int64_t{0})), table, {1, 2});
}

TEST(Values, NaNIsWorseThanEveryNumberAndEqualToNaN) {
  const Table table({floats("a", {kNaN, kInfinity, 1, -kInfinity, -kNaN})});
  expect_rows(ranked_by(low("a")), table, {3, 2, 1, 0, 4});
  expect_rows(ranked_by(high("a")), table, {1, 2, 3, 0, 4});
  const Table only({floats("a", {kNaN, -kNaN})});
  expect_rows(skyline_of(low("a")), only, {0, 1});
}

TEST(Values, NullIsWorseThanNaN) {
  for (const Type type : {Type::float32, Type::float64}) {
    const Table table({type == Type::float32
                           ? column<float>("a", {std::nullopt, std::numeric_limits<float>::quiet_NaN(), 5.0F})
                           : floats("a", {std::nullopt, kNaN, 5})});
    for (const Preference& preference : {low("a"), high("a"), inverse(low("a")), inverse(high("a")), around("a", 1.0),
                                         inverse(around("a", 1.0)), between("a", 0.0, 1.0)}) {
      expect_levels(skyline_of(preference).levels(3), table, {{0, 3}, {1, 2}, {2, 1}});
    }
    expect_rows(ranked_by(high("a")), table, {2, 1, 0});
  }
}

TEST(Values, NaNOfFloat16) {
  const Table table({Column::own<Float16>("a", {{0x7e00}, {0x3c00}, {0xfc00}, {0x7c00}, {0xfe00}})});
  expect_rows(ranked_by(low("a")), table, {2, 1, 3, 0, 4});
  expect_rows(ranked_by(high("a")), table, {3, 1, 2, 0, 4});
}

TEST(Values, NaNDoesNotMakeRowsIncomparableByItself) {
  const Table table({floats("a", {kNaN, kNaN, 1}), ints("b", {1, 2, 3})});
  expect_rows(skyline_of(pareto({low("a"), low("b")})), table, {0, 2});
}

TEST(Values, ZerosAreEqual) {
  const Table table({floats("a", {0.0, -0.0}), ints("b", {1, 1})});
  expect_rows(skyline_of(low("a")), table, {0, 1});
  expect_rows(skyline_of(high("a")), table, {0, 1});
  expect_rows(skyline_of(pareto({low("a"), low("b")})).distinct(true), table, {0});
  expect_rows(ranked_by(high("a")).limit(1).ties(Ties::all), table, {0, 1});
  expect_rows(skyline_of(in("a", {{0.0}})), table, {0, 1});
}

TEST(Values, ResultsCarryTheStoredZero) {
  const Table table({floats("a", {-0.0, 5})});
  const Query query = skyline_of(low("a")).select({"a"});
  for (const Path& path : paths(query, table)) {
    const Value value = run(query, table, path).table.column("a").value(0);
    EXPECT_TRUE(std::signbit(std::get<double>(value))) << path.name;
  }
}

TEST(Values, InfinitiesAreOrdinaryValues) {
  const Table table({floats("a", {kInfinity, 0, -kInfinity}), floats("b", {0, kInfinity, kInfinity})});
  expect_rows(skyline_of(low("a")), table, {2});
  expect_rows(skyline_of(high("a")), table, {0});
  expect_rows(skyline_of(pareto({low("a"), low("b")})), table, {0, 2});
}

TEST(Values, ExcludeDropsRowsFirst) {
  const Table table({floats("a", {kNaN, 2, std::nullopt, 3}), floats("b", {1, std::nullopt, 1, kNaN})});
  const Query query = skyline_of(pareto({low("a"), low("b")}));
  expect_rows(Query(query).nan(Missing::exclude), table, {1, 2});
  expect_rows(Query(query).nulls(Missing::exclude), table, {0, 3});
  expect_rows(Query(query).nan(Missing::exclude).nulls(Missing::exclude), table, {});
  expect_rows(ranked_by(low("a")).nan(Missing::exclude).nulls(Missing::exclude), table, {1, 3});
}

TEST(Values, BestPutsNullBeforeEveryValue) {
  const Table table({floats("a", {kNaN, 2, std::nullopt, -kInfinity}), ints("b", {std::nullopt, 1, 1, 2})});
  expect_rows(ranked_by(low("a")).nulls(Missing::best), table, {2, 3, 1, 0});
  expect_rows(ranked_by(high("a")).nulls(Missing::best), table, {2, 1, 3, 0});
  expect_rows(ranked_by(low("a + b")).nulls(Missing::best), table, {0, 2, 3, 1});
  expect_rows(skyline_of(low("a")).nulls(Missing::best), table, {2});
  expect_rows(skyline_of(inverse(low("a"))).nulls(Missing::best), table, {2});
  expect_rows(skyline_of(around("a", 2)).nulls(Missing::best), table, {2});
  expect_rows(skyline_of(in("b", {{2}})).nulls(Missing::best), table, {0});
  expect_rows(skyline_of(pareto({low("a"), low("b")})).nulls(Missing::best), table, {0, 2});
  expect_rows(skyline_of(low("b")).levels(2).nulls(Missing::best), table, {0, 1, 2});
  expect_rows(skyline_of(low("a")).nan(Missing::exclude).nulls(Missing::best), table, {2});
}

TEST(Values, BestPutsNanBeforeEveryNumber) {
  const Table table({floats("a", {kNaN, 2, std::nullopt, -kInfinity}), ints("b", {1, 1, std::nullopt, 2})});
  expect_rows(ranked_by(low("a")).nan(Missing::best), table, {0, 3, 1, 2});
  expect_rows(ranked_by(high("a")).nan(Missing::best), table, {0, 1, 3, 2});
  expect_rows(ranked_by(high("a + b")).nan(Missing::best), table, {0, 1, 3, 2});
  expect_rows(ranked_by(low("b")).nan(Missing::best), table, {0, 1, 3, 2});
  expect_rows(skyline_of(low("a")).nan(Missing::best), table, {0});
  expect_rows(skyline_of(inverse(low("a"))).nan(Missing::best), table, {0});
  expect_rows(skyline_of(around("a", 2)).nan(Missing::best), table, {0});
  expect_rows(skyline_of(between("a", 0, 3)).nan(Missing::best), table, {0});
  expect_rows(skyline_of(in("a", {{2}})).nan(Missing::best), table, {0});
  expect_rows(skyline_of(where("a > 1")).nan(Missing::best), table, {1});
  expect_rows(skyline_of(pareto({low("a"), high("b")})).nan(Missing::best), table, {0, 3});
  expect_rows(skyline_of(low("a")).levels(2).nan(Missing::best), table, {0, 3});
  expect_rows(skyline_of(low("a")).at_least(2).nan(Missing::best), table, {0, 3});
}

TEST(Values, NullIsBetterThanNanWhereBothAreBest) {
  const Table table({floats("a", {kNaN, 2, std::nullopt, -kInfinity, kNaN})});
  const auto ranked = [&](RankTerm term, Missing nan, Missing nulls) {
    return Query::from("t").rank_by({std::move(term)}).nan(nan).nulls(nulls);
  };
  expect_rows(ranked(low("a"), Missing::best, Missing::best), table, {2, 0, 4, 3, 1});
  expect_rows(ranked(high("a"), Missing::best, Missing::best), table, {2, 0, 4, 1, 3});
  expect_rows(ranked(low("a"), Missing::worst, Missing::best), table, {2, 3, 1, 0, 4});
  expect_rows(ranked(low("a"), Missing::best, Missing::exclude), table, {0, 4, 3, 1});
  expect_rows(ranked(low("a"), Missing::exclude, Missing::best), table, {2, 3, 1});
  expect_rows(skyline_of(low("a")).nan(Missing::best).nulls(Missing::best), table, {2});
  expect_rows(skyline_of(low("a")).nan(Missing::best).distinct(true), table, {0});
  expect_error<DataError>(ranked(low("a"), Missing::best, Missing::error), table, {"NULL in row 2", "'a'"});
}

TEST(Values, ScoresAreThoseOfTheTermWhereNanIsBest) {
  const Table table({floats("a", {3, kNaN, 2})});
  const Query query = ranked_by(low("a")).nan(Missing::best).select({"row", "score"});
  const Result result = Engine().run(query, table);
  EXPECT_EQ(result.rows, (std::vector<RowId>{1, 2, 0}));
  EXPECT_TRUE(std::isnan(std::get<double>(result.table.column("score").value(0))));
  EXPECT_EQ(result.table.column("score").value(1), Value(2.0));
}

/// Strings with NULL where there is none.
Column texts(std::string name, const std::vector<std::optional<std::string>>& values) {
  std::vector<std::string> strings;
  std::vector<bool> valid;
  for (const auto& value : values) {
    strings.push_back(value.value_or(""));
    valid.push_back(value.has_value());
  }
  return Column::own(std::move(name), strings, valid);
}

TEST(Values, StringsAreInTheOrderOfTheirBytes) {
  const Table table(
      {texts("s", {"b", "B", std::nullopt, "", "\xc3\xa9", "ba", "b"}), ints("a", {1, 2, 3, 4, 5, 6, 7})});
  expect_rows(ranked_by(low("s")), table, {3, 1, 0, 6, 5, 4, 2});
  expect_rows(ranked_by(high("s")), table, {4, 5, 0, 6, 1, 3, 2});
  expect_rows(ranked_by(high("s")).nulls(Missing::best), table, {2, 4, 5, 0, 6, 1, 3});
  expect_rows(ranked_by(high("s")).nulls(Missing::exclude).limit(3).ties(Ties::last), table, {4, 5, 6});
  expect_rows(ranked_by(low("upper(s)")).limit(1).offset(1).ties(Ties::all), table, {0, 1, 6});
  expect_rows(skyline_of(high("s")), table, {4});
  expect_rows(skyline_of(pareto({high("s"), low("a")})), table, {0, 4});
  expect_rows(skyline_of(inverse(high("s"))).nulls(Missing::best), table, {2});
  expect_rows(skyline_of(low("s")).levels(2), table, {1, 3});
  expect_error<DataError>(ranked_by(low("s")).nulls(Missing::error), table, {"NULL in row 2", "'s'"});
}

TEST(Values, BestIsNotAboutTheConditionsOfWhereTerms) {
  const Table table({ints("a", {std::nullopt, 1, 5})});
  expect_rows(skyline_of(where("a > 3")).nulls(Missing::best), table, {2});
}

// `b <= 1` keeps all values that are better than those that it keeps, but not NULL, which is better still.
TEST(Values, ConditionsComeBeforeNullThatIsBest) {
  const Table table({ints("a", {1, 2, 3}), ints("b", {std::nullopt, 1, 0})});
  expect_rows(skyline_of(pareto({low("a"), low("b")})).where("b <= 1").nulls(Missing::best), table, {1, 2});
}

TEST(Values, ExcludeDropsBeforeThePreferenceIsAsked) {
  const Table table({ints("a", {1, 2, 3}), floats("score", {kNaN, 5, 4})});
  expect_rows(skyline_of(low("a")).rank_by({low("score")}), table, {0});
  expect_rows(skyline_of(low("a")).rank_by({low("score")}).nan(Missing::exclude), table, {1});
}

TEST(Values, ExcludeDropsPartitionsThatAreLeftEmpty) {
  const Table table({strings("p", {"x", "y", "x", "y"}), floats("a", {kNaN, 1, 2, kNaN})});
  expect_rows(skyline_of(low("a")).partition_by({"p"}).nan(Missing::exclude), table, {1, 2});
}

TEST(Values, ConditionsOfWhereTermsAreNotAboutMissingValues) {
  const Table table({ints("a", {std::nullopt, 1, 5})});
  expect_rows(skyline_of(where("a > 3")).nulls(Missing::exclude), table, {2});
  expect_rows(skyline_of(inverse(where("a > 3"))).nulls(Missing::error), table, {0, 1});
}

TEST(Values, ErrorRefusesAndNamesTheFirstRow) {
  const Table table({floats("a", {1, 2, kNaN, std::nullopt, kNaN})});
  expect_error<DataError>(skyline_of(low("a")).nan(Missing::error), table, {"row 2", "NaN", "a"});
  expect_error<DataError>(skyline_of(low("a")).nulls(Missing::error), table, {"row 3", "NULL"});
  expect_error<DataError>(ranked_by(high("a")).nan(Missing::error), table, {"row 2"});
}

TEST(Values, ErrorLooksOnlyAtRowsThatPassTheFilter) {
  const Table table({floats("a", {1, kNaN}), ints("b", {1, 2})});
  expect_rows(skyline_of(low("a")).where("b < 2").nan(Missing::error), table, {0});
}

TEST(Values, IntegerOverflowNamesTheRow) {
  const Table table({ints("a", {1, kMaxInt64, kMaxInt64})});
  expect_error<DataError>(skyline_of(low("a + 1")), table, {"row 1", "a + 1"});
  expect_error<DataError>(ranked_by(low("a * 2")), table, {"row 1"});
  expect_error<DataError>(Query::from("t").where("a + 1 > 0").rank_by({low("a")}), table, {"row 1"});
  expect_error<DataError>(Query::from("t").rank_by({high("a")}).select({"a + 1"}), table, {"row 1"});
}

TEST(Values, IntegerDivisionByZeroNamesTheRow) {
  const Table table({ints("a", {1, 2, 0})});
  expect_error<DataError>(ranked_by(low("10 / a")), table, {"row 2"});
  expect_error<DataError>(skyline_of(low("10 % a")), table, {"row 2"});
}

TEST(Values, FloatsFollowIeee) {
  const Table table({floats("a", {0.0, 1, -1})});
  expect_rows(ranked_by(high("1 / a")), table, {0, 1, 2});
  expect_rows(ranked_by(low("sqrt(a)")), table, {0, 1, 2});
  expect_rows(ranked_by(low("log(a)")), table, {0, 1, 2});
}

TEST(Values, ExpressionsAreKeysToo) {
  const Table table({ints("retweets", {10, 5, 8}), ints("likes", {0, 20, 4})});
  expect_rows(ranked_by(high("retweets + 0.5 * likes")), table, {1, 0, 2});
  expect_rows(skyline_of(pareto({high("retweets - likes"), low("retweets")})), table, {0, 1, 2});
}

TEST(Values, StridedAndPackedColumns) {
  const std::vector<float> matrix{3, 1, 2, 9, 1, 5};
  const std::vector<std::uint8_t> bits{0b100};
  ColumnData flags;
  flags.type = Type::boolean;
  flags.layout = Layout::bits;
  flags.length = 3;
  flags.values = bits.data();
  const Table table(
      {Column::view_strided("a", Type::float32, matrix.data(), 3, 2 * sizeof(float)), Column("f", flags)});
  expect_rows(ranked_by(low("a")), table, {2, 1, 0});
  expect_rows(skyline_of(high("f")), table, {2});
}

}  // namespace
}  // namespace skyrank
