#include "engine/parts/gpus/by_gpus.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <skyrank/error.hpp>

#include "engine/device/resident.hpp"
#include "engine/executor/limits.hpp"
#include "engine/executor/run_whole.hpp"
#include "engine/parts/gpus/lane_threads.hpp"
#include "engine/parts/gpus/prefetch.hpp"
#include "engine/parts/gpus/side_merge.hpp"
#include "engine/parts/gpus/team.hpp"
#include "engine/parts/gpus/turns.hpp"
#include "engine/parts/states/candidates.hpp"
#include "engine/parts/states/query_state.hpp"
#include "engine/row_error.hpp"
#include "engine/runtime/side_by_side.hpp"
#include "engine/runtime/stopwatch.hpp"

namespace skyrank::exec {
namespace {

using kernels::cuda::DeviceScope;
using kernels::cuda::SelectedDevice;
using query::BoundQuery;

/// Says of parts that their GPUs are a team.
constexpr const char* kTogether = ", compared by all together";

/// The query for a part, which runs on its GPU.
BoundQuery query_of_part(const BoundQuery& query, bool stays) {
  BoundQuery part = query;
  part.path.device = DeviceChoice::cuda;
  // Keys of rows that are there for one turn serve no later query.
  if (!stays) part.path.without.emplace_back("shared-keys");
  return part;
}

/// The path on the CPU.
ForcedPath path_on_host(const BoundQuery& query) {
  ForcedPath path = query.path;
  path.device = DeviceChoice::cpu;
  path.algorithms.clear();
  path.parameters.clear();
  return path;
}

/// The query for the CPU.
BoundQuery query_on_host(const BoundQuery& query) {
  BoundQuery host = query;
  host.path = path_on_host(query);
  return host;
}

Timing& operator+=(Timing& sum, const Timing& more) {
  sum.bind_ms += more.bind_ms;
  sum.filter_ms += more.filter_ms;
  sum.keys_ms += more.keys_ms;
  sum.transfer_ms += more.transfer_ms;
  sum.compute_ms += more.compute_ms;
  sum.gather_ms += more.gather_ms;
  return sum;
}

/// Describes the parts of a table; `count` is their number.
PlanNode node_of_parts(const EngineState& state, const Table& table, const GpuParts& parts, std::size_t count) {
  PlanNode node;
  node.op = "parts";
  node.device = "cuda";
  const std::vector<int>& gpus = parts.shares ? parts.shares->devices : state.gpus;
  std::string on = gpus.size() == 1 ? " on GPU " : " on GPUs ";
  for (std::size_t i = 0; i < gpus.size(); ++i) on += (i == 0 ? "" : ", ") + std::to_string(gpus[i]);
  node.detail = std::to_string(count) + (count == 1 ? " part of " : " parts of ") + std::to_string(table.num_rows()) +
                " rows" + on;
  if (!parts.shares) node.detail += ", one copied while another is computed";
  node.reason = parts.reason;
  return node;
}

/// Says among the rules of a plan why the table is answered in parts.
void note_parts(PlanNode& tree, const std::string& reason) {
  for (RuleOutcome& rule : tree.rules) {
    if (rule.rule == name_of(Rule::device_parts)) rule = {rule.rule, true, reason};
  }
}

/// A query over the parts of a table, from the first part to the answer.
class GpusRun {
 public:
  GpusRun(const EngineState& state, const BoundQuery& query, const Table& table, const RunOptions& options,
          const GpuParts& parts)
      : state_(state),
        query_(query),
        table_(table),
        parts_(parts),
        reason_(parts.reason),
        limits_(query, options, state.timer),
        options_{.count_work = options.count_work, .stop = limits_.stop(), .later_queries = options.later_queries},
        part_steps_{.engine = state,
                    .query = query_of_part(query, parts.shares.has_value()),
                    .options = options_,
                    .run = run_whole,
                    .record = &record_},
        // Few rows are merged by the CPU, before a GPU could begin.
        steps_{.engine = state,
               .query = query,
               .options = options_,
               .run = run_whole,
               .path_of_few_rows = path_on_host(query)},
        columns_(columns_of_keys(query)),
        turns_(table.num_rows(), parts.rows_at_a_time),
        // GPUs that have a part each end with it, so all parts are merged at the end.
        seen_(steps_, parts.shares ? Doubling::never() : Doubling()),
        merge_(seen_, gpu_of(0)) {}

  Result run() {
    return guarded(limits_, [&] {
      try {
        return answer();
      } catch (const CancelledError&) {  // of a part
        throw kernels::Cancelled{};
      } catch (const RowFailure&) {
        // Over the whole table, the message names the row that fails first, or there is no error.
        return run_whole(state_, query_on_host(query_), table_, options_);
      }
    });
  }

 private:
  /// The record of one GPU.
  struct Lane {
    Timing timing;
    Work work;
    Transferred transferred;
  };

