#include "engine/executor/stages.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/device/resident.hpp"
#include "engine/operators/device_groups.hpp"
#include "engine/operators/device_partitions.hpp"
#include "engine/operators/filter.hpp"
#include "engine/operators/gather.hpp"
#include "engine/operators/group.hpp"
#include "engine/operators/missing.hpp"
#include "engine/operators/partition_top_k.hpp"
#include "engine/operators/rank.hpp"
#include "engine/plan/paths.hpp"
#include "engine/runtime/device_values.hpp"
#include "engine/runtime/large_pages.hpp"
#include "engine/runtime/query_memory.hpp"
#include "engine/runtime/ranges.hpp"
#include "kernels/cuda/runtime/failure.hpp"

namespace skyrank::exec {

using query::BoundQuery;

std::int64_t largest(const Segments& segments) {
  std::int64_t size = 0;
  for (std::int64_t s = 0; s < segments.count(); ++s) size = std::max(size, segments.size(s));
  return size;
}

RowSet passing(Execution& execution, const query::BoundExpression& condition, const Table& input, const RowSet& all) {
  if (execution.device_state) return filter(*execution.device_state, condition, input, all);
  return RowSet::listed(filter(condition, input, all.view()));
}

RowSet filter_rows(Execution& execution, const Table& input) {
  RowSet all = RowSet::all(input.num_rows());
  execution.record.of(execution.plan.operators.scan).rows = input.num_rows();
  if (!execution.query().condition || execution.plan.operators.filter_last) return all;
  const Operator& op = *execution.plan.operators.filter;
  RowSet rows = timed(execution, execution.timing.filter_ms, op,
                      [&] { return passing(execution, *execution.query().condition, input, all); });
  execution.record.of(op).rows = rows.size();
  return rows;
}

namespace {

/// Calls `make`, which groups or partitions rows on the GPU. Where it returns nothing, or the GPU lacks memory, notes
/// why under `rule`, copies `columns` to the host, and returns nothing.
template <class Make>
auto try_on_device(Execution& execution, const Table& table, const std::vector<int>& columns, Rule rule,
                   const Make& make) -> decltype(make()) {
  std::string why = "the codes of a row take more than 64 bits, or the rows are more than 32 bits can number";
  try {
    if (auto made = make()) return made;
  } catch (const kernels::cuda::OutOfMemory&) {
    why = "the GPU has too little memory left to sort the rows";
  }
  execution.record.rules.left_out(rule, why);
  for (const int column : columns) copy_to_host(table.column(column).data());
  return std::nullopt;
}

Grouped make_groups(Execution& execution, const Table& input, const RowSet& rows) {
  const query::BoundGroup& columns = *execution.query().group;
  if (execution.plan.device_groups) {
    const auto best = best_groups_of(execution.query());
    const auto make = [&] { return group_on_device(*execution.device(), columns, input, rows, best); };
    if (auto grouped = try_on_device(execution, input, columns_of_groups(columns), Rule::device_groups, make)) {
      return std::move(*grouped);
    }
  }
  return group(columns, input, rows.view(), execution.plan.numbering);
}

}  // namespace

SourceTable group_rows(Execution& execution, const Table& input, RowSet& rows) {
  if (!execution.query().group) return {input};
  const Operator& op = *execution.plan.operators.group;
  Grouped grouped =
      timed(execution, execution.timing.filter_ms, op, [&] { return make_groups(execution, input, rows); });
  rows = RowSet::all(grouped.table.num_rows());
  execution.record.of(op).rows = grouped.num_groups.value_or(rows.size());
  execution.record.of(op).note = grouped.numbering;
  return {std::move(grouped.table), std::move(grouped.first_rows), true};
}

RowSet apply_missing_rules(Execution& execution, const SourceTable& source, RowSet rows) {
  const BoundQuery& query = execution.query();
  if (!execution.plan.operators.missing) return rows;
  const Operator& op = *execution.plan.operators.missing;
  rows = timed(execution, execution.timing.filter_ms, op, [&] {
    return RowSet::listed(
        apply_missing_rules(value_expressions(query), source.table, rows.view(), query.nan_rule, query.null_rule));
  });
  execution.record.of(op).rows = rows.size();
  return rows;
}

namespace {

RowSlots number_partitions(Execution& execution, const SourceTable& source, const Rows& rows) {
  // Groups of a grouped table are not those that were sampled.
  const Numbering numbering = source.grouped ? Numbering::by_values : execution.plan.numbering;
  RowSlots slots = slots_of(source.table, execution.query().partition_columns, rows, numbering);
  execution.record.of(*execution.plan.operators.partition).note = slots.describe();
  return slots;
}

}  // namespace

PartitionedRows rank_partitions(Execution& execution, const SourceTable& source, const RowSet& rows) {
  if (!execution.plan.partition_top_k) return {};
  const BoundQuery& query = execution.query();
  const Operators& operators = execution.plan.operators;
  const Window window = window_of(query);
  const Rows view = rows.view();
  const RowSlots slots = timed(execution, execution.timing.filter_ms, *operators.partition,
                               [&] { return number_partitions(execution, source, view); });
  if (!keeps_best_in_memory(window, slots.count(), rows.size())) {
    execution.record.rules.left_out(Rule::partition_top_k, "there are too many partitions for the rows");
    return {.split = timed(execution, execution.timing.filter_ms, *operators.partition,
                           [&] { return segments_of(classify(slots)); })};
  }
  const std::vector<Keys> keys = timed(execution, execution.timing.keys_ms, *operators.rank_keys, [&] {
    return make_rank_keys(query.ranking, source.table, rows, packs_ranking(execution.plan), nullptr, &execution.share);
  });
  if (keys.size() > 1) {
    execution.record.rules.left_out(Rule::partition_top_k, "the ranking needs several keys");
    return {};
  }
  PartitionAnswer answer = timed(execution, execution.timing.compute_ms, *operators.order,
                                 [&] { return best_of_partitions(slots, keys.front().column, window); });
  execution.record.of(*operators.partition).rows = rows.size();
  execution.record.of(*operators.partition).partitions = answer.partitions;
  execution.record.of(*operators.rank_keys).rows = rows.size();
  Report report;
  report.rows = static_cast<std::int64_t>(answer.positions.size());
  report.work.bytes_read =
      static_cast<std::uint64_t>(rows.size()) * static_cast<std::uint64_t>(keys.front().column.width);
  book(execution, *operators.order, report);
  return {.ranked = std::move(answer.positions)};
}

Segments partition_rows(Execution& execution, const SourceTable& source, const RowSet& rows,
                        std::optional<Segments> split) {
  if (!execution.plan.operators.partition) return one_segment(rows.size());
  const Operator& op = *execution.plan.operators.partition;
  if (!split) {
    split = timed(execution, execution.timing.filter_ms, op,
                  [&] { return segments_of(classify(number_partitions(execution, source, rows.view()))); });
  }
  execution.record.of(op).rows = rows.size();
  execution.record.of(op).partitions = split->count();
  return std::move(*split);
}

namespace {

/// Ranks segments of keys, and records the path that was taken. Returns positions among the keys; with `partitions`,
/// which the device made, positions of the row set.
Vector<std::int64_t> rank_segments(Execution& execution, const std::vector<Keys>& keys, const Segments& segments,
                                   const DevicePartitions* partitions = nullptr) {
  const Operator& order = *execution.plan.operators.order;
  const Window window = window_of(execution.query());
  const std::int64_t n = largest(segments);
  ExecutionContext context = execution.context;
  // One of many partitions would be ranked faster by the CPU, but their keys are on the GPU.
  if (execution.plan.device_partitions) context.constraints.device = kernels::Device::cuda;
  Ranker ranker(window, context, n);
  Report report;
  Vector<std::int64_t> positions = timed(execution, execution.timing.compute_ms, order, [&] {
    if (partitions == nullptr) return ranker.rank(keys, segments, report);
    Vector<std::int64_t> ranked = ranker.rank(keys, segments, report, partitions->order());
    return ranker.was_at_once() ? std::move(ranked) : partitions->answer(ranked);
  });
  std::vector<kernels::KeyWidth> widths;
  for (const Keys& column : keys) widths.push_back(column.column.width);
  PathDescription path = describe_path(ranker.path(widths, n));
  if (ranker.was_at_once()) {
    price_at_once(path, static_cast<double>(segments.count()), static_cast<double>(segments.bounds.back()),
                  static_cast<double>(window.end(n)), static_cast<double>(widths.front()));
  } else {
    price_repeated(path, partitions_to_solve(segments), execution.context.machine.threads);
  }
  execution.record.of(order).path = std::move(path);
  book(execution, order, report);
  execution.record.of(order).rows = static_cast<std::int64_t>(positions.size());
  return positions;
}

/// Partitions that the device made, and the keys of their rows, segment by segment.
struct RankedRows {
  DevicePartitions partitions;
  std::vector<Keys> keys;
};

std::vector<Keys> keys_of_ranking(Execution& execution, const Table& table, const RowSet& rows, KeyShare* share) {
  const Operator& op = *execution.plan.operators.rank_keys;
  execution.record.of(op).rows = rows.size();
  return timed(execution, execution.timing.keys_ms, op, [&] {
    return make_rank_keys(execution.query().ranking, table, rows, packs_ranking(execution.plan), execution.device(),
                          share);
  });
}

/// Partitions only the rows that can be among the best. Returns nothing where the stored columns cannot be searched for
/// these rows.
std::optional<RankedRows> partition_best(Execution& execution, const Table& table, const RowSet& rows) {
  const BoundQuery& query = execution.query();
  const std::int64_t wanted = window_of(query).end(rows.size());
  if (!rows.is_all() || wanted == 0) return std::nullopt;
  const auto find = [&]() -> std::optional<DevicePartitions> {
    try {
      return DevicePartitions::of_best(*execution.device(), table, query.partition_columns, query.ranking, wanted);
    } catch (const kernels::cuda::OutOfMemory&) {
      return std::nullopt;  // partition_all needs less memory, or reports the lack
    }
  };
  auto partitions = timed(execution, execution.timing.filter_ms, *execution.plan.operators.partition, find);
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
  auto partitions = timed(execution, execution.timing.filter_ms, *execution.plan.operators.partition,
                          [&] { return try_on_device(execution, table, columns, Rule::device_partitions, make); });
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

std::optional<Vector<std::int64_t>> rank(Execution& execution, const SourceTable& source,
                                         const Candidates& candidates) {
  const BoundQuery& query = execution.query();
  const Operators& operators = execution.plan.operators;
  const Window window = window_of(query);
  if (!operators.order) {
    if (window.is_all() && candidates.segments.order.empty()) return std::nullopt;
    return cut(window, candidates.segments);
  }
  if (query.ranking.empty()) {
    auto positions = timed(execution, execution.timing.compute_ms, *operators.order,
                           [&] { return cut(window, candidates.segments); });
    execution.record.of(*operators.order).rows = static_cast<std::int64_t>(positions.size());
    return positions;
  }
  // After a skyline these are keys of its rows alone.
  KeyShare* const share = execution.plan.preference ? nullptr : &execution.share;
  const std::vector<Keys> keys = timed(execution, execution.timing.keys_ms, *operators.rank_keys, [&] {
    return make_rank_keys(query.ranking, source.table, candidates.rows, packs_ranking(execution.plan),
                          execution.device(), share);
  });
  execution.record.of(*operators.rank_keys).rows = candidates.rows.size();
  return rank_segments(execution, keys, candidates.segments);
}

namespace {

/// Returns from[places[0]], from[places[1]], ...
template <class T>
Vector<T> values_at(const auto& from, std::span<const std::int64_t> places) {
  Vector<T> values(places.size());
  for_each_range(static_cast<std::int64_t>(places.size()), kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) values[i] = from[places[i]];
  });
  return values;
}

/// Returns a copy that the caller will own.
template <class T>
std::vector<T> copy_for_caller(std::span<const T> values) {
  QueryMemory::hold(values.size_bytes());
  return in_large_pages(values);
}

/// Returns the levels of the rows at `positions`, or of all candidates; empty without a preference.
std::vector<std::int32_t> levels_of(const Execution& execution, const Candidates& candidates,
                                    const std::optional<Vector<std::int64_t>>& positions) {
  if (!execution.plan.preference) return {};
  const auto n = positions ? positions->size() : static_cast<std::size_t>(candidates.rows.size());
  if (candidates.levels.are_first()) {
    QueryMemory::hold(n * sizeof(std::int32_t));
    return in_large_pages(n, std::int32_t{1});
  }
  return copy_for_caller<std::int32_t>(positions ? candidates.levels.at(*positions)
                                                 : candidates.levels.all(candidates.rows.size()));
}

/// The ids of an answer's rows, in its order. A list of all candidates is viewed, not copied.
class AnswerRows {
 public:
  /// Takes the rows at `positions`, or all rows without them.
  AnswerRows(const RowSet& rows, std::optional<Vector<std::int64_t>> positions) : all_(rows) {
    if (positions) {
      chosen_ = rows.is_all() ? std::move(*positions) : rows.at(*positions);
    } else if (rows.is_all()) {
      chosen_.resize(static_cast<std::size_t>(rows.size()));
      std::iota(chosen_.begin(), chosen_.end(), RowId{0});
    } else {
      listed_ = true;
    }
  }

