#pragma once

#include <cstddef>
#include <exception>
#include <functional>

namespace skyrank::exec {

/// Runs `work` on this thread and on up to `threads - 1` others, fewer where the system has none left, until all have
/// returned. `work` must not throw.
void run_side_by_side(std::size_t threads, const std::function<void()>& work);

/// The failure that comes first in the order of work that threads have shared. The caller locks.
class FirstFailure {
 public:
  bool has_value() const { return failure_ != nullptr; }

  /// Keeps the exception that is being handled, unless earlier work has failed.
  void keep(std::size_t place) {
    if (failure_ != nullptr && place_ <= place) return;
    failure_ = std::current_exception();
    place_ = place;
  }

  /// Throws it, if there is one.
  void rethrow() const {
    if (failure_ != nullptr) std::rethrow_exception(failure_);
  }

 private:
  std::exception_ptr failure_;
  std::size_t place_ = 0;
};

}  // namespace skyrank::exec
