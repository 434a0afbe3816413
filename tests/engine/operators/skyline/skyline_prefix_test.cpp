#include "engine/operators/skyline/skyline_prefix.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include "engine/operators/rank/rank.hpp"
#include "engine/operators/skyline/monotone.hpp"
#include "engine/operators/skyline/skyline.hpp"
#include "tests/engine/operator_test.hpp"

namespace skyrank::exec {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

/// A preference and a ranking that is monotone in it, over a table of few, awkward values.
class Case {
 public:
  explicit Case(std::uint64_t seed) : random_(seed), table_(make_table()) {
    Query query = Query::from("t").prefer(make_preference());
    std::vector<RankTerm> ranking{make_score()};
    if (chance(50)) ranking.push_back(high("d"));
    query.rank_by(ranking).limit(1 + random_.below(4)).distinct(chance(30));
    if (chance(40)) query.where("d >= 1");
    bound_ = query::bind(query, query::schema_of(table_));
    preference_ = plan_preference(*bound_.preference);
  }

  const Table& table() const { return table_; }
  const query::BoundQuery& query() const { return bound_; }
  const std::optional<PreferencePlan>& preference() const { return preference_; }
  std::int64_t below(std::int64_t bound) { return random_.below(bound); }

  /// One or two comparisons of sums that are monotone in the preference with numbers.
  std::string condition() {
    std::string text = comparison();
    if (chance(40)) text += (chance(50) ? " and " : " or ") + comparison();
    return text;
  }

 private:
  bool chance(int percent) { return random_.below(100) < percent; }

  Table make_table() {
    const std::int64_t n = 1 + random_.below(40);
    const bool awkward = chance(50);
    std::vector<Column> columns;
    for (const char* name : {"a", "b", "c"}) {
      std::vector<double> values;
      std::vector<bool> valid;
      for (std::int64_t i = 0; i < n; ++i) {
        const std::vector<double> odd{kNaN, kInf, -kInf, -0.0, 1e308, -1e308};
        values.push_back(awkward && chance(25) ? odd[static_cast<std::size_t>(random_.below(6))]
                                               : static_cast<double>(random_.below(6)));
        valid.push_back(!awkward || !chance(10));
      }
      columns.push_back(Column::own(name, values, valid));
    }
    std::vector<std::int32_t> whole;
    for (std::int64_t i = 0; i < n; ++i) whole.push_back(static_cast<std::int32_t>(random_.below(4)));
    columns.push_back(Column::own("d", whole));
    return Table(std::move(columns));
  }

  Preference make_term(const std::string& name) {
    high_[name] = chance(50);
    const bool inverted = chance(20);
    Preference term = high_[name] != inverted ? high(Expression::column(name)) : low(Expression::column(name));
    return inverted ? inverse(term) : term;
  }

  Preference make_preference() {
    std::vector<Preference> terms;
    for (const char* name : {"a", "b", "c", "d"}) {
      if (terms.empty() || chance(70)) terms.push_back(make_term(name));
    }
    Preference all = terms.size() == 1 ? terms.front() : pareto(terms);
    return chance(20) ? prior({all, low("a + b")}) : all;
  }

  RankTerm make_score() {
    const bool score_high = chance(50);
    const Expression score(sum(score_high));
    return score_high ? high(score) : low(score);
  }

  std::string comparison() {
    const bool from_below = chance(50);
    const std::string bound = std::to_string(random_.below(30) - 10);
    const std::string score = sum(from_below);
    if (chance(30)) return bound + (from_below ? " <= " : " > ") + score;
    return score + (from_below ? " > " : " <= ") + bound;
  }

  /// Returns a sum of some of the preference's columns, each with the sign that its direction asks for.
  std::string sum(bool score_high) {
    std::string text;
    for (const auto& [name, is_high] : high_) {
      if (!text.empty() && chance(30)) continue;
      const bool plus = is_high == score_high;
      const std::string factor = std::to_string(1 + random_.below(3)) + ".5 * ";
      text += text.empty() ? (plus ? "" : "-") : (plus ? " + " : " - ");
      text += factor + name;
    }
    return chance(20) ? "(" + text + ") / 2.0 - 3.0" : text;
  }

