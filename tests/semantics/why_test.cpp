#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <skyrank/skyrank.hpp>

#include "tests/build.hpp"
#include "tests/semantics/reference.hpp"
#include "tests/semantics/tables.hpp"

// Why a row is not in an answer, against answers of the reference over tables in which one value is another.
namespace skyrank {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Cells = std::vector<std::optional<double>>;

/// A comparison of a column with a number.
struct Comparison {
  std::string column;
  std::string op;
  double number = 0;

  std::string text() const {
    return op.ends_with("null") ? column + " is not null" : column + " " + op + " " + to_string(Value(number));
  }
  std::optional<bool> holds(std::optional<double> value) const {
    if (op == "is not null") return value.has_value();
    if (!value) return std::nullopt;
    if (op == "<") return *value < number;
    if (op == "<=") return *value <= number;
    if (op == ">") return *value > number;
    return *value >= number;
  }
};

/// A random query over four columns of small numbers: integers i and k, floats f and x; p makes partitions.
struct WhyCase {
  std::vector<std::string> names{"i", "k", "f", "x", "p"};
  std::vector<Cells> cells;
  std::vector<Comparison> conditions;
  Query query = Query::from("t");
  bool monotone = true;  ///< the least changes of all terms are determined

  Table table() const {
    std::vector<Column> columns;
    for (std::size_t c = 0; c < names.size(); ++c) {
      if (names[c] == "f" || names[c] == "x") {
        columns.push_back(floats(names[c], cells[c]));
      } else {
        std::vector<std::optional<std::int64_t>> whole;
        for (const auto& cell : cells[c]) {
          whole.push_back(cell ? std::optional(static_cast<std::int64_t>(*cell)) : std::nullopt);
        }
        columns.push_back(ints(names[c], whole));
      }
    }
    return Table(std::move(columns));
  }

  std::optional<double> cell(const reference::Row& row, const std::string& name) const {
    const Value value = row(name);
    if (const auto* number = std::get_if<double>(&value)) return *number;
    if (const auto* number = std::get_if<std::int64_t>(&value)) return static_cast<double>(*number);
    return std::nullopt;
  }

  reference::Evaluate evaluate() const {
    return [this](const Expression& expression, const reference::Row& row) -> Value {
      if (query.where() && expression == *query.where()) {
        bool unknown = false;
        for (const Comparison& condition : conditions) {
          const std::optional<bool> holds = condition.holds(cell(row, condition.column));
          if (holds == false) return false;
          unknown = unknown || !holds;
        }
        return unknown ? Value(Null{}) : Value(true);
      }
      // The condition to meet, and the violation of rows that do not.
      static const Expression condition("k <= 2");
      static const Expression violation("case when k <= 2 then 0 else k end");
      const bool is_met = expression == condition;
      if (is_met || expression == violation) {
        const Value k = row("k");
        const auto* number = std::get_if<std::int64_t>(&k);
        if (number == nullptr) return Null{};
        return is_met ? Value(*number <= 2) : Value(*number <= 2 ? 0 : *number);
      }
      return reference::column(expression, row);
    };
  }

  std::vector<RowId> rows(const Query& asked, const Table& table) const {
    return reference::answer(asked, table, evaluate()).rows;
  }

  bool is_in(RowId row) const {
    const std::vector<RowId> in = rows(query, table());
    return std::ranges::find(in, row) != in.end();
  }
};

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  int below(int n) { return static_cast<int>(engine_() % static_cast<std::uint64_t>(n)); }
  bool one_in(int n) { return below(n) == 0; }

 private:
  std::mt19937_64 engine_;
};

/// Returns a term that prefers high or low values by the inverse of the other direction.
Preference inverted(const std::string& column, bool prefers_high) {
  return inverse(prefers_high ? low(Expression::column(column)) : high(Expression::column(column)));
}

