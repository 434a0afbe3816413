#pragma once

#include <atomic>
#include <stop_token>
#include <thread>

namespace skyrank::tools {

/// Turns SIGINT, SIGTERM and SIGHUP into a stop request, so that a run ends by its ordinary error path. What has not
/// ended a moment later (work that cannot be asked, a write that nobody reads), and everything at the second signal,
/// ends with the process at once. Either way no half-written file is left, and the exit status tells the signal.
/// Writing to a closed pipe or beyond the file size limit becomes an ordinary error of that write. Must be made before
/// any other thread, so that all inherit its signal mask.
class Signals {
 public:
  /// Requests the stop of `source`. ResourceError where no thread can be started.
  explicit Signals(std::stop_source source);
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  std::stop_token stop_token() const { return source_.get_token(); }

  /// CancelledError once a signal came.
  void check() const;

  /// 128 and the number of the first signal; 0 before it.
  int exit_status() const;

  /// Lets the run end in its own time after the first signal, such as one that saves what it has. The second signal
  /// ends the process at once all the same.
  void let_finish() { lets_finish_ = true; }

  /// Notes that the user has been told, so that an end at once does not say it again.
  void set_reported() { reported_ = true; }

 private:
  void wait();
  [[noreturn]] void end_process() const;

  std::stop_source source_;
  std::atomic<int> first_{0};  // signal
  std::atomic<bool> leaving_{false};
  std::atomic<bool> reported_{false};
  std::atomic<bool> lets_finish_{false};
  std::thread waiter_;
};

}  // namespace skyrank::tools
