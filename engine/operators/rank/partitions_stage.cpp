#include "engine/operators/rank/partitions_stage.hpp"

#include <string>
#include <utility>
#include <vector>

#include "engine/operators/group/slots/classes.hpp"
#include "engine/operators/partition/device_partitions.hpp"
#include "engine/operators/partition/partition.hpp"
#include "engine/operators/partition/partition_stage.hpp"
#include "engine/operators/rank/partition_top_k.hpp"
#include "engine/operators/rank/rank.hpp"
#include "engine/operators/rank/rank_plan.hpp"
#include "engine/operators/rank/rank_stage.hpp"
#include "engine/operators/try_on_device.hpp"

namespace skyrank::exec {

PartitionedRows rank_partitions(Execution& execution, const SourceTable& source, const RowSet& rows) {
  if (!execution.plan.partition_top_k) return {};
  const query::BoundQuery& query = execution.query();
  const Operators& operators = execution.plan.operators;
  const Window window = window_of(query);
  const Rows view = rows.view();
  const RowSlots slots =
      execution.timed(*operators.partition, [&] { return number_partitions(execution, source, view); });
  if (!keeps_best_in_memory(window, slots.count(), rows.size())) {
    execution.record.rules.left_out(Rule::partition_top_k, "there are too many partitions for the rows");
    return {.split = execution.timed(*operators.partition, [&] { return segments_of(classify(slots)); })};
  }
  const std::vector<Keys> keys = execution.timed(*operators.rank_keys, [&] {
    return make_rank_keys(query.ranking, source.table, rows, packs_ranking(execution.plan), nullptr, &execution.share);
  });
  if (keys.size() > 1) {
    execution.record.rules.left_out(Rule::partition_top_k, "the ranking needs several keys");
    return {};
  }
  PartitionAnswer answer =
      execution.timed(*operators.order, [&] { return best_of_partitions(slots, keys.front().column, window); });
  execution.record.of(*operators.partition).rows = rows.size();
  execution.record.of(*operators.partition).partitions = answer.partitions;
  execution.record.of(*operators.rank_keys).rows = rows.size();
  Report report;
  report.rows = static_cast<std::int64_t>(answer.positions.size());
  report.work.bytes_read =
      static_cast<std::uint64_t>(rows.size()) * static_cast<std::uint64_t>(keys.front().column.width);
  execution.book(*operators.order, report);
  return {.ranked = std::move(answer.positions)};
}

namespace {

/// Partitions that the device made, and the keys of their rows, segment by segment.
struct RankedRows {
  DevicePartitions partitions;
  std::vector<Keys> keys;
};

std::vector<Keys> keys_of_ranking(Execution& execution, const Table& table, const RowSet& rows, KeyShare* share) {
  const Operator& op = *execution.plan.operators.rank_keys;
  execution.record.of(op).rows = rows.size();
  return execution.timed(op, [&] {
    return make_rank_keys(execution.query().ranking, table, rows, packs_ranking(execution.plan), execution.device(),
                          share);
  });
}

/// Partitions only the rows that can be among the best. Returns nothing where the stored columns cannot be searched for
/// these rows.
std::optional<RankedRows> partition_best(Execution& execution, const Table& table, const RowSet& rows) {
  const query::BoundQuery& query = execution.query();
  const std::int64_t wanted = window_of(query).end(rows.size());
  if (!rows.is_all() || wanted == 0) return std::nullopt;
  const auto find = [&]() -> std::optional<DevicePartitions> {
    try {
      return DevicePartitions::of_best(*execution.device(), table, query.partition_columns, query.ranking, wanted);
    } catch (const kernels::cuda::OutOfMemory&) {
      return std::nullopt;  // partition_all needs less memory, or reports the lack
    }
  };
  auto partitions = execution.timed(*execution.plan.operators.partition, find);
  if (!partitions) return std::nullopt;
  auto keys = keys_of_ranking(execution, table, partitions->row_set(), nullptr);
  return RankedRows{std::move(*partitions), std::move(keys)};
}

/// Makes keys of all rows, and partitions the rows, or only those that can be among the best by their keys.
std::optional<RankedRows> partition_all(Execution& execution, const Table& table, const RowSet& rows) {
  const std::vector<int>& columns = execution.query().partition_columns;
  const std::vector<Keys> keys = keys_of_ranking(execution, table, rows, &execution.share);
  std::optional<BestRows> best;
  const std::int64_t wanted = window_of(execution.query()).end(rows.size());
  if (keys.size() == 1 && wanted > 0) best = {keys.front().column, static_cast<std::size_t>(wanted)};
  std::vector<Keys> ordered;
  const auto make = [&] {
    auto made = DevicePartitions::of(*execution.device(), table, columns, rows, best);
    if (made) ordered = made->in_order(keys);
    return made;
  };
  auto partitions = execution.timed(*execution.plan.operators.partition, [&] {
    return try_on_device(execution, table, columns, Rule::device_partitions, make);
  });
  if (!partitions) return std::nullopt;
  return RankedRows{std::move(*partitions), std::move(ordered)};
}

}  // namespace

std::optional<Vector<std::int64_t>> rank_partitions_on_device(Execution& execution, const SourceTable& source,
                                                              const RowSet& rows) {
  if (!execution.plan.device_partitions) return std::nullopt;
  auto made = partition_best(execution, source.table, rows);
  if (!made) made = partition_all(execution, source.table, rows);
  if (!made) return std::nullopt;
  OperatorMetrics& metrics = execution.record.of(*execution.plan.operators.partition);
  metrics.rows = rows.size();
  metrics.partitions = made->partitions.count();
  metrics.note = kSortedOnDevice;
  if (made->partitions.sorted() < rows.size()) {
    metrics.note += ": " + std::to_string(made->partitions.sorted()) + " rows that can be among the best";
  }
  return rank_segments(execution, made->keys, made->partitions.segments(), &made->partitions);
}

}  // namespace skyrank::exec
