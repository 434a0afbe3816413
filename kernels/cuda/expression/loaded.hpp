#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/cuda/device/calls.hpp"
#include "kernels/cuda/expression/columns.hpp"

namespace skyrank::kernels::cuda::expression {

/// A program and its columns in device memory, in the order of the device's stream, and the word that says whether a
/// row failed.
class LoadedExpression {
 public:
  LoadedExpression(const DeviceExpression& expression, DeviceContext& device)
      : device_(device),
        count_(expression.instructions.size()),
        column_bytes_(expression.columns.size() * sizeof(StoredColumn)),
        memory_(device.allocate<std::byte>(count_ * sizeof(Instruction) + column_bytes_ + sizeof(unsigned))) {
    static_assert(alignof(Instruction) == 8 && alignof(StoredColumn) == 8);
    copy_in(memory_.data(), expression.instructions);
    copy_in(memory_.data() + count_ * sizeof(Instruction), expression.columns);
    SKYRANK_CUDA_CALL(cudaMemsetAsync(failed(), 0, sizeof(unsigned), device.stream()));
  }

  Expression expression() const { return part(0, count_); }
  /// Returns the part of the program with its instructions in [begin, end).
  Expression part(std::size_t begin, std::size_t end) const {
    return {reinterpret_cast<const Instruction*>(memory_.data()) + begin,
            reinterpret_cast<const StoredColumn*>(memory_.data() + count_ * sizeof(Instruction)),
            static_cast<std::uint32_t>(end - begin)};
  }
  unsigned* failed() const {
    return reinterpret_cast<unsigned*>(memory_.data() + count_ * sizeof(Instruction) + column_bytes_);
  }
  /// Waits for the stream.
  bool any_failed() const { return value_at(failed(), device_) != 0; }

 private:
  template <class T>
  void copy_in(std::byte* to, const std::vector<T>& from) {
    if (from.empty()) return;
    SKYRANK_CUDA_CALL(
        cudaMemcpyAsync(to, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice, device_.stream()));
  }

  DeviceContext& device_;
  std::size_t count_;
  std::size_t column_bytes_;
  Buffer<std::byte> memory_;
};

}  // namespace skyrank::kernels::cuda::expression
