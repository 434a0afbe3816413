#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>

namespace skyrank::kernels::cuda {

/// A call to the CUDA runtime, or a kernel, failed.
class Failure : public std::runtime_error {
 public:
  /// Names the call and its `file` and `line`.
  Failure(std::string call, std::string reason, std::string_view file, int line);

  /// The call as written, such as "cudaMalloc(&data, bytes)".
  const std::string& call() const noexcept { return call_; }
  /// Returns the driver's message.
  const std::string& reason() const noexcept { return reason_; }
  /// "file:line" of the call.
  const std::string& place() const noexcept { return place_; }

 private:
  std::string call_;
  std::string reason_;
  std::string place_;
};

/// Device memory ran out, or a limit on it was reached.
class OutOfMemory : public Failure {
 public:
  using Failure::Failure;
  /// Makes an error for `count` objects of `size` bytes, which no memory could hold.
  OutOfMemory(std::size_t count, std::size_t size);
};

}  // namespace skyrank::kernels::cuda
