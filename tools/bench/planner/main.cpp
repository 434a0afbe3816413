#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <exception>
#include <fstream>
#include <iostream>
#include <string>

#include <skyrank/error.hpp>

#include "tools/bench/machine.hpp"
#include "tools/bench/planner/judge.hpp"
#include "tools/bench/planner/trial.hpp"

// measure: times all algorithms on a grid. judge: holds the planner's choices against such times. fit: makes a profile
// of them. The same runs can be judged again after every change of a model.
namespace skyrank::bench {
namespace {

struct Arguments {
  std::string grid;
  std::string runs;
  std::string profile;
  std::string out;
  std::string device;
  int part = 0;
  int parts = 1;
  int passes = 3;
  bool look = false;
  double seconds = 1e9;
};

std::vector<planner::CalibrationRun> runs_in(const std::string& file) {
  std::ifstream stream(file);
  if (!stream) throw ResourceError("cannot be read", {file});
  return planner::read_runs(stream, file);
}

void write(const Arguments& arguments, const std::vector<std::vector<planner::CalibrationRun>>& runs) {
  std::vector<planner::CalibrationRun> all;
  for (const auto& some : runs) all.insert(all.end(), some.begin(), some.end());
  std::ofstream stream(arguments.out);
  stream << "# " << machine_name() << ", " << std::filesystem::path(arguments.grid).filename().string() << '\n';
  planner::write_runs(stream, all);
}

/// The runs of each cell of a grid, which all have some.
std::vector<std::vector<planner::CalibrationRun>> runs_of_cells(const std::string& file, std::size_t cells) {
  std::vector<std::vector<planner::CalibrationRun>> runs;
  std::string query;
  for (planner::CalibrationRun& run : runs_in(file)) {
    const auto again = [&](const planner::CalibrationRun& first) {
      return run.algorithm == first.algorithm && run.parameters == first.parameters;
    };
    if (runs.empty() || query != planner::query_of(run) || again(runs.back().front())) runs.emplace_back();
    query = planner::query_of(run);
    runs.back().push_back(std::move(run));
  }
  if (runs.size() != cells) throw QueryError("the runs are not of this grid", {file});
  return runs;
}

void measure(const Arguments& arguments) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  TrialOptions options;
  if (arguments.device == "cpu") options.device = kernels::Device::cpu;
  if (arguments.device == "cuda") options.device = kernels::Device::cuda;
  const std::vector<Cell> cells = read_grid(arguments.grid).cells;
  std::vector<std::vector<planner::CalibrationRun>> runs(cells.size());
  if (arguments.look) {
    options.time = false;
    runs = runs_of_cells(arguments.out, cells.size());
  }
  for (int pass = 0; pass < (arguments.look ? 1 : arguments.passes); ++pass) {
    for (std::size_t i = static_cast<std::size_t>(arguments.part); i < cells.size();
         i += static_cast<std::size_t>(arguments.parts)) {
      if (std::chrono::duration<double>(Clock::now() - start).count() > arguments.seconds) {
        fmt::print("out of time before cell {} of {} in pass {}\n", i, cells.size(), pass + 1);
        return write(arguments, runs);
      }
      runs[i] = try_cell(cells[i], options, runs[i]);
      if (pass == 0) write(arguments, runs);
    }
  }
  write(arguments, runs);
}

planner::Profile profile_in(const std::string& file) {
  if (file.empty()) return planner::built_in_profile();
  std::ifstream stream(file);
  return planner::parse_profile(std::string(std::istreambuf_iterator<char>(stream), {}), file);
}

int judge_runs(const Arguments& arguments) {
  const std::vector<Verdict> verdicts = judge(runs_in(arguments.runs), profile_in(arguments.profile));
  if (!arguments.out.empty()) {
    std::ofstream stream(arguments.out);
    write_verdicts(stream, verdicts);
  }
  const Score score = score_of(verdicts);
  fmt::print(
      "{} queries: regret median {:.3f}, 95 % {:.3f}, most {:.3f}; {:.1f} % of predictions within 25 %;\n"
      "planning at most {:.3f} ms without statistics, 95 % of queries of 1 ms or more at most {:.2f} % of their time "
      "with them\n",
      score.queries, score.median_regret, score.p95_regret, score.max_regret, 100 * score.within_25_percent,
      score.planning_without_ms, 100 * score.p95_planning_share_with);
  const std::vector<std::string> missed = shortfalls(score);
  for (const std::string& sentence : missed) fmt::print("MISSED: {}\n", sentence);
  return missed.empty() ? 0 : 1;
}

void fit_runs(const Arguments& arguments) {
  const planner::Profile profile = planner::fit(runs_in(arguments.runs));
  std::ofstream stream(arguments.out);
  stream << planner::to_yaml(profile);
}

int run(int argc, char** argv) {
  Arguments arguments;
  CLI::App app("Measures paths on a grid of problems, and judges the planner by that.");
  app.require_subcommand(1);
  CLI::App& measuring = *app.add_subcommand("measure", "Time all algorithms on a grid");
  measuring.add_option("GRID", arguments.grid, "YAML, as of skyrank bench")->required();
  measuring.add_option("--out", arguments.out, "Runs, as CSV")->required();
  measuring.add_option("--device", arguments.device, "Only algorithms of this one")
      ->check(CLI::IsMember({"cpu", "cuda"}));
  measuring.add_option("--part", arguments.part, "Which of --parts of the grid: every so many-th cell from this one");
  measuring.add_option("--parts", arguments.parts)->check(CLI::Range(1, 10000));
  measuring.add_option("--passes", arguments.passes, "Over the grid; all but the first of paths that may be the best")
      ->check(CLI::Range(1, 100));
  measuring.add_flag("--look", arguments.look,
                     "Time nothing: put the statistics of today into the runs that --out has");
  measuring.add_option("--seconds", arguments.seconds, "Start no cell after so many");
  CLI::App& judging = *app.add_subcommand("judge", "Hold the planner's choices against runs; exit status 1 when short");
  judging.add_option("RUNS", arguments.runs)->required();
  judging.add_option("--profile", arguments.profile, "Default: the built-in one");
  judging.add_option("--out", arguments.out, "Verdicts, as CSV");
  CLI::App& fitting = *app.add_subcommand("fit", "Fit the cost models to runs");
  fitting.add_option("RUNS", arguments.runs)->required();
  fitting.add_option("--out", arguments.out, "Profile, as YAML")->required();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error);
  }
  if (app.got_subcommand(&judging)) return judge_runs(arguments);
  app.got_subcommand(&fitting) ? fit_runs(arguments) : measure(arguments);
  return 0;
}

}  // namespace
}  // namespace skyrank::bench

int main(int argc, char** argv) {
  try {
    return skyrank::bench::run(argc, argv);
  } catch (const skyrank::planner::BadProfile& bad) {
    std::cerr << bad.source << ": " << bad.reason << '\n';
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
  }
  return 2;
}
