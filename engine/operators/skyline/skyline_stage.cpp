#include "engine/operators/skyline/skyline_stage.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "engine/operators/gather/gather.hpp"
#include "engine/operators/skyline/device_levels.hpp"
#include "engine/operators/skyline/levels.hpp"
#include "engine/operators/skyline/skyband.hpp"
#include "engine/operators/skyline/skyline.hpp"
#include "engine/operators/skyline/skyline_plan.hpp"
#include "kernels/cuda/expression/columns.hpp"
#include "planner/sampling.hpp"

namespace skyrank::exec {
namespace {

Vector<std::int64_t> in_order(const Vector<std::int64_t>& values, const Vector<std::int64_t>& order) {
  Vector<std::int64_t> ordered(values.size());
  std::ranges::transform(order, ordered.begin(), [&](std::int64_t i) { return values[static_cast<std::size_t>(i)]; });
  return ordered;
}

/// The candidates that a preference keeps, ascending, and their segments. `places` gets where each is among the keys.
Candidates narrow(const Candidates& all, Kept kept, Vector<std::int64_t>* places) {
  Vector<std::int64_t> positions = std::move(kept.rows);
  if (places != nullptr) *places = positions;
  if (!all.segments.order.empty()) {
    for (std::int64_t& position : positions) position = all.segments.at(position);
  }
  const bool have_levels = !kept.levels.empty();
  const Vector<std::int64_t> order = ascending_order(positions);
  if (order.empty()) {
    return {RowSet::listed(all.rows.is_all() ? std::move(positions) : all.rows.at(positions)),
            {std::move(kept.bounds), {}},
            have_levels ? ParetoLevels(std::move(kept.levels)) : ParetoLevels()};
  }
  Vector<std::int64_t> ordered(positions.size());
  Candidates result{RowSet::all(0), {std::move(kept.bounds), Vector<std::int64_t>(order.size())}};
  Vector<std::int32_t> levels(positions.size());
  if (places != nullptr) *places = in_order(*places, order);
  for (std::size_t i = 0; i < positions.size(); ++i) {
    ordered[i] = positions[order[i]];
    levels[i] = have_levels ? kept.levels[order[i]] : 1;
    result.segments.order[order[i]] = static_cast<std::int64_t>(i);
  }
  result.rows = RowSet::listed(all.rows.at(ordered));
  result.levels = ParetoLevels(std::move(levels));
  return result;
}

/// The same of rows on the device, in the order of the segments.
Candidates narrow(const Candidates& all, DeviceKept kept, Vector<std::int64_t>* places) {
  const std::int64_t n = kept.bounds.back();
  kernels::cuda::DeviceArray ids = std::move(kept.rows);
  if (places != nullptr) {
    places->resize(static_cast<std::size_t>(n));
    kernels::cuda::read_array(places->data(), ids.data(), places->size() * sizeof(std::int64_t));
  }
  const auto look_up = [&](const RowId* list) {
    ids = kernels::cuda::expression::take_keys(
        {list, kernels::KeyWidth::bytes8}, static_cast<const std::int64_t*>(ids.data()), static_cast<std::size_t>(n));
  };
  if (!all.segments.order.empty()) {
    const kernels::cuda::DeviceArray order(all.segments.order.data(), all.segments.order.size() * sizeof(std::int64_t));
    look_up(static_cast<const RowId*>(order.data()));
  }
  if (!all.rows.is_all()) look_up(all.rows.device_ids());
  ParetoLevels levels = kept.levels.bytes() == 0 ? ParetoLevels() : ParetoLevels(n, std::move(kept.levels));
  return {RowSet::on_device(n, std::move(ids)), {std::move(kept.bounds), {}}, std::move(levels)};
}

/// Returns true if the skyline's rows should stay on the device and can.
bool keeps_rows_there(const Execution& execution, const SkylineKeys& keys, const Segments& segments,
                      SkylineSolver& solver) {
  if (!execution.plan.rows_on_device || !can_keep_on_device(keys, level_rule(execution.query()))) {
    return false;
  }
  return solver.path(0, keys.steps[0].width, largest(segments)).algorithm->device == kernels::Device::cuda;
}

/// The predicted time of all levels, in place of that of the first. What was done is told in place of what was
/// expected.
void price_all_levels(const PhysicalPlan& plan, PathDescription& path, std::int64_t n,
                      const planner::Statistics& statistics) {
  const kernels::SkylineShape shape = shape_of(plan.preference->steps[0], kernels::KeyWidth::bytes4, n);
  const std::string reason = path.reason;
  price_levels(path, plan, static_cast<double>(n), planner::skyline_rows(shape, statistics));
  path.reason = reason;
}

void book_steps(Execution& execution, SkylineSolver& solver, const SkylineKeys& keys, const StepReports& reports,
                const Segments& segments, double stage_ms, const planner::Statistics& statistics) {
  double sum = 0;
  for (const Report& report : reports) sum += report.ms;
  std::int64_t n = largest(segments);
  for (std::size_t s = 0; s < reports.size(); ++s) {
    const Operator& step = execution.plan.operators.skyline[s];
    PathDescription path = describe_path(solver.path(s, keys.steps[s].width, n));
    if (s == 0) price_all_levels(execution.plan, path, n, statistics);
    price_repeated(path, segments_to_solve(segments), execution.context.machine.threads);
    if (const std::string struck = describe(reports[s].guard); !struck.empty()) {
      path.guard += (path.guard.empty() ? "" : "; ") + struck;
    }
    execution.record.of(step).path = std::move(path);
    const double share = sum > 0 ? reports[s].ms / sum : 1 / static_cast<double>(reports.size());
    execution.book(step, reports[s], stage_ms * share);
    n = std::min(n, reports[s].rows);
  }
}

/// Says which levels were found by another path than the first, and which at once.
void note_levels(Execution& execution, const LowerLevels& lower, const AtOnce& at_once, const Segments& segments) {
  std::string& reason = execution.record.of(execution.plan.operators.skyline.front()).path->reason;
  if (lower.algorithm != nullptr) reason += "; " + describe_lower_levels(*lower.algorithm, lower.from);
  if (at_once.segments == 0) return;
  reason += "; " + describe_at_once(execution.plan, at_once.from);
  if (segments.count() > 1) reason += ", in " + std::to_string(at_once.segments) + " partitions";
}

}  // namespace

namespace {

/// Returns the rows of the query's skyband.
Candidates keep_band(Execution& execution, const Candidates& all, const SkylineKeys& keys,
                     const ExecutionContext& context, Vector<std::int64_t>* places) {
  const query::BoundQuery& query = execution.query();
  const Operator& op = execution.plan.operators.skyline.back();
  Report report;
  const bool counts = *query.skyband != kAllRows;
  const SkybandRule rule{*query.skyband, query.distinct, query.asks_for_levels(), execution.plan.counts_on_device};
  Candidates kept = execution.timed(op, [&] {
    Candidates band = narrow(all, keep_skyband(keys, all.segments.bounds, rule, context, report), places);
    if (!rule.with_levels) band.levels = ParetoLevels::not_found();
    return band;
  });
  report.rows = kept.rows.size();
  execution.book(op, report);
  if (counts) execution.record.of(op).note = describe_counting(keys, rule.on_device);
  return kept;
}

/// Returns the rows of the query's skyline or levels.
Candidates keep_levels(Execution& execution, const Candidates& all, const SkylineKeys& keys,
                       const ExecutionContext& context, Vector<std::int64_t>* places) {
  SkylineSolver solver(*execution.plan.preference, context, largest(all.segments));
  StepReports reports(solver.num_steps());
  const Operator& last = execution.plan.operators.skyline.back();
  LowerLevels lower;
  AtOnce at_once;
  Candidates kept = execution.timed(last, [&] {
    const LevelRule rule = level_rule(execution.query());
    if (keeps_rows_there(execution, keys, all.segments, solver)) {
      auto there = keep_best_on_device(keys, all.segments.bounds, rule, solver, reports[0]);
      if (there) return narrow(all, std::move(*there), places);
      reports.assign(reports.size(), {});
    }
    Kept best = keep_best(keys, all.segments.bounds, rule, solver, reports);
    lower = best.lower;
    at_once = best.at_once;
    return narrow(all, std::move(best), places);
  });
  book_steps(execution, solver, keys, reports, all.segments, *execution.record.of(last).ms, context.preference);
  note_levels(execution, lower, at_once, all.segments);
  execution.record.of(last).rows = kept.rows.size();
  return kept;
}

}  // namespace

Candidates prefer(Execution& execution, const SourceTable& source, RowSet rows, Segments segments,
                  const ExecutionContext& context, KeyShare* share, ChosenFrom* from) {
  Candidates all{std::move(rows), std::move(segments)};
  if (!execution.plan.preference) return all;
  const Operators& operators = execution.plan.operators;
  SkylineKeys keys = execution.timed(*operators.skyline_keys, [&] {
    SkylineKeys made = make_skyline_keys(*execution.plan.preference, source.table, all.rows, execution.device(), share);
    return all.segments.order.empty() ? made : take(made, all.segments.order);
  });
  execution.record.of(*operators.skyline_keys).rows = keys.n;
  const bool measures = from != nullptr && operators.measure;
  Vector<std::int64_t>* const places = measures ? &from->places : nullptr;
  Candidates kept = execution.query().skyband ? keep_band(execution, all, keys, context, places)
                                              : keep_levels(execution, all, keys, context, places);
  if (measures) {
    from->rows = std::move(all.rows);
    from->segments = std::move(all.segments);
    from->keys = std::move(keys);
  }
  return kept;
}

}  // namespace skyrank::exec
