#include "tools/skyrank/terminal/signals.hpp"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <skyrank/error.hpp>

#include "engine/files/output_file.hpp"

namespace skyrank::tools {
namespace {

constexpr int kStatusOfSignals = 128;  // as shells have it
// A busy machine needs some of it to print what was answered.
constexpr std::chrono::milliseconds kGrace(250);

sigset_t handled_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGHUP);
  return set;
}

/// Waits for one of the handled signals, but no longer than the grace. Returns true if one came.
bool wait_for_another() {
  const sigset_t set = handled_signals();
  const timespec grace{0, std::chrono::nanoseconds(kGrace).count()};
  int number = -1;
  do {
    number = sigtimedwait(&set, nullptr, &grace);
  } while (number < 0 && errno == EINTR);
  return number > 0;
}

/// Not through stdio, whose locks another thread may hold, and not where it would block.
void say(std::string_view message) {
  pollfd error{STDERR_FILENO, POLLOUT, 0};
  if (::poll(&error, 1, 0) <= 0) return;
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, message.data(), message.size());
}

}  // namespace

Signals::Signals(std::stop_source source) : source_(std::move(source)) {
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

std::stop_token Signals::stop_token() const {
  const std::scoped_lock lock(query_mutex_);
  return query_ ? query_->get_token() : source_.get_token();
}

void Signals::begin_query() {
  const std::scoped_lock lock(query_mutex_);
  if (descriptor_ < 0) descriptor_ = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (descriptor_ < 0) throw ResourceError("no event descriptor can be made");
  std::uint64_t count = 0;
  if (!source_.stop_requested()) [[maybe_unused]]
    const auto taken = ::read(descriptor_, &count, sizeof(count));
  query_.emplace();
}

// Returns false where no query is there to be stopped in place of the run.
bool Signals::interrupt_query(bool ends_run) {
  const std::scoped_lock lock(query_mutex_);
  if (!query_) return false;
  if (ends_run) source_.request_stop();
  query_->request_stop();
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(descriptor_, &one, sizeof(one));
  return true;
}

Signals::~Signals() {
  leaving_ = true;
  // Only to wake it: the signal is blocked everywhere and taken by sigwait.
  pthread_kill(waiter_.native_handle(), SIGTERM);  // NOLINT(bugprone-bad-signal-to-kill-thread)
  waiter_.join();
  if (descriptor_ >= 0) ::close(descriptor_);
}

void Signals::check() const {
  if (source_.stop_requested() || stop_token().stop_requested()) throw CancelledError("cancelled");
}

int Signals::exit_status() const { return first_ == 0 ? 0 : kStatusOfSignals + first_; }

/// Waits for the first signal that is not for a query.
int Signals::next_signal() {
  const sigset_t set = handled_signals();
  int number = 0;
  do {
    sigwait(&set, &number);
  } while (!leaving_ && number == SIGINT && interrupt_query(false));
  return number;
}

void Signals::wait() {
  int number = next_signal();
  if (leaving_) return;
  first_ = number;
  if (!interrupt_query(true)) source_.request_stop();
  const bool came_again = wait_for_another();
  const sigset_t set = handled_signals();
  if (lets_finish_ && !came_again && !leaving_) sigwait(&set, &number);
  if (!leaving_) end_process();
}

void Signals::end_process() const {
  exec::remove_temporary_files();
  if (!reported_) say(isatty(STDERR_FILENO) != 0 ? "\r\x1b[Kskyrank: cancelled\n" : "skyrank: cancelled\n");
  ::_exit(exit_status());
}

}  // namespace skyrank::tools
