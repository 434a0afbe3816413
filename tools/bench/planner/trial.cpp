#include "tools/bench/planner/trial.hpp"

#include <fmt/format.h>
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/partitioner.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <span>
#include <thread>
#include <type_traits>
#include <utility>

#include <skyrank/error.hpp>

#include "kernels/cuda/device/array.hpp"
#include "kernels/cuda/device/device.hpp"
#include "tools/bench/data/data.hpp"
#include "tools/bench/look.hpp"
#include "tools/bench/planner/filters.hpp"
#include "tools/bench/planner/quantile.hpp"

namespace skyrank::bench {
namespace {

using planner::CalibrationRun;
using Clock = std::chrono::steady_clock;

/// Asks runs to stop when they have taken too long. One thread for all of them, which looks up now and then: starting
/// or waking one for each run takes a core from short runs.
class Watchdog {
 public:
  Watchdog()
      : thread_([this](const std::stop_token& done) {
          while (!done.stop_requested()) {
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
            const std::scoped_lock lock(mutex_);
            if (Clock::now() >= limit_) source_.request_stop();
          }
        }) {}

  /// For a run that starts now.
  std::stop_token watch(double seconds) {
    const std::scoped_lock lock(mutex_);
    source_ = {};
    limit_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    return source_.get_token();
  }

 private:
  std::mutex mutex_;
  std::stop_source source_;
  Clock::time_point limit_ = Clock::time_point::max();
  std::jthread thread_;
};

/// Has the processor forget what the branches of the last run were: a query seldom meets the rows of the one before.
void forget_branches() {
  constexpr int kBranches = 1 << 14;
  thread_local std::uint64_t hash = 0x9e3779b97f4a7c15;
  volatile std::uint64_t taken = 0;
  for (int i = 0; i < kBranches; ++i) {
    hash = (hash ^ (hash >> 29)) * 0xbf58476d1ce4e5b9 + 0x94d049bb133111eb;
    if ((hash >> 40) % 2 == 0) taken = taken + 1;
    if ((hash >> 50) % 4 == 0) taken = taken ^ hash;
  }
}

/// Waits until all threads of the arena are awake, as they are in an engine that has queries to run. Those of an idle
/// virtual machine take anything from 5 to 100 us to come.
void wake_threads(int threads) {
  constexpr std::chrono::microseconds kLongest(2000);
  std::atomic<int> here = 0;
  const auto until = Clock::now() + kLongest;
  tbb::parallel_for(
      0, threads, 1,
      [&](int) {
        forget_branches();
        ++here;
        while (here < threads && Clock::now() < until) {
        }
      },
      tbb::simple_partitioner());
}

/// Returns true if a cell's filter reads columns on a GPU.
bool is_scan(const Cell& cell) { return cell.where < 1 && cell.residency == kernels::Memory::device; }

/// Runs an algorithm on a problem.
template <class Algorithm>
using Runner = std::function<typename Algorithm::Solution(const Algorithm&, const typename Algorithm::Problem&,
                                                          const kernels::ParameterValues&, const kernels::Context&)>;

/// Looks at as many rows as the planner would.
template <class Problem>
planner::Statistics statistics_of(const Problem& problem, std::span<const kernels::KeyColumn> keys, const Cell& cell,
                                  const planner::Machine& machine) {
  planner::Statistics statistics = look_at(problem, keys, cell.where, machine);
  statistics.selectivity = cell.where;
  statistics.memory = problem.memory;
  if (is_scan(cell)) {
    statistics.scanned = ScannedFloats::row_bytes(cell);
    statistics.scored = ScannedFloats::score_bytes(cell);
  }
  return statistics;
}

/// One of the ways through a problem, and what they took.
template <class Algorithm>
struct Path {
  const Algorithm* algorithm = nullptr;
  planner::cost::Values parameters;
  std::vector<double> seconds = {};  ///< infinite alone: stopped

