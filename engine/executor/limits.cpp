#include "engine/executor/limits.hpp"

#include <algorithm>
#include <utility>

#include "engine/query/duration.hpp"

namespace skyrank::exec {
namespace {

/// The longest time limit; times to come beyond the year 2262 are no nanoseconds in 64 bits.
constexpr std::chrono::milliseconds kMaxLimit = std::chrono::years(30);

/// The limits of the query whose parts this thread answers; null: there are none.
thread_local Limits* whole = nullptr;

std::optional<std::chrono::milliseconds> time_limit(const Query& query, const RunOptions& options) {
  if (query.timeout() && options.timeout) return std::min(*query.timeout(), *options.timeout);
  return query.timeout() ? query.timeout() : options.timeout;
}

}  // namespace

Limits::Limits(const Query& query, const RunOptions& options, Timer& timer)
    : timeout_(time_limit(query, options)),
      caller_(options.stop),
      own_phase_("waiting for the engine's threads"),
      phase(whole == nullptr ? own_phase_ : whole->phase) {
  if (!timeout_) return;
  timeout_ = std::min(*timeout_, kMaxLimit);
  if (timeout_->count() < 1) throw QueryError("a time limit must be at least 1 ms", query.location());
  source_ = std::stop_source();
  forward_.emplace(caller_, [this] { source_.request_stop(); });
  alarm_.emplace(timer, Timer::Clock::now() + *timeout_, source_);
}

void Limits::fail(const Query& query) const {
  if (caller_.stop_requested() || !timeout_) throw CancelledError("the query was cancelled", query.location());
  const std::string name = query.name().empty() ? "" : " '" + query.name() + "'";
  throw TimeoutError(
      "the query" + name + " took longer than its time limit of " + to_string(*timeout_) + ", and was at: " + phase,
      query.location());
}

Limits::Scope::Scope(Limits& limits) : stop_(limits.stop()), heard_(stop_), before_(std::exchange(whole, &limits)) {}

Limits::Scope::~Scope() { whole = before_; }

}  // namespace skyrank::exec
