#pragma once

#include <cstddef>
#include <cstring>

#include "cuda_runtime_api.h"

namespace skyrank::emulator {

/// The two ways to call a function of CUB: without storage it says how many bytes it wants, with that much it `work`s.
/// All of the storage is written to, so that too little of it shows.
template <class Work>
cudaError_t with_temporary_storage(void* storage, std::size_t& bytes, std::size_t wanted, Work work) {
  if (storage == nullptr) {
    bytes = wanted;
    return cudaSuccess;
  }
  if (bytes < wanted) return cudaErrorInvalidValue;
  std::memset(storage, 0, wanted);
  work();
  return cudaSuccess;
}

}  // namespace skyrank::emulator
