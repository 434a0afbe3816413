#include <skyrank/batch.hpp>
#include <skyrank/engine.hpp>
#include <skyrank/query.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/linear/operations.hpp"

// The work of a query grows with its text, its columns and its terms, and that of a batch with its queries.
namespace skyrank {
namespace {

using tests::expect_linear;
using tests::list;

const Engine& engine() {
  static const Engine kEngine({.threads = 1, .device = DeviceChoice::cpu, .profile = ""});
  return kEngine;
}

std::string name(int i) { return "c" + std::to_string(i); }

std::string number(int i) { return std::to_string(7 * i); }

/// A table of two rows and n columns.
Table wide(int n) {
  std::vector<Column> columns;
  for (int i = 0; i < n; ++i) columns.push_back(Column::own(name(i), std::vector<std::int64_t>{i, 2 * i}));
  return Table(std::move(columns));
}

/// Counts parsing a statement, running it over a table, and printing and parsing it again.
std::function<void()> answering(std::string statement, Table table) {
  return [statement = std::move(statement), table = std::move(table)] {
    const Query query = Query::parse(statement);
    engine().run(query, table);
    EXPECT_EQ(Query::parse(to_sql(query)), query);
  };
}

/// Counts parsing a batch of one query, with these keys besides.
std::function<void()> parsing(const std::string& keys) {
  return [batch = "version: 1\ntables: {t: {file: a.csv}}\nqueries:\n  - {name: q, from: t, " + keys + "}\n"] {
    parse_batch(batch, "batch.yaml");
  };
}

TEST(LinearWork, InTheMembersOfAList) {
  expect_linear("members of IN", 100, [](int n) {
    return answering("SELECT c0 FROM t WHERE c0 IN (" + list(n, number) + ") ORDER BY c0 LIMIT 1", wide(2));
  });
  expect_linear("equal members of IN", 100, [](int n) {
    return answering("SELECT c0 FROM t WHERE c0 IN (" + list(n, [](int) { return "5"; }) + ") ORDER BY c0 LIMIT 1",
                     wide(2));
  });
  expect_linear("texts of IN", 100, [](int n) {
    const Table table({Column::own("c0", std::vector<std::string>{"a", "b"})});
    return answering("SELECT c0 FROM t WHERE c0 IN (" + list(n, [](int i) { return "'x" + std::to_string(i) + "'"; }) +
                         ") ORDER BY c0 LIMIT 1",
                     table);
  });
  expect_linear("members of a preference", 100, [](int n) {
    return answering("SELECT c0 FROM t PREFERRING c0 IN (" + list(n, number) + ")", wide(2));
  });
  expect_linear("sets of a preference", 100, [](int n) {
    std::string sets = "c0 IN (0)";
    for (int i = 1; i < n; ++i) sets += " ELSE (" + number(i) + ")";
    return answering("SELECT c0 FROM t PREFERRING " + sets, wide(2));
  });
  expect_linear("sets of a preference in YAML", 100, [](int n) {
    return parsing("prefer: {in: {expr: a, values: [" + list(n, [](int i) { return "[" + number(i) + "]"; }) + "]}}");
  });
}

TEST(LinearWork, InTheLengthOfAStatement) {
  expect_linear("selected expressions", 100, [](int n) {
    return answering("SELECT " +
                         list(n, [](int i) { return "c0 + " + std::to_string(i) + " AS x" + std::to_string(i); }) +
                         " FROM t ORDER BY c1 LIMIT 1",
                     wide(2));
  });
  expect_linear("selected expressions without names", 100, [](int n) {
    return answering(
        "SELECT " + list(n, [](int i) { return "c0 + " + std::to_string(i); }) + " FROM t ORDER BY c1 LIMIT 1",
        wide(2));
  });
  expect_linear("aggregates", 100, [](int n) {
    return answering("SELECT c0, " +
                         list(n, [](int i) { return "SUM(c1 + " + std::to_string(i) + ") AS " + name(i + 2); }) +
                         " FROM t GROUP BY c0 ORDER BY c2 LIMIT 1",
                     wide(2));
  });
  expect_linear("arguments of a function", 100, [](int n) {
    return answering("SELECT c0 FROM t ORDER BY coalesce(" + list(n, name) + ") LIMIT 1", wide(n));
  });
  expect_linear("terms of a sum", 50, [](int n) {
    std::string sum = "c0";
    for (int i = 1; i < n; ++i) sum += " + " + name(i);
    return answering("SELECT c0 FROM t ORDER BY " + sum + " LIMIT 1", wide(n));
  });
  expect_linear("conditions", 50, [](int n) {
    std::string condition = "c0 >= 0";
    for (int i = 1; i < n; ++i) condition += " AND " + name(i) + " >= " + std::to_string(i);
    return answering("SELECT c0 FROM t WHERE " + condition + " ORDER BY c0 LIMIT 1", wide(n));
  });
  expect_linear("alternatives", 50, [](int n) {
    std::string condition = "c0 = 0";
    for (int i = 1; i < n; ++i) condition += " OR c0 = " + std::to_string(i);
    return answering("SELECT c0 FROM t WHERE " + condition + " ORDER BY c0 LIMIT 1", wide(1));
  });
  const auto bytes = [](int n) { return std::string(static_cast<std::size_t>(n), ' '); };
  expect_linear("spaces", 1'000,
                [&](int n) { return answering("SELECT c0 FROM t" + bytes(n) + "ORDER BY c0 LIMIT 1", wide(2)); });
  expect_linear("lines", 1'000, [](int n) {
    return answering("SELECT c0 FROM t" + std::string(static_cast<std::size_t>(n), '\n') + "ORDER BY c0 LIMIT 1",
                     wide(2));
  });
  expect_linear("comments", 200, [](int n) {
    std::string comments;
    for (int i = 0; i < n; ++i) comments += " /* a */ -- b\n";
    return answering("SELECT c0 FROM t" + comments + "ORDER BY c0 LIMIT 1", wide(2));
  });
  expect_linear("bytes of a text", 1'000, [&](int n) {
    const Table table({Column::own("c0", std::vector<std::string>{"a", "b"})});
    return answering("SELECT c0 FROM t WHERE c0 <> '" + bytes(n) + "' ORDER BY c0 LIMIT 1", table);
  });
  expect_linear("quotes of a text", 1'000, [&](int n) {
    const Table table({Column::own("c0", std::vector<std::string>{"a", "b"})});
    return answering(
        "SELECT c0 FROM t WHERE c0 <> '" + std::string(2 * static_cast<std::size_t>(n), '\'') + "' ORDER BY c0 LIMIT 1",
        table);
  });
  expect_linear("bytes of a pattern", 200, [&](int n) {
    const Table table({Column::own("c0", std::vector<std::string>{"a", "b"})});
    std::string pattern;
    for (int i = 0; i < n; ++i) pattern += "%_a";
    return answering("SELECT c0 FROM t WHERE c0 NOT LIKE '" + pattern + "' ORDER BY c0 LIMIT 1", table);
  });
  expect_linear("bytes of a name", 1'000, [&](int n) {
    const std::string long_name = "c" + bytes(n) + "c";
    const Table table({Column::own(long_name, std::vector<std::int64_t>{1, 2})});
    return answering("SELECT \"" + long_name + "\" FROM t ORDER BY \"" + long_name + "\" LIMIT 1", table);
  });
}

