#pragma once

#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_scheduler_observer.h>

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>

namespace skyrank::exec {

/// Lets the callers of an engine onto its threads, and those that are too many wait where they hear of a stop.
///
/// tbb::task_arena::execute blocks until the arena has a place for the caller, whatever happens meanwhile. So a caller
/// enters only where a place should be free: the first one has the place that the arena reserves for callers, and
/// others enter while fewer threads than places are inside, less one in case a worker comes at the same moment; where
/// two come, one of them leaves between two tasks. All others queue. Their work is offered to the arena's workers,
/// which take it between two tasks, and a caller that leaves hands its place to the one that has waited longest.
class Admission {
 public:
  explicit Admission(tbb::task_arena& arena);

  /// Does the work on a thread of the arena, the caller's own or a worker, and returns after it; throws what it throws,
  /// and kernels::Cancelled where the stop comes before it begins.
  void run(const std::stop_token& stop, const std::function<void()>& work);

 private:
  struct Waiter;

  /// Counts the threads in the arena that are not callers.
  class Workers final : public tbb::task_scheduler_observer {
   public:
    explicit Workers(tbb::task_arena& arena) : tbb::task_scheduler_observer(arena) { observe(true); }
    ~Workers() override { observe(false); }
    Workers(const Workers&) = delete;
    Workers& operator=(const Workers&) = delete;

    void on_scheduler_entry(bool is_worker) override { inside_ += is_worker ? 1 : 0; }
    void on_scheduler_exit(bool is_worker) override { inside_ -= is_worker ? 1 : 0; }
    int inside() const { return inside_.load(std::memory_order_relaxed); }

   private:
    std::atomic<int> inside_{0};
  };

  bool has_place() const;  // with mutex_ held
  void enter_and_run(const std::function<void()>& work);
  void leave();
  void wait_and_run(const std::stop_token& stop, const std::shared_ptr<Waiter>& waiter);
  void serve(Waiter& waiter);
  void remove(const Waiter& waiter);

  tbb::task_arena& arena_;
  Workers workers_;
  std::mutex mutex_;
  int callers_ = 0;  ///< inside, on their own threads
  std::deque<std::shared_ptr<Waiter>> queue_;
};

}  // namespace skyrank::exec
