#include <skyrank/engine.hpp>

#include <oneapi/tbb/task_arena.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <functional>
#include <limits>
#include <new>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <skyrank/error.hpp>

#include "engine/duration.hpp"
#include "engine/exec/admission.hpp"
#include "engine/exec/contenders.hpp"
#include "engine/exec/device/levels.hpp"
#include "engine/exec/device/resident.hpp"
#include "engine/exec/device/scan.hpp"
#include "engine/exec/device/session.hpp"
#include "engine/exec/forced_path.hpp"
#include "engine/exec/gather.hpp"
#include "engine/exec/group.hpp"
#include "engine/exec/level_list.hpp"
#include "engine/exec/levels.hpp"
#include "engine/exec/partition.hpp"
#include "engine/exec/physical_plan.hpp"
#include "engine/exec/query_memory.hpp"
#include "engine/exec/ranges.hpp"
#include "engine/exec/rank.hpp"
#include "engine/exec/row_set.hpp"
#include "engine/exec/runtime.hpp"
#include "engine/exec/shared_keys.hpp"
#include "engine/exec/skyline.hpp"
#include "engine/exec/stop.hpp"
#include "engine/exec/survey.hpp"
#include "engine/exec/timer.hpp"
#include "engine/memory_need.hpp"
#include "engine/query/bound.hpp"
#include "engine/text.hpp"
#include "kernels/common/memory.hpp"
#include "kernels/common/transfers.hpp"
#include "kernels/cpu/threads.hpp"
#include "kernels/cuda/device/device.hpp"
#include "kernels/cuda/device/failure.hpp"
#include "kernels/cuda/eval/columns.hpp"
#include "kernels/registry.hpp"
#include "planner/price_list.hpp"
#include "planner/profile.hpp"

// The way of a query, in the order in which it goes:
//   Query -> bind -> logical plan (BoundQuery) -> plan -> PhysicalPlan -> execute -> Result
// and inside execute: filter -> group -> missing values -> partition -> prefer -> rank -> gather; or, for a condition
// and one ranking term, all in one pass: rank_fused -> gather, on a device rank_scanned -> gather.
namespace skyrank {
namespace {

using exec::RowSet;
using exec::Segments;
using exec::Vector;
using query::BoundQuery;

// ---- What the stages pass on ----

/// The table that the answer is taken from: the input, or what `group_by` made of it.
struct Source {
  Table table;
  Vector<RowId> first_rows;  ///< per group; empty without `group_by`
  bool grouped = false;
};

/// The rows still in the running, in segments that are answered apart.
struct Candidates {
  RowSet rows;
  Segments segments;
  exec::LevelList levels = {};  ///< per position; of no meaning without `prefer`
};

// ---- Measuring ----

/// A query on its way: its plan, which is filled with measurements, and the clocks of the result.
struct Execution {
  exec::PhysicalPlan plan;
  exec::Runtime runtime;
  Timing timing;
  Work work;
  std::optional<exec::DeviceSession> session = std::nullopt;  ///< where filters and keys are of the device
  exec::KeyShare share = {};                                  ///< of keys over the rows that pass the condition
  std::string* phase = nullptr;                               ///< says what the query is at, for a TimeoutError

