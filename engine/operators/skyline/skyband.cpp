#include "engine/operators/skyline/skyband.hpp"

#include <algorithm>
#include <limits>
#include <mutex>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <skyrank/error.hpp>

#include "engine/keys/device_keys.hpp"
#include "engine/operators/segment_tasks.hpp"
#include "engine/operators/skyline/levels_at_once.hpp"
#include "kernels/cpu/dominance_counts/dominance_counts.hpp"
#include "kernels/cuda/dominance_counts/dominance_counts.hpp"
#include "kernels/cuda/runtime/failure.hpp"

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

/// Counts on the GPU by keys of one segment. Returns nothing where its memory does not suffice.
template <class Count>
std::optional<Vector<std::int64_t>> on_gpu(const SkylineKeys& keys, const Count& count) {
  check_size(keys.n);
  try {
    const HeldKeys held(keys.steps.front().columns, keys.n, kernels::Device::cuda);
    const std::vector<std::int64_t> found =
        count(kernels::cuda::CountProblem{static_cast<std::size_t>(keys.n), held.columns(), held.memory()});
    return Vector<std::int64_t>(found.begin(), found.end());
  } catch (const kernels::cuda::OutOfMemory&) {
    return std::nullopt;  // the host counts
  }
}

/// Calls body(s, keys, work) for each segment of two rows or more, with its keys on the host.
template <class Body>
void for_each_segment(const SkylineKeys& keys, const Vector<std::int64_t>& bounds, kernels::Work& work,
                      const Body& body) {
  std::mutex mutex;
  const std::vector<SegmentTask> tasks = segment_tasks(bounds);
  for_each_task(tasks, [&](std::size_t t) {
    kernels::Work of_task;
    for (std::int64_t s = tasks[t].begin; s < tasks[t].end; ++s) {
      const std::int64_t n = bounds[s + 1] - bounds[s];
      if (n <= 1) continue;  // of a single row nothing is counted
      check_size(n);
      const SkylineKeys part = slice(keys, bounds[s], bounds[s + 1]);
      const HeldKeys held(part.steps.front().columns, n, kernels::Device::cpu);
      of_task += body(s, kernels::DominanceCountsProblem{.n = static_cast<std::size_t>(n), .keys = held.columns()});
    }
    const std::scoped_lock lock(mutex);
    work += of_task;
  });
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
    for (const std::int64_t row : rows) kept.rows.push_back(base + row);
    kept.bounds.push_back(static_cast<std::int64_t>(kept.rows.size()));
    if (!rule_.with_levels) return;
    const bool all = static_cast<std::int64_t>(rows.size()) == keys_.n;
    const auto found = levels_at_once(all ? keys_ : take(keys_, rows), kAllLevels, context_.kernel_context);
    work_ += found.work;
    for (const std::int32_t level : found.levels) kept.levels.push_back(level + 1);
  }

  const kernels::Work& work() const { return work_; }

 private:
  Vector<std::int64_t> rows() {
    if (rule_.on_device && rule_.rows != kAllRows) {
      auto found = on_gpu(keys_, [&](const kernels::cuda::CountProblem& problem) {
        return kernels::cuda::find_skyband(problem, rule_.rows, context_.kernel_context);
      });
      if (found) return std::move(*found);
    }
    Vector<std::int64_t> rows(static_cast<std::size_t>(keys_.n));
    std::iota(rows.begin(), rows.end(), 0);
    if (rule_.rows != kAllRows && keys_.n > 1) {
      const HeldKeys held(keys_.steps.front().columns, keys_.n, kernels::Device::cpu);
      const kernels::DominanceCounts found = kernels::count_dominators({.n = static_cast<std::size_t>(keys_.n),
                                                                        .keys = held.columns(),
                                                                        .enough = rule_.rows,
                                                                        .distinct = rule_.distinct},
                                                                       context_.kernel_context);
      work_ += found.work;
      std::erase_if(rows, [&](std::int64_t row) { return found.counts[static_cast<std::size_t>(row)] >= rule_.rows; });
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

Vector<std::int64_t> count_dominators(const SkylineKeys& keys, const Vector<std::int64_t>& bounds,
                                      const CountRule& rule, const ExecutionContext& context, kernels::Work& work) {
  if (rule.on_device) {
    auto found = on_gpu(keys, [&](const kernels::cuda::CountProblem& problem) {
      return kernels::cuda::count_dominance(problem, kernels::cuda::Counted::dominators, context.kernel_context);
    });
    if (found) return std::move(*found);
  }
  Vector<std::int64_t> counts(static_cast<std::size_t>(keys.n));
  for_each_segment(keys, bounds, work, [&](std::int64_t s, kernels::DominanceCountsProblem problem) {
    problem.distinct = rule.distinct;
    const kernels::DominanceCounts found = kernels::count_dominators(problem, context.kernel_context);
    std::ranges::copy(found.counts, counts.begin() + static_cast<std::ptrdiff_t>(bounds[s]));
    return found.work;
  });
  return counts;
}

Vector<std::int64_t> count_dominated(const SkylineKeys& keys, const Vector<std::int64_t>& bounds,
                                     const AskingRows& asking, const CountRule& rule, const ExecutionContext& context,
                                     kernels::Work& work) {
  if (rule.on_device) {
    auto found = on_gpu(keys, [&](const kernels::cuda::CountProblem& problem) {
      return kernels::cuda::count_dominance(problem, asking.rows, kernels::cuda::Counted::dominated,
                                            context.kernel_context);
    });
    if (found) return std::move(*found);
  }
  Vector<std::int64_t> counts(asking.rows.size());
  for_each_segment(keys, bounds, work, [&](std::int64_t s, kernels::DominanceCountsProblem problem) {
    problem.distinct = rule.distinct;
    Vector<std::int64_t> rows(asking.rows.begin() + static_cast<std::ptrdiff_t>(asking.bounds[s]),
                              asking.rows.begin() + static_cast<std::ptrdiff_t>(asking.bounds[s + 1]));
    for (std::int64_t& row : rows) row -= bounds[s];
    const kernels::DominanceCounts found = kernels::count_dominated_by(problem, rows, context.kernel_context);
    std::ranges::copy(found.counts, counts.begin() + static_cast<std::ptrdiff_t>(asking.bounds[s]));
    return found.work;
  });
  return counts;
}

std::string describe_counting(const SkylineKeys& keys, bool on_device) {
  if (on_device) return "counted by tiles of rows on cuda";
  return "counted by " + std::string(kernels::dominance_counts_algorithm(keys.steps.front().columns.size()));
}

}  // namespace skyrank::exec
