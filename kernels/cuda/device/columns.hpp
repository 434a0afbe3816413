#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "kernels/common/problem.hpp"
#include "kernels/cuda/device/context.hpp"

namespace skyrank::kernels::cuda {

/// Columns of keys in device memory, and the memory of those that had to be copied there.
struct ResidentColumns {
  std::vector<KeyColumn> columns;
  std::vector<Buffer<std::byte>> owned;
};

/// Copies columns of n keys from the host on the context's transfer stream; those that are on the device stay where
/// they are.
ResidentColumns load_columns(std::span<const KeyColumn> columns, std::size_t n, Memory memory, DeviceContext& device);

}  // namespace skyrank::kernels::cuda