  const BoundQuery& query() const { return plan.query; }
  exec::DeviceSession* device() { return session ? &*session : nullptr; }
};

/// What this thread's query has transferred so far.
kernels::TransferBytes transferred() {
  const kernels::TransferTally* const tally = kernels::current_tally();
  return tally != nullptr ? tally->bytes() : kernels::TransferBytes{};
}

/// Runs one operator, adds its time to a stage and to its node, and its transfers to that; what it brought to a device
/// is booked as transfer.
template <class F>
auto timed(Execution& execution, double& stage_ms, PlanNode& node, const F& f) {
  *execution.phase = node.op;
  execution.runtime.context.check();
  const kernels::TransferBytes before = transferred();
  const double sent_before = execution.session ? execution.session->transfer_ms() : 0;
  exec::Stopwatch watch;
  auto value = f();
  const double ms = watch.lap();
  const double sent = (execution.session ? execution.session->transfer_ms() : 0) - sent_before;
  execution.timing.transfer_ms += sent;
  stage_ms += ms - sent;
  node.measured_ms = ms;
  const kernels::TransferBytes after = transferred();
  const Transferred bytes{after.to_device - before.to_device, after.from_device - before.from_device};
  if (bytes != Transferred{}) node.transferred = bytes;
  return value;
}

Work public_work(const kernels::Work& work) {
  return {work.dominance_tests, work.mask_tests, work.bytes_read, work.bytes_written, work.candidates};
}

/// Books what kernels did; where they ran side by side, `ms` is the share of the stage's time that is the node's.
void book(Execution& execution, PlanNode& node, const exec::Report& report, double ms) {
  node.measured_rows = report.rows;
  node.measured_ms = ms;
  // The stage's time was booked as one of computing.
  const double transfer_ms = std::min(report.transfer_ms, ms);
  execution.timing.transfer_ms += transfer_ms;
  execution.timing.compute_ms -= transfer_ms;
  if (!execution.runtime.context.count_work) return;
  node.work = public_work(report.work);
  execution.work += *node.work;
}

std::int64_t largest(const Segments& segments) {
  std::int64_t size = 0;
  for (std::int64_t s = 0; s < segments.count(); ++s) size = std::max(size, segments.size(s));
  return size;
}

// ---- The stages ----

RowSet passing(Execution& execution, const query::BoundExpression& condition, const Table& input, const RowSet& all) {
  if (execution.session) return exec::filter(*execution.session, condition, input, all);
  return RowSet::listed(exec::filter(condition, input, all.view()));
}

RowSet filter_rows(Execution& execution, const Table& input) {
  RowSet all = RowSet::all(input.num_rows());
  execution.plan.operators.scan.measured_rows = input.num_rows();
  if (!execution.query().condition || execution.plan.operators.filter_last) return all;
  PlanNode& node = *execution.plan.operators.filter;
  RowSet rows = timed(execution, execution.timing.filter_ms, node,
                      [&] { return passing(execution, *execution.query().condition, input, all); });
  node.measured_rows = rows.size();
  return rows;
}

/// Replaces the input by its groups; afterwards all rows of the derived table are candidates.
Source group_rows(Execution& execution, const Table& input, RowSet& rows) {
  if (!execution.query().group) return {input, {}, false};
  PlanNode& node = *execution.plan.operators.group;
  exec::Grouped grouped = timed(execution, execution.timing.filter_ms, node,
                                [&] { return exec::group(*execution.query().group, input, rows.view()); });
  rows = RowSet::all(grouped.table.num_rows());
  node.measured_rows = rows.size();
  return {std::move(grouped.table), std::move(grouped.first_rows), true};
}

RowSet apply_missing_rules(Execution& execution, const Source& source, RowSet rows) {
  const BoundQuery& query = execution.query();
  if (!execution.plan.operators.missing) return rows;
  PlanNode& node = *execution.plan.operators.missing;
  rows = timed(execution, execution.timing.filter_ms, node, [&] {
    return RowSet::listed(exec::apply_missing_rules(exec::value_expressions(execution.plan), source.table, rows.view(),
                                                    query.nan_rule, query.null_rule));
  });
  node.measured_rows = rows.size();
  return rows;
}

Segments partition_rows(Execution& execution, const Source& source, const RowSet& rows) {
  if (!execution.plan.operators.partition) return exec::one_segment(rows.size());
  PlanNode& node = *execution.plan.operators.partition;
  Segments segments = timed(execution, execution.timing.filter_ms, node, [&] {
    return exec::partition(source.table, execution.query().partition_columns, rows.view());
  });
  node.measured_rows = rows.size();
  node.detail += " (" + std::to_string(segments.count()) + " partitions)";
  return segments;
}

/// The candidates that a preference keeps, ascending, and their segments.
Candidates narrow(const Candidates& all, exec::Kept kept) {
  Vector<std::int64_t> positions = std::move(kept.rows);
  for (std::int64_t& position : positions) position = all.segments.at(position);
  const Vector<std::int64_t> order = exec::ascending_order(positions);
  const auto at = [&](std::size_t i) { return order.empty() ? static_cast<std::int64_t>(i) : order[i]; };
  Vector<std::int64_t> ordered(positions.size());
  Candidates result{RowSet::all(0), {std::move(kept.bounds), Vector<std::int64_t>(order.size())}};
  Vector<std::int32_t> levels(positions.size());
  for (std::size_t i = 0; i < positions.size(); ++i) {
    ordered[i] = positions[at(i)];
    levels[i] = kept.levels[at(i)];
    if (!order.empty()) result.segments.order[at(i)] = static_cast<std::int64_t>(i);
  }
  result.rows = RowSet::listed(all.rows.at(ordered));
  result.levels = exec::LevelList(std::move(levels));
  return result;
}

/// The same of rows on the device, in the order of the segments.
Candidates narrow(const Candidates& all, exec::DeviceKept kept) {
  const std::int64_t n = kept.bounds.back();
  kernels::cuda::DeviceArray ids = std::move(kept.rows);
  const auto look_up = [&](const RowId* list) {
    ids = kernels::cuda::take_keys({list, kernels::KeyWidth::bytes8}, static_cast<const std::int64_t*>(ids.data()),
                                   static_cast<std::size_t>(n));
  };
  if (!all.segments.order.empty()) {
    const kernels::cuda::DeviceArray order(all.segments.order.data(), all.segments.order.size() * sizeof(std::int64_t));
    look_up(static_cast<const RowId*>(order.data()));
  }
  if (!all.rows.is_all()) look_up(all.rows.device_ids());
  exec::LevelList levels = kept.levels.bytes() == 0 ? exec::LevelList() : exec::LevelList(n, std::move(kept.levels));
  return {RowSet::on_device(n, std::move(ids)), {std::move(kept.bounds), {}}, std::move(levels)};
}

/// Whether the skyline's rows are to stay on the device, and can.
bool keeps_rows_there(const Execution& execution, const exec::SkylineKeys& keys, const Segments& segments,
                      exec::SkylineSolver& solver) {
  if (!execution.plan.rows_on_device || !exec::can_keep_on_device(keys, exec::level_rule(execution.query()))) {
    return false;
  }
  return solver.path(0, keys.steps[0].width, largest(segments)).algorithm->device == kernels::Device::cuda;
}

void book_steps(Execution& execution, exec::SkylineSolver& solver, const exec::SkylineKeys& keys,
                const exec::StepReports& reports, const Segments& segments, double stage_ms) {
  double sum = 0;
  for (const exec::Report& report : reports) sum += report.ms;
  std::int64_t n = largest(segments);
  for (std::size_t s = 0; s < reports.size(); ++s) {
    PlanNode& node = execution.plan.operators.skyline[s];
    exec::describe_path(solver.path(s, keys.steps[s].width, n), node);
    exec::repeat(node, exec::paths_taken(segments), execution.runtime.machine.threads);
    const double share = sum > 0 ? reports[s].ms / sum : 1 / static_cast<double>(reports.size());
    book(execution, node, reports[s], stage_ms * share);
    n = std::min(n, reports[s].rows);
  }
}

/// Says which levels were found at once.
void note_levels(Execution& execution, const exec::AtOnce& at_once, const Segments& segments) {
  if (at_once.segments == 0) return;
  std::string& reason = execution.plan.operators.skyline.front().reason;
  reason += "; " + exec::describe_at_once(execution.plan, at_once.from);
  if (segments.count() > 1) reason += ", in " + std::to_string(at_once.segments) + " partitions";
}

Candidates prefer(Execution& execution, const Source& source, RowSet rows, Segments segments) {
  Candidates all{std::move(rows), std::move(segments)};
  if (!execution.plan.preference) return all;
  exec::Operators& operators = execution.plan.operators;
  const exec::SkylineKeys keys = timed(execution, execution.timing.keys_ms, *operators.skyline_keys, [&] {
    exec::SkylineKeys made = exec::make_skyline_keys(*execution.plan.preference, source.table, all.rows,
                                                     execution.device(), &execution.share);
    return all.segments.order.empty() ? made : exec::take(made, all.segments.order);
  });
  operators.skyline_keys->measured_rows = keys.n;
  exec::SkylineSolver solver(*execution.plan.preference, execution.runtime, largest(all.segments));
  exec::StepReports reports(solver.num_steps());
  PlanNode& last = operators.skyline.back();
  exec::AtOnce at_once;
  Candidates kept = timed(execution, execution.timing.compute_ms, last, [&] {
    const exec::LevelRule rule = exec::level_rule(execution.query());
    if (keeps_rows_there(execution, keys, all.segments, solver)) {
      auto there = exec::keep_best_on_device(keys, all.segments.bounds, rule, solver, reports[0]);
      if (there) return narrow(all, std::move(*there));
      reports.assign(reports.size(), {});
    }
    exec::Kept best = exec::keep_best(keys, all.segments.bounds, rule, solver, reports);
    at_once = best.at_once;
    return narrow(all, std::move(best));
  });
  book_steps(execution, solver, keys, reports, all.segments, *last.measured_ms);
  note_levels(execution, at_once, all.segments);
  last.measured_rows = kept.rows.size();
  return kept;
}

/// Of a skyline that was taken before the filter, the rows that pass it. Where they lie on the device, they stay there.
Candidates filter_last(Execution& execution, const Source& source, Candidates candidates) {
  if (!execution.plan.operators.filter_last) return candidates;
  PlanNode& node = *execution.plan.operators.filter;
  RowSet rows = timed(execution, execution.timing.filter_ms, node, [&] {
    const query::BoundExpression& condition = *execution.query().condition;
    if (candidates.rows.has_device_ids()) return passing(execution, condition, source.table, candidates.rows);
    return RowSet::listed(exec::filter(condition, source.table, candidates.rows.view()));
  });
  node.measured_rows = rows.size();
  const std::int64_t n = rows.size();
  return {std::move(rows), exec::one_segment(n)};
}

/// Positions in the order of the answer.
Vector<std::int64_t> rank(Execution& execution, const Source& source, const Candidates& candidates) {
  const BoundQuery& query = execution.query();
  exec::Operators& operators = execution.plan.operators;
  const exec::Window window = exec::window_of(query);
  if (!operators.order) return exec::cut(window, candidates.segments);
  if (query.ranking.empty()) {
    auto positions = timed(execution, execution.timing.compute_ms, *operators.order,
                           [&] { return exec::cut(window, candidates.segments); });
    operators.order->measured_rows = static_cast<std::int64_t>(positions.size());
    return positions;
  }
  // After a skyline these are keys of its rows alone.
  exec::KeyShare* const share = execution.plan.preference ? nullptr : &execution.share;
  const std::vector<exec::Keys> keys = timed(execution, execution.timing.keys_ms, *operators.rank_keys, [&] {
    return exec::make_rank_keys(query.ranking, source.table, candidates.rows, execution.runtime.rules,
                                execution.device(), share);
  });
  operators.rank_keys->measured_rows = candidates.rows.size();
  const std::int64_t n = largest(candidates.segments);
  exec::Ranker ranker(window, execution.runtime, n);
  exec::Report report;
  Vector<std::int64_t> positions = timed(execution, execution.timing.compute_ms, *operators.order,
                                         [&] { return ranker.rank(keys, candidates.segments, report); });
  std::vector<kernels::KeyWidth> widths;
  for (const exec::Keys& column : keys) widths.push_back(column.column.width);
  exec::describe_path(ranker.path(widths, n), *operators.order);
  if (ranker.was_at_once()) {
    exec::price_at_once(*operators.order, static_cast<double>(candidates.segments.count()),
                        static_cast<double>(candidates.rows.size()), static_cast<double>(window.end(n)),
                        static_cast<double>(widths.front()));
  } else {
    exec::repeat(*operators.order, exec::paths_taken(candidates.segments), execution.runtime.machine.threads);
  }
  book(execution, *operators.order, report, *operators.order->measured_ms);
  operators.order->measured_rows = static_cast<std::int64_t>(positions.size());
  return positions;
}

/// What `from` has at each of some places.
template <class T>
Vector<T> taken(const auto& from, const Vector<std::int64_t>& places) {
  Vector<T> values(places.size());
  exec::for_each_range(static_cast<std::int64_t>(places.size()), exec::kGrain,
                       [&](std::int64_t begin, std::int64_t end) {
                         for (std::int64_t i = begin; i < end; ++i) values[i] = from[places[i]];
                       });
  return values;
}

/// A copy for the caller.
template <class T>
std::vector<T> handed_over(const Vector<T>& values) {
  exec::QueryMemory::hold(values.size() * sizeof(T));
  return {values.begin(), values.end()};
}

Column output_column(const query::BoundOutput& output, const Source& source, const Vector<RowId>& rows,
                     const Vector<std::int32_t>& levels) {
  switch (output.kind) {
    case query::BoundOutput::Kind::row:
      return source.grouped ? exec::row_column(taken<RowId>(source.first_rows, rows), output.name)
                            : exec::row_column(rows, output.name);
    case query::BoundOutput::Kind::level: return Column::own(output.name, handed_over(levels));
    case query::BoundOutput::Kind::score:
    case query::BoundOutput::Kind::expression: break;
  }
  return exec::gather(output.expression, source.table, rows, output.name);
}

Result gather(Execution& execution, const Source& source, const Candidates& candidates,
              Vector<std::int64_t> positions) {
  Result result;
  PlanNode& node = execution.plan.operators.gather;
  result.table = timed(execution, execution.timing.gather_ms, node, [&] {
    Vector<std::int32_t> levels;
    if (execution.plan.preference) levels = candidates.levels.at(positions);
    Vector<RowId> rows = candidates.rows.is_all() ? std::move(positions) : candidates.rows.at(positions);
    std::vector<Column> columns;
    for (const query::BoundOutput& output : execution.query().outputs) {
      columns.push_back(output_column(output, source, rows, levels));
    }
    result.levels = handed_over(levels);
    result.rows = handed_over(source.grouped ? taken<RowId>(source.first_rows, rows) : rows);
    return Table(std::move(columns));
  });
  node.measured_rows = result.table.num_rows();
  return result;
}

/// The best rows of a table by a ranking that takes the filter and the making of keys in.
Result rank_fused(Execution& execution, const Table& input) {
  exec::Operators& operators = execution.plan.operators;
  const auto path = planner::choose(*execution.plan.fused, execution.plan.constraints,
                                    exec::with_memory_left(execution.plan.machine), execution.plan.survey.ranking);
  operators.scan.measured_rows = input.num_rows();
  exec::Report report;
  Vector<RowId> rows = timed(execution, execution.timing.compute_ms, *operators.order, [&] {
    return exec::rank_fused(execution.query(), input, path, execution.runtime, report);
  });
  exec::describe_path(path, *operators.order);
  book(execution, *operators.order, report, *operators.order->measured_ms);
  operators.order->measured_rows = static_cast<std::int64_t>(rows.size());
  const Candidates all{RowSet::all(input.num_rows()), exec::one_segment(input.num_rows())};
  return gather(execution, {input, {}, false}, all, std::move(rows));
}

/// The rows that a scan of the columns ranks, without keys in memory; nothing where it cannot.
std::optional<Vector<RowId>> rank_in_one_pass(Execution& execution, const exec::DeviceScan& scan, const Table& input) {
  PlanNode& order = *execution.plan.operators.order;
  exec::Report report;
  auto rows = timed(execution, execution.timing.compute_ms, order,
                    [&] { return exec::rank_scan(execution.query(), scan, input, execution.runtime, order, report); });
  if (!rows) return std::nullopt;
  for (auto* node : {&execution.plan.operators.filter, &execution.plan.operators.rank_keys}) {
    if (*node) (*node)->reason = "in one pass with the ranking";
  }
  book(execution, order, report, *order.measured_ms);
  return rows;
}

/// The rows of a ranking by keys that a scan of the columns made, filter and all.
Vector<RowId> rank_after_scan(Execution& execution, const kernels::ColumnScan& scan, std::int64_t n) {
  exec::Operators& operators = execution.plan.operators;
  const auto keys = timed(execution, execution.timing.keys_ms, *operators.rank_keys,
                          [&] { return kernels::cuda::scan_keys(scan, static_cast<std::size_t>(n)); });
  const auto passing = static_cast<std::int64_t>(keys.passing);
  operators.rank_keys->measured_rows = passing;
  if (operators.filter) {
    operators.filter->measured_rows = passing;
    operators.filter->reason = "in one pass with the keys";
  }
  exec::Report report;
  Vector<RowId> rows = timed(execution, execution.timing.compute_ms, *operators.order, [&] {
    return exec::rank_scanned(execution.query(), keys, n, execution.runtime, *operators.order, report);
  });
  book(execution, *operators.order, report, *operators.order->measured_ms);
  return rows;
}

/// The best rows of a table by a ranking that scans the columns on the device, filter and all; nothing where the query
/// is no such scan.
std::optional<Result> rank_scanned(Execution& execution, const Table& input) {
  const BoundQuery& query = execution.query();
  const std::int64_t n = input.num_rows();
  if (!execution.session || n == 0) return std::nullopt;
  exec::RuleLog& rules = execution.plan.rules;
  if (!rules.rules().has(exec::Rule::device_scan)) return std::nullopt;
  rules.left_out(exec::Rule::device_scan, "the query is more than what a scan of columns can do");
  if (!exec::FusedKeys::fits(query, input)) return std::nullopt;
  exec::Operators& operators = execution.plan.operators;
  operators.scan.measured_rows = n;
  const auto scan = timed(execution, execution.timing.keys_ms, *operators.rank_keys,
                          [&] { return exec::match_scan(*execution.session, query, input); });
  if (!scan.columns && !scan.computed) return std::nullopt;
  auto rows = rank_in_one_pass(execution, scan, input);
  if (rows) {
    rules.applied(exec::Rule::device_scan, scan.columns ? "filter, score and ranking in one pass over the columns"
                                                        : "filter, score and ranking in one pass of programs");
  } else {
    if (!scan.columns || !scan.columns->leaves_greatest_key()) return std::nullopt;
    rules.applied(exec::Rule::device_scan, "filter and keys of a ranking by columns");
    rows = rank_after_scan(execution, *scan.columns, n);
  }
  operators.order->measured_rows = static_cast<std::int64_t>(rows->size());
  const Candidates all{RowSet::all(n), exec::one_segment(n)};
  return gather(execution, {input, {}, false}, all, std::move(*rows));
}

/// The first of a skyline among its contenders; nothing where these turn out to be too few.
std::optional<Result> rank_contenders(Execution& execution, const Table& input) {
  exec::PhysicalPlan& plan = execution.plan;
  if (!plan.contenders) return std::nullopt;
  exec::Operators& operators = plan.operators;
  operators.scan.measured_rows = input.num_rows();
  const auto path = planner::choose(*plan.contenders, plan.constraints, exec::with_memory_left(plan.machine),
                                    exec::contenders_statistics(plan));
  exec::Report report;
  auto found = timed(execution, execution.timing.compute_ms, *operators.contenders, [&] {
    return exec::find_contenders(execution.query(), input, *plan.contenders, path, execution.runtime, report);
  });
  exec::describe_path(path, *operators.contenders);
  book(execution, *operators.contenders, report, *operators.contenders->measured_ms);
  if (found) {
    const bool all = found->all;
    const std::size_t count = found->rows.size();
    operators.contenders->measured_rows = static_cast<std::int64_t>(count);
    const auto known = std::exchange(execution.runtime.preference, exec::skyline_of_contenders(plan));
    const auto share = std::exchange(execution.share, {});
    const Source source{input, {}, false};
    const auto n = static_cast<std::int64_t>(count);
    const Candidates best = prefer(execution, source, RowSet::listed(std::move(found->rows)), exec::one_segment(n));
    const exec::Window window = exec::window_of(execution.query());
    if (all || best.rows.size() >= window.end(input.num_rows())) {
      return gather(execution, source, best, rank(execution, source, best));
    }
    execution.runtime.preference = known;
    execution.share = share;
    plan.rules.left_out(exec::Rule::skyline_top_k, "in vain: of " + std::to_string(count) + " contenders " +
                                                       std::to_string(best.rows.size()) + " are in the skyline");
  } else {
    plan.rules.left_out(exec::Rule::skyline_top_k, "in vain: contenders have infinite, NaN or NULL scores");
  }
  operators.contenders.reset();
  return std::nullopt;
}

/// Lets the query have keys of earlier ones, and leave its own for later ones.
void share_keys(Execution& execution, const Table& input, exec::SharedKeys& shared) {
  const exec::PhysicalPlan& plan = execution.plan;
  if (!plan.operators.skyline_keys && !plan.operators.rank_keys) return;
  exec::RuleLog& rules = execution.plan.rules;
  if (!rules.rules().has(exec::Rule::shared_keys)) return;
  if (shared.most_bytes() == 0 || input.surveys() == nullptr) {
    return rules.left_out(exec::Rule::shared_keys, "the engine was told to keep none");
  }
  if (plan.operators.group || plan.operators.missing) {
    return rules.left_out(exec::Rule::shared_keys, "the rows are not those of a condition alone");
  }
  const bool filtered = plan.operators.filter && !plan.operators.filter_last;
  const std::string rows = filtered ? execution.query().condition->text : "";
  execution.share = exec::KeyShare(shared, {input.surveys()->table(), rows});
}

/// Says how many columns and keys were there.
void note_sharing(Execution& execution) {
  const std::string where = execution.session ? " on the GPU" : "";
  if (const auto& session = execution.session; session && session->shares()) {
    execution.plan.rules.applied(exec::Rule::device_columns, std::to_string(session->columns_found()) + " of " +
                                                                 std::to_string(session->columns()) +
                                                                 " were there from earlier queries");
  }
  const exec::KeyShare& share = execution.share;
  if (!share.is_on()) return;
  const std::string all = std::to_string(share.found() + share.made());
  if (share.found() > 0) {
    execution.plan.rules.applied(exec::Rule::shared_keys, std::to_string(share.found()) + " of " + all +
                                                              " were there from earlier queries" + where);
  } else if (share.made() > 0) {
    execution.plan.rules.applied(exec::Rule::shared_keys, all + " made and kept for later queries" + where);
  }
}

Result execute(Execution& execution, const Table& input) {
  if (execution.plan.fused) return rank_fused(execution, input);
  if (auto result = rank_scanned(execution, input)) return std::move(*result);
  if (auto result = rank_contenders(execution, input)) return std::move(*result);
  RowSet rows = filter_rows(execution, input);
  const Source source = group_rows(execution, input, rows);
  rows = apply_missing_rules(execution, source, std::move(rows));
  Segments segments = partition_rows(execution, source, rows);
  const Candidates candidates =
      filter_last(execution, source, prefer(execution, source, std::move(rows), std::move(segments)));
  return gather(execution, source, candidates, rank(execution, source, candidates));
}

// ---- Devices ----

bool has_cuda_algorithms() {
  const auto is_cuda = [](const auto* algorithm) { return algorithm->device == kernels::Device::cuda; };
  return std::ranges::any_of(kernels::skyline_algorithms(), is_cuda) ||
         std::ranges::any_of(kernels::topk_algorithms(), is_cuda);
}

void require_cuda() {
  const kernels::cuda::Devices found = kernels::cuda::find_devices();
  if (found.devices.empty()) throw DeviceError("device cuda was asked for, but there is none: " + found.reason);
}

/// Whether CUDA paths are in the running. Drivers are asked only where there is something to run on a device.
bool cuda_takes_part(DeviceChoice device) {
  if (device == DeviceChoice::cpu || !has_cuda_algorithms()) return false;
  return !kernels::cuda::find_devices().devices.empty();
}

std::optional<kernels::Device> device_constraint(DeviceChoice device, bool cuda) {
  if (device == DeviceChoice::cuda) return kernels::Device::cuda;
  if (device == DeviceChoice::cpu || !cuda) return kernels::Device::cpu;
  return std::nullopt;
}

/// Says why `device: auto` did not mean more than the CPU.
std::string device_note(DeviceChoice device, bool cuda) {
  if (device != DeviceChoice::automatic || cuda) return {};
  return has_cuda_algorithms()
             ? "device auto: the CPU, as there is no usable GPU (" + kernels::cuda::find_devices().reason + ")"
             : "device auto: the CPU, as no CUDA algorithm is registered in this version";
}

void note_device_choice(exec::RuleLog& rules, DeviceChoice device, bool cuda) {
  if (device != DeviceChoice::automatic) {
    rules.left_out(exec::Rule::device_choice, "the device was asked for");
  } else if (cuda) {
    rules.applied(exec::Rule::device_choice, "paths of both are in the running");
  } else {
    rules.left_out(exec::Rule::device_choice, "there is no usable GPU");
  }
}

// ---- The planner's surroundings ----

double host_bytes() {
  static const double kBytes =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE));
  return kBytes > 0 ? kBytes : std::numeric_limits<double>::infinity();
}

