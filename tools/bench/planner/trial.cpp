#include "tools/bench/planner/trial.hpp"

#include <fmt/format.h>
#include <tbb/info.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "kernels/cuda/device/device.hpp"
#include "tools/bench/data.hpp"

namespace skyrank::bench {
namespace {

using planner::MeasuredRun;
using Clock = std::chrono::steady_clock;

/// Asks a run to stop when it has taken too long.
class Timeout {
 public:
  explicit Timeout(double seconds)
      : thread_([this, seconds](const std::stop_token& done) {
          std::unique_lock lock(mutex_);
          std::condition_variable_any wake;
          if (!wake.wait_for(lock, done, std::chrono::duration<double>(seconds), [] { return false; }) &&
              !done.stop_requested()) {
            source_.request_stop();
          }
        }) {}

  std::stop_token token() const { return source_.get_token(); }

 private:
  std::stop_source source_;
  std::mutex mutex_;
  std::jthread thread_;
};

template <class Key>
std::vector<std::uint64_t> gathered(const kernels::KeyColumn& column, const std::vector<kernels::RowId>& rows) {
  std::vector<std::uint64_t> memory(rows.size());
  auto* keys = reinterpret_cast<Key*>(memory.data());
  for (std::size_t i = 0; i < rows.size(); ++i) keys[i] = column.as<Key>()[rows[i]];
  return memory;
}

std::vector<std::uint64_t> gathered_keys(const kernels::KeyColumn& column, const std::vector<kernels::RowId>& rows) {
  switch (column.width) {
    case kernels::KeyWidth::bytes1: return gathered<std::uint8_t>(column, rows);
    case kernels::KeyWidth::bytes2: return gathered<std::uint16_t>(column, rows);
    case kernels::KeyWidth::bytes4: return gathered<std::uint32_t>(column, rows);
    case kernels::KeyWidth::bytes8: break;
  }
  return gathered<std::uint64_t>(column, rows);
}

/// Looks at as many rows as the planner would.
template <class Problem>
planner::Statistics statistics_of(const Problem& problem, const planner::Machine& machine) {
  const std::size_t m = planner::worthwhile_sample(shape_of(problem), machine);
  if (m == 0) return {};
  const std::vector<kernels::RowId> rows = planner::sample_rows(problem.n, m);
  std::vector<std::vector<std::uint64_t>> memory;
  std::vector<kernels::KeyColumn> columns;
  for (const kernels::KeyColumn& column : problem.keys) {
    memory.push_back(gathered_keys(column, rows));
    columns.push_back({memory.back().data(), column.width});
  }
  Problem sample = problem;
  sample.n = rows.size();
  sample.keys = columns;
  if constexpr (requires { problem.k; }) {
    return planner::describe_ranking(sample, problem.n, problem.k);
  } else {
    return planner::describe_preference(sample, problem.n);
  }
}

/// Seconds of one run, or nothing when it was stopped.
template <class Algorithm>
std::optional<double> timed(const Algorithm& algorithm, const typename Algorithm::Problem& problem, double limit) {
  const Timeout timeout(limit);
  kernels::Context context;
  context.stop = timeout.token();
  const auto start = Clock::now();
  try {
    algorithm.run(problem, {algorithm.parameters, {}}, context);
  } catch (const kernels::Cancelled&) {
    return std::nullopt;
  }
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double median(std::vector<double> samples) {
  std::ranges::sort(samples);
  return samples[samples.size() / 2];
}

template <class Algorithm>
std::vector<MeasuredRun> try_all(std::span<const Algorithm* const> algorithms,
                                 const typename Algorithm::Problem& problem, const Cell& cell, int threads,
                                 const TrialOptions& options) {
  const bool gpu = !kernels::cuda::find_devices().devices.empty();
  const auto shape = shape_of(problem);
  const planner::Machine machine{.threads = threads, .cuda = gpu};
  const auto start = Clock::now();
  const planner::Statistics statistics = statistics_of(problem, machine);
  planner::choose(shape, {}, machine, statistics);
  const double planning = std::chrono::duration<double>(Clock::now() - start).count();
  std::map<const Algorithm*, std::vector<double>> seconds;
  std::vector<const Algorithm*> left;
  for (const Algorithm* it : algorithms) {
    const bool wanted =
        cell.algorithms.empty() || std::ranges::find(cell.algorithms, it->name) != cell.algorithms.end();
    const bool runs = (!options.device || *options.device == it->device) && (it->device == kernels::Device::cpu || gpu);
    if (wanted && runs && it->supports(shape)) left.push_back(it);
  }
  double best = std::numeric_limits<double>::infinity();
  for (int round = -cell.warmups; round < cell.repeats; ++round) {
    std::erase_if(left, [&](const Algorithm* it) {
      if (options.stop.stop_requested()) throw kernels::Cancelled{};
      // Short runs are cheap to have, however hopeless; and the first one on a GPU sets it up.
      const double limit = std::clamp(planner::kHopeless * best, planner::kLeastStopped, cell.budget_s);
      const std::optional<double> run = timed(*it, problem, limit);
      if (!run) {
        seconds[it] = {std::numeric_limits<double>::infinity()};
        return true;
      }
      if (round >= 0) seconds[it].push_back(*run);
      best = std::min(best, *run);
      return false;
    });
  }
  std::vector<MeasuredRun> runs;
  const std::string data = fmt::format("{} {} {}", cell.distribution, to_string(DataType(cell.type)), cell.seed);
  for (const auto& [algorithm, samples] : seconds) {
    runs.push_back({std::string(algorithm->name), data, shape, statistics, threads, planning, median(samples)});
  }
  return runs;
}

}  // namespace

std::vector<MeasuredRun> try_cell(const Cell& cell, const TrialOptions& options) {
  const Data data = make_data(cell);
  const int threads = cell.threads == 0 ? tbb::info::default_concurrency() : cell.threads;
  tbb::task_arena arena(threads);
  return arena.execute([&] {
    if (cell.op == Op::skyline) {
      const kernels::SkylineProblem problem{.n = data.n, .keys = data.keys, .order = {}};
      return try_all(kernels::skyline_algorithms(), problem, cell, threads, options);
    }
    const kernels::TopKProblem problem{
        .n = data.n, .keys = data.keys, .k = static_cast<std::size_t>(cell.k), .ties = cell.ties};
    return try_all(kernels::topk_algorithms(), problem, cell, threads, options);
  });
}

}  // namespace skyrank::bench
