#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include <skyrank/batch.hpp>

#include "engine/query/locations.hpp"
#include "engine/text.hpp"

// SQL statements beside the queries of the builder that they mean.
namespace skyrank {
namespace {

using namespace std::string_literals;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Statement {
  const char* sql;
  Query query;
};

Query from(const char* table) { return Query::from(table); }

Query skyline(Preference preference) { return from("t").prefer(std::move(preference)); }

std::vector<SelectItem> columns(const std::vector<std::string>& names) {
  std::vector<SelectItem> items;
  for (const std::string& name : names) items.push_back({name, Expression::column(name)});
  return items;
}

std::vector<Statement> clauses() {
  return {
      {"SELECT * FROM t ORDER BY a", from("t").rank_by({low("a")})},
      {"select * from t order by a desc, b asc, c", from("t").rank_by({high("a"), low("b"), low("c")})},
      {"SELECT * FROM t ORDER BY a DESC NULLS LAST", from("t").rank_by({high("a")})},
      {"SELECT * FROM t ORDER BY a DESC NULLS FIRST, b nulls first",
       from("t").rank_by({high("a"), low("b")}).nulls(Missing::best)},
      {"SELECT * FROM t PREFERRING LOW a ORDER BY a NULLS FIRST OPTIONS (nulls = best)",
       from("t").prefer(low("a")).rank_by({low("a")}).nulls(Missing::best)},
      {"SELECT * FROM t ORDER BY a NULLS FIRST OPTIONS (nulls = exclude)",
       from("t").rank_by({low("a")}).nulls(Missing::exclude)},
      {"SELECT * FROM 'a b/hotels.csv' ORDER BY a", from("a b/hotels.csv").rank_by({low("a")})},
      {"SELECT * FROM \"my \"\"table\"\"\" ORDER BY \"two words\"",
       from("my \"table\"").rank_by({low(Expression::column("two words"))})},
      {"SELECT * FROM t ORDER BY `two words`;", from("t").rank_by({low("`two words`")})},
      {"SELECT a, 2 * b, c AS d, e AS \"f g\" FROM t ORDER BY a",
       from("t").rank_by({low("a")}).select({{"a", "a"}, {"2 * b", "2 * b"}, {"d", "c"}, {"f g", "e"}})},
      {"SELECT row, level, score() FROM t ORDER BY a",
       from("t").rank_by({low("a")}).select({"row", "level", "score()"})},
      {"SELECT * FROM t WHERE a <= 3 AND b IN ('x', 'y') OR NOT c IS NULL ORDER BY a",
       from("t").where("a <= 3 and b in ['x', 'y'] or not c is null").rank_by({low("a")})},
      {"SELECT * FROM t WHERE CASE WHEN a <> 1 THEN 2 ELSE 3 END = 2 ORDER BY a",
       from("t").where("case when a != 1 then 2 else 3 end = 2").rank_by({low("a")})},
      {"SELECT * FROM t -- all of it\nORDER /* the */ BY a", from("t").rank_by({low("a")})},
      {"SELECT * FROM t WHERE a = '--' ORDER BY a", from("t").where("a = '--'").rank_by({low("a")})},
      {"SELECT * FROM t ORDER BY a LIMIT 5 OFFSET 2", from("t").rank_by({low("a")}).limit(5).offset(2)},
      {"SELECT * FROM t ORDER BY a LIMIT 5 WITH TIES", from("t").rank_by({low("a")}).limit(5).ties(Ties::all)},
      {"SELECT * FROM t PARTITION BY a, b ORDER BY c LIMIT 1",
       from("t").partition_by({"a", "b"}).rank_by({low("c")}).limit(1)},
      {"SELECT * FROM t PREFERRING LOW a LEVELS 2", skyline(low("a")).levels(2)},
      {"SELECT * FROM t PREFERRING LOW a SKYBAND 2", skyline(low("a")).skyband(2)},
      {"SELECT * FROM t PREFERRING LOW a Skyband All", skyline(low("a")).skyband(kAllRows)},
      {"SELECT * FROM t PREFERRING LOW pick SKYBAND 3 PICK 2 ORDER BY Dominates() DESC",
       skyline(low("pick")).skyband(3).pick(Pick{2, Pick::By::distance, {}}).rank_by({high("dominates()")})},
      {"SELECT Dominates( ) AS d, CONTRIBUTION(1, -0.5) FROM t PREFERRING LOW a ORDER BY level(), d DESC, skyband",
       skyline(low("a"))
           .rank_by({low("level()"), high("dominates()"), low("skyband")})
           .select({{"d", "dominates()"}, {"contribution(1, -0.5)", "contribution(1, -0.5)"}})},
      {"SELECT * FROM t PREFERRING LOW a AT LEAST 20", skyline(low("a")).at_least(20)},
      {"SELECT * FROM t PREFERRING DISTINCT LOW a", skyline(low("a")).distinct(true)},
      {"SELECT price * 2 AS p FROM t ORDER BY p, (p)",
       from("t").rank_by({low("price * 2"), low("p")}).select({{"p", "price * 2"}})},
      {"SELECT * FROM t ORDER BY (1)", from("t").rank_by({low("1")})},
  };
}

std::vector<Statement> preferences() {
  return {
      {"SELECT * FROM t PREFERRING LOW a PLUS HIGH b + c PLUS HIGH d",
       from("t").prefer({low("a"), high("b + c"), high("d")})},
      {"SELECT * FROM t PREFERRING LOW a PRIOR TO HIGH b PRIOR TO LOW c",
       skyline(prior({low("a"), high("b"), low("c")}))},
      {"SELECT * FROM t PREFERRING LOW a PRIOR TO HIGH b PLUS LOW c",
       skyline(prior({low("a"), pareto({high("b"), low("c")})}))},
      {"SELECT * FROM t PREFERRING (LOW a PRIOR TO HIGH b) PLUS LOW c",
       skyline(pareto({prior({low("a"), high("b")}), low("c")}))},
      {"SELECT * FROM t PREFERRING a AROUND 1.5 PLUS (a + b) AROUND -INFINITY",
       skyline(pareto({around("a", 1.5), around("a + b", -kInfinity)}))},
      {"SELECT * FROM t PREFERRING a AROUND DATE '2017-05-01'", skyline(around("a", Date{17287}))},
      {"SELECT * FROM t PREFERRING a BETWEEN 3 AND 5", skyline(between("a", std::int64_t{3}, std::int64_t{5}))},
      {"SELECT * FROM t PREFERRING a BETWEEN 3 AND NULL", skyline(between("a", std::int64_t{3}, Null{}))},
      {"SELECT * FROM t PREFERRING city IN ('Oslo', 'Aarhus') ELSE ('Bergen')",
       skyline(in("city", {{"Oslo"s, "Aarhus"s}, {"Bergen"s}}))},
      {"SELECT * FROM t PREFERRING (city IN ('Oslo') ELSE ('Bergen')) PLUS LOW a",
       skyline(pareto({in("city", {{"Oslo"s}, {"Bergen"s}}), low("a")}))},
      {"SELECT * FROM t PREFERRING a > 3 PLUS b IS NULL PLUS NOT c",
       skyline(pareto({where("a > 3"), where("b is null"), where("not c")}))},
      {"SELECT * FROM t PREFERRING WHERE a IN (1, 2) PLUS WHERE b",
       skyline(pareto({where("a in [1, 2]"), where("b")}))},
      {"SELECT * FROM t PREFERRING a NOT IN (1, 2)", skyline(where("a not in [1, 2]"))},
      {"SELECT * FROM t PREFERRING INVERSE (LOW a PLUS LOW b)", skyline(inverse(pareto({low("a"), low("b")})))},
      {"SELECT * FROM t PREFERRING INVERSE LOW a PLUS LOW b", skyline(pareto({inverse(low("a")), low("b")}))},
      {"SELECT * FROM t PREFERRING PARETO (LOW a) PRIOR TO PRIOR (LOW b)",
       skyline(prior({pareto({low("a")}), prior({low("b")})}))},
      {"SELECT * FROM t PREFERRING PARETO (LOW a, LOW b PRIOR TO LOW c)",
       skyline(pareto({low("a"), prior({low("b"), low("c")})}))},
      {"SELECT * FROM t PREFERRING ((((LOW a))))", skyline(low("a"))},
      {"SELECT * FROM t PREFERRING LOW \"low\" PLUS HIGH \"plus\"", skyline(pareto({low("low"), high("plus")}))},
      {"SELECT low, high FROM t ORDER BY low", from("t").rank_by({low("low")}).select({"low", "high"})},
      {"SELECT * FROM t SKYLINE OF price MIN, rating MAX, city DIFF",
       from("t").prefer({low("price"), high("rating")}).partition_by({"city"})},
      {"SELECT * FROM t SKYLINE OF DISTINCT price, max(a, b) MAX",
       from("t").prefer({low("price"), high("max(a, b)")}).distinct(true)},
      {"SELECT * FROM t SKYLINE OF price", skyline(low("price"))},
      {"SELECT * FROM t PREFERRING LOW a STEP 5 PLUS HIGH b + 1 STEP 0.5 PLUS INVERSE LOW c STEP 10 %",
       skyline(pareto({step(low("a"), std::int64_t{5}), step(high("b + 1"), 0.5), inverse(step(low("c"), "10%"s))}))},
      {"SELECT * FROM t PREFERRING LOW step STEP '7d'", skyline(step(low("step"), "7d"s))},
      {"SELECT * FROM t PREFERRING LOW a PLUS LOW b FEASIBLE w <= 10 AND p <= 5 VIOLATION w - 10, p LEVELS 2",
       skyline(feasible("w <= 10 and p <= 5", {"w - 10", "p"}, pareto({low("a"), low("b")}))).levels(2)},
      {"SELECT * FROM t PREFERRING DISTINCT LOW feasible FEASIBLE violation VIOLATION violation",
       skyline(feasible("violation", {"violation"}, low("feasible"))).distinct(true)},
      {"SELECT * FROM t PREFERRING LOW pick LEVELS 2 PICK 3 BY COVERAGE ORDER BY pick LIMIT 2",
       skyline(low("pick")).levels(2).pick(Pick{3, Pick::By::coverage, {}}).rank_by({low("pick")}).limit(2)},
      {"SELECT * FROM t SKYLINE OF a, b MAX PARTITION BY c PICK 5",
       from("t").prefer({low("a"), high("b")}).partition_by({"c"}).pick(Pick{5, Pick::By::distance, {}})},
      {"SELECT * FROM t PREFERRING LOW a PLUS HIGH b PICK 5 BY HYPERVOLUME REFERENCE (200, -0.5)",
       from("t").prefer({low("a"), high("b")}).pick(Pick{5, Pick::By::hypervolume, {200, -0.5}})},
      {"SELECT * FROM t PREFERRING LOW a PLUS HIGH b WEIGHTED BY a >= b, a <= 3 * b FEASIBLE c",
       skyline(feasible("c", {}, weighted({low("a"), high("b")}, {"a >= b", "a <= 3 * b"})))},
      {"SELECT * FROM t SKYLINE OF weighted, b MAX WEIGHTED BY weighted >= 2 * b",
       skyline(weighted({low("weighted"), high("b")}, {"weighted >= 2 * b"}))},
      {"SELECT * FROM t SKYLINE OF a MIN, b MAX FEASIBLE c IN (1, 2)",
       skyline(feasible("c in [1, 2]", {}, pareto({low("a"), high("b")})))},
  };
}

Query groups() { return from("t").group_by({"uid"}); }

std::vector<Statement> aggregates() {
  return {
      {"SELECT uid, COUNT(*) AS n, MAX(a) AS m FROM t GROUP BY uid ORDER BY n DESC",
       groups().aggregate({count("n"), max("m", "a")}).rank_by({high("n")}).select(columns({"uid", "n", "m"}))},
      {"SELECT avg(a + b), Sum(min(a, b)) FROM t GROUP BY uid",
       groups()
           .aggregate({avg("avg(a + b)", "a + b"), sum("sum(min(a, b))", "min(a, b)")})
           .select(columns({"avg(a + b)", "sum(min(a, b))"}))},
      {"SELECT uid FROM t GROUP BY uid ORDER BY COUNT(*) DESC",
       groups().aggregate({count("count(*)")}).rank_by({high(Expression::column("count(*)"))}).select({"uid"})},
      {"SELECT uid, COUNT(a) AS n FROM t GROUP BY uid PREFERRING HIGH COUNT(a) PLUS LOW MIN(b)",
       groups()
           .aggregate({count("n", "a"), min("min(b)", "b")})
           .prefer({high("n"), low(Expression::column("min(b)"))})
           .select(columns({"uid", "n"}))},
      {"SELECT COUNT(*), MAX(a) AS m FROM t",
       from("t").aggregate({count("count(*)"), max("m", "a")}).select(columns({"count(*)", "m"}))},
      {"SELECT SUM(a) / COUNT(*) AS m, COUNT(*) AS n FROM t WHERE b > 1",
       from("t")
           .where("b > 1")
           .aggregate({sum("sum(a)", "a"), count("count(*)"), count("n")})
           .select({{"m", "`sum(a)` / `count(*)`"}, {"n", "n"}})},
      {"SELECT uid,  ROUND( AVG(a)\n / 2 ) FROM t GROUP BY uid",
       groups()
           .aggregate({avg("avg(a)", "a")})
           .select({{"uid", "uid"}, {"ROUND( AVG(a) / 2 )", "round(`avg(a)` / 2)"}})},
      {"SELECT COUNT(*) + 1 AS m, COUNT(*) FROM t",
       from("t").aggregate({count("count(*)")}).select({{"m", "`count(*)` + 1"}, {"count(*)", "`count(*)`"}})},
      {"SELECT uid FROM t GROUP BY uid HAVING COUNT(*) > 3 AND NOT MAX(a) IS NULL ORDER BY -SUM(b), max(sum(b), uid)",
       groups()
           .aggregate({count("count(*)"), max("max(a)", "a"), sum("sum(b)", "b")})
           .having("`count(*)` > 3 and not `max(a)` is null")
           .rank_by({low("-`sum(b)`"), low("max(`sum(b)`, uid)")})
           .select({"uid"})},
      {"SELECT uid, SUM(a) / 2 AS half FROM t GROUP BY uid HAVING half > 3 ORDER BY half",
       groups()
           .aggregate({sum("sum(a)", "a")})
           .having("`sum(a)` / 2 > 3")
           .rank_by({low("`sum(a)` / 2")})
           .select({{"uid", "uid"}, {"half", "`sum(a)` / 2"}})},
      {"SELECT uid FROM t GROUP BY uid HAVING uid IN (1, 2) PREFERRING HIGH COUNT(*) PLUS LOW SUM(a) - COUNT(*)",
       groups()
           .aggregate({count("count(*)"), sum("sum(a)", "a")})
           .having("uid in [1, 2]")
           .prefer({high("`count(*)`"), low("`sum(a)` - `count(*)`")})
           .select({"uid"})},
      {"SELECT MAX(a, SUM(b)) AS m FROM t GROUP BY a",
       from("t").group_by({"a"}).aggregate({sum("sum(b)", "b")}).select({{"m", "max(a, `sum(b)`)"}})},
      {"SELECT * FROM t GROUP BY uid AGGREGATE COUNT(*) AS n HAVING n > 1",
       groups().aggregate({count("n")}).having("n > 1")},
      {"SELECT * FROM t GROUP BY uid AGGREGATE COUNT(*) AS n, MIN(a)",
       groups().aggregate({count("n"), min("min(a)", "a")})},
  };
}

std::vector<Statement> named_keys() {
  const Query months = from("t").group_by({{"m", "month(d)"}}).aggregate({count("n")}).select(columns({"m", "n"}));
  const Query best = from("t").partition_by({"b", {"m", "month(d)"}}).rank_by({high("a")}).limit(1);
  return {
      {"SELECT month(d) AS m, COUNT(*) AS n FROM t GROUP BY m", months},
      {"SELECT m, COUNT(*) AS n FROM t GROUP BY month(d) AS m", months},
      {"SELECT month(d) AS m, COUNT(*) AS n FROM t GROUP BY uid, m ORDER BY m DESC",
       Query(months).group_by({"uid", {"m", "month(d)"}}).rank_by({high("m")})},
      {"SELECT d AS m, COUNT(*) AS n FROM t GROUP BY m", Query(months).group_by({{"m", "d"}})},
      {"SELECT month(d) AS m, COUNT(*) AS n FROM t GROUP BY month(d)",
       Query(months).group_by({"month(d)"}).select({SelectItem{"m", "month(d)"}, SelectItem{"n", "n"}})},
      // The name is a column's, too, which comes first, as in other dialects.
      {"SELECT lower(city) AS city, COUNT(*) AS n FROM t GROUP BY city",
       Query(months).group_by({"city"}).select({SelectItem{"city", "lower(city)"}, SelectItem{"n", "n"}})},
      {"SELECT month(d) AS m, COUNT(*) AS n FROM t GROUP BY (m)",
       Query(months).group_by({"m"}).select({SelectItem{"m", "month(d)"}, SelectItem{"n", "n"}})},
      {"SELECT month(d) AS m, COUNT(*) AS n FROM t GROUP BY m, b PARTITION BY m, n ORDER BY b LIMIT 1",
       Query(months).group_by({{"m", "month(d)"}, "b"}).partition_by({"m", "n"}).rank_by({low("b")}).limit(1)},
      {"SELECT * FROM t PARTITION BY b, month(d) AS m ORDER BY a DESC LIMIT 1", best},
      {"SELECT month(d) AS m, a FROM t PARTITION BY b, m ORDER BY a DESC LIMIT 1", Query(best).select({"m", "a"})},
      {"SELECT * FROM t GROUP BY a + b AS \"the sum\" AGGREGATE COUNT(*) AS n",
       from("t").group_by({{"the sum", "a + b"}}).aggregate({count("n")})},
  };
}

/// Statements in the words of other dialects of SQL.
std::vector<Statement> dialects() {
  const RankTerm nothing(Expression::literal(std::int64_t{0}), false);
  Query best = from("t");
  best.partition_by({"b"}).rank_by({high("a"), low("c")}).limit(3);
  return {
      {"SELECT * FROM t", from("t").rank_by({nothing})},
      {"SELECT a FROM t WHERE b > 2 LIMIT 5 OFFSET 1",
       from("t").where("b > 2").rank_by({nothing}).limit(5).offset(1).select({"a"})},
      {"SELECT a b, sum(c) \"the sum\", d FROM t GROUP BY b, d",
       from("t").group_by({{"b", "a"}, "d"}).aggregate({sum("the sum", "c")}).select(columns({"b", "the sum", "d"}))},
      {"SELECT a, a + b FROM t ORDER BY 2 DESC, 1",
       from("t").rank_by({high("a + b"), low("a")}).select({{"a", "a"}, {"a + b", "a + b"}})},
      {"SELECT a, sum(b) FROM t GROUP BY 1 ORDER BY 2", from("t")
                                                            .group_by({"a"})
                                                            .aggregate({sum("sum(b)", "b")})
                                                            .rank_by({low(Expression::column("sum(b)"))})
                                                            .select(columns({"a", "sum(b)"}))},
      {"SELECT month(d) AS m, COUNT(*) AS n FROM t GROUP BY 1",
       from("t").group_by({{"m", "month(d)"}}).aggregate({count("n")}).select(columns({"m", "n"}))},
      {"SELECT * FROM t GROUP BY (1), a", from("t").group_by({Expression::literal(std::int64_t{1}), "a"})},
      {"SELECT DISTINCT a, lower(b) AS c FROM t ORDER BY c LIMIT 2",
       from("t").group_by({"a", {"c", "lower(b)"}}).rank_by({low("c")}).limit(2).select(columns({"a", "c"}))},
      {"SELECT distinct FROM t ORDER BY \"distinct\"",
       from("t").rank_by({low("`distinct`")}).select(columns({"distinct"}))},
      {"SELECT * FROM t QUALIFY row_number() OVER (PARTITION BY b ORDER BY a DESC, c) <= 3", best},
      {"SELECT * FROM t WHERE a > 1 qualify Row_Number( ) over (ORDER BY a NULLS LAST) < 3",
       from("t").where("a > 1").rank_by({low("a")}).limit(2)},
      {"SELECT * FROM t PREFERRING LOW x QUALIFY ROW_NUMBER() OVER (PARTITION BY month(d) AS m ORDER BY a) = 1",
       skyline(low("x")).partition_by({{"m", "month(d)"}}).rank_by({low("a")}).limit(1)},
  };
}

std::vector<Statement> names_of_tables() {
  return {
      {"SELECT h.a, h.b + h.c AS d FROM t AS h WHERE h.a > 1 ORDER BY h.b",
       from("t").where("a > 1").rank_by({low("b")}).select({{"a", "a"}, {"d", "b + c"}})},
      {"SELECT hotels.* FROM 'folder/hotels.csv' ORDER BY hotels.\"two words\"",
       from("folder/hotels.csv").rank_by({low("`two words`")})},
      {"SELECT t.a, sum(t.b) + 1 FROM t GROUP BY t.a", from("t")
                                                           .group_by({"a"})
                                                           .aggregate({sum("sum(b)", "b")})
                                                           .select({{"a", "a"}, {"sum(t.b) + 1", "`sum(b)` + 1"}})},
      {"SELECT * FROM t h ORDER BY a", from("t").rank_by({low("a")})},
      {"SELECT * FROM t \"the table\" ORDER BY `the table`.a", from("t").rank_by({low("a")})},
      {"SELECT 'h.a' AS x FROM t h PREFERRING LOW h.a PLUS HIGH H.b AT LEAST 3",
       skyline(pareto({low("a"), high("b")})).at_least(3).select({{"x", "'h.a'"}})},
      {"SELECT * FROM t SKYLINE OF t.a MIN", skyline(low("a"))},
  };
}

std::vector<Statement> sub_selects() {
  const RankTerm nothing(Expression::literal(std::int64_t{0}), false);
  Query best = from("t");
  best.partition_by({"b"}).rank_by({high("a"), low("c")}).limit(3);
  Query groups = from("t");
  groups.where("a > 1").group_by({"b"}).aggregate({count("n"), sum("sum(a)", "a")}).having("n > 2 and `sum(a)` < 9");
  Query chosen = best;
  chosen.where("c > 0").select({{"a", "a"}, {"double", "b * 2"}});
  return {
      {"SELECT * FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY b ORDER BY a DESC, c) AS r FROM t) WHERE r <= 3",
       best},
      {"SELECT * FROM (SELECT *, row_number() over (partition by b order by a desc, c) n FROM t) x WHERE 4 > x.n",
       best},
      {"SELECT x.* FROM (SELECT *, row_number() over (partition by t.b order by t.a desc, c) AS n FROM t) AS x WHERE n "
       "BETWEEN "
       "1 AND 3",
       best},
      {"SELECT a, d AS \"double\" FROM (SELECT a, b * 2 AS d, row_number() over (partition by b order by a desc, c) AS "
       "n FROM "
       "t WHERE c > 0) WHERE n <= 3",
       chosen},
      {"SELECT * FROM (SELECT a, b + c AS s FROM t WHERE a > 1 OR b > 1) WHERE s < 5 ORDER BY s DESC LIMIT 2",
       from("t")
           .where("(a > 1 or b > 1) and b + c < 5")
           .rank_by({high("b + c")})
           .limit(2)
           .select({{"a", "a"}, {"s", "b + c"}})},
      {"SELECT s, a + 1 AS a FROM (SELECT a, b + c AS s FROM t) ORDER BY a, 1",
       from("t").rank_by({low("a + 1"), low("b + c")}).select({{"s", "b + c"}, {"a", "a + 1"}})},
      {"SELECT y, sum(x) AS s FROM (SELECT year(d) AS y, a * b AS x FROM t) GROUP BY y HAVING s > 1 ORDER BY s DESC",
       from("t")
           .group_by({"year(d)"})
           .aggregate({sum("s", "a * b")})
           .having("s > 1")
           .rank_by({high("s")})
           .select({{"y", "year(d)"}, {"s", "s"}})},
      {"SELECT * FROM (SELECT b, COUNT(*) AS n FROM t WHERE a > 1 GROUP BY b HAVING COUNT(*) > 2 AND SUM(a) < 9) "
       "PREFERRING LOW n",
       Query(groups).prefer(low("n")).select(columns({"b", "n"}))},
      {"SELECT n FROM (SELECT b, COUNT(*) AS n, SUM(a) AS s FROM t GROUP BY b) WHERE n > 2 AND s < 9 ORDER BY s",
       from("t")
           .group_by({"b"})
           .aggregate({count("n"), sum("s", "a")})
           .having("n > 2 and s < 9")
           .rank_by({low("s")})
           .select(columns({"n"}))},
      {"SELECT * FROM (SELECT * FROM (SELECT a, b FROM t WHERE a > 1) WHERE b > 2) WHERE a < 9 LIMIT 1",
       from("t").where("a > 1 and b > 2 and a < 9").rank_by({nothing}).limit(1).select({"a", "b"})},
      {"SELECT DISTINCT s FROM (SELECT a % 3 AS s FROM t) ORDER BY s",
       from("t").group_by({{"s", "a % 3"}}).rank_by({low("s")}).select(columns({"s"}))},
  };
}

std::vector<Statement> options() {
  ForcedPath path;
  path.algorithms = {"bnl", "sfs"};
  path.device = DeviceChoice::cpu;
  path.without = {"fusion"};
  path.parameters = {{"block", -3}, {"threads", 4}};
  return {
      {"SELECT * FROM t ORDER BY a OPTIONS (name = 'good-deals', ties = last, nan = exclude, nulls = 'ERROR')",
       from("t").rank_by({low("a")}).name("good-deals").ties(Ties::last).nan(Missing::exclude).nulls(Missing::error)},
      {"SELECT * FROM t ORDER BY a OPTIONS (timeout = '1.5s')",
       from("t").rank_by({low("a")}).timeout(std::chrono::milliseconds(1500))},
      {"SELECT * FROM t ORDER BY a OPTIONS (algorithm = ('bnl', sfs), device = CPU, without = fusion, "
       "parameters = (block = -3, 'threads' = 4))",
       from("t").rank_by({low("a")}).using_path(path)},
  };
}

void expect_queries(const std::vector<Statement>& statements) {
  for (const Statement& statement : statements) {
    SCOPED_TRACE(statement.sql);
    const Query parsed = Query::parse(statement.sql);
    EXPECT_TRUE(parsed == statement.query) << to_sql(parsed);
    const std::string text = to_sql(statement.query);
    EXPECT_TRUE(Query::parse(text) == statement.query) << text;
  }
}

TEST(Sql, ClausesMeanWhatTheBuilderSays) { expect_queries(clauses()); }
TEST(Sql, PreferencesMeanWhatTheBuilderSays) { expect_queries(preferences()); }
TEST(Sql, AggregatesMeanWhatTheBuilderSays) { expect_queries(aggregates()); }
TEST(Sql, NamedKeysMeanWhatTheBuilderSays) { expect_queries(named_keys()); }
TEST(Sql, WordsOfOtherDialectsMeanWhatTheBuilderSays) { expect_queries(dialects()); }
TEST(Sql, NamesOfTablesBeforeColumnsSayNothingMore) { expect_queries(names_of_tables()); }
TEST(Sql, SubSelectsMeanWhatTheBuilderSays) { expect_queries(sub_selects()); }
TEST(Sql, OptionsMeanWhatTheBuilderSays) { expect_queries(options()); }

TEST(Sql, IsPrintedOneClauseALine) {
  const Query query = from("hotels.parquet")
                          .where("price <= 250 and city in ['Oslo', 'Aarhus']")
                          .prefer({low("price"), prior({high("rating"), around("distance", 1.5)})})
                          .partition_by({"city"})
                          .levels(2)
                          .rank_by({high("rating"), low("order")})
                          .limit(20)
                          .ties(Ties::all)
                          .select({"name", "price"});
  EXPECT_EQ(to_sql(query),
            "SELECT name, price\n"
            "FROM 'hotels.parquet'\n"
            "WHERE price <= 250 AND city IN ('Oslo', 'Aarhus')\n"
            "PREFERRING LOW price PLUS (HIGH rating PRIOR TO distance AROUND 1.5)\n"
            "PARTITION BY city\n"
            "LEVELS 2\n"
            "ORDER BY rating DESC, \"order\"\n"
            "LIMIT 20 WITH TIES");
}

// A statement with a word in place of each '@'.
std::string with_word(std::string statement, const std::string& word) {
  for (std::size_t at = statement.find('@'); at != std::string::npos; at = statement.find('@', at + word.size())) {
    statement.replace(at, 1, word);
  }
  return statement;
}

TEST(Sql, WordsOfFrontsNameColumnsWithoutQuotes) {
  const std::string statements[] = {
      "SELECT @, 2 * @ AS twice, a AS a FROM @ WHERE @ > 1 AND a < @ PREFERRING LOW @ PLUS HIGH a WEIGHTED BY @ >= a, "
      "a <= 3 * @ FEASIBLE @ VIOLATION 3 - @, @ PARTITION BY @ LEVELS 2 PICK 3 BY COVERAGE ORDER BY @ DESC, @ LIMIT 3",
      "SELECT a AS @ FROM t PREFERRING DISTINCT LOW @ STEP 5 PLUS HIGH (@) STEP 10% PLUS @ AROUND 3 PLUS @ IN (1, 2) "
      "ELSE (3) PLUS WHERE @ PLUS @ > 2 SKYBAND 4 PICK 2 ORDER BY @, DOMINATES() DESC",
      "SELECT @, MAX(@) AS m FROM t GROUP BY @ SKYLINE OF @, MAX(@) MAX, @ DIFF FEASIBLE @ > 3 SKYBAND ALL PICK 1 BY "
      "HYPERVOLUME REFERENCE (1, -2)",
      "SELECT @, COUNT(*) AS n FROM t GROUP BY a AS @ ORDER BY @",
      "SELECT COUNT(*) AS @ FROM t GROUP BY a ORDER BY @ DESC, COUNT(*)"};
  for (const std::string word :
       {"skyband", "all", "pick", "distance", "coverage", "hypervolume", "reference", "step", "weighted", "feasible",
        "violation", "dominated_by", "dominates", "crowding", "contribution", "compromise"}) {
    for (const std::string& statement : statements) {
      for (const std::string& name : {word, query::in_capitals(word)}) {
        SCOPED_TRACE(with_word(statement, name));
        const Query query = Query::parse(with_word(statement, name));
        EXPECT_TRUE(query == Query::parse(with_word(statement, "\"" + name + "\"")));
        const std::string printed = to_sql(query);
        EXPECT_TRUE(query == Query::parse(printed)) << printed;
        EXPECT_EQ(printed.find('"'), std::string::npos) << printed;
      }
    }
  }
}

TEST(Sql, RefusesToPrintWhatIsNoQuery) { EXPECT_THROW(to_sql(from("t")), QueryError); }

TEST(Sql, BeginsWhereItsFirstWordDoes) {
  const Query query = Query::parse("\n SELECT * FROM t ORDER BY a");
  EXPECT_EQ(query::location_of(query), (Location{"sql", 2, 2}));
}

constexpr const char* kBatch =
    "version: 1\n"
    "tables: {hotels: {file: hotels.csv}}\n"
    "queries:\n"
    "  - name: cheap\n"
    "    sql: >-\n"
    "      SELECT name, price FROM hotels\n"
    "      WHERE price < 100\n"
    "      ORDER BY price LIMIT 3\n"
    "    timeout: 2s\n";

TEST(Sql, IsAKeyOfABatchsQuery) {
  const Batch batch = parse_batch(kBatch, "b.yaml");
  ASSERT_EQ(batch.queries.size(), 1u);
  EXPECT_TRUE(batch.queries[0] == from("hotels")
                                      .name("cheap")
                                      .where("price < 100")
                                      .rank_by({low("price")})
                                      .limit(3)
                                      .select({"name", "price"})
                                      .timeout(std::chrono::seconds(2)));
}

std::string batch_error(std::string from, const std::string& to) {
  std::string text = kBatch;
  text.replace(text.find(from), from.size(), to);
  try {
    parse_batch(text, "b.yaml");
  } catch (const QueryError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Sql, MistakesInABatchHaveTheirPlacesInTheFile) {
  EXPECT_EQ(batch_error("price < 100", "price <"),
            "b.yaml:8:7: expected a value after '<', found 'ORDER' (a column of that name stands in double quotes)");
  EXPECT_EQ(batch_error("FROM hotels", "FROM hostels"),
            "b.yaml:6:31: there is no table 'hostels'; did you mean 'hotels'? (tables are hotels)");
  EXPECT_EQ(batch_error("    timeout", "    limit: 2\n    timeout"),
            "b.yaml:9:5: 'sql' says the whole query, so that 'limit' belongs into the statement");
  EXPECT_EQ(batch_error("name: cheap", "name: .x"),
            "b.yaml:4:11: the query name '.x' is no plain file name: use letters, digits, '-', '_' and '.', and no '.' "
            "in front");
}

}  // namespace
}  // namespace skyrank