double device_bytes() {
  static const double kBytes = static_cast<double>(kernels::cuda::find_devices().devices.front().memory_bytes);
  return kBytes;
}

/// The profile that the caller names, or else the user's own, which the engine can do without.
std::optional<planner::Profile> profile_of(const EngineOptions& options, std::vector<std::string>& warnings) {
  const std::optional<std::filesystem::path> file = options.profile ? options.profile : planner::profile_file();
  if (!file || file->empty()) return std::nullopt;
  std::error_code error;
  if (!std::filesystem::exists(*file, error)) {
    if (!options.profile) return std::nullopt;
    throw ResourceError("there is no such profile", {file->string()});
  }
  const kernels::cuda::Devices gpus = kernels::cuda::find_devices();
  try {
    return planner::read_profile(*file, planner::cpu_name(), gpus.devices.empty() ? "" : gpus.devices.front().name);
  } catch (const planner::BadProfile& bad) {
    if (options.profile) throw ResourceError(bad.reason, {bad.source});
    warnings.push_back(std::string(ResourceError(bad.reason, {bad.source}).what()) + "; planning with built-in prices");
    return std::nullopt;
  }
}

/// In a unit that people read, rounded up.
std::string amount(double bytes) {
  const bool small = bytes < 1e6;
  return format_number(std::ceil(bytes / (small ? 1e2 : 1e5)) / 10) + (small ? " kB" : " MB");
}

