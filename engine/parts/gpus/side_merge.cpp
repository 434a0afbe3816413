#include "engine/parts/gpus/side_merge.hpp"

#include <chrono>
#include <cstddef>
#include <system_error>
#include <utility>

namespace skyrank::exec {
namespace {

/// Rows that may wait for a reduction.
constexpr std::size_t kMaxWaitingRows = 4 * Doubling::kFewRows;

}  // namespace

void SideMerge::combine(Partial partial) {
  const std::lock_guard lock(mutex_);
  waiting_.push_back(std::move(partial));
  if (!may_take_in()) return;
  take_in();
  if (!state_.is_due()) return;
  const auto reduce = [this] {
    const kernels::cuda::DeviceScope on_device(device_);
    state_.reduce();
  };
  try {
    reduction_ = std::async(std::launch::async, reduce);
  } catch (const std::system_error&) {  // no thread can be started
    reduce();
  }
}

void SideMerge::finish() {
  const std::lock_guard lock(mutex_);
  take_in();
}

/// Returns false while a reduction is under way and few rows wait for it.
bool SideMerge::may_take_in() const {
  if (!reduction_.valid() || reduction_.wait_for(std::chrono::seconds(0)) == std::future_status::ready) return true;
  std::size_t rows = 0;
  for (const Partial& partial : waiting_) rows += partial.rows().size();
  return rows > kMaxWaitingRows;
}

/// Waits for a reduction, and takes in what has waited for it.
void SideMerge::take_in() {
  if (reduction_.valid()) reduction_.get();
  for (Partial& partial : waiting_) state_.add(std::move(partial));
  waiting_.clear();
}

}  // namespace skyrank::exec
