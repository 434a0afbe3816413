#include <skyrank/engine.hpp>
#include <skyrank/query.hpp>
#include <skyrank/source.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "datasets/reader.hpp"
#include "datasets/write/writer.hpp"
#include "engine/placeholder_column.hpp"
#include "tests/linear/operations.hpp"

// The work of a query over a source grows with the columns of the source and with those that it reads late, for the
// rows of the answer.
namespace skyrank::exec {
namespace {

using tests::expect_linear;
using tests::list;

constexpr std::size_t kUnits = 2;
constexpr std::int64_t kFewRows = 2;
constexpr std::int64_t kRowsOfUnits = std::int64_t{1} << 16;  // from which on units are answered one by one

const Engine& engine() {
  static const Engine kEngine({.threads = 1, .device = DeviceChoice::cpu, .profile = ""});
  return kEngine;
}

std::string name(int i) { return "c" + std::to_string(i); }

Column ascending(const std::string& name, std::int64_t rows) {
  std::vector<std::int64_t> values(static_cast<std::size_t>(rows));
  std::iota(values.begin(), values.end(), std::int64_t{0});
  return Column::own(name, std::move(values));
}

/// The least and the greatest value of each unit.
std::optional<UnitStatistics> bounds_of(int column, std::int64_t rows) {
  return UnitStatistics{.min = Column::own(name(column), std::vector<std::int64_t>(kUnits, 0)),
                        .max = Column::own(name(column), std::vector<std::int64_t>(kUnits, rows - 1)),
                        .nulls = std::vector<std::optional<std::int64_t>>(kUnits, 0)};
}

/// Two units of n columns. The first four have different values.
std::shared_ptr<const Source> wide(int n, std::int64_t rows) {
  std::vector<Column> columns;
  for (int i = 0; i < n; ++i) columns.push_back(placeholder_column(name(i), DataType(Type::int64), 0));
  const auto read = [rows](std::size_t /*unit*/, std::span<const int> wanted) {
    std::vector<Column> values;
    for (const int i : wanted) {
      values.push_back(i < 4 ? ascending(name(i), rows) : placeholder_column(name(i), DataType(Type::int64), rows));
    }
    return Table(std::move(values));
  };
  return unit_source(Table(std::move(columns)), std::vector<SourceUnit>(kUnits, SourceUnit{.rows = rows}), read,
                     [rows](int column) { return bounds_of(column, rows); });
}

using MakeSource = std::function<std::shared_ptr<const Source>(int)>;

using UseQuery = std::function<void(const Query&, const Source&)>;

/// Counts what `use` does with a statement over sources of n columns.
void expect_linear_use(const std::string& what, int n, const MakeSource& make,
                       const std::function<std::string(int)>& statement, const UseQuery& use) {
  expect_linear(what, n, [&](int size) {
    return [query = Query::parse(statement(size)), source = make(size), use] { use(query, *source); };
  });
}

void run(const Query& query, const Source& source) { EXPECT_FALSE(engine().run(query, source).rows.empty()); }
void explain(const Query& query, const Source& source) { engine().explain(query, source); }
void answer_in_part(const Query& query, const Source& source) { engine().partial(query, source, 0); }

/// Counts answers that show all columns of a source and look at two, and their plans.
void expect_linear_answers(const std::string& source, int n, const MakeSource& make) {
  const auto all = [](int /*size*/) { return "SELECT * FROM t ORDER BY c1 LIMIT 1"; };
  const auto named = [](int size) { return "SELECT " + list(size, name) + " FROM t ORDER BY c1 LIMIT 1"; };
  const auto skyline = [](int /*size*/) { return "SELECT * FROM t SKYLINE OF c0 MIN, c1 MIN"; };
  expect_linear_use("all columns of " + source, n, make, all, run);
  expect_linear_use("named columns of " + source, n, make, named, run);
  expect_linear_use("columns of a skyline of " + source, n, make, skyline, run);
  expect_linear_use("plan of columns of " + source, n, make, all, explain);
  expect_linear_use("partial answer with columns of " + source, n, make, all, answer_in_part);
}

/// Counts answers that look at all columns of a source.
void expect_linear_conditions(const std::string& source, int n, const MakeSource& make) {
  const auto conditions = [](int size) {
    std::string condition = "c0 >= 0";
    for (int i = 1; i < size; ++i) condition += " AND " + name(i) + " >= 0";
    return "SELECT * FROM t WHERE " + condition + " ORDER BY c1 LIMIT 1";
  };
  expect_linear_use("conditions on columns of " + source, n, make, conditions, run);
}

TEST(LinearSources, OfColumnsOfFewRows) {
  const auto make = [](int n) { return wide(n, kFewRows); };
  expect_linear_answers("units of few rows", 50, make);
  expect_linear_conditions("units of few rows", 50, make);
}

TEST(LinearSources, OfColumnsOfUnitsThatAreAnsweredOneByOne) {
  expect_linear_answers("large units", 200, [](int n) { return wide(n, kRowsOfUnits); });
}

TEST(LinearSources, OfColumnsOfFiles) {
  const std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) / "skyrank_linear_sources";
  std::filesystem::create_directories(folder);
  for (const auto& [kind, file] :
       {std::pair(datasets::Format::parquet, "wide.parquet"), std::pair(datasets::Format::arrow, "wide.arrow")}) {
    const datasets::Format format = kind;
    const std::filesystem::path path = folder / file;
    const auto make = [&](int n) {
      std::vector<Column> columns;
      for (int i = 0; i < n; ++i) columns.push_back(Column::own(name(i), std::vector<std::int64_t>{i, 2 * i}));
      datasets::write(Table(std::move(columns)), path, format, {.threads = 1});
      datasets::ReadOptions options;
      options.threads = 1;
      return datasets::open_source({path}, options);
    };
    expect_linear_answers(file, 50, make);
    expect_linear_conditions(file, 50, make);
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace skyrank::exec