  Result answer() {
    Stopwatch total;
    if (parts_.as_team) {
      if (auto together = answer_together()) {
        together->timing.total_ms = total.lap();
        return std::move(*together);
      }
    }
    limits_.phase = "answering parts of the table on GPUs";
    Stopwatch watch;
    run_lanes();
    failure_.rethrow();
    merge_.finish();
    const double parts_ms = watch.lap();
    limits_.phase = "merging the answers of parts";
    Result result = merged();
    finish(result, parts_ms);
    result.timing.total_ms = total.lap();
    return result;
  }

  /// The answer of all GPUs as a team; nothing where they cannot find it.
  std::optional<Result> answer_together() {
    TeamAnswer team = answer_as_team(state_, query_on_host(query_), table_, options_, *parts_.shares, limits_);
    if (!team.result) {
      reason_ += "; not as a team: " + team.why_not;
      return std::nullopt;
    }
    PlanNode node = node_of_parts(state_, table_, parts_, parts_.shares->tables.size());
    node.detail += kTogether;
    node.measured_rows = team.compared;
    node.measured_ms = team.ms;
    node.transferred = team.result->transferred;
    attach_parts(team.result->plan, std::move(node));
    note_parts(team.result->plan, reason_);
    return std::move(team.result);
  }

  /// One thread for each GPU, the caller's among them, as far as the system has them.
  void run_lanes() {
    const std::size_t count = parts_.shares ? parts_.shares->tables.size() : state_.gpus.size();
    lanes_.resize(count);
    std::atomic<std::size_t> next = 0;
    LaneThreads::of_process().run(count, [&] {
      for (std::size_t lane = next++; lane < count; lane = next++) run_lane(lane);
    });
  }

  SelectedDevice gpu_of(std::size_t lane) const {
    SelectedDevice device = state_.gpu(std::min(lane, state_.gpus.size() - 1));
    if (parts_.shares) device.ordinal = parts_.shares->devices[lane];
    device.may_fail = true;
    return device;
  }

  void run_lane(std::size_t lane) {
    const SelectedDevice device = gpu_of(lane);
    const DeviceScope on_device(device);
    try {
      if (parts_.shares) {
        answer_share(lane);
      } else {
        take_turns(lane, device);
      }
    } catch (...) {
      turns_.end();
      const std::lock_guard lock(mutex_);
      failure_.keep(lane);
    }
  }

  /// Answers the rows that the GPU has; where they do not fit beside their keys, in smaller parts.
  void answer_share(std::size_t lane) {
    RowId begin = 0;
    for (std::size_t i = 0; i < lane; ++i) begin += parts_.shares->tables[i].num_rows();
    const Table& share = parts_.shares->tables[lane];
    if (share.num_rows() == 0) return;
    if (share.num_rows() <= kRowAlignment) return merge_.combine(answer_part(lane, share, begin));
    if (auto partial = answer_if_it_fits(lane, share, begin)) return merge_.combine(std::move(*partial));
    Turns smaller(share.num_rows(), (share.num_rows() / 2 + kRowAlignment - 1) / kRowAlignment * kRowAlignment);
    while (const auto rows = smaller.next()) {
      const Table part = turn_part(share, *rows).table;
      if (auto partial = answer_if_it_fits(lane, part, begin + rows->begin)) {
        merge_.combine(std::move(*partial));
      } else if (!smaller.take_back(*rows)) {
        merge_.combine(answer_part(lane, part, begin + rows->begin));
      }
    }
  }

  std::optional<TurnPart> next_part() {
    const auto rows = turns_.next();
    if (!rows) return std::nullopt;
    return turn_part(table_, *rows);
  }

  /// Takes part after part: one is computed while the next one is copied.
  void take_turns(std::size_t lane, const SelectedDevice& device) {
    std::optional<TurnPart> part = next_part();
    while (part) {
      std::optional<TurnPart> next = next_part();
      if (!try_part(lane, *part, next, device)) {
        // Without the memory of the next one.
        if (next) turns_.give_back(next->rows);
        next.reset();
        if (!try_part(lane, *part, next, device) && !turns_.take_back(part->rows))
          merge_.combine(answer_part(lane, part->table, part->rows.begin));
        part.reset();
        next = next_part();
      }
      part = std::move(next);
    }
  }

  /// Returns false where the memory of the GPU does not suffice.
  bool try_part(std::size_t lane, const TurnPart& part, const std::optional<TurnPart>& next,
                const SelectedDevice& device) {
    std::optional<Prefetch> ahead;
    if (next) ahead.emplace(*next, columns_, device, tally_, options_.stop);
    auto partial = answer_if_it_fits(lane, part.table, part.rows.begin);
    if (!partial) return false;
    merge_.combine(std::move(*partial));
    return true;
  }

  /// Answers a part; nothing where the memory of the GPU does not suffice.
  std::optional<Partial> answer_if_it_fits(std::size_t lane, const Table& part, RowId first_row) {
    try {
      return answer_part(lane, part, first_row);
    } catch (const GpuMemoryError&) {
      return std::nullopt;
    }
  }

