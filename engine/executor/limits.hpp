#pragma once

#include <chrono>
#include <functional>
#include <new>
#include <optional>
#include <stop_token>
#include <string>

#include <skyrank/engine.hpp>
#include <skyrank/error.hpp>

#include "engine/query/bound.hpp"
#include "engine/runtime/timer.hpp"
#include "engine/stop.hpp"
#include "kernels/common/problem.hpp"
#include "kernels/cuda/runtime/failure.hpp"
#include "planner/choose.hpp"

namespace skyrank::exec {

/// Ends a query early, from its beginning to its end, and names the phase that it is in.
class Limits {
 public:
  /// Throws QueryError for a time limit below 1 ms.
  Limits(const Query& query, const RunOptions& options, Timer& timer);
  /// The time limit is that of the options alone.
  Limits(const query::BoundQuery& query, const RunOptions& options, Timer& timer);
  Limits(const Limits&) = delete;
  Limits& operator=(const Limits&) = delete;

  /// The caller's token or, with a time limit, one that stops when the time is over too.
  std::stop_token stop() const { return timeout_ ? source_.get_token() : caller_; }

  /// Returns true once the time is over and the caller has not requested a stop.
  bool is_time_over() const { return timeout_ && !caller_.stop_requested() && source_.stop_requested(); }

  /// Returns the place of the query, for messages.
  const Location& location() const { return location_; }

  /// Throws for a query that was stopped.
  [[noreturn]] void fail() const;

  /// While it lives, the loops and readers of this thread hear the stop, and queries that are a part of the limited one
  /// name their phases as its own.
  class Scope {
   public:
    explicit Scope(Limits& limits);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    const std::stop_token stop_;
    const StopScope heard_;
    Limits* const before_;
  };

 private:
  Limits(std::string name, Location location, std::optional<std::chrono::milliseconds> timeout, std::stop_token caller,
         Timer& timer);

  const std::string name_;  // of the query
  const Location location_;
  std::optional<std::chrono::milliseconds> timeout_;
  std::stop_token caller_;
  std::stop_source source_{std::nostopstate};
  std::optional<std::stop_callback<std::function<void()>>> forward_;
  std::optional<Timer::Alarm> alarm_;
  std::string own_phase_;

 public:
  std::string& phase;  ///< shared with the limits whose scope this thread is in, if there are some
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

/// Calls f(options, limits) for a query or a bound query: whatever is a part of it gets the options without a time
/// limit, and with a token that stops when the time of the whole query is over.
template <class AnyQuery, class F>
auto limited_as_a_whole(const AnyQuery& query, const RunOptions& options, Timer& timer, const F& f) {
  Limits limits(query, options, timer);
  const Limits::Scope scope(limits);
  RunOptions part_options = options;
  part_options.stop = limits.stop();
  part_options.timeout.reset();
  return guarded(limits, [&] { return f(part_options, limits); });
}

}  // namespace skyrank::exec
