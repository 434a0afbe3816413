#pragma once

#include <cuda_runtime_api.h>

#include <utility>

#include "kernels/cuda/runtime/check.hpp"

namespace skyrank::kernels::cuda {

/// Makes a device the calling thread's current one for as long as it lives.
class CurrentDevice {
 public:
  explicit CurrentDevice(int ordinal) {
    SKYRANK_CUDA_CALL(cudaGetDevice(&previous_));
    SKYRANK_CUDA_CALL(cudaSetDevice(ordinal));
  }
  ~CurrentDevice() { (void)cudaSetDevice(previous_); }
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;

 private:
  int previous_ = 0;
};

/// A stream of the current device that does not wait for the default stream.
class Stream {
 public:
  Stream() { SKYRANK_CUDA_CALL(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  ~Stream() { (void)cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  cudaStream_t get() const { return stream_; }
  /// Waits until all that was put on the stream is done; throws the Failure of what failed.
  void synchronize() const { SKYRANK_CUDA_CALL(cudaStreamSynchronize(stream_)); }

 private:
  cudaStream_t stream_ = nullptr;
};

/// A point in a stream.
class Event {
 public:
  Event() { SKYRANK_CUDA_CALL(cudaEventCreate(&event_)); }
  ~Event() { (void)cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void record(cudaStream_t stream) const { SKYRANK_CUDA_CALL(cudaEventRecord(event_, stream)); }
  void synchronize() const { SKYRANK_CUDA_CALL(cudaEventSynchronize(event_)); }
  /// Makes later work on `stream` wait for this point.
  void hold(cudaStream_t stream) const { SKYRANK_CUDA_CALL(cudaStreamWaitEvent(stream, event_, 0)); }

  /// Milliseconds from an earlier event; both have happened.
  double ms_since(const Event& earlier) const {
    float ms = 0;
    SKYRANK_CUDA_CALL(cudaEventElapsedTime(&ms, earlier.event_, event_));
    return static_cast<double>(ms);
  }

 private:
  cudaEvent_t event_ = nullptr;
};

/// Makes later work on `then` wait for what is on `first` now.
inline void order_streams(cudaStream_t first, cudaStream_t then) {
  const Event end;
  end.record(first);
  end.hold(then);
}

}  // namespace skyrank::kernels::cuda