  Partial answer_part(std::size_t lane, const Table& part, RowId first_row) {
    std::vector<Result> runs;
    Partial partial = partial_of(part_steps_, part, first_row, &runs);
    Lane& done = lanes_[lane];
    for (Result& run : runs) {
      done.timing += run.timing;
      done.work += run.work;
      done.transferred.to_device += run.transferred.to_device;
      done.transferred.from_device += run.transferred.from_device;
    }
    return partial;
  }

  Result merged() {
    const DeviceScope on_device(gpu_of(0));
    return seen_.finalize();
  }

  /// Adds to an answer what the parts of it took and did.
  void finish(Result& result, double parts_ms) const {
    const auto slowest = std::ranges::max_element(lanes_, {}, [](const Lane& lane) {
      return lane.timing.compute_ms + lane.timing.keys_ms + lane.timing.transfer_ms;
    });
    result.timing += slowest->timing;
    PlanNode node = parts_node();
    node.measured_rows = static_cast<std::int64_t>(seen_.num_rows());
    node.measured_ms = parts_ms;
    Transferred all{tally_.bytes().to_device, tally_.bytes().from_device};
    for (const Lane& lane : lanes_) {
      result.work += lane.work;
      all.to_device += lane.transferred.to_device;
      all.from_device += lane.transferred.from_device;
    }
    node.transferred = all;
    result.transferred.to_device += all.to_device;
    result.transferred.from_device += all.from_device;
    attach_parts(result.plan, std::move(node));
    note_parts(result.plan, reason_);
  }

  PlanNode parts_node() const {
    PlanNode node = node_of_parts(state_, table_, parts_, record_.count());
    PlanNode recorded = record_.node("");
    node.children = std::move(recorded.children);
    node.statistics = std::move(recorded.statistics);
    node.reason = reason_;
    return node;
  }

  const EngineState& state_;
  const BoundQuery& query_;
  const Table& table_;
  const GpuParts& parts_;
  std::string reason_;  // of the parts, and what came of the plan
  Limits limits_;
  const RunOptions options_;  // of each part: the limit of time is in its stop token
  PartsRecord record_;
  const StateSteps part_steps_;
  const StateSteps steps_;
  const std::vector<int> columns_;  // that go to a GPU
  Turns turns_;
  std::vector<Lane> lanes_;
  kernels::TransferTally tally_;  // of columns that were copied ahead

  std::mutex mutex_;
  FirstFailure failure_;
  QueryState seen_;
  SideMerge merge_;
};

/// Describes the plan of the same, without running it.
PlanNode explain_by_gpus(const EngineState& state, const BoundQuery& query, const Table& table,
                         const RunOptions& options, const GpuParts& parts) {
  SelectedDevice device = state.gpu(0);
  if (parts.shares) device.ordinal = parts.shares->devices.front();
  device.may_fail = true;
  const DeviceScope on_device(device);
  const std::int64_t rows = std::min(parts.rows_at_a_time, table.num_rows());
  const Table first = parts.shares ? parts.shares->tables.front() : turn_part(table, {0, rows}).table;
  const BoundQuery part = candidates_query(query_of_part(query, parts.shares.has_value()), first.num_rows());
  const std::size_t count =
      parts.shares ? parts.shares->tables.size() : static_cast<std::size_t>((table.num_rows() + rows - 1) / rows);
  PlanNode node = node_of_parts(state, table, parts, count);
  if (parts.as_team) node.detail += kTogether;
  node.children.push_back(plan_of_part(query, first, explain_whole(state, part, first, options)));
  PlanNode tree = plan_of_merge(
      parts.as_team ? "of the rows that no GPU finds dominated" : "of the rows that the parts leave", std::move(node));
  note_parts(tree, parts.reason);
  return tree;
}

}  // namespace

Result run_in_parts(const EngineState& state, const BoundQuery& query, const Table& table, const RunOptions& options,
                    const GpuParts& parts) {
  return GpusRun(state, query, table, options, parts).run();
}

Result run_table(const EngineState& state, const BoundQuery& query, const Table& table, const RunOptions& options) {
  if (const auto parts = plan_gpu_parts(state, query, table, options)) {
    return run_in_parts(state, query, table, options, *parts);
  }
  try {
    return run_whole(state, query, table, options);
  } catch (const GpuMemoryError&) {
    const auto parts = smaller_parts(state, query, table);
    if (!parts) throw;
    return run_in_parts(state, query, table, options, *parts);
  }
}

PlanNode explain_table(const EngineState& state, const BoundQuery& query, const Table& table,
                       const RunOptions& options) {
  if (const auto parts = plan_gpu_parts(state, query, table, options)) {
    return explain_by_gpus(state, query, table, options, *parts);
  }
  return explain_whole(state, query, table, options);
}

}  // namespace skyrank::exec
