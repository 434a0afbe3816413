#pragma once

#include <cstddef>
#include <span>

#include "kernels/common/problem.hpp"
#include "kernels/cuda/device/context.hpp"

namespace skyrank::kernels::cuda::topk {

/// One key of 4 or 8 bytes for each row.
struct ResidentKeys {
  const void* data = nullptr;
  KeyWidth width = KeyWidth::bytes4;
  Buffer<std::byte> owned;
};

/// Bits of all columns together.
int total_bits(std::span<const KeyWidth> widths);
int total_bits(std::span<const KeyColumn> columns);

/// Columns of at most 64 bits together as one column, the first the most significant: of all n rows, a single column of
/// 4 or 8 bytes being taken as it is, or of the n rows that `rows`, in device memory, lists.
ResidentKeys pack(std::span<const KeyColumn> columns, std::size_t n, DeviceContext& device,
                  const RowId* rows = nullptr);

}  // namespace skyrank::kernels::cuda::topk
