#include "engine/executor/memory_limit.hpp"

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include <skyrank/error.hpp>

#include "engine/executor/answer.hpp"
#include "engine/executor/memory_need.hpp"
#include "engine/plan/paths.hpp"
#include "engine/plan/tree.hpp"
#include "engine/runtime/query_memory.hpp"
#include "engine/stop.hpp"
#include "engine/text.hpp"
#include "kernels/common/memory.hpp"
#include "kernels/cuda/device/failure.hpp"
#include "planner/choose.hpp"

namespace skyrank::exec {
namespace {

/// Bytes that the search for a refused query's need may take: half of what is left, but never less than a fixed
/// amount where the limit is low, as samples that fit a few kilobytes say nothing.
std::size_t room_to_measure(const EngineState& engine) {
  constexpr std::size_t kLowest = std::size_t{8} << 20;
  constexpr std::size_t kHighest = std::size_t{64} << 20;  // more would take long
  if (engine.memory->limit() < 2 * kLowest) return kLowest;
  return std::min(engine.memory->left() / 2, kHighest);
}

/// About how many bytes a query takes beside its table; for the message that there are too few.
double memory_needed(const EngineState& engine, const Query& query, const Table& table) {
  const kernels::AccountScope uncounted(nullptr);
  const QueryMemory uncounted_columns;
  PhysicalPlan planned = engine.plan(query, table);
  choose_paths(planned);
  double bytes = 0;
  for (const Operator* op : pipeline(planned)) bytes += predicted_bytes(*op);
  return bytes;
}

/// Runs a query within a limit of its own. Returns nothing if it succeeds, else the bytes at which it was refused.
std::optional<std::size_t> reached_within(const EngineState& engine, const Query& query, const Table& table,
                                          const RunOptions& run, Limits& limits, std::size_t limit) {
  const auto account = std::make_shared<kernels::MemoryAccount>(limit, [&engine] { engine.key_cache.drop_all(); });
  std::optional<std::size_t> reached;
  try {
    const kernels::AccountScope counted(account.get());
    answer(engine, query, table, run, limits);
  } catch (const kernels::OverLimit& over) {
    reached = over.used + over.asked;
  } catch (const planner::NoPath&) {  // fits the limit
    reached = limit;
  }
  engine.key_cache.drop_all();  // those of this run are on its account
  return reached;
}

/// The algorithm that the planner would take with enough memory, where all that matters is one skyline of the table.
std::vector<std::string> skyline_algorithm(const EngineState& engine, const Query& query, const Table& table) {
  const bool is_one_skyline = query.prefer() && !query.levels() && !query.at_least() && query.rank_by().empty() &&
                              query.group_by().empty() && query.aggregate().empty() && query.partition_by().empty() &&
                              query.using_path().algorithms.empty();
  if (!is_one_skyline) return {};
  const auto enough = std::make_shared<kernels::MemoryAccount>(std::numeric_limits<std::int64_t>::max());
  const kernels::AccountScope counted(enough.get());
  PhysicalPlan planned = engine.plan(query, table);
  choose_paths(planned);
  return {planned.operators.skyline.back().path->algorithm};
}

/// About how many bytes suffice for a query of which it is known that it needs more than `reached`.
double memory_measured(const EngineState& engine, const Query& query, const Table& table, const RunOptions& run,
                       Limits& limits, double reached) {
  const double expected = memory_needed(engine, query, table);
  const auto run_within = [&](const Query& tried, const Table& rows, std::size_t limit) {
    return reached_within(engine, tried, rows, run, limits, limit);
  };
  try {
    const std::stop_token stop = limits.stop();
    const StopScope stops(stop);
    const std::size_t room = room_to_measure(engine);
    const kernels::AccountScope counted(engine.memory.get());
    kernels::Charge held;
    if (engine.memory->limit() > room) held.add(std::min(room, engine.memory->left()));
    const kernels::AccountScope uncounted(nullptr);
    constexpr double kSlackPerThread = 128 << 10;
    const NeedSearch search{.room = room,
                            .known = reached,
                            .expected = expected,
                            .slack = kSlackPerThread * engine.arena.max_concurrency(),
                            .algorithms = skyline_algorithm(engine, query, table)};
    return measured_need(query, table, search, run_within).value_or(expected);
  } catch (const kernels::Cancelled&) {  // the refusal came before the stop
  } catch (const std::exception&) {      // no run is there to report errors of samples
  }
  return expected;
}

std::string over_limit(const EngineState& engine, const Query& query, const Table& table, const RunOptions& run,
                       Limits& limits, const kernels::OverLimit& over, std::size_t before) {
  const auto in_use = static_cast<double>(std::min(before, over.used));
  const double reached = static_cast<double>(over.used + over.asked) - in_use;
  const double needed = memory_measured(engine, query, table, run, limits, reached);
  std::string text = "the query needs about " + words_of_bytes(std::max(needed, reached)) +
                     " beside its table, and the engine's limit of memory is " +
                     words_of_bytes(static_cast<double>(over.limit));
  if (in_use > 0) text += ", of which other queries and what is kept for later ones had " + words_of_bytes(in_use);
  return text;
}

/// Names the algorithms of a plan for `room` bytes, as far as they can be told before it runs. Throws planner::NoPath.
std::string paths_for(const EngineState& engine, const Query& query, const Table& table, const RunOptions& run,
                      double room) {
  PhysicalPlan planned = engine.plan(query, table, run, room);
  choose_paths(planned);
  std::string names = std::to_string(static_cast<int>(planned.strategy));
  for (const Operator* op : pipeline(planned)) names += op->path ? " " + op->path->algorithm : " -";
  return names;
}

/// Answers a query, by paths for ever less memory where those for more were refused: the planner's predictions are no
/// promises, and a query must not fail within a limit because it would have been planned otherwise within a lower one.
Result answer_by_any_path(const EngineState& engine, const Query& query, const Table& table, const RunOptions& run,
                          Limits& limits) {
  try {
    return answer(engine, query, table, run, limits);
  } catch (const kernels::OverLimit&) {
    constexpr double kLowest = 1 << 10;
    std::string tried = paths_for(engine, query, table, run, kAllMemory);
    for (double room = static_cast<double>(engine.memory->limit()) / 2; room > kLowest; room /= 2) {
      try {
        std::string paths = paths_for(engine, query, table, run, room);
        if (paths == tried) continue;
        tried = std::move(paths);
        return answer(engine, query, table, run, limits, room);
      } catch (const planner::NoPath&) {
        break;
      } catch (const kernels::OverLimit&) {
      }
    }
    throw;
  }
}

}  // namespace

std::string words_of_bytes(double bytes) {
  const bool small = bytes < 1e6;
  return format_number(std::ceil(bytes / (small ? 1e2 : 1e5)) / 10) + (small ? " kB" : " MB");
}

Result answer_within_limit(const EngineState& engine, const Query& query, const Table& table, const RunOptions& run,
                           Limits& limits) {
  const std::size_t before = engine.memory->used();
  try {
    const kernels::AccountScope counted(engine.memory.get());
    try {
      return answer_by_any_path(engine, query, table, run, limits);
    } catch (const kernels::cuda::OutOfMemory&) {  // of the GPU, where kept keys must not stand in a query's way
      if (engine.device_key_cache.bytes() == 0) throw;
      engine.device_key_cache.drop_all();
    }
    return answer_by_any_path(engine, query, table, run, limits);
  } catch (const kernels::OverLimit& over) {
    throw ResourceError(over_limit(engine, query, table, run, limits, over, before), query.location());
  } catch (const std::bad_alloc&) {
    throw ResourceError("out of memory while answering the query, which is expected to need about " +
                            words_of_bytes(memory_needed(engine, query, table)) + " beside its table",
                        query.location());
  }
}

}  // namespace skyrank::exec