std::optional<std::chrono::milliseconds> time_limit(const Query& query, const RunOptions& options) {
  if (query.time_limit && options.timeout) return std::min(*query.time_limit, *options.timeout);
  return query.time_limit ? query.time_limit : options.timeout;
}

/// Stops one query when its caller asks or its time is over, and knows its current phase for the error.
class Limits {
 public:
  Limits(const Query& query, const RunOptions& options, exec::Timer& timer)
      : timeout_(time_limit(query, options)), caller_(options.stop) {
    if (!timeout_) return;
    if (timeout_->count() < 1) throw QueryError("a time limit must be at least 1 ms", query.location);
    source_ = std::stop_source();
    forward_.emplace(caller_, [this] { source_.request_stop(); });
    alarm_.emplace(timer, exec::Timer::Clock::now() + *timeout_, source_);
  }

  /// The caller's token or, with a time limit, one that stops when the time is over too.
  std::stop_token stop() const { return timeout_ ? source_.get_token() : caller_; }

  /// Throws for a query that was stopped.
  [[noreturn]] void fail(const Query& query) const {
    if (caller_.stop_requested() || !timeout_) throw CancelledError("the query was cancelled", query.location);
    const std::string name = query.name.empty() ? "" : " '" + query.name + "'";
    throw TimeoutError(
        "the query" + name + " took longer than its time limit of " + to_string(*timeout_) + ", and was at: " + phase,
        query.location);
  }

