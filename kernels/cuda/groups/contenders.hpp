#pragma once

#include <cstddef>

#include "kernels/common/problem.hpp"
#include "kernels/cuda/groups/partition_rows.hpp"

namespace skyrank::kernels::cuda::groups {

/// Partitions rows as `partition_rows` does, but leaves rows out that have at least k better ones in their partition by
/// `keys`: `order` and `bounds` are of the others, `first` and `by_first` of all. No row of the k best, and none that
/// ties with the last of them, is left out. Where many rows would stay, or there are too many partitions, all of them
/// stay. `keys` are n in device memory; k > 0.
PartitionedRows partition_contenders(const KeyColumn& codes, const KeyColumn& keys, std::size_t n, std::size_t k);

}  // namespace skyrank::kernels::cuda::groups
