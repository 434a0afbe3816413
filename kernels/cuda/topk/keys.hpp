#pragma once

#include <cstddef>
#include <span>

#include "kernels/common/problem.hpp"
#include "kernels/cuda/device/context.hpp"

namespace skyrank::kernels::cuda {

/// One key of 4 or 8 bytes for each row.
struct ResidentKeys {
  const void* data = nullptr;
  KeyWidth width = KeyWidth::bytes4;
  Buffer<std::byte> owned;
};

/// Most columns that one key can be made of: as many as it has bytes.
inline constexpr std::size_t kMaxPacked = 8;

/// Bits of all columns together.
int total_bits(std::span<const KeyWidth> widths);

/// Columns of at most 64 bits together as one column, the first the most significant. A single one of 4 or 8 bytes is
/// taken as it is.
ResidentKeys pack(std::span<const KeyColumn> columns, std::size_t n, DeviceContext& device);

}  // namespace skyrank::kernels::cuda