  std::string phase = "waiting for the engine's threads";

 private:
  std::optional<std::chrono::milliseconds> timeout_;
  std::stop_token caller_;
  std::stop_source source_{std::nostopstate};
  std::optional<std::stop_callback<std::function<void()>>> forward_;
  std::optional<exec::Timer::Alarm> alarm_;
};

/// Turns what may come out of the layers below into the errors of the public API.
template <class F>
auto guarded(const Query& query, const Limits& limits, const F& f) {
  try {
    return f();
  } catch (const planner::NoPath& none) {
    throw BindError(none.reason, query.location);
  } catch (const kernels::Cancelled&) {
    limits.fail(query);
  } catch (const kernels::cuda::OutOfMemory& failure) {
    throw ResourceError(failure.what(), query.location);
  } catch (const kernels::cuda::Failure& failure) {
    throw DeviceError(failure.what(), query.location);
  } catch (const std::bad_alloc&) {
    throw ResourceError("out of memory while answering the query", query.location);
  }
}

}  // namespace

// ---- The engine ----

struct Engine::State {
  explicit State(const EngineOptions& engine_options)
      : options(engine_options),
        workers(options.threads),
        arena(workers.count()),
        cuda(cuda_takes_part(options.device)),
        rules(exec::without({}, options.without)) {
    if (auto profile = profile_of(options, warnings)) prices.emplace(std::move(*profile));
    if (options.memory_bytes == 0) return;
    memory = std::make_shared<kernels::MemoryAccount>(options.memory_bytes, [this] { shared_keys.drop_all(); });
  }

