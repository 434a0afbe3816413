#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/common/algorithm.hpp"
#include "kernels/common/problem.hpp"
#include "kernels/cuda/device/context.hpp"

// The parts of a run of any algorithm on a GPU.
namespace skyrank::kernels::cuda {

/// The device that a run happens on.
inline DeviceContext& device_of(const Context& context) {
  return context.device != nullptr ? *context.device : DeviceContext::of_process();
}

/// The environment of an algorithm, besides its problem. Counters are only written where `context.count_work`.
struct DeviceRun {
  DeviceContext& device;
  const ParameterValues& parameters;
  const Context& context;
  Work& work;

  cudaStream_t stream() const { return device.stream(); }
  template <class T>
  Buffer<T> allocate(std::size_t size) const {
    return device.allocate<T>(size);
  }

  /// Adds to the work. Not by `work += {.bytes_read = ...}`: nvcc 13.0 drops the designators of an operator's list
  /// where an initializer depends on a template's types.
  void count(std::uint64_t bytes_read, std::uint64_t bytes_written, std::uint64_t candidates = 0) {
    work.bytes_read += bytes_read;
    work.bytes_written += bytes_written;
    work.candidates += candidates;
  }
};

/// The device times of a run's three stages.
class Stages {
 public:
  explicit Stages(DeviceContext& device) : device_(device) { begin_.record(device.transfer().stream()); }

  void loaded() {
    loaded_.record(device_.transfer().stream());
    started_.record(device_.stream());
  }
  /// Makes later work on the transfer stream wait for the compute stream.
  void solved() {
    solved_.record(device_.stream());
    solved_.hold(device_.transfer().stream());
  }
  /// After all of the answer has come back.
  DeviceTimes finished() {
    fetched_.record(device_.transfer().stream());
    fetched_.synchronize();
    return {
        .h2d_ms = loaded_.ms_since(begin_), .run_ms = solved_.ms_since(started_), .d2h_ms = fetched_.ms_since(solved_)};
  }

 private:
  DeviceContext& device_;
  Event begin_;
  Event loaded_;
  Event started_;
  Event solved_;
  Event fetched_;
};

}  // namespace skyrank::kernels::cuda
