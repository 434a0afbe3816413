#pragma once

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_sort.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <mutex>

#include "kernels/common/problem.hpp"
#include "kernels/cpu/team.hpp"

// Wraps TBB for CPU kernels, on the caller's arena. Small inputs never enter TBB: a query may solve a million tiny
// problems, one a partition.
namespace skyrank::kernels {

inline std::size_t concurrency() { return static_cast<std::size_t>(tbb::this_task_arena::max_concurrency()); }

/// Calls body(begin, end) for ranges that cover [0, n), at the same time where n > grain; what it allocates is counted
/// with the caller's. By the caller's team, where it has one, else by TBB. Throws what a body throws,
/// and Cancelled when an enclosing TBB group was cancelled, which would leave ranges undone.
template <class Body>
void parallel_for(std::size_t n, std::size_t grain, const Body& body) {
  if (n <= grain || concurrency() == 1) {
    if (n > 0) body(std::size_t{0}, n);
    return;
  }
  if (Team* const team = Team::current()) {
    team->run(n, std::min((n + grain - 1) / grain, 4 * concurrency()), body);
    return;
  }
  tbb::task_group_context group;
  MemoryAccount* const account = current_account();
  tbb::parallel_for(
      tbb::blocked_range<std::size_t>(0, n, grain),
      [&](const auto& range) {
        const AccountScope counted(account);
        body(range.begin(), range.end());
      },
      tbb::auto_partitioner{}, group);
  if (group.is_group_execution_cancelled()) throw Cancelled{};
}

/// The same for body(begin, end, counters), where `counters` are the call's own and are added to `total` after it.
template <class Counters, class Body>
void parallel_for(std::size_t n, std::size_t grain, Counters& total, const Body& body) {
  std::mutex mutex;
  parallel_for(n, grain, [&](std::size_t begin, std::size_t end) {
    Counters counters;
    body(begin, end, counters);
    if constexpr (Counters::kEnabled) {
      const std::scoped_lock lock(mutex);
      total.add(counters);
    }
  });
}

/// Calls body(i, counters) for each i in [0, n), the last first and then downwards, for as many at the same time as
/// there are threads: where later tasks take longer, no long one is left to the end.
template <class Counters, class Body>
void parallel_tasks(std::size_t n, Counters& total, const Body& body) {
  std::atomic<std::size_t> begun{0};
  parallel_for(std::min(n, concurrency()), 1, total, [&](std::size_t, std::size_t, Counters& counters) {
    for (std::size_t i = begun++; i < n && !tbb::is_current_task_group_canceling(); i = begun++) {
      body(n - 1 - i, counters);
    }
  });
}

/// Sorts by a strict total order. Throws Cancelled soon after the context asks for it.
template <class Iterator, class Less>
void parallel_sort(Iterator begin, Iterator end, const Less& less, const Context& context) {
  constexpr std::ptrdiff_t kSerial = 1 << 14;
  if (std::distance(begin, end) <= kSerial) {
    std::sort(begin, end, less);
    return;
  }
  tbb::task_group_context group_context;
  tbb::task_group group(group_context);
  const std::stop_callback stop(context.stop, [&] { group_context.cancel_group_execution(); });
  const auto status = group.run_and_wait([&] { tbb::parallel_sort(begin, end, less); });
  if (status == tbb::canceled) throw Cancelled{};
}

}  // namespace skyrank::kernels
