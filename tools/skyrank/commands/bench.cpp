#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "engine/files/output_file.hpp"
#include "engine/text.hpp"
#include "kernels/papers/names.hpp"
#include "kernels/registry.hpp"
#include "tools/bench/cell_runner.hpp"
#include "tools/bench/csv.hpp"
#include "tools/bench/machine.hpp"
#include "tools/bench/table.hpp"
#include "tools/skyrank/answers/report.hpp"
#include "tools/skyrank/commands.hpp"
#include "tools/skyrank/text/words.hpp"
#include "tools/skyrank/version/build_info.hpp"

// Runs `skyrank bench`: measures the cells of a grid, and shows them as tables and as a CSV file.
namespace skyrank::tools {
namespace {

using bench::Cell;
using bench::CellResult;

std::vector<std::string> names_of(bench::Op op) {
  std::vector<std::string> names;
  const auto add = [&](const auto& algorithms) {
    for (const auto* algorithm : algorithms) names.emplace_back(algorithm->name);
  };
  if (op == bench::Op::skyline) {
    add(kernels::skyline_algorithms());
  } else {
    add(kernels::topk_algorithms());
  }
  return names;
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

void check_algorithms(const std::vector<std::string>& wanted) {
  std::vector<std::string> known = names_of(bench::Op::skyline);
  const std::vector<std::string> topk = names_of(bench::Op::topk);
  known.insert(known.end(), topk.begin(), topk.end());
  for (const std::string& name : wanted) {
    if (contains(known, name)) continue;
    if (const std::string left_out = kernels::papers::why_left_out(name); !left_out.empty()) {
      throw UsageError("--algorithms: " + left_out);
    }
    throw UsageError(fmt::format("--algorithms: there is no algorithm '{}'{}; there are {}", name,
                                 query::did_you_mean(name, known), fmt::join(known, ", ")));
  }
}

/// Returns those of the cell's algorithms that are in `wanted`.
std::vector<std::string> restricted(const Cell& cell, const std::vector<std::string>& wanted) {
  std::vector<std::string> names = cell.algorithms.empty() ? names_of(cell.op) : cell.algorithms;
  std::erase_if(names, [&](const std::string& name) { return !contains(wanted, name); });
  return names;
}

/// The cells with what the command line says in place of what the grid says. Cells without any of the wanted algorithms
/// are left out.
std::vector<Cell> chosen_cells(const std::vector<Cell>& cells, const BenchArguments& arguments) {
  std::vector<Cell> chosen;
  for (Cell cell : cells) {
    if (!arguments.algorithms.empty()) {
      cell.algorithms = restricted(cell, arguments.algorithms);
      if (cell.algorithms.empty()) continue;
    }
    cell.repeats = arguments.repeat.value_or(cell.repeats);
    const std::vector<int> threads = arguments.threads.empty() ? std::vector{cell.threads} : arguments.threads;
    for (const int count : threads) {
      cell.threads = count;
      if (std::ranges::find(chosen, cell) == chosen.end()) chosen.push_back(cell);
    }
  }
  if (chosen.empty()) throw UsageError("--algorithms: none of these is for a cell of the grid");
  return chosen;
}

std::optional<kernels::Device> device_of(DeviceChoice choice) {
  if (choice == DeviceChoice::automatic) return std::nullopt;
  const auto device = choice == DeviceChoice::cpu ? kernels::Device::cpu : kernels::Device::cuda;
  const auto runs_there = [&](const auto* algorithm) { return algorithm->device == device; };
  if (std::ranges::none_of(kernels::skyline_algorithms(), runs_there) &&
      std::ranges::none_of(kernels::topk_algorithms(), runs_there)) {
    throw UsageError("--device: no algorithm runs there");
  }
  return device;
}

void list_cells(const std::vector<Cell>& cells, const bench::CellRunner& runner, Console& console) {
  for (const Cell& cell : cells) {
    std::vector<bench::Skipped> skipped;
    const std::vector<std::string> names = runner.candidates(cell, skipped);
    console.print(fmt::format("{}: {}\n", title(cell), fmt::join(names, ", ")));
    for (const bench::Skipped& it : skipped) {
      console.print(console.faint(fmt::format("  {} left out: {}", it.algorithm, it.reason)) + "\n");
    }
  }
  console.flush();
}

/// The CSV file, whole after every cell.
class Figures {
 public:
  Figures(std::filesystem::path file, bench::RunInfo info)
      : file_(std::move(file)), info_(std::move(info)), text_(bench::csv_header()) {
    write();
  }

  void add(const CellResult& result) {
    text_ += csv_lines(result, info_);
    write();
  }

 private:
  void write() const {
    if (file_.empty()) return;
    exec::OutputFile out(file_);
    out.write(text_);
    out.commit();
  }

  std::filesystem::path file_;
  bench::RunInfo info_;
  std::string text_;
};

CellResult run_cell(bench::CellRunner& runner, const Cell& cell, Signals& signals) {
  signals.check();
  try {
    return runner.run(cell);
  } catch (const kernels::Cancelled&) {
    throw CancelledError("cancelled");
  }
}

void print_result(const CellResult& result, Console& console) {
  console.print(fmt::format("{}\n{}\n", console.strong(title(result.cell)), table(result)));
  console.flush();
}

/// Complains when answers were wrong.
ExitStatus verdict(const std::vector<CellResult>& results, Console& console) {
  std::int64_t wrong = 0;
  for (const CellResult& result : results) {
    wrong += std::ranges::count_if(result.measured, [](const auto& it) { return !it.fault.empty(); });
  }
  if (wrong == 0) return success;
  console.complain(counted(wrong, "measurement is of a wrong answer", "measurements are of wrong answers"));
  return system_failure;
}

}  // namespace

int bench(const BenchArguments& arguments, Console& console, Signals& signals) {
  check_algorithms(arguments.algorithms);
  const bench::Grid grid = bench::read_grid(arguments.grid);
  const std::vector<Cell> cells = chosen_cells(grid.cells, arguments);
  std::vector<CellResult> results;
  const auto show_status = [&](const std::string& what) {
    console.show_status(fmt::format("cell {} of {}: {}", results.size() + 1, cells.size(), what));
  };
  bench::CellRunner runner({.device = device_of(arguments.device),
                            .stop = signals.stop_token(),
                            .read_columns = arguments.read_columns,
                            .status = show_status});
  if (arguments.list) {
    list_cells(cells, runner, console);
    return success;
  }
  const std::string commit = arguments.commit.empty() ? build_commit() : arguments.commit;
  Figures figures(arguments.out, {.suite = grid.suite, .commit = commit, .machine = bench::machine_name()});
  for (const Cell& cell : cells) {
    results.push_back(run_cell(runner, cell, signals));
    figures.add(results.back());
    print_result(results.back(), console);
  }
  console.print(summary(results));
  console.flush();
  return verdict(results, console);
}

}  // namespace skyrank::tools
