#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>

#include "kernels/cuda/device/stream.hpp"

namespace skyrank::kernels::cuda {

/// Copies between pageable host memory and a device through two pinned buffers, on a stream of its own: while one
/// buffer travels the host fills, or empties, the other. They are taken when first needed.
class Transfer {
 public:
  static constexpr std::size_t kStagingBytes = std::size_t{4} << 20;

  Transfer() = default;
  ~Transfer() { give_back_staging(); }
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  cudaStream_t stream() const { return stream_.get(); }

  /// Frees the pinned buffers, which the next copy takes again. Waits for the copies under way.
  void give_back_staging() noexcept;

  /// Returns once `source` was read; the copy is complete in the order of `stream()`.
  void upload(void* to_device, const void* source, std::size_t bytes);
  /// Returns once `target` was written. What writes `from_device` must be complete in the order of `stream()`.
  void download(void* target, const void* from_device, std::size_t bytes);

 private:
  struct Slot {
    void* pinned = nullptr;
    Event free;  ///< its last copy to the device is done
  };

  Slot& slot(std::size_t piece);

  Stream stream_;
  std::array<Slot, 2> slots_;
};

}  // namespace skyrank::kernels::cuda
