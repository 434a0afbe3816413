#include "kernels/cuda/groups/partition_rows.hpp"

#include <bit>
#include <utility>
#include <vector>

#include "kernels/common/host_device.hpp"
#include "kernels/common/keys/with_key.hpp"
#include "kernels/common/transfers.hpp"
#include "kernels/cuda/device/context.hpp"
#include "kernels/cuda/device/map.cuh"
#include "kernels/cuda/device/range.hpp"
#include "kernels/cuda/device/select.cuh"
#include "kernels/cuda/device/sort_and_scan.hpp"
#include "kernels/cuda/expression/columns.hpp"

// Partitions by sorting: pairs of a code and a place are sorted by the code, stably, so that places ascend within each
// partition. A partition begins where a code differs from the one before.
namespace skyrank::kernels::cuda::groups {
namespace {

__global__ void __launch_bounds__(kMapThreads) number(std::size_t n, std::uint32_t* numbers) {
  for_all(n, [&](std::size_t i) { numbers[i] = static_cast<std::uint32_t>(i); });
}

/// Pairs of a code and its place. `Code` holds all codes, whatever their width in memory.
template <class Stored, class Code>
__global__ void __launch_bounds__(kMapThreads)
    make_pairs(const Stored* stored, std::size_t n, Code* codes, std::uint32_t* places) {
  for_all(n, [&](std::size_t i) {
    codes[i] = static_cast<Code>(stored[i]);
    places[i] = static_cast<std::uint32_t>(i);
  });
}

/// Holds for the positions at which a partition starts.
template <class Code>
struct StartsPartition {
  const Code* sorted;

