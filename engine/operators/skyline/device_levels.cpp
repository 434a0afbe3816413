#include "engine/operators/skyline/device_levels.hpp"

#include <atomic>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "engine/operators/segment_tasks.hpp"
#include "kernels/cuda/expression/columns.hpp"
#include "kernels/cuda/skyline/level_lists.hpp"

namespace skyrank::exec {
namespace {

namespace cuda = kernels::cuda;
using cuda::DeviceArray;

/// The rows of one level of a segment.
struct Layer {
  DeviceArray rows;  ///< indices into the segment's keys, ascending
  std::size_t count = 0;
};

/// rows[places[i]] for `count` places; without rows these are the places themselves.
DeviceArray chosen(const DeviceArray& rows, const DeviceArray& places, std::size_t count) {
  if (rows.bytes() == 0) return places;
  return cuda::expression::take_keys({rows.data(), kernels::KeyWidth::bytes8},
                                     static_cast<const std::int64_t*>(places.data()), count);
}

/// The levels of one segment, the first one first; nothing where they are so many that the host finds them sooner.
std::optional<std::vector<Layer>> layers_of(const SkylineKeys& keys, const LevelRule& rule, SkylineSolver& solver,
                                            Report& report) {
  std::vector<Layer> layers;
  std::int64_t kept = 0;
  const auto done = [&] {
    return rule.at_least ? kept >= *rule.at_least : static_cast<std::int64_t>(layers.size()) == rule.levels;
  };
  LevelStrategy strategy = level_strategy(keys, solver);
  const auto prefers_host = [&](std::int64_t left) {
    const auto wanted = static_cast<double>(rule.levels) - static_cast<double>(layers.size());
    std::optional<double> wanted_rows;
    if (rule.at_least) wanted_rows = static_cast<double>(*rule.at_least - kept);
    return strategy.prefers_at_once(static_cast<double>(left), wanted, wanted_rows);
  };
  SkylineKeys rest = keys;
  DeviceArray rows;  // of the rest; none: all of the segment's
  while (!done() && rest.n > 0) {
    const bool last = !rule.at_least && static_cast<std::int64_t>(layers.size()) + 1 == rule.levels;
    const cuda::skyline::SkylineRows found = solver.best_on_device(rest, !last, report);
    layers.push_back({chosen(rows, found.rows, found.count), found.count});
    kept += static_cast<std::int64_t>(found.count);
    if (done()) break;
    const std::size_t left = static_cast<std::size_t>(rest.n) - found.count;
    strategy.took_level(static_cast<double>(rest.n), static_cast<double>(found.count),
                        solver.path(0, rest.steps[0].width, rest.n).seconds);
    if (left > 0 && prefers_host(static_cast<std::int64_t>(left))) return std::nullopt;
    rows = chosen(rows, found.others, left);
    rest = take(rest, found.others, left);
  }
  return layers;
}

bool is_one_level(const LevelRule& rule) { return !rule.at_least && rule.levels == 1; }

/// The levels of all rows, 0 where they have none, while segments find theirs.
class Marks {
 public:
  explicit Marks(const Vector<std::int64_t>& bounds)
      : bounds_(bounds),
        levels_(cuda::skyline::no_levels(static_cast<std::size_t>(bounds.back()))),
        sizes_(bounds.size() - 1) {}

  /// Rows alone in their segments are spared the machinery.
  void mark_rows_alone(Report& report) {
    Vector<std::int64_t> alone;
    for (std::size_t s = 0; s < sizes_.size(); ++s) {
      if (!is_alone(s)) continue;
      alone.push_back(bounds_[s]);
      sizes_[s] = 1;
      ++report.rows;
    }
    cuda::skyline::set_levels(levels_, 0, DeviceArray(alone.data(), alone.size() * sizeof(std::int64_t)), alone.size(),
                              1);
  }

  bool is_alone(std::size_t segment) const { return bounds_[segment + 1] - bounds_[segment] == 1; }

  void mark(std::size_t segment, const std::vector<Layer>& layers) {
    std::int32_t level = 0;
    for (const Layer& layer : layers) {
      cuda::skyline::set_levels(levels_, static_cast<std::size_t>(bounds_[segment]), layer.rows, layer.count, ++level);
      sizes_[segment] += static_cast<std::int64_t>(layer.count);
    }
  }

  DeviceKept kept() const {
    Vector<std::int64_t> kept_bounds = {0};
    for (const std::int64_t size : sizes_) kept_bounds.push_back(kept_bounds.back() + size);
    cuda::skyline::LeveledRows listed = cuda::skyline::rows_with_levels(
        levels_, static_cast<std::size_t>(bounds_.back()), static_cast<std::size_t>(kept_bounds.back()));
    return {std::move(listed.rows), std::move(listed.levels), std::move(kept_bounds)};
  }

 private:
  const Vector<std::int64_t>& bounds_;
  DeviceArray levels_;
  Vector<std::int64_t> sizes_;  ///< numbers of kept rows in the segments
};

}  // namespace

bool can_keep_on_device(const SkylineKeys& keys, const LevelRule& rule) {
  return keys.steps.size() == 1 && !rule.distinct && are_on_device(keys) &&
         keys.n <= std::numeric_limits<std::int32_t>::max();
}

std::optional<DeviceKept> keep_best_on_device(const SkylineKeys& keys, const Vector<std::int64_t>& bounds,
                                              const LevelRule& rule, SkylineSolver& solver, Report& report) {
  if (bounds.size() == 2 && is_one_level(rule)) {
    std::vector<Layer> layers = *layers_of(keys, rule, solver, report);  // one level is never too many
    if (layers.empty()) return DeviceKept{{}, {}, {0, 0}};
    return DeviceKept{std::move(layers.front().rows), {}, {0, static_cast<std::int64_t>(layers.front().count)}};
  }
  Marks marks(bounds);
  if (rule.at_least != 0) marks.mark_rows_alone(report);
  const std::vector<SegmentTask> tasks = segment_tasks(bounds);
  std::vector<Report> reports(tasks.size());
  std::atomic<bool> too_many = false;
  for_each_task(tasks, [&](std::size_t t) {
    for (std::int64_t s = tasks[t].begin; s < tasks[t].end; ++s) {
      const auto segment = static_cast<std::size_t>(s);
      if (marks.is_alone(segment)) continue;
      if (too_many) return;
      const auto layers = layers_of(slice(keys, bounds[s], bounds[s + 1]), rule, solver, reports[t]);
      if (layers) {
        marks.mark(segment, *layers);
      } else {
        too_many = true;
      }
    }
  });
  for (const Report& part : reports) report += part;
  if (too_many) return std::nullopt;
  DeviceKept kept = marks.kept();
  if (is_one_level(rule)) kept.levels = {};
  return kept;
}

}  // namespace skyrank::exec
