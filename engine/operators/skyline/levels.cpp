#include "engine/operators/skyline/levels.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "engine/operators/segment_tasks.hpp"

// Keeps the rows of the first levels of a preference, segment by segment. A level is the skyline of the rows that the
// levels above have left; where enough levels are to come, the remaining ones are found all at once.
namespace skyrank::exec {
Vector<std::int64_t> drop_equal(const SkylineKeys& keys, const Vector<std::int64_t>& rows) {
  std::vector<Keys> columns;
  for (const StepKeys& step : keys.steps) columns.insert(columns.end(), step.columns.begin(), step.columns.end());
  const Runs runs = runs_of_equal(columns, rows);
  Vector<std::int64_t> first;
  for (std::size_t r = 0; r + 1 < runs.bounds.size(); ++r) first.push_back(runs.positions[runs.bounds[r]]);
  std::sort(first.begin(), first.end());
  return first;
}

namespace {

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
    LevelStrategy strategy = level_strategy(keys, solver_);
    take_level(keys, {}, strategy);
    SkylineKeys rest;
    for (Vector<std::int64_t> rows = remaining_; !done() && !rows.empty(); rows = remaining_) {
      rest = take(keys, rows);
      if (solver_.can_level_at_once(rest) &&
          strategy.prefers_at_once(static_cast<double>(rest.n), levels_left(), rows_left())) {
        take_all_levels(rest, rows);
        break;
      }
      take_level(rest, rows, strategy);
    }
    if (level_ > 1 || at_once_from_ > 0) {  // the rows of one level ascend
      std::sort(kept_.begin(), kept_.end(), [](const Leveled& a, const Leveled& b) { return a.row < b.row; });
    }
    return std::move(kept_);
  }

  /// The level from which on all were found at once; 0 if none were.
  std::int32_t at_once_from() const { return at_once_from_; }

  const LowerLevels& lower_levels() const { return lower_; }

 private:
  bool done() const {
    if (rule_.at_least) return static_cast<std::int64_t>(kept_.size()) >= *rule_.at_least;
    return level_ == rule_.levels;
  }

  double levels_left() const { return static_cast<double>(rule_.levels) - level_; }

  std::optional<double> rows_left() const {
    if (!rule_.at_least) return std::nullopt;
    return static_cast<double>(*rule_.at_least) - static_cast<double>(kept_.size());
  }

  /// Keeps the best of `keys`, which are the segment's rows `rows` (none: all of them), and leaves the others for the
  /// next level.
  void take_level(const SkylineKeys& keys, const Vector<std::int64_t>& rows, LevelStrategy& strategy) {
    if (done()) return;
    ++level_;
    const auto row = [&](std::int64_t i) { return rows.empty() ? i : rows[i]; };
    const Vector<std::int64_t> best = next_level(keys);
    if (rule_.distinct) {
      for (const std::int64_t i : drop_equal(keys, best)) kept_.push_back({row(i), level_});
    } else {
      if (kept_.empty()) kept_.reserve(best.size());
      for (const std::int64_t i : best) kept_.push_back({row(i), level_});
    }
    remaining_.clear();
    if (done()) return;
    strategy.took_level(static_cast<double>(keys.n), static_cast<double>(best.size()),
                        solver_.level_path(keys.steps[0].width, keys.n, step_rows_).seconds);
    remaining_ = all_but(best, keys.n);
    for (std::int64_t& i : remaining_) i = row(i);
  }

  /// The best of `keys`, below the level that was found before, if any.
  Vector<std::int64_t> next_level(const SkylineKeys& keys) {
    const kernels::KeyWidth width = keys.steps[0].width;
    if (step_rows_ > 0 && keys.n > 1) {
      const kernels::SkylineAlgorithm* const path = solver_.level_path(width, keys.n, step_rows_).algorithm;
      if (path != solver_.path(0, width, keys.n).algorithm) lower_.note(path, level_);
    }
    const std::int64_t before = reports_[0].rows;
    Vector<std::int64_t> best = solver_.best_level(keys, step_rows_, reports_);
    step_rows_ = reports_[0].rows - before;
    return best;
  }

  /// Keeps all levels of `keys`, which are the segment's rows `rows`, that the rule asks for.
  void take_all_levels(const SkylineKeys& keys, const Vector<std::int64_t>& rows) {
    const std::int64_t wanted =
        rule_.at_least ? *rule_.at_least - static_cast<std::int64_t>(kept_.size()) : rule_.levels - level_;
    const auto max_levels = static_cast<std::int32_t>(std::min(wanted, keys.n));
    const Vector<std::int32_t> levels = solver_.levels(keys, max_levels, reports_);
    Vector<std::int64_t> found;
    for (std::int64_t i = 0; i < keys.n; ++i) {
      if (levels[i] < max_levels) found.push_back(i);
    }
    if (rule_.distinct) found = drop_equal(keys, found);
    const std::int32_t end = rule_.at_least ? first_level_with(wanted, found, levels, max_levels) : max_levels;
    for (const std::int64_t i : found) {
      if (levels[i] < end) kept_.push_back({rows[i], level_ + 1 + levels[i]});
    }
    at_once_from_ = level_ + 1;
  }

