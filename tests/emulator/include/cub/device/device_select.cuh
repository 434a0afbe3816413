#pragma once

#include <cstddef>

#include "emulator/temporary_storage.hpp"

namespace cub {

/// Compaction.
struct DeviceSelect {
  /// Copies the items whose flag is not zero, in their order, and says how many there are.
  template <class Input, class Flags, class Output, class Selected, class Count>
  static cudaError_t Flagged(void* storage, std::size_t& bytes, Input input, Flags flags, Output output,
                             Selected selected, Count count, cudaStream_t /*stream*/ = nullptr) {
    return skyrank::emulator::with_temporary_storage(storage, bytes, kStorage, [&] {
      std::size_t copied = 0;
      for (Count i = 0; i < count; ++i) {
        if (*(flags + i) != 0) output[copied++] = *(input + i);
      }
      *selected = copied;
    });
  }

 private:
  static constexpr std::size_t kStorage = 256;
};

}  // namespace cub
