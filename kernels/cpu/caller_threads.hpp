#pragma once

#include <oneapi/tbb/task_arena.h>

#include "kernels/cpu/threads.hpp"

namespace skyrank::kernels {

/// Lets TBB start its threads where they can be started. Never ends, as TBB's own threads do not.
inline void start_workers() {
  static const auto* const workers = new WorkerThreads(0);
  static_cast<void>(workers);
}

/// Calls `work` without an engine: in an arena of so many threads, or (0) in that of the caller.
template <class Work>
void on_caller_threads(int threads, const Work& work) {
  if (threads <= 0) {
    start_workers();
    return work();
  }
  const WorkerThreads workers(threads);
  tbb::task_arena arena(workers.count());
  arena.execute(work);
}

}  // namespace skyrank::kernels
