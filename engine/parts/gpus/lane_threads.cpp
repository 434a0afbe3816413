#include "engine/parts/gpus/lane_threads.hpp"

#include <unistd.h>

#include <new>
#include <system_error>
#include <utility>

namespace skyrank::exec {
namespace {

/// Ends the thread that gets it as work.
const std::function<void()> kEnd;

}  // namespace

LaneThreads& LaneThreads::of_process() {
  // Not destroyed: at the end of the process the driver may be gone before the threads that know it.
  static auto& threads = *new LaneThreads;
  return threads;
}

LaneThreads::LaneThreads() : process_(getpid()) {}

LaneThreads::~LaneThreads() = default;

void LaneThreads::forget_lanes_of_parent() {
  if (process_ == getpid()) return;
  process_ = getpid();
  // Their threads are not in this process, so nobody may wait for them.
  for (auto& lane : idle_) (void)lane.release();
  idle_.clear();
}

void LaneThreads::run(std::size_t threads, const std::function<void()>& work) {
  std::vector<std::unique_ptr<Lane>> others;
  others.reserve(threads);
  for (std::size_t i = 1; i < threads; ++i) {
    std::unique_ptr<Lane> lane = take();
    if (lane == nullptr) break;  // fewer threads do it too
    lane->start(work);
    others.push_back(std::move(lane));
  }
  work();
  for (const auto& lane : others) lane->wait();
  const std::lock_guard lock(mutex_);
  for (auto& lane : others) {
    try {
      idle_.push_back(std::move(lane));
    } catch (const std::bad_alloc&) {  // it ends instead
    }
  }
}

std::unique_ptr<LaneThreads::Lane> LaneThreads::take() {
  {
    const std::lock_guard lock(mutex_);
    forget_lanes_of_parent();
    if (!idle_.empty()) {
      std::unique_ptr<Lane> lane = std::move(idle_.back());
      idle_.pop_back();
      return lane;
    }
  }
  try {
    return std::make_unique<Lane>();
  } catch (const std::system_error&) {
  } catch (const std::bad_alloc&) {
  }
  return nullptr;
}

LaneThreads::Lane::~Lane() {
  start(kEnd);
  thread_.join();
}

void LaneThreads::Lane::start(const std::function<void()>& work) {
  work_.store(&work, std::memory_order_release);
  work_.notify_all();
}

void LaneThreads::Lane::wait() const {
  while (const Work work = work_.load(std::memory_order_acquire)) work_.wait(work, std::memory_order_acquire);
}

void LaneThreads::Lane::serve() {
  while (true) {
    work_.wait(nullptr, std::memory_order_acquire);
    const Work work = work_.load(std::memory_order_acquire);
    if (work == &kEnd) return;
    (*work)();
    work_.store(nullptr, std::memory_order_release);
    work_.notify_all();
  }
}

}  // namespace skyrank::exec
