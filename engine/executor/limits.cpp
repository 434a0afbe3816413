#include "engine/executor/limits.hpp"

#include <algorithm>
#include <utility>

#include "engine/query/duration.hpp"

namespace skyrank::exec {
namespace {

/// The longest time limit; times to come beyond the year 2262 are no nanoseconds in 64 bits.
constexpr std::chrono::milliseconds kMaxLimit = std::chrono::years(30);

/// The limits of the query whose parts this thread answers; null: there are none.
thread_local Limits* enclosing = nullptr;

std::optional<std::chrono::milliseconds> time_limit(const Query& query, const RunOptions& options) {
  if (query.timeout() && options.timeout) return std::min(*query.timeout(), *options.timeout);
  return query.timeout() ? query.timeout() : options.timeout;
}

}  // namespace

Limits::Limits(const Query& query, const RunOptions& options, Timer& timer)
    : Limits(query.name(), query::location_of(query), time_limit(query, options), options.stop, timer) {}

Limits::Limits(const query::BoundQuery& query, const RunOptions& options, Timer& timer)
    : Limits(query.name, query.location, options.timeout, options.stop, timer) {}

Limits::Limits(std::string name, Location location, std::optional<std::chrono::milliseconds> timeout,
               std::stop_token caller, Timer& timer)
    : name_(std::move(name)),
      location_(std::move(location)),
      timeout_(timeout),
      caller_(std::move(caller)),
      own_phase_("waiting for the engine's threads"),
      phase(enclosing == nullptr ? own_phase_ : enclosing->phase) {
  if (!timeout_) return;
  timeout_ = std::min(*timeout_, kMaxLimit);
  if (timeout_->count() < 1) throw QueryError("a time limit must be at least 1 ms", location_);
  source_ = std::stop_source();
  forward_.emplace(caller_, [this] { source_.request_stop(); });
  alarm_.emplace(timer, Timer::Clock::now() + *timeout_, source_);
}

void Limits::fail() const {
  if (caller_.stop_requested() || !timeout_) throw CancelledError("the query was cancelled", location_);
  const std::string name = name_.empty() ? "" : " '" + name_ + "'";
  throw TimeoutError(
      "the query" + name + " took longer than its time limit of " + to_string(*timeout_) + ", and was at: " + phase,
      location_);
}

Limits::Scope::Scope(Limits& limits)
    : stop_(limits.stop()), heard_(stop_), before_(std::exchange(enclosing, &limits)) {}

Limits::Scope::~Scope() { enclosing = before_; }

}  // namespace skyrank::exec
