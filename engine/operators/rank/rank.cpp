#include "engine/operators/rank/rank.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include <skyrank/error.hpp>

#include "engine/device/resident.hpp"
#include "engine/keys/device/make_device_keys.hpp"
#include "engine/keys/device_keys.hpp"
#include "engine/keys/key_columns.hpp"
#include "engine/operators/segment_tasks.hpp"
#include "kernels/common/column_scan.hpp"
#include "kernels/cuda/select/partitions.hpp"

// Orders rows by a ranking and cuts out the answer, in one of four ways: by keys in memory, segment by segment or all
// segments in one launch on the device; by keys that are made as a kernel reads them (rank_fused); and by one scan of
// columns on the device, without keys (rank_scan).
namespace skyrank::exec {
namespace {

using kernels::KeyWidth;

constexpr std::int64_t kBytesPerKey = 8;

kernels::TieRule tie_rule(Ties ties) {
  switch (ties) {
    case Ties::first: return kernels::TieRule::first;
    case Ties::last: return kernels::TieRule::last;
    case Ties::all: return kernels::TieRule::all;
    case Ties::any: break;
  }
  return kernels::TieRule::any;
}

/// Returns [begin, end) of each pack of neighbouring columns that fit into 64 bits together; without `packs`, each
/// column is one.
std::vector<std::pair<std::size_t, std::size_t>> packs_of(const std::vector<KeyWidth>& widths, bool packs) {
  std::vector<std::pair<std::size_t, std::size_t>> result;
  for (std::size_t begin = 0; begin < widths.size();) {
    std::size_t end = begin + 1;
    auto bytes = static_cast<std::int64_t>(widths[begin]);
    while (packs && end < widths.size() && bytes + static_cast<std::int64_t>(widths[end]) <= kBytesPerKey) {
      bytes += static_cast<std::int64_t>(widths[end++]);
    }
    result.emplace_back(begin, end);
    begin = end;
  }
  return result;
}

/// Keys of the values that a measure has for each of n rows.
Keys measure_keys(const query::BoundRankTerm& term, const Column& values, std::int64_t n) {
  query::BoundNode column;
  column.op = query::Op::column;
  column.type = term.expression.root->type;
  column.column = 0;
  query::BoundRankTerm of_column = term;
  of_column.expression.root = std::make_shared<const query::BoundNode>(column);
  of_column.expression.column = 0;
  return make_keys(of_column, Table({values}), Rows{n, nullptr});
}

std::vector<KeyWidth> widths_of(const std::vector<Keys>& keys) {
  std::vector<KeyWidth> widths;
  for (const Keys& column : keys) widths.push_back(column.column.width);
  return widths;
}

/// The keys in the order of the segments.
std::vector<Keys> in_order(const std::vector<Keys>& keys, const Segments& segments) {
  if (segments.order.empty()) return keys;
  std::vector<Keys> ordered;
  for (const Keys& column : keys) ordered.push_back(take(column, segments.order));
  return ordered;
}

template <class T>
void append(Vector<T>& to, const Vector<T>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

}  // namespace

bool ranks_at_once(const Window& window, std::int64_t count, std::int64_t largest) {
  // A block reads a segment by itself, at about the speed at which the launches of a segment alone pass so many rows.
  constexpr std::int64_t kRowsOfLaunch = 100'000;
  constexpr std::int64_t kMaxAnswers = std::int64_t{1} << 26;
  if (count < 2 || !window.limit || window.is_empty() || window.ties == Ties::all) return false;
  const std::int64_t k = window.end(largest);
  if (largest > std::numeric_limits<std::int32_t>::max()) return false;
  const bool small = k <= static_cast<std::int64_t>(kernels::cuda::select::kMaxOfPartition) && k <= kMaxAnswers / count;
  return small && largest / kRowsOfLaunch <= count;
}

std::vector<Keys> make_rank_keys(const std::vector<query::BoundRankTerm>& ranking, const Table& table,
                                 const RowSet& rows, bool packs, DeviceQueryState* device, KeyShare* share,
                                 std::span<const Column> measures) {
  std::vector<Keys> terms;
  for (const query::BoundRankTerm& term : ranking) {
    if (term.measure) {
      const Keys keys = measure_keys(term, measures[*term.measure], rows.size());
      terms.push_back(device != nullptr ? to_device(keys, rows.size()) : keys);
      continue;
    }
    const auto make = [&] {
      return device != nullptr ? make_keys(*device, term, table, rows) : make_keys(term, table, rows.view());
    };
    terms.push_back(share == nullptr
                        ? make()
                        : share->get(name_of_keys(term.expression, term.high, term.nulls_first), rows.size(), make));
  }
  std::vector<Keys> packed;
  for (const auto& [begin, end] : packs_of(widths_of(terms), packs)) {
    const std::vector<Keys> pack(terms.begin() + static_cast<std::ptrdiff_t>(begin),
                                 terms.begin() + static_cast<std::ptrdiff_t>(end));
    packed.push_back(pack.size() == 1 ? pack.front() : combine_prior(pack, rows.size()));
  }
  return packed;
}

Vector<std::int64_t> Ranker::rank(const std::vector<Keys>& keys, const Segments& segments, Report& report,
                                  const DeviceOrder& order) {
  const std::vector<Keys> ordered = in_order(keys, segments);
  if (auto answer = rank_at_once(ordered, segments, report, order)) return std::move(*answer);
  const std::vector<SegmentTask> tasks = segment_tasks(segments.bounds);
  std::vector<Vector<std::int64_t>> answers(tasks.size());
  std::vector<Report> reports(tasks.size());
  for_each_task(tasks, [&](std::size_t t) {
    for (std::int64_t s = tasks[t].begin; s < tasks[t].end; ++s) {
      rank_segment(ordered, segments.bounds[s], segments.bounds[s + 1], answers[t], reports[t]);
    }
    for (std::int64_t& i : answers[t]) i = segments.at(i);
  });
  for (const Report& part : reports) report += part;
  Vector<std::int64_t> answer;
  for (const auto& part : answers) append(answer, part);
  return answer;
}

std::optional<Vector<std::int64_t>> Ranker::rank_at_once(const std::vector<Keys>& keys, const Segments& segments,
                                                         Report& report, const DeviceOrder& order) {
  const std::int64_t count = segments.count();
  if (keys.size() != 1 || keys.front().memory != kernels::Memory::device) return std::nullopt;
  const std::int64_t rows = largest(segments);
  if (!ranks_at_once(window_, count, rows)) return std::nullopt;
  if (path(widths_of(keys), rows).algorithm->device != kernels::Device::cuda) return std::nullopt;
  const std::int64_t k = window_.end(rows);

  Stopwatch watch;
  Vector<std::int64_t> answer =
      kernels::cuda::select::best_of_partitions({.keys = keys.front().column,
                                                 .bounds = segments.bounds,
                                                 .k = static_cast<std::size_t>(k),
                                                 .ties = tie_rule(window_.ties),
                                                 .offset = static_cast<std::size_t>(window_.offset),
                                                 .order = order.segments,
                                                 .places = order.places});
  if (!segments.order.empty()) {
    for (std::int64_t& position : answer) position = segments.order[position];
  }
  report += {static_cast<std::int64_t>(answer.size()), watch.lap(), 0, {}};
  at_once_ = true;
  return answer;
}

void Ranker::rank_segment(const std::vector<Keys>& keys, std::int64_t begin, std::int64_t end,
                          Vector<std::int64_t>& answer, Report& report) {
  const std::int64_t n = end - begin;
  if (window_.is_empty() || window_.offset >= n) return;
  if (n == 1) {
    ++report.rows;
    return answer.push_back(begin);
  }
  context_.kernel_context.check();
  const auto& chosen = path(widths_of(keys), n);
  std::vector<Keys> part;
  for (const Keys& column : keys) part.push_back(slice(column, begin));
  const HeldKeys held(part, n, chosen.algorithm->device);
  const kernels::TopKProblem problem{.n = static_cast<std::size_t>(n),
                                     .keys = held.columns(),
                                     .k = static_cast<std::size_t>(window_.end(n)),
                                     .ties = tie_rule(window_.ties),
                                     .memory = held.memory()};
  const double before = report.ms;
  const auto rows = run_path(chosen, problem, context_, report);
  if (context_.observer) tell(context_, chosen, shape(widths_of(keys), n), context_.ranking, report.ms - before);
  for (std::size_t i = static_cast<std::size_t>(window_.offset); i < rows.size(); ++i)
    answer.push_back(begin + rows[i]);
}

const planner::Choice<kernels::TopKAlgorithm>& Ranker::path(const std::vector<KeyWidth>& widths, std::int64_t n) {
  return chooser_(shape(widths, n));
}

kernels::TopKShape Ranker::shape(const std::vector<KeyWidth>& widths, std::int64_t n) const {
  return {.n = static_cast<std::size_t>(n),
          .k = static_cast<std::size_t>(window_.end(n)),
          .widths = widths,
          .ties = tie_rule(window_.ties)};
}

kernels::TopKShape fused_shape(const query::BoundQuery& query, const Table& table) {
  return {.n = static_cast<std::size_t>(table.num_rows()),
          .k = static_cast<std::size_t>(window_of(query).end(table.num_rows())),
          .widths = {FusedKeys::width_of(query.ranking.front(), table)},
          .ties = tie_rule(query.ties),
          .fused = true};
}

Vector<RowId> rank_fused(const query::BoundQuery& query, const Table& table,
                         const planner::Choice<kernels::TopKAlgorithm>& path, const FusedOptions& options,
                         const ExecutionContext& context, Report& report) {
  const FusedKeys source(query, table, options);
  const kernels::TopKShape shape = fused_shape(query, table);
  const kernels::TopKProblem problem{.n = shape.n, .keys = {}, .k = shape.k, .ties = shape.ties, .source = &source};
  Vector<RowId> rows;
  try {
    const double before = report.ms;
    rows = run_path(path, problem, context, report);
    tell(context, path, shape, context.ranking, report.ms - before);
  } catch (const DataError&) {
    // Some row failed, in whichever thread was first: the lowest one is to be named, of the condition if it has any.
    const RowSet all = RowSet::all(table.num_rows());
    const RowSet kept = query.condition ? RowSet::listed(filter(*query.condition, table, all.view())) : all;
    make_rank_keys(query.ranking, table, kept);
    throw;
  }
  rows.erase(rows.begin(), rows.begin() + std::min(query.offset, static_cast<std::int64_t>(rows.size())));
  return rows;
}

std::optional<Vector<RowId>> rank_scan(const query::BoundQuery& query, const DeviceScan& scan, const Table& table,
                                       const ExecutionContext& context, std::optional<PathDescription>& taken,
                                       Report& report) {
  const Window window = window_of(query);
  const std::int64_t n = table.num_rows();
  const auto k = static_cast<std::size_t>(window.end(n));
  const bool short_keys = scan.columns && scan.columns->has_short_keys();
  const kernels::TopKShape shape{.n = static_cast<std::size_t>(n),
                                 .k = k,
                                 .widths = {short_keys ? KeyWidth::bytes4 : KeyWidth::bytes8},
                                 .ties = tie_rule(window.ties)};
  planner::Statistics statistics = context.ranking;
  statistics.memory = kernels::Memory::device;
  statistics.scanned = residency_of(columns_of_keys(query), table).row_bytes;
  statistics.scored = residency_of(columns_of({&query.ranking.front().expression}), table).row_bytes;
  const auto path = planner::choose(shape, context.constraints, with_memory_left(context.machine), statistics);
  const auto run_scan = path.algorithm->variants.scan;
  if (run_scan == nullptr) return std::nullopt;
  Stopwatch watch;
  const kernels::ScanProblem problem{.scan = scan.columns ? &*scan.columns : nullptr,
                                     .computed = scan.computed ? &*scan.computed : nullptr,
                                     .n = shape.n,
                                     .k = shape.k,
                                     .ties = shape.ties};
  auto solution = run_scan(problem, path.parameters, context.kernel_context);
  if (!solution) return std::nullopt;
  taken = describe_path(path);
  report += {static_cast<std::int64_t>(solution->rows.size()), watch.lap(),
             solution->times.h2d_ms + solution->times.d2h_ms, solution->work};
  Vector<RowId>& rows = solution->rows;
  rows.erase(rows.begin(), rows.begin() + std::min(query.offset, static_cast<std::int64_t>(rows.size())));
  return std::move(rows);
}

Vector<std::int64_t> cut(const Window& window, const Segments& segments) {
  Vector<std::int64_t> answer;
  std::int64_t rows = 0;
  for (std::int64_t s = 0; s < segments.count(); ++s) {
    rows += std::max<std::int64_t>(0, window.end(segments.size(s)) - window.offset);
  }
  answer.reserve(static_cast<std::size_t>(rows));
  for (std::int64_t s = 0; s < segments.count(); ++s) {
    const std::int64_t n = segments.size(s);
    for (std::int64_t i = window.offset; i < window.end(n); ++i) answer.push_back(segments.at(segments.bounds[s] + i));
  }
  return answer;
}

std::vector<KeyWidth> packed_widths(const std::vector<KeyWidth>& widths, bool packs) {
  std::vector<KeyWidth> result;
  for (const auto& [begin, end] : packs_of(widths, packs)) {
    std::int64_t bytes = 0;
    for (std::size_t i = begin; i < end; ++i) bytes += static_cast<std::int64_t>(widths[i]);
    result.push_back(static_cast<KeyWidth>(std::bit_ceil(static_cast<std::uint64_t>(bytes))));
  }
  return result;
}

}  // namespace skyrank::exec
