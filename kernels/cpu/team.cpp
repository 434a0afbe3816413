#include "kernels/cpu/team.hpp"

#include <hwy/cache_control.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <chrono>
#include <new>
#include <thread>
#include <utility>

#include "kernels/common/problem.hpp"

namespace skyrank::kernels {
namespace {

thread_local Team* this_threads = nullptr;

constexpr std::uint64_t kClosed = 1;  ///< a next part, of none

std::uint64_t open_counter(std::uint32_t parts) { return std::uint64_t{parts} << 32; }
std::uint32_t next_of(std::uint64_t counter) { return static_cast<std::uint32_t>(counter); }
std::uint32_t parts_of(std::uint64_t counter) { return static_cast<std::uint32_t>(counter >> 32); }

std::uint32_t place_in_arena() {
  return static_cast<std::uint32_t>(std::max(tbb::this_task_arena::current_thread_index(), 0));
}

/// A short wait in a loop that looks again and again; where there are more threads than cores, others get their turn.
class Spin {
 public:
  void operator()() {
    if (++count_ % kBetweenYields == 0) {
      std::this_thread::yield();
    } else {
      hwy::Pause();
    }
  }

  /// Returns true if that has gone on longer than nearly all serial parts of a run.
  bool tired() {
    constexpr auto kPatience = std::chrono::microseconds(200);
    if (count_ == 0 || count_ % kBetweenYields != 0) return false;
    if (count_ == kBetweenYields) begun_ = std::chrono::steady_clock::now();
    return std::chrono::steady_clock::now() - begun_ > kPatience;
  }

 private:
  static constexpr std::uint32_t kBetweenYields = 16;

  std::uint32_t count_ = 0;
  std::chrono::steady_clock::time_point begun_;
};

}  // namespace

Team* Team::current() { return this_threads; }

Team::Team()
    : before_(std::exchange(this_threads, this)),
      others_(static_cast<std::uint32_t>(tbb::this_task_arena::max_concurrency() - 1)),
      num_lanes_(std::clamp((others_ + 1) / kThreadsOfLane, 1U, kMaxLanes)),
      group_(context_) {
  invite();
}

Team::~Team() {
  this_threads = before_;
  for (std::uint32_t i = 0; i < num_lanes_; ++i) lane(i).counter.store(kClosed, std::memory_order_release);
  group_.wait();  // those asked who have not come find it closed
}

void Team::run_step(const Step& step) {
  invite();
  step_ = step;
  failed_.store(false, std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < num_lanes_; ++i) lane(i).finished.store(0, std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < num_lanes_; ++i) {
    lane(i).counter.store(open_counter((step.parts + num_lanes_ - 1 - i) / num_lanes_), std::memory_order_release);
  }
  this_threads = nullptr;  // a range's own loops are not steps of the team
  do_parts(place_in_arena());
  this_threads = this;
  for (Spin spin; finished() < step.parts;) spin();
  if (failed_.load(std::memory_order_relaxed)) std::rethrow_exception(std::exchange(error_, nullptr));
  if (tbb::is_current_task_group_canceling() || context_.is_group_execution_cancelled()) throw Cancelled{};
}

void Team::invite() noexcept {
  for (std::uint32_t coming = coming_.load(std::memory_order_relaxed); coming < others_; ++coming) {
    coming_.fetch_add(1, std::memory_order_relaxed);
    try {
      group_.run([this] { serve(); });
    } catch (const std::bad_alloc&) {  // then fewer come
      coming_.fetch_sub(1, std::memory_order_relaxed);
      return;
    }
  }
}

void Team::serve() {
  const std::uint32_t home = place_in_arena();
  Spin spin;
  for (std::uint64_t counter = 0; counter != kClosed && !spin.tired();) {
    counter = lane(home).counter.load(std::memory_order_acquire);
    if (next_of(counter) < parts_of(counter)) {
      do_parts(home);
      spin = Spin();
    } else {
      spin();
    }
  }
  coming_.fetch_sub(1, std::memory_order_relaxed);
}

std::uint32_t Team::finished() const {
  std::uint32_t sum = 0;
  for (std::uint32_t i = 0; i < num_lanes_; ++i) sum += lanes_[i].finished.load(std::memory_order_acquire);
  return sum;
}

/// Does parts of the step until all are begun, those of the home lane first.
void Team::do_parts(std::uint32_t home) {
  std::uint32_t done = 0;
  for (std::uint32_t i = 0; i < num_lanes_; ++i) done += do_parts_of((home + i) % num_lanes_);
  if (done > 0) lane(home).finished.fetch_add(done, std::memory_order_release);
}

/// Does parts of a lane until all of them are begun; returns how many. Whoever has taken a part knows the step: it does
/// not end before its parts.
std::uint32_t Team::do_parts_of(std::uint32_t lane) {
  std::atomic<std::uint64_t>& counter = lanes_[lane].counter;
  for (std::uint32_t done = 0;; ++done) {
    const std::uint64_t seen = counter.load(std::memory_order_acquire);
    if (next_of(seen) >= parts_of(seen)) return done;
    const std::uint64_t taken = counter.fetch_add(1, std::memory_order_acq_rel);
    if (next_of(taken) >= parts_of(taken)) return done;
    do_part(lane + next_of(taken) * num_lanes_);
  }
}

void Team::do_part(std::uint32_t part) {
  if (failed_.load(std::memory_order_relaxed)) return;
  try {
    const AccountScope counted(step_.account);
    step_.body(step_.n * part / step_.parts, step_.n * (part + 1) / step_.parts);
  } catch (...) {
    const std::scoped_lock lock(mutex_);
    if (!failed_.exchange(true, std::memory_order_relaxed)) error_ = std::current_exception();
  }
}

}  // namespace skyrank::kernels
