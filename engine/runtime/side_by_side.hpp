#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <vector>

// Threads beside TBB's, for pieces of work that read files, or enter the engine's arena themselves. The first failure
// in the order of the work wins, so that errors do not depend on timing.
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

/// Does pieces of work, which begin in their order, on up to `threads` threads. A piece that throws ResourceError is
/// done again by the other threads, as memory did not suffice beside theirs. Once another piece has failed, or no other
/// thread is left, no more begin, and the failure that comes first is thrown.
void share_out(std::size_t threads, const std::vector<std::size_t>& pieces,
               const std::function<void(std::size_t piece)>& work);

}  // namespace skyrank::exec