  SKYRANK_HD bool operator()(std::size_t i) const { return i == 0 || sorted[i] != sorted[i - 1]; }
};

/// taken[i] = from[places[i]]
template <class T, class Place>
__global__ void __launch_bounds__(kMapThreads) take(const T* from, const Place* places, std::size_t n, T* taken) {
  for_all(n, [&](std::size_t i) { taken[i] = from[places[i]]; });
}

__global__ void __launch_bounds__(kMapThreads) widen(const std::uint32_t* places, std::size_t n, std::int64_t* ids) {
  for_all(n, [&](std::size_t i) { ids[i] = places[i]; });
}

/// The numbers of partitions by their first places.
Buffer<std::uint32_t> order_by_first(const Buffer<std::uint32_t>& first, DeviceContext& device) {
  const std::size_t count = first.size();
  const auto numbers = device.allocate<std::uint32_t>(count);
  const auto sorted = device.allocate<std::uint32_t>(count);
  auto ordered = device.allocate<std::uint32_t>(count);
  launch("number", number, few_each(count, device), device.stream(), count, numbers.data());
  sort_pairs(first.data(), sorted.data(), numbers.data(), ordered.data(), count, device);
  return ordered;
}

std::uint32_t* places_of(const DeviceArray& array) { return static_cast<std::uint32_t*>(array.data()); }

/// Partitions: where they start, their first places, and their order by these.
struct Split {
  Buffer<std::uint32_t> starts;
  Buffer<std::uint32_t> first;
  Buffer<std::uint32_t> by_first;
};

/// Leaves the places in the first of two arrays.
template <class Code>
Split sort_and_split(const KeyColumn& stored, std::size_t n, int bits, DeviceArray& order, DeviceArray& other) {
  DeviceContext& device = DeviceContext::of_process();
  const Lease lease(device);
  const auto codes = device.allocate<Code>(n);
  const auto other_codes = device.allocate<Code>(n);
  with_key(stored.width, [&]<class Stored>(Stored) {
    launch("make_pairs", make_pairs<Stored, Code>, few_each(n, device), device.stream(), stored.as<Stored>(), n,
           codes.data(), places_of(order));
  });
  TwoArrays<Code> sorted{codes.data(), other_codes.data()};
  TwoArrays<std::uint32_t> places{places_of(order), places_of(other)};
  if (bits > 0) sort_pairs(sorted, places, static_cast<std::uint32_t>(n), device, bits);
  if (places.current != places_of(order)) std::swap(order, other);
  const Selection starting(StartsPartition<Code>{sorted.current}, n, device);
  auto starts = device.allocate<std::uint32_t>(starting.count());
  auto first = device.allocate<std::uint32_t>(starts.size());
  starting.list(IdAt{}, starts.data());
  starting.list(ItemAt<std::uint32_t>{places.current}, first.data());
  auto by_first = order_by_first(first, device);
  return {std::move(starts), std::move(first), std::move(by_first)};
}

/// The same memory for as long as somebody wants it.
DeviceArray kept(const Buffer<std::uint32_t>& from) {
  DeviceArray array(from.bytes());
  DeviceContext& device = DeviceContext::of_process();
  const Lease lease(device);
  SKYRANK_CUDA_CALL(
      cudaMemcpyAsync(array.data(), from.data(), from.bytes(), cudaMemcpyDeviceToDevice, device.stream()));
  return array;
}

Vector<std::int64_t> copy_to_host(const DeviceArray& numbers) {
  std::vector<std::uint32_t> values(numbers.bytes() / sizeof(std::uint32_t));
  read_array(values.data(), numbers.data(), numbers.bytes());
  return {values.begin(), values.end()};
}

}  // namespace

SortedRows sort_rows(const KeyColumn& codes, std::size_t n) {
  const Range range("rows by partition");
  if (n == 0) return {};
  const auto bits = static_cast<int>(std::bit_width(expression::greatest_key(codes, n)));
  DeviceArray order(n * sizeof(std::uint32_t));
  DeviceArray other(n * sizeof(std::uint32_t));
  const Split split = bits <= 32 ? sort_and_split<std::uint32_t>(codes, n, bits, order, other)
                                 : sort_and_split<std::uint64_t>(codes, n, bits, order, other);
  return {.order = std::move(order),
          .starts = kept(split.starts),
          .first = kept(split.first),
          .by_first = kept(split.by_first),
          .n = n,
          .count = split.starts.size()};
}

PartitionedRows partition_rows(const KeyColumn& codes, std::size_t n) {
  SortedRows sorted = sort_rows(codes, n);
  PartitionedRows rows;
  rows.bounds = copy_to_host(sorted.starts);
  rows.bounds.push_back(static_cast<std::int64_t>(n));
  rows.first = copy_to_host(sorted.first);
  rows.by_first = copy_to_host(sorted.by_first);
  rows.order = std::move(sorted.order);
  return rows;
}

DeviceArray take_in_order(const KeyColumn& keys, const PartitionedRows& rows) {
  const auto n = static_cast<std::size_t>(rows.bounds.back());
  DeviceArray taken(n * static_cast<std::size_t>(keys.width));
  if (n == 0) return taken;
  DeviceContext& device = DeviceContext::of_process();
  const Lease lease(device);
  with_key(keys.width, [&]<class Key>(Key) {
    launch("take", take<Key, std::uint32_t>, few_each(n, device), device.stream(), keys.as<Key>(),
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
  launch("widen", widen, few_each(n, device), device.stream(), places_of(rows.order), n,
         static_cast<std::int64_t*>(ids.data()));
  return ids;
}

Vector<std::int64_t> places_at(const PartitionedRows& rows, std::span<const std::int64_t> positions) {
  if (positions.empty()) return {};
  const DeviceArray at(positions.data(), positions.size_bytes());
  DeviceContext& device = DeviceContext::of_process();
  const Lease lease(device);
  const auto taken = device.allocate<std::uint32_t>(positions.size());
  launch("take", take<std::uint32_t, std::int64_t>, few_each(positions.size(), device), device.stream(),
         places_of(rows.order), static_cast<const std::int64_t*>(at.data()), positions.size(), taken.data());
  const auto places = to_host(taken.data(), taken.size(), device);
  return {places.begin(), places.end()};
}

}  // namespace skyrank::kernels::cuda::groups