WhyCase random_why_case(std::uint64_t seed) {
  Random random(seed);
  WhyCase made;
  const int rows = 1 + random.below(12);
  for (const std::string& name : made.names) {
    Cells cells;
    for (int i = 0; i < rows; ++i) {
      if (name == "p") {
        cells.emplace_back(random.below(2));
      } else if (random.one_in(10)) {
        cells.emplace_back(std::nullopt);
      } else if ((name == "f" || name == "x") && random.one_in(10)) {
        cells.emplace_back(kNaN);
      } else {
        cells.emplace_back(name == "f" || name == "x" ? random.below(10) / 2.0 : random.below(6));
      }
    }
    made.cells.push_back(std::move(cells));
  }

  std::vector<std::pair<std::string, bool>> directions;  // one for each column, so that changes are determined
  for (const char* name : {"i", "k", "f", "x"}) directions.emplace_back(name, random.one_in(2));
  const auto term = [&](std::size_t c) {
    if (random.one_in(6)) return inverted(directions[c].first, directions[c].second);
    return directions[c].second ? high(Expression::column(directions[c].first))
                                : low(Expression::column(directions[c].first));
  };
  const int shape = random.below(4);
  if (shape == 0) made.query.prefer(pareto({term(0), term(2)}));
  if (shape == 1) made.query.prefer(pareto({term(0), term(1), term(2)}));
  if (shape == 2) made.query.prefer(prior({term(1), pareto({term(0), term(2)})}));
  if (shape == 3 || random.one_in(2)) {
    std::vector<RankTerm> ranking;
    for (const std::size_t c : {static_cast<std::size_t>(random.below(4)), static_cast<std::size_t>(random.below(4))}) {
      ranking.emplace_back(Expression::column(directions[c].first), directions[c].second);
    }
    made.query.rank_by(std::move(ranking));
  }
  if (shape != 3 && random.one_in(4)) made.query.levels(1 + random.below(3));
  if (shape != 3 && !made.query.levels() && random.one_in(4)) made.query.at_least(random.below(5));
  if (shape != 3 && random.one_in(4)) made.query.distinct(true);
  if (random.one_in(2)) {
    made.query.limit(random.below(4));
    if (random.one_in(3)) made.query.ties(random.one_in(2) ? Ties::all : Ties::last);
    if (random.one_in(8)) made.query.offset(1);
  }
  if (random.one_in(3)) made.query.partition_by({"p"});
  if (random.one_in(2)) made.query.nulls(random.one_in(2) ? Missing::exclude : Missing::best);
  if (random.one_in(3)) made.query.nan(Missing::exclude);
  for (int count = random.below(3); count > 0; --count) {
    const std::string name = made.names[static_cast<std::size_t>(random.below(4))];
    const std::string ops[] = {"<", "<=", ">", ">=", "is not null"};
    made.conditions.push_back({name, ops[random.below(5)], random.below(12) / 2.0 - 0.5});
  }
  if (!made.conditions.empty()) {
    std::string text;
    for (const Comparison& condition : made.conditions) text += (text.empty() ? "" : " and ") + condition.text();
    made.query.where(Expression(text));
  }
  const bool has_condition = made.query.prefer() && seed % 7 == 0;
  if (has_condition) made.query.prefer(feasible("k <= 2", {"k"}, *made.query.prefer()));
  if (made.query.prefer() && seed % 5 == 0) {
    made.query.pick(Pick{1 + static_cast<std::int64_t>(seed % 3), static_cast<Pick::By>(seed / 5 % 2), {}});
  }
  const bool levels = made.query.at_least() || made.query.levels().value_or(1) > 1;
  made.monotone = !has_condition && !made.query.pick() && made.query.offset() == 0 &&
                  !(made.query.distinct() && levels) && !(levels && made.query.limit());
  return made;
}

std::string described(const WhyCase& one, const WhyNot& why) {
  std::string text = to_sql(one.query) + "\n" + to_string(why);
  for (std::size_t c = 0; c < one.names.size(); ++c) {
    text += one.names[c] + ":";
    for (const auto& cell : one.cells[c]) text += cell ? " " + to_string(Value(*cell)) : " -";
    text += "\n";
  }
  for (const WhyChange& change : why.changes)
    text += change.term + ": " + change.change + " | " + change.unknown + "\n";
  return text;
}

/// Returns the values that a cell may have: those of the table and of conditions, what lies between them, and extremes.
std::vector<double> grid(bool floating) {
  std::vector<double> values{-1000, 1000};
  for (double value = -2; value <= 8; value += floating ? 0.125 : 1) values.push_back(value);
  return values;
}

/// Returns true if a change such as "f < 2.5 and f > 1" holds for a value.
bool holds(const std::string& change, const std::string& term, double value) {
  if (change == term + " has a value") return true;
  const Table table({floats(term, {value})});
  return !Engine({.threads = 1})
              .run(Query::from("t").where(Expression(change)).rank_by({low(term)}), table)
              .rows.empty();
}

