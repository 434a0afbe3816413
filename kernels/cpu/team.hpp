#pragma once

#include <tbb/task_group.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>

#include "kernels/common/memory.hpp"
#include "kernels/cpu/parallel.hpp"

namespace skyrank::kernels {

/// Runs the many short parallel steps of one run on the same threads of the caller's arena. A step takes microseconds,
/// less than TBB needs to make tasks, spread them by stealing and wake threads; a team's threads look for the next step
/// without sleep. While a team lives, parallel_for of the thread that made it gives its ranges to the team.
///
/// Nothing waits for a thread to come: the caller takes part in each step, does all of it where nobody else comes, and
/// waits only for ranges that others have begun. Threads that find no step for a while go back to TBB, and are asked
/// again at the next step. Within a range, parallel_for is TBB's.
///
/// Idle threads look for work in a counter, a word, as in a self-scheduled loop. Since each change of a word takes its
/// cache line from one core to the next, a step's parts are dealt to lanes of a few threads, which have a word each; a
/// thread turns to other lanes where its own has no part left. Mellor-Crummey, Scott, "Algorithms for Scalable
/// Synchronization on Shared-Memory Multiprocessors", ACM TOCS 9, 1991, section 3, on what spinning costs.
class Team {
 public:
  Team();  ///< asks for the threads at once, so that they wake while the run's first serial part goes on
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  /// Returns the team of this thread, or null.
  static Team* current();

  /// Calls body(begin, end) for `parts` ranges that cover [0, n), many at the same time; what it allocates is counted
  /// with the caller's. Throws what a body throws, and Cancelled when an enclosing TBB group was cancelled. Only for
  /// the thread that made the team, and at least one part.
  void run(std::size_t n, std::size_t parts, RangeBody body) {
    run_step({body, n, static_cast<std::uint32_t>(parts), current_account()});
  }

 private:
  struct Step {
    RangeBody body;
    std::size_t n = 0;
    std::uint32_t parts = 0;
    MemoryAccount* account = nullptr;
  };
  static constexpr std::size_t kLine = 64;  // bytes, so that what different threads write shares no line
  static constexpr std::uint32_t kThreadsOfLane = 4;
  static constexpr std::uint32_t kMaxLanes = 8;

  struct Lane {
    alignas(kLine) std::atomic<std::uint64_t> counter{0};   ///< parts of the step here above, the next of them below
    alignas(kLine) std::atomic<std::uint32_t> finished{0};  ///< parts of the step that this lane's threads have done
  };

  void run_step(const Step& step);
  void invite() noexcept;
  void serve();
  Lane& lane(std::uint32_t i) { return lanes_[i % num_lanes_]; }
  std::uint32_t finished() const;
  void do_parts(std::uint32_t home);
  std::uint32_t do_parts_of(std::uint32_t lane);
  void do_part(std::uint32_t part);

  Team* const before_;
  const std::uint32_t others_;  ///< threads besides the caller's
  const std::uint32_t num_lanes_;
  tbb::task_group_context context_;
  tbb::task_group group_;

  Step step_;                 ///< valid for whoever has taken a part of a lane
  std::exception_ptr error_;  ///< the first of a step; guarded by mutex_
  std::mutex mutex_;
  std::atomic<bool> failed_{false};       ///< the other parts of the step are left out
  std::atomic<std::uint32_t> coming_{0};  ///< threads that serve, or were asked to

  std::array<Lane, kMaxLanes> lanes_;  ///< part p of a step is of lane p % num_lanes_
};

}  // namespace skyrank::kernels
