#include <fmt/format.h>
#include <tbb/info.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>
#include <string_view>
#include <system_error>

#include <skyrank/error.hpp>

#include "engine/files/output_file.hpp"
#include "kernels/cpu/threads.hpp"
#include "kernels/cuda/device/device.hpp"
#include "planner/calibration_runs.hpp"
#include "tools/bench/planner/rates.hpp"
#include "tools/bench/planner/trial.hpp"
#include "tools/skyrank/answers/report.hpp"
#include "tools/skyrank/commands.hpp"
#include "tools/skyrank/commands/learn.hpp"

namespace skyrank::tools {
namespace {

using planner::CalibrationRun;

/// tools/bench/planner/fitted.yaml, put in by the build; --grid takes another.
constexpr std::string_view kGrid =
#include "calibration_grid.inc"
    ;

constexpr std::size_t kPasses = 3;  ///< over the grid, the later ones of paths that are near the best

std::vector<CalibrationRun> measure(const CalibrateArguments& arguments, Console& console, const Signals& signals) {
  const bench::Grid grid =
      arguments.grid.empty() ? bench::parse_grid(kGrid, "calibration") : bench::read_grid(arguments.grid);
  bench::TrialOptions options;
  if (arguments.device == DeviceChoice::cpu) options.device = kernels::Device::cpu;
  options.stop = signals.stop_token();
  std::vector<std::vector<CalibrationRun>> of_cells(grid.cells.size());
  for (std::size_t i = 0; i < kPasses * grid.cells.size(); ++i) {
    console.show_status(fmt::format("measuring problem {} of {}", i + 1, kPasses * grid.cells.size()));
    std::vector<CalibrationRun>& runs = of_cells[i % grid.cells.size()];
    runs = bench::try_cell(grid.cells[i % grid.cells.size()], options, runs);
  }
  std::vector<CalibrationRun> runs;
  for (const std::vector<CalibrationRun>& some : of_cells) runs.insert(runs.end(), some.begin(), some.end());
  return runs;
}

std::vector<CalibrationRun> read(const std::filesystem::path& file) {
  std::ifstream stream(file);
  if (!stream && !std::filesystem::exists(file)) throw QueryError("there is no such file", {file.string()});
  if (!stream) throw ResourceError("cannot be read: " + std::generic_category().message(errno), {file.string()});
  std::vector<CalibrationRun> runs = planner::read_runs(stream, file.string());
  if (stream.bad()) throw ResourceError("cannot be read: " + std::generic_category().message(errno), {file.string()});
  return runs;
}

/// Opened before anything is measured: a place that cannot be written is better known at once.
std::unique_ptr<exec::OutputFile> open_output(const std::filesystem::path& file) {
  std::error_code error;
  if (file.has_parent_path()) std::filesystem::create_directories(file.parent_path(), error);
  if (error) throw ResourceError(file.string() + ": its folder cannot be made: " + error.message());
  return std::make_unique<exec::OutputFile>(file);
}

void write(exec::OutputFile& file, std::string_view text) {
  file.write(text);
  file.commit();
}

std::string text_of(const std::vector<CalibrationRun>& runs) {
  std::ostringstream text;
  planner::write_runs(text, runs);
  return text.str();
}

/// The CPU that the profile is for; the fallback of cpu_name is for systems that never tell.
std::string known_cpu() {
  try {
    return planner::cpu_name();
  } catch (const planner::BadProfile& unknown) {
    throw ResourceError(unknown.reason, {unknown.source});
  }
}

std::filesystem::path target(const CalibrateArguments& arguments) {
  if (!arguments.out.empty()) return arguments.out;
  if (const auto file = planner::profile_file()) return *file;
  throw UsageError("there is neither XDG_CACHE_HOME nor HOME to keep a profile in; say --out FILE");
}

/// A profile and the runs that it is fitted to.
struct Calibration {
  planner::Profile profile;
  std::vector<CalibrationRun> runs;
  std::string report = {};  ///< describes what changed; empty: nothing was known before
};

Calibration calibrate_by_grid(const CalibrateArguments& arguments, Console& console, const Signals& signals) {
  planner::Profile profile;
  if (arguments.from.empty()) {
    profile.rates = bench::measure_rates();
    if (arguments.device != DeviceChoice::cpu) profile.rates.merge(bench::measure_gpu());
  }
  const auto gpus = kernels::cuda::find_devices().devices;
  if (!gpus.empty() && arguments.device != DeviceChoice::cpu) profile.gpu = gpus.front().name;
  std::vector<CalibrationRun> runs =
      arguments.from.empty() ? measure(arguments, console, signals) : read(arguments.from);
  profile.algorithms = planner::fit(runs).algorithms;
  return {std::move(profile), std::move(runs)};
}

/// Algorithms that the queries do not tell of keep the seconds that they have.
Calibration calibrate_by_queries(const CalibrateArguments& arguments, Console& console, Signals& signals) {
  if (arguments.device == DeviceChoice::cuda) {
    throw UsageError("--learn measures algorithms of the CPU; leave out --device cuda");
  }
  LearnedRuns learned = learn(arguments.learn, console, signals);
  if (learned.runs.empty()) {
    throw QueryError("nothing to learn from: no query of the batches ranks rows or prefers some, alone and as a whole",
                     {arguments.learn.front().string()});
  }
  planner::Profile profile = learned.known;
  const planner::PriceList before(std::move(learned.known));
  for (auto& [algorithm, seconds] : planner::fit(learned.runs, before).algorithms) {
    profile.algorithms.insert_or_assign(algorithm, std::move(seconds));
  }
  std::string report = describe_fit(learned.runs, before, planner::PriceList(profile));
  return {std::move(profile), std::move(learned.runs), std::move(report)};
}

std::int64_t algorithms_of(const std::vector<CalibrationRun>& runs) {
  std::set<std::string_view> names;
  for (const CalibrationRun& run : runs) names.insert(run.algorithm);
  return std::ssize(names);
}

}  // namespace

int calibrate(const CalibrateArguments& arguments, Console& console, Signals& signals) try {
  const std::filesystem::path file = target(arguments);
  const auto profile_output = open_output(file);
  const auto runs_output = arguments.runs.empty() ? nullptr : open_output(arguments.runs);
  const kernels::WorkerThreads workers(0);
  const std::string cpu = known_cpu();
  Calibration made = arguments.learn.empty() ? calibrate_by_grid(arguments, console, signals)
                                             : calibrate_by_queries(arguments, console, signals);
  made.profile.cpu = cpu;
  made.profile.cores = tbb::info::default_concurrency();
  if (runs_output) write(*runs_output, text_of(made.runs));
  write(*profile_output, planner::to_yaml(made.profile));
  console.show_status("");
  console.note(fmt::format("{}: {} fitted to {}\n", file.string(),
                           counted(algorithms_of(made.runs), "cost model", "cost models"),
                           counted(static_cast<std::int64_t>(made.runs.size()), "run", "runs")));
  console.note(made.report);
  console.flush();
  return success;
} catch (const planner::BadProfile& bad) {
  throw QueryError(bad.reason, {bad.source});
} catch (const kernels::Cancelled&) {
  throw CancelledError("the calibration was cancelled");
}

}  // namespace skyrank::tools