WhyStage expected_stage(const WhyCase& one, RowId row) {
  const Table table = one.table();
  const auto keeps = [&](const Query& query) {
    const std::vector<RowId> rows = one.rows(query, table);
    return std::ranges::find(rows, row) != rows.end();
  };
  if (keeps(one.query)) return WhyStage::in_answer;
  Query query = one.query;
  query.limit(std::nullopt).offset(0);
  if (keeps(query)) {
    const std::vector<RowId> order = one.rows(query, table);
    const Cells& p = one.cells[4];
    const auto partition = [&](RowId r) {
      return one.query.partition_by().empty() ? 0 : *p[static_cast<std::size_t>(r)];
    };
    std::int64_t place = 1;
    for (const RowId r : order) {
      if (r == row) break;
      place += partition(r) == partition(row) ? 1 : 0;
    }
    return place <= one.query.offset() ? WhyStage::offset : WhyStage::limit;
  }
  if (query.pick() && keeps(query.pick(std::nullopt))) return WhyStage::pick;
  Query equal = query;
  if (keeps(equal.distinct(false))) return WhyStage::duplicate;
  Query all = query;
  all.distinct(false).at_least(std::nullopt);
  if (all.prefer() && keeps(all.levels(1000))) return WhyStage::dominated;
  Query worst = all;
  if (keeps(worst.nan(Missing::worst).nulls(Missing::worst))) return WhyStage::missing;
  return WhyStage::where;
}

/// Returns true if row a dominates row b: of the two alone, b is not in the answer.
bool dominates(const WhyCase& one, RowId a, RowId b) {
  WhyCase two = one;
  for (Cells& cells : two.cells) {
    cells = {cells[static_cast<std::size_t>(a)], cells[static_cast<std::size_t>(b)]};
  }
  const Missing nulls = one.query.nulls() == Missing::best ? Missing::best : Missing::worst;
  const Query query = Query::from("t").prefer(*one.query.prefer()).nulls(nulls);
  return two.rows(query, two.table()) == std::vector<RowId>{0};
}

void expect_dominators(const WhyCase& one, const WhyNot& why) {
  std::set<RowId> expected;
  Query all = one.query;
  all.distinct(false).pick(std::nullopt).limit(std::nullopt).offset(0).at_least(std::nullopt).levels(1000);
  for (const RowId row : one.rows(all, one.table())) {
    const bool beside = one.query.partition_by().empty() ||
                        one.cells[4][static_cast<std::size_t>(row)] == one.cells[4][static_cast<std::size_t>(why.row)];
    if (beside && dominates(one, row, why.row)) expected.insert(row);
  }
  ASSERT_TRUE(why.num_dominators.has_value());
  EXPECT_EQ(*why.num_dominators, std::ssize(expected));
  EXPECT_EQ(why.dominators.size(), std::min<std::size_t>(10, expected.size()));
  for (const WhyDominator& dominator : why.dominators) {
    EXPECT_TRUE(expected.contains(dominator.row));
    EXPECT_FALSE(dominator.better_in.empty());
    EXPECT_TRUE(dominator.gap > 0 && dominator.gap <= 1) << dominator.gap;
  }
  EXPECT_TRUE(
      std::ranges::is_sorted(why.dominators, {}, [](const WhyDominator& d) { return std::pair(d.gap, d.row); }));
}

/// Tries all values of a grid in place of the row's own one. Returns the number of values that let it in.
int expect_least(const WhyCase& one, RowId row, const WhyChange& change) {
  const auto c = static_cast<std::size_t>(std::ranges::find(one.names, change.term) - one.names.begin());
  int entered = 0;
  bool satisfied = false;
  for (const double value : grid(change.term == "f" || change.term == "x")) {
    WhyCase other = one;
    other.cells[c][static_cast<std::size_t>(row)] = value;
    const bool is_in = other.is_in(row);
    entered += is_in ? 1 : 0;
    if (change.change.empty()) {
      EXPECT_FALSE(is_in) << change.term << " = " << value;
      continue;
    }
    const bool held = holds(change.change, change.term, value);
    satisfied = satisfied || (held && is_in);
    EXPECT_TRUE(held || !is_in) << change.term << " = " << value << " lets the row in without " << change.change;
    // A better value never puts the row out, unless a condition does.
    const bool allowed = std::ranges::all_of(one.conditions, [&](const Comparison& condition) {
      return condition.column != change.term || condition.holds(value) == true;
    });
    const bool is_condition = std::ranges::any_of(one.conditions, [&](const Comparison& condition) {
      return change.change.find(condition.text()) != std::string::npos;
    });
    if (held && allowed && !is_condition) {
      EXPECT_TRUE(is_in) << change.term << " = " << value << " does not let the row in with " << change.change;
    }
  }
  if (!change.change.empty()) {
    EXPECT_TRUE(satisfied) << "nothing on the grid fulfils " << change.change;
  }
  return entered;
}

