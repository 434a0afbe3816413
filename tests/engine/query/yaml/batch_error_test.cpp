#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <skyrank/batch.hpp>

#include "tests/build.hpp"

namespace skyrank {
namespace {

std::string error_of(const std::string& yaml, const BatchLimits& limits = {}) {
  try {
    parse_batch(yaml, "b.yaml", limits);
  } catch (const QueryError& error) {
    return error.what();
  }
  return "no error";
}

std::string repeated(const std::string& text, int times) {
  std::string result;
  for (int i = 0; i < times; ++i) result += text;
  return result;
}

struct ErrorCase {
  std::string yaml;
  std::string message;
};

void expect_errors(const std::vector<ErrorCase>& cases, const std::string& before, const std::string& after) {
  for (const ErrorCase& c : cases) {
    EXPECT_EQ(error_of(before + c.yaml + after), "b.yaml:" + c.message) << c.yaml;
  }
}

TEST(BatchErrors, OfTheWholeDocument) {
  expect_errors(
      {
          {"", "1:1: the batch is empty; it needs the keys version, tables and queries"},
          {"# nothing\n", "1:1: the batch is empty; it needs the keys version, tables and queries"},
          {"- a", "1:1: a batch needs a map (key: value), found a list"},
          {"just text", "1:1: a batch needs a map (key: value), found 'just text'"},
          {"tables: {}", "1:1: a batch needs the key 'version'"},
          {"version: 1", "1:1: a batch needs the key 'tables'"},
          {"version: 2", "1:10: version 2 is not known; this program reads version 1"},
          {"version: 0", "1:10: 'version' must be at least 1, found 0"},
          {"version: one", "1:10: 'version' needs a whole number, found 'one'"},
          {"version: '1'", "1:10: 'version' needs a whole number, found '1'"},
          {"version: [1]", "1:10: 'version' needs a whole number, found a list"},
          {"version:", "1:9: 'version' needs a whole number, found nothing"},
          {"version: 1\nversion: 1", "2:1: the key 'version' comes twice"},
          {"version: 1\n\"version\": 1", "2:1: the key 'version' comes twice"},
          {"version: 1\nquerys: []",
           "2:1: a batch has no key 'querys'; did you mean 'queries'? (keys are version, timeout, devices, tables, "
           "queries)"},
          {"version: 1\n---\nversion: 1", "2:1: a batch is one YAML document; this is the second"},
          {"version: 1\ntables: {}\nqueries: []",
           "3:10: 'queries' is empty; it needs a list such as [{name: cheap, from: hotels, ...}]"},
          {"version: 1\ntables: {}\nqueries: {}",
           "3:10: 'queries' needs a list such as [{name: cheap, from: hotels, ...}], found a map"},
          {"version: 1\ntables: []", "2:9: 'tables' needs a map (key: value), found a list"},
      },
      "", "");
}

TEST(BatchErrors, OfTheYamlItself) {
  expect_errors(
      {
          {"version: 1\n\ttables: 2", "2:1: malformed YAML: illegal tab when looking for indentation"},
          {"version: 'open", "1:15: malformed YAML: a text in quotes is not closed"},
          {"version: [1, 2", "1:15: malformed YAML: a '[' is not closed"},
          {"version: {a: 2", "1:15: malformed YAML: a '{' is not closed"},
          {"version: 1\n  2: 3", "2:4: malformed YAML: a ':' is not expected here; text that holds ': ' needs quotes"},
          {"a:\n  - b\n c: d",
           "3:2: malformed YAML: the line does not continue the map above: check its indentation and its ':'"},
          {"a: b: c", "1:5: malformed YAML: a ':' is not expected here; text that holds ': ' needs quotes"},
          {"a: `b`", "1:4: malformed YAML: a value cannot begin with this character; put it in quotes"},
          {"? [a]\n: b", "1:3: a key must be a plain word, not a list or a map"},
          {"~: b", "1:1: a key is empty"},
          {"a: &x b",
           "1:4: anchors (&) and aliases (*) are not supported; text that begins with one of them needs quotes"},
          {"a: &x b\nc: *x",
           "1:4: anchors (&) and aliases (*) are not supported; text that begins with one of them needs quotes"},
          {"a: *x",
           "1:4: malformed YAML: anchors (&) and aliases (*) are not supported; text that begins with one of them "
           "needs quotes"},
          {"a: !!int 5", "1:4: tags (!) are not supported; text that begins with '!' needs quotes"},
          {"a: !python/object x", "1:4: tags (!) are not supported; text that begins with '!' needs quotes"},
          {"größe: \xFF", "1:8: the text is not valid UTF-8"},
          {std::string("a: \0", 4), "1:4: control character 0 is not allowed; is this a text file?"},
          {"a: \x04", "1:4: control character 4 is not allowed; is this a text file?"},
      },
      "", "");
}

// The bomb that grows ninefold with every line, and text made to exhaust stack, time or memory.
TEST(BatchErrors, HostileTextIsRefused) {
  std::string bomb = "a: &a [x, x, x, x, x, x, x, x, x]\n";
  for (char name = 'b'; name <= 'z'; ++name) {
    bomb += std::string(1, name) + ": &" + name + " [";
    for (int i = 0; i < 9; ++i) bomb += std::string(i == 0 ? "" : ", ") + "*" + static_cast<char>(name - 1);
    bomb += "]\n";
  }
  EXPECT_EQ(error_of(bomb).substr(0, 19), "b.yaml:1:4: anchors");
  constexpr int kMany = tests::kSanitized ? 200'000 : 1'000'000;
  for (const std::string text : {"[", "{", "{a: ", "- ", "? ",  ": ",   "[[],",  "!",  "*",    "&a ", "%",
                                 "]", "'", "\"",   "|",  "a: ", "--- ", "---\n", "\t", "<<: ", ",",   "#"}) {
    EXPECT_THROW(parse_batch(repeated(text, kMany), "b.yaml"), QueryError) << text;
  }
  std::string stairs;
  for (int i = 0; i < 3000; ++i) stairs += std::string(static_cast<std::size_t>(i), ' ') + "a:\n";
  EXPECT_EQ(error_of(stairs), "b.yaml:101:101: the document is nested more than 100 levels deep");
}

TEST(BatchErrors, LimitsHoldExactly) {
  BatchLimits limits;
  limits.max_depth = 3;
  EXPECT_EQ(error_of("[[[]]]", limits), "b.yaml:1:1: a batch needs a map (key: value), found a list");
  EXPECT_EQ(error_of("[[[[]]]]", limits), "b.yaml:1:4: the document is nested more than 3 levels deep");
  limits = {};
  limits.max_nodes = 4;
  EXPECT_EQ(error_of("[a, b, c]", limits), "b.yaml:1:1: a batch needs a map (key: value), found a list");
  EXPECT_EQ(error_of("[a, b, c, d]", limits), "b.yaml:1:11: the document has more than 4 values");
  limits = {};
  limits.max_scalar_bytes = 3;
  EXPECT_EQ(error_of("[abc]", limits), "b.yaml:1:1: a batch needs a map (key: value), found a list");
  EXPECT_EQ(error_of("[abcd]", limits), "b.yaml:1:2: a value is longer than 3 bytes");
  limits = {};
  limits.max_bytes = 5;
  EXPECT_EQ(error_of("[abc]", limits), "b.yaml:1:1: a batch needs a map (key: value), found a list");
  EXPECT_EQ(error_of("[abc]\n", limits), "b.yaml:1:1: the text is longer than 5 bytes");
}

TEST(BatchErrors, OfTables) {
  expect_errors(
      {
          {"t: {}", "3:3: the table 't' needs one of 'file' and 'generate'"},
          {"t: {file: a.csv, generate: {distribution: x, rows: 1}}",
           "3:3: the table 't' needs one of 'file' and 'generate', not both"},
          {"t: a.csv", "3:6: the table 't' needs a map (key: value), found 'a.csv'"},
          {"t: {flie: a.csv}", "3:7: the table 't' has no key 'flie'; did you mean 'file'?"},
          {"t: {file: a, delimiter: ''}", "3:27: 'delimiter' needs a text, found ''"},
          {"t: {file: }", "3:13: 'file' needs a text, found nothing"},
          {"t: {file: []}", "3:13: 'file' is empty; it needs a list such as [a.csv, b.csv]"},
          {"t: {file: [[a]]}", "3:14: 'file' needs a text, found a list"},
          {"t: {file: {a: b}}", "3:13: 'file' needs a text, found a map"},
          {"t: {file: a, header: maybe}", "3:24: 'header' needs true or false, found 'maybe'"},
          {"t: {file: a, nulls: NA}", "3:23: 'nulls' needs a list such as [NA, '-'], found 'NA'"},
          {"t: {file: a, nulls: [[x]]}", "3:24: a spelling in 'nulls' needs a text, found a list"},
          {"t: {generate: {rows: 1}}", "3:17: 'generate' needs the key 'distribution'"},
          {"t: {generate: {distribution: x}}", "3:17: 'generate' needs the key 'rows'"},
          {"t: {generate: {distribution: x, rows: -1}}", "3:41: 'rows' must not be negative, found -1"},
          {"t: {generate: {distribution: x, rows: 1.5}}", "3:41: 'rows' needs a whole number, found '1.5'"},
          {"t: {generate: {distribution: x, rows: 1e6}}",
           "3:41: 'rows' needs a whole number, found '1e6'; write 1000000"},
          {"t: {generate: {distribution: x, rows: +2.5E3}}",
           "3:41: 'rows' needs a whole number, found '+2.5E3'; write 2500"},
          {"t: {generate: {distribution: x, rows: 1e-6}}", "3:41: 'rows' needs a whole number, found '1e-6'"},
          {"t: {generate: {distribution: x, rows: 1e300}}", "3:41: 'rows' needs a whole number, found '1e300'"},
          {"t: {generate: {distribution: x, rows: 1e999}}", "3:41: 'rows' needs a whole number, found '1e999'"},
          {"t: {generate: {distribution: x, rows: -1e6}}", "3:41: 'rows' needs a whole number, found '-1e6'"},
          {"t: {generate: {distribution: x, rows: .inf}}", "3:41: 'rows' needs a whole number, found '.inf'"},
          {"t: {generate: {distribution: x, rows: '1e6'}}", "3:41: 'rows' needs a whole number, found '1e6'"},
          {"t: {generate: {distribution: x, rows: 99999999999999999999}}",
           "3:41: 'rows' is out of range: '99999999999999999999'"},
          {"t: {generate: {distribution: x, rows: 1, dims: 0}}", "3:50: 'dims' must be at least 1, found 0"},
          {"t: {generate: {distribution: x, rows: 1, dims: 2147483648}}", "3:50: 'dims' is out of range: '2147483648'"},
          {"t: {generate: {distribution: x, rows: 1, seed: -1}}", "3:50: 'seed' must not be negative, found -1"},
          {"t: {generate: {distribution: x, rows: 1}, format: csv}",
           "3:53: the table 't' is generated: 'format' is for files"},
          {"t: {generate: {distribution: x, rows: 1}, header: true}",
           "3:53: the table 't' is generated: 'header' is for files"},
          {"'': {file: a}", "3:3: a table's name is empty"},
          {"t: {file: a}\n  t: {file: b}", "4:3: the key 't' comes twice"},
      },
      "version: 1\ntables:\n  ", "\nqueries: [{name: q, from: t, prefer: {low: a}}]");
}

TEST(BatchErrors, OfQueries) {
  const std::string kTime = "a time such as 30s, 500ms or 5min (a plain number is seconds)";
  expect_errors(
      {
          {"from: t", "4:5: a query needs the key 'name'"},
          {"name: q", "4:5: a query needs the key 'from'"},
          {"name: q\n    from: t",
           "4:5: the query asks for nothing: it needs 'prefer', 'rank_by', 'group_by' or 'aggregate'"},
          {"name: a/b",
           "4:11: the query name 'a/b' is no plain file name: use letters, digits, '-', '_' and '.', and "
           "no '.' in front"},
          {"name: [a]", "4:11: 'name' needs a text, found a list"},
          {"name: q\n    from: hotels", "5:11: there is no table 'hotels' (tables are t, tweets)"},
          {"name: q\n    from: tweet",
           "5:11: there is no table 'tweet'; did you mean 'tweets'? (tables are t, tweets)"},
          {"name: q\n    from: t\n    form: t", "6:5: a query has no key 'form'; did you mean 'from'?"},
      },
      "version: 1\ntables: {t: {file: a}, tweets: {file: b}}\nqueries:\n  - ", "");
  expect_errors(
      {
          {"where:", "6:11: 'where' needs an expression, found nothing"},
          {"where: [a]", "6:12: 'where' needs an expression, found a list"},
          {"where: a = = b", "6:16: expected a value after '=', found '='"},
          {"where: |\n      a > 1\n      and and b",
           "8:11: expected a value after 'and', found 'and' (a column of that name stands in backquotes)"},
          {"prefer: []", "6:13: 'prefer' is empty; it needs a list such as [{low: price}, {high: rating}]"},
          {"prefer: {}",
           "6:13: a preference has one key, found 0; several preferences are a list: [{low: a}, {high: b}]"},
          {"prefer: {low: a, high: b}",
           "6:13: a preference has one key, found 2; several preferences are a list: [{low: a}, {high: b}]"},
          {"prefer: price", "6:13: a preference is a map such as {low: price}, found 'price'"},
          {"prefer: [price]", "6:14: a preference is a map such as {low: price}, found 'price'"},
          {"prefer: {lo: a}",
           "6:14: a preference has no key 'lo'; did you mean 'low'? (keys are low, high, around, between, in, where, "
           "pareto, prior, inverse)"},
          {"prefer: {low: [a]}", "6:19: 'low' needs an expression, found a list"},
          {"prefer: {low: a +}", "6:22: expected a value after '+', found the end of the expression"},
          {"prefer: {pareto: []}", "6:22: 'pareto' is empty; it needs a list such as [{low: price}, {high: rating}]"},
          {"prefer: {prior: {low: a}}",
           "6:21: 'prior' needs a list such as [{low: price}, {high: rating}], found a map"},
          {"prefer: [[{low: a}]]",
           "6:14: a list inside a list of preferences is ambiguous: write {pareto: [...]} or {prior: [...]}"},
          {"prefer: {around: a}", "6:22: 'around' needs a map (key: value), found 'a'"},
          {"prefer: {around: {expr: a}}", "6:22: 'around' needs the key 'target'"},
          {"prefer: {around: {target: 1}}", "6:22: 'around' needs the key 'expr'"},
          {"prefer: {around: {expr: a, target: null}}",
           "6:13: 'around' needs a number, a date or a timestamp as its 'target', not null"},
          {"prefer: {around: {expr: a, target: .NaN}}",
           "6:40: 'target' cannot be NaN: it is worst, or best with nan: best"},
          {"prefer: {between: {expr: a}}", "6:13: 'between' needs 'from', 'to' or both"},
          {"prefer: {between: {expr: a, from: 1, to: null}}",
           "6:46: 'to' is NULL; leave it out for a range without an end there"},
          {"prefer: {around: {expr: a, target: 1e999}}",
           "6:40: 1e999 is out of range: floats go from 5e-324 to 1.8e308"},
          {"prefer: {around: {expr: a, target: date '2017-02-30'}}",
           "6:45: '2017-02-30' is no date; write it like '2017-05-01'"},
          {"prefer: {around: {expr: a, traget: 1}}",
           "6:32: 'around' has no key 'traget'; did you mean 'target'? (keys are expr, target)"},
          {"prefer: {between: {expr: a, from: 2, to: 1}}",
           "6:13: 'between' goes from 2 down to 1; 'from' must not be above 'to'"},
          {"prefer: {in: {expr: a, values: []}}", "6:36: 'values' is empty; it needs a list such as [[a, b], [c]]"},
          {"prefer: {in: {expr: a, values: [b]}}",
           "6:37: a set of 'values' needs a list such as [a, b] in [[a, b], [c]], found 'b'"},
          {"prefer: {in: {expr: a, values: [[b], [b]]}}", "6:13: 'in' lists 'b' twice"},
          {"prefer: {low: max(a, b)}",
           "6:13: a preference has one key, found 2; several preferences are a list: [{low: a}, {high: b}]"},
          {"prefer: [{low: a}, {high: b}, {low: c}]\n    levels: 0", "7:13: 'levels' must be at least 1, found 0"},
          {"prefer: {low: a, step: 0}",
           "6:28: the size of boxes is a number above 0, a ratio such as '10%' or a time such "
           "as '7d', not 0"},
          {"prefer: {low: a, step: .nan}", "6:28: 'step' cannot be NaN: it is worst, or best with nan: best"},
          {"prefer: {low: a, step: -10%}",
           "6:28: boxes of equal ratio need a ratio from 0.000001 to 1000000, which is 0.0001% to 100000000%, not "
           "'-10%'"},
          {"prefer: {low: a, step: 10 percent}",
           "6:28: the size of boxes is a number above 0, a ratio such as '10%' or a "
           "time such as '7d', not '10 percent'"},
          {"prefer: {where: a, step: 5}", "6:30: 'step' is of 'low' and 'high', not of 'where'"},
          {"prefer: {step: 5}",
           "6:14: a preference has no key 'step' (keys are low, high, around, between, in, where, "
           "pareto, prior, inverse)"},
          {"prefer: {low: a}\n    feasible: a >", "7:18: expected a value after '>', found the end of the expression"},
          {"prefer: {low: a}\n    feasible: a > 1\n    violation: []",
           "8:16: 'violation' is empty; it needs a list such as [weight - 10, power - 5]"},
          {"prefer: {low: a}\n    violation: a", "7:16: 'violation' needs 'feasible'"},
          {"rank_by: {low: a}\n    feasible: a > 1", "7:15: 'feasible' needs 'prefer'"},
          {"prefer: {low: a}\n    pick: 3", "7:11: 'pick' needs a map (key: value), found '3'"},
          {"prefer: {low: a}\n    pick: {by: coverage}", "7:11: 'pick' needs the key 'count'"},
          {"prefer: {low: a}\n    pick: {count: 0}", "7:19: 'count' must be at least 1, found 0"},
          {"prefer: {low: a}\n    pick: {count: 1, by: size}",
           "7:26: 'by' is one of distance, coverage, hypervolume, found 'size'"},
          {"prefer: {low: a}\n    pick: {count: 1, by: hypervolume}",
           "7:11: 'pick' by hypervolume needs a 'reference': a value of each term that is worse than those of the "
           "rows"},
          {"prefer: {low: a}\n    pick: {count: 1, by: hypervolume, reference: [b]}",
           "7:51: 'reference' has numbers, found 'b'"},
          {"rank_by: {low: a}\n    pick: {count: 1}", "4:5: 'pick' needs 'prefer'"},
          {"prefer: [{low: a}, {low: b}]\n    weights: [a >= 2 * b, b >= a]",
           "7:14: no weights of 0 or more fulfil all constraints of 'weights'"},
          {"prefer: [{low: a}, {low: b}]\n    weights: [a >= b, a * b = 0]",
           "7:23: a constraint on weights has sums of multiples of them, such as 2 * price + rating; a * b is none, "
           "and "
           "no term of the preference"},
          {"prefer: {prior: [{low: a}, {low: b}]}\n    weights: [a >= b]",
           "7:14: 'weights' are of 'low' and 'high' terms in one Pareto order"},
          {"rank_by: {low: a}\n    weights: [a >= b]", "7:14: 'weights' need 'prefer'"},
          {"limit: -1", "6:12: 'limit' must not be negative, found -1"},
          {"timeout: soon", "6:14: 'timeout' needs " + kTime + ", found 'soon'"},
          {"timeout: 0", "6:14: 'timeout' needs " + kTime + ", found '0'"},
          {"timeout: 0.4ms", "6:14: 'timeout' needs " + kTime + ", found '0.4ms'"},
          {"timeout: -1s", "6:14: 'timeout' needs " + kTime + ", found '-1s'"},
          {"timeout: 3 days", "6:14: 'timeout' needs " + kTime + ", found '3 days'"},
          {"timeout: 1000000h", "6:14: 'timeout' needs " + kTime + ", found '1000000h'"},
          {"timeout: nan", "6:14: 'timeout' needs " + kTime + ", found 'nan'"},
          {"timeout: [1]", "6:14: 'timeout' needs " + kTime + ", found a list"},
          {"limit: 2.5", "6:12: 'limit' needs a whole number, found '2.5'"},
          {"limit: ten", "6:12: 'limit' needs a whole number, found 'ten'"},
          {"limit: 9223372036854775808", "6:12: 'limit' is out of range: '9223372036854775808'"},
          {"offset: -5", "6:13: 'offset' must not be negative, found -5"},
          {"at_least: -5", "6:15: 'at_least' must not be negative, found -5"},
          {"distinct: 1", "6:15: 'distinct' needs true or false, found '1'"},
          {"ties: lst", "6:11: 'ties' is one of first, last, all, any, found 'lst'; did you mean 'last'?"},
          {"nan: ignore", "6:10: 'nan' is one of worst, exclude, error, best, found 'ignore'"},
          {"nulls: [worst]", "6:12: 'nulls' is one of worst, exclude, error, best, found a list"},
          {"rank_by: []", "6:14: 'rank_by' is empty; it needs a list such as [{high: rating}, {low: price}]"},
          {"rank_by: price", "6:14: 'rank_by' needs a list such as [{high: rating}, {low: price}], found 'price'"},
          {"rank_by: {around: {expr: a, target: 1}}",
           "6:15: a term of 'rank_by' has no key 'around' (keys are low, high)"},
          {"rank_by: {low: a, high: b}",
           "6:14: a term of 'rank_by' has one key, 'low' or 'high'; several terms are a list: [{high: a}, {low: b}]"},
          {"group_by: city", "6:15: 'group_by' needs a list such as [city, year], found 'city'"},
          {"group_by: [{m: b +}]", "6:23: expected a value after '+', found the end of the expression"},
          {"group_by: [a, {a: b + 1}]", "6:20: 'group_by' names 'a' twice"},
          {"group_by: [{'': b}]", "6:17: a name in 'group_by' is empty"},
          {"partition_by: [{m: [a]}]\n    rank_by: {low: a}", "6:24: 'partition_by' needs an expression, found a list"},
          {"group_by: [a +]", "6:19: expected a value after '+', found the end of the expression"},
          {"group_by: [a]\n    aggregate: {n: counts()}",
           "7:20: the aggregate 'n' needs count(), count(e), sum(e), min(e), max(e) or avg(e), found 'counts'; did you "
           "mean 'count'?"},
          {"group_by: [a]\n    aggregate: {n: count}",
           "7:20: the aggregate 'n' needs count(), count(e), sum(e), min(e), max(e) or avg(e), found 'count'"},
          {"group_by: [a]\n    aggregate: {n: sum()}", "7:20: the aggregate 'n' needs an argument: sum(e)"},
          {"group_by: [a]\n    aggregate: {n: sum(b +)}",
           "7:27: expected a value after '+', found the end of the expression"},
          {"group_by: [a]\n    aggregate: {a: count()}",
           "4:5: the aggregate 'a' has the name of a column of 'group_by', which the answer has too; name it "
           "otherwise, such as 'total_a'"},
          {"group_by: [a]\n    aggregate: [count()]", "7:16: 'aggregate' needs a map (key: value), found a list"},
          {"partition_by: [a]\n    aggregate: {n: count()}\n    prefer: {low: a}",
           "4:5: 'partition_by' has nothing to divide: 'aggregate' without 'group_by' gives one row"},
          {"having: a > 1\n    prefer: {low: a}", "4:5: 'having' needs 'group_by' or 'aggregate'; 'where' is for rows"},
          {"select: name", "6:13: 'select' needs a list such as [name, price, {twice: 2 * price}], found 'name'"},
          {"select: [a, b, a]", "6:20: 'select' names 'a' twice; give one of them another name: {other: a}"},
          {"select: [max(a, b)]",
           "6:19: expected an operator, ',' or ')' after 'a', found the end of the expression (inside [...] and {...} "
           "an expression with a comma needs quotes)"},
          {"using: {algorithm: []}", "6:24: 'algorithm' is empty; it needs a list such as [sort-first, heap]"},
          {"using: {device: gpu}", "6:21: 'device' is one of auto, cpu, cuda, found 'gpu'; did you mean 'cuda'?"},
          {"using: {parameters: {block: big}}", "6:33: the parameter 'block' needs a whole number, found 'big'"},
          {"using: {paramters: {}}",
           "6:13: 'using' has no key 'paramters'; did you mean 'parameters'? (keys are algorithm, device, parameters, "
           "without)"},
      },
      "version: 1\ntables: {t: {file: a}, tweets: {file: b}}\nqueries:\n  - name: q\n    from: t\n    ", "");
}

TEST(BatchErrors, SixtyFiveDimensions) {
  std::string terms;
  for (int i = 0; i < 65; ++i) terms += (i == 0 ? "" : ", ") + std::string("{low: c") + std::to_string(i) + "}";
  EXPECT_EQ(
      error_of("version: 1\ntables: {t: {file: a}}\nqueries:\n  - name: q\n    from: t\n    prefer: [" + terms + "]"),
      "b.yaml:6:13: 'prefer' has 65 dimensions; at most 64 are supported");
}

TEST(BatchErrors, QueryNamesAreDistinct) {
  const std::string query = "  - {name: q, from: t, prefer: {low: a}}\n";
  EXPECT_EQ(error_of("version: 1\ntables: {t: {file: a}}\nqueries:\n" + query + query),
            "b.yaml:5:5: the query name 'q' comes twice; the first is in line 4");
}

}  // namespace
}  // namespace skyrank
