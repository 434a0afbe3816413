#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/common/problem.hpp"
#include "kernels/cuda/groups/partition_rows.hpp"

namespace skyrank::kernels::cuda::groups {

/// Keys, or stored values without NULLs that become keys as they are read: (value ^ flip) - base in the width of the
/// values, or the float_key of the value. Where they are not aligned to kReadBytes, they are not searched.
struct ReadKeys {
  KeyColumn column;
  std::uint64_t flip = 0;
  std::uint64_t base = 0;
  bool is_float = false;
  bool high = false;  ///< floats: the highest are best
};

inline constexpr std::size_t kReadBytes = 16;

/// The rows that can be among the best of their partition.
struct Contenders {
  PartitionedRows rows;
  bool are_all = false;  ///< the search would not have paid, or did not: `rows` has nothing
};

/// Partitions rows as `partition_rows` does, but leaves rows out that have at least k better ones in their partition by
/// `keys`: `order` and `bounds` are of the others, `first` and `by_first` of all. No row of the k best, and none that
/// ties with the last of them, is left out. Where many rows would stay, or there are too many partitions, finds none.
/// `codes`, of which none is above `greatest_code`, and `keys` are n in device memory; k > 0.
Contenders find_contenders(const ReadKeys& codes, std::uint64_t greatest_code, const ReadKeys& keys, std::size_t n,
                           std::size_t k);

/// The same of keys in memory. All rows where no contenders are found.
PartitionedRows partition_contenders(const KeyColumn& codes, const KeyColumn& keys, std::size_t n, std::size_t k);

}  // namespace skyrank::kernels::cuda::groups
