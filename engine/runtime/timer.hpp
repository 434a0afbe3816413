#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>

namespace skyrank::exec {

/// Requests stops at given times, on one thread for all queries of an engine, which starts with the first time limit.
/// Looks at the clock in each query's loops would need none, but cost ten times what a look at a token costs.
class Timer {
 public:
  using Clock = std::chrono::steady_clock;

  Timer() = default;
  ~Timer() = default;
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  /// Requests a stop at a time, unless it is gone before. ResourceError where the thread cannot be started.
  class Alarm {
   public:
    Alarm(Timer& timer, Clock::time_point time, std::stop_source source);
    ~Alarm();
    Alarm(const Alarm&) = delete;
    Alarm& operator=(const Alarm&) = delete;

   private:
    Timer& timer_;
    std::pair<Clock::time_point, std::uint64_t> key_;
  };

 private:
  void start();  // with mutex_ held
  void run(const std::stop_token& end);

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::map<std::pair<Clock::time_point, std::uint64_t>, std::stop_source> alarms_;
  std::uint64_t next_ = 0;
  std::jthread thread_;  // last: ends before what it uses
};

}  // namespace skyrank::exec
