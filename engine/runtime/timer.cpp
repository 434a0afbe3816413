#include "engine/runtime/timer.hpp"

#include <string>
#include <system_error>

#include <skyrank/error.hpp>

namespace skyrank::exec {

Timer::Alarm::Alarm(Timer& timer, Clock::time_point time, std::stop_source source) : timer_(timer) {
  const std::lock_guard lock(timer_.mutex_);
  timer_.start();
  key_ = {time, timer_.next_++};
  const auto alarm = timer_.alarms_.emplace(key_, std::move(source)).first;
  if (alarm == timer_.alarms_.begin()) timer_.changed_.notify_one();
}

Timer::Alarm::~Alarm() {
  const std::lock_guard lock(timer_.mutex_);
  timer_.alarms_.erase(key_);
}

void Timer::start() {
  if (thread_.joinable()) return;
  try {
    thread_ = std::jthread([this](const std::stop_token& end) { run(end); });
  } catch (const std::system_error& error) {
    throw ResourceError(std::string("a time limit needs a thread, which cannot be started: ") + error.what());
  }
}

void Timer::run(const std::stop_token& end) {
  std::unique_lock lock(mutex_);
  while (!end.stop_requested()) {
    if (alarms_.empty()) {
      changed_.wait(lock, end, [this] { return !alarms_.empty(); });
      continue;
    }
    const auto key = alarms_.begin()->first;
    if (Clock::now() < key.first) {
      changed_.wait_until(lock, end, key.first, [&] { return alarms_.empty() || alarms_.begin()->first < key; });
      continue;
    }
    std::stop_source source = std::move(alarms_.begin()->second);
    alarms_.erase(alarms_.begin());
    // Callbacks of the token run here, and may take locks of their own.
    lock.unlock();
    source.request_stop();
    lock.lock();
  }
}

}  // namespace skyrank::exec
