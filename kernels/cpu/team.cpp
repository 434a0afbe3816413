#include "kernels/cpu/team.hpp"

#include <hwy/cache_control.h>
#include <tbb/task_arena.h>

#include <chrono>
#include <new>
#include <thread>
#include <utility>

#include "kernels/common/problem.hpp"

namespace skyrank::kernels {
namespace {

thread_local Team* this_threads = nullptr;

constexpr std::uint64_t kClosed = 1;  ///< a next part, of none

std::uint64_t open_tickets(std::uint32_t parts) { return std::uint64_t{parts} << 32; }
std::uint32_t next_of(std::uint64_t tickets) { return static_cast<std::uint32_t>(tickets); }
std::uint32_t parts_of(std::uint64_t tickets) { return static_cast<std::uint32_t>(tickets >> 32); }

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

  /// Whether that has gone on for as long as a run's serial parts hardly ever take.
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
      group_(context_) {
  invite();
}

Team::~Team() {
  this_threads = before_;
  tickets_.store(kClosed, std::memory_order_release);
  group_.wait();  // those asked who have not come find it closed
}

void Team::run_step(const Step& step) {
  invite();
  step_ = step;
  failed_.store(false, std::memory_order_relaxed);
  finished_.store(0, std::memory_order_relaxed);
  tickets_.store(open_tickets(step.parts), std::memory_order_release);
  this_threads = nullptr;  // a range's own loops are not steps of the team
  do_parts();
  this_threads = this;
  for (Spin spin; finished_.load(std::memory_order_acquire) < step.parts;) spin();
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
  Spin spin;
  for (std::uint64_t tickets = 0; tickets != kClosed && !spin.tired();) {
    tickets = tickets_.load(std::memory_order_acquire);
    if (next_of(tickets) < parts_of(tickets)) {
      do_parts();
      spin = Spin();
    } else {
      spin();
    }
  }
  coming_.fetch_sub(1, std::memory_order_relaxed);
}

/// Does parts of the step until all are begun. A ticket's holder knows the step: it does not end before its parts.
void Team::do_parts() {
  std::uint32_t done = 0;
  for (;; ++done) {
    const std::uint64_t seen = tickets_.load(std::memory_order_acquire);
    if (next_of(seen) >= parts_of(seen)) break;
    const std::uint64_t ticket = tickets_.fetch_add(1, std::memory_order_acq_rel);
    if (next_of(ticket) >= parts_of(ticket)) break;
    do_part(next_of(ticket));
  }
  if (done > 0) finished_.fetch_add(done, std::memory_order_release);
}

void Team::do_part(std::uint32_t part) {
  if (failed_.load(std::memory_order_relaxed)) return;
  try {
    const AccountScope counted(step_.account);
    step_.call(step_.body, step_.n * part / step_.parts, step_.n * (part + 1) / step_.parts);
  } catch (...) {
    const std::scoped_lock lock(mutex_);
    if (!failed_.exchange(true, std::memory_order_relaxed)) error_ = std::current_exception();
  }
}

}  // namespace skyrank::kernels
