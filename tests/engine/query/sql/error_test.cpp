#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include <skyrank/query.hpp>

// Mistakes in SQL statements beside their exact messages.
namespace skyrank {
namespace {

struct Mistake {
  const char* sql;
  const char* message;
};

constexpr const char* kElsewhere =
    " is no part of SkyRank's SQL: run it in an SQL engine, such as DuckDB, and hand over its result as a file or an "
    "Arrow table";

std::string error_of(std::string_view sql) {
  try {
    return "no error: " + to_sql(Query::parse(sql));
  } catch (const QueryError& error) {
    return error.what();
  }
}

constexpr Mistake kForeign[] = {
    {"SELECT * FROM t JOIN u ON a = b", "sql:1:17: JOIN"},
    {"SELECT * FROM t\nLEFT JOIN u ON a = b", "sql:2:6: JOIN"},
    {"SELECT * FROM (SELECT a FROM t JOIN u ON a = b)", "sql:1:32: JOIN"},
    {"SELECT * FROM (SELECT a FROM t WHERE b > (SELECT max(b) FROM u))", "sql:1:43: a sub-query"},
    {"SELECT * FROM (SELECT a, sum(b) OVER (ORDER BY a) AS n FROM t) WHERE n < 3", "sql:1:33: a window (OVER)"},
    {"SELECT * FROM t WHERE a IN (SELECT b FROM u)", "sql:1:29: a sub-query"},
    {"SELECT a FROM t UNION SELECT b FROM u", "sql:1:17: UNION"},
    {"SELECT sum(a) OVER (PARTITION BY b) FROM t", "sql:1:15: a window (OVER)"},
    {"WITH u AS (SELECT 1) SELECT * FROM u", "sql:1:1: WITH"},
    {"SELECT row_number() OVER (ORDER BY a) AS r FROM t QUALIFY r <= 3", "sql:1:21: a window (OVER)"},
    {"SELECT count(DISTINCT a) FROM t GROUP BY b", "sql:1:14: DISTINCT in an aggregate"},
    {"DELETE FROM t", "sql:1:1: DELETE"},
    {"SELECT * FROM t WHERE EXISTS (1) ORDER BY a", "sql:1:23: EXISTS"},
};

constexpr Mistake kMistakes[] = {
    {"SELECT *, a + 1 AS b FROM t", "sql:1:8: '*' stands alone behind SELECT; beside expressions name the columns"},
    {"SELECT * FROM (SELECT 1)", "sql:1:24: expected ',' or FROM after '1', found the end of the statement"},
    {"SELECT c FROM (SELECT a, b + 1 AS cc FROM t) WHERE a > 1",
     "sql:1:8: the sub-select has no column 'c'; did you mean 'cc'?"},
    {"SELECT a FROM (SELECT a FROM t ORDER BY a LIMIT 3) x",
     "sql:1:32: 'ORDER BY' cannot stand in a sub-select, which chooses rows, computes columns and groups; it stands in "
     "the "
     "statement around it, or in one of its own"},
    {"SELECT a, count(*) FROM (SELECT a, count(*) AS n FROM t GROUP BY a) x GROUP BY a",
     "sql:1:11: 'count' is of groups, and the sub-select has groups already; run it in an SQL engine"},
    {"SELECT n FROM (SELECT a, count(*) AS n FROM t GROUP BY a) GROUP BY n",
     "sql:1:59: 'GROUP BY' would make groups of groups, since the sub-select has groups already; run one of them in an "
     "SQL "
     "engine"},
    {"SELECT DISTINCT n FROM (SELECT count(*) AS n FROM t GROUP BY a)",
     "sql:1:8: SELECT DISTINCT takes no sub-select that has groups or numbers rows; run one of them in an SQL engine"},
    {"SELECT * FROM (SELECT *, row_number() OVER (ORDER BY a) AS r FROM t)",
     "sql:1:15: the sub-select numbers rows; WHERE says how many of them there are, as in r <= 5"},
    {"SELECT * FROM (SELECT *, row_number() OVER (ORDER BY a) AS r FROM t) WHERE r <= 5 AND b > 1",
     "sql:1:76: WHERE behind a sub-select that numbers rows keeps the first of them, as in r <= 5; other conditions "
     "stand "
     "in the sub-select"},
    {"SELECT * FROM (SELECT *, row_number() OVER (ORDER BY a) AS r FROM t) WHERE r <= 5 ORDER BY a",
     "sql:1:83: 'ORDER BY' cannot follow a sub-select that numbers rows: its rows come partition by partition, in the "
     "order "
     "of their numbers"},
    {"SELECT a, r FROM (SELECT *, row_number() OVER (ORDER BY a) AS r FROM t) WHERE r <= 5",
     "sql:1:11: 'r' says in WHERE how many rows there are, and is no column of the answer"},
    {"SELECT * FROM (SELECT *, row_number() OVER (ORDER BY a) FROM t) WHERE r <= 5",
     "sql:1:57: expected a name: AS n after ')', found 'FROM'"},
    {"SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY b) AS r FROM t) WHERE r <= 5",
     "sql:1:59: expected PARTITION BY or ORDER BY after 'b', found ')'"},
    {"SELECT u.a FROM t",
     "sql:1:8: there is no table 'u' here; columns are those of 't', and a column with a point in its name stands in "
     "double "
     "quotes"},
    {"SELECT t.a FROM t AS h",
     "sql:1:8: there is no table 't' here; columns are those of 'h', and a column with a point in its name stands in "
     "double quotes"},
    {"SELECT x.a FROM (SELECT a FROM t)", "sql:1:8: there is no table 'x' here: the sub-select has no name"},
    {"SELECT price FORM t ORDER BY price",
     "sql:1:14: expected ',' or FROM after 'price', found 'FORM'; did you mean 'FROM'?"},
    {"SELECT price p r FROM t ORDER BY price",
     "sql:1:14: expected ',' or FROM after 'price', found 'p' (a name stands behind AS)"},
    {"SELECT price 'p' FROM t", "sql:1:14: expected ',' or FROM after 'price', found a string"},
    {"SELECT * FROM t ODER BY price",
     "sql:1:17: expected an operator, the next clause or the end after 't', found 'ODER'; did you mean 'ORDER'?"},
    {"SELECT * FROM t PREFERING LOW price",
     "sql:1:17: expected an operator, the next clause or the end after 't', found 'PREFERING'; did you mean "
     "'PREFERRING'?"},
    {"SELECT * FROM t ORDER price", "sql:1:23: expected BY after 'ORDER', found 'price'"},
    {"SELECT * FROM t ORDER BY price DSC",
     "sql:1:32: expected an operator, the next clause or the end after 'price', found 'DSC'; did you mean 'DESC'?"},
    {"SELECT * FROM t ORDER BY 1",
     "sql:1:26: ORDER BY 1 counts the columns that SELECT names, and * names none; a number that is meant stands in "
     "parentheses"},
    {"SELECT a, b FROM t ORDER BY b, 3",
     "sql:1:32: ORDER BY 3: SELECT has 2 columns; a number that is meant stands in parentheses"},
    {"SELECT a FROM t GROUP BY 0",
     "sql:1:26: GROUP BY 0: SELECT has 1 column; a number that is meant stands in parentheses"},
    {"SELECT a, sum(b) FROM t GROUP BY 2",
     "sql:1:34: 'sum(b)' is an aggregate of the rows of a group and cannot be a key"},
    {"SELECT DISTINCT * FROM t", "sql:1:8: SELECT DISTINCT names its columns; * names none"},
    {"SELECT DISTINCT a FROM t GROUP BY a",
     "sql:1:8: SELECT DISTINCT and GROUP BY exclude each other: groups are distinct already"},
    {"SELECT DISTINCT a, sum(b) FROM t",
     "sql:1:8: SELECT DISTINCT takes no aggregates: name the other columns in GROUP BY"},
    {"SELECT DISTINCT a FROM t PREFERRING LOW a",
     "sql:1:8: SELECT DISTINCT is answered before preferences and partitions, which then see its columns alone; write "
     "GROUP BY for that"},
    {"SELECT * FROM t QUALIFY rank() OVER (ORDER BY a) <= 3",
     "sql:1:25: expected ROW_NUMBER() after 'QUALIFY', found 'rank'"},
    {"SELECT * FROM t QUALIFY row_number() OVER (PARTITION BY b) <= 3",
     "sql:1:58: expected PARTITION BY or ORDER BY after 'b', found ')'"},
    {"SELECT * FROM t QUALIFY row_number() OVER (ORDER BY a) > 3",
     "sql:1:56: expected '<=' and a whole number after ')', found '>'"},
    {"SELECT * FROM t QUALIFY row_number() OVER (ORDER BY a) = 2",
     "sql:1:58: QUALIFY keeps the first rows: write ROW_NUMBER() OVER (...) <= k"},
    {"SELECT * FROM t QUALIFY row_number() OVER (ORDER BY a) <= x",
     "sql:1:59: 'QUALIFY' needs a whole number, found 'x'"},
    {"SELECT * FROM t QUALIFY row_number() OVER (ORDER BY a) <= 3 LIMIT 2",
     "sql:1:61: 'LIMIT' cannot follow QUALIFY, which ranks and limits the answer, partition by partition"},
    {"SELECT * FROM t PARTITION BY a QUALIFY row_number() OVER (ORDER BY a) <= 3",
     "sql:1:32: 'QUALIFY' and 'PARTITION BY' exclude each other"},
    {"SELECT * FROM t ORDER BY price NULLS FIRST, rating DESC",
     "sql:1:38: a query has one rule for NULL: NULLS FIRST stands behind all terms of ORDER BY, or behind none"},
    {"SELECT * FROM t ORDER BY price NULLS LAST, rating NULLS FIRST",
     "sql:1:57: a query has one rule for NULL: NULLS FIRST stands behind all terms of ORDER BY, or behind none"},
    {"SELECT * FROM t PREFERRING LOW price ORDER BY price NULLS FIRST",
     "sql:1:59: NULLS FIRST would make NULL the best in the preference too; OPTIONS (nulls = best) says that"},
    {"SELECT * FROM t ORDER BY price NULLS FIRST OPTIONS (nulls = worst)",
     "sql:1:38: NULLS FIRST contradicts the option nulls = worst, by which NULL comes last"},
    {"SELECT * FROM t ORDER BY price NULLS LAST OPTIONS (nulls = best)",
     "sql:1:38: NULLS LAST contradicts the option nulls = best, by which NULL comes first"},
    {"SELECT * FROM t ORDER BY price NULLS SOON", "sql:1:38: expected FIRST or LAST after 'NULLS', found 'SOON'"},
    {"SELECT * FROM t ORDER BY price WHERE a > 3", "sql:1:32: 'WHERE' must stand before 'ORDER BY'"},
    {"SELECT * FROM t WHERE a > 3 WHERE b > 3 ORDER BY a", "sql:1:29: 'WHERE' comes twice"},
    {"SELECT * FROM t ORDER BY price LIMIT 2.5", "sql:1:38: 'LIMIT' needs a whole number, found '2.5'"},
    {"SELECT * FROM t ORDER BY price LIMIT -1", "sql:1:38: 'LIMIT' must not be negative, found -1"},
    {"SELECT * FROM t ORDER BY price LIMIT ten", "sql:1:38: 'LIMIT' needs a whole number, found 'ten'"},
    {"SELECT * FROM t ORDER BY price LIMIT 99999999999999999999",
     "sql:1:38: 'LIMIT' is out of range: it goes up to 9223372036854775807"},
    {"SELECT * FROM t ORDER BY price WITH TIE",
     "sql:1:37: expected TIES after 'WITH', found 'TIE'; did you mean 'TIES'?"},
    {"SELECT * FROM t ORDER BY price FETCH FIRST 3 ROWS ONLY",
     "sql:1:32: expected an operator, the next clause or the end after 'price', found 'FETCH' (write LIMIT n)"},
    {"SELECT TOP 3 a FROM t ORDER BY price",
     "sql:1:12: expected ',' or FROM after 'TOP', found '3' (write LIMIT n at the end)"},
    {"SELECT * FROM t WHERE name ILIKE '%inn' ORDER BY price",
     "sql:1:28: expected an operator, the next clause or the end after 'name', found 'ILIKE' (write lower(x) LIKE "
     "'text%')"},
    {"SELECT * FROM hotels.csv ORDER BY price",
     "sql:1:21: expected an operator, the next clause or the end after 'hotels', found '.' (a file stands in quotes: "
     "FROM 'hotels.csv')"},
    {"SELECT * FROM t PREFERRING LOW a SKYBAND 0", "sql:1:42: 'SKYBAND' must be at least 1, found 0"},
    {"SELECT * FROM t PREFERRING LOW a SKYBAND few", "sql:1:42: 'SKYBAND' needs a whole number or ALL, found 'few'"},
    {"SELECT * FROM t PREFERRING LOW a SKYBAND 2 LEVELS 2", "sql:1:44: 'LEVELS' and 'SKYBAND' exclude each other"},
    {"SELECT * FROM t PREFERRING LOW a ORDER BY level(a)", "sql:1:43: 'level()' takes no argument"},
    {"SELECT contribution(a) FROM t PREFERRING LOW a",
     "sql:1:21: 'contribution' takes numbers, such as contribution(1, 0.5), not a"},
    {"SELECT * FROM t PREFERRING LOW a LEVELS 0", "sql:1:41: 'LEVELS' must be at least 1, found 0"},
    {"SELECT * FROM t PREFERRING price",
     "sql:1:28: the value price is no preference: write LOW or HIGH before it, AROUND and a value behind it, or WHERE "
     "before a condition"},
    {"SELECT * FROM t PREFERRING LOW price, HIGH rating",
     "sql:1:37: expected an operator, the next clause or the end after 'price', found ',' (join preferences by PLUS or "
     "PRIOR TO)"},
    {"SELECT * FROM t PREFERRING LOW price PRIOR HIGH rating", "sql:1:44: expected TO after 'PRIOR', found 'HIGH'"},
    {"SELECT * FROM t PREFERRING LOW price AND HIGH rating",
     "sql:1:42: expected a value after 'AND', found 'HIGH' (a column of that name stands in double quotes)"},
    {"SELECT * FROM t PREFERRING LOW", "sql:1:31: expected a value after 'LOW', found the end of the statement"},
    {"SELECT * FROM t PREFERRING city IN (town)",
     "sql:1:37: a preference needs a value such as 5, 'Oslo' or DATE '2017-05-01', not the expression town; before a "
     "condition, write WHERE"},
    {"SELECT * FROM t PREFERRING price BETWEEN 5 AND 3",
     "sql:1:28: 'between' goes from 5 down to 3; 'from' must not be above 'to'"},
    {"SELECT * FROM t PREFERRING price AROUND 3 ELSE (4)", "sql:1:28: only IN has an ELSE: x IN ('a', 'b') ELSE ('c')"},
    {"SELECT * FROM t PREFERRING LOW a SKYLINE OF b", "sql:1:34: 'SKYLINE OF' and 'PREFERRING' exclude each other"},
    {"SELECT * FROM t PREFERRING LOW a STEP 0",
     "sql:1:39: the size of boxes is a number above 0, a ratio such as '10%' or a time such as '7d', not 0"},
    {"SELECT * FROM t PREFERRING LOW a STEP -5",
     "sql:1:39: the size of boxes is a number above 0, a ratio such as '10%' or a time such as '7d', not -5"},
    {"SELECT * FROM t PREFERRING LOW a STEP 'soon'",
     "sql:1:39: the size of boxes is a number above 0, a ratio such as '10%' or a time such as '7d', not 'soon'"},
    {"SELECT * FROM t PREFERRING LOW a STEP 0%",
     "sql:1:39: boxes of equal ratio need a ratio from 0.000001 to 1000000, which is 0.0001% to 100000000%, not '0%'"},
    {"SELECT * FROM t PREFERRING LOW a STEP",
     "sql:1:38: expected the size of boxes, such as 5, 10% or '7d' after 'STEP', found the end of the statement"},
    {"SELECT * FROM t PREFERRING LOW a STEP b",
     "sql:1:39: expected the size of boxes, such as 5, 10% or '7d' after 'STEP', found 'b'; did you mean 'BY'?"},
    {"SELECT * FROM t PREFERRING a AROUND 3 STEP 5",
     "sql:1:39: expected an operator, the next clause or the end after '3', found 'STEP'"},
    {"SELECT * FROM t PREFERRING LOW a FEASIBLE",
     "sql:1:42: expected a value after 'FEASIBLE', found the end of the statement"},
    {"SELECT * FROM t PREFERRING LOW a FEASIBLE b > 1 VIOLATION",
     "sql:1:58: expected a value after 'VIOLATION', found the end of the statement"},
    {"SELECT * FROM t PREFERRING LOW a VIOLATION b",
     "sql:1:34: expected an operator, the next clause or the end after 'a', found 'VIOLATION'"},
    {"SELECT * FROM t PREFERRING LOW a PICK", "sql:1:38: 'PICK' needs a whole number, found the end of the statement"},
    {"SELECT * FROM t PREFERRING LOW a PICK 0", "sql:1:39: 'pick' must be of at least 1 row, not 0"},
    {"SELECT * FROM t PREFERRING LOW a PICK 2 BY DISTANCES",
     "sql:1:44: expected DISTANCE, COVERAGE or HYPERVOLUME after 'BY', found 'DISTANCES'"},
    {"SELECT * FROM t PREFERRING LOW a PICK 2 BY HYPERVOLUME",
     "sql:1:39: 'pick' by hypervolume needs a 'reference': a value of each term that is worse than those of the rows"},
    {"SELECT * FROM t PREFERRING LOW a PICK 2 BY HYPERVOLUME REFERENCE (b)", "sql:1:67: REFERENCE has numbers, not b"},
    {"SELECT * FROM t PREFERRING LOW a PICK 2 REFERENCE (3)",
     "sql:1:39: 'pick' by distance takes no 'reference', which is of hypervolume"},
    {"SELECT * FROM t PREFERRING LOW a ORDER BY a PICK 2", "sql:1:45: 'PICK' must stand before 'ORDER BY'"},
    {"SELECT * FROM t PICK 2 ORDER BY a", "sql:1:1: 'pick' needs 'prefer'"},
    {"SELECT * FROM t PREFERRING LOW a PLUS LOW b WEIGHTED BY a > b",
     "sql:1:57: a constraint on weights compares two of them by <=, >= or =, such as price >= 2 * rating; found a > b"},
    {"SELECT * FROM t PREFERRING LOW a PLUS LOW b WEIGHTED BY a >= c",
     "sql:1:62: a constraint on weights has sums of multiples of them, such as 2 * price + rating; c is none, and no "
     "term "
     "of the preference"},
    {"SELECT * FROM t PREFERRING LOW a PLUS LOW b WEIGHTED BY a >= 2 * b, b >= a",
     "sql:1:17: no weights of 0 or more fulfil all constraints of 'weights'"},
    {"SELECT * FROM t PREFERRING LOW a PRIOR TO LOW b WEIGHTED BY a >= b",
     "sql:1:17: 'weights' are of 'low' and 'high' terms in one Pareto order"},
    {"SELECT * FROM t PREFERRING LOW a WEIGHTED",
     "sql:1:42: expected BY after 'WEIGHTED', found the end of the statement"},
    {"SELECT * FROM t SKYLINE OF city DIFF",
     "sql:1:17: SKYLINE OF needs a value that is MIN or MAX besides those that are DIFF"},
    {"SELECT * FROM t SKYLINE OF price MAXX",
     "sql:1:34: expected an operator, the next clause or the end after 'price', found 'MAXX'; did you mean 'MAX'?"},
    {"SELECT * FROM t SKYLINE OF price LOW",
     "sql:1:34: expected an operator, the next clause or the end after 'price', found 'LOW' (write SKYLINE OF x MIN or "
     "PREFERRING LOW x)"},
    {"SELECT * FROM t SKYLINE OF rating HIGH",
     "sql:1:35: expected an operator, the next clause or the end after 'rating', found 'HIGH' (write SKYLINE OF x MAX "
     "or PREFERRING HIGH x)"},
    {"SELECT sum(*) FROM t GROUP BY a", "sql:1:8: 'sum' needs an argument; only COUNT takes '*'"},
    {"SELECT a FROM t WHERE sum(b) > 3",
     "sql:1:23: WHERE chooses rows before there are groups; a condition on aggregates is HAVING"},
    {"SELECT b FROM t GROUP BY sum(a) + 1", "sql:1:26: an aggregate is of the rows of a group and cannot be a key"},
    {"SELECT sum(a) + 1 AS n FROM t GROUP BY n",
     "sql:1:40: 'n' holds an aggregate, which is of the rows of a group and cannot be a key"},
    {"SELECT a FROM t HAVING a > 1", "sql:1:1: 'having' needs 'group_by' or 'aggregate'; 'where' is for rows"},
    {"SELECT sum(a b) + 1 FROM t", "sql:1:14: expected an operator or ')' after 'a', found 'b'; did you mean 'BY'?"},
    {"SELECT a, count(*) FROM t",
     "sql:1:8: 'a' stands beside aggregates of all rows; GROUP BY a makes one row of each of its values"},
    {"SELECT count(*) AS n FROM t HAVING n > a",
     "sql:1:40: 'a' stands beside aggregates of all rows; GROUP BY a makes one row of each of its values"},
    {"SELECT sum(a) FROM t HAVING", "sql:1:28: expected a value after 'HAVING', found the end of the statement"},
    {"SELECT 1 FROM t ORDER BY CASE a THEN 1 END", "sql:1:33: expected an operator or 'when' after 'a', found 'THEN'"},
    {"SELECT a, b AS a FROM t ORDER BY a", "sql:1:11: SELECT names 'a' twice; name one of them otherwise with AS"},
    {"SELECT * FROM t GROUP BY a +", "sql:1:29: expected a value after '+', found the end of the statement"},
    {"SELECT a, COUNT(*) AS n FROM t GROUP BY n",
     "sql:1:41: 'n' is an aggregate of the rows of a group and cannot be a key"},
    {"SELECT a FROM t GROUP BY a, b + 1 AS a", "sql:1:29: GROUP BY names 'a' twice"},
    {"SELECT a FROM t PARTITION BY b, month(d) AS b ORDER BY a", "sql:1:33: PARTITION BY names 'b' twice"},
    {"SELECT a FROM t GROUP BY month(d) AS 'm'",
     "sql:1:38: a name stands in double quotes, not in single ones, which are for strings"},
    {"SELECT a AS 'b' FROM t ORDER BY a",
     "sql:1:13: a name stands in double quotes, not in single ones, which are for strings"},
    {"SELECT * FROM a, b",
     "sql:1:16: expected an operator, the next clause or the end after 'a', found ',' (a statement is over one table: "
     "run joins in an SQL engine and hand over the result)"},
    {"SELECT * FROM t ORDER BY a; SELECT 1", "sql:1:29: a text has one statement; this is the second"},
    {"SELECT * FROM t WHERE a < PREFERRING LOW b",
     "sql:1:27: expected a value after '<', found 'PREFERRING' (a column of that name stands in double quotes)"},
    {"SELECT * FROM t WHERE sqr(a) < 2 ORDER BY a",
     "sql:1:23: there is no function 'sqr'; did you mean 'sqrt'? (functions are abs, min, max, sqrt, log, exp, floor, "
     "ceil, round, bucket, log_bucket, coalesce, year, month, day, hour, minute, second, weekday, length, lower, "
     "upper)"},
    {"SELECT a /* b FROM t ORDER BY a", "sql:1:10: the comment that begins here does not end"},
    {"SELECT * FROM \"t ORDER BY a", "sql:1:15: the quoted name that begins here does not end"},
    {"SELECT * FROM t ORDER BY a OPTIONS (tie = last)",
     "sql:1:37: there is no option 'tie'; did you mean 'ties'? (options are name, ties, nan, nulls, timeout, device, "
     "algorithm, without, parameters)"},
    {"SELECT * FROM t ORDER BY a OPTIONS (ties = lats)",
     "sql:1:44: 'ties' is one of first, last, all, any, found 'lats'; did you mean 'last'?"},
    {"SELECT * FROM t ORDER BY a OPTIONS (ties = last, ties = first)", "sql:1:50: the option 'ties' comes twice"},
    {"SELECT * FROM t ORDER BY a OPTIONS (timeout = soon)",
     "sql:1:47: 'timeout' needs a time such as 30s, 500ms or 5min (a plain number is seconds), in quotes"},
    {"SELECT * FROM t ORDER BY a OPTIONS (parameters = (block))",
     "sql:1:51: the parameter 'block' needs a whole number: parameters = (block = 64)"},
    {"SELECT * FROM t ORDER BY a OPTIONS (nulls = ignore)",
     "sql:1:45: 'nulls' is one of worst, exclude, error, best, found 'ignore'"},
    {"SELECT * FROM t ORDER BY a OPTIONS (nan = bets)",
     "sql:1:43: 'nan' is one of worst, exclude, error, best, found 'bets'; did you mean 'best'?"},
    {"FROM t SELECT a", "sql:1:1: expected SELECT, found 'FROM'"},
    {"EXPLAIN SELECT a FROM t", "sql:1:1: expected SELECT, found 'EXPLAIN' (skyrank sql --explain shows plans)"},
    {"SELECT MEDIAN(a) FROM t",
     "sql:1:8: there is no function 'MEDIAN'; aggregates are count, sum, min, max and avg; an SQL engine has others "
     "(functions are abs, min, max, sqrt, log, exp, floor, ceil, round, bucket, log_bucket, coalesce, year, month, "
     "day, hour, minute, second, weekday, length, lower, upper)"},
};

TEST(SqlErrors, OtherPartsOfSqlAreLeftToSqlEngines) {
  for (const Mistake& mistake : kForeign) {
    std::string message = mistake.message + std::string(kElsewhere);
    if (message.find("DISTINCT in") != std::string::npos)
      message += "; SELECT DISTINCT e gives each of the values once";
    if (message.find("JOIN") != std::string::npos) {
      message += ": in Python, skyrank.sql(statement, joined=duckdb.sql('... JOIN ...'))";
    }
    if (std::string(mistake.sql).find("row_number") != std::string::npos) {
      message += "; the first rows of each partition are QUALIFY ROW_NUMBER() OVER (PARTITION BY e ORDER BY f) <= k";
    }
    EXPECT_EQ(error_of(mistake.sql), message) << mistake.sql;
  }
}

TEST(SqlErrors, SayWhereAndWhatWouldBeRight) {
  for (const Mistake& mistake : kMistakes) EXPECT_EQ(error_of(mistake.sql), mistake.message) << mistake.sql;
}

TEST(SqlErrors, MessagesAreTextWhateverTheStatementIs) {
  EXPECT_EQ(error_of("SELECT a \xFF"), "sql:1:10: expected ',' or FROM after 'a', found '?'");
  EXPECT_EQ(error_of(std::string_view("SELECT a \0", 10)), "sql:1:10: expected ',' or FROM after 'a', found '?'");
}

TEST(SqlErrors, NamesBeyondAsciiStandInDoubleQuotes) {
  EXPECT_EQ(error_of("SELECT a FROM t\nWHERE \xC3\xA4 = 1 ORDER BY a"),
            "sql:2:7: expected a value after 'WHERE', found '\xC3\xA4' (a name with other characters than letters, "
            "digits and _ stands in double quotes)");
}

TEST(SqlErrors, SubSelectsDoNotGrowWithoutEnd) {
  const auto nested = [](int levels, const std::string& column) {
    std::string statement = "t";
    for (int i = 0; i < levels; ++i) statement = "(SELECT " + column + " AS a FROM " + statement + ")";
    return statement.substr(1, statement.size() - 2);
  };
  EXPECT_TRUE(error_of(nested(8, "a + a")).starts_with("no error: SELECT a + a + (a + a)"));
  EXPECT_TRUE(
      error_of(nested(16, "a + a + a"))
          .ends_with("with the columns of its sub-select the statement has more than 100000 operators and values"));
  std::string sum = "a";
  for (int i = 0; i < 600; ++i) sum += " + 1";
  EXPECT_EQ(error_of(nested(2, sum)),
            "sql:1:8: with the columns of its sub-select the expression chains more than 1000 operators");
  EXPECT_TRUE(error_of(nested(18, "a")).ends_with("sub-selects nest more than 16 levels deep"));
}

TEST(SqlErrors, DeepNestingIsRefused) {
  const std::string deep = "SELECT * FROM t PREFERRING " + std::string(300, '(') + "LOW a" + std::string(300, ')');
  EXPECT_EQ(error_of(deep), "sql:1:129: preferences are nested more than 100 levels deep");
}

}  // namespace
}  // namespace skyrank
