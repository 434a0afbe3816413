#pragma once

#include <mutex>
#include <stop_token>
#include <thread>

namespace skyrank::tools {

/// Turns SIGINT, SIGTERM and SIGHUP into a stop request, so that a run ends by its ordinary error path and leaves no
/// half-written file; a second signal ends the process at once. Writing to a closed pipe or beyond the file size limit
/// becomes an ordinary error of that write. Must be made before any other thread, so that all inherit its signal mask.
class Signals {
 public:
  Signals();
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  std::stop_token stop_token() const { return source_.get_token(); }

  /// Work that cannot be asked to stop and leaves nothing half-done: while it lives, the first signal already ends the
  /// process.
  class Abandonable {
   public:
    /// CancelledError when a signal came before.
    explicit Abandonable(Signals& signals);
    ~Abandonable();
    Abandonable(const Abandonable&) = delete;
    Abandonable& operator=(const Abandonable&) = delete;

   private:
    Signals& signals_;
  };

 private:
  void wait();

  std::stop_source source_;
  std::mutex mutex_;
  bool abandonable_ = false;
  bool leaving_ = false;
  std::thread waiter_;
};

}  // namespace skyrank::tools
