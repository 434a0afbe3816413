#include "engine/runtime/stop.hpp"

#include <utility>

#include "kernels/common/problem.hpp"

namespace skyrank::exec {
namespace {

thread_local const std::stop_token* current = nullptr;

}  // namespace

StopScope::StopScope(const std::stop_token& stop) : before_(std::exchange(current, &stop)) {}
StopScope::~StopScope() { current = before_; }

const std::stop_token& current_stop() {
  static const std::stop_token kNever;
  return current != nullptr ? *current : kNever;
}

void check(const std::stop_token& stop) {
  if (stop.stop_requested()) throw kernels::Cancelled{};
}

}  // namespace skyrank::exec
