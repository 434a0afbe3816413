#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <skyrank/engine.hpp>
#include <skyrank/error.hpp>

#include "datasets/generate/generate.hpp"

// Whole queries for measures of rows beside the same query without them, on the CPU and on a GPU that has the table:
// the time of each, and how many times that of the query without measures. Answers of both devices have to be equal.
namespace skyrank::bench {
namespace {

struct Arguments {
  std::vector<std::string> distributions = {"independent", "anticorrelated", "correlated"};
  std::int64_t rows = 1'000'000;
  int dims = 4;
  int repeat = 9;
  int threads = 0;
  std::vector<std::string> devices = {"cpu", "cuda"};
  bool all = false;
  bool plan = false;
};

/// A query, and the one that it is compared with.
struct Cell {
  std::string name;
  Query query;
  std::size_t base = 0;  ///< its place in the list
};

std::vector<Cell> cells_of(const Table& table, bool all) {
  std::vector<Preference> terms;
  for (const Column& column : table.columns()) terms.push_back(low(Expression::column(column.name())));
  const Query skyline = Query::from("t").prefer(pareto(std::move(terms)));
  const auto with = [&](const Query& query, const std::string& measure) {
    Query asked = query;
    std::vector<SelectItem> items = {SelectItem{"row", Expression("row()")}};
    if (!measure.empty()) items.push_back(SelectItem{measure, Expression(measure)});
    return asked.select(std::move(items));
  };
  std::vector<Cell> cells;
  const auto add = [&](const std::string& name, const Query& query, const std::vector<std::string>& measures) {
    const std::size_t base = cells.size();
    cells.push_back({name, with(query, ""), base});
    for (const std::string& measure : measures) {
      cells.push_back({name + ", " + measure, with(query, measure), base});
    }
  };
  const std::vector<std::string> measures = {"dominates()", "dominated_by()", "crowding()", "level()"};
  add("skyline", skyline, measures);
  add("levels: 3", Query(skyline).levels(3), measures);
  for (const std::int64_t k : {4, 16}) {
    cells.push_back({fmt::format("skyband: {}", k), with(Query(skyline).skyband(k), ""), 0});
    cells.push_back(
        {fmt::format("skyband: {}, dominated_by()", k), with(Query(skyline).skyband(k), "dominated_by()"), 0});
  }
  if (!all) return cells;
  const Query every = Query(skyline).skyband(kAllRows).limit(10);
  cells.push_back({"skyband: all, most dominates()",
                   with(Query(every).rank_by({high(Expression("dominates()"))}), "dominates()"), 0});
  cells.push_back({"skyband: all, most dominated_by()",
                   with(Query(every).rank_by({high(Expression("dominated_by()"))}), "dominated_by()"), 0});
  return cells;
}

DeviceChoice choice_of(const std::string& device) {
  if (device == "cpu") return DeviceChoice::cpu;
  return device == "cuda" ? DeviceChoice::cuda : DeviceChoice::automatic;
}

bool equal(const Result& a, const Result& b) {
  if (a.rows != b.rows || a.levels != b.levels || a.table.num_columns() != b.table.num_columns()) return false;
  for (int c = 0; c < a.table.num_columns(); ++c) {
    for (std::int64_t row = 0; row < a.table.num_rows(); ++row) {
      if (a.table.column(c).value(row) != b.table.column(c).value(row)) return false;
    }
  }
  return true;
}

struct Measured {
  double ms = 0;  ///< median, end to end
  Result result;
};

Measured measure(const Engine& engine, const Query& query, const Table& table, int repeat) {
  constexpr int kWarmUps = 2;
  Measured measured;
  std::vector<double> times;
  for (int i = 0; i < kWarmUps + repeat; ++i) {
    const auto start = std::chrono::steady_clock::now();
    measured.result = engine.run(query, table);
    const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    if (i >= kWarmUps) times.push_back(ms);
    if (ms > 5000) break;  // few runs of what takes long
  }
  if (times.empty()) times.push_back(measured.result.timing.total_ms);
  std::ranges::sort(times);
  measured.ms = times[times.size() / 2];
  return measured;
}

int run(const Arguments& arguments) {
  bool same = true;
  fmt::print("distribution,device,query,rows of the answer,ms,x base,operator ms,operator device\n");
  for (const std::string& distribution : arguments.distributions) {
    const Table table = datasets::generate({distribution, arguments.rows, arguments.dims, 1});
    const std::vector<Cell> cells = cells_of(table, arguments.all);
    std::vector<std::optional<Result>> first(cells.size());
    for (const std::string& device : arguments.devices) {
      const Engine engine({.threads = arguments.threads, .device = choice_of(device)});
      const Table there = device == "cpu" ? table : engine.pin(table);
      std::vector<double> times;
      for (std::size_t i = 0; i < cells.size(); ++i) {
        const Measured measured = measure(engine, cells[i].query, there, arguments.repeat);
        times.push_back(measured.ms);
        const PlanNode* node = &measured.result.plan;
        while (node->op != "measure" && node->op != "skyband" && !node->children.empty()) node = &node->children[0];
        const bool found = node->op == "measure" || node->op == "skyband";
        fmt::print("{},{},\"{}\",{},{:.3f},{:.2f},{},{}\n", distribution, device, cells[i].name,
                   measured.result.rows.size(), measured.ms, measured.ms / times[cells[i].base],
                   found ? fmt::format("{:.3f}", node->measured_ms.value_or(0)) : "", found ? node->device : "");
        if (arguments.plan) fmt::print("{}\n", to_string(measured.result.plan));
        std::fflush(stdout);
        if (!first[i]) {
          first[i] = measured.result;
        } else if (!equal(*first[i], measured.result)) {
          fmt::print(stderr, "{}: {} gives another answer than {}\n", cells[i].name, device, arguments.devices.front());
          same = false;
        }
      }
    }
  }
  return same ? 0 : 1;
}

int run_program(int argc, char** argv) {
  Arguments arguments;
  CLI::App app("Measures of rows beside the skyline of the same rows, by device");
  app.add_option("--distributions", arguments.distributions, "As for skyrank generate")->delimiter(',');
  app.add_option("--rows", arguments.rows, "Rows");
  app.add_option("--dims", arguments.dims, "Columns of float32");
  app.add_option("--repeat", arguments.repeat, "Timed runs, after two others")->check(CLI::PositiveNumber);
  app.add_option("--threads", arguments.threads, "Threads of the CPU; 0: all cores");
  app.add_option("--devices", arguments.devices, "cpu, cuda, auto")->delimiter(',');
  app.add_flag("--all", arguments.all, "Count for all rows, too");
  app.add_flag("--plan", arguments.plan, "Print the plans");
  CLI11_PARSE(app, argc, argv);
  return run(arguments);
}

}  // namespace
}  // namespace skyrank::bench

int main(int argc, char** argv) {
  try {
    return skyrank::bench::run_program(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "skyrank_measures_bench: %s\n", error.what());
    return 1;
  }
}
