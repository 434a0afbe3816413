#include "kernels/cuda/groups/aggregate.hpp"

#include <algorithm>

#include "kernels/common/keys/key_recipe.hpp"
#include "kernels/cuda/device/context.hpp"
#include "kernels/cuda/device/kernel/block.cuh"
#include "kernels/cuda/device/kernel/search.cuh"
#include "kernels/cuda/device/launch.cuh"
#include "kernels/cuda/device/range.hpp"
#include "kernels/cuda/groups/policy.hpp"

// Aggregation of rows that lie partition by partition. A warp takes a stretch of neighbouring rows, each lane every
// 32nd of them, and keeps the total of the partition that the lane is in. Where a lane comes to the next partition, it
// adds what it has to the memory of the last one. At the end of a stretch, lanes of one partition put their totals
// together first, so that a partition of many rows costs few atomic operations.
namespace skyrank::kernels::cuda::groups {
namespace {

constexpr std::size_t kRowsOfWarp = AggregatePolicy::kRowsOfWarp;

/// Adds to a sum of 128 bits.
__device__ void add_wide(std::uint64_t& low, std::uint64_t& high, std::uint64_t more_low, std::uint64_t more_high) {
  low += more_low;
  high += more_high + (low < more_low ? 1 : 0);
}

__device__ void add_value(IntegerTotal& total, std::uint64_t bits, bool with_sign) {
  const bool is_negative = with_sign && bits >> 63 != 0;
  add_wide(total.sum_low, total.sum_high, bits, is_negative ? ~std::uint64_t{0} : 0);
  ++total.count;
  const std::uint64_t value = ordered(bits, with_sign);
  total.lowest = min(total.lowest, value);
  total.highest = max(total.highest, value);
}

/// The total of all lanes, in lane 0.
__device__ IntegerTotal total_of_warp(IntegerTotal total) {
  for (unsigned distance = kLanes / 2; distance > 0; distance /= 2) {
    const std::uint64_t low = __shfl_down_sync(kAllLanes, total.sum_low, distance);
    const std::uint64_t high = __shfl_down_sync(kAllLanes, total.sum_high, distance);
    add_wide(total.sum_low, total.sum_high, low, high);
    total.count += __shfl_down_sync(kAllLanes, total.count, distance);
    total.lowest = min(total.lowest, __shfl_down_sync(kAllLanes, total.lowest, distance));
    total.highest = max(total.highest, __shfl_down_sync(kAllLanes, total.highest, distance));
  }
  return total;
}

__device__ unsigned long long* word(std::uint64_t& value) { return reinterpret_cast<unsigned long long*>(&value); }

/// Each addition to the lower word carries by itself, so that the order in which threads come does not matter.
__device__ void add_to_memory(IntegerTotal& there, const IntegerTotal& total) {
  if (total.count == 0) return;
  const std::uint64_t before = atomicAdd(word(there.sum_low), static_cast<unsigned long long>(total.sum_low));
  const std::uint64_t carry = before + total.sum_low < before ? 1 : 0;
  const std::uint64_t high = total.sum_high + carry;
  if (high != 0) atomicAdd(word(there.sum_high), static_cast<unsigned long long>(high));
  atomicAdd(word(there.count), static_cast<unsigned long long>(total.count));
  atomicMin(word(there.lowest), static_cast<unsigned long long>(total.lowest));
  atomicMax(word(there.highest), static_cast<unsigned long long>(total.highest));
}

/// Partitions in the memory of the device.
struct Bounds {
  const std::uint32_t* starts;
  unsigned count;

  /// The partition of a position.
  __device__ unsigned find(std::size_t position) const {
    return first_where(1u, count, [&](unsigned i) { return starts[i] > position; }) - 1;
  }

  __device__ bool ends_before(unsigned partition, std::size_t position) const {
    return partition + 1 < count && starts[partition + 1] <= position;
  }
};

__global__ void __launch_bounds__(kMapThreads) clear_totals(IntegerTotal* totals, std::size_t count) {
  const std::size_t i = std::size_t{blockIdx.x} * kMapThreads + threadIdx.x;
  if (i < count) totals[i] = IntegerTotal{};
}

__global__ void __launch_bounds__(AggregatePolicy::kThreads)
    total_rows(StoredColumn column, const RowId* ids, const std::uint32_t* order, std::size_t n, Bounds bounds,
               IntegerTotal* totals) {
  const bool with_sign = is_signed(column.stored);
  const unsigned lane = threadIdx.x % kLanes;
  const std::size_t warps = std::size_t{gridDim.x} * (AggregatePolicy::kThreads / kLanes);
  const std::size_t warp = std::size_t{blockIdx.x} * (AggregatePolicy::kThreads / kLanes) + threadIdx.x / kLanes;
  for (std::size_t first = warp * kRowsOfWarp; first < n; first += warps * kRowsOfWarp) {
    const std::size_t end = min(first + kRowsOfWarp, n);
    unsigned partition = bounds.find(min(first + lane, n - 1));
    IntegerTotal mine;
    for (std::size_t position = first + lane; position < end; position += kLanes) {
      if (bounds.ends_before(partition, position)) {
        add_to_memory(totals[partition], mine);
        mine = IntegerTotal{};
        partition = bounds.find(position);
      }
      const std::uint32_t place = order[position];
      const std::int64_t row = ids == nullptr ? std::int64_t{place} : ids[place];
      if (is_valid(column, row)) add_value(mine, stored_bits(column, row), with_sign);
    }
    const unsigned of_first = __shfl_sync(kAllLanes, partition, 0);
    if (__all_sync(kAllLanes, partition == of_first) != 0) {
      const IntegerTotal all = total_of_warp(mine);
      if (lane == 0) add_to_memory(totals[partition], all);
    } else {
      add_to_memory(totals[partition], mine);
    }
  }
}

}  // namespace

DeviceArray total_integers(const StoredColumn& column, const expression::DeviceRows& rows,
                           const SortedRows& partitions) {
  const Range range("totals of partitions");
  const std::size_t count = partitions.count;
  DeviceArray totals(count * sizeof(IntegerTotal));
  if (count == 0) return totals;
  DeviceContext& device = DeviceContext::of_process();
  const Lease lease(device);
  auto* const there = static_cast<IntegerTotal*>(totals.data());
  launch("clear_totals", clear_totals, one_each(count), device.stream(), there, count);
  const std::size_t resident = AggregatePolicy::kBlocks * device.properties().multiprocessors;
  const std::size_t rows_of_block = kRowsOfWarp * (AggregatePolicy::kThreads / kLanes);
  const Grid grid{.blocks = std::min(blocks_for(rows.n, rows_of_block), resident),
                  .threads = AggregatePolicy::kThreads};
  const Bounds bounds{static_cast<const std::uint32_t*>(partitions.starts.data()), static_cast<unsigned>(count)};
  launch("total_rows", total_rows, grid, device.stream(), column, rows.ids,
         static_cast<const std::uint32_t*>(partitions.order.data()), rows.n, bounds, there);
  return totals;
}

}  // namespace skyrank::kernels::cuda::groups