/// Returns true if a change is not determined as the row has NULL where that is the best value.
bool is_best(const WhyCase& one, RowId row, const WhyChange& change) {
  const auto c = static_cast<std::size_t>(std::ranges::find(one.names, change.term) - one.names.begin());
  return change.unknown == "NULL is the best value" && one.query.nulls() == Missing::best &&
         !one.cells[c][static_cast<std::size_t>(row)];
}

class WhyRandom : public ::testing::TestWithParam<int> {};

TEST_P(WhyRandom, EqualsBruteForce) {
  const Engine engine({.threads = 1, .device = DeviceChoice::cpu});
  std::set<WhyStage> stages;
  int changes = 0;
  int impossible = 0;
  constexpr int kCases = tests::kSlow ? 60 : 150;
  for (int i = 0; i < kCases; ++i) {
    const WhyCase one = random_why_case(static_cast<std::uint64_t>(GetParam() * 1000 + i));
    const Table table = one.table();
    for (RowId row = 0; row < table.num_rows(); row += 2) {
      const WhyNot why = engine.why(one.query, table, row);
      SCOPED_TRACE(described(one, why));
      EXPECT_EQ(why.row, row);
      EXPECT_EQ(why.stage, expected_stage(one, row)) << to_string(expected_stage(one, row));
      stages.insert(why.stage);
      if (one.query.prefer() && why.stage != WhyStage::where && why.stage != WhyStage::missing) {
        expect_dominators(one, why);
      } else {
        EXPECT_FALSE(why.num_dominators.has_value());
      }
      EXPECT_EQ(why.changes.empty(), why.stage == WhyStage::in_answer);
      for (const WhyChange& change : why.changes) {
        // The condition to meet and its violation are no columns, whose values the grid has.
        if (std::ranges::find(one.names, change.term) == one.names.end()) continue;
        EXPECT_TRUE(!one.monotone || change.unknown.empty() || is_best(one, row, change)) << change.unknown;
        if (!change.unknown.empty()) continue;
        const int entered = expect_least(one, row, change);
        EXPECT_EQ(entered > 0, !change.change.empty());
        ++(change.change.empty() ? impossible : changes);
      }
      if (::testing::Test::HasFailure()) return;
    }
  }
  EXPECT_GE(stages.size(), 6U);
  EXPECT_GT(changes, kCases / 2);
  EXPECT_GT(impossible, kCases / 2);
}

INSTANTIATE_TEST_SUITE_P(Seeds, WhyRandom, ::testing::Range(0, 6));

Table hotels() {
  return Table({strings("name", {"Aurora", "Bristol", "Castle", "Drake"}), ints("price", {120, 80, 200, 130}),
                floats("rating", {8.5, 7.0, 9.0, 8.5}), ints("rooms", {10, 0, 5, std::nullopt})});
}

TEST(Why, SaysWhatAPersonUnderstands) {
  const Query query = Query::from("hotels").prefer({low("price"), high("rating")});
  const WhyNot why = Engine().why(query, hotels(), 3);
  EXPECT_EQ(why.stage, WhyStage::dominated);
  EXPECT_EQ(why.num_dominators, 1);
  EXPECT_THAT(why.dominators.front().better_in, ElementsAre("price"));
  EXPECT_EQ(to_string(why),
            "Row 3 is not in the answer: 1 row is at least as good in everything and better in something; with price "
            "<= 120, or with rating > 8.5 it would be in.\n"
            "Better rows, the nearest first:\n"
            "  row 0: better in price\n");
  EXPECT_EQ(to_string(Engine().why(query, hotels(), 2)), "Row 2 is in the answer, at place 3.\n");
}

