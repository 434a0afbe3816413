#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <skyrank/table.hpp>

#include "kernels/cuda/values/borrowed.hpp"

// Columns of what a caller has in the memory of a GPU.
namespace skyrank::exec {

/// The memory of one column on a GPU: values of a fixed width, or packed booleans.
struct LentMemory {
  DataType type;
  Layout layout = Layout::plain;  ///< `plain` or `bits`
  std::int64_t length = 0;
  const void* values = nullptr;
  std::int64_t stride = 0;      ///< `plain`: bytes from one value to the next
  std::int64_t first_bit = 0;   ///< `bits`: bit of row 0
  Validity validity = {};       ///< on the GPU too; without bits no row is NULL
  std::string what = "column";  ///< subject of messages
};

/// The GPU, and what keeps its memory.
struct Lender {
  int ordinal = 0;
  std::shared_ptr<kernels::cuda::ReadyPoint> ready = {};  ///< null: the memory may be read at once
  std::shared_ptr<const void> owner = {};
};

/// Throws DeviceError where this process has no such GPU.
void check_gpu(std::int64_t ordinal, const std::string& what);

/// Makes a column of memory that stays where it is, and copies its bitmap of NULLs to the host, if it has one. Throws
/// DataError where the memory is not what it is said to be, and kernels::cuda::Failure.
Column lend(std::string name, const LentMemory& memory, const Lender& lender);

/// Copies the bits of some rows of a bitmap on a GPU to the host, from the byte on that has the first of them. Throws
/// as `lend`, in words about `what`.
std::vector<std::uint8_t> fetch_bits(const Validity& bits, std::int64_t rows, const std::string& what,
                                     const Lender& lender);

}  // namespace skyrank::exec
