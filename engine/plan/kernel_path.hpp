#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <skyrank/plan.hpp>

#include "engine/plan/guard_record.hpp"
#include "engine/runtime/execution_context.hpp"
#include "engine/runtime/stopwatch.hpp"
#include "kernels/common/problem.hpp"
#include "planner/choose.hpp"

// Chooses the path of a kernel, runs it, and books what it did.
namespace skyrank::exec {

/// The totals of a number of kernel runs. Times of runs side by side add up.
struct Report {
  std::int64_t rows = 0;
  double ms = 0;
  double transfer_ms = 0;  ///< the part of `ms` that transfers to and from a device take
  kernels::Work work = {};
  GuardRecord guard = {};

  Report& operator+=(const Report& other) {
    rows += other.rows;
    ms += other.ms;
    transfer_ms += other.transfer_ms;
    work += other.work;
    guard += other.guard;
    return *this;
  }
};

/// Asks the planner for the path of every problem of a stage. The largest problem gets the path for its exact size, all
/// smaller ones that of the next power of two, so that a million small partitions cost few choices and the choice does
/// not depend on the order of execution. Thread-safe.
template <class Algorithm>
class Chooser {
 public:
  using Shape = typename Algorithm::Shape;

  Chooser(const ExecutionContext& context, std::int64_t largest, const planner::Statistics& statistics)
      : context_(context), largest_(static_cast<std::size_t>(largest)), statistics_(statistics) {}

  const planner::Choice<Algorithm>& operator()(Shape shape) {
    if (shape.n < largest_) shape.n = std::min(std::bit_ceil(shape.n), largest_);
    const std::lock_guard lock(mutex_);
    const auto known = choices_.find(shape.n);
    if (known != choices_.end()) return known->second;
    const planner::Machine machine = with_memory_left(context_.machine);
    return choices_.emplace(shape.n, planner::choose(shape, context_.constraints, machine, statistics_)).first->second;
  }

 private:
  const ExecutionContext& context_;
  std::size_t largest_;
  planner::Statistics statistics_;
  std::mutex mutex_;
  std::map<std::size_t, planner::Choice<Algorithm>> choices_;
};

/// Runs an algorithm and books what it did; rows that a guard left are not those of an answer.
template <class Algorithm>
auto run_algorithm(const Algorithm& algorithm, const kernels::ParameterValues& parameters,
                   const typename Algorithm::Problem& problem, const ExecutionContext& context, Report& report) {
  Stopwatch watch;
  auto solution = algorithm.run(problem, parameters, context.kernel_context);
  double transfer_ms = 0;
  if constexpr (requires { solution.times; }) transfer_ms = solution.times.h2d_ms + solution.times.d2h_ms;
  auto rows = static_cast<std::int64_t>(solution.rows.size());
  if constexpr (requires { solution.complete; }) rows = solution.complete ? rows : 0;
  report += {rows, watch.lap(), transfer_ms, solution.work};
  return solution;
}

/// Runs the chosen algorithm, without a guard, and books what it did.
template <class Algorithm>
auto run_path(const planner::Choice<Algorithm>& path, const typename Algorithm::Problem& problem,
              const ExecutionContext& context, Report& report) {
  return std::move(run_algorithm(*path.algorithm, path.parameters, problem, context, report).rows);
}

/// Tells the query's observer, if there is one, of a kernel that ran on a problem of such a shape.
template <class Algorithm>
void tell(const ExecutionContext& context, const planner::Choice<Algorithm>& path,
          const typename Algorithm::Shape& shape, const planner::Statistics& statistics, double ms) {
  if (!context.observer) return;
  planner::CalibrationRun run{.algorithm = std::string(path.algorithm->name),
                              .data = {},
                              .shape = shape,
                              .statistics = statistics,
                              .threads = context.machine.threads,
                              .planning = 0,
                              .seconds = ms / 1e3};
  for (const kernels::Parameter& parameter : path.algorithm->parameters) {
    run.parameters.emplace(parameter.name, path.parameters[parameter.name]);
  }
  context.observer(std::move(run));
}

/// The path of a kernel in the words of a plan: the choice, its price, and the paths that lost.
struct PathDescription {
  std::string algorithm;
  kernels::Device device = kernels::Device::cpu;
  std::string reason;
  double predicted_ms = 0;
  double predicted_bytes = 0;
  std::vector<std::pair<std::string, std::int64_t>> parameters;
  std::vector<Alternative> alternatives;
  std::string guard = {};     ///< the bound of the path's steps and what comes then; empty: none
  double guard_reach = 0;     ///< steps of a run in the worst case, over those that the guard allows at least
  planner::Price price = {};  ///< seconds of the kernel alone; at high 0 where it was not priced there
};

template <class Algorithm>
PathDescription describe_path(const planner::Choice<Algorithm>& path) {
  PathDescription described{.algorithm = std::string(path.algorithm->name),
                            .device = path.algorithm->device,
                            .reason = path.reason,
                            .predicted_ms = path.seconds * 1e3,
                            .predicted_bytes = path.bytes,
                            .parameters = {},
                            .alternatives = {},
                            .price = {path.seconds, path.seconds_at_high.value_or(0)}};
  for (const kernels::Parameter& parameter : path.algorithm->parameters) {
    described.parameters.emplace_back(parameter.name, path.parameters[parameter.name]);
  }
  if constexpr (std::is_same_v<Algorithm, kernels::SkylineAlgorithm>) {
    if (path.guard) {
      described.guard = describe(*path.guard);
      described.guard_reach = static_cast<double>(path.guard->max_steps) / static_cast<double>(path.guard->min_steps);
    }
  }
  for (const planner::Considered& other : path.others) {
    described.alternatives.push_back({std::string(other.algorithm), other.seconds.value_or(0) * 1e3, other.reason(),
                                      other.seconds_at_high.value_or(0) * 1e3});
  }
  return described;
}

/// Adds the seconds of expressions that the path evaluates, whichever it is: of a fused ranking.
inline void add_expressions(PathDescription& path, double seconds) {
  path.predicted_ms += seconds * 1e3;
  path.price.expected += seconds;
  if (path.price.high > 0) path.price.high += seconds;
  for (Alternative& other : path.alternatives) {
    if (other.predicted_ms > 0) other.predicted_ms += seconds * 1e3;
    if (other.predicted_ms_high > 0) other.predicted_ms_high += seconds * 1e3;
  }
}

/// Multiplies the predicted time of a path that runs `times` times, once for each partition, on `threads` threads. A
/// guard that all runs together do not reach is not told.
inline void price_repeated(PathDescription& path, double times, int threads) {
  if (path.guard_reach * std::max(times, 1.0) <= 1) path.guard.clear();
  if (times <= 1) return;
  const double factor = times / std::min<double>(times, threads);
  path.predicted_ms *= factor;
  path.price = {path.price.expected * factor, path.price.high * factor};
  for (Alternative& other : path.alternatives) {
    other.predicted_ms *= factor;
    other.predicted_ms_high *= factor;
  }
}

}  // namespace skyrank::exec
