#include "engine/exec/levels.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "engine/exec/segment_tasks.hpp"

namespace skyrank::exec {
namespace {

/// Of rows that are equal in every step, the first; `rows` ascending before and after.
Vector<std::int64_t> drop_equal(const SkylineKeys& keys, const Vector<std::int64_t>& rows) {
  std::vector<Keys> columns;
  for (const StepKeys& step : keys.steps) columns.insert(columns.end(), step.columns.begin(), step.columns.end());
  const Runs runs = runs_of_equal(columns, rows);
  Vector<std::int64_t> first;
  for (std::size_t r = 0; r + 1 < runs.bounds.size(); ++r) first.push_back(runs.positions[runs.bounds[r]]);
  std::sort(first.begin(), first.end());
  return first;
}

struct Leveled {
  std::int64_t row;
  std::int32_t level;
};

/// The levels of one segment, in ascending order of rows.
class Leveling {
 public:
  Leveling(const LevelRule& rule, SkylineSolver& solver, StepReports& reports)
      : rule_(rule), solver_(solver), reports_(reports) {}

  Vector<Leveled> run(const SkylineKeys& keys) {
    take_level(keys, {});
    SkylineKeys rest;
    for (Vector<std::int64_t> rows = remaining_; !done() && !rows.empty(); rows = remaining_) {
      rest = take(keys, rows);
      take_level(rest, rows);
    }
    std::sort(kept_.begin(), kept_.end(), [](const Leveled& a, const Leveled& b) { return a.row < b.row; });
    return std::move(kept_);
  }

 private:
  bool done() const {
    if (rule_.at_least) return static_cast<std::int64_t>(kept_.size()) >= *rule_.at_least;
    return level_ == rule_.levels;
  }

  /// Keeps the best of `keys`, which are the segment's rows `rows` (none: all of them), and leaves the others for the
  /// next level.
  void take_level(const SkylineKeys& keys, const Vector<std::int64_t>& rows) {
    if (done()) return;
    ++level_;
    const auto row = [&](std::int64_t i) { return rows.empty() ? i : rows[i]; };
    const Vector<std::int64_t> best = solver_.best(keys, reports_);
    for (const std::int64_t i : rule_.distinct ? drop_equal(keys, best) : best) kept_.push_back({row(i), level_});
    remaining_.clear();
    if (done()) return;
    remaining_ = all_but(best, keys.n);
    for (std::int64_t& i : remaining_) i = row(i);
  }

  const LevelRule& rule_;
  SkylineSolver& solver_;
  StepReports& reports_;
  std::int32_t level_ = 0;
  Vector<Leveled> kept_;
  Vector<std::int64_t> remaining_;
};

void append(Kept& kept, std::span<const Leveled> rows, std::int64_t base) {
  for (const Leveled& leveled : rows) {
    kept.rows.push_back(base + leveled.row);
    kept.levels.push_back(leveled.level);
  }
  kept.bounds.push_back(static_cast<std::int64_t>(kept.rows.size()));
}

/// Joins what the tasks kept, in their order.
Kept join(Vector<Kept> parts) {
  Kept all{{}, {}, {0}};
  for (const Kept& part : parts) {
    const auto base = static_cast<std::int64_t>(all.rows.size());
    all.rows.insert(all.rows.end(), part.rows.begin(), part.rows.end());
    all.levels.insert(all.levels.end(), part.levels.begin(), part.levels.end());
    for (const std::int64_t bound : part.bounds) all.bounds.push_back(base + bound);
  }
  return all;
}

}  // namespace

LevelRule level_rule(const query::BoundQuery& query) {
  return {.levels = query.levels.value_or(1), .at_least = query.at_least, .distinct = query.distinct};
}

Kept keep_best(const SkylineKeys& keys, const Vector<std::int64_t>& bounds, const LevelRule& rule,
               SkylineSolver& solver, StepReports& reports) {
  const std::vector<SegmentTask> tasks = segment_tasks(bounds);
  Vector<Kept> kept(tasks.size());
  std::vector<StepReports> task_reports(tasks.size(), StepReports(solver.num_steps()));
  for_each_task(tasks, [&](std::size_t t) {
    for (std::int64_t s = tasks[t].begin; s < tasks[t].end; ++s) {
      if (bounds[s + 1] - bounds[s] == 1 && rule.at_least != 0) {  // a row alone: spare it the machinery
        append(kept[t], std::array{Leveled{0, 1}}, bounds[s]);
        for (Report& report : task_reports[t]) ++report.rows;
        continue;
      }
      Leveling leveling(rule, solver, task_reports[t]);
      append(kept[t], leveling.run(slice(keys, bounds[s], bounds[s + 1])), bounds[s]);
    }
  });
  for (const StepReports& part : task_reports) {
    for (std::size_t step = 0; step < part.size(); ++step) reports[step] += part[step];
  }
  return join(std::move(kept));
}

}  // namespace skyrank::exec