TEST(Why, NamesConditionsAndMissingValues) {
  const Query query = Query::from("hotels").where("price <= 150 and rooms > 3").prefer({low("price"), high("rooms")});
  const WhyNot dear = Engine().why(query, hotels(), 2);
  EXPECT_THAT(dear.reasons, ElementsAre("price <= 150 is false"));
  EXPECT_EQ(dear.changes.front(), (WhyChange{"price", "price < 120", ""}));
  EXPECT_THAT(Engine().why(query, hotels(), 3).reasons, ElementsAre("rooms > 3 is NULL"));
  const Query excluded = Query::from("hotels").rank_by({high("rooms")}).nulls(Missing::exclude);
  const WhyNot missing = Engine().why(excluded, hotels(), 3);
  EXPECT_EQ(missing.stage, WhyStage::missing);
  EXPECT_THAT(missing.reasons, ElementsAre("rooms is NULL"));
  EXPECT_EQ(missing.changes.front().change, "rooms has a value");
}

TEST(Why, ComparesWithTheLastRowInTheAnswer) {
  const WhyNot why = Engine().why(Query::from("hotels").rank_by({low("price")}).limit(2), hotels(), 2);
  EXPECT_EQ(why.stage, WhyStage::limit);
  EXPECT_EQ(why.place, 4);
  EXPECT_EQ(why.last_row, 0);
  EXPECT_THAT(why.against_last, ElementsAre("price: 200, the last has 120"));
  EXPECT_EQ(why.changes.front().change, "price < 120");
}

TEST(Why, ChangesExpressionsAsAWhole) {
  const Query query = Query::from("hotels").where("rooms > 0").prefer({low("price / rooms")});
  const WhyNot why = Engine().why(query, hotels(), 2);
  ASSERT_EQ(why.changes.size(), 1U);
  EXPECT_EQ(why.changes.front().change, "price / rooms <= 12");
}

TEST(Why, KnowsConditionsOfOneWord) {
  const Table table({Column::own("open", {true, false, false}), ints("price", {3, 2, 1})});
  const WhyNot why = Engine().why(Query::from("t").where("open").rank_by({low("price")}), table, 1);
  EXPECT_THAT(why.reasons, ElementsAre("open is false"));
  EXPECT_EQ(why.changes.back(), (WhyChange{"open", "open", ""}));
  const WhyNot open = Engine().why(Query::from("t").where("not open").rank_by({low("price")}).limit(1), table, 0);
  EXPECT_EQ(open.changes.front().change, "");
  EXPECT_EQ(open.changes.back().change, "");
}

TEST(Why, TellsWhatALongerConditionWouldDo) {
  const Query query = Query::from("hotels").where("name like 'A%' or rooms = 0").rank_by({low("price")});
  const WhyNot why = Engine().why(query, hotels(), 2);
  EXPECT_EQ(why.changes.back().change, "name like 'A%' or rooms = 0");
  EXPECT_EQ(why.changes.front().change, "");
  const auto last = [](const std::string& condition) {
    return Engine()
        .why(Query::from("t").where(Expression(condition)).rank_by({low("price")}), hotels(), 2)
        .changes.back();
  };
  EXPECT_EQ(last("name = 'Drake'"), (WhyChange{"name = 'Drake'", "name = 'Drake'", ""}));
  EXPECT_EQ(last("1 = 2"), (WhyChange{"1 = 2", "", ""}));
  EXPECT_EQ(last("rooms != 5"), (WhyChange{"rooms != 5", "rooms != 5", ""}));
  EXPECT_EQ(last("name = 'Drake' and rooms != 5"), (WhyChange{"rooms != 5", "", ""}));
  // The row would rank elsewhere, too, or fail another condition.
  EXPECT_EQ(last("price * 2 < 300").unknown, "price is also in the term price");
  EXPECT_EQ(last("rooms != 5 and rooms < 9").unknown, "rooms is also in the condition rooms < 9");
}

TEST(Why, SaysWhatItDoesNotDetermine) {
  const auto unknown = [](const Query& query, RowId row) { return Engine().why(query, hotels(), row).changes; };
  const Query both = Query::from("hotels").prefer({low("price"), high("rating")}).rank_by({high("price")}).limit(1);
  EXPECT_THAT(unknown(both, 0).front().unknown, HasSubstr("prefers low values"));
  const Query inside = Query::from("hotels").prefer({low("price"), low("price / 2")});
  EXPECT_THAT(unknown(inside, 0).front().unknown, HasSubstr("also in the term price / 2"));
  EXPECT_THAT(unknown(Query::from("hotels").prefer({around("price", 80)}), 0).front().unknown, HasSubstr("'low'"));
  EXPECT_THAT(unknown(Query::from("hotels").prefer({low("name")}), 1).front().unknown, HasSubstr("strings"));
}

