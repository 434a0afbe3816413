#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "kernels/common/memory.hpp"
#include "kernels/common/problem.hpp"
#include "kernels/cuda/device/array.hpp"

// Rows of equal codes brought together on device 0, on the process's own context. Plain C++, for those who know nothing
// of CUDA. All throw Failure and OutOfMemory.
namespace skyrank::kernels::cuda::groups {

/// Rows in partitions. A *place* is the number of a row among those that were partitioned; partition i has the places
/// order[bounds[i]], ..., order[bounds[i + 1] - 1], which ascend.
struct PartitionedRows {
  DeviceArray order;              ///< all places, partition by partition, of type uint32
  Vector<std::int64_t> bounds;    ///< one more than there are partitions, from 0 to the number of rows
  Vector<std::int64_t> first;     ///< per partition: its first place
  Vector<std::int64_t> by_first;  ///< the partitions, in ascending order of their first places

  std::int64_t count() const { return static_cast<std::int64_t>(first.size()); }
};

/// The same, all of it in the memory of the device, of type uint32.
struct SortedRows {
  DeviceArray order;
  DeviceArray starts;  ///< bounds but the last
  DeviceArray first;
  DeviceArray by_first;
  std::size_t n = 0;      ///< rows
  std::size_t count = 0;  ///< partitions
};

/// Most rows that `partition_rows` takes: places have 32 bits.
inline constexpr std::size_t kMaxPartitionedRows = std::numeric_limits<std::uint32_t>::max();

/// Makes a partition of each code, in ascending order of the codes. `codes` are n in device memory. The cost is that of
/// a stable radix sort of the codes, by as many bits as the greatest one has.
PartitionedRows partition_rows(const KeyColumn& codes, std::size_t n);
SortedRows sort_rows(const KeyColumn& codes, std::size_t n);

/// The keys of all rows in the order of the partitions.
DeviceArray take_in_order(const KeyColumn& keys, const PartitionedRows& rows);

/// The ids of all rows in the order of the partitions, of type int64.
DeviceArray ids_in_order(const PartitionedRows& rows);

/// The places at some positions of `order`.
Vector<std::int64_t> places_at(const PartitionedRows& rows, std::span<const std::int64_t> positions);

}  // namespace skyrank::kernels::cuda::groups