  Random random_;
  std::map<std::string, bool> high_;
  Table table_;
  query::BoundQuery bound_;
  std::optional<PreferencePlan> preference_;
};

std::set<RowId> skyline(const PreferencePlan& preference, const Table& table, const RowSet& rows) {
  const ExecutionContext context;
  SkylineSolver solver(preference, context, std::max<std::int64_t>(rows.size(), 1));
  StepReports reports(solver.num_steps());
  const SkylineKeys keys = make_skyline_keys(preference, table, rows);
  std::set<RowId> best;
  for (const std::int64_t position : solver.best(keys, reports)) best.insert(rows.view()[position]);
  return best;
}

/// Places of all rows in the ranking by its first term: equal scores have equal places.
std::vector<std::uint64_t> scores(const query::BoundQuery& query, const Table& table) {
  const std::vector<Keys> keys = make_rank_keys({query.ranking.front()}, table, RowSet::all(table.num_rows()));
  std::vector<std::uint64_t> result;
  for (std::int64_t row = 0; row < table.num_rows(); ++row) result.push_back(key_at(keys.front(), row));
  return result;
}

TEST(SkylinePrefix, HaveAllTheirDominatorsAmongThemAndTheBestScores) {
  int found_some = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE(seed);
    Case random(seed);
    const Table& table = random.table();
    ASSERT_EQ(why_no_skyline_prefix(random.query(), random.preference(), table), std::nullopt)
        << random.query().ranking.front().expression.text;
    const RowSet passing = random.query().condition
                               ? RowSet::listed(filter(*random.query().condition, table, all_rows(table)))
                               : RowSet::all(table.num_rows());
    const kernels::TopKShape shape = skyline_prefix_shape(random.query(), table, 1 + random.below(table.num_rows()));
    const ExecutionContext context;
    Report report;
    const auto path = planner::choose(shape, context.constraints, context.machine);
    const auto found = find_skyline_prefix(random.query(), table, shape, path, {}, context, report);
    if (!found) continue;
    ++found_some;
    const std::set<RowId> skyline_prefix(found->rows.begin(), found->rows.end());
    ASSERT_EQ(skyline_prefix.size(), found->rows.size());
    ASSERT_TRUE(std::ranges::is_sorted(found->rows));
    const std::vector<std::uint64_t> score = scores(random.query(), table);
    std::uint64_t worst = 0;
    for (const RowId row : skyline_prefix) worst = std::max(worst, score[static_cast<std::size_t>(row)]);
    for (std::int64_t i = 0; i < passing.size(); ++i) {
      const RowId row = passing.view()[i];
      if (skyline_prefix.contains(row)) continue;
      EXPECT_FALSE(found->all);
      EXPECT_GT(score[static_cast<std::size_t>(row)], worst);
    }
    std::set<RowId> expected;
    for (const RowId row : skyline(*random.preference(), table, passing)) {
      if (skyline_prefix.contains(row)) expected.insert(row);
    }
    EXPECT_EQ(skyline(*random.preference(), table, RowSet::listed(found->rows)), expected);
    if (testing::Test::HasFailure()) break;
  }
  EXPECT_GT(found_some, 1500);
}

TEST(Monotone, ConditionsThatKeepWhatIsPreferredMayComeAfterTheSkyline) {
  for (std::uint64_t seed = 0; seed < 3000 && !testing::Test::HasFailure(); ++seed) {
    Case random(seed);
    const std::string text = random.condition();
    SCOPED_TRACE(std::to_string(seed) + ": " + text);
    const Table& table = random.table();
    const query::BoundExpression condition = bound(text, table);
    ASSERT_TRUE(Monotone(*random.preference()).keeps_preferred(condition));
    const Vector<RowId> passing = filter(condition, table, all_rows(table));
    std::set<RowId> expected;
    for (const RowId row : skyline(*random.preference(), table, RowSet::all(table.num_rows()))) {
      if (std::ranges::binary_search(passing, row)) expected.insert(row);
    }
    EXPECT_EQ(skyline(*random.preference(), table, RowSet::listed(passing)), expected);
  }
}

