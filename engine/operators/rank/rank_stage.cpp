#include "engine/operators/rank/rank_stage.hpp"

#include <utility>

#include "engine/operators/rank/rank.hpp"
#include "engine/operators/rank/rank_plan.hpp"

namespace skyrank::exec {

Vector<std::int64_t> rank_segments(Execution& execution, const std::vector<Keys>& keys, const Segments& segments,
                                   const DevicePartitions* partitions) {
  const Operator& order = *execution.plan.operators.order;
  const Window window = window_of(execution.query());
  const std::int64_t n = largest(segments);
  ExecutionContext context = execution.context;
  // One of many partitions would be ranked faster by the CPU, but their keys are on the GPU.
  if (execution.plan.device_partitions) context.constraints.device = kernels::Device::cuda;
  Ranker ranker(window, context, n);
  Report report;
  Vector<std::int64_t> positions = execution.timed(order, [&] {
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
    price_repeated(path, segments_to_solve(segments), execution.context.machine.threads);
  }
  execution.record.of(order).path = std::move(path);
  execution.book(order, report);
  execution.record.of(order).rows = static_cast<std::int64_t>(positions.size());
  return positions;
}

std::optional<Vector<std::int64_t>> rank(Execution& execution, const SourceTable& source,
                                         const Candidates& candidates) {
  const query::BoundQuery& query = execution.query();
  const Operators& operators = execution.plan.operators;
  const Window window = window_of(query);
  if (!operators.order) {
    if (window.is_all() && candidates.segments.order.empty()) return std::nullopt;
    return cut(window, candidates.segments);
  }
  if (query.ranking.empty()) {
    auto positions = execution.timed(*operators.order, [&] { return cut(window, candidates.segments); });
    execution.record.of(*operators.order).rows = static_cast<std::int64_t>(positions.size());
    return positions;
  }
  // After a skyline these are keys of its rows alone.
  KeyShare* const share = execution.plan.preference ? nullptr : &execution.share;
  const std::vector<Keys> keys = execution.timed(*operators.rank_keys, [&] {
    return make_rank_keys(query.ranking, source.table, candidates.rows, packs_ranking(execution.plan),
                          execution.device(), share, candidates.measures);
  });
  execution.record.of(*operators.rank_keys).rows = candidates.rows.size();
  return rank_segments(execution, keys, candidates.segments);
}

}  // namespace skyrank::exec
