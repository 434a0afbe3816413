#include "engine/runtime/admission.hpp"

#include <oneapi/tbb/global_control.h>

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <utility>

#include "engine/stop.hpp"
#include "kernels/common/problem.hpp"

namespace skyrank::exec {

/// A caller in the queue. Shared with the task that offers its work to workers, which may run long after the caller and
/// the engine are gone: it looks at the state first, and at nothing else unless the caller still waits.
struct Admission::Waiter {
  enum class State { waiting, admitted, running, done, gone };

  explicit Waiter(const std::function<void()>& caller_work) : work(caller_work) {}

  /// Changes the state from `waiting`; returns false where it is another.
  bool claim(State next) {
    const std::lock_guard lock(mutex);
    if (state != State::waiting) return false;
    state = next;
    changed.notify_one();
    return true;
  }

  const std::function<void()>& work;
  std::mutex mutex;
  std::condition_variable_any changed;
  State state = State::waiting;
  std::exception_ptr error;
};

namespace {

/// Returns the arena, initialized: an arena whose first use fails makes TBB wait without end in its second one, and one
/// that fails while an observer is added leaves an observer that cannot be destroyed.
tbb::task_arena& initialized(tbb::task_arena& arena) {
  arena.initialize();
  return arena;
}

}  // namespace

Admission::Admission(tbb::task_arena& arena) : arena_(initialized(arena)), workers_(arena) {}

bool Admission::has_place() const {
  return callers_ == 0 || callers_ + workers_.inside() + 1 < arena_.max_concurrency();
}

void Admission::run(const std::stop_token& stop, const std::function<void()>& work) {
  check(stop);
  std::shared_ptr<Waiter> waiter;
  {
    const std::lock_guard lock(mutex_);
    if (queue_.empty() && has_place()) {
      ++callers_;
    } else {
      waiter = std::make_shared<Waiter>(work);
      queue_.push_back(waiter);
    }
  }
  if (waiter == nullptr) return enter_and_run(work);
  wait_and_run(stop, waiter);
}

void Admission::enter_and_run(const std::function<void()>& work) {
  struct Leave {
    Admission& admission;
    ~Leave() { admission.leave(); }
  };
  const Leave leave{*this};
  // Isolated: a thread that waits for a part of this work must not pick up a part of another caller's.
  arena_.execute([&] { tbb::this_task_arena::isolate(work); });
}

/// Gives the caller's place to the first who still waits.
void Admission::leave() {
  const std::lock_guard lock(mutex_);
  --callers_;
  while (!queue_.empty() && has_place()) {
    const std::shared_ptr<Waiter> next = std::move(queue_.front());
    queue_.pop_front();
    if (!next->claim(Waiter::State::admitted)) continue;
    ++callers_;
    return;
  }
}

void Admission::wait_and_run(const std::stop_token& stop, const std::shared_ptr<Waiter>& waiter) {
  using State = Waiter::State;
  constexpr auto kMaxThreads = tbb::global_control::max_allowed_parallelism;
  // Without workers TBB would start one for this, a thread more than there may be.
  if (arena_.max_concurrency() > 1 && tbb::global_control::active_value(kMaxThreads) > 1) {
    try {
      arena_.enqueue([this, waiter] {
        if (waiter->claim(State::running)) serve(*waiter);
      });
    } catch (const std::exception&) {  // no memory, or no thread: then the place comes from a caller that leaves
    }
  }
  std::unique_lock lock(waiter->mutex);
  const auto is_claimed = [&] { return waiter->state != State::waiting; };
  waiter->changed.wait(lock, stop, is_claimed);
  if (!is_claimed()) {
    waiter->state = State::gone;
    lock.unlock();
    remove(*waiter);
    throw kernels::Cancelled{};
  }
  if (waiter->state == State::admitted) {
    lock.unlock();
    return enter_and_run(waiter->work);
  }
  // A worker has it; the work looks at the stop itself.
  waiter->changed.wait(lock, [&] { return waiter->state == State::done; });
  if (waiter->error != nullptr) std::rethrow_exception(std::exchange(waiter->error, nullptr));
}

/// Does the work of a waiter, which stays until it is done, on a worker.
void Admission::serve(Waiter& waiter) {
  remove(waiter);
  std::exception_ptr error;
  try {
    tbb::this_task_arena::isolate(waiter.work);
  } catch (...) {
    error = std::current_exception();
  }
  const std::lock_guard lock(waiter.mutex);
  waiter.error = std::move(error);
  waiter.state = Waiter::State::done;
  waiter.changed.notify_one();
}

void Admission::remove(const Waiter& waiter) {
  const std::lock_guard lock(mutex_);
  std::erase_if(queue_, [&](const std::shared_ptr<Waiter>& other) { return other.get() == &waiter; });
}

}  // namespace skyrank::exec
