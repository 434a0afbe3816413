#include "engine/stop.hpp"

#include <atomic>
#include <utility>

#include "kernels/common/problem.hpp"

namespace skyrank::exec {
namespace {

thread_local const std::stop_token* current = nullptr;
std::atomic<const std::stop_token& (*)()> other = nullptr;

}  // namespace

StopScope::StopScope(const std::stop_token& stop) : before_(std::exchange(current, &stop)) {}
StopScope::~StopScope() { current = before_; }

const std::stop_token& current_stop() {
  static const std::stop_token kNever;
  if (current != nullptr) return *current;
  const auto of_other = other.load(std::memory_order_relaxed);
  return of_other != nullptr ? of_other() : kNever;
}

void hear_stops_of(const std::stop_token& (*of_other)()) { other = of_other; }

void check(const std::stop_token& stop) {
  if (stop.stop_requested()) throw kernels::Cancelled{};
}

}  // namespace skyrank::exec
