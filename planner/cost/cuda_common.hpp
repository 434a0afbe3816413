#pragma once

#include <algorithm>

#include "kernels/common/problem.hpp"

// What cost models of GPU algorithms share. The rates are those of one H200, rounded.
namespace skyrank::planner::cost {

inline constexpr double kCudaStart = 40e-6;        // to send a problem there and to wait for its answer
inline constexpr double kCudaLaunch = 4e-6;        // one kernel after another
inline constexpr double kCudaByte = 1 / 4.4e12;    // of device memory, read or written in large pieces
inline constexpr double kTransferByte = 1 / 20e9;  // between pageable host memory and the device

inline constexpr double kCudaOperation = 1 / 7e12;  // one of 32 bits, of one thread among many

/// Seconds for all but the algorithm itself: keys to the device, a bit for each row back.
inline double cuda_overhead(const kernels::SkylineShape& shape) {
  const double row_bytes = static_cast<double>(shape.d) * kernels::bits(shape.width) / 8.0;
  return kCudaStart + kTransferByte * static_cast<double>(shape.n) * (row_bytes + 1.0 / 8);
}

/// Bytes of one row's keys.
inline double key_bytes(const kernels::TopKShape& shape) {
  double bytes = 0;
  for (const kernels::KeyWidth width : shape.widths) bytes += kernels::bits(width) / 8.0;
  return bytes;
}

/// Bytes of the one key that all columns are packed into, and of a row id beside it.
inline double packed_bytes(const kernels::TopKShape& shape) { return key_bytes(shape) <= 4 ? 4 : 8; }
inline double element_bytes(const kernels::TopKShape& shape) { return 2 * packed_bytes(shape); }

/// Seconds for all but the algorithm itself: keys to the device and into one column, k elements put in order, row ids
/// back.
inline double cuda_overhead(const kernels::TopKShape& shape) {
  constexpr double kBlockSort = 4096;  // elements that one block sorts
  const double n = static_cast<double>(shape.n);
  const double k = std::min(n, static_cast<double>(shape.k));
  const bool packed = shape.widths.size() > 1 || packed_bytes(shape) != key_bytes(shape);
  const double packing = packed ? kCudaLaunch + kCudaByte * n * (key_bytes(shape) + packed_bytes(shape)) : 0;
  const double sorting = (k > kBlockSort ? 10 : 3) * kCudaLaunch + 20 * kCudaByte * k * element_bytes(shape);
  const double ties =
      shape.ties == kernels::TieRule::all ? 3 * kCudaLaunch + 2 * kCudaByte * n * packed_bytes(shape) : 0;
  return kCudaStart + kTransferByte * (n * key_bytes(shape) + 8 * k) + packing + sorting + ties;
}

}  // namespace skyrank::planner::cost
