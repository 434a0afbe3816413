#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>

// Calls of file systems of other machines, which nothing interrupts: one that waits for an answer ends with the limits
// of its library, of S3 after more than a minute.
namespace skyrank::datasets {

/// Starts work on a thread of its own. A process that ends before the work does leaves at once, so that nothing is
/// destroyed that the work may use. ResourceError where no thread can be started for `name`.
void start_alone(const std::string& name, std::function<void()> work);

/// Returns once `is_ready` does true, which waits for the time that it is given. CancelledError soon after `stop`, or
/// the stop of this thread's query, is requested.
void wait_for_answer(const std::string& name, const std::stop_token& stop,
                     const std::function<bool(std::chrono::milliseconds)>& is_ready);

/// Returns what `call` returns, or throws what it throws. CancelledError soon after a stop: the call then goes on
/// alone, so it must own all that it uses.
template <class Call>
auto remote_call(const std::string& name, const std::stop_token& stop, Call call) {
  auto task = std::make_shared<std::packaged_task<decltype(call())()>>(std::move(call));
  auto result = task->get_future();
  start_alone(name, [task] { (*task)(); });
  wait_for_answer(name, stop, [&](auto time) { return result.wait_for(time) == std::future_status::ready; });
  return result.get();
}

}  // namespace skyrank::datasets
