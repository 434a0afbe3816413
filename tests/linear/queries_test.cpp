#include <skyrank/batch.hpp>
#include <skyrank/engine.hpp>
#include <skyrank/query.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/build.hpp"
#include "tests/operations.hpp"

// The work of a query grows with its text, its columns and its terms, and that of a batch with its queries.
namespace skyrank {
namespace {

using tests::expect_near_linear;

class LinearWork : public ::testing::Test {
 protected:
  void SetUp() override {
    if (tests::kSanitized) GTEST_SKIP() << "a sanitizer's own work is not linear";
  }

  static const Engine& engine() {
    static const Engine kEngine({.threads = 1, .device = DeviceChoice::cpu, .profile = ""});
    return kEngine;
  }

  /// "piece(0), piece(1), ..."
  static std::string list(int n, const std::function<std::string(int)>& piece) {
    std::string text;
    for (int i = 0; i < n; ++i) text += (i == 0 ? "" : ", ") + piece(i);
    return text;
  }

  static std::string name(int i) { return "c" + std::to_string(i); }

  /// A table of two rows and n columns.
  static Table wide(int n) {
    std::vector<Column> columns;
    for (int i = 0; i < n; ++i) columns.push_back(Column::own(name(i), std::vector<std::int64_t>{i, 2 * i}));
    return Table(std::move(columns));
  }

  /// Measures parsing a statement and running it over a table.
  static std::function<void()> answering(std::string statement, Table table) {
    return
        [statement = std::move(statement), table = std::move(table)] { engine().run(Query::parse(statement), table); };
  }
};

TEST_F(LinearWork, InTheMembersOfAList) {
  expect_near_linear("members of IN", 4'000, [](int n) {
    return answering("SELECT c0 FROM t WHERE c0 IN (" + list(n, [](int i) { return std::to_string(7 * i); }) +
                         ") ORDER BY c0 LIMIT 1",
                     wide(2));
  });
  expect_near_linear("texts of IN", 4'000, [](int n) {
    const Table table({Column::own("c0", std::vector<std::string>{"a", "b"})});
    return answering("SELECT c0 FROM t WHERE c0 IN (" + list(n, [](int i) { return "'x" + std::to_string(i) + "'"; }) +
                         ") ORDER BY c0 LIMIT 1",
                     table);
  });
  expect_near_linear("members of a preference", 4'000, [](int n) {
    std::vector<Value> values;
    for (int i = 0; i < n; ++i) values.emplace_back(std::int64_t{7} * i);
    const auto query = std::make_shared<Query>(Query::from("t").prefer(in(Expression::column("c0"), {values})));
    return [query, table = wide(2)] { engine().run(*query, table); };
  });
}

TEST_F(LinearWork, InTheLengthOfAStatement) {
  expect_near_linear("selected expressions", 500, [](int n) {
    return answering("SELECT " +
                         list(n, [](int i) { return "c0 + " + std::to_string(i) + " AS x" + std::to_string(i); }) +
                         " FROM t ORDER BY c1 LIMIT 1",
                     wide(2));
  });
  expect_near_linear("aggregates", 250, [](int n) {
    return answering("SELECT c0, " +
                         list(n, [](int i) { return "SUM(c1 + " + std::to_string(i) + ") AS " + name(i + 2); }) +
                         " FROM t GROUP BY c0 ORDER BY c2 LIMIT 1",
                     wide(2));
  });
  expect_near_linear("spaces", 50'000, [](int n) {
    return answering("SELECT c0 FROM t" + std::string(static_cast<std::size_t>(n), ' ') + "ORDER BY c0 LIMIT 1",
                     wide(2));
  });
}

TEST_F(LinearWork, InColumns) {
  expect_near_linear("all columns of a table", 500,
                     [](int n) { return answering("SELECT * FROM t ORDER BY c1 LIMIT 1", wide(n)); });
  expect_near_linear("named columns of a table", 500, [](int n) {
    return answering("SELECT " + list(n, name) + " FROM t ORDER BY c1 LIMIT 1", wide(n));
  });
  expect_near_linear("terms of a ranking", 250, [](int n) {
    return answering("SELECT c0 FROM t ORDER BY " + list(n, name) + " LIMIT 1", wide(n));
  });
  expect_near_linear("names to read", 500, [](int n) {
    std::vector<std::string> names;
    for (int i = 0; i < n; ++i) names.push_back(name(i));
    const Query query = Query::parse("SELECT " + list(n, name) + " FROM t ORDER BY c1 LIMIT 1");
    return [names, query] { Engine::columns_read(query, names); };
  });
}

TEST_F(LinearWork, InTheQueriesAndTablesOfABatch) {
  expect_near_linear("queries of a batch", 200, [](int n) {
    std::string batch = "version: 1\ntables:\n";
    for (int i = 0; i < n; ++i) batch += "  t" + std::to_string(i) + ": {file: a.csv}\n";
    batch += "queries:\n";
    for (int i = 0; i < n; ++i) {
      batch += "  - {name: q" + std::to_string(i) + ", from: t" + std::to_string(i) + ", rank_by: {low: a}}\n";
    }
    return [batch = std::move(batch)] { parse_batch(batch, "batch.yaml"); };
  });
  expect_near_linear("columns of a query in YAML", 500, [](int n) {
    const std::string batch =
        "version: 1\ntables: {t: {file: a.csv}}\nqueries:\n  - {name: q, from: t, rank_by: {low: a}, select: [" +
        list(n, name) + "]}\n";
    return [batch] { parse_batch(batch, "batch.yaml"); };
  });
  expect_near_linear("mistakes of a batch", 200, [](int n) {
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
