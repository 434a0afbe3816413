#pragma once

#include <unistd.h>

#include <memory>
#include <stop_token>
#include <utility>

#include <skyrank/engine.hpp>

#include "engine/python/src/bind.hpp"

namespace skyrank::python {

/// An engine that survives a fork. The child has none of its parent's threads, so it makes an engine of one thread for
/// itself; that of the parent is left alone, as its threads cannot be joined.
class ForkedEngine {
 public:
  explicit ForkedEngine(EngineOptions options)
      : options_(std::move(options)), engine_(std::make_unique<Engine>(options_)), process_(getpid()) {}

  ~ForkedEngine() { leave_that_of_parent(); }
  ForkedEngine(const ForkedEngine&) = delete;
  ForkedEngine& operator=(const ForkedEngine&) = delete;

  /// Returns the engine of this process. The caller holds the GIL.
  const Engine& get() {
    if (leave_that_of_parent()) {
      options_.threads = 1;
      engine_ = std::make_unique<Engine>(options_);
      process_ = getpid();
    }
    return *engine_;
  }

 private:
  /// Returns true in a forked child, after it has let go of the parent's engine without its end.
  bool leave_that_of_parent() {
    if (process_ == getpid()) return false;
    // NOLINTNEXTLINE(bugprone-unused-return-value): it stays, as the parent's threads are not here to end
    static_cast<void>(engine_.release());
    return true;
  }

  EngineOptions options_;
  std::unique_ptr<Engine> engine_;
  pid_t process_;
};

/// How a call of Python runs.
struct Call {
  bool main_thread = false;
  bool count_work = false;
  double timeout = 0;  ///< seconds; 0: none

  RunOptions options(std::stop_token stop) const {
    RunOptions options;
    options.count_work = count_work;
    options.stop = std::move(stop);
    if (timeout > 0) options.timeout = to_time_limit(timeout);
    return options;
  }
};

}  // namespace skyrank::python