  /// bind -> logical plan -> physical plan, whose kernels still have to get their paths.
  exec::PhysicalPlan plan(const Query& query, const Table& table, const RunOptions& run = {}) const {
    query::refuse_unsupported(query, table.unsupported());
    BoundQuery bound = query::bind(query, query::schema_of(table));
    exec::check_forced(query);
    const exec::Rules allowed = exec::without(rules, bound.path.without, bound.path.locations, query.location);
    const DeviceChoice device = bound.path.device == DeviceChoice::automatic ? options.device : bound.path.device;
    if (bound.path.device == DeviceChoice::cuda) require_cuda();
    const bool with_cuda =
        cuda && device != DeviceChoice::cpu && (device == DeviceChoice::cuda || allowed.has(exec::Rule::device_choice));
    const planner::Constraints constraints{device_constraint(device, with_cuda),
                                           bound.path.algorithms,
                                           {bound.path.parameters.begin(), bound.path.parameters.end()}};
    const planner::Machine machine{.threads = arena.max_concurrency(),
                                   .cuda = with_cuda,
                                   .host_bytes = most_bytes(),
                                   .host_limited = memory != nullptr,
                                   .device_bytes = with_cuda ? device_bytes() : 0,
                                   .prices = prices ? &*prices : nullptr};
    const int sharers = options.share_columns ? 1 + std::max(0, run.later_queries) : 0;
    exec::PhysicalPlan made =
        exec::make_plan(std::move(bound), table, query.table, constraints, machine, allowed, sharers);
    made.operators.gather.reason = device_note(device, cuda);
    note_device_choice(made.rules, device, cuda);
    return made;
  }

