#include "kernels/cuda/groups/partition_rows.hpp"

#include <algorithm>
#include <bit>
#include <cub/device/device_radix_sort.cuh>
#include <utility>
#include <vector>

#include "kernels/common/transfers.hpp"
#include "kernels/common/with_key.hpp"
#include "kernels/cuda/device/context.hpp"
#include "kernels/cuda/device/kernel/block.cuh"
#include "kernels/cuda/device/launch.cuh"
#include "kernels/cuda/device/range.hpp"
#include "kernels/cuda/expression/columns.hpp"
#include "kernels/cuda/groups/calls.hpp"
#include "kernels/cuda/groups/policy.hpp"

// Partitions by sorting: pairs of a code and a place are sorted by the code, stably, so that places ascend within each
// partition. A partition begins where a code differs from the one before. Starts are listed in any order and then
// sorted, since there are few of them beside the rows in the usual case, and no more than rows in any.
namespace skyrank::kernels::cuda::groups {
namespace {

constexpr unsigned kThreads = RowPolicy::kThreads;

/// Calls `body(i)` for all of [0, n), neighbours for neighbouring threads. All lanes of a warp call it as often; for
/// those behind the end i is not below n.
template <class Body>
__device__ void for_rows(std::size_t n, Body body) {
  const std::size_t step = std::size_t{gridDim.x} * kThreads;
  for (std::size_t first = std::size_t{blockIdx.x} * kThreads; first < n; first += step) body(first + threadIdx.x);
}

__global__ void __launch_bounds__(kThreads) number(std::size_t n, std::uint32_t* numbers) {
  for_rows(n, [&](std::size_t i) {
    if (i < n) numbers[i] = static_cast<std::uint32_t>(i);
  });
}

/// Pairs of a code and its place. `Code` holds all codes, whatever their width in memory.
template <class Stored, class Code>
__global__ void __launch_bounds__(kThreads)
    make_pairs(const Stored* stored, std::size_t n, Code* codes, std::uint32_t* places) {
  for_rows(n, [&](std::size_t i) {
    if (i >= n) return;
    codes[i] = static_cast<Code>(stored[i]);
    places[i] = static_cast<std::uint32_t>(i);
  });
}

/// Counts the positions at which a partition starts, and lists them unless `starts` is null.
template <class Code>
__global__ void __launch_bounds__(kThreads)
    find_starts(const Code* sorted, std::size_t n, unsigned* count, std::uint32_t* starts) {
  for_rows(n, [&](std::size_t i) {
    const bool is_start = i < n && (i == 0 || sorted[i] != sorted[i - 1]);
    const unsigned mask = __ballot_sync(kAllLanes, is_start);
    if (mask == 0) return;
    const unsigned lane = threadIdx.x % kLanes;
    unsigned at = 0;
    if (lane == 0) at = atomicAdd(count, static_cast<unsigned>(__popc(mask)));
    at = __shfl_sync(kAllLanes, at, 0);
    if (is_start && starts != nullptr) {
      starts[at + static_cast<unsigned>(__popc(mask & ((1u << lane) - 1)))] = static_cast<std::uint32_t>(i);
    }
  });
}

/// taken[i] = from[places[i]]
template <class T, class Place>
__global__ void __launch_bounds__(kThreads) take(const T* from, const Place* places, std::size_t n, T* taken) {
  for_rows(n, [&](std::size_t i) {
    if (i < n) taken[i] = from[places[i]];
  });
}

__global__ void __launch_bounds__(kThreads) widen(const std::uint32_t* places, std::size_t n, std::int64_t* ids) {
  for_rows(n, [&](std::size_t i) {
    if (i < n) ids[i] = places[i];
  });
}

Grid grid_for(std::size_t n, const DeviceContext& device) {
  const std::size_t resident = RowPolicy::kBlocks * static_cast<std::size_t>(device.properties().multiprocessors);
  return {.blocks = std::min(blocks_for(n, kThreads), resident), .threads = kThreads};
}

/// The positions at which partitions start, ascending, in device memory.
template <class Code>
Buffer<std::uint32_t> starts_of(const Code* sorted, std::size_t n, DeviceContext& device) {
  const auto counter = device.allocate<unsigned>(1);
  const auto find = [&](std::uint32_t* starts) {
    SKYRANK_CUDA_CALL(cudaMemsetAsync(counter.data(), 0, counter.bytes(), device.stream()));
    launch("find_starts", find_starts<Code>, grid_for(n, device), device.stream(), sorted, n, counter.data(), starts);
  };
  find(nullptr);
  const std::size_t count = to_host(counter.data(), 1, device).front();
  const auto unsorted = device.allocate<std::uint32_t>(count);
  find(unsorted.data());
  auto starts = device.allocate<std::uint32_t>(count);
  with_temporary(device, [&](void* temporary, std::size_t& bytes) {
    SKYRANK_CUDA_CALL(cub::DeviceRadixSort::SortKeys(temporary, bytes, unsorted.data(), starts.data(),
                                                     static_cast<std::uint32_t>(count), 0, 32, device.stream()));
  });
  return starts;
}

/// The numbers of partitions by their first places.
std::vector<std::uint32_t> order_by_first(const Buffer<std::uint32_t>& first, DeviceContext& device) {
  const std::size_t count = first.size();
  const auto numbers = device.allocate<std::uint32_t>(count);
  const auto sorted = device.allocate<std::uint32_t>(count);
  const auto ordered = device.allocate<std::uint32_t>(count);
  launch("number", number, grid_for(count, device), device.stream(), count, numbers.data());
  with_temporary(device, [&](void* temporary, std::size_t& bytes) {
    SKYRANK_CUDA_CALL(cub::DeviceRadixSort::SortPairs(temporary, bytes, first.data(), sorted.data(), numbers.data(),
                                                      ordered.data(), static_cast<std::uint32_t>(count), 0, 32,
                                                      device.stream()));
  });
  return to_host(ordered.data(), count, device);
}

/// The arrays of places that a sort moves between.
struct PlaceArrays {
  DeviceArray current;
  DeviceArray other;
};

std::uint32_t* places_of(const DeviceArray& array) { return static_cast<std::uint32_t*>(array.data()); }

/// Fills all of `rows` but the arrays. Returns the positions at which partitions start.
template <class Code>
Buffer<std::uint32_t> sort_and_split(const KeyColumn& stored, std::size_t n, int bits, PlaceArrays& arrays,
                                     PartitionedRows& rows) {
  DeviceContext& device = DeviceContext::of_process();
  const Lease lease(device);
  const auto codes = device.allocate<Code>(n);
  const auto other_codes = device.allocate<Code>(n);
  with_key(stored.width, [&]<class Stored>(Stored) {
    launch("make_pairs", make_pairs<Stored, Code>, grid_for(n, device), device.stream(), stored.as<Stored>(), n,
           codes.data(), places_of(arrays.current));
  });
  cub::DoubleBuffer<Code> code_buffers(codes.data(), other_codes.data());
  cub::DoubleBuffer<std::uint32_t> place_buffers(places_of(arrays.current), places_of(arrays.other));
  if (bits > 0) {
    with_temporary(device, [&](void* temporary, std::size_t& bytes) {
      SKYRANK_CUDA_CALL(cub::DeviceRadixSort::SortPairs(temporary, bytes, code_buffers, place_buffers,
                                                        static_cast<std::uint32_t>(n), 0, bits, device.stream()));
    });
  }
  if (place_buffers.Current() != places_of(arrays.current)) std::swap(arrays.current, arrays.other);
  Buffer<std::uint32_t> starts = starts_of(code_buffers.Current(), n, device);
  const auto first = device.allocate<std::uint32_t>(starts.size());
  launch("take", take<std::uint32_t, std::uint32_t>, grid_for(starts.size(), device), device.stream(),
         places_of(arrays.current), starts.data(), starts.size(), first.data());
  const auto bounds = to_host(starts.data(), starts.size(), device);
  const auto firsts = to_host(first.data(), first.size(), device);
  rows.bounds.assign(bounds.begin(), bounds.end());
  rows.bounds.push_back(static_cast<std::int64_t>(n));
  rows.first.assign(firsts.begin(), firsts.end());
  const auto by_first = order_by_first(first, device);
  rows.by_first.assign(by_first.begin(), by_first.end());
  return starts;
}

}  // namespace

PartitionedRows partition_rows(const KeyColumn& codes, std::size_t n) {
  const Range range("rows by partition");
  PartitionedRows rows;
  if (n == 0) {
    rows.bounds.push_back(0);
    return rows;
  }
  const auto bits = static_cast<int>(std::bit_width(expression::greatest_key(codes, n)));
  PlaceArrays arrays{DeviceArray(n * sizeof(std::uint32_t)), DeviceArray(n * sizeof(std::uint32_t))};
  const Buffer<std::uint32_t> starts = bits <= 32 ? sort_and_split<std::uint32_t>(codes, n, bits, arrays, rows)
                                                  : sort_and_split<std::uint64_t>(codes, n, bits, arrays, rows);
  rows.order = std::move(arrays.current);
  rows.starts = DeviceArray(starts.bytes());
  DeviceContext& device = DeviceContext::of_process();
  const Lease lease(device);
  SKYRANK_CUDA_CALL(
      cudaMemcpyAsync(rows.starts.data(), starts.data(), starts.bytes(), cudaMemcpyDeviceToDevice, device.stream()));
  return rows;
}

DeviceArray take_in_order(const KeyColumn& keys, const PartitionedRows& rows) {
  const auto n = static_cast<std::size_t>(rows.bounds.back());
  DeviceArray taken(n * static_cast<std::size_t>(keys.width));
  if (n == 0) return taken;
  DeviceContext& device = DeviceContext::of_process();
  const Lease lease(device);
  with_key(keys.width, [&]<class Key>(Key) {
    launch("take", take<Key, std::uint32_t>, grid_for(n, device), device.stream(), keys.as<Key>(),
           places_of(rows.order), n, static_cast<Key*>(taken.data()));
  });
  return taken;
}

DeviceArray ids_in_order(const PartitionedRows& rows) {
  const auto n = static_cast<std::size_t>(rows.bounds.back());
  DeviceArray ids(n * sizeof(std::int64_t));
  if (n == 0) return ids;
  DeviceContext& device = DeviceContext::of_process();
  const Lease lease(device);
  launch("widen", widen, grid_for(n, device), device.stream(), places_of(rows.order), n,
         static_cast<std::int64_t*>(ids.data()));
  return ids;
}

Vector<std::int64_t> places_at(const PartitionedRows& rows, std::span<const std::int64_t> positions) {
  if (positions.empty()) return {};
  const DeviceArray at(positions.data(), positions.size_bytes());
  DeviceContext& device = DeviceContext::of_process();
  const Lease lease(device);
  const auto taken = device.allocate<std::uint32_t>(positions.size());
  launch("take", take<std::uint32_t, std::int64_t>, grid_for(positions.size(), device), device.stream(),
         places_of(rows.order), static_cast<const std::int64_t*>(at.data()), positions.size(), taken.data());
  const auto places = to_host(taken.data(), taken.size(), device);
  return {places.begin(), places.end()};
}

}  // namespace skyrank::kernels::cuda::groups
