#include <fmt/format.h>
#include <tbb/info.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string_view>
#include <system_error>

#include <skyrank/error.hpp>

#include "datasets/write/output_file.hpp"
#include "kernels/cpu/threads.hpp"
#include "kernels/cuda/device/device.hpp"
#include "planner/calibration_runs.hpp"
#include "tools/bench/planner/rates.hpp"
#include "tools/bench/planner/trial.hpp"
#include "tools/skyrank/answers/report.hpp"
#include "tools/skyrank/commands.hpp"

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
std::unique_ptr<datasets::OutputFile> open_output(const std::filesystem::path& file) {
  std::error_code error;
  if (file.has_parent_path()) std::filesystem::create_directories(file.parent_path(), error);
  if (error) throw ResourceError(file.string() + ": its folder cannot be made: " + error.message());
  return std::make_unique<datasets::OutputFile>(file);
}

void write(datasets::OutputFile& file, std::string_view text) {
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

}  // namespace

int calibrate(const CalibrateArguments& arguments, Console& console, Signals& signals) try {
  const std::filesystem::path file = target(arguments);
  const auto profile_output = open_output(file);
  const auto runs_output = arguments.runs.empty() ? nullptr : open_output(arguments.runs);
  const kernels::WorkerThreads workers(0);
  planner::Profile profile;
  profile.cpu = known_cpu();
  profile.cores = tbb::info::default_concurrency();
  if (arguments.from.empty()) {
    profile.rates = bench::measure_rates();
    if (arguments.device != DeviceChoice::cpu) profile.rates.merge(bench::measure_gpu());
  }
  const auto gpus = kernels::cuda::find_devices().devices;
  if (!gpus.empty() && arguments.device != DeviceChoice::cpu) profile.gpu = gpus.front().name;
  const std::vector<CalibrationRun> runs =
      arguments.from.empty() ? measure(arguments, console, signals) : read(arguments.from);
  profile.algorithms = planner::fit(runs).algorithms;
  if (runs_output) write(*runs_output, text_of(runs));
  write(*profile_output, planner::to_yaml(profile));
  console.show_status("");
  console.note(fmt::format("{}: {} fitted to {}\n", file.string(),
                           counted(static_cast<std::int64_t>(profile.algorithms.size()), "cost model", "cost models"),
                           counted(static_cast<std::int64_t>(runs.size()), "run", "runs")));
  console.flush();
  return success;
} catch (const planner::BadProfile& bad) {
  throw QueryError(bad.reason, {bad.source});
} catch (const kernels::Cancelled&) {
  throw CancelledError("the calibration was cancelled");
}

}  // namespace skyrank::tools