TEST(Why, RefusesWhatItDoesNotSupport) {
  const auto refusal = [](const Query& query, RowId row = 0) -> std::string {
    try {
      Engine().why(query, hotels(), row);
    } catch (const BindError& error) {
      return error.message();
    }
    return "";
  };
  const Query cheap = Query::from("hotels").rank_by({low("price")});
  EXPECT_THAT(refusal(cheap, 4), HasSubstr("there is no row 4"));
  EXPECT_THAT(refusal(cheap, -1), HasSubstr("there is no row -1"));
  EXPECT_THAT(refusal(Query::from("hotels").group_by({"name"}).aggregate({count("n")})), HasSubstr("'group_by'"));
  EXPECT_THAT(refusal(Query(cheap).partition_by({{"even", "price % 2"}})), HasSubstr("'partition_by' of expressions"));
  const Query front = Query::from("hotels").prefer({low("price"), high("rating")});
  EXPECT_THAT(refusal(Query(front).skyband(2)), HasSubstr("'skyband'"));
  EXPECT_THAT(refusal(Query(front).rank_by({high("dominates()")})), HasSubstr("rankings by dominates()"));
  EXPECT_THAT(refusal(Query(cheap).nan(Missing::best)), HasSubstr("'nan: best'"));
  EXPECT_THAT(refusal(Query(cheap).limit(1).ties(Ties::any)), HasSubstr("'ties: any'"));
}

TEST(Why, ReadsSourcesAsAWhole) {
  const Query query = Query::from("hotels").prefer({low("price"), high("rating")});
  const Table table = hotels();
  const auto read = [&](std::size_t unit, std::span<const int>) {
    const std::vector<RowId> rows{static_cast<RowId>(2 * unit), static_cast<RowId>(2 * unit + 1)};
    std::vector<Column> columns;
    for (const Column& column : table.columns()) columns.push_back(take(column, rows));
    return Table(std::move(columns));
  };
  std::vector<Column> schema;
  for (const Column& column : table.columns()) schema.push_back(take(column, {}));
  const auto source = unit_source(Table(std::move(schema)), {{.rows = 2}, {.rows = 2}}, read);
  EXPECT_EQ(Engine().why(query, *source, 3), Engine().why(query, table, 3));
}

/// All types that have least changes, with one value just out of reach of another.
TEST(Why, IsExactForAllTypes) {
  const auto change = [](Column column, bool highest) {
    const std::string name = column.name();
    const Table table({std::move(column)});
    const Query query = Query::from("t").rank_by({highest ? high(name) : low(name)}).limit(1);
    return Engine().why(query, table, 1).changes.front().change;
  };
  EXPECT_EQ(change(Column::own("c", std::vector<std::uint64_t>{kMaxUint64 - 1, 3}), true), "c > 18446744073709551614");
  EXPECT_EQ(change(Column::own("c", std::vector<std::int8_t>{-128, 3}), false), "");
  EXPECT_EQ(change(Column::own("c", std::vector<std::int8_t>{-127, 3}), false), "c < -127");
  EXPECT_EQ(change(Column::own("c", std::vector<float>{0.5F, 1}), false), "c < 0.5");
  EXPECT_EQ(change(Column::own("c", std::vector<double>{kInfinity, 1}), true), "");
  EXPECT_EQ(change(Column::own_as("c", DataType::decimal(5, 2), std::vector<std::int64_t>{150, 175}), false),
            "c < 1.5");
  EXPECT_EQ(change(Column::own("c", std::vector<Date>{{1}, {9}}), false), "c < date '1970-01-02'");
  EXPECT_EQ(change(Column::own("c", {false, true}), false), "");
  EXPECT_EQ(change(Column::own("c", {true, false}), true), "");
}