TEST(LinearWork, InColumns) {
  expect_linear("all columns of a table", 100,
                [](int n) { return answering("SELECT * FROM t ORDER BY c1 LIMIT 1", wide(n)); });
  expect_linear("named columns of a table", 100,
                [](int n) { return answering("SELECT " + list(n, name) + " FROM t ORDER BY c1 LIMIT 1", wide(n)); });
  expect_linear("names to read", 100, [](int n) {
    std::vector<std::string> names;
    for (int i = 0; i < n; ++i) names.push_back(name(i));
    const Query query = Query::parse("SELECT " + list(n, name) + " FROM t ORDER BY c1 LIMIT 1");
    return [names, query] { Engine::columns_read(query, names); };
  });
  expect_linear("columns of which none is meant", 100, [](int n) {
    const Query query = Query::parse("SELECT d FROM t ORDER BY c1 LIMIT 1");
    return [query, table = wide(n)] { EXPECT_THROW(engine().run(query, table), BindError); };
  });
}

TEST(LinearWork, InKeys) {
  expect_linear("terms of a ranking that are selected", 100, [](int n) {
    return answering("SELECT " + list(n, name) + " FROM t ORDER BY " + list(n, name) + " LIMIT 1", wide(n));
  });
  expect_linear("terms of a ranking that SELECT defines", 100, [](int n) {
    const auto alias = [](int i) { return "x" + std::to_string(i); };
    return answering("SELECT " + list(n, [&](int i) { return name(i) + " + 1 AS " + alias(i); }) + " FROM t ORDER BY " +
                         list(n, alias) + " LIMIT 1",
                     wide(n));
  });
  expect_linear("keys of groups that are selected", 100, [](int n) {
    return answering("SELECT " + list(n, name) + " FROM t GROUP BY " + list(n, name) + " ORDER BY c0", wide(n));
  });
  expect_linear("keys of groups that SELECT defines", 100, [](int n) {
    const auto alias = [](int i) { return "x" + std::to_string(i); };
    return answering("SELECT " + list(n, [&](int i) { return name(i) + " + 1 AS " + alias(i); }) + " FROM t GROUP BY " +
                         list(n, alias) + " ORDER BY x0",
                     wide(n));
  });
  expect_linear("aggregates that a ranking names", 100, [](int n) {
    return answering("SELECT c0 FROM t GROUP BY c0 ORDER BY " + list(n, [](int i) { return "SUM(" + name(i) + ")"; }),
                     wide(n));
  });
  expect_linear("aggregates that are not selected", 100, [](int n) {
    return answering("SELECT c0 FROM t GROUP BY c0 AGGREGATE " +
                         list(n, [](int i) { return "SUM(" + name(i) + ") AS s" + std::to_string(i); }) +
                         " ORDER BY s0",
                     wide(n));
  });
  expect_linear("terms of a ranking", 100,
                [](int n) { return answering("SELECT c0 FROM t ORDER BY " + list(n, name) + " LIMIT 1", wide(n)); });
  expect_linear("dimensions of a skyline", 4, [](int n) {
    return answering("SELECT c0 FROM t SKYLINE OF " + list(n, [](int i) { return name(i) + " MIN"; }), wide(n));
  });
  expect_linear("terms of a prioritized preference", 50, [](int n) {
    return answering("SELECT c0 FROM t PREFERRING PRIOR (" + list(n, [](int i) { return "LOW " + name(i); }) + ")",
                     wide(n));
  });
  expect_linear("keys of groups", 100, [](int n) {
    return answering("SELECT c0, COUNT(*) AS n FROM t GROUP BY " + list(n, name) + " ORDER BY c0", wide(n));
  });
  expect_linear("keys of partitions", 100, [](int n) {
    return answering("SELECT c0 FROM t PREFERRING LOW c0 PARTITION BY " + list(n, name), wide(n));
  });
  expect_linear("terms of a ranking in YAML", 100, [](int n) {
    return parsing("rank_by: [" + list(n, [](int i) { return "{low: " + name(i) + "}"; }) + "]");
  });
  expect_linear("aggregates in YAML", 100, [](int n) {
    return parsing("group_by: [a], aggregate: {" + list(n, [](int i) { return name(i) + ": sum(b)"; }) + "}");
  });
}

