#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace skyrank::exec {

/// Threads that work for GPUs side by side, and wait for the next query in between: to start a thread, and to make it
/// known to TBB and the CUDA runtime, takes about as long as a GPU does for a gigabyte. Thread-safe.
class LaneThreads {
 public:
  /// Returns the threads of the process, which live as long as it does.
  static LaneThreads& of_process();

  LaneThreads();
  LaneThreads(const LaneThreads&) = delete;
  LaneThreads& operator=(const LaneThreads&) = delete;
  /// Ends the threads. None may be at work.
  ~LaneThreads();

  /// Does what run_side_by_side does: runs `work`, which must not throw, on this thread and on up to `threads - 1`
  /// others, fewer where the system has none left, until all have returned. A forked child starts threads of its own.
  void run(std::size_t threads, const std::function<void()>& work);

 private:
  class Lane {
   public:
    Lane() : thread_([this] { serve(); }) {}
    ~Lane();
    Lane(const Lane&) = delete;
    Lane& operator=(const Lane&) = delete;

    void start(const std::function<void()>& work);
    void wait() const;

   private:
    using Work = const std::function<void()>*;

    void serve();

    std::atomic<Work> work_ = nullptr;  // null: the lane is idle
    std::thread thread_;                // the last one to be made
  };

  std::unique_ptr<Lane> take();
  void forget_lanes_of_parent();

  std::mutex mutex_;
  std::vector<std::unique_ptr<Lane>> idle_;
  int process_;  // which has the idle threads
};

}  // namespace skyrank::exec