TEST(Monotone, OtherConditionsMayNot) {
  const Table table({Column::own("x", std::vector<double>{1}), Column::own("y", std::vector<double>{1}),
                     Column::own("j", std::vector<double>{1})});
  const query::BoundQuery query = query::bind(Query::from("t").prefer({low("x"), high("y")}), query::schema_of(table));
  const Monotone monotone(plan_preference(*query.preference));
  for (const char* text : {"x <= 1", "y > 1 and x - y < 3", "1 >= x or y >= 2", "2 * x - 3 <= 4"}) {
    EXPECT_TRUE(monotone.keeps_preferred(bound(text, table))) << text;
  }
  for (const char* text : {"x > 1", "x = 1", "j <= 1", "x <= 1 and j <= 1", "not (x > 1)", "x <= y", "x + y < 1",
                           "x is not null", "x between 0 and 1", "x * y < 1"}) {
    EXPECT_FALSE(monotone.keeps_preferred(bound(text, table))) << text;
  }
}

std::optional<std::string> why(const Query& query) {
  static const Table table({Column::own("x", std::vector<double>{1}), Column::own("y", std::vector<double>{1}),
                            Column::own("i", std::vector<std::int32_t>{1}),
                            Column::own("j", std::vector<std::int32_t>{1})});
  const query::BoundQuery bound = query::bind(query, query::schema_of(table));
  std::optional<PreferencePlan> preference;
  if (bound.preference) preference = plan_preference(*bound.preference);
  return why_no_skyline_prefix(bound, preference, table);
}

Query best_of(std::vector<RankTerm> ranking) {
  return Query::from("t").prefer({low("x"), high("y"), low("i")}).rank_by(std::move(ranking)).limit(1);
}

TEST(SkylinePrefix, AreForMonotoneRankings) {
  for (const char* score : {"x", "i", "x - y", "x - 2 * y + i / 4.0", "-(y - x)", "3 + x", "0.5 * i + x"}) {
    EXPECT_EQ(why(best_of({low(Expression(score))})), std::nullopt) << score;
  }
  EXPECT_EQ(why(best_of({high("y - x"), low("j")})), std::nullopt);
  for (const char* score :
       {"y", "x + y", "-x", "j", "x * x", "x * 0", "abs(x)", "x - y + j", "case when x > 1 then x end"}) {
    EXPECT_NE(why(best_of({low(Expression(score))})), std::nullopt) << score;
  }
  EXPECT_NE(why(best_of({high("x")})), std::nullopt);
}

TEST(SkylinePrefix, AreNotForQueriesThatNeedTheRest) {
  EXPECT_NE(why(best_of({low("x")}).levels(2)), std::nullopt);
  EXPECT_NE(why(best_of({low("x")}).at_least(5)), std::nullopt);
  EXPECT_NE(why(best_of({low("x")}).partition_by({"j"})), std::nullopt);
  EXPECT_NE(why(best_of({low("x")}).nulls(Missing::exclude)), std::nullopt);
  EXPECT_EQ(why(best_of({low("x")}).nulls(Missing::best)), "NULL comes first");
  EXPECT_NE(why(best_of({low("x"), low("i + j")})), std::nullopt) << "may overflow";
  EXPECT_NE(why(best_of({low("i + i")})), std::nullopt) << "may overflow";
  EXPECT_NE(why(Query::from("t").prefer({low("x")}).rank_by({low("x")})), std::nullopt) << "no limit";
  EXPECT_NE(why(Query::from("t").rank_by({low("x")}).limit(1)), std::nullopt) << "no skyline";
}

}  // namespace
}  // namespace skyrank::exec