  /// Returns the number of first levels that hold `wanted` of the rows `found` in all.
  static std::int32_t first_level_with(std::int64_t wanted, const Vector<std::int64_t>& found,
                                       const Vector<std::int32_t>& levels, std::int32_t max_levels) {
    Vector<std::int64_t> sizes(static_cast<std::size_t>(max_levels));
    for (const std::int64_t i : found) ++sizes[levels[i]];
    std::int32_t end = 0;
    for (std::int64_t sum = 0; end < max_levels && sum < wanted; ++end) sum += sizes[end];
    return end;
  }

  const LevelRule& rule_;
  SkylineSolver& solver_;
  StepReports& reports_;
  std::int32_t level_ = 0;
  std::int32_t at_once_from_ = 0;
  std::int64_t step_rows_ = 0;  ///< rows that the first step kept for the last level; 0 before there is one
  LowerLevels lower_;
  Vector<Leveled> kept_;
  Vector<std::int64_t> remaining_;
};

void append(Kept& kept, std::span<const Leveled> rows, std::int64_t base) {
  if (kept.rows.empty()) {
    kept.rows.reserve(rows.size());
    kept.levels.reserve(rows.size());
  }
  for (const Leveled& leveled : rows) {
    kept.rows.push_back(base + leveled.row);
    kept.levels.push_back(leveled.level);
  }
  kept.bounds.push_back(static_cast<std::int64_t>(kept.rows.size()));
}

}  // namespace

Kept join(Vector<Kept> parts) {
  if (parts.size() == 1) {
    parts.front().bounds.insert(parts.front().bounds.begin(), 0);
    return std::move(parts.front());
  }
  Kept all{.rows = {}, .levels = {}, .bounds = {0}};
  for (const Kept& part : parts) {
    const auto base = static_cast<std::int64_t>(all.rows.size());
    all.rows.insert(all.rows.end(), part.rows.begin(), part.rows.end());
    all.levels.insert(all.levels.end(), part.levels.begin(), part.levels.end());
    for (const std::int64_t bound : part.bounds) all.bounds.push_back(base + bound);
    all.lower.note(part.lower.algorithm, part.lower.from);
    all.at_once.note(part.at_once);
  }
  return all;
}

LevelRule level_rule(const query::BoundQuery& query) {
  return {.levels = query.levels.value_or(1), .at_least = query.at_least, .distinct = query.distinct};
}

LevelStrategy level_strategy(const SkylineKeys& keys, const SkylineSolver& solver) {
  constexpr double kSecondsPerByte = 1e-10;  // from a device
  const StepKeys& first = keys.steps.front();
  const auto dims = static_cast<double>(first.columns.size());
  const double row_bytes = dims * static_cast<double>(first.width);
  return {dims, solver.context().machine.threads, are_on_device(keys) ? row_bytes * kSecondsPerByte : 0};
}

Kept keep_best(const SkylineKeys& keys, const Vector<std::int64_t>& bounds, const LevelRule& rule,
               SkylineSolver& solver, StepReports& reports) {
  const bool is_one_skyline = bounds.size() == 2 && rule.levels == 1 && !rule.at_least && !rule.distinct;
  if (is_one_skyline) {
    Kept kept{.rows = solver.best(keys, reports), .levels = {}, .bounds = {0}};
    kept.bounds.push_back(static_cast<std::int64_t>(kept.rows.size()));
    return kept;
  }
  const std::vector<SegmentTask> tasks = segment_tasks(bounds);
  Vector<Kept> kept(tasks.size());
  const Report none{.guard = {.tasks = static_cast<std::int64_t>(tasks.size())}};
  std::vector<StepReports> task_reports(tasks.size(), StepReports(solver.num_steps(), none));
  for_each_task(tasks, [&](std::size_t t) {
    for (std::int64_t s = tasks[t].begin; s < tasks[t].end; ++s) {
      if (bounds[s + 1] - bounds[s] == 1 && rule.at_least != 0) {  // a row alone: spare it the machinery
        append(kept[t], std::array{Leveled{0, 1}}, bounds[s]);
        for (Report& report : task_reports[t]) ++report.rows;
        continue;
      }
      Leveling leveling(rule, solver, task_reports[t]);
      append(kept[t], leveling.run(slice(keys, bounds[s], bounds[s + 1])), bounds[s]);
      const LowerLevels& lower = leveling.lower_levels();
      kept[t].lower.note(lower.algorithm, lower.from);
      kept[t].at_once.note(leveling.at_once_from());
    }
  });
  for (const StepReports& part : task_reports) {
    for (std::size_t step = 0; step < part.size(); ++step) reports[step] += part[step];
  }
  return join(std::move(kept));
}

}  // namespace skyrank::exec
