#include "engine/operators/skyline/skyband.hpp"

#include <algorithm>
#include <limits>
#include <mutex>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <skyrank/error.hpp>

#include "engine/keys/device_keys.hpp"
#include "engine/operators/segment_tasks.hpp"
#include "engine/operators/skyline/levels_at_once.hpp"

// Counts dominators segment by segment. A segment's rows are one problem of the kernel, which shares it out to all
// threads where it is large.
namespace skyrank::exec {
namespace {

constexpr std::int32_t kAllLevels = std::numeric_limits<std::int32_t>::max();

/// Rows and levels are numbered by 32 bits.
void check_size(std::int64_t n) {
  if (n <= static_cast<std::int64_t>(kernels::kMaxLevelRows)) return;
  throw ResourceError("skybands and measures are of at most " + std::to_string(kernels::kMaxLevelRows) +
                      " rows of a partition, not of " + std::to_string(n));
}

/// The skyband of one segment.
class Band {
 public:
  Band(const SkylineKeys& keys, const SkybandRule& rule, const ExecutionContext& context)
      : keys_(keys), rule_(rule), context_(context) {}

  /// Appends the rows that are kept, which begin at row `base` of all.
  void append_to(Kept& kept, std::int64_t base) {
    check_size(keys_.n);
    const Vector<std::int64_t> rows = this->rows();
    const bool all = static_cast<std::int64_t>(rows.size()) == keys_.n;
    const auto found = levels_at_once(all ? keys_ : take(keys_, rows), kAllLevels, context_.kernel_context);
    work_ += found.work;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      kept.rows.push_back(base + rows[i]);
      kept.levels.push_back(found.levels[i] + 1);
    }
    kept.bounds.push_back(static_cast<std::int64_t>(kept.rows.size()));
  }

  const kernels::Work& work() const { return work_; }

 private:
  Vector<std::int64_t> rows() {
    Vector<std::int64_t> rows(static_cast<std::size_t>(keys_.n));
    std::iota(rows.begin(), rows.end(), 0);
    if (rule_.rows != kAllRows) {
      const Vector<std::int64_t> counts =
          count_in_segments(keys_, {0, keys_.n}, kernels::count_dominators, rule_, context_, work_);
      std::erase_if(rows, [&](std::int64_t row) { return counts[static_cast<std::size_t>(row)] >= rule_.rows; });
    }
    return rule_.distinct ? drop_equal(keys_, rows) : rows;
  }

  const SkylineKeys& keys_;
  const SkybandRule& rule_;
  const ExecutionContext& context_;
  kernels::Work work_;
};

}  // namespace

Kept keep_skyband(const SkylineKeys& keys, const Vector<std::int64_t>& bounds, const SkybandRule& rule,
                  const ExecutionContext& context, Report& report) {
  const std::vector<SegmentTask> tasks = segment_tasks(bounds);
  Vector<Kept> kept(tasks.size());
  std::vector<kernels::Work> work(tasks.size());
  for_each_task(tasks, [&](std::size_t t) {
    for (std::int64_t s = tasks[t].begin; s < tasks[t].end; ++s) {
      const SkylineKeys part = slice(keys, bounds[s], bounds[s + 1]);
      Band band(part, rule, context);
      band.append_to(kept[t], bounds[s]);
      work[t] += band.work();
    }
  });
  for (const kernels::Work& part : work) report.work += part;
  return join(std::move(kept));
}

Vector<std::int64_t> count_in_segments(const SkylineKeys& keys, const Vector<std::int64_t>& bounds, CountRows count,
                                       const SkybandRule& rule, const ExecutionContext& context, kernels::Work& work,
                                       const Vector<std::uint8_t>& wanted) {
  const bool is_one = bounds.size() == 2;
  Vector<std::int64_t> counts(is_one ? 0 : static_cast<std::size_t>(keys.n));
  std::mutex mutex;
  const std::vector<SegmentTask> tasks = segment_tasks(bounds);
  for_each_task(tasks, [&](std::size_t t) {
    kernels::Work of_task;
    for (std::int64_t s = tasks[t].begin; s < tasks[t].end; ++s) {
      const std::int64_t n = bounds[s + 1] - bounds[s];
      if (n <= 1) continue;
      check_size(n);
      const SkylineKeys part = slice(keys, bounds[s], bounds[s + 1]);
      const HeldKeys held(part.steps.front().columns, n, kernels::Device::cpu);
      const auto wanted_here =
          wanted.empty() ? std::span<const std::uint8_t>()
                         : std::span(wanted).subspan(static_cast<std::size_t>(bounds[s]), static_cast<std::size_t>(n));
      kernels::DominanceCounts found = count({.n = static_cast<std::size_t>(n),
                                              .keys = held.columns(),
                                              .enough = rule.rows,
                                              .distinct = rule.distinct,
                                              .wanted = wanted_here},
                                             context.kernel_context);
      if (is_one) {
        counts = std::move(found.counts);
      } else {
        std::ranges::copy(found.counts, counts.begin() + static_cast<std::ptrdiff_t>(bounds[s]));
      }
      of_task += found.work;
    }
    const std::scoped_lock lock(mutex);
    work += of_task;
  });
  counts.resize(static_cast<std::size_t>(keys.n));  // of a single row nothing is counted
  return counts;
}

std::string describe_counting(const SkylineKeys& keys) {
  return "counted by " + std::string(kernels::dominance_counts_algorithm(keys.steps.front().columns.size()));
}

}  // namespace skyrank::exec
