#pragma once

#include <chrono>

namespace skyrank::exec {

/// Milliseconds since construction or the last lap.
class Stopwatch {
 public:
  double lap() {
    const Clock::time_point now = Clock::now();
    const std::chrono::duration<double, std::milli> passed = now - start_;
    start_ = now;
    return passed.count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

}  // namespace skyrank::exec
