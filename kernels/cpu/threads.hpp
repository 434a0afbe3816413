#pragma once

#include <tbb/global_control.h>

#include <cstddef>
#include <optional>

// Thread creation fails where a container or a user has as many threads as allowed, or the address space is full. TBB
// does not survive that: a worker starts others from a function that must not throw, which ends the process, and a
// worker that did not start is waited for without end. So the threads are tried before TBB may want them.
namespace skyrank::kernels {

/// Threads that can be started, of those asked for.
struct StartableThreads {
  std::size_t count = 0;
  /// Too few started, or the address space has a limit: what shall run later should start now, before its room is gone.
  bool scarce = false;
};

/// Starts up to `wanted` threads that all live at the same time, and ends them. A number that has once been started is
/// not tried again.
StartableThreads startable_threads(std::size_t wanted);

/// While it lives, TBB starts no more threads than can be started: fewer than cores where they are scarce, more only
/// where `threads` asks for them. TBB takes the least of what several such objects allow.
class WorkerThreads {
 public:
  /// Room for `threads` at work (0: all cores), the caller's among them.
  explicit WorkerThreads(int threads);

  /// Threads that an arena should have: what was asked for, or fewer.
  int count() const { return count_; }

 private:
  int count_;
  std::optional<tbb::global_control> limit_;
};

}  // namespace skyrank::kernels
