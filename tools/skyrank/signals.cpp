#include "tools/skyrank/signals.hpp"

#include <pthread.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <string_view>
#include <system_error>

#include <skyrank/error.hpp>

namespace skyrank::tools {
namespace {

sigset_t handled_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGHUP);
  return set;
}

[[noreturn]] void end_process() {
  const std::string_view message = isatty(STDERR_FILENO) != 0 ? "\r\x1b[Kskyrank: cancelled\n" : "skyrank: cancelled\n";
  // Not through stdio, whose locks another thread may hold.
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, message.data(), message.size());
  ::_exit(1);
}

}  // namespace

Signals::Signals() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  const sigset_t set = handled_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  try {
    waiter_ = std::thread([this] { wait(); });
  } catch (const std::system_error& error) {
    throw ResourceError(std::string("no thread can be started: ") + error.code().message());
  }
}

Signals::~Signals() {
  {
    const std::lock_guard lock(mutex_);
    leaving_ = true;
  }
  // Only to wake it: the signal is blocked everywhere and taken by sigwait.
  pthread_kill(waiter_.native_handle(), SIGTERM);  // NOLINT(bugprone-bad-signal-to-kill-thread)
  waiter_.join();
}

void Signals::wait() {
  const sigset_t set = handled_signals();
  for (;;) {
    int number = 0;
    sigwait(&set, &number);
    const std::lock_guard lock(mutex_);
    if (leaving_) return;
    if (abandonable_ || source_.stop_requested()) end_process();
    source_.request_stop();
  }
}

Signals::Abandonable::Abandonable(Signals& signals) : signals_(signals) {
  const std::lock_guard lock(signals_.mutex_);
  if (signals_.source_.stop_requested()) throw CancelledError("cancelled");
  signals_.abandonable_ = true;
}

Signals::Abandonable::~Abandonable() {
  const std::lock_guard lock(signals_.mutex_);
  signals_.abandonable_ = false;
}

}  // namespace skyrank::tools
