#include "engine/executor/executor.hpp"

#include <optional>
#include <string>
#include <utility>

#include "engine/operators/filter/filter_stage.hpp"
#include "engine/operators/gather/gather_stage.hpp"
#include "engine/operators/group/group_stage.hpp"
#include "engine/operators/measure/measure_stage.hpp"
#include "engine/operators/missing/missing_stage.hpp"
#include "engine/operators/partition/partition_stage.hpp"
#include "engine/operators/pick/pick_stage.hpp"
#include "engine/operators/rank/fused_stage.hpp"
#include "engine/operators/rank/partitions_stage.hpp"
#include "engine/operators/rank/rank_stage.hpp"
#include "engine/operators/rank/scan_stage.hpp"
#include "engine/operators/skyline/prefix_stage.hpp"
#include "engine/operators/skyline/skyline_stage.hpp"
#include "engine/plan/tree.hpp"
#include "engine/runtime/query_memory.hpp"
#include "engine/runtime/stopwatch.hpp"
#include "engine/runtime/table_sample_cache.hpp"
#include "engine/stop.hpp"
#include "kernels/common/transfers.hpp"

namespace skyrank::exec {

namespace {

/// Connects the query with the cache: it uses keys of earlier queries, and adds its own.
void share_keys(Execution& execution, const Table& input, KeyCache& shared) {
  const PhysicalPlan& plan = execution.plan;
  if (!plan.operators.skyline_keys && !plan.operators.rank_keys) return;
  RuleLog& rules = execution.record.rules;
  if (!rules.rules().has(Rule::shared_keys)) return;
  if (shared.max_bytes() == 0 || KeptAccess::samples(input) == nullptr) {
    return rules.left_out(Rule::shared_keys, "the engine was told to keep none");
  }
  if (plan.operators.group || plan.operators.missing) {
    return rules.left_out(Rule::shared_keys, "the rows are not those of a condition alone");
  }
  const bool filtered = plan.operators.filter && !plan.operators.filter_last;
  const std::string rows = filtered ? execution.query().condition->text : "";
  execution.share = KeyShare(shared, {KeptAccess::samples(input)->table(), rows});
}

Result run_stages(Execution& execution, const Table& input) {
  RowSet rows = filter_rows(execution, input);
  const SourceTable source = group_rows(execution, input, rows);
  rows = filter_groups(execution, source, std::move(rows));
  rows = apply_missing_rules(execution, source, std::move(rows));
  if (auto positions = rank_partitions_on_device(execution, source, rows)) {
    const std::int64_t n = rows.size();
    return gather(execution, source, {std::move(rows), one_segment(n)}, std::move(positions));
  }
  PartitionedRows partitioned = rank_partitions(execution, source, rows);
  if (partitioned.ranked) {
    const std::int64_t n = rows.size();
    return gather(execution, source, {std::move(rows), one_segment(n)}, std::move(partitioned.ranked));
  }
  Segments segments = partition_rows(execution, source, rows, std::move(partitioned.split));
  Candidates all{RowSet::all(0), {}};
  if (execution.query().counts_dominated_rows()) all = Candidates{rows, segments};
  ChosenFrom from;
  Candidates kept =
      prefer(execution, source, std::move(rows), std::move(segments), execution.context, &execution.share, &from);
  Candidates candidates = measure(execution, source, from, filter_last(execution, source, std::move(kept)));
  if (execution.plan.operators.pick) candidates = pick(execution, source, candidates, all);
  return gather(execution, source, candidates, rank(execution, source, candidates));
}

/// Returns nothing where the guess behind a strategy turns out wrong.
std::optional<Result> run(Execution& execution, const Table& input, Strategy strategy) {
  switch (strategy) {
    case Strategy::fused_ranking: return rank_fused(execution, input);
    case Strategy::device_scan: return rank_scanned(execution, input);
    case Strategy::skyline_prefix: return rank_skyline_prefix(execution, input);
    case Strategy::stages: break;
  }
  return run_stages(execution, input);
}

/// Answers the query by its plan's strategy, or by the fallback if the strategy's guess turns out wrong.
Result execute(Execution& execution, const Table& input) {
  const PhysicalPlan& plan = execution.plan;
  std::optional<Result> result = run(execution, input, plan.strategy);
  if (!result) {
    execution.record.fell_back = true;
    result = run(execution, input, plan.fallback.value());
  }
  return std::move(*result);
}

/// Records how many columns and keys earlier queries had left.
void note_sharing(Execution& execution) {
  const std::string where = execution.device_state ? " on the GPU" : "";
  if (const auto& device_state = execution.device_state; device_state && device_state->shares()) {
    execution.record.rules.applied(Rule::device_columns, std::to_string(device_state->columns_found()) + " of " +
                                                             std::to_string(device_state->columns()) +
                                                             " were there from earlier queries");
  }
  const KeyShare& share = execution.share;
  if (!share.is_on()) return;
  const std::string all = std::to_string(share.found() + share.made());
  if (share.found() > 0) {
    execution.record.rules.applied(
        Rule::shared_keys, std::to_string(share.found()) + " of " + all + " were there from earlier queries" + where);
  } else if (share.made() > 0) {
    execution.record.rules.applied(Rule::shared_keys, all + " made and kept for later queries" + where);
  }
}

}  // namespace

std::optional<Result> answer_by(const QueryContext& context, const query::BoundQuery& query, const Table& table,
                                double room, const std::function<std::optional<Result>(Execution&)>& run) {
  context.limits.enter("planning");
  check(context.stop());
  const QueryMemory columns;
  kernels::TransferTally tally;
  const kernels::TallyScope tallied(&tally);
  Stopwatch total;
  Execution execution(plan_whole(context, query, table, room), context.count_work, context.stop());
  execution.context.observer = context.observer;
  execution.enter = [&](const char* phase) { context.limits.enter(phase); };
  execution.timing.bind_ms = total.lap();
  std::optional<Result> result = run(execution);
  if (!result) return std::nullopt;
  result->plan = tree(execution.plan, execution.record);
  result->work = execution.work;
  result->transferred = {tally.bytes().to_device, tally.bytes().from_device};
  result->timing = execution.timing;
  result->timing.total_ms = execution.timing.bind_ms + total.lap();
  return result;
}

Result answer(const QueryContext& context, const query::BoundQuery& query, const Table& table, double room) {
  const auto run = [&](Execution& execution) -> std::optional<Result> {
    if (execution.plan.on_device) execution.device_state.emplace(execution.plan.sharing_queries > 0);
    share_keys(execution, table, execution.device_state ? context.engine.device_key_cache : context.engine.key_cache);
    Result result = execute(execution, table);
    note_sharing(execution);
    return result;
  };
  return answer_by(context, query, table, room, run).value();
}

}  // namespace skyrank::exec
