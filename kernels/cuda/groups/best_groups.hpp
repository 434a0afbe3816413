#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/common/memory.hpp"
#include "kernels/cuda/groups/aggregate.hpp"
#include "kernels/cuda/groups/partition_rows.hpp"

// Groups that come to the host: all, or those that can be among the best. On device 0 and the process's own context;
// all throw Failure and OutOfMemory.
namespace skyrank::kernels::cuda::groups {

/// A value that each group has, and its order. Totals without values are NULL in all but the counts.
struct GroupValue {
  enum class Kind : std::uint8_t { rows, count, sum, lowest, highest };
  Kind kind = Kind::rows;
  const IntegerTotal* totals = nullptr;  ///< in device memory; unused by `rows`
  bool with_sign = false;                ///< the sums are int64, or else uint64; all of them fit
  bool high = false;
  bool nulls_first = false;
};

/// Some groups, in the order of their first rows.
struct GroupList {
  DeviceArray groups;  ///< numbers of type uint32
  std::size_t count = 0;
};

GroupList all_groups(const SortedRows& rows);

/// The groups whose value is not worse than that of the k-th best one; 0 < k.
GroupList best_groups(const SortedRows& rows, const GroupValue& value, std::size_t k);

/// Returns true if all sums fit into int64 or, without sign, uint64.
bool sums_fit(const DeviceArray& totals, bool with_sign);

/// First places, numbers of rows, and totals of listed groups, on the host.
Vector<std::int64_t> first_places(const SortedRows& rows, const GroupList& list);
Vector<std::int64_t> sizes(const SortedRows& rows, const GroupList& list);
Vector<IntegerTotal> totals_of(const DeviceArray& totals, const GroupList& list);

}  // namespace skyrank::kernels::cuda::groups
