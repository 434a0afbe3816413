#include "tools/skyrank/commands/learn.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include <skyrank/error.hpp>

#include "engine/executor/engine_state.hpp"
#include "engine/executor/observed_run.hpp"
#include "tools/skyrank/tables/batch_input.hpp"

namespace skyrank::tools {
namespace {

using planner::CalibrationRun;
using planner::PriceList;

constexpr double kNever = std::numeric_limits<double>::infinity();

/// Collects the kernels of a run of a query, by their kind of problem. Those that run beside others, over partitions or
/// units, tell nothing of one that has all threads.
class Kernels {
 public:
  exec::KernelObserver observer() {
    return [this](CalibrationRun run) {
      const std::scoped_lock lock(mutex_);
      Kind& kind = kinds_[run.shape.index()];
      ++kind.count;
      kind.run = std::move(run);
    };
  }

  /// Returns the run of an algorithm, if it ran, and alone.
  std::optional<CalibrationRun> of(std::string_view algorithm) const {
    for (const Kind& kind : kinds_) {
      if (kind.count == 1 && kind.run.algorithm == algorithm) return kind.run;
    }
    return std::nullopt;
  }

 private:
  struct Kind {
    CalibrationRun run;  // the last
    std::size_t count = 0;
  };

  std::mutex mutex_;
  std::array<Kind, std::variant_size_v<decltype(CalibrationRun::shape)>> kinds_;
};

/// Adds the algorithms that a plan takes and considers.
void add_algorithms(const PlanNode& plan, std::set<std::string>& names) {
  if (!plan.algorithm.empty()) names.insert(plan.algorithm);
  for (const Alternative& other : plan.alternatives) {
    if (other.predicted_ms > 0) names.insert(other.algorithm);
  }
  for (const PlanNode& child : plan.children) add_algorithms(child, names);
}

/// Runs one query by one algorithm after the other.
class QueryTrial {
 public:
  QueryTrial(const exec::EngineState& engine, const Query& query, const Source& source, const Signals& signals)
      : engine_(engine), query_(query), source_(source), signals_(signals) {}

  std::vector<CalibrationRun> run() {
    constexpr int kTurns = 3;
    std::set<std::string> names;
    add_algorithms(exec::run_observed(engine_, query_, source_, options({}), {}).plan, names);
    for (int turn = 0; turn < kTurns; ++turn) {
      for (const std::string& name : names) {
        if (!stopped_.contains(name)) run_by(name);
      }
    }
    std::vector<CalibrationRun> runs;
    for (auto& [name, run] : runs_) runs.push_back(std::move(run));
    return runs;
  }

 private:
  RunOptions options(std::optional<std::chrono::milliseconds> timeout) const {
    return {.count_work = false, .stop = signals_.stop_token(), .timeout = timeout};
  }

  /// Returns the time after which an algorithm is hopeless beside the best one.
  std::optional<std::chrono::milliseconds> patience() const {
    if (!std::isfinite(best_)) return std::nullopt;
    const double seconds = std::max(planner::kHopeless * best_, planner::kMinStopped);
    return std::chrono::milliseconds(std::llround(std::ceil(seconds * 1e3)));
  }

