#include <skyrank/engine.hpp>
#include <skyrank/registry.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <random>
#include <set>
#include <thread>

#include "kernels/cuda/device/device.hpp"
#include "tests/semantics/paths.hpp"
#include "tests/semantics/tables.hpp"

// Tests the engine's promises besides rows: plans, measurements, threads, cancellation, devices.
namespace skyrank {
namespace {

/// n rows with d columns a0, a1, ... whose sum is constant, so that no row dominates another.
Table antichain(std::int64_t n, int d) {
  std::mt19937_64 random(7);
  std::vector<std::vector<std::int64_t>> values(static_cast<std::size_t>(d));
  for (std::int64_t i = 0; i < n; ++i) {
    std::int64_t sum = 0;
    for (int c = 0; c + 1 < d; ++c) {
      values[c].push_back(static_cast<std::int64_t>(random() % 1'000'000));
      sum += values[c].back();
    }
    values[d - 1].push_back(-sum);
  }
  std::vector<Column> columns;
  for (int c = 0; c < d; ++c) columns.push_back(Column::own("a" + std::to_string(c), values[c]));
  return Table(std::move(columns));
}

Table random_table(std::int64_t n) {
  std::mt19937_64 random(11);
  std::vector<std::int32_t> x;
  std::vector<double> y;
  std::vector<std::int64_t> p;
  for (std::int64_t i = 0; i < n; ++i) {
    x.push_back(static_cast<std::int32_t>(random() % 1000));
    y.push_back(static_cast<double>(random() % 1000) / 7);
    p.push_back(static_cast<std::int64_t>(random() % 300));
  }
  return Table({Column::own("x", x), Column::own("y", y), Column::own("p", p)});
}

std::vector<Query> many_queries() {
  return {from().prefer({low("x"), high("y")}),
          from().where("x > 100").prefer({low("x"), low("y")}).levels(3),
          from().prefer(prior({pareto({low("x"), low("y")}), low("p")})).partition_by({"p"}),
          from().rank_by({high("x"), low("y")}).limit(100).ties(Ties::all),
          from().rank_by({low("y")}).partition_by({"p"}).limit(2),
          from().group_by({"p"}).aggregate({sum("s", "x"), avg("m", "y")}).rank_by({high("m")}).limit(10)};
}

std::vector<std::vector<Value>> cells(const Table& table) {
  std::vector<std::vector<Value>> result;
  for (const Column& column : table.columns()) {
    auto& values = result.emplace_back();
    for (std::int64_t i = 0; i < column.size(); ++i) values.push_back(column.value(i));
  }
  return result;
}

std::set<std::string> operators(const PlanNode& plan) {
  std::set<std::string> ops{plan.op};
  for (const PlanNode& child : plan.children) ops.merge(operators(child));
  return ops;
}

const PlanNode* find(const PlanNode& plan, const std::string& op) {
  if (plan.op == op) return &plan;
  for (const PlanNode& child : plan.children) {
    if (const PlanNode* found = find(child, op)) return found;
  }
  return nullptr;
}

TEST(Engine, AnswersDoNotDependOnTheNumberOfThreads) {
  const Table table = random_table(50'000);
  const Engine one(EngineOptions{.threads = 1, .device = DeviceChoice::automatic});
  for (const int threads : {0, 2, 3, 8}) {
    const Engine many(EngineOptions{.threads = threads, .device = DeviceChoice::automatic});
    for (const Query& query : many_queries()) {
      const Result a = one.run(query, table);
      const Result b = many.run(query, table);
      EXPECT_EQ(a.rows, b.rows);
      EXPECT_EQ(a.levels, b.levels);
      EXPECT_EQ(cells(a.table), cells(b.table));
    }
  }
}

TEST(Engine, ServesManyThreadsAtOnce) {
  const Table table = random_table(20'000);
  const Engine engine(EngineOptions{.threads = 2, .device = DeviceChoice::automatic});
  const std::vector<Query> queries = many_queries();
  std::vector<std::vector<RowId>> expected;
  for (const Query& query : queries) expected.push_back(engine.run(query, table).rows);
  std::atomic<int> wrong = 0;
  std::vector<std::jthread> threads;
  for (std::size_t t = 0; t < 6; ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t i = 0; i < queries.size(); ++i) {
        const std::size_t q = (i + t) % queries.size();
        if (engine.run(queries[q], table).rows != expected[q]) ++wrong;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(wrong, 0);
}

TEST(Engine, MovesItsState) {
  Engine first;
  Engine second = std::move(first);
  EXPECT_EQ(second.run(from().rank_by({low("x")}).limit(3), random_table(10)).rows.size(), 3U);
}

TEST(Engine, StopsBeforeItBegins) {
  std::stop_source source;
  source.request_stop();
  const RunOptions options{.count_work = false, .stop = source.get_token()};
  EXPECT_THROW(Engine().run(from().rank_by({low("x")}), random_table(10), options), CancelledError);
}

// The algorithms of GPUs take less than the 20 ms; tests/gpu stops them.
TEST(Engine, StopsOnEveryAlgorithmOfTheCpu) {
  const Table table = antichain(200'000, 8);  // far more than 20 ms of work, and hours for whoever compares all pairs
  std::vector<Preference> terms;
  for (const Column& column : table.columns()) terms.push_back(low(Expression::column(column.name())));
  for (const AlgorithmInfo& algorithm : algorithms()) {
    if (algorithm.problem != "skyline" || algorithm.device != "cpu") continue;
    if (algorithm.name == "sweep") continue;  // takes three columns at most, and is stopped by tests of its own
    const Engine engine;
    std::stop_source source;
    const RunOptions options{.count_work = false, .stop = source.get_token()};
    Query query = from().prefer(terms);
    query.using_path({.algorithms = {algorithm.name}, .device = DeviceChoice::automatic, .parameters = {}});
    std::jthread stopper([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      source.request_stop();
    });
    const auto start = std::chrono::steady_clock::now();
    EXPECT_THROW(engine.run(query, table, options), CancelledError) << algorithm.name;
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10)) << algorithm.name;
    EXPECT_EQ(engine.run(from().rank_by({low("a0")}).limit(1), table).rows.size(), 1U) << "usable afterwards";
  }
}

TEST(Engine, ThePlanIsThatOfTheRun) {
  const Query query = from()
                          .where("x > 10")
                          .nan(Missing::exclude)
                          .partition_by({"p"})
                          .prefer(prior({pareto({low("x"), low("y")}), high("p")}))
                          .rank_by({high("y"), low("x")})
                          .limit(5)
                          .name("everything");
  const Result result = Engine().run(query, random_table(5000));
  EXPECT_EQ(operators(result.plan),
            (std::set<std::string>{"scan", "filter", "missing", "partition", "keys", "skyline", "top-k", "gather"}));
  for (const PlanNode* node = &result.plan; node != nullptr;
       node = node->children.empty() ? nullptr : &node->children.front()) {
    EXPECT_TRUE(node->measured_rows.has_value()) << node->op;
    EXPECT_TRUE(node->op == "scan" || node->measured_ms.has_value()) << node->op;
  }
  EXPECT_EQ(result.plan.measured_rows, result.table.num_rows());
  EXPECT_EQ(find(result.plan, "scan")->measured_rows, 5000);
  EXPECT_FALSE(find(result.plan, "skyline")->algorithm.empty());
  EXPECT_FALSE(find(result.plan, "top-k")->algorithm.empty());
}

TEST(Engine, SimpleQueriesHaveSimplePlans) {
  const Table table = random_table(100);
  EXPECT_EQ(operators(Engine().run(from().rank_by({low("x")}), table).plan),
            (std::set<std::string>{"scan", "keys", "sort", "gather"}));
  EXPECT_EQ(operators(Engine().run(from().prefer(low("x")).limit(2), table).plan),
            (std::set<std::string>{"scan", "keys", "skyline", "limit", "gather"}));
  EXPECT_EQ(operators(Engine().run(from().group_by({"p"}).aggregate({count("n")}), table).plan),
            (std::set<std::string>{"scan", "group", "gather"}));
}

TEST(Engine, ExplainEstimatesWithoutRunning) {
  // The ranking would fail on every row, if it were computed.
  const Query query = from().where("x = 3").prefer({low("x"), low("y")}).rank_by({low("p / 0")}).limit(3);
  const PlanNode plan = Engine().explain(query, random_table(1000));
  EXPECT_EQ(operators(plan), (std::set<std::string>{"scan", "filter", "keys", "skyline", "top-k", "gather"}));
  EXPECT_EQ(find(plan, "scan")->predicted_rows, 1000);
  EXPECT_GT(find(plan, "filter")->predicted_rows, 0);
  EXPECT_LT(find(plan, "filter")->predicted_rows, 1000);
  EXPECT_LE(find(plan, "skyline")->predicted_rows, find(plan, "filter")->predicted_rows);
  EXPECT_EQ(find(plan, "top-k")->predicted_rows, 3);
  EXPECT_GT(find(plan, "skyline")->predicted_ms, 0);
  EXPECT_FALSE(find(plan, "skyline")->algorithm.empty());
  EXPECT_FALSE(find(plan, "skyline")->reason.empty());
  EXPECT_FALSE(plan.measured_rows.has_value());
}

TEST(Engine, ExplainWorksOnAnEmptyTable) {
  for (const Query& query : many_queries()) EXPECT_NO_THROW(Engine().explain(query, random_table(0)));
}

bool has_gpu() {
  try {
    const Engine on_gpu({.threads = 1, .device = DeviceChoice::cuda});
    return true;
  } catch (const DeviceError&) {
    return false;
  }
}

TEST(Engine, ForcedPathsAreTaken) {
  const Table table = random_table(1000);
  for (const AlgorithmInfo& algorithm : algorithms()) {
    Query query =
        algorithm.problem == "skyline" ? from().prefer({low("x"), low("y")}) : from().rank_by({low("x")}).limit(10);
    query.using_path({.algorithms = {algorithm.name}, .device = DeviceChoice::automatic, .parameters = {}});
    if (algorithm.device == "cuda" && !has_gpu()) {
      EXPECT_THROW(Engine().run(query, table), BindError) << algorithm.name;
      continue;
    }
    const PlanNode plan = Engine().run(query, table).plan;
    const PlanNode* node = find(plan, algorithm.problem);
    ASSERT_NE(node, nullptr);
    EXPECT_EQ(node->algorithm, algorithm.name);
    EXPECT_EQ(node->device, algorithm.device);
  }
}

TEST(Engine, CountsWorkOnlyWhenAsked) {
  const Table table = random_table(2000);
  const Query query = from().prefer({low("x"), low("y")}).rank_by({low("x")}).limit(3);
  EXPECT_EQ(Engine().run(query, table).work, Work{});
  const Result counted = Engine().run(query, table, RunOptions{.count_work = true, .stop = {}});
  EXPECT_GT(counted.work.dominance_tests, 0U);
  Work sum = *find(counted.plan, "skyline")->work;
  sum += *find(counted.plan, "top-k")->work;
  EXPECT_EQ(counted.work, sum);
}

TEST(Engine, StagesAddUpToTheTotal) {
  const Query query = from().where("x > 1").prefer({low("x"), low("y")}).rank_by({low("y")});
  const Timing t = Engine().run(query, random_table(20'000)).timing;
  for (const double ms : {t.bind_ms, t.filter_ms, t.keys_ms, t.compute_ms, t.gather_ms}) EXPECT_GT(ms, 0);
  EXPECT_EQ(t.transfer_ms, 0);
  EXPECT_LE(t.bind_ms + t.filter_ms + t.keys_ms + t.compute_ms + t.gather_ms, t.total_ms);
}

TEST(Engine, ResultsOutliveTheirTable) {
  Result result;
  {
    const std::vector<std::string> texts{"a string that is too long for small-string storage", "b"};
    const std::vector<std::string_view> views(texts.begin(), texts.end());
    const std::vector<std::int64_t> numbers{2, 1};
    const Table table({Column::view("s", std::span<const std::string_view>(views)),
                       Column::view("n", std::span<const std::int64_t>(numbers))});
    result = Engine().run(from().rank_by({high("n")}), table);
  }
  EXPECT_EQ(result.table.column("s").value(0),
            Value(std::string("a string that is too long for small-string storage")));
  EXPECT_EQ(result.table.column("n").value(1), Value(std::int64_t{1}));
}

TEST(Engine, DeviceAutoSaysWhatItMeans) {
  const PlanNode plan = Engine().explain(from().rank_by({low("x")}), random_table(10));
  EXPECT_NE(plan.reason.find("CPU"), std::string::npos) << plan.reason;
  EXPECT_EQ(find(plan, "sort")->device, "cpu");
}

TEST(Engine, DeviceCudaNeedsAGpu) {
  const EngineOptions options{.threads = 0, .device = DeviceChoice::cuda};
  const kernels::cuda::Devices found = kernels::cuda::find_devices();
  Query query = from().rank_by({low("x")});
  query.using_path({.algorithms = {}, .device = DeviceChoice::cuda, .parameters = {}});
  const Table table = random_table(10);
  if (found.devices.empty()) {
    for (const auto& attempt :
         std::vector<std::function<void()>>{[&] { Engine engine(options); }, [&] { Engine().run(query, table); },
                                            [&] { Engine().explain(query, table); }}) {
      try {
        attempt();
        FAIL() << "no error without a GPU";
      } catch (const DeviceError& error) {
        EXPECT_NE(error.message().find(found.reason), std::string::npos) << error.message();
      }
    }
  } else if (std::ranges::any_of(algorithms(), [](const AlgorithmInfo& one) { return one.device == "cuda"; })) {
    EXPECT_EQ(Engine().run(query, table).rows.size(), 10U);
  } else {
    EXPECT_THROW(Engine().run(query, table), BindError) << "no CUDA algorithm is registered";
  }
}

TEST(Engine, DeviceCpuIsTaken) {
  Query query = from().rank_by({low("x")});
  query.using_path({.algorithms = {}, .device = DeviceChoice::cpu, .parameters = {}});
  EXPECT_EQ(Engine().run(query, random_table(10)).rows.size(), 10U);
}

TEST(Engine, ListsItsAlgorithms) {
  const std::vector<AlgorithmInfo> all = algorithms();
  std::set<std::string> names;
  std::set<std::string> problems;
  for (const AlgorithmInfo& algorithm : all) {
    EXPECT_TRUE(names.insert(algorithm.name).second) << algorithm.name << " is there twice";
    problems.insert(algorithm.problem);
    EXPECT_FALSE(algorithm.summary.empty()) << algorithm.name;
    EXPECT_FALSE(algorithm.source.empty()) << algorithm.name;
    EXPECT_TRUE(algorithm.device == "cpu" || algorithm.device == "cuda") << algorithm.name;
    for (const AlgorithmInfo::Parameter& parameter : algorithm.parameters) {
      EXPECT_LE(parameter.min, parameter.default_value) << algorithm.name << " " << parameter.name;
      EXPECT_LE(parameter.default_value, parameter.max) << algorithm.name << " " << parameter.name;
    }
  }
  EXPECT_EQ(problems, (std::set<std::string>{"skyline", "top-k"}));
}

TEST(Engine, KnowsTheColumnsItReads) {
  const std::vector<std::string> columns{"a", "b", "c", "d"};
  EXPECT_EQ(Engine::columns_read(from().prefer({low("c"), high("a")}).select({"a"}), columns),
            (std::vector<std::string>{"a", "c"}));
  EXPECT_EQ(Engine::columns_read(from().rank_by({low("a")}), columns), columns) << "no select means every column";
  EXPECT_EQ(Engine::columns_read(from().prefer(low("c")).select({"row", "level()"}), columns),
            (std::vector<std::string>{"c"}));
  EXPECT_EQ(Engine::columns_read(from().prefer(low("e")).select({"a"}), columns), columns)
      << "among which is the nearest";
  EXPECT_EQ(Engine::columns_read(from().group_by({"a"}).aggregate({count("n")}).rank_by({low("n")}), columns),
            (std::vector<std::string>{"a"}));
}

}  // namespace
}  // namespace skyrank
