#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <mutex>

#include "kernels/common/problem.hpp"

// Wraps TBB for CPU kernels, on the caller's arena: one set of threads serves all queries of a process, and loops in
// loops. Small inputs never enter TBB: a query may solve a million tiny problems, one a partition.
namespace skyrank::kernels {

/// Returns the number of threads of the caller's arena.
std::size_t concurrency();

/// Returns true if what TBB runs here was cancelled.
bool is_group_cancelled();

/// A loop body without its type, so that TBB is compiled once and not for each body.
struct RangeBody {
  void (*call)(const void* body, std::size_t begin, std::size_t end) = nullptr;
  const void* body = nullptr;

  template <class Body>
  static RangeBody of(const Body& body) {
    return {[](const void* it, std::size_t begin, std::size_t end) { (*static_cast<const Body*>(it))(begin, end); },
            &body};
  }
  void operator()(std::size_t begin, std::size_t end) const { call(body, begin, end); }
};

/// Does what parallel_for does where more than one thread takes part.
void run_ranges(std::size_t n, std::size_t grain, RangeBody body);

/// Calls body(begin, end) for ranges that cover [0, n), at the same time where n > grain; what it allocates is counted
/// with the caller's. By the caller's team, where it has one, else by TBB. Throws what a body throws,
/// and Cancelled when an enclosing TBB group was cancelled, which would leave ranges undone.
template <class Body>
void parallel_for(std::size_t n, std::size_t grain, const Body& body) {
  if (n <= grain || concurrency() == 1) {
    if (n > 0) body(std::size_t{0}, n);
    return;
  }
  run_ranges(n, grain, RangeBody::of(body));
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
    for (std::size_t i = begun++; i < n && !is_group_cancelled(); i = begun++) body(n - 1 - i, counters);
  });
}

}  // namespace skyrank::kernels
