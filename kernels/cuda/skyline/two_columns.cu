#include "kernels/cuda/skyline/two_columns.hpp"

#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include <cub/device/device_scan.cuh>
#include <utility>

#include "kernels/common/host_device.hpp"
#include "kernels/cuda/device/calls.hpp"
#include "kernels/cuda/device/launch.cuh"
#include "kernels/cuda/device/sort_and_scan.hpp"

// Rows ascend by the first key, then the second. What dominates a row is before it, and so is what equals it. A row is
// dominated if the least second key before it is less than its own, or is its own and was there with a lesser first
// key: if the least pair (second, first) before it is less than its own pair. Equal rows have equal pairs.
namespace skyrank::kernels::cuda::skyline {
namespace {

template <class Key>
struct Pair {
  Key second;
  Key first;
};

template <class Key>
SKYRANK_HD bool less(const Pair<Key>& a, const Pair<Key>& b) {
  return a.second < b.second || (a.second == b.second && a.first < b.first);
}

struct LesserPair {
  template <class Key>
  SKYRANK_HD Pair<Key> operator()(const Pair<Key>& a, const Pair<Key>& b) const {
    return less(b, a) ? b : a;
  }
};

/// The pair of the i-th row of a list.
template <class Key>
struct PairAt {
  const Key* first;
  const Key* second;
  const std::uint32_t* rows;

  SKYRANK_HD Pair<Key> operator()(std::uint32_t i) const { return {second[rows[i]], first[rows[i]]}; }
};

/// Marks the rows of the skyline. `before` has the least pair before each row of the list.
template <class Key>
__global__ void __launch_bounds__(kMapThreads)
    mark_members(const PairAt<Key> pair_at, const Pair<Key>* before, std::uint32_t count, std::uint32_t* members) {
  const std::uint32_t i = blockIdx.x * kMapThreads + threadIdx.x;
  if (i >= count || less(before[i], pair_at(i))) return;
  const std::uint32_t row = pair_at.rows[i];
  atomicOr(&members[row / 32], 1u << (row % 32));
}

/// keys[i]: of row i of the list, both columns or one of them.
template <class Key, bool kBoth>
__global__ void __launch_bounds__(kMapThreads)
    take_keys(const __grid_constant__ KeyTable<Key> table, const std::uint32_t* rows, std::uint32_t count, int column,
              std::uint64_t* keys) {
  const std::uint32_t i = blockIdx.x * kMapThreads + threadIdx.x;
  if (i >= count) return;
  const std::uint32_t row = rows[i];
  keys[i] = kBoth ? std::uint64_t{table.columns[0][row]} << 32 | table.columns[1][row] : table.columns[column][row];
}

/// Sorts rows by columns, of 32 bits both at a time, else by the second and then, stably, by the first.
template <class Key>
Buffer<std::uint32_t> in_order(SkylineRun& run, const KeyTable<Key>& table, const std::uint32_t* rows,
                               std::uint32_t count) {
  constexpr bool kBoth = sizeof(Key) == 4;
  auto order = run.allocate<std::uint32_t>(count);
  SKYRANK_CUDA_CALL(cudaMemcpyAsync(order.data(), rows, order.bytes(), cudaMemcpyDeviceToDevice, run.stream()));
  for (int column = kBoth ? 0 : 1; column >= 0; --column) {
    auto keys = run.allocate<std::uint64_t>(count);
    launch("take_keys", take_keys<Key, kBoth>, one_each(count), run.stream(), table, order.data(), count, column,
           keys.data());
    sort_pairs(keys, order, run.device, 64);
    run.pace();
  }
  return order;
}

}  // namespace

template <class Key>
void sweep_two_columns(SkylineRun& run, const KeyTable<Key>& table, const std::uint32_t* rows, std::uint32_t count,
                       std::uint32_t* members) {
  const Buffer<std::uint32_t> order = in_order(run, table, rows, count);
  run.end_stage("order");
  constexpr auto kMost = static_cast<Key>(~Key{0});
  const PairAt<Key> pair_at{table.columns[0], table.columns[1], order.data()};
  const thrust::transform_iterator<PairAt<Key>, thrust::counting_iterator<std::uint32_t>> pairs(
      thrust::counting_iterator<std::uint32_t>(0), pair_at);
  const auto before = run.allocate<Pair<Key>>(count);
  with_temporary(run.device, [&](void* temporary, std::size_t& bytes) {
    SKYRANK_CUDA_CALL(cub::DeviceScan::ExclusiveScan(temporary, bytes, pairs, before.data(), LesserPair{},
                                                     Pair<Key>{kMost, kMost}, count, run.stream()));
  });
  launch("mark_members", mark_members<Key>, one_each(count), run.stream(), pair_at, before.data(), count, members);
  run.end_stage("sweep");
}

template void sweep_two_columns(SkylineRun&, const KeyTable<std::uint32_t>&, const std::uint32_t*, std::uint32_t,
                                std::uint32_t*);
template void sweep_two_columns(SkylineRun&, const KeyTable<std::uint64_t>&, const std::uint32_t*, std::uint32_t,
                                std::uint32_t*);

}  // namespace skyrank::kernels::cuda::skyline
