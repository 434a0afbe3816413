#include "kernels/cuda/skyline/two_columns.hpp"

#include <algorithm>
#include <utility>

#include "kernels/cuda/device/launch.cuh"
#include "kernels/cuda/skyline/sort_rows.hpp"

// Rows ascend by the first key, then the second. What dominates a row is before it, and so is what equals it. A row is
// dominated if the least second key before it is less than its own, or is its own and was there with a lesser first
// key: if the least pair (second, first) before it is less than its own pair. Equal rows have equal pairs.
namespace skyrank::kernels::cuda::skyline {
namespace {

constexpr unsigned kThreads = 1024;
constexpr std::uint32_t kMaxParts = 1024;  ///< parts of the rows, each swept by a block

template <class Key>
struct Pair {
  Key second = static_cast<Key>(~Key{0});
  Key first = static_cast<Key>(~Key{0});
};

template <class Key>
__device__ bool less(const Pair<Key>& a, const Pair<Key>& b) {
  return a.second < b.second || (a.second == b.second && a.first < b.first);
}

template <class Key>
__device__ Pair<Key> least(const Pair<Key>& a, const Pair<Key>& b) {
  return less(b, a) ? b : a;
}

template <class Key>
__device__ Pair<Key> from_below(const Pair<Key>& pair, unsigned distance) {
  return {__shfl_up_sync(~0u, pair.second, distance), __shfl_up_sync(~0u, pair.first, distance)};
}

/// The least pair of the lanes up to this one.
template <class Key>
__device__ Pair<Key> least_up_to_lane(Pair<Key> pair) {
  for (unsigned distance = 1; distance < 32; distance *= 2) {
    const Pair<Key> below = from_below(pair, distance);
    if (threadIdx.x % 32 >= distance) pair = least(pair, below);
  }
  return pair;
}

/// The least pair of the threads before this one; `all`: of all of them. `of_warps`: 32 of shared memory.
template <class Key>
__device__ Pair<Key> least_before(const Pair<Key>& pair, Pair<Key>* of_warps, Pair<Key>& all) {
  const unsigned lane = threadIdx.x % 32;
  const unsigned warp = threadIdx.x / 32;
  const Pair<Key> up_to = least_up_to_lane(pair);
  if (lane == 31) of_warps[warp] = up_to;
  __syncthreads();
  if (warp == 0) of_warps[lane] = least_up_to_lane(of_warps[lane]);
  __syncthreads();
  Pair<Key> before = from_below(up_to, 1);
  if (lane == 0) before = {};
  if (warp > 0) before = least(before, of_warps[warp - 1]);
  all = of_warps[31];
  __syncthreads();
  return before;
}

template <class Key>
__device__ Pair<Key> pair_of(const KeyTable<Key>& table, std::uint32_t row) {
  return {table.columns[1][row], table.columns[0][row]};
}

/// Block b finds the least pair of the rows [b each, (b + 1) each).
template <class Key>
__global__ void __launch_bounds__(kThreads)
    find_least(const __grid_constant__ KeyTable<Key> table, const std::uint32_t* rows, std::uint32_t count,
               std::uint32_t each, Pair<Key>* of_parts) {
  __shared__ __align__(16) unsigned char shared[32 * sizeof(Pair<Key>)];
  const std::uint64_t begin = std::uint64_t{blockIdx.x} * each;
  const std::uint64_t end = min(begin + each, std::uint64_t{count});
  Pair<Key> own;
  for (std::uint64_t i = begin + threadIdx.x; i < end; i += kThreads) own = least(own, pair_of(table, rows[i]));
  Pair<Key> all;
  least_before(own, reinterpret_cast<Pair<Key>*>(shared), all);
  if (threadIdx.x == 0) of_parts[blockIdx.x] = all;
}

/// Block b marks the members among the rows [b each, (b + 1) each).
template <class Key>
__global__ void __launch_bounds__(kThreads)
    sweep(const __grid_constant__ KeyTable<Key> table, const std::uint32_t* rows, std::uint32_t count,
          std::uint32_t each, const Pair<Key>* of_parts, std::uint32_t* members) {
  __shared__ __align__(16) unsigned char shared[32 * sizeof(Pair<Key>)];
  auto* const of_warps = reinterpret_cast<Pair<Key>*>(shared);
  static_assert(kMaxParts <= kThreads);
  const Pair<Key> part = threadIdx.x < blockIdx.x ? of_parts[threadIdx.x] : Pair<Key>{};
  Pair<Key> done;  // the least of all rows so far
  least_before(part, of_warps, done);
  const std::uint64_t begin = std::uint64_t{blockIdx.x} * each;
  const std::uint64_t end = min(begin + each, std::uint64_t{count});
  for (std::uint64_t first = begin; first < end; first += kThreads) {
    const std::uint64_t i = first + threadIdx.x;
    const std::uint32_t row = rows[min(i, end - 1)];
    const Pair<Key> own = pair_of(table, row);
    Pair<Key> all;
    const Pair<Key> before = least(done, least_before(own, of_warps, all));
    if (i < end && !less(before, own)) atomicOr(&members[row / 32], 1u << (row % 32));
    done = least(done, all);
  }
}

/// keys[i]: of row i of the list, both columns or one of them.
template <class Key, bool kBoth>
__global__ void take_keys(const __grid_constant__ KeyTable<Key> table, const std::uint32_t* rows, std::uint32_t count,
                          int column, std::uint64_t* keys) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
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
    launch("take_keys", take_keys<Key, kBoth>, {.blocks = blocks_for(count, kThreads), .threads = kThreads},
           run.stream(), table, order.data(), count, column, keys.data());
    order = sort_rows(std::move(keys), std::move(order), 64, run.device).rows;
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
  const std::uint32_t tiles = (count + kThreads - 1) / kThreads;
  const std::uint32_t each = (tiles + kMaxParts - 1) / kMaxParts * kThreads;
  const std::size_t parts = (std::size_t{count} + each - 1) / each;
  const auto of_parts = run.allocate<Pair<Key>>(parts);
  const Grid grid{.blocks = parts, .threads = kThreads};
  launch("find_least", find_least<Key>, grid, run.stream(), table, order.data(), count, each, of_parts.data());
  launch("sweep", sweep<Key>, grid, run.stream(), table, order.data(), count, each, of_parts.data(), members);
  run.end_stage("sweep");
}

template void sweep_two_columns(SkylineRun&, const KeyTable<std::uint32_t>&, const std::uint32_t*, std::uint32_t,
                                std::uint32_t*);
template void sweep_two_columns(SkylineRun&, const KeyTable<std::uint64_t>&, const std::uint32_t*, std::uint32_t,
                                std::uint32_t*);

}  // namespace skyrank::kernels::cuda::skyline
