#pragma once

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

/// The token of the query that this thread answers; one that never stops without.
const std::stop_token& current_stop();

/// Throws kernels::Cancelled once a stop is requested.
void check(const std::stop_token& stop);

}  // namespace skyrank::exec