/// A condition bounds how good a value may be: the other row has the best one that fulfils it, and a higher row id.
TEST(Why, FindsTheEndsOfConditionsForAllTypes) {
  const auto change = [](Column column, const std::string& condition) {
    const Table table({std::move(column)});
    const Query query = Query::from("t").where(Expression(condition)).rank_by({low("c")}).limit(1);
    const WhyNot why = Engine().why(query, table, 0);
    EXPECT_EQ(why.stage, WhyStage::where);
    return why.changes.front().change + why.changes.front().unknown;
  };
  const auto expect = [&](const Column& column, const std::string& condition) {
    EXPECT_EQ(change(column, condition), condition);
  };
  expect(Column::own("c", std::vector<std::int32_t>{1, 3}), "c >= 2.5");
  expect(Column::own("c", std::vector<std::int32_t>{1, 3}), "c > 2.0");
  expect(Column::own("c", std::vector<std::int32_t>{-4, -2}), "c >= -2.5");
  expect(Column::own("c", std::vector<std::int32_t>{1, 3}), "3 = c");
  expect(Column::own("c", std::vector<std::int32_t>{1, 3}), "c between 3 and 9");
  expect(Column::own("c", std::vector<float>{0.05F, 0.1F}), "c >= 0.1");
  expect(Column::own("c", std::vector<float>{0.05F, 0.1F}), "c > 0.1");
  expect(Column::own("c", std::vector<float>{0.5F, std::nextafter(1.0F, 2.0F)}), "c > 1");
  expect(Column::own("c", std::vector<double>{0.05, 0.1}), "c >= 0.1");
  expect(Column::own("c", std::vector<double>{0.05, std::nextafter(0.1, 1.0)}), "c > 0.1");
  expect(Column::own_as("c", DataType::decimal(5, 2), std::vector<std::int64_t>{100, 126}), "c > 1.25");
  expect(Column::own_as("c", DataType::decimal(5, 2), std::vector<std::int64_t>{100, 126}), "c >= 1.255");
  expect(Column::own("c", std::vector<Date>{{1}, {3}}), "c > date '1970-01-03'");
  expect(Column::own_as("c", Type::timestamp, std::vector<std::int64_t>{1, 6}), "c > timestamp '1970-01-01 00:00:05'");
  EXPECT_EQ(change(Column::own("c", std::vector<std::int32_t>{1, 4}), "c >= 2.5"), "c >= 2.5");
  EXPECT_EQ(change(Column::own("c", std::vector<std::int32_t>{1, 2, 3}), "c >= 2 and c < 2"), "");
}

/// An expression changes as a column would that has its values.
TEST(Why, TreatsExpressionsAsColumnsOfTheirValues) {
  Random random(17);
  int changes = 0;
  for (int round = 0; round < 200; ++round) {
    std::vector<std::optional<std::int64_t>> a;
    std::vector<std::optional<std::int64_t>> b;
    std::vector<std::optional<std::int64_t>> total;
    std::vector<std::optional<double>> f;
    for (int i = 0; i < 9; ++i) {
      a.push_back(random.one_in(9) ? std::nullopt : std::optional<std::int64_t>(random.below(6)));
      b.push_back(random.below(6));
      total.push_back(a.back() ? std::optional(*a.back() + *b.back()) : std::nullopt);
      f.push_back(random.one_in(9) ? std::nullopt : std::optional(random.below(8) / 2.0));
    }
    const Table table({ints("a", a), ints("b", b), ints("total", total), floats("f", f)});
    const bool lower = random.one_in(2);
    const std::int64_t limit = random.below(4);
    const auto asked = [&](const std::string& term) {
      Query query = Query::from("t").where("f > 0.5").prefer({lower ? low(term) : high(term), low("f")});
      return query.rank_by({lower ? low(term) : high(term)}).limit(limit);
    };
    for (RowId row = 0; row < 9; ++row) {
      const WhyNot sum = Engine({.threads = 1}).why(asked("a + b"), table, row);
      const WhyNot column = Engine({.threads = 1}).why(asked("total"), table, row);
      EXPECT_EQ(sum.stage, column.stage);
      EXPECT_EQ(sum.num_dominators, column.num_dominators);
      ASSERT_EQ(sum.changes.size(), column.changes.size());
      for (std::size_t i = 0; i < sum.changes.size(); ++i) {
        std::string expected = column.changes[i].change;
        if (expected.starts_with("total")) expected.replace(0, 5, "a + b");
        EXPECT_EQ(sum.changes[i].change, expected);
        changes += expected.starts_with("a + b") ? 1 : 0;
      }
    }
  }
  EXPECT_GT(changes, 100);
}

}  // namespace
}  // namespace skyrank