  std::span<const RowId> ids() const {
    if (!listed_) return chosen_;
    return {all_.view().ids, static_cast<std::size_t>(all_.size())};
  }

 private:
  RowSet all_;
  Vector<RowId> chosen_;
  bool listed_ = false;  // they are those of `all_`
};

Column output_column(const query::BoundOutput& output, const SourceTable& source, std::span<const RowId> rows,
                     std::span<const std::int32_t> levels) {
  switch (output.kind) {
    case query::BoundOutput::Kind::row:
      return source.grouped ? row_column(values_at<RowId>(source.first_rows, rows), output.name)
                            : row_column(rows, output.name);
    case query::BoundOutput::Kind::level: return Column::own(output.name, copy_for_caller(levels));
    case query::BoundOutput::Kind::score:
    case query::BoundOutput::Kind::expression: break;
  }
  return gather(output.expression, source.table, rows, output.name);
}

}  // namespace

Result gather(Execution& execution, const SourceTable& source, const Candidates& candidates,
              std::optional<Vector<std::int64_t>> positions) {
  Result result;
  const Operator& op = execution.plan.operators.gather;
  result.table = timed(execution, execution.timing.gather_ms, op, [&] {
    result.levels = levels_of(execution, candidates, positions);
    const AnswerRows rows(candidates.rows, std::move(positions));
    std::vector<Column> columns;
    for (const query::BoundOutput& output : execution.query().outputs) {
      columns.push_back(output_column(output, source, rows.ids(), result.levels));
    }
    result.rows = source.grouped ? copy_for_caller<RowId>(values_at<RowId>(source.first_rows, rows.ids()))
                                 : copy_for_caller<RowId>(rows.ids());
    return Table(std::move(columns));
  });
  execution.record.of(op).rows = result.table.num_rows();
  return result;
}

}  // namespace skyrank::exec
