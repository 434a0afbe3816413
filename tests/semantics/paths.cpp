#include "tests/semantics/paths.hpp"

#include <map>
#include <set>

#include "kernels/cuda/device/device.hpp"
#include "tests/build.hpp"

namespace skyrank {
namespace {

constexpr int kManyThreads = 4;

/// The engine of many threads shares what it can between the paths of a query, which are over one table.
const Engine& engine(int threads) {
  static const Engine one(EngineOptions{.threads = 1, .device = DeviceChoice::automatic});
  static const Engine many(EngineOptions{.threads = kManyThreads,
                                         .device = DeviceChoice::automatic,
                                         .shared_key_bytes = std::size_t{1} << 24,
                                         .share_columns = true});
  return threads == 1 ? one : many;
}

/// Expects the query back from its text in SQL. Queries that are no queries have none.
void expect_same_in_sql(const Query& query) {
  try {
    query.validate();
  } catch (const QueryError&) {
    return;
  }
  const std::string text = to_sql(query);
  EXPECT_TRUE(Query::parse(text) == query) << text;
}

/// The problem kinds that a query poses.
std::set<std::string> problems(const Query& query) {
  std::set<std::string> kinds;
  if (query.prefer() && !query.skyband()) kinds.insert("skyline");
  if (!query.rank_by().empty()) kinds.insert("top-k");
  return kinds;
}

/// Returns true if a path exists, and keeps what it gave. The plan knows the number of rows only by an estimate, which
/// may fit where the number does not.
bool supported(Query query, const Table& table, Path& path) {
  try {
    const Engine& chosen = engine(path.threads);
    chosen.explain(query.using_path(path.path), table);
    path.result = std::make_shared<const Result>(chosen.run(query, table));
    return true;
  } catch (const BindError&) {
    return false;
  } catch (const Error&) {
    return true;
  }
}

/// The rules that matter to a query: without one that its plan does not apply, the plan is the same. All of them where
/// there is no plan, and in builds that are fast.
std::vector<std::string> rules_of(const Query& query, const Table& table) {
  std::vector<std::string> names;
  try {
    if (tests::kSanitized) {
      for (const RuleOutcome& outcome : engine(1).run(query, table).plan.rules) {
        if (outcome.applied) names.push_back(outcome.rule);
      }
      return names;
    }
  } catch (const Error&) {
  }
  for (const RuleInfo& rule : rules()) names.push_back(rule.name);
  return names;
}

std::string describe(const Path& path, const Query& query) {
  return path.name + " with " + std::to_string(path.threads) + " threads" +
         (query.name().empty() ? "" : " (query " + query.name() + ")");
}

}  // namespace

bool has_gpu() {
  static const bool has = !kernels::cuda::find_devices().devices.empty();
  return has;
}

std::vector<Path> paths(const Query& query, const Table& table) {
  expect_same_in_sql(query);
  std::vector<Path> result;
  const auto add = [&](const std::string& name, const ForcedPath& path) {
    if (!tests::kEmulated) result.push_back({.name = name, .path = path, .threads = 1});
    result.push_back({.name = name, .path = path, .threads = kManyThreads});
  };
  add("the planner's choice", {});
  for (const std::string& rule : rules_of(query, table)) {
    const ForcedPath without{.algorithms = {}, .parameters = {}, .without = {rule}};
    result.push_back({.name = "without " + rule, .path = without, .threads = 1});
  }
  ForcedPath no_rules;
  for (const RuleInfo& rule : rules()) no_rules.without.push_back(rule.name);
  add("without any rule", no_rules);
  for (const std::string& problem : problems(query)) {
    int count = 0;
    for (const AlgorithmInfo& algorithm : algorithms()) {
      const bool wanted = !tests::kEmulated || algorithm.device == "cuda";
      if (algorithm.problem != problem || (count > 0 && !wanted)) continue;
      const ForcedPath use{.algorithms = {algorithm.name}, .device = DeviceChoice::automatic, .parameters = {}};
      Path path{.name = algorithm.name, .path = use, .threads = tests::kEmulated ? kManyThreads : 1};
      if (!supported(query, table, path)) continue;
      ++count;
      if (!wanted) continue;
      result.push_back(path);
      if (!tests::kEmulated) result.push_back({.name = algorithm.name, .path = use, .threads = kManyThreads});
    }
    EXPECT_GT(count, 0) << "no registered algorithm supports the " << problem << " problem of the query";
  }
  Path device{.name = "the GPU",
              .path = {.algorithms = {}, .device = DeviceChoice::cuda, .parameters = {}},
              .threads = tests::kEmulated ? kManyThreads : 1};
  if (has_gpu() && supported(query, table, device)) {
    result.push_back(device);
    if (!tests::kEmulated) result.push_back({.name = device.name, .path = device.path, .threads = kManyThreads});
    result.push_back({.name = "the GPU with a pinned table", .path = device.path, .threads = 1, .pinned = true});
  }
  return result;
}

Result run(const Query& query, const Table& table, const Path& path) {
  if (path.result != nullptr) return *path.result;
  Query forced = query;
  const Engine& chosen = engine(path.threads);
  return chosen.run(forced.using_path(path.path), path.pinned ? chosen.pin(table) : table);
}

void expect_rows(const Query& query, const Table& table, const std::vector<RowId>& rows) {
  for (const Path& path : paths(query, table)) {
    EXPECT_EQ(run(query, table, path).rows, rows) << describe(path, query);
  }
}

void expect_levels(const Query& query, const Table& table, const std::vector<std::pair<RowId, int>>& rows) {
  for (const Path& path : paths(query, table)) {
    const Result result = run(query, table, path);
    std::vector<std::pair<RowId, int>> found;
    for (std::size_t i = 0; i < result.rows.size(); ++i) found.emplace_back(result.rows[i], result.levels.at(i));
    EXPECT_EQ(found, rows) << describe(path, query);
  }
}

void expect_cells(const Table& table, const std::vector<std::vector<Value>>& cells, const std::string& where) {
  ASSERT_EQ(table.columns().size(), cells.size()) << where;
  for (std::size_t c = 0; c < cells.size(); ++c) {
    const Column& column = table.columns()[c];
    ASSERT_EQ(static_cast<std::size_t>(column.size()), cells[c].size()) << where;
    for (std::int64_t i = 0; i < column.size(); ++i) {
      ASSERT_TRUE(reference::same(column.value(i), cells[c][static_cast<std::size_t>(i)]))
          << column.name() << ", row " << i << " of the answer: " << to_string(column.value(i)) << " instead of "
          << to_string(cells[c][static_cast<std::size_t>(i)]) << "; " << where;
    }
  }
}

void expect_reference(const Query& query, const Table& table, const reference::Evaluate& evaluate) {
  const reference::Answer expected = reference::answer(query, table, evaluate);
  for (const Path& path : paths(query, table)) {
    const Result result = run(query, table, path);
    EXPECT_EQ(result.rows, expected.rows) << describe(path, query);
    EXPECT_EQ(result.levels, expected.levels) << describe(path, query);
    expect_cells(result.table, expected.cells, describe(path, query));
  }
}

void expect_reference(const Query& query, const Table& table) { expect_reference(query, table, reference::column); }

}  // namespace skyrank
