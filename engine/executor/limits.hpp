#pragma once

#include <chrono>
#include <functional>
#include <new>
#include <optional>
#include <stop_token>
#include <string>

#include <skyrank/engine.hpp>
#include <skyrank/error.hpp>

#include "engine/runtime/timer.hpp"
#include "kernels/common/problem.hpp"
#include "kernels/cuda/device/failure.hpp"
#include "planner/choose.hpp"

namespace skyrank::exec {

/// Ends a query early, from its beginning to its end, and names the phase that it is in.
class Limits {
 public:
  /// Throws QueryError for a time limit below 1 ms.
  Limits(const Query& query, const RunOptions& options, Timer& timer);

  /// The caller's token or, with a time limit, one that stops when the time is over too.
  std::stop_token stop() const { return timeout_ ? source_.get_token() : caller_; }

  /// Throws for a query that was stopped.
  [[noreturn]] void fail(const Query& query) const;

  std::string phase = "waiting for the engine's threads";

 private:
  std::optional<std::chrono::milliseconds> timeout_;
  std::stop_token caller_;
  std::stop_source source_{std::nostopstate};
  std::optional<std::stop_callback<std::function<void()>>> forward_;
  std::optional<Timer::Alarm> alarm_;
};

/// Thrown when all rows together do not fit the memory of a GPU, or the limit on it; smaller parts may.
class GpuMemoryError : public ResourceError {
 public:
  using ResourceError::ResourceError;
};

/// Turns what may come out of the layers below into the errors of the public API.
template <class F>
auto guarded(const Query& query, const Limits& limits, const F& f) {
  try {
    return f();
  } catch (const planner::NoPath& none) {
    throw BindError(none.reason, query.location());
  } catch (const kernels::Cancelled&) {
    limits.fail(query);
  } catch (const kernels::cuda::OutOfMemory& failure) {
    throw GpuMemoryError(failure.what(), query.location());
  } catch (const kernels::cuda::Failure& failure) {
    throw DeviceError(failure.what(), query.location());
  } catch (const std::bad_alloc&) {
    throw ResourceError("out of memory while answering the query", query.location());
  }
}

}  // namespace skyrank::exec
