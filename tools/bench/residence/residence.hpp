#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "kernels/common/problem.hpp"

// Keys that stay on a device. Plain C++: in a build without CUDA it can only refuse.
namespace skyrank::bench {

/// Key columns in the memory of device 0, in the process's own context, for problems with Memory::device.
class Residence {
 public:
  /// Copies n keys of each column from the host. Throws Failure and OutOfMemory.
  Residence(std::span<const kernels::KeyColumn> columns, std::size_t n);
  ~Residence();
  Residence(const Residence&) = delete;
  Residence& operator=(const Residence&) = delete;

  std::span<const kernels::KeyColumn> keys() const;
  /// Returns the bytes of all the device memory that it has.
  std::size_t bytes() const;

  /// Milliseconds, by the device's clock, of reading all columns once with 16-byte loads: the floor of whatever looks
  /// at every key.
  double read_ms() const;

  /// Fills the last-level cache with other data, so that what runs next finds none of its own there.
  void evict() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace skyrank::bench