TEST(LinearWork, InTheQueriesAndTablesOfABatch) {
  expect_linear("queries of a batch", 50, [](int n) {
    std::string batch = "version: 1\ntables:\n";
    for (int i = 0; i < n; ++i) batch += "  t" + std::to_string(i) + ": {file: a.csv}\n";
    batch += "queries:\n";
    for (int i = 0; i < n; ++i) {
      batch += "  - {name: q" + std::to_string(i) + ", from: t" + std::to_string(i) + ", rank_by: {low: a}}\n";
    }
    return [batch = std::move(batch)] { parse_batch(batch, "batch.yaml"); };
  });
  expect_linear("statements of a batch", 50, [](int n) {
    std::string batch = "version: 1\ntables: {t: {file: a.csv}}\nqueries:\n";
    for (int i = 0; i < n; ++i) {
      batch += "  - {name: q" + std::to_string(i) + ", sql: \"SELECT a FROM t ORDER BY a LIMIT 1\"}\n";
    }
    return [batch = std::move(batch)] { parse_batch(batch, "batch.yaml"); };
  });
  expect_linear("columns of a query in YAML", 100,
                [](int n) { return parsing("rank_by: {low: a}, select: [" + list(n, name) + "]"); });
  expect_linear("length of an expression in YAML", 50, [](int n) {
    std::string lines = "rank_by: {low: c0";
    for (int i = 1; i < n; ++i) lines += "\n      + " + name(i);
    return parsing(lines + "}");
  });
  const auto of_table = [](const std::string& keys) {
    return [batch = "version: 1\ntables: {t: {" + keys + "}}\nqueries:\n  - {name: q, from: t, rank_by: {low: a}}\n"] {
      parse_batch(batch, "batch.yaml");
    };
  };
  expect_linear("stated types", 100, [&](int n) {
    return of_table("file: a.csv, types: {" + list(n, [](int i) { return name(i) + ": date"; }) + "}");
  });
  expect_linear("files of a table", 100, [&](int n) { return of_table("file: [" + list(n, name) + "]"); });
  expect_linear("mistakes of a batch", 50, [](int n) {
    std::string batch = "version: 1\ntables: {t: {file: a.csv}}\nqueries:\n";
    for (int i = 0; i < n; ++i) batch += "  - {name: q" + std::to_string(i) + ", from: u, rank_by: {low: a +}}\n";
    return [batch = std::move(batch)] {
      std::vector<QueryError> mistakes;
      parse_batch(batch, "batch.yaml", {}, mistakes);
    };
  });
}

}  // namespace
}  // namespace skyrank
