#include "engine/parts/gpus/by_gpus.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/device/resident.hpp"
#include "engine/executor/run_whole.hpp"
#include "engine/parts/gpus/lane_threads.hpp"
#include "engine/parts/gpus/plan_table.hpp"
#include "engine/parts/gpus/prefetch.hpp"
#include "engine/parts/gpus/side_merge.hpp"
#include "engine/parts/gpus/team.hpp"
#include "engine/parts/gpus/turns.hpp"
#include "engine/parts/states/candidates.hpp"
#include "engine/parts/states/query_state.hpp"
#include "engine/runtime/side_by_side.hpp"
#include "engine/runtime/stopwatch.hpp"

namespace skyrank::exec {
namespace {

using kernels::cuda::DeviceScope;
using kernels::cuda::SelectedDevice;
using query::BoundQuery;

/// The query for a part, which runs on its GPU.
BoundQuery query_of_part(const BoundQuery& query, bool stays) {
  BoundQuery part = query;
  part.path.device = DeviceChoice::cuda;
  // Keys of rows that are there for one turn serve no later query.
  if (!stays) part.path.without.emplace_back("shared-keys");
  return part;
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
PlanNode node_of_parts(const EngineState& engine, const QueryPlan& plan, const Table& table, std::size_t count) {
  PlanNode node;
  node.op = "parts";
  node.device = "cuda";
  const std::vector<int>& gpus = plan.division == Division::turns ? engine.gpus : plan.parts.devices;
  std::string on = gpus.size() == 1 ? " on GPU " : " on GPUs ";
  for (std::size_t i = 0; i < gpus.size(); ++i) on += (i == 0 ? "" : ", ") + std::to_string(gpus[i]);
  node.detail = std::to_string(count) + (count == 1 ? " part of " : " parts of ") + std::to_string(table.num_rows()) +
                " rows" + on;
  if (plan.division == Division::turns) node.detail += ", one copied while another is computed";
  if (plan.division == Division::team) node.detail += ", compared by all together";
  node.reason = plan.reason;
  if (plan.division == Division::team) node.fallback = words_of(plan.otherwise);
  return node;
}

/// Says how the rows came about that parts leave.
TableOrigin origin_of(const QueryPlan& plan, PlanNode parts) {
  return origin_of_parts(std::move(parts), {{std::string(name_of(Rule::device_parts)), true, plan.reason}},
                         plan.rules.decisions());
}

SelectedDevice gpu_of(const EngineState& engine, const QueryPlan& plan, std::size_t lane) {
  SelectedDevice device = engine.gpu(std::min(lane, engine.gpus.size() - 1));
  if (plan.division != Division::turns) device.ordinal = plan.parts.devices[lane];
  device.may_fail = true;
  return device;
}

/// A query over the parts of a table, from the first part to the answer.
class GpuParts {
 public:
  GpuParts(const QueryContext& context, const QueryPlan& plan, const Table& table)
      : context_(context),
        plan_(plan),
        table_(table),
        columns_(columns_of_keys(plan.query)),
        turns_(table.num_rows(), plan.rows_at_a_time),
        // Few rows are merged by the CPU, before a GPU could begin.
        steps_{.context = context.on(gpu_of(context.engine, plan, 0)),
               .query = plan.query,
               .run = run_whole,
               .path_of_few_rows = query_on_host(plan.query).path},
        // GPUs that have a part each end with it, so all parts are merged at the end.
        seen_(steps_, has_shares() ? Doubling::never() : Doubling()),
        merge_(seen_, steps_.context.gpu) {
    const std::size_t count = has_shares() ? plan.parts.tables.size() : context.engine.gpus.size();
    const BoundQuery of_part = query_of_part(plan.query, has_shares());
    for (std::size_t lane = 0; lane < count; ++lane) {
      lanes_.push_back({.steps = {.context = context.on(gpu_of(context.engine, plan, lane)),
                                  .query = of_part,
                                  .run = run_whole,
                                  .record = &record_}});
    }
  }

  Result answer() {
    context_.limits.enter("answering parts of the table on GPUs");
    Stopwatch total;
    Stopwatch watch;
    run_lanes();
    failure_.rethrow();
    merge_.finish();
    const double parts_ms = watch.lap();
    context_.limits.enter("merging the answers of parts");
    Result result = merged(parts_ms);
    result.timing.total_ms = total.lap();
    return result;
  }

 private:
  /// The steps and the record of one GPU.
  struct Lane {
    StateSteps steps;
    Timing timing = {};
    Work work = {};
    Transferred transferred = {};
  };

  bool has_shares() const { return plan_.division != Division::turns; }

  /// One thread for each GPU, the caller's among them, as far as the system has them.
  void run_lanes() {
    std::atomic<std::size_t> next = 0;
    LaneThreads::of_process().run(lanes_.size(), [&] {
      for (std::size_t lane = next++; lane < lanes_.size(); lane = next++) run_lane(lane);
    });
  }

  void run_lane(std::size_t lane) {
    const DeviceScope on_device(lanes_[lane].steps.context.gpu);
    try {
      if (has_shares()) {
        answer_share(lane);
      } else {
        take_turns(lane);
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
    for (std::size_t i = 0; i < lane; ++i) begin += plan_.parts.tables[i].num_rows();
    const Table& share = plan_.parts.tables[lane];
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
  void take_turns(std::size_t lane) {
    std::optional<TurnPart> part = next_part();
    while (part) {
      std::optional<TurnPart> next = next_part();
      if (!try_part(lane, *part, next)) {
        // Without the memory of the next one.
        if (next) turns_.give_back(next->rows);
        next.reset();
        if (!try_part(lane, *part, next) && !turns_.take_back(part->rows))
          merge_.combine(answer_part(lane, part->table, part->rows.begin));
        part.reset();
        next = next_part();
      }
      part = std::move(next);
    }
  }

  /// Returns false where the memory of the GPU does not suffice.
  bool try_part(std::size_t lane, const TurnPart& part, const std::optional<TurnPart>& next) {
    std::optional<Prefetch> ahead;
    if (next) ahead.emplace(*next, columns_, lanes_[lane].steps.context.gpu, tally_, context_.stop());
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
    Lane& done = lanes_[lane];
    Partial partial = partial_of(done.steps, part, first_row, &runs);
    for (Result& run : runs) {
      done.timing += run.timing;
      done.work += run.work;
      done.transferred.to_device += run.transferred.to_device;
      done.transferred.from_device += run.transferred.from_device;
    }
    return partial;
  }

  /// Merges the parts, and adds what they took and did.
  Result merged(double parts_ms) {
    Transferred all{tally_.bytes().to_device, tally_.bytes().from_device};
    for (const Lane& lane : lanes_) {
      all.to_device += lane.transferred.to_device;
      all.from_device += lane.transferred.from_device;
    }
    const DeviceScope on_device(steps_.context.gpu);
    Result result = seen_.finalize(std::make_shared<const TableOrigin>(origin_of(plan_, parts_node(parts_ms, all))));
    const auto slowest = std::ranges::max_element(lanes_, {}, [](const Lane& lane) {
      return lane.timing.compute_ms + lane.timing.keys_ms + lane.timing.transfer_ms;
    });
    result.timing += slowest->timing;
    for (const Lane& lane : lanes_) result.work += lane.work;
    result.transferred.to_device += all.to_device;
    result.transferred.from_device += all.from_device;
    return result;
  }

  PlanNode parts_node(double parts_ms, const Transferred& transferred) const {
    PlanNode node = node_of_parts(context_.engine, plan_, table_, record_.count());
    PlanNode recorded = record_.node("");
    node.children = std::move(recorded.children);
    node.statistics = std::move(recorded.statistics);
    node.measured_rows = static_cast<std::int64_t>(seen_.num_rows());
    node.measured_ms = parts_ms;
    node.transferred = transferred;
    return node;
  }

  const QueryContext& context_;
  const QueryPlan& plan_;
  const Table& table_;
  PartsRecord record_;
  const std::vector<int> columns_;  // that go to a GPU
  Turns turns_;
  std::vector<Lane> lanes_;
  kernels::TransferTally tally_;  // of columns that were copied ahead

  std::mutex mutex_;
  FirstFailure failure_;
  const StateSteps steps_;  // of merging
  QueryState seen_;
  SideMerge merge_;
};

/// The answer of all GPUs as a team; nothing where they cannot find it, and `plan` then says why.
std::optional<Result> answer_together(const QueryContext& context, QueryPlan& plan, const Table& table) {
  const auto origin = [&](const TeamRecord& done) {
    PlanNode node = node_of_parts(context.engine, plan, table, plan.parts.tables.size());
    node.measured_rows = done.compared;
    node.measured_ms = done.ms;
    node.transferred = done.transferred;
    return origin_of(plan, std::move(node));
  };
  Stopwatch total;
  TeamAnswer team = answer_as_team(context, query_on_host(plan.query), table, plan.parts, origin);
  if (team.result) {
    team.result->timing.total_ms = total.lap();
  } else {
    plan.reason += "; not as a team: " + team.why_not;
    plan.division = plan.otherwise;
  }
  return std::move(team.result);
}

}  // namespace

Result answer_by_gpus(const QueryContext& context, const QueryPlan& plan, const Table& table) {
  return guarded(context.limits, [&] {
    QueryPlan ran = plan;
    if (plan.division == Division::team) {
      if (auto result = answer_together(context, ran, table)) return *std::move(result);
    }
    return GpuParts(context, ran, table).answer();
  });
}

PlanNode plan_of_gpus(const QueryContext& context, const QueryPlan& plan, const Table& table) {
  const QueryContext of_first = context.on(gpu_of(context.engine, plan, 0));
  const DeviceScope on_device(of_first.gpu);
  const bool has_shares = plan.division != Division::turns;
  const std::int64_t rows = std::min(plan.rows_at_a_time, table.num_rows());
  const Table first = has_shares ? plan.parts.tables.front() : turn_part(table, {0, rows}).table;
  std::optional<PlanNode> candidates;
  if (!plan.query.group || plan.query.condition) {
    const BoundQuery part = candidates_query(query_of_part(plan.query, has_shares), first.num_rows());
    candidates = explain_whole(of_first, part, first);
  }
  const std::size_t count =
      has_shares ? plan.parts.tables.size() : static_cast<std::size_t>((table.num_rows() + rows - 1) / rows);
  PlanNode node = node_of_parts(context.engine, plan, table, count);
  node.children.push_back(plan_of_part(plan.query, first, std::move(candidates)));
  const char* const left =
      plan.division == Division::team ? "of the rows that no GPU finds dominated" : "of the rows that the parts leave";
  return plan_of_merge(left, origin_of(plan, std::move(node)));
}

}  // namespace skyrank::exec
