#pragma once

#include <future>
#include <mutex>
#include <vector>

#include <skyrank/partial.hpp>

#include "engine/parts/states/query_state.hpp"
#include "kernels/cuda/runtime/scope.hpp"

namespace skyrank::exec {

/// Combines partial answers while other parts are answered: reductions of the state run on a thread of their own, one
/// at a time, as one may take as long as a part and no GPU should wait for it. Thread-safe.
class SideMerge {
 public:
  /// Nobody else uses `state`, which outlives this, before `finish` has returned. Reductions that need a GPU run on
  /// `device`.
  SideMerge(QueryState& state, const kernels::cuda::SelectedDevice& device) : state_(state), device_(device) {}
  SideMerge(const SideMerge&) = delete;
  SideMerge& operator=(const SideMerge&) = delete;
  /// Waits for what still runs.
  ~SideMerge() = default;

  /// Takes in a partial answer. It waits for a reduction only where many rows wait for that already. Throws what
  /// reductions of the state have thrown.
  void combine(Partial partial);

  /// Waits until all partial answers are in the state, which is not reduced by the last of them. Throws what reductions
  /// have thrown.
  void finish();

 private:
  bool may_take_in() const;
  void take_in();

  QueryState& state_;
  const kernels::cuda::SelectedDevice device_;
  std::mutex mutex_;
  std::vector<Partial> waiting_;  // until the state is not being reduced
  std::future<void> reduction_;
};

}  // namespace skyrank::exec
