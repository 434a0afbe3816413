#pragma once

#include <cuda_runtime_api.h>

#include <string>
#include <string_view>

#include "kernels/cuda/runtime/failure.hpp"

namespace skyrank::kernels::cuda {

/// Throws Failure unless `status` is success. `call` is the text of the call that gave it.
inline void check(cudaError_t status, const char* call, std::string_view file, int line) {
  if (status == cudaSuccess) return;
  // The runtime keeps the error for the next cudaGetLastError; it is told here, so it must not be told there again.
  (void)cudaGetLastError();
  throw Failure(call, std::string(cudaGetErrorString(status)) + " (" + cudaGetErrorName(status) + ")", file, line);
}

}  // namespace skyrank::kernels::cuda

/// Calls the CUDA runtime and throws Failure with the call's text and place when it fails.
#define SKYRANK_CUDA_CALL(call) ::skyrank::kernels::cuda::check((call), #call, __FILE__, __LINE__)
