#pragma once

#include <cstdint>
#include <stop_token>

namespace skyrank::exec {

/// Lets the stop token of a query reach every loop over rows: while it lives, the loops that this thread starts by
/// `for_each_range` and `for_chunks` ask it before each piece, and throw kernels::Cancelled.
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

/// Throws kernels::Cancelled once a stop is requested.
void check(const std::stop_token& stop);

/// The same for each `kRowsBetweenChecks`-th row of a serial loop.
inline constexpr std::int64_t kRowsBetweenChecks = std::int64_t{1} << 16;
inline void check_at(std::int64_t row, const std::stop_token& stop) {
  if (row % kRowsBetweenChecks == 0) check(stop);
}

}  // namespace skyrank::exec
