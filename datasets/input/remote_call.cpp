#include "datasets/input/remote_call.hpp"

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <new>
#include <skyrank/error.hpp>
#include <system_error>
#include <thread>

#include "engine/stop.hpp"

namespace skyrank::datasets {
namespace {

constexpr std::chrono::milliseconds kStopInterval(10);

std::atomic<int> g_calls = 0;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables): of the whole process

/// Ends the process where calls that nobody waits for go on.
void leave_at_once(int status, void* /*unused*/) {
  if (g_calls == 0) return;
  static_cast<void>(std::fflush(nullptr));
  ::_exit(status);
}

/// Has `leave_at_once` called before all that was registered so far.
void leave_at_once_at_exit() {
  static std::once_flag once;
  std::call_once(once, [] {
    if (::on_exit(&leave_at_once, nullptr) != 0) throw std::bad_alloc();
  });
}

}  // namespace

void start_alone(const std::string& name, std::function<void()> work) {
  ++g_calls;
  try {
    std::thread([work = std::move(work)]() mutable {
      work();
      work = nullptr;
      --g_calls;
    }).detach();
  } catch (const std::system_error& error) {
    --g_calls;
    throw ResourceError(name + ": no thread can be started: " + error.code().message());
  } catch (...) {
    --g_calls;
    throw;
  }
}

void wait_for_answer(const std::string& name, const std::stop_token& stop,
                     const std::function<bool(std::chrono::milliseconds)>& is_ready) {
  while (!is_ready(kStopInterval)) {
    if (!exec::is_stopped(stop)) continue;
    leave_at_once_at_exit();
    throw CancelledError("reading " + name + " was cancelled");
  }
}

}  // namespace skyrank::datasets
