#include "engine/executor/memory_limit.hpp"

#include <algorithm>
#include <cmath>
#include <new>
#include <optional>
#include <string>

#include <skyrank/error.hpp>

#include "engine/executor/executor.hpp"
#include "engine/executor/plan_whole.hpp"
#include "engine/plan/rules/make_plan.hpp"
#include "engine/plan/tree.hpp"
#include "engine/runtime/query_memory.hpp"
#include "engine/text.hpp"
#include "kernels/common/memory.hpp"
#include "kernels/cuda/runtime/failure.hpp"
#include "planner/choose.hpp"

namespace skyrank::exec {
namespace {

/// Returns about how many bytes a query takes beside its table, as its plan expects.
double expected_bytes(const QueryContext& context, const query::BoundQuery& query, const Table& table) {
  const kernels::AccountScope uncounted(nullptr);
  const QueryMemory uncounted_columns;
  PhysicalPlan planned = plan_whole(context, query, table);
  choose_paths(planned);
  double bytes = 0;
  for (const Operator* op : pipeline(planned)) bytes += predicted_bytes(*op);
  return bytes;
}

std::string over_limit(const kernels::OverLimit& over, std::size_t before) {
  const auto in_use = static_cast<double>(std::min(before, over.used));
  const double reached = static_cast<double>(over.used + over.asked) - in_use;
  std::string text = "the query needs more than " + words_of_bytes(reached) +
                     " beside its table, and the engine's limit of memory is " +
                     words_of_bytes(static_cast<double>(over.limit));
  if (in_use > 0) text += ", of which other queries and what is kept for later ones had " + words_of_bytes(in_use);
  return text;
}

/// Names the algorithms of a plan for `room` bytes, as far as they can be told before it runs. Throws planner::NoPath.
std::string paths_for(const QueryContext& context, const query::BoundQuery& query, const Table& table, double room) {
  PhysicalPlan planned = plan_whole(context, query, table, room);
  choose_paths(planned);
  std::string names = std::to_string(static_cast<int>(planned.strategy));
  for (const Operator* op : pipeline(planned)) names += op->path ? " " + op->path->algorithm : " -";
  return names;
}

/// Answers a query, by paths for ever less memory where those for more were refused: the planner's predictions are no
/// promises, and a query must not fail within a limit because it would have been planned otherwise within a lower one.
Result answer_by_any_path(const QueryContext& context, const query::BoundQuery& query, const Table& table) {
  try {
    return answer(context, query, table);
  } catch (const kernels::OverLimit& first) {
    kernels::OverLimit refused = first;  // of the most frugal path
    constexpr std::size_t kLowest = 1 << 10;
    std::string tried = paths_for(context, query, table, kAllMemory);
    for (std::size_t bytes = context.engine.memory->limit() / 2; bytes > kLowest; bytes /= 2) {
      const auto room = static_cast<double>(bytes);
      try {
        std::string paths = paths_for(context, query, table, room);
        if (paths == tried) continue;
        tried = std::move(paths);
        return answer(context, query, table, room);
      } catch (const planner::NoPath&) {
        break;
      } catch (const kernels::OverLimit& over) {
        refused = over;
      }
    }
    throw kernels::OverLimit(refused);
  }
}

}  // namespace

std::string words_of_bytes(double bytes) {
  const bool small = bytes < 1e6;
  return format_number(std::ceil(bytes / (small ? 1e2 : 1e5)) / 10) + (small ? " kB" : " MB");
}

Result answer_within_limit(const QueryContext& context, const query::BoundQuery& query, const Table& table) {
  const EngineState& engine = context.engine;
  const std::size_t before = engine.memory->used();
  try {
    const kernels::AccountScope counted(engine.memory.get());
    try {
      return answer_by_any_path(context, query, table);
    } catch (const kernels::cuda::OutOfMemory&) {  // of the GPU, where kept keys must not stand in a query's way
      if (engine.device_key_cache.bytes() == 0) throw;
      engine.device_key_cache.drop_all();
    }
    return answer_by_any_path(context, query, table);
  } catch (const kernels::OverLimit& over) {
    throw ResourceError(over_limit(over, before), query.location);
  } catch (const std::bad_alloc&) {
    throw ResourceError("out of memory while answering the query, which is expected to need about " +
                            words_of_bytes(expected_bytes(context, query, table)) + " beside its table",
                        query.location);
  }
}

}  // namespace skyrank::exec
