#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <skyrank/engine.hpp>
#include <skyrank/error.hpp>

#include "datasets/generate/generate.hpp"
#include "kernels/cuda/device/array.hpp"

// Tables in parts on GPUs, end to end. shares: one GPU against several, each with its share of the rows in its memory.
// turns: a table larger than the memory that a GPU may use, against the bandwidth of its way there.
namespace skyrank::bench {
namespace {

struct Arguments {
  std::string query = "top-k";
  std::string distribution = "independent";
  std::int64_t rows = std::int64_t{1} << 26;
  int dims = 1;
  std::int64_t limit = 128;
  std::vector<int> devices = {0};
  double memory_gb = 1;
  double bandwidth = 53;  // GB/s from pinned memory
  bool pinned = false;
  bool plan = false;
  int repeat = 10;
  std::string csv;  // file, or empty
};

/// Keeps the columns of a table pinned.
class PinnedColumns {
 public:
  explicit PinnedColumns(const Table& table) {
    for (const Column& column : table.columns()) {
      const ColumnData& data = column.data();
      const auto bytes = static_cast<std::size_t>(data.length * data.stride);
      ranges_.push_back(std::make_unique<kernels::cuda::PinnedRange>(const_cast<void*>(data.values), bytes));
    }
  }

 private:
  std::vector<std::unique_ptr<kernels::cuda::PinnedRange>> ranges_;
};

Query query_of(const Arguments& arguments, const Table& table) {
  Query query = Query::from("t");
  if (arguments.query == "top-k") {
    query.rank_by({low(Expression::column(table.column(0).name()))}).limit(arguments.limit);
  } else {
    std::vector<Preference> terms;
    for (const Column& column : table.columns()) terms.push_back(low(Expression::column(column.name())));
    query.prefer(pareto(std::move(terms)));
  }
  return query.select({SelectItem{"row", Expression("row()")}});
}

struct Measured {
  double ms = 0;        ///< median, end to end
  double least_ms = 0;  ///< fastest run
  Result result;
};

/// File of measurements, a line each. Lines are added to a file that is there.
class CsvFile {
 public:
  /// Throws std::runtime_error if the file cannot be opened.
  explicit CsvFile(const std::string& path) : path_(path) {
    std::error_code none;
    const bool is_new = !std::filesystem::exists(path, none) || std::filesystem::file_size(path, none) == 0;
    file_.open(path, std::ios::app);
    if (is_new) file_ << "query,distribution,rows,dims,limit,devices,median_ms,least_ms,compute_ms,checked\n";
    flush();
  }

  /// Adds a measurement on `devices` GPUs. `checked`: the answer equals the one that it was compared with.
  void add(const Arguments& arguments, const Measured& measured, std::size_t devices, bool checked) {
    const std::string limit = arguments.query == "top-k" ? std::to_string(arguments.limit) : "";
    file_ << fmt::format("{},{},{},{},{},{},{:.4f},{:.4f},{:.4f},{}\n", arguments.query, arguments.distribution,
                         arguments.rows, arguments.dims, limit, devices, measured.ms, measured.least_ms,
                         measured.result.timing.compute_ms, checked ? "yes" : "no");
    flush();
  }

 private:
  void flush() {
    if (!file_.flush()) throw std::runtime_error("cannot write measurements to \"" + path_ + "\"");
  }