  /// The median: what a run takes that meets neither luck nor another's work.
  double typical() const { return quantile(seconds, 0.5); }
  double total() const { return std::accumulate(seconds.begin(), seconds.end(), 0.0); }
};

/// Every algorithm that is wanted and supports the problem, with each of the parameters that the planner prices.
template <class Algorithm>
std::vector<Path<Algorithm>> paths_of(std::span<const Algorithm* const> algorithms,
                                      const typename Algorithm::Shape& shape, const Cell& cell, int threads, bool gpu,
                                      const planner::Statistics& statistics, const TrialOptions& options) {
  std::vector<Path<Algorithm>> paths;
  for (const Algorithm* it : algorithms) {
    const bool wanted =
        cell.algorithms.empty() || std::ranges::find(cell.algorithms, it->name) != cell.algorithms.end();
    const bool here = it->device == kernels::Device::cpu ? cell.residency == kernels::Memory::host : gpu;
    const bool runs = (!options.device || *options.device == it->device) && here;
    if (!wanted || !runs || !it->supports(shape)) continue;
    for (planner::cost::Values& values : planner::priced_parameters(it->name, shape)) {
      paths.push_back({it, std::move(values)});
    }
  }
  const planner::Machine machine{.threads = threads, .cuda = gpu};
  std::ranges::sort(paths, {}, [&](const Path<Algorithm>& path) {  // so that hopeless ones are stopped soon
    return planner::predict(*path.algorithm, shape, machine, statistics, path.parameters);
  });
  return paths;
}

/// Waits for what a run left behind that was stopped: its kernels go on, and the next run would wait for them.
void drain(kernels::Device device) {
  if (device != kernels::Device::cuda) return;
  const std::uint64_t nothing = 0;
  std::uint64_t back = 0;
  const kernels::cuda::DeviceArray there(&nothing, sizeof(nothing));
  kernels::cuda::read_array(&back, there.data(), sizeof(back));
}

/// Seconds of one run, or nothing when it was stopped.
template <class Algorithm>
std::optional<double> timed(const Runner<Algorithm>& run, const Path<Algorithm>& path,
                            const typename Algorithm::Problem& problem, int threads, Watchdog& watchdog, double limit) {
  wake_threads(threads);
  kernels::Context context;
  context.stop = watchdog.watch(limit);
  const auto start = Clock::now();
  try {
    run(*path.algorithm, problem, {path.algorithm->parameters, path.parameters}, context);
  } catch (const kernels::Cancelled&) {
    drain(path.algorithm->device);
    return std::nullopt;
  }
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Returns true if a median of these times may still move: half of them are far apart, or there are few and more cost
/// little.
bool uncertain(const std::vector<double>& seconds, double total) {
  constexpr double kClose = 1.1;
  constexpr std::size_t kMany = 15;
  constexpr double kCheap = 0.003;  // seconds
  if (seconds.size() < 2) return false;
  return (seconds.size() < kMany && total < kCheap) || quantile(seconds, 0.75) > kClose * quantile(seconds, 0.25);
}

/// Runs the paths in turns, and those again that matter: near the best, or of uncertain time. Each round takes the next
/// one of the problems, which are alike. Of a path that was run again the times of the warm-ups are dropped.
template <class Algorithm>
void time_in_turns(const Runner<Algorithm>& runner, std::vector<Path<Algorithm>>& paths,
                   const std::vector<typename Algorithm::Problem>& problems, const Cell& cell, int threads,
                   const TrialOptions& options) {
  constexpr int kMaxRounds = 10;
  constexpr double kMaxRepeated = 0.03;  // seconds
  constexpr double kContends = 1.5;
  constexpr double kOutOfTheRunning = 3;
  constexpr double kShort = 0.001;  // seconds of all its runs, in which even a hopeless path may be known well
  Watchdog watchdog;
  double best = std::numeric_limits<double>::infinity();
  for (int round = -cell.warmups; round < kMaxRounds * cell.repeats; ++round) {
    const auto& problem = problems[static_cast<std::size_t>(round + cell.warmups) % problems.size()];
    for (Path<Algorithm>& path : paths) {
      if (options.stop.stop_requested()) throw kernels::Cancelled{};
      const bool stopped = path.seconds.size() == 1 && !std::isfinite(path.seconds.front());
      if (stopped) continue;
      // The first run on a GPU may load kernels and enlarge pools: it tells nothing yet.
      const bool sets_up = round < 0 && path.algorithm->device == kernels::Device::cuda;
      const bool told = !path.seconds.empty() && (round > 0 || path.algorithm->device == kernels::Device::cpu);
      if (told && path.total() > kShort && path.typical() > kOutOfTheRunning * best) continue;
      if (round >= cell.repeats) {
        const double total = path.total();
        if (path.typical() > kContends * best || total > kMaxRepeated || !uncertain(path.seconds, total)) continue;
      }
      // Short runs are cheap to have, however hopeless.
      const double limit =
          sets_up ? cell.budget_s : std::clamp(planner::kHopeless * best, planner::kMinStopped, cell.budget_s);
      const std::optional<double> run = timed(runner, path, problem, threads, watchdog, limit);
      if (!run) {
        path.seconds = {std::numeric_limits<double>::infinity()};
        continue;
      }
      if (round <= 0) path.seconds.clear();
      path.seconds.push_back(*run);
      if (!sets_up) best = std::min(best, path.typical());
    }
  }
}

/// Returns what a planner would know of a problem, and the least time that it took to sample and to choose.
template <class Algorithm>
std::pair<planner::Statistics, double> plan(const typename Algorithm::Problem& problem,
                                            std::span<const kernels::KeyColumn> keys, const Cell& cell,
                                            const planner::Machine& machine) {
  planner::Statistics statistics;
  double planning = std::numeric_limits<double>::infinity();
  for (int i = 0; i < std::max(1, cell.repeats); ++i) {
    const auto start = Clock::now();
    statistics = statistics_of(problem, keys, cell, machine);
    planner::choose(shape_of(problem), {}, machine, statistics);
    planning = std::min(planning, std::chrono::duration<double>(Clock::now() - start).count());
  }
  return {statistics, planning};
}

/// Runs an algorithm on a problem as the registry has both.
template <class Algorithm>
typename Algorithm::Solution run_as_it_is(const Algorithm& algorithm, const typename Algorithm::Problem& problem,
                                          const kernels::ParameterValues& parameters, const kernels::Context& context) {
  return algorithm.run(problem, parameters, context);
}

/// Returns true if the path of a run may be the best one, given the run of the `best` path known: it came near, or only
/// one pass says that it did not, and something may have disturbed that one. Stopped runs took long enough to be
/// believed.
bool contends(const CalibrationRun& run, double best) {
  constexpr double kContends = 2;
  constexpr int kBelieved = 2;  // passes
  if (!std::isfinite(run.seconds)) return false;
  return run.passes < kBelieved || run.seconds <= kContends * best;
}

/// Runs all algorithms on problems that are alike, the first of which the planner looks at. `earlier` has the runs of
/// the same cell before.
template <class Algorithm>
std::vector<CalibrationRun> try_all(std::span<const Algorithm* const> algorithms,
                                    const std::vector<typename Algorithm::Problem>& problems,
                                    std::span<const kernels::KeyColumn> keys, const Cell& cell, int threads,
                                    const TrialOptions& options, std::vector<CalibrationRun> earlier,
                                    const std::type_identity_t<Runner<Algorithm>>& runner) {
  const typename Algorithm::Problem& problem = problems.front();
  const bool gpu = !kernels::cuda::find_devices().devices.empty();
  const auto shape = shape_of(problem);
  const auto [statistics, planning] =
      plan<Algorithm>(problem, keys, cell, planner::Machine{.threads = threads, .cuda = gpu});
  std::vector<Path<Algorithm>> paths = paths_of(algorithms, shape, cell, threads, gpu, statistics, options);
  const auto run_of = [&](const Path<Algorithm>& path) {
    return std::ranges::find_if(earlier, [&](const CalibrationRun& run) {
      return run.algorithm == path.algorithm->name && run.parameters == path.parameters;
    });
  };
  if (!earlier.empty()) {
    const double best = std::ranges::min_element(earlier, {}, &CalibrationRun::seconds)->seconds;
    std::erase_if(paths, [&](const auto& path) {
      const auto run = run_of(path);
      return run != earlier.end() && !contends(*run, best);
    });
  }
  if (!options.time) paths.clear();
  time_in_turns(runner, paths, problems, cell, threads, options);
  const std::string where = cell.where < 1 ? fmt::format(" where={}", cell.where) : "";
  const std::string data =
      fmt::format("{} {} {}{}", cell.distribution, to_string(DataType(cell.type)), cell.seed, where);
  if (!earlier.empty() && earlier.front().data != data) {
    throw DataError(
        fmt::format("runs of '{}' stand where those of '{}' belong; runs have to be in the order of the grid",
                    earlier.front().data, data),
        {});
  }
  for (CalibrationRun& run : earlier) {
    run.statistics = statistics;
    run.planning = options.time ? std::min(run.planning, planning) : planning;
  }
  for (const Path<Algorithm>& path : paths) {
    if (const auto run = run_of(path); run != earlier.end()) {
      run->seconds = std::min(run->seconds, path.typical());
      ++run->passes;
    } else {
      earlier.push_back({std::string(path.algorithm->name), data, shape, statistics, threads, planning, path.typical(),
                         path.parameters});
    }
  }
  return earlier;
}

/// Copies of columns in the memory of the device.
class ResidentKeys {
 public:
  explicit ResidentKeys(const Data& data) {
    for (const kernels::KeyColumn& column : data.keys) {
      arrays_.emplace_back(column.data, data.n * static_cast<std::size_t>(column.width));
      columns_.push_back({arrays_.back().data(), column.width});
    }
  }
  std::span<const kernels::KeyColumn> columns() const { return columns_; }

 private:
  std::vector<kernels::cuda::DeviceArray> arrays_;
  std::vector<kernels::KeyColumn> columns_;
};

/// The tables of a cell. The processor learns the branches of a short ranking when it meets the same rows over and
/// over, or does not, as its luck will have it; so there are some tables that differ in their seeds.
std::vector<Data> tables_of(Cell cell) {
  constexpr std::int64_t kShortRows = 10000;
  constexpr int kTables = 8;
  constexpr std::uint64_t kNextSeed = 1000;
  std::vector<Data> tables;
  tables.push_back(make_data(cell));
  if (cell.op == Op::skyline || cell.n > kShortRows) return tables;
  while (tables.size() < kTables) {
    cell.seed += kNextSeed;
    tables.push_back(make_data(cell));
  }
  return tables;
}

}  // namespace

std::vector<CalibrationRun> try_cell(const Cell& cell, const TrialOptions& options,
                                     const std::vector<planner::CalibrationRun>& earlier) {
  if (!cell.parameters.empty()) throw QueryError("'parameters' are the planner's own", {to_string(cell.parameters)});
  const std::vector<Data> tables = tables_of(cell);
  const Data& data = tables.front();
  std::deque<ResidentKeys> resident;
  const auto keys_of = [&](const Data& table) -> std::span<const kernels::KeyColumn> {
    if (cell.residency == kernels::Memory::host) return table.keys;
    return resident.emplace_back(table).columns();
  };
  const int threads = cell.threads == 0 ? tbb::info::default_concurrency() : cell.threads;
  tbb::task_arena arena(threads);
  return arena.execute([&] {
    if (cell.op == Op::skyline) {
      return try_all(kernels::skyline_algorithms(),
                     {{.n = data.n, .keys = keys_of(data), .order = {}, .memory = cell.residency}}, data.keys, cell,
                     threads, options, earlier, run_as_it_is<kernels::SkylineAlgorithm>);
    }
    if (is_scan(cell)) {
      const ScannedFloats scan(data, cell);
      const kernels::TopKProblem problem{.n = data.n,
                                         .keys = keys_of(data),
                                         .k = static_cast<std::size_t>(cell.k),
                                         .ties = cell.ties,
                                         .memory = cell.residency};
      return try_all(kernels::topk_algorithms(), {problem}, data.keys, cell, threads, options, earlier,
                     std::bind_front(&ScannedFloats::run, &scan));
    }
    std::deque<FilteredKeys> sources;
    std::vector<kernels::TopKProblem> problems;
    for (const Data& table : tables) {
      problems.push_back({.n = table.n,
                          .keys = keys_of(table),
                          .k = static_cast<std::size_t>(cell.k),
                          .ties = cell.ties,
                          .memory = cell.residency});
      if (cell.where == 1) continue;
      problems.back().keys = {};
      problems.back().source = &sources.emplace_back(table.keys.front(), table.n, cell.where);
    }
    return try_all(kernels::topk_algorithms(), problems, data.keys, cell, threads, options, earlier,
                   run_as_it_is<kernels::TopKAlgorithm>);
  });
}

}  // namespace skyrank::bench
