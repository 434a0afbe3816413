#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <skyrank/expression.hpp>

#include "engine/query/ast.hpp"

namespace skyrank {
namespace {

std::string repeated(const std::string& text, int times) {
  std::string result;
  for (int i = 0; i < times; ++i) result += text;
  return result;
}

std::string error_of(const std::string& text) {
  try {
    const Expression expression(text);
    return "parsed as " + expression.text();
  } catch (const QueryError& error) {
    return error.what();
  }
}

struct Case {
  std::string text;
  std::string canonical;
};

TEST(Expression, PrintsCanonically) {
  const std::vector<Case> cases = {
      {"price<=250 AND city In ('Oslo','Aarhus') and rating IS NOT NULL",
       "price <= 250 and city in ['Oslo', 'Aarhus'] and rating is not null"},
      {"((a))", "a"},
      {"(a + b) * c", "(a + b) * c"},
      {"(a * b) + c", "a * b + c"},
      {"a - (b - c)", "a - (b - c)"},
      {"(a - b) - c", "a - b - c"},
      {"a / (b * c) % d", "a / (b * c) % d"},
      {"a or (b and c)", "a or b and c"},
      {"(a or b) and c", "(a or b) and c"},
      {"a and (b and c)", "a and (b and c)"},
      {"not (a or b)", "not (a or b)"},
      {"not (a = b)", "not a = b"},
      {"(not a) = b", "(not a) = b"},
      {"(a < b) = (c < d)", "(a < b) = (c < d)"},
      {"a == b", "a = b"},
      {"a <> b", "a != b"},
      {"-a * b", "-a * b"},
      {"-(a * b)", "-(a * b)"},
      {"-(5)", "-(5)"},
      {"- 5", "-5"},
      {"a - -5", "a - -5"},
      {"a--5", "a - -5"},
      {"MAX(a, Min(b,c), ABS ( -3 ))", "max(a, min(b, c), abs(-3))"},
      {"x not between 1+1 and 3", "x not between 1 + 1 and 3"},
      {"x between (a or b) and c", "x between (a or b) and c"},
      {"x not in ['it''s']", "x not in ['it''s']"},
      {"(x is null) is not null", "(x is null) is not null"},
      {"case when a then 1 when b then 2 else 3 end", "case when a then 1 when b then 2 else 3 end"},
      {"CASE WHEN a THEN 1 END + 1", "case when a then 1 end + 1"},
      {"`two words` > `ti``ck`", "`two words` > `ti``ck`"},
      {"`plain`", "plain"},
      {"`and` + `Between`", "`and` + `Between`"},
      {"`row` + row", "`row` + row"},
      {"date", "date"},
      {"date + timestamp", "date + timestamp"},
      {"date'2017-05-01'", "date '2017-05-01'"},
      {"timestamp '2017-05-01T12:00'", "timestamp '2017-05-01 12:00:00'"},
      {"min + max", "min + max"},
      {"nan", "nan"},
      {"null = TRUE or False", "null = true or false"},
      {"1.0 + .5 + 2. + 1e3 + 1E-7", "1.0 + 0.5 + 2.0 + 1000.0 + 1e-07"},
      {"a\n  + b\t", "a + b"},
      {"'größe' = `größe`", "'größe' = `größe`"},
      {"not not a", "not not a"},
      {"(name) Like 'a%'", "name like 'a%'"},
      {"name not like lower(pattern)", "name not like lower(pattern)"},
      {"(a like b) is null", "(a like b) is null"},
      {"like like like", "like like like"},
      {"YEAR(day) = 2017 and Month(day) in (1,2)", "year(day) = 2017 and month(day) in [1, 2]"},
      {"Coalesce(a, Round(b), 0)", "coalesce(a, round(b), 0)"},
      {"year + month", "year + month"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.text);
    EXPECT_EQ(Expression(c.text).text(), c.canonical);
    EXPECT_EQ(Expression(c.canonical), Expression(c.text));
  }
}

TEST(Expression, BuildsTheTreeThatPrecedenceSays) {
  const Expression expression("a or not b < c + d * -e");
  const query::Node& root = query::root_of(expression);
  ASSERT_EQ(root.op, query::Op::logical_or);
  const query::Node& negation = *root.children[1];
  ASSERT_EQ(negation.op, query::Op::logical_not);
  const query::Node& comparison = *negation.children[0];
  ASSERT_EQ(comparison.op, query::Op::less);
  const query::Node& sum = *comparison.children[1];
  ASSERT_EQ(sum.op, query::Op::add);
  EXPECT_EQ(sum.children[1]->op, query::Op::multiply);
  EXPECT_EQ(sum.children[1]->children[1]->op, query::Op::negate);
}

TEST(Expression, ReadsLiterals) {
  const auto value = [](const std::string& text) { return query::root_of(Expression(text)).value; };
  EXPECT_EQ(value("42"), Value(std::int64_t{42}));
  EXPECT_EQ(value("9223372036854775807"), Value(std::numeric_limits<std::int64_t>::max()));
  EXPECT_EQ(value("9223372036854775808"), Value(std::uint64_t{1} << 63));
  EXPECT_EQ(value("18446744073709551615"), Value(std::numeric_limits<std::uint64_t>::max()));
  EXPECT_EQ(value("-9223372036854775808"), Value(std::numeric_limits<std::int64_t>::min()));
  EXPECT_EQ(value("1.5"), Value(1.5));
  EXPECT_EQ(value("5e-324"), Value(5e-324));
  EXPECT_EQ(value("1.7976931348623157e308"), Value(std::numeric_limits<double>::max()));
  EXPECT_EQ(value("'it''s'"), Value(std::string("it's")));
  EXPECT_EQ(value("''"), Value(std::string()));
  EXPECT_EQ(value("true"), Value(true));
  EXPECT_EQ(value("NULL"), Value(Null{}));
  EXPECT_EQ(value("date '1970-01-02'"), Value(Date{1}));
  EXPECT_EQ(value("timestamp '1970-01-01 00:00:01'"), Value(Timestamp{1, TimeUnit::second}));
  EXPECT_EQ(value("timestamp '1970-01-01 00:00:01.5'"), Value(Timestamp{1500, TimeUnit::millisecond}));
}

TEST(Expression, TellsFloatsFromIntegersAndSignsOfZero) {
  EXPECT_FALSE(Expression("1") == Expression("1.0"));
  EXPECT_FALSE(Expression("0.0") == Expression("-0.0"));
  EXPECT_EQ(Expression("1e2"), Expression("100.0"));
  EXPECT_FALSE(Expression("a") == Expression("A"));
  EXPECT_FALSE(Expression("a in [1, 2]") == Expression("a in [2, 1]"));
  EXPECT_FALSE(Expression("a in [1]") == Expression("a not in [1]"));
}

TEST(Expression, MadeOfPartsPrintsTextThatParses) {
  const std::vector<Value> values = {Value(Null{}),
                                     Value(false),
                                     Value(std::int64_t{-5}),
                                     Value(std::numeric_limits<std::int64_t>::min()),
                                     Value(std::numeric_limits<std::uint64_t>::max()),
                                     Value(-0.0),
                                     Value(1e300),
                                     Value(5e-324),
                                     Value(Date{-800000}),
                                     Value(Timestamp{-1, TimeUnit::nanosecond}),
                                     Value(std::string("a 'b'\n"))};
  for (const Value& value : values) {
    const Expression literal = Expression::literal(value);
    EXPECT_EQ(Expression(literal.text()), literal) << literal.text();
  }
  for (const std::string name : {"price", "two words", "`", "and", "row", "1st", "größe", "date"}) {
    const Expression column = Expression::column(name);
    EXPECT_EQ(column.column_name(), name);
    EXPECT_EQ(Expression(column.text()), column) << column.text();
  }
  EXPECT_EQ(Expression::literal(std::uint64_t{7}), Expression("7"));
}

TEST(Expression, LiteralsAreFinite) {
  EXPECT_THROW(Expression::literal(std::numeric_limits<double>::infinity()), QueryError);
  EXPECT_THROW(Expression::literal(std::numeric_limits<double>::quiet_NaN()), QueryError);
}

TEST(Expression, CastsHaveOneName) {
  const char* const same[][2] = {
      {"a::int", "cast(a as int64)"},
      {"CAST(a AS Integer)", "cast(a as int64)"},
      {"a :: double  precision * 2", "cast(a as float64) * 2"},
      {"-a::text", "-cast(a as string)"},
      {"-5::text || b", "cast(-5 as string) || b"},
      {"a::int::text", "cast(cast(a as int64) as string)"},
      {"cast ( a + 1 as numeric ( 10 ) )", "cast(a + 1 as decimal(10,0))"},
      {"a like '50!%!!\\_' escape '!'", "a like '50\\%!\\\\_'"},
      {"a not like 'é%ééx_' escape 'é'", "a not like '\\%éx_'"},
  };
  for (const auto& [text, canonical] : same) {
    EXPECT_EQ(Expression(text).text(), canonical);
    EXPECT_EQ(Expression(text), Expression(canonical));
  }
  EXPECT_EQ(Expression("cast").column_name(), "cast");
  EXPECT_EQ(Expression("`cast` + escape").text(), "cast + escape");
}

TEST(Expression, OnlyAPlainColumnHasAColumnName) {
  EXPECT_EQ(Expression("(price)").column_name(), "price");
  EXPECT_EQ(Expression("`a b`").column_name(), "a b");
  EXPECT_EQ(Expression("price + 1").column_name(), "");
  EXPECT_EQ(Expression("'price'").column_name(), "");
}

TEST(Expression, QuotedPseudoColumnsAreColumns) {
  EXPECT_FALSE(query::root_of(Expression("row")).exact);
  EXPECT_TRUE(query::root_of(Expression("`row`")).exact);
  EXPECT_TRUE(query::root_of(Expression::column("level")).exact);
  EXPECT_FALSE(Expression("`row`") == Expression("row"));
}

TEST(Expression, ErrorsSayWhereWhatAndWhatWouldBeRight) {
  struct ErrorCase {
    std::string text;
    std::string message;
  };
  const std::vector<ErrorCase> cases = {
      {"", "expression:1:1: expected a value, found the end of the expression"},
      {"  \n ", "expression:2:2: expected a value, found the end of the expression"},
      {"a +", "expression:1:4: expected a value after '+', found the end of the expression"},
      {"a\n  + * b", "expression:2:5: expected a value after '+', found '*'"},
      {"a b", "expression:1:3: expected an operator after 'a', found 'b' (a name with spaces stands in backquotes)"},
      {"12abc", "expression:1:3: expected an operator after '12', found 'abc'"},
      {"'ü' 'x'", "expression:1:5: expected an operator, found '''"},
      {"a && b", "expression:1:3: expected an operator after 'a', found '&&' (write 'and')"},
      {"a ||", "expression:1:5: expected a value after '||', found the end of the expression"},
      {"cast(a)", "expression:1:7: expected an operator or 'as' and a type after 'a', found ')'"},
      {"cast(a as whole)",
       "expression:1:11: there is no type 'whole' to cast to; types are int64, uint64, float64, decimal(p, s), bool, "
       "string, date and timestamp"},
      {"a::decimal(2, 3)",
       "expression:1:4: there is no type 'decimal(2, 3)' to cast to; types are int64, uint64, float64, decimal(p, s), "
       "bool, string, date and timestamp"},
      {"a::", "expression:1:4: expected a type, such as float64 after '::', found the end of the expression"},
      {"a like b escape '!'", "expression:1:8: a pattern before 'escape' stands in quotes as it is"},
      {"a like 'x!' escape '!'",
       "expression:1:8: '!' escapes '%', '_' and itself, and stands before another character in 'x!'"},
      {"a like 'x' escape ''", "expression:1:19: 'escape' needs one character, such as '!', found ''"},
      {"!a", "expression:1:1: expected a value, found '!' (write 'not', or '!=' between two values)"},
      {"a = \"x\"",
       "expression:1:5: expected a value after '=', found '\"' (strings stand in single quotes, names with spaces in "
       "backquotes)"},
      {"a < b < c",
       "expression:1:7: expected an operator after 'b', found '<' (comparisons do not chain: join them with 'and')"},
      {"größe > 3",
       "expression:1:3: expected an operator after 'gr', found 'ö' (a name with other characters than letters, digits "
       "and _ stands in backquotes)"},
      {"a + not b",
       "expression:1:5: expected a value after '+', found 'not' (put 'not' and its condition in parentheses)"},
      {"case + 1", "expression:1:6: expected 'when' after 'case', found '+'"},
      {"in > 3", "expression:1:1: expected a value, found 'in' (a column of that name stands in backquotes)"},
      {"a is nul", "expression:1:6: expected 'null' or 'not null' after 'is', found 'nul'"},
      {"a between 1 or 2", "expression:1:13: expected 'and' and the upper end of the range after '1', found 'or'"},
      {"a in 5", "expression:1:6: expected '[' after 'in', found '5'"},
      {"a in []", "expression:1:7: expected a value after '[', found ']'"},
      {"a in [1, 2)", "expression:1:11: expected an operator, ',' or ']' after '2', found ')'"},
      {"(a + b", "expression:1:7: expected an operator or ')' after 'b', found the end of the expression"},
      {"a + b)", "expression:1:6: expected an operator after 'b', found ')'"},
      {"max(a, )", "expression:1:8: expected a value after ',', found ')'"},
      {"max(a b)",
       "expression:1:7: expected an operator, ',' or ')' after 'a', found 'b' (a name with spaces stands in "
       "backquotes)"},
      {"case when a 1 end", "expression:1:13: expected an operator or 'then' after 'a', found '1'"},
      {"case when a then 1",
       "expression:1:19: expected an operator, 'when', 'else' or 'end' after '1', found the end of the expression"},
      {"a = 'open", "expression:1:5: the string that begins here does not end"},
      {"a = `open", "expression:1:5: the quoted name that begins here does not end"},
      {"``", "expression:1:1: a column name is empty"},
      {"sqr(4)",
       "expression:1:1: there is no function 'sqr'; did you mean 'sqrt'? (functions are abs, min, max, sqrt, log, exp, "
       "floor, ceil, round, bucket, log_bucket, coalesce, year, month, day, hour, minute, second, weekday, length, "
       "lower, upper)"},
      {"GREATEST(a, 4)",
       "expression:1:1: there is no function 'GREATEST'; write max(a, b) (functions are abs, min, max, sqrt, log, exp, "
       "floor, ceil, round, bucket, log_bucket, coalesce, year, month, day, hour, minute, second, weekday, length, "
       "lower, upper)"},
      {"1 + sqrt(1, 2)", "expression:1:5: 'sqrt' takes 1 argument, found 2"},
      {"abs()", "expression:1:1: 'abs' takes 1 argument, found 0"},
      {"max(a)",
       "expression:1:1: 'max' takes at least 2 arguments, found 1 (the max of a group stands under `aggregate`)"},
      {"date '2017-02-30'", "expression:1:6: '2017-02-30' is no date; write it like '2017-05-01'"},
      {"timestamp 'noon'", "expression:1:11: 'noon' is no timestamp; write it like '2017-05-01 12:00:00'"},
      {"18446744073709551616",
       "expression:1:1: 18446744073709551616 is out of range: integers go up to 18446744073709551615; with a decimal "
       "point it is a float, and exact beside decimals"},
      {"-9223372036854775809",
       "expression:1:2: -9223372036854775809 is out of range: integers go down to -9223372036854775808"},
      {"1e400", "expression:1:1: 1e400 is out of range: floats go from 5e-324 to 1.8e308"},
      {"1e-400", "expression:1:1: 1e-400 is out of range: floats go from 5e-324 to 1.8e308"},
      {std::string("a\0b", 3), "expression:1:2: expected an operator after 'a', found the control character 0"},
      {"a \xFF", "expression:1:3: expected an operator after 'a', found a byte that is not UTF-8"},
  };
  for (const ErrorCase& c : cases) EXPECT_EQ(error_of(c.text), c.message) << c.text;
}

TEST(Expression, PlacesAreRelativeToTheOrigin) {
  const Location origin{"hotels.yaml", 3, 10};
  try {
    const Expression expression(std::string_view("a +\n  )"), origin);
    FAIL();
  } catch (const QueryError& error) {
    EXPECT_STREQ(error.what(), "hotels.yaml:4:3: expected a value after '+', found ')'");
    EXPECT_EQ(error.location(), (Location{"hotels.yaml", 4, 3}));
  }
  const Expression expression(std::string_view("a +\n  b"), origin);
  EXPECT_EQ(expression.location(), origin);
  EXPECT_EQ(query::root_of(expression).line, 3);
  EXPECT_EQ(query::root_of(expression).column, 10);
  EXPECT_EQ(query::root_of(expression).children[1]->line, 4);
  EXPECT_EQ(query::root_of(expression).children[1]->column, 3);
}

TEST(Expression, NestingUpToTheLimitParses) {
  constexpr int kDepth = query::kMaxNesting;
  const auto nested = [](int depth) { return repeated("(", depth) + "a" + repeated(")", depth); };
  EXPECT_EQ(Expression(nested(kDepth)), Expression("a"));
  EXPECT_EQ(error_of(nested(kDepth + 1)), "expression:1:102: the expression is nested more than 100 levels deep");
  EXPECT_NO_THROW(Expression(repeated("not ", kDepth) + "a"));
  EXPECT_NO_THROW(Expression(repeated("-", kDepth) + "a"));
  EXPECT_NO_THROW(Expression("a" + repeated(" + a", query::kMaxHeight - 1)));
}

// A stack overflow would end the test program.
TEST(Expression, RefusesTextMadeToOverflowTheStack) {
  constexpr int kMany = 1'000'000;
  for (const std::string opening : {"(", "-", "not ", "abs(", "a in [", "case when ", "a + (", "- not "}) {
    EXPECT_THROW(Expression(repeated(opening, kMany)), QueryError) << opening;
  }
  for (const std::string link : {" + a", " and a", " or a", " * a", " - -a"}) {
    EXPECT_THROW(Expression("a" + repeated(link, kMany)), QueryError) << link;
  }
}

TEST(Expression, LongFlatTextIsFine) {
  const Expression list("a in [0" + repeated(", abs(1)", 100'000) + "]");
  EXPECT_EQ(query::root_of(list).children.size(), 100'002u);
  EXPECT_EQ(Expression(std::string(1'000'000, 'a')).column_name().size(), 1'000'000u);
}

TEST(Ast, SpellsOperatorsForMessages) {
  EXPECT_EQ(query::spelling(query::Op::add), "+");
  EXPECT_EQ(query::spelling(query::Op::is_null), "is null");
  EXPECT_EQ(query::spelling(query::Op::sqrt), "sqrt");
}

}  // namespace
}  // namespace skyrank
