#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "engine/query/written_names.hpp"
#include "tests/semantics/paths.hpp"
#include "tests/semantics/tables.hpp"

// Tests "Preferences" of engine/docs/meaning.md.
namespace skyrank {
namespace {

/// The levels that a preference gives to the rows of a table, one after another.
void expect_order(const Preference& preference, const Table& table, const std::vector<int>& levels) {
  std::vector<std::pair<RowId, int>> expected;
  for (std::size_t i = 0; i < levels.size(); ++i) expected.emplace_back(static_cast<RowId>(i), levels[i]);
  expect_levels(skyline_of(preference).levels(100), table, expected);
}

TEST(Preferences, Around) {
  const Table table({ints("a", {1, 5, 9, 4, 7})});
  expect_order(around("a", std::int64_t{5}), table, {4, 1, 4, 2, 3});
  expect_order(around("a", 5.5), table, {4, 1, 3, 2, 2});
}

TEST(Preferences, AroundAFractionIsExact) {
  const std::int64_t big = std::int64_t{1} << 60;
  const Table table({ints("a", {0, 1, 2, big})});
  expect_order(around("a", 0.5), table, {1, 1, 2, 3});
}

TEST(Preferences, AroundEveryNumericType) {
  for (const DataType type : preference_types()) {
    if (!is_numeric(type.type) || is_decimal(type.type)) continue;  // of decimals the cells are not the values
    SCOPED_TRACE(to_string(type));
    const Table table({column_of(type, "a", {1, 3, 6, std::nullopt, 4})});
    expect_order(around("a", std::int64_t{3}), table, {3, 1, 4, 5, 2});
    expect_order(inverse(around("a", std::int64_t{3})), table, {2, 4, 1, 5, 3});
  }
}

TEST(Preferences, AroundDates) {
  const Table table({Column::own<Date>("d", {{17287}, {17290}, {17280}})});  // 2017-05-01, 05-04, 04-24
  expect_order(around("d", std::string("2017-05-01")), table, {1, 2, 3});
  expect_order(around("d", Date{17289}), table, {2, 1, 3});
}

TEST(Preferences, AroundTimestamps) {
  const DataType type(Type::timestamp, TimeUnit::millisecond);
  const Table table({Column::own_as<std::int64_t>("t", type, {1493596800000, 1493596800500, 1493596801000})});
  expect_order(around("t", std::string("2017-05-01 00:00:01")), table, {3, 2, 1});
}

TEST(Preferences, Between) {
  const Table table({ints("a", {0, 3, 4, 5, 6, 9})});
  expect_order(between("a", std::int64_t{3}, std::int64_t{5}), table, {3, 1, 1, 1, 2, 4});
  expect_order(inverse(between("a", std::int64_t{3}, std::int64_t{5})), table, {2, 4, 4, 4, 3, 1});
}

TEST(Preferences, BetweenFloats) {
  const Table table({floats("a", {0.5, 1.0, 1.5, 2.25, -kInfinity, kInfinity, kNaN})});
  expect_order(between("a", 1.0, 2.0), table, {3, 1, 1, 2, 4, 4, 5});
}

TEST(Preferences, BetweenDates) {
  const Table table({Column::own<Date>("d", {{17287}, {17290}, {17280}})});
  expect_order(between("d", std::string("2017-05-01"), std::string("2017-05-03")), table, {1, 2, 3});
}

TEST(Preferences, BetweenWithoutAnEnd) {
  for (const DataType type : preference_types()) {
    if (!is_numeric(type.type) || is_decimal(type.type)) continue;  // of decimals the cells are not the values
    SCOPED_TRACE(to_string(type));
    const Table table({column_of(type, "a", {1, 3, 6, std::nullopt, 4})});
    expect_order(between("a", std::int64_t{4}, Null{}), table, {3, 2, 1, 4, 1});
    expect_order(between("a", Null{}, std::int64_t{3}), table, {1, 1, 3, 4, 2});
    expect_order(between("a", std::int64_t{4}, kInfinity), table, {3, 2, 1, 4, 1});
    expect_order(between("a", -kInfinity, 3.0), table, {1, 1, 3, 4, 2});
    expect_order(inverse(between("a", Null{}, std::int64_t{3})), table, {3, 3, 1, 4, 2});
  }
  const Table dates({Column::own<Date>("d", {{17287}, {17290}, {17280}})});
  expect_order(between("d", std::string("2017-05-01"), Null{}), dates, {1, 1, 2});
  expect_order(between("d", Null{}, std::string("2017-04-24")), dates, {2, 3, 1});
}

// Infinities are values like others: at no distance from themselves, and infinitely far from all else.
TEST(Preferences, InfiniteTargetsAndEnds) {
  const Table floating({floats("a", {0.5, 7.0, -kInfinity, kInfinity, kNaN})});
  expect_order(around("a", kInfinity), floating, {2, 2, 2, 1, 3});
  expect_order(around("a", -kInfinity), floating, {2, 2, 1, 2, 3});
  expect_order(between("a", -kInfinity, 1.0), floating, {1, 2, 1, 3, 4});
  expect_order(between("a", kInfinity, kInfinity), floating, {2, 2, 2, 1, 3});
  const Table whole({ints("a", {-3, 0, 5})});
  expect_order(around("a", kInfinity), whole, {1, 1, 1});
  expect_order(inverse(around("a", -kInfinity)), whole, {1, 1, 1});
}

TEST(Preferences, InSetsWithInfinities) {
  const Table table({floats("a", {0.5, kInfinity, -kInfinity, 1.0, kNaN})});
  expect_order(in("a", {{kInfinity}, {1.0, -kInfinity}}), table, {3, 1, 2, 2, 4});
  expect_order(in("a", {{kInfinity}, {std::int64_t{1}}}), Table({ints("a", {1, 2})}), {1, 2});
}

TEST(Preferences, InSetsOfStrings) {
  const Table table({strings("city", {"Oslo", "Aarhus", "Bergen", "Rome", "Oslo"})});
  expect_order(in("city", {{std::string("Bergen")}, {std::string("Oslo"), std::string("Aarhus")}}), table,
               {2, 2, 1, 3, 2});
  expect_order(inverse(in("city", {{std::string("Bergen")}, {std::string("Oslo"), std::string("Aarhus")}})), table,
               {2, 2, 3, 1, 2});
}

TEST(Preferences, InSetsOfOtherTypes) {
  expect_order(in("a", {{std::int64_t{7}}, {std::int64_t{1}, std::int64_t{2}}}), Table({ints("a", {1, 7, 9, 2})}),
               {2, 1, 3, 2});
  expect_order(in("a", {{0.5}}), Table({floats("a", {1, 0.5, kNaN, std::nullopt})}), {2, 1, 3, 4});
  expect_order(in("a", {{true}}), Table({Column::own("a", std::vector<bool>{false, true})}), {2, 1});
  expect_order(in("a", {{std::string("2017-05-01")}}), Table({Column::own<Date>("a", {{17287}, {0}})}), {1, 2});
}

TEST(Preferences, WhereIsBetterWhenTrue) {
  const Table table({ints("a", {1, 5, std::nullopt, 7})});
  expect_order(where("a > 3"), table, {2, 1, 2, 1});
  expect_order(inverse(where("a > 3")), table, {1, 2, 1, 2});
  expect_order(where("a > 3 or a is null"), table, {2, 1, 1, 1});
}

TEST(Preferences, Pareto) {
  const Table table({ints("a", {1, 2, 3, 2}), ints("b", {3, 2, 1, 3})});
  expect_order(pareto({low("a"), low("b")}), table, {1, 1, 1, 2});
  expect_order(pareto({low("a"), high("b")}), table, {1, 3, 4, 2});
}

TEST(Preferences, ParetoNeedsToBeBetterInOne) {
  const Table table({ints("a", {1, 1}), ints("b", {2, 2})});
  expect_order(pareto({low("a"), low("b")}), table, {1, 1});
}

TEST(Preferences, PriorLooksFurtherOnlyAmongEquals) {
  const Table table({ints("a", {1, 1, 2, 2}), ints("b", {9, 8, 0, 0})});
  expect_order(prior({low("a"), low("b")}), table, {2, 1, 3, 3});
}

TEST(Preferences, PriorOfManyTypesIsOneKey) {
  const Table table({ints("a", {kMinInt64, kMaxInt64, kMinInt64, std::nullopt}), floats("b", {kNaN, 1, -kInfinity, 1}),
                     Column::own<std::int8_t>("c", {1, 2, 3, 4})});
  expect_order(prior({low("a"), low("b"), high("c")}), table, {2, 3, 1, 4});
  expect_order(pareto({prior({low("a"), low("b")}), high("c")}), table, {2, 2, 1, 1});
}

TEST(Preferences, PriorWithParetoFirst) {
  // (1, 1) twice: equal in the Pareto term, so `c` decides between them. (0, 2) is incomparable to both.
  const Table table({ints("a", {1, 1, 0, 2}), ints("b", {1, 1, 2, 2}), ints("c", {5, 4, 9, 0})});
  expect_order(prior({pareto({low("a"), low("b")}), low("c")}), table, {2, 1, 1, 3});
}

TEST(Preferences, PriorOfThreeParts) {
  const Table table(
      {ints("a", {0, 0, 0, 0, 1}), ints("b", {1, 1, 2, 1, 0}), ints("c", {1, 1, 0, 1, 0}), ints("d", {3, 2, 0, 2, 0})});
  expect_rows(skyline_of(prior({low("a"), pareto({low("b"), low("c")}), low("d")})), table, {1, 2, 3});
  expect_reference(skyline_of(prior({low("a"), pareto({low("b"), low("c")}), low("d")})).levels(10), table);
}

TEST(Preferences, PriorWithKeyFirstInsidePareto) {
  const Table table(
      {ints("a", {1, 1, 1, 2}), ints("b", {1, 2, 2, 0}), ints("c", {2, 1, 2, 0}), ints("d", {5, 5, 5, 1})});
  const Preference nested = pareto({prior({low("a"), pareto({low("b"), low("c")})}), low("d")});
  expect_order(nested, table, {1, 1, 2, 1});
}

TEST(Preferences, PriorWithParetoFirstInsidePareto) {
  const Table table(
      {ints("a", {1, 1, 1, 2}), ints("b", {1, 1, 0, 2}), ints("c", {2, 1, 9, 0}), ints("d", {5, 5, 6, 1})});
  const Preference nested = pareto({prior({pareto({low("a"), low("b")}), low("c")}), low("d")});
  expect_order(nested, table, {2, 1, 1, 1});
}

TEST(Preferences, DeepNests) {
  const Table table({ints("a", {1, 2, 1, 3, 2, 1, 0, 2}), ints("b", {4, 1, 4, 0, 1, 4, 9, 1}),
                     ints("c", {1, 1, 0, 2, 2, 1, 5, 1}), ints("d", {0, 3, 3, 1, 2, 0, 7, 2})});
  const Preference inner = prior({pareto({low("a"), high("d")}), pareto({low("b"), low("c")})});
  for (const Preference& preference :
       {pareto({inner, high("c")}), prior({inner, low("d")}), inverse(pareto({inner, high("c")})),
        prior({low("a"), inverse(inner)}), pareto({prior({inner, low("a")}), prior({high("b"), inner})}),
        prior({prior({low("a"), low("b")}), pareto({low("c"), prior({low("d"), low("b")})})})}) {
    expect_reference(skyline_of(preference), table);
    expect_reference(skyline_of(preference).levels(4), table);
  }
}

TEST(Preferences, InverseReversesAmongValues) {
  const Table table({floats("a", {1, 2, kNaN, std::nullopt}), ints("b", {1, 2, 3, 4})});
  expect_order(inverse(low("a")), table, {2, 1, 3, 4});
  expect_order(inverse(inverse(low("a"))), table, {1, 2, 3, 4});
  expect_order(inverse(prior({low("a"), low("b")})), table, {2, 1, 3, 4});
  expect_order(inverse(pareto({low("a"), low("b")})), table, {2, 1, 1, 1});
}

TEST(Preferences, SixtyFourDimensions) {
  std::vector<Column> columns;
  std::vector<Preference> terms;
  for (int c = 0; c < 64; ++c) {
    columns.push_back(ints("c" + std::to_string(c), {1, 1, c == 63 ? 0 : 2}));
    terms.push_back(low(Expression::column("c" + std::to_string(c))));
  }
  columns[0] = ints("c0", {1, 2, 2});
  expect_order(pareto(terms), Table(std::move(columns)), {1, 2, 1});
}

TEST(Preferences, OneDimensionKeepsAllRowsWithTheBestValue) {
  expect_rows(skyline_of(low("a")), Table({ints("a", {2, 1, 3, 1})}), {1, 3});
}

// Constraint domination as Deb defines it, pair by pair.
TEST(Feasible, DominatesAsDebSays) {
  const Table table({ints("weight", {5, 12, 11, 9, 12, std::nullopt, 11, 20}), ints("price", {9, 1, 2, 8, 1, 0, 1, 0}),
                     ints("speed", {1, 9, 9, 2, 3, 9, 3, 9})});
  const auto weight = [&](std::size_t row) { return std::vector<int>{5, 12, 11, 9, 12, 99, 11, 20}[row]; };
  const std::vector<int> price = {9, 1, 2, 8, 1, 0, 1, 0};
  const std::vector<int> speed = {1, 9, 9, 2, 3, 9, 3, 9};
  const auto dominates = [&](std::size_t a, std::size_t b) {
    const bool a_meets = weight(a) <= 10;
    const bool b_meets = weight(b) <= 10;
    if (a_meets != b_meets) return a_meets;
    if (!a_meets && weight(a) != weight(b)) return weight(a) < weight(b);  // NULL, the 99, is worst
    return price[a] <= price[b] && speed[a] >= speed[b] && (price[a] < price[b] || speed[a] > speed[b]);
  };
  std::vector<int> levels(price.size(), 0);
  for (int level = 1; std::ranges::count(levels, 0) > 0; ++level) {
    const std::vector<int> before = levels;
    for (std::size_t b = 0; b < levels.size(); ++b) {
      bool beaten = before[b] != 0;
      for (std::size_t a = 0; a < levels.size(); ++a) beaten = beaten || (before[a] == 0 && dominates(a, b));
      if (!beaten) levels[b] = level;
    }
  }
  EXPECT_EQ(levels, (std::vector<int>{2, 4, 3, 1, 5, 7, 3, 6}));
  expect_order(feasible("weight <= 10", {"weight - 10"}, pareto({low("price"), high("speed")})), table, levels);
}

TEST(Feasible, OrdersTheOthersByViolationsOneAfterAnother) {
  const Table table({ints("a", {1, 1, 0, 2, 9}), ints("b", {5, 4, 9, 0, 0}), ints("c", {0, 1, 2, 3, 4})});
  expect_order(feasible("a > 5", {"a", "b"}, low("c")), table, {4, 3, 2, 5, 1});
  expect_order(feasible("a > 5", {"a"}, low("c")), table, {3, 4, 2, 5, 1});
  expect_order(feasible("a > 5", {}, low("c")), table, {2, 3, 4, 5, 1});
}

// Violations of rows that meet the condition neither count nor fail.
TEST(Feasible, LooksAtNoViolationOfRowsThatMeetTheCondition) {
  const Table table({ints("a", {1, 2, 3}), ints("b", {kMaxInt64, 0, std::nullopt})});
  expect_order(feasible("a < 3", {"b + 1"}, low("a")), table, {1, 2, 3});
  expect_order(feasible("a = 1 or a = 3", {"b"}, high("a")), table, {2, 3, 1});
  expect_levels(skyline_of(feasible("a = 1 or a = 3", {"b"}, high("a"))).nulls(Missing::exclude).levels(9), table,
                {{0, 2}, {1, 3}, {2, 1}});
}

/// Returns the corners of a region, found from its definition: points where all but one of the constraints that hold
/// there with equality leave one weight free.
std::vector<std::pair<double, double>> ends_of_segment(const std::vector<std::pair<double, double>>& constraints) {
  double low = 0;
  double high = 1;
  for (const auto& [a, b] : constraints) {  // a * w + b * (1 - w) >= 0
    const double slope = a - b;
    if (slope > 0) low = std::max(low, -b / slope);
    if (slope < 0) high = std::min(high, -b / slope);
  }
  return {{low, 1 - low}, {high, 1 - high}};
}

TEST(Weights, OfTwoTermsAreASegment) {
  const Table table({ints("a", {0, 1, 2, 3, 5, 9, 4}), ints("b", {9, 6, 4, 3, 2, 0, 4})});
  const std::vector<std::pair<double, double>> ends = ends_of_segment({{1, -1}, {-1, 3}});
  const std::vector<double> a = {0, 1, 2, 3, 5, 9, 4};
  const std::vector<double> b = {9, 6, 4, 3, 2, 0, 4};
  std::vector<RowId> expected;
  for (std::size_t i = 0; i < a.size(); ++i) {
    bool beaten = false;
    for (std::size_t j = 0; j < a.size(); ++j) {
      bool nowhere_worse = true;
      bool better = false;
      for (const auto& [w, v] : ends) {
        nowhere_worse = nowhere_worse && w * a[j] + v * b[j] <= w * a[i] + v * b[i];
        better = better || w * a[j] + v * b[j] < w * a[i] + v * b[i];
      }
      beaten = beaten || (nowhere_worse && better);
    }
    if (!beaten) expected.push_back(static_cast<RowId>(i));
  }
  const std::vector<Preference> terms = {low("a"), low("b")};
  EXPECT_EQ(expected, (std::vector<RowId>{1, 2}));
  expect_rows(skyline_of(weighted(terms, {"a >= b", "a <= 3 * b"})), table, expected);
  expect_rows(skyline_of(weighted(terms, {"0.5 <= a", "a <= 0.75"})), table, expected);
  expect_rows(skyline_of(weighted(terms, {"2 * a >= 1", "4 * b >= 1"})), table, expected);
  EXPECT_EQ(weighted(terms, {}), pareto(terms));
  EXPECT_EQ(weighted(terms, {"a = b"}), low("a + b"));
  EXPECT_EQ(weighted(terms, {"b = 0"}), low("a"));
}

TEST(Weights, CountHighTermsNegated) {
  const Table table({ints("price", {3, 4, 9}), floats("rating", {1, 2, 2.5})});
  const Preference sums = weighted({low("price"), high("rating")}, {"price >= rating"});
  EXPECT_EQ(sums, pareto({low("price"), low("price - rating")}));
  expect_rows(skyline_of(sums), table, {0});
  EXPECT_EQ(weighted({high("price"), high("rating / 2")}, {"3 * price = `rating / 2`"}),
            low("-price - 3 * (rating / 2)"));
}

// Points sampled from the region find no beaten row unbeaten, and those at its corners no unbeaten one beaten.
TEST(Weights, CornersOfMoreTerms) {
  const std::vector<Preference> terms = {low("a"), low("b"), low("c"), low("d")};
  EXPECT_EQ(weighted(terms, {"a >= b", "b >= c", "c >= d"}),
            pareto({low("a"), low("a + b"), low("a + b + c"), low("a + b + c + d")}));
  // Constraints in another order give the same corners in the same order: the first weighs the first term most.
  EXPECT_EQ(weighted(terms, {"c >= d", "a >= b", "b >= c"}), weighted(terms, {"a >= b", "b >= c", "c >= d"}));
  EXPECT_EQ(weighted({low("a"), low("b")}, {"b <= 3 * a", "a <= 2 * b"}), pareto({low("2 * a + b"), low("a + 3 * b")}));
  EXPECT_EQ(weighted({low("a"), low("b")}, {"a <= 2 * b", "3 * a >= b"}), pareto({low("2 * a + b"), low("a + 3 * b")}));
  EXPECT_EQ(weighted(terms, {"a + b >= c + d", "c = d"}).children.size(), 4U);
  EXPECT_EQ(weighted(terms, {"a <= 0.5", "b <= 0.5", "c <= 0.5", "d <= 0.5"}).children.size(), 6U);
}

TEST(Weights, AreRefused) {
  const std::vector<Preference> terms = {low("a"), low("b")};
  EXPECT_THROW(weighted(terms, {"a > 2 * b", "b >= a"}), QueryError);     // `>` is none
  EXPECT_THROW(weighted(terms, {"a >= 2 * b", "b >= 0.5"}), QueryError);  // empty
  EXPECT_THROW(weighted(terms, {"a * b >= 0"}), QueryError);
  EXPECT_THROW(weighted(terms, {"c >= 0"}), QueryError);
  EXPECT_THROW(weighted(terms, {"a"}), QueryError);
  EXPECT_THROW(weighted({around("a", std::int64_t{1})}, {}), QueryError);
  EXPECT_THROW(weighted({}, {}), QueryError);
  EXPECT_THROW(weighted(terms, {"a >= 1e30 * b", "1e30 * a <= b"}), QueryError);
  std::vector<Preference> many;
  std::vector<Expression> limits;
  for (int i = 0; i < 12; ++i) {
    many.push_back(low(Expression::column("c" + std::to_string(i))));
    limits.emplace_back("c" + std::to_string(i) + " <= 0.2");
  }
  EXPECT_THROW(weighted(many, limits), QueryError);  // 792 corners
}

TEST(Boxes, AreFloorsOfQuotients) {
  expect_order(step(low("a"), std::int64_t{5}), Table({ints("a", {-6, -5, -1, 0, 4, 5, std::nullopt, 9})}),
               {1, 2, 2, 3, 3, 4, 5, 4});
  expect_order(step(high("a"), 2.5), Table({ints("a", {-3, 0, 2, 3, 4, 5, 7})}), {4, 3, 3, 2, 2, 1, 1});
  expect_order(step(low("a"), 0.5), Table({floats("a", {-0.1, 0.0, 0.49, 0.5, kNaN, kInfinity, -kInfinity})}),
               {2, 3, 3, 4, 6, 5, 1});
  expect_order(inverse(step(low("a"), std::int64_t{2})), Table({ints("a", {0, 1, 2})}), {2, 2, 1});
}

TEST(Boxes, AreExactWhereFloatsAreNot) {
  expect_order(step(low("a"), std::int64_t{2}),
               Table({ints("a", {kMaxInt64, kMaxInt64 - 1, kMaxInt64 - 2, kMinInt64, kMinInt64 + 1, kMinInt64 + 2})}),
               {4, 4, 3, 1, 1, 2});
  expect_order(step(low("a"), std::int64_t{2}),
               Table({column<std::uint64_t>("a", {kMaxUint64, kMaxUint64 - 1, kMaxUint64 - 2, 0})}), {3, 3, 2, 1});
  // A tenth is no float64, and a step of tenths none of hundredths.
  const Table cents({Column::own_as<std::int64_t>("a", DataType::decimal(12, 2), {29, 30, 31, 39, 40, -1})});
  expect_order(step(low("a"), 0.1), cents, {2, 3, 3, 3, 4, 1});
  expect_order(step(low("a"), 0.015), cents, {2, 3, 3, 4, 4, 1});
  const Int128 large = Int128{1} << 100;
  const Table wide({Column::own_as<Int128>("a", DataType::decimal(38, 4), {large, large + 1, large - 1, -large})});
  expect_order(step(low("a"), Decimal{2, 4}), wide, {3, 3, 2, 1});
}

TEST(Boxes, OfTimes) {
  const Table dates({Column::own<Date>("d", {{-1}, {0}, {6}, {7}, {13}, {14}})});
  expect_order(step(low("d"), std::int64_t{7}), dates, {1, 2, 2, 3, 3, 4});
  expect_order(step(low("d"), std::string("1w")), dates, {1, 2, 2, 3, 3, 4});
  const DataType type(Type::timestamp, TimeUnit::millisecond);
  const Table times({Column::own_as<std::int64_t>("t", type, {-1, 0, 3599999, 3600000})});
  expect_order(step(high("t"), std::string("1h")), times, {3, 2, 2, 1});
}

TEST(Boxes, OfEqualRatio) {
  const Table table({floats("a", {1.0, 1.0999999999999999, 1.1, 1.21, 0.5, 0.0, -1.0, kInfinity, std::nullopt, 1.3})});
  expect_order(step(low("a"), std::string("10%")), table, {3, 3, 4, 5, 2, 1, 7, 6, 8, 5});
  // Powers of two have no rounding.
  const Table powers({floats("a", {4.9406564584124654e-324, 1.7976931348623157e308, 8.0, 7.999, 0.25, 0.5})});
  expect_order(step(low("a"), std::string("100%")), powers, {1, 6, 5, 4, 2, 3});
  expect_order(step(low("a"), std::string("100%")), Table({ints("a", {1, 2, 3, 4, 7, 8})}), {1, 2, 2, 3, 3, 4});
  const Table cents({Column::own_as<std::int64_t>("a", DataType::decimal(12, 2), {100, 119, 120, 144, 143})});
  expect_order(step(low("a"), std::string("20%")), cents, {1, 1, 2, 3, 2});
}

TEST(Boxes, BoundariesOfTheFinestRatio) {
  std::vector<std::optional<double>> cells;
  std::vector<int> levels;
  long double power = 1;
  for (int box = 0; box < 60; ++box) {
    const auto boundary = static_cast<double>(power);
    cells.insert(cells.end(), {boundary, std::nextafter(boundary, 10.0)});
    levels.insert(levels.end(), {box + 1, box + 1});
    power *= 1.000001L;
  }
  expect_order(step(low("a"), std::string("0.0001%")), Table({floats("a", cells)}), levels);
}

// Rows in one box are equal: `distinct` keeps one for each, the archive of Laumanns et al.
TEST(Boxes, KeepOneRowEach) {
  const Table table({ints("a", {1, 3, 4, 12, 11}), ints("b", {9, 8, 8, 1, 1})});
  const Preference boxes = pareto({step(low("a"), std::int64_t{5}), step(low("b"), std::int64_t{5})});
  expect_rows(skyline_of(boxes), table, {0, 1, 2, 3, 4});
  expect_rows(skyline_of(boxes).distinct(true), table, {0, 3});
}

TEST(Boxes, OfANameThatIsNoExpression) {
  const Table table(
      {ints("Unit Price", {4, 6, 5}), ints("a-b", {9, 4, 1}), ints("a", {0, 0, 0}), ints("b", {0, 0, 0})});
  expect_order(step(low(query::name_or_expression("Unit Price")), std::int64_t{5}), table, {1, 2, 2});
  expect_order(step(low("a-b"), std::int64_t{5}), table, {2, 1, 1});
}

TEST(Weights, OfANameThatIsAnExpressionToo) {
  const Table table({ints("a-b", {9, 4, 1}), ints("c", {4, 6, 5}), ints("a", {0, 0, 0}), ints("b", {0, 0, 0})});
  expect_rows(skyline_of(weighted({low("a-b"), low("c")}, {"a-b >= c"})), table, {2});
}

}  // namespace
}  // namespace skyrank
