#pragma once

#include <cstdint>
#include <stop_token>
#include <utility>

// Tells the loops and readers of a query that it was cancelled or is late.
namespace skyrank::exec {

/// Lets the stop token of a query reach every loop over rows and every reader: while it lives, the loops that this
/// thread starts by `for_each_range` and `for_chunks` ask it before each piece, and throw kernels::Cancelled.
class StopScope {
 public:
  explicit StopScope(const std::stop_token& stop);
  ~StopScope();
  StopScope(const StopScope&) = delete;
  StopScope& operator=(const StopScope&) = delete;

 private:
  const std::stop_token* before_;
};

/// Returns the token of the query that this thread answers; one that never stops without.
const std::stop_token& current_stop();

/// Lets this copy of the engine hear the queries of another one in the same process, whose `current_stop` is given: the
/// Python package has one in each of its modules, and files are read in another than queries run in.
void hear_stops_of(const std::stop_token& (*current)());

/// Returns true once `stop`, or that of the query which this thread answers, is requested.
inline bool is_stopped(const std::stop_token& stop) { return stop.stop_requested() || current_stop().stop_requested(); }

/// Makes one token of two: it stops with either.
class EitherStop {
 public:
  EitherStop(std::stop_token one, std::stop_token other)
      : of_one_(std::move(one), Request{source_}), of_other_(std::move(other), Request{source_}) {}

  std::stop_token token() const { return source_.get_token(); }

 private:
  struct Request {
    std::stop_source source;
    void operator()() { source.request_stop(); }
  };

  std::stop_source source_;
  std::stop_callback<Request> of_one_;
  std::stop_callback<Request> of_other_;
};

/// Throws kernels::Cancelled once a stop is requested.
void check(const std::stop_token& stop);

/// The same for each `kRowsBetweenChecks`-th row of a serial loop.
inline constexpr std::int64_t kRowsBetweenChecks = std::int64_t{1} << 16;
inline void check_at(std::int64_t row, const std::stop_token& stop) {
  if (row % kRowsBetweenChecks == 0) check(stop);
}

}  // namespace skyrank::exec
