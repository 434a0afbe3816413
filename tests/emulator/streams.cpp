#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "tests/emulator/runtime.hpp"

struct CUstream_st {
  int priority;
  int device;
};

struct CUevent_st {
  using Clock = std::chrono::steady_clock;

  bool timed;
  int device;
  std::optional<Clock::time_point> recorded;
};

namespace skyrank::emulator {
namespace {

/// Handles that are in use.
template <class T>
class Handles {
 public:
  T* add(T value) {
    const std::lock_guard lock(mutex_);
    return values_.emplace_back(std::make_unique<T>(std::move(value))).get();
  }

  bool remove(const T* handle) {
    const std::lock_guard lock(mutex_);
    return std::erase_if(values_, [=](const auto& value) { return value.get() == handle; }) > 0;
  }

  bool contains(const T* handle) {
    const std::lock_guard lock(mutex_);
    return std::ranges::any_of(values_, [=](const auto& value) { return value.get() == handle; });
  }

  std::size_t size() {
    const std::lock_guard lock(mutex_);
    return values_.size();
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<T>> values_;
};

// Never destroyed: what lives as long as the program gives its handles back after everything here would be gone.
Handles<CUstream_st>& streams = *new Handles<CUstream_st>;
Handles<CUevent_st>& events = *new Handles<CUevent_st>;

bool is_default(cudaStream_t stream) {
  return stream == nullptr || stream == cudaStreamLegacy || stream == cudaStreamPerThread;
}

}  // namespace

int device_of(cudaStream_t stream) { return is_default(stream) ? current_device() : stream->device; }

bool is_stream(cudaStream_t stream) { return is_default(stream) || streams.contains(stream); }

std::size_t live_streams() { return streams.size(); }
std::size_t live_events() { return events.size(); }

}  // namespace skyrank::emulator

using skyrank::emulator::events;
using skyrank::emulator::is_stream;
using skyrank::emulator::keep;
using skyrank::emulator::streams;

cudaError_t cudaStreamCreate(cudaStream_t* stream) { return cudaStreamCreateWithFlags(stream, cudaStreamDefault); }

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return cudaStreamCreateWithPriority(stream, flags, skyrank::emulator::kLeastPriority);
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  if (flags > cudaStreamNonBlocking) return keep(cudaErrorInvalidValue);
  using skyrank::emulator::kGreatestPriority;
  using skyrank::emulator::kLeastPriority;
  *stream = streams.add({.priority = std::clamp(priority, kGreatestPriority, kLeastPriority),
                         .device = skyrank::emulator::current_device()});
  return cudaSuccess;
}

cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
  if (!is_stream(stream)) return keep(cudaErrorInvalidResourceHandle);
  *priority = skyrank::emulator::is_default(stream) ? skyrank::emulator::kLeastPriority : stream->priority;
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return keep(streams.remove(stream) ? cudaSuccess : cudaErrorInvalidResourceHandle);
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  if (!is_stream(stream)) return keep(cudaErrorInvalidResourceHandle);
  skyrank::emulator::release_unused_memory();
  return cudaSuccess;
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return keep(is_stream(stream) ? cudaSuccess : cudaErrorInvalidResourceHandle);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
  if (flags != 0) return keep(cudaErrorInvalidValue);
  return keep(is_stream(stream) && events.contains(event) ? cudaSuccess : cudaErrorInvalidResourceHandle);
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* user_data) {
  if (!is_stream(stream)) return keep(cudaErrorInvalidResourceHandle);
  if (function == nullptr) return keep(cudaErrorInvalidValue);
  function(user_data);
  return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, cudaEventDefault); }

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  if (flags > (cudaEventBlockingSync | cudaEventDisableTiming)) return keep(cudaErrorInvalidValue);
  *event = events.add(
      {.timed = (flags & cudaEventDisableTiming) == 0, .device = skyrank::emulator::current_device(), .recorded = {}});
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return keep(events.remove(event) ? cudaSuccess : cudaErrorInvalidResourceHandle);
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  if (!events.contains(event) || !is_stream(stream)) return keep(cudaErrorInvalidResourceHandle);
  if (event->device != skyrank::emulator::device_of(stream)) return keep(cudaErrorInvalidResourceHandle);
  event->recorded = CUevent_st::Clock::now();
  return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) { return cudaEventQuery(event); }

cudaError_t cudaEventQuery(cudaEvent_t event) {
  return keep(events.contains(event) ? cudaSuccess : cudaErrorInvalidResourceHandle);
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  for (const CUevent_st* event : {start, end}) {
    if (!events.contains(event) || !event->timed || !event->recorded) return keep(cudaErrorInvalidResourceHandle);
  }
  *milliseconds = std::chrono::duration<float, std::milli>(*end->recorded - *start->recorded).count();
  return cudaSuccess;
}