  Result answer(const Query& query, const Table& table, const RunOptions& run, Limits& limits) const {
    limits.phase = "planning";
    const std::stop_token stop = limits.stop();
    const exec::StopScope stops(stop);
    exec::check(stop);
    const exec::QueryMemory columns;
    kernels::TransferTally tally;
    const kernels::TallyScope tallied(&tally);
    exec::Stopwatch total;
    exec::Stopwatch watch;
    exec::PhysicalPlan planned = plan(query, table, run);
    exec::Runtime runtime;
    runtime.constraints = planned.constraints;
    runtime.machine = planned.machine;
    runtime.context.count_work = run.count_work;
    runtime.context.stop = stop;
    runtime.preference = planned.survey.preference;
    runtime.ranking = planned.survey.ranking;
    runtime.preference.unsent = runtime.ranking.unsent = 0;  // when paths are chosen again, the columns are there
    runtime.rules = planned.rules.rules();
    Execution execution{std::move(planned), std::move(runtime), {}, {}};
    execution.phase = &limits.phase;
    if (execution.plan.on_device) execution.session.emplace(execution.plan.sharers > 0);
    share_keys(execution, table, execution.session ? shared_device_keys : shared_keys);
    execution.timing.bind_ms = watch.lap();
    Result result = execute(execution, table);
    note_sharing(execution);
    result.plan = exec::tree(std::move(execution.plan.operators), execution.plan.rules);
    result.work = execution.work;
    result.transferred = {tally.bytes().to_device, tally.bytes().from_device};
    result.timing = execution.timing;
    result.timing.total_ms = total.lap();
    return result;
  }

  /// Of the GPU's memory a quarter, as long as keys are kept at all.
  std::size_t most_device_key_bytes() const {
    constexpr double kShare = 4;
    if (!cuda || options.shared_key_bytes == 0) return 0;
    return static_cast<std::size_t>(device_bytes() / kShare);
  }

  /// Bytes that a query may take: those of the account of its thread, where the engine has a limit.
  double most_bytes() const {
    if (memory == nullptr) return host_bytes();
    const kernels::MemoryAccount* const account = kernels::current_account();
    return std::min(host_bytes(), static_cast<double>((account != nullptr ? account : memory.get())->limit()));
  }

  /// Answers a query within the engine's limit of memory.
  Result answer_counted(const Query& query, const Table& table, const RunOptions& run, Limits& limits) const {
    const std::size_t before = memory == nullptr ? 0 : memory->used();
    try {
      const kernels::AccountScope counted(memory.get());
      try {
        return answer(query, table, run, limits);
      } catch (const kernels::cuda::OutOfMemory&) {  // of the GPU, where kept keys must not stand in a query's way
        if (shared_device_keys.bytes() == 0) throw;
        shared_device_keys.drop_all();
      }
      return answer(query, table, run, limits);
    } catch (const kernels::OverLimit& over) {
      throw ResourceError(over_limit(query, table, run, limits, over, before), query.location);
    } catch (const std::bad_alloc&) {
      throw ResourceError("out of memory while answering the query, which is expected to need about " +
                              amount(memory_needed(query, table)) + " beside its table",
                          query.location);
    }
  }

  std::string over_limit(const Query& query, const Table& table, const RunOptions& run, Limits& limits,
                         const kernels::OverLimit& over, std::size_t before) const {
    const auto in_use = static_cast<double>(std::min(before, over.used));
    const double reached = static_cast<double>(over.used + over.asked) - in_use;
    const double needed = memory_measured(query, table, run, limits, reached);
    std::string text = "the query needs about " + amount(std::max(needed, reached)) +
                       " beside its table, and the engine's limit of memory is " +
                       amount(static_cast<double>(over.limit));
    if (in_use > 0) text += ", of which other queries and what is kept for later ones had " + amount(in_use);
    return text;
  }

  /// Bytes that the search for a refused query's need may take: half of what is left, but never less than a fixed
  /// amount where the limit is low, as samples that fit a few kilobytes say nothing.
  std::size_t room_to_measure() const {
    constexpr std::size_t kLowest = std::size_t{8} << 20;
    constexpr std::size_t kHighest = std::size_t{64} << 20;  // more would take long
    if (memory->limit() < 2 * kLowest) return kLowest;
    return std::min(memory->left() / 2, kHighest);
  }

  /// About how many bytes suffice for a query of which it is known that it needs more than `reached`.
  double memory_measured(const Query& query, const Table& table, const RunOptions& run, Limits& limits,
                         double reached) const {
    const double expected = memory_needed(query, table);
    const auto run_within = [&](const Query& tried, const Table& rows, std::size_t limit) {
      return reached_within(tried, rows, run, limits, limit);
    };
    try {
      const std::stop_token stop = limits.stop();
      const exec::StopScope stops(stop);
      const std::size_t room = room_to_measure();
      const kernels::AccountScope counted(memory.get());
      kernels::Charge held;
      if (memory->limit() > room) held.add(std::min(room, memory->left()));
      const kernels::AccountScope uncounted(nullptr);
      constexpr double kSlackPerThread = 128 << 10;
      const NeedSearch search{.room = room,
                              .known = reached,
                              .expected = expected,
                              .slack = kSlackPerThread * arena.max_concurrency(),
                              .algorithms = skyline_algorithm(query, table)};
      return measured_need(query, table, search, run_within).value_or(expected);
    } catch (const kernels::Cancelled&) {  // the refusal came before the stop
    } catch (const std::exception&) {      // no run is there to report errors of samples
    }
    return expected;
  }

