#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <new>
#include <optional>
#include <stop_token>
#include <string>

#include <skyrank/engine.hpp>
#include <skyrank/error.hpp>

#include "engine/runtime/timer.hpp"
#include "engine/stop.hpp"
#include "kernels/common/problem.hpp"
#include "kernels/cuda/runtime/failure.hpp"
#include "planner/choose.hpp"

// Keeps the stop, the time limit and the phase of a query, and turns errors of the layers below into public ones.
namespace skyrank::exec {

/// Ends a query early, from its beginning to its end, and names the phase that it is in.
class Limits {
 public:
  /// Throws QueryError for a time limit below 1 ms.
  Limits(const Query& query, const RunOptions& options, Timer& timer);
  Limits(const Limits&) = delete;
  Limits& operator=(const Limits&) = delete;

  /// The caller's token or, with a time limit, one that stops when the time is over too.
  std::stop_token stop() const { return timeout_ ? source_.get_token() : caller_; }

  /// Returns true once the time is over and the caller has not requested a stop.
  bool is_time_over() const { return timeout_ && !caller_.stop_requested() && source_.stop_requested(); }

  /// Returns the place of the query, for messages.
  const Location& location() const { return location_; }

  /// Says what the query is at, for the text of a TimeoutError. `phase` is a literal. Threads that answer parts of the
  /// query may all call it.
  void enter(const char* phase) { phase_.store(phase, std::memory_order_relaxed); }

  /// Throws for a query that was stopped.
  [[noreturn]] void fail() const;

 private:
  const std::string name_;  // of the query
  const Location location_;
  std::optional<std::chrono::milliseconds> timeout_;
  std::stop_token caller_;
  std::stop_source source_{std::nostopstate};
  std::optional<std::stop_callback<std::function<void()>>> forward_;
  std::optional<Timer::Alarm> alarm_;
  std::atomic<const char*> phase_ = "waiting for the engine's threads";
};

/// Thrown when all rows together do not fit the memory of a GPU, or the limit on it; smaller parts may.
class GpuMemoryError : public ResourceError {
 public:
  using ResourceError::ResourceError;
};

/// Turns what may come out of the layers below into the errors of the public API.
template <class F>
auto guarded(const Limits& limits, const F& f) {
  try {
    return f();
  } catch (const planner::NoPath& none) {
    throw BindError(none.reason, limits.location());
  } catch (const kernels::Cancelled&) {
    limits.fail();
  } catch (const CancelledError&) {  // of a part, or of a reader
    if (limits.is_time_over()) limits.fail();
    throw;
  } catch (const kernels::cuda::OutOfMemory& failure) {
    throw GpuMemoryError(failure.what(), limits.location());
  } catch (const kernels::cuda::Failure& failure) {
    throw DeviceError(failure.what(), limits.location());
  } catch (const std::bad_alloc&) {
    throw ResourceError("out of memory while answering the query", limits.location());
  }
}

/// Calls f(limits), where the loops and readers of this thread hear the stop.
template <class F>
auto with_limits(const Query& query, const RunOptions& options, Timer& timer, const F& f) {
  Limits limits(query, options, timer);
  const std::stop_token stop = limits.stop();
  const StopScope heard(stop);
  return guarded(limits, [&] { return f(limits); });
}

}  // namespace skyrank::exec
