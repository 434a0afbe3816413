#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <skyrank/error.hpp>

#include "engine/query/bound.hpp"

namespace skyrank::query {
namespace {

const Schema kSchema{{
    {"i", Type::int32},
    {"j", Type::int64},
    {"u", Type::uint8},
    {"v", Type::uint64},
    {"f", Type::float32},
    {"half", Type::float16},
    {"flag", Type::boolean},
    {"name", Type::string},
    {"day", Type::date},
    {"ms", {Type::timestamp, TimeUnit::millisecond}},
    {"ns", {Type::timestamp, TimeUnit::nanosecond}},
    {"two words", Type::float64},
}};

BoundExpression bound(std::string_view text) { return bind_expression(Expression(text), kSchema); }

std::string type_of_text(std::string_view text) { return to_string(bound(text).type); }

std::string error_of(std::string_view text) {
  try {
    bound(text);
  } catch (const BindError& error) {
    return error.what();
  }
  return "no error";
}

TEST(BindExpression, ColumnsKeepTheirStoredTypeAndEvaluateWidened) {
  const std::vector<std::pair<std::string_view, DataType>> evaluated = {{"i", Type::int64},
                                                                        {"j", Type::int64},
                                                                        {"u", Type::uint64},
                                                                        {"v", Type::uint64},
                                                                        {"f", Type::float64},
                                                                        {"half", Type::float64},
                                                                        {"flag", Type::boolean},
                                                                        {"name", Type::string},
                                                                        {"day", Type::date},
                                                                        {"ms", kSchema.fields[9].type},
                                                                        {"`two words`", Type::float64}};
  for (const auto& [text, type] : evaluated) {
    const BoundExpression expression = bound(text);
    ASSERT_GE(expression.column, 0) << text;
    EXPECT_EQ(expression.root->column, expression.column);
    EXPECT_EQ(expression.type, kSchema.fields[static_cast<std::size_t>(expression.column)].type);
    EXPECT_EQ(expression.root->type, type) << text;
    EXPECT_EQ(expression.text, text);
  }
  EXPECT_EQ(bound("i + 0").column, -1);
}

TEST(BindExpression, TypesOfResults) {
  const std::vector<std::pair<std::string_view, std::string_view>> types = {
      {"1", "int64"},
      {"9223372036854775808", "uint64"},
      {"1.0", "float64"},
      {"'x'", "string"},
      {"true", "bool"},
      {"i + j", "int64"},
      {"u + v", "uint64"},
      {"u + i", "int64"},
      {"u + 1", "uint64"},
      {"1 - u", "int64"},
      {"u + -1", "int64"},
      {"u + 1.0", "float64"},
      {"i % f", "float64"},
      {"u / 2", "uint64"},
      {"u + NULL", "uint64"},
      {"NULL + NULL", "int64"},
      {"-u", "int64"},
      {"-f", "float64"},
      {"-NULL", "int64"},
      {"abs(u)", "uint64"},
      {"abs(i)", "int64"},
      {"round(f)", "float64"},
      {"round(u)", "uint64"},
      {"coalesce(u, 3)", "uint64"},
      {"coalesce(NULL, day, ms)", "timestamp[ms]"},
      {"coalesce(NULL)", "bool"},
      {"coalesce(NULL) + u", "uint64"},
      {"year(day)", "int64"},
      {"hour(ms)", "int64"},
      {"weekday(NULL)", "int64"},
      {"length(name)", "int64"},
      {"upper(NULL)", "string"},
      {"name like 'a%'", "bool"},
      {"name || 5", "string"},
      {"NULL || day", "string"},
      {"cast(i as bigint)", "int64"},
      {"NULL::uint64", "uint64"},
      {"5::ubigint", "uint64"},
      {"f::real", "float64"},
      {"name::numeric(12, 2)", "decimal(12,2)"},
      {"0.25::decimal(20, 2)", "decimal(20,2)"},
      {"i::bool", "bool"},
      {"ms::timestamp", "timestamp[ms]"},
      {"day::timestamp", "timestamp[s]"},
      {"name::datetime", "timestamp[us]"},
      {"ms::date", "date"},
      {"NULL not like name", "bool"},
      {"floor(i)", "int64"},
      {"bucket(i, 5)", "int64"},
      {"bucket(f, 0.5)", "float64"},
      {"log_bucket(i, 0.1)", "float64"},
      {"ceil(half)", "float64"},
      {"sqrt(u)", "float64"},
      {"exp(NULL)", "float64"},
      {"min(u, 3)", "uint64"},
      {"min(3, u, v)", "uint64"},
      {"max(u, i)", "int64"},
      {"max(u, -1)", "int64"},
      {"max(1, 2)", "int64"},
      {"max(f, 1)", "float64"},
      {"min(name, 'x')", "string"},
      {"min(flag, true)", "bool"},
      {"max(ms, ns)", "timestamp[ns]"},
      {"max(ms, day)", "timestamp[ms]"},
      {"case when flag then 1 else u end", "uint64"},
      {"case when flag then 1 else 2.5 end", "float64"},
      {"case when flag then NULL when flag then name end", "string"},
      {"case when flag then NULL end + u", "uint64"},
      {"case when flag then NULL end", "bool"},
      {"NULL", "bool"},
      {"day + 1", "date"},
      {"1 + day", "date"},
      {"day - u", "date"},
      {"day - day", "int64"},
      {"day + NULL", "date"},
      {"ms - ns", "int64"},
      {"ms < day", "bool"},
      {"i in (1, 2.5, NULL)", "bool"},
      {"v between -1 and 0.5", "bool"},
      {"name is not null", "bool"},
      {"NULL and not NULL or flag", "bool"},
  };
  for (const auto& [text, type] : types) EXPECT_EQ(type_of_text(text), type) << text;
}

TEST(BindExpression, LiteralsTakeTheirContextsType) {
  const BoundExpression sum = bound("u + 1");
  EXPECT_EQ(sum.root->children[1]->value, Value(std::uint64_t{1}));
  const BoundExpression null = bound("f = NULL");
  EXPECT_EQ(null.root->children[1]->type, DataType(Type::float64));
  EXPECT_EQ(null.root->children[1]->value, Value(Null{}));
  EXPECT_EQ(bound("-9223372036854775808").root->value, Value(std::numeric_limits<std::int64_t>::min()));
  EXPECT_EQ(bound("-2.5").root->value, Value(-2.5));
  // Nothing at all fails while binding: a row that needs the value will.
  EXPECT_EQ(bound("-(9223372036854775809)").root->op, Op::negate);
  EXPECT_EQ(bound("1 / 0").root->op, Op::divide);
}

TEST(BindExpression, ErrorsSayWhereWhatAndWhatWouldBeRight) {
  const std::vector<std::pair<std::string_view, std::string_view>> errors = {
      {"i + nam", "expression:1:5: there is no column 'nam'; did you mean 'name'?"},
      {"i + zzzzzz", "expression:1:5: there is no column 'zzzzzz'"},
      {"i + name", "expression:1:1: '+' needs numbers, got int64 and string"},
      {"flag * 2", "expression:1:1: '*' needs numbers, got bool and int64"},
      {"-name", "expression:1:1: '-' needs a number, got string"},
      {"sqrt(day)", "expression:1:1: 'sqrt' needs a number, got date"},
      {"floor(flag)", "expression:1:1: 'floor' needs a number, got bool"},
      {"round(name)", "expression:1:1: 'round' needs a number, got string"},
      {"1 + year(i)", "expression:1:5: 'year' needs a date or a timestamp, got int64"},
      {"lower(day)", "expression:1:1: 'lower' needs a string, got date"},
      {"length(i)", "expression:1:1: 'length' needs a string, got int64"},
      {"i like 'a'", "expression:1:1: 'like' needs strings, got int64 and string"},
      {"name like 5", "expression:1:1: 'like' needs strings, got string and int64"},
      {"flag || name", "expression:1:1: '||' joins texts, got bool and string; between conditions write 'or'"},
      {"day::int",
       "expression:1:1: no cast takes date to int64; year(x), month(x), day(x), ... and date - date are integers"},
      {"cast(f as bool)", "expression:1:1: no cast takes float64 to bool; compare the value with something"},
      {"f::decimal(3, 1)",
       "expression:1:1: no cast takes float64 to decimal(3,1); decimals are made of integers, decimals and texts"},
      {"1.25::decimal(3, 1)",
       "expression:1:1: no cast takes decimal(3,2) to decimal(3,1); a cast drops no digits: round(x) has none behind "
       "the point"},
      {"i::date", "expression:1:1: no cast takes int64 to date; dates are made of texts, such as '2017-05-01'"},
      {"coalesce(i, name)", "expression:1:13: 'coalesce' needs values of one type, got int64 and string"},
      {"day + day",
       "expression:1:1: '+' needs numbers, got date and date; dates allow date + days, date - days and date - date"},
      {"5 - day",
       "expression:1:1: '-' needs numbers, got int64 and date; dates allow date + days, date - days and date - date"},
      {"day * 2",
       "expression:1:1: '*' needs numbers, got date and int64; dates allow date + days, date - days and date - date"},
      {"day + 1.5",
       "expression:1:1: '+' needs numbers, got date and float64; dates allow date + days, date - days and date - date"},
      {"ms + 1",
       "expression:1:1: '+' needs numbers, got timestamp[ms] and int64; timestamps can be subtracted from each other "
       "(giving ticks) and compared"},
      {"i and flag",
       "expression:1:1: 'and' needs conditions, got int64 and bool; compare the value with something, as in x > 0"},
      {"not name", "expression:1:1: 'not' needs conditions, got string; compare the value with something, as in x > 0"},
      {"name = 5",
       "expression:1:1: '=' cannot compare string with int64; a number stands without quotes, a string in them: "
       "'text'"},
      {"i < 'x'",
       "expression:1:1: '<' cannot compare int64 with string; a number stands without quotes, a string in them: "
       "'text'"},
      {"flag = 1", "expression:1:1: '=' cannot compare bool with int64; compare a boolean with true or false"},
      {"day > '2017-05-01'",
       "expression:1:1: '>' cannot compare date with string; compare a date with a date literal: date '2017-05-01'"},
      {"'2017-05-01' <= ms",
       "expression:1:1: '<=' cannot compare string with timestamp[ms]; compare a timestamp with a literal: timestamp "
       "'2017-05-01 12:00:00', or date '2017-05-01'"},
      {"i in (1, 'two')",
       "expression:1:10: 'in' cannot compare int64 with string; a number stands without quotes, a string in them: "
       "'text'"},
      {"name between 'a' and 7",
       "expression:1:22: 'between' cannot compare string with int64; a number stands without quotes, a string in them: "
       "'text'"},
      {"min(i, name)", "expression:1:8: 'min' needs values of one type, got int64 and string"},
      {"case when flag then 1 else 'x' end", "expression:1:28: 'case' needs values of one type, got int64 and string"},
      {"case when i then 1 end", "expression:1:11: 'when' needs a condition, got int64"},
  };
  for (const auto& [text, message] : errors) EXPECT_EQ(error_of(text), message) << text;
}

TEST(BindExpression, PlacesAreThoseOfTheSource) {
  try {
    bind_expression(Expression("i >\n  nam", Location{"hotels.yaml", 12, 20}), kSchema);
    ADD_FAILURE();
  } catch (const BindError& error) {
    EXPECT_EQ(error.location().source, "hotels.yaml");
    EXPECT_EQ(error.location().line, 13);
  }
}

}  // namespace
}  // namespace skyrank::query
