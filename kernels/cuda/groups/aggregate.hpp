#pragma once

#include <cstdint>

#include "kernels/common/stored.hpp"
#include "kernels/cuda/expression/columns.hpp"
#include "kernels/cuda/groups/partition_rows.hpp"

namespace skyrank::kernels::cuda::groups {

/// The integers of one partition, added up; NULLs are left out. The sum has 128 bits, which fewer than
/// 2^63 values of 64 bits cannot overflow.
struct IntegerTotal {
  std::uint64_t sum_low = 0;
  std::uint64_t sum_high = 0;
  std::uint64_t count = 0;                   ///< values that are not NULL
  std::uint64_t lowest = ~std::uint64_t{0};  ///< in the order of `ordered`; without meaning if there are no values
  std::uint64_t highest = 0;
};

/// Totals of a column of integers, times or truths, an IntegerTotal for each partition, on device 0 and the process's
/// own context. `rows` are those that were partitioned. Reads each value once. Throws Failure and OutOfMemory.
DeviceArray total_integers(const StoredColumn& column, const expression::DeviceRows& rows,
                           const SortedRows& partitions);

}  // namespace skyrank::kernels::cuda::groups
