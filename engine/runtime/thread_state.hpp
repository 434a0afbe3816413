#pragma once

#include <stop_token>

#include "engine/stop.hpp"
#include "kernels/common/memory.hpp"
#include "kernels/common/transfers.hpp"
#include "kernels/cuda/runtime/scope.hpp"

namespace skyrank::exec {

/// The state of a thread that works for a query. Tasks and threads that do a part of the work take it over.
struct ThreadState {
  std::stop_token stop;
  kernels::MemoryAccount* account;
  kernels::cuda::SelectedDevice device;
  kernels::TransferTally* tally;

  /// Returns that of the calling thread.
  static ThreadState current() {
    return {current_stop(), kernels::current_account(), kernels::cuda::selected_device(), kernels::current_tally()};
  }
};

/// Gives the calling thread the state of another one while it lives, which `state` outlives.
class ThreadScope {
 public:
  explicit ThreadScope(const ThreadState& state)
      : heard_(state.stop), counted_(state.account), on_device_(state.device), tallied_(state.tally) {}
  ThreadScope(const ThreadScope&) = delete;
  ThreadScope& operator=(const ThreadScope&) = delete;
  ~ThreadScope() = default;

 private:
  const StopScope heard_;
  const kernels::AccountScope counted_;
  const kernels::cuda::DeviceScope on_device_;
  const kernels::TallyScope tallied_;
};

}  // namespace skyrank::exec
