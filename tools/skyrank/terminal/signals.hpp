#pragma once

#include <atomic>
#include <mutex>
#include <optional>
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

  /// The token of the run; after begin_query() that of the query.
  std::stop_token stop_token() const;

  /// CancelledError once a signal came.
  void check() const;

  /// 128 and the number of the first signal; 0 before it.
  int exit_status() const;

  /// Has SIGINT stop the query that begins, and not the run, from now on. To be called before each query, and before
  /// waiting for input, by one thread.
  void begin_query();
  /// File descriptor that becomes readable when a signal comes after begin_query().
  int descriptor() const { return descriptor_; }

  /// Lets the run end in its own time after the first signal, such as one that saves what it has. The second signal
  /// ends the process at once all the same.
  void let_finish() { lets_finish_ = true; }

  /// Notes that the user has been told, so that an end at once does not say it again.
  void set_reported() { reported_ = true; }

 private:
  void wait();
  int next_signal();
  bool interrupt_query(bool ends_run);
  [[noreturn]] void end_process() const;

  std::stop_source source_;
  mutable std::mutex query_mutex_;
  std::optional<std::stop_source> query_;  // which SIGINT stops
  int descriptor_ = -1;
  std::atomic<int> first_{0};  // signal
  std::atomic<bool> leaving_{false};
  std::atomic<bool> reported_{false};
  std::atomic<bool> lets_finish_{false};
  std::thread waiter_;
};

}  // namespace skyrank::tools