  void run_by(const std::string& name) {
    Query forced = query_;
    ForcedPath path = query_.using_path();
    path.algorithms = {name};
    forced.using_path(std::move(path));
    Kernels kernels;
    const auto start = std::chrono::steady_clock::now();
    try {
      exec::run_observed(engine_, forced, source_, options(patience()), kernels.observer());
    } catch (const TimeoutError&) {
      stopped_.insert(name);  // no problem that it could be noted with is known
      return;
    }
    best_ = std::min(best_, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    std::optional<CalibrationRun> run = kernels.of(name);
    if (!run) return;
    run->data = query_.name();
    const auto [known, is_new] = runs_.try_emplace(name, *run);
    known->second.seconds = std::min(known->second.seconds, run->seconds);
  }

  const exec::EngineState& engine_;
  const Query& query_;
  const Source& source_;
  const Signals& signals_;
  std::map<std::string, CalibrationRun> runs_;  // by algorithm
  std::set<std::string> stopped_;
  double best_ = kNever;  // seconds of the whole query
};

/// Runs of one query.
using RunsOfQuery = std::vector<const CalibrationRun*>;

std::vector<RunsOfQuery> by_query(const std::vector<CalibrationRun>& runs) {
  std::map<std::string, RunsOfQuery> groups;
  for (const CalibrationRun& run : runs) {
    if (std::isfinite(run.seconds)) groups[planner::query_of(run)].push_back(&run);
  }
  std::vector<RunsOfQuery> queries;
  for (auto& [name, group] : groups) queries.push_back(std::move(group));
  return queries;
}

/// Predicted over measured time of each run of an algorithm, ascending.
std::map<std::string, std::vector<double>> ratios_by(const std::vector<CalibrationRun>& runs, const PriceList& prices) {
  std::map<std::string, std::vector<double>> ratios;
  for (const CalibrationRun& run : runs) {
    const std::optional<double> predicted = planner::predict(run, prices);
    if (predicted && std::isfinite(run.seconds) && run.seconds > 0) {
      ratios[run.algorithm].push_back(*predicted / run.seconds);
    }
  }
  for (auto& [algorithm, of_runs] : ratios) std::ranges::sort(of_runs);
  return ratios;
}

std::string words_of(const std::vector<double>& ascending) {
  return fmt::format("{:.2g} ({:.2g} to {:.2g})", ascending[ascending.size() / 2], ascending.front(), ascending.back());
}

/// The run that prices choose.
const CalibrationRun& choice_of(const RunsOfQuery& query, const PriceList& prices) {
  return **std::ranges::min_element(
      query, {}, [&](const CalibrationRun* run) { return planner::predict(*run, prices).value_or(kNever); });
}

/// Time of the choice over that of the best run, by query, ascending.
std::vector<double> regrets(const std::vector<RunsOfQuery>& queries, const PriceList& prices) {
  std::vector<double> regrets;
  for (const RunsOfQuery& query : queries) {
    const CalibrationRun& best = **std::ranges::min_element(query, {}, &CalibrationRun::seconds);
    regrets.push_back(choice_of(query, prices).seconds / best.seconds);
  }
  std::ranges::sort(regrets);
  return regrets;
}

std::string described_changes(const std::vector<RunsOfQuery>& queries, const PriceList& before,
                              const PriceList& after) {
  std::string text;
  for (const RunsOfQuery& query : queries) {
    const CalibrationRun& was = choice_of(query, before);
    const CalibrationRun& is = choice_of(query, after);
    if (was.algorithm == is.algorithm) continue;
    text += fmt::format("{}: {} ({:.3g} ms) -> {} ({:.3g} ms)\n", was.data, was.algorithm, was.seconds * 1e3,
                        is.algorithm, is.seconds * 1e3);
  }
  return text;
}

}  // namespace

LearnedRuns learn(const std::vector<std::filesystem::path>& batches, Console& console, Signals& signals) {
  LearnedRuns learned;
  for (const std::filesystem::path& file : batches) {
    const Batch batch = open_batch({.file = file, .queries = {}, .settings = {}});
    const BatchMemory memory = memory_of(batch, 0);
    // Keys that are kept would be missing from later turns.
    const exec::EngineState engine(
        {.device = DeviceChoice::cpu, .shared_key_bytes = 0, .memory_bytes = memory.engine, .devices = {}});
    for (const std::string& warning : engine.warnings) console.warn(warning);
    learned.known = engine.price_list().profile();
    InputTables tables(batch, 0, memory, console, signals);
    for (const Query& query : batch.queries) {
      console.show_status("measuring " + query.name());
      const InputTable input = tables.get(query);
      for (CalibrationRun& run : QueryTrial(engine, query, *input.source, signals).run()) {
        learned.runs.push_back(std::move(run));
      }
    }
  }
  return learned;
}

std::string describe_fit(const std::vector<CalibrationRun>& runs, const PriceList& before, const PriceList& after) {
  constexpr std::string_view kRow = "{:20}  {:>4}  {:24}  {}\n";
  std::string text = fmt::format(kRow, "algorithm", "runs", "predicted over measured", "now; median (least to most)");
  const auto ratios_before = ratios_by(runs, before);
  for (const auto& [algorithm, now] : ratios_by(runs, after)) {
    text += fmt::format(kRow, algorithm, now.size(), words_of(ratios_before.at(algorithm)), words_of(now));
  }
  const std::vector<RunsOfQuery> queries = by_query(runs);
  if (queries.empty()) return text;
  const std::vector<double> was = regrets(queries, before);
  const std::vector<double> is = regrets(queries, after);
  text += fmt::format("time of the choices over the best, {} problems: {}; now {}\n", queries.size(), words_of(was),
                      words_of(is));
  return text + described_changes(queries, before, after);
}

}  // namespace skyrank::tools