  const std::string path_;
  std::ofstream file_;
};

const PlanNode* find(const PlanNode& node, const std::string& op) {
  if (node.op == op) return &node;
  for (const PlanNode& child : node.children) {
    if (const PlanNode* found = find(child, op)) return found;
  }
  return nullptr;
}

Measured measure(const Engine& engine, const Query& query, const Table& table, const Arguments& arguments) {
  constexpr int kWarmUps = 3;
  Measured measured;
  std::vector<double> times;
  for (int i = 0; i < kWarmUps + arguments.repeat; ++i) {
    const auto start = std::chrono::steady_clock::now();
    measured.result = engine.run(query, table);
    const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    if (i >= kWarmUps) times.push_back(ms);
  }
  std::ranges::sort(times);
  measured.ms = times[times.size() / 2];
  measured.least_ms = times.front();
  if (arguments.plan) std::cout << to_string(measured.result.plan);
  return measured;
}

std::string describe(const Measured& measured) {
  const Timing& timing = measured.result.timing;
  const PlanNode* const parts = find(measured.result.plan, "parts");
  return fmt::format(
      "{:.3f} ms end to end, {:.3f} ms computing (planning {:.3f}, keys {:.3f}, transfers {:.3f}, answer "
      "{:.3f}), {} rows{}",
      measured.ms, timing.compute_ms, timing.bind_ms, timing.keys_ms, timing.transfer_ms, timing.gather_ms,
      measured.result.rows.size(),
      parts == nullptr ? "" : fmt::format(", {} in {:.3f} ms", parts->detail, *parts->measured_ms));
}

int shares(const Arguments& arguments, const Table& table, const Query& query, CsvFile* csv) {
  const Engine one({.device = DeviceChoice::cuda, .devices = {arguments.devices.front()}});
  const Engine all({.device = DeviceChoice::cuda, .devices = arguments.devices});
  Measured alone;
  {
    const Table pinned = one.pin(table);
    alone = measure(one, query, pinned, arguments);
  }
  const Measured shared = measure(all, query, all.pin(table), arguments);
  const bool same = alone.result.rows == shared.result.rows;
  if (csv != nullptr) {
    csv->add(arguments, alone, 1, same);
    csv->add(arguments, shared, arguments.devices.size(), same);
  }
  std::cout << fmt::format("one GPU: {}\n{} GPUs: {}\nratio {:.2f} end to end; answers {}\n", describe(alone),
                           arguments.devices.size(), describe(shared), alone.ms / shared.ms,
                           same ? "are equal" : "DIFFER");
  return same ? 0 : 1;
}

int turns(const Arguments& arguments, const Table& table, const Query& query, CsvFile* csv) {
  const auto memory = static_cast<std::size_t>(arguments.memory_gb * 1e9);
  const Engine engine({.device = DeviceChoice::cuda, .devices = arguments.devices, .gpu_memory_bytes = memory});
  std::optional<PinnedColumns> pinned;
  if (arguments.pinned) pinned.emplace(table);
  const Measured found = measure(engine, query, table, arguments);
  const double bytes = static_cast<double>(arguments.rows) * arguments.dims * sizeof(float);
  const double rate = bytes / found.ms / 1e6;
  const Result expected = Engine({.device = DeviceChoice::cpu}).run(query, table);
  const bool same = found.result.rows == expected.rows;
  if (csv != nullptr) csv->add(arguments, found, arguments.devices.size(), same);
  std::cout << fmt::format("{} memory: {}\n{:.1f} GB/s, {:.0f} % of {} GB/s; answers {}\n",
                           arguments.pinned ? "pinned" : "pageable", describe(found), rate,
                           100 * rate / arguments.bandwidth, arguments.bandwidth, same ? "are equal" : "DIFFER");
  return same ? 0 : 1;
}

int run(const Arguments& arguments, bool in_turns) {
  std::optional<CsvFile> csv;  // opened first, so that a wrong path costs no measurement
  if (!arguments.csv.empty()) csv.emplace(arguments.csv);
  CsvFile* const file = csv ? &*csv : nullptr;
  const Table table = datasets::generate({arguments.distribution, arguments.rows, arguments.dims, 1});
  const Query query = query_of(arguments, table);
  return in_turns ? turns(arguments, table, query, file) : shares(arguments, table, query, file);
}

void add_options(CLI::App& command, Arguments& arguments) {
  command.add_option("--query", arguments.query, "top-k of the first column, or skyline of all")
      ->check(CLI::IsMember({"top-k", "skyline"}));
  command.add_option("--distribution", arguments.distribution, "As for skyrank generate");
  command.add_option("--rows", arguments.rows, "Rows");
  command.add_option("--dims", arguments.dims, "Columns of float32");
  command.add_option("--limit", arguments.limit, "k of the top-k");
  command.add_option("--devices", arguments.devices, "GPUs")->delimiter(',');
  command.add_option("--repeat", arguments.repeat, "Timed runs, after three others")->check(CLI::PositiveNumber);
  command.add_option("--csv", arguments.csv, "File that a line for each measurement is added to");
  command.add_flag("--plan", arguments.plan, "Print the plans");
}

int run_program(int argc, char** argv) {
  Arguments arguments;
  CLI::App app("Tables in parts on GPUs, end to end");
  app.require_subcommand(1);
  CLI::App& shares = *app.add_subcommand("shares", "One GPU against several, each with its share of the rows");
  CLI::App& turns = *app.add_subcommand("turns", "A table larger than the memory that a GPU may use");
  for (CLI::App* const command : {&shares, &turns}) add_options(*command, arguments);
  turns.add_option("--memory", arguments.memory_gb, "GB of each GPU's memory that may be in use");
  turns.add_option("--bandwidth", arguments.bandwidth, "GB/s of a copy from pinned memory, to compare with");
  turns.add_flag("--pinned", arguments.pinned, "Pin the columns");
  CLI11_PARSE(app, argc, argv);
  return run(arguments, turns.parsed());
}

}  // namespace
}  // namespace skyrank::bench

int main(int argc, char** argv) {
  try {
    return skyrank::bench::run_program(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "skyrank_gpus_bench: %s\n", error.what());
    return 1;
  }
}
