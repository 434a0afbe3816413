#pragma once

#include <stop_token>

#include "engine/stop.hpp"
#include "kernels/common/memory.hpp"
#include "kernels/common/transfers.hpp"
#include "kernels/cuda/runtime/scope.hpp"

namespace skyrank::exec {

/// The part of a query's context that its threads know. QueryContext::on_threads and the stages set it, each by a scope
/// that restores what was there. Tasks and threads that do a part of the work take it over. Each is a thread's since
/// who needs it is called through functions that have no context to pass:
/// - the stop: by `Source::read`, which applications implement and call, and by Arrow's threads, which read for it;
/// - the account: by constructors of allocators, in containers that are made by value and moved in all kernels;
/// - the GPU: by constructors and copies of arrays in its memory, and by the CUDA runtime, which has one a thread too;
/// - the tally: by copies, below kernels that are also called without a query (select_k, pins, benchmarks).
/// The memory that columns of the query take (QueryMemory) is counted by the query's own thread alone: columns are
/// made by value in all operators, and outlive the query.
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