  /// The algorithm that the planner would take with enough memory, where all that matters is one skyline of the table.
  std::vector<std::string> skyline_algorithm(const Query& query, const Table& table) const {
    const bool is_one_skyline = query.preference && !query.num_levels && !query.at_least_rows &&
                                query.ranking.empty() && query.group_columns.empty() && query.aggregates.empty() &&
                                query.partition_columns.empty() && query.path.algorithms.empty();
    if (!is_one_skyline) return {};
    const auto enough = std::make_shared<kernels::MemoryAccount>(std::numeric_limits<std::int64_t>::max());
    const kernels::AccountScope counted(enough.get());
    exec::PhysicalPlan planned = plan(query, table);
    exec::choose_paths(planned);
    const auto find = [](const auto& self, const PlanNode& node) -> std::vector<std::string> {
      if (!node.algorithm.empty()) return {node.algorithm};
      for (const PlanNode& child : node.children) {
        if (auto found = self(self, child); !found.empty()) return found;
      }
      return {};
    };
    return find(find, exec::tree(std::move(planned.operators), planned.rules));
  }

  /// Runs a query within a limit of its own. Returns nothing if it succeeds, else the bytes at which it was refused.
  std::optional<std::size_t> reached_within(const Query& query, const Table& table, const RunOptions& run,
                                            Limits& limits, std::size_t limit) const {
    const auto account = std::make_shared<kernels::MemoryAccount>(limit, [this] { shared_keys.drop_all(); });
    std::optional<std::size_t> reached;
    try {
      const kernels::AccountScope counted(account.get());
      answer(query, table, run, limits);
    } catch (const kernels::OverLimit& over) {
      reached = over.used + over.asked;
    } catch (const planner::NoPath&) {  // fits the limit
      reached = limit;
    }
    shared_keys.drop_all();  // those of this run are on its account
    return reached;
  }

  /// About how many bytes a query takes beside its table; for the message that there are too few.
  double memory_needed(const Query& query, const Table& table) const {
    exec::PhysicalPlan planned = plan(query, table);
    exec::choose_paths(planned);
    const auto sum = [](const auto& self, const PlanNode& node) -> double {
      double bytes = node.predicted_bytes;
      for (const PlanNode& child : node.children) bytes += self(self, child);
      return bytes;
    };
    return sum(sum, exec::tree(std::move(planned.operators), planned.rules));
  }

  EngineOptions options;
  std::vector<std::string> warnings;
  kernels::WorkerThreads workers;
  mutable tbb::task_arena arena;  // execute() may be called from several threads at once
  mutable exec::Admission admission{arena};
  mutable exec::Timer timer;
  bool cuda = false;
  std::optional<planner::PriceList> prices;  ///< none: those of the built-in profile
  exec::Rules rules;
  std::shared_ptr<kernels::MemoryAccount> memory;  // null: no limit; outlives what is counted on it
  mutable exec::SharedKeys shared_keys{options.shared_key_bytes};
  mutable exec::SharedKeys shared_device_keys{most_device_key_bytes()};
};

Engine::Engine(EngineOptions options) {
  if (options.threads < 0) {
    throw ResourceError("an engine needs 0 (all cores) or more threads, not " + std::to_string(options.threads));
  }
  if (options.device == DeviceChoice::cuda) require_cuda();
  state_ = std::make_unique<const State>(options);
}

Engine::~Engine() = default;
Engine::Engine(Engine&&) noexcept = default;
Engine& Engine::operator=(Engine&&) noexcept = default;

const std::vector<std::string>& Engine::warnings() const { return state_->warnings; }

Result Engine::run(const Query& query, const Table& table, const RunOptions& options) const {
  Limits limits(query, options, state_->timer);
  return guarded(query, limits, [&] {
    std::optional<Result> result;
    state_->admission.run(limits.stop(), [&] { result = state_->answer_counted(query, table, options, limits); });
    return std::move(*result);
  });
}

Table Engine::pin(const Table& table, Pin when) const {
  return guarded({}, Limits({}, {}, state_->timer), [&] {
    require_cuda();
    Table pinned = exec::kept_on_device(table);
    if (when == Pin::now) exec::bring_to_device(pinned);
    return pinned;
  });
}

void Engine::check(const Query& query, const Table& table) const { explain(query, table); }

PlanNode Engine::explain(const Query& query, const Table& table, const RunOptions& options) const {
  Limits limits(query, options, state_->timer);
  return guarded(query, limits, [&] {
    std::optional<PlanNode> tree;
    state_->admission.run(limits.stop(), [&] {
      limits.phase = "planning";
      const std::stop_token stop = limits.stop();
      const exec::StopScope stops(stop);
      exec::check(stop);
      const kernels::AccountScope counted(state_->memory.get());
      exec::PhysicalPlan plan = state_->plan(query, table, options);
      exec::choose_paths(plan);
      tree = exec::tree(std::move(plan.operators), plan.rules);
    });
    return std::move(*tree);
  });
}

std::vector<std::string> Engine::columns_read(const Query& query, const std::vector<std::string>& table_columns) {
  return query::columns_read(query, table_columns);
}

namespace {

template <class Algorithm>
AlgorithmInfo info_of(const Algorithm& algorithm) {
  AlgorithmInfo info{.name = std::string(algorithm.name),
                     .problem = std::string(Algorithm::problem),
                     .device = algorithm.device == kernels::Device::cpu ? "cpu" : "cuda",
                     .summary = std::string(algorithm.summary),
                     .source = std::string(algorithm.source),
                     .parameters = {}};
  for (const kernels::Parameter& parameter : algorithm.parameters) {
    info.parameters.push_back({std::string(parameter.name), std::string(parameter.description), parameter.min,
                               parameter.max, parameter.default_value});
  }
  return info;
}

}  // namespace

std::vector<RuleInfo> rules() {
  std::vector<RuleInfo> all;
  for (const exec::RuleEntry& entry : exec::all_rules()) {
    all.push_back({std::string(entry.name), std::string(entry.summary)});
  }
  return all;
}

std::vector<AlgorithmInfo> algorithms() {
  std::vector<AlgorithmInfo> all;
  for (const auto* algorithm : kernels::skyline_algorithms()) all.push_back(info_of(*algorithm));
  for (const auto* algorithm : kernels::topk_algorithms()) all.push_back(info_of(*algorithm));
  return all;
}

}  // namespace skyrank
