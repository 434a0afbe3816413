#include "engine/executor/limits.hpp"

#include <algorithm>
#include <utility>

#include "engine/query/duration.hpp"
#include "engine/query/locations.hpp"

namespace skyrank::exec {
namespace {

/// The longest time limit; times to come beyond the year 2262 are no nanoseconds in 64 bits.
constexpr std::chrono::milliseconds kMaxLimit = std::chrono::years(30);

std::optional<std::chrono::milliseconds> time_limit(const Query& query, const RunOptions& options) {
  if (query.timeout() && options.timeout) return std::min(*query.timeout(), *options.timeout);
  return query.timeout() ? query.timeout() : options.timeout;
}

}  // namespace

Limits::Limits(const Query& query, const RunOptions& options, Timer& timer)
    : name_(query.name()),
      location_(query::location_of(query)),
      timeout_(time_limit(query, options)),
      caller_(options.stop) {
  if (!timeout_) return;
  timeout_ = std::min(*timeout_, kMaxLimit);
  if (timeout_->count() < 1) throw QueryError("a time limit must be at least 1 ms", location_);
  source_ = std::stop_source();
  forward_.emplace(caller_, [this] { source_.request_stop(); });
  alarm_.emplace(timer, options.began.value_or(Timer::Clock::now()) + *timeout_, source_);
}

void Limits::fail() const {
  if (caller_.stop_requested() || !timeout_) throw CancelledError("the query was cancelled", location_);
  const std::string name = name_.empty() ? "" : " '" + name_ + "'";
  throw TimeoutError("the query" + name + " took longer than its time limit of " + to_string(*timeout_) +
                         ", and was at: " + phase_.load(),
                     location_);
}

}  // namespace skyrank::exec
