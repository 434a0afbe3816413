#include "kernels/cuda/skyline/prefilter.hpp"

#include <algorithm>
#include <type_traits>

#include "kernels/cuda/device/launch.cuh"
#include "kernels/cuda/skyline/ranks.cuh"

namespace skyrank::kernels::cuda::skyline {
namespace {

constexpr unsigned kThreads = 256;

/// The type that atomic operations know a key by.
template <class Key>
using AtomicKey = std::conditional_t<sizeof(Key) == 8, unsigned long long, unsigned>;

template <class Key>
__device__ Key warp_min(Key key) {
  for (unsigned distance = 16; distance > 0; distance /= 2) {
    const auto other = static_cast<Key>(__shfl_xor_sync(~0u, static_cast<AtomicKey<Key>>(key), distance));
    key = other < key ? other : key;
  }
  return key;
}

/// tau: all ones before.
template <class Key>
__global__ void __launch_bounds__(kThreads) find_tau(const __grid_constant__ KeyTable<Key> table, AtomicKey<Key>* tau) {
  const std::uint32_t stride = gridDim.x * kThreads;
  Key least = static_cast<Key>(~Key{0});
  for (std::uint64_t row = blockIdx.x * kThreads + threadIdx.x; row < table.n; row += stride) {
    Key greatest = 0;
    for (int c = 0; c < table.d; ++c) {
      const Key key = table.columns[c][row];
      greatest = key > greatest ? key : greatest;
    }
    least = greatest < least ? greatest : least;
  }
  least = warp_min(least);
  if (threadIdx.x % 32 == 0) atomicMin(tau, static_cast<AtomicKey<Key>>(least));
}

template <class Key>
__global__ void __launch_bounds__(kThreads)
    mark_spared(const __grid_constant__ KeyTable<Key> table, const AtomicKey<Key>* tau, std::uint32_t* spared) {
  const std::uint32_t row = blockIdx.x * kThreads + threadIdx.x;
  const Key most = static_cast<Key>(*tau);
  bool below = false;
  for (int c = 0; c < table.d; ++c) {
    if (!below && row < table.n) below = table.columns[c][row] <= most;
    if (__all_sync(~0u, static_cast<int>(below)) != 0) break;
  }
  const std::uint32_t word = __ballot_sync(~0u, static_cast<int>(below));
  if (threadIdx.x % 32 == 0 && row < table.n) spared[row / 32] = word;
}

__global__ void list_rows(Ranks ranks, std::uint32_t n, std::uint32_t* rows) {
  const std::uint32_t row = blockIdx.x * kThreads + threadIdx.x;
  if (row < n && ranks.keeps(row)) rows[ranks.of(row)] = row;
}

}  // namespace

template <class Key>
RowList prefilter(SkylineRun& run, const KeyTable<Key>& table) {
  const std::size_t n = table.n;
  const std::size_t words = words_for_ranks(n);
  const auto tau = run.allocate<AtomicKey<Key>>(1);
  const auto bits = run.allocate<std::uint32_t>(2 * words + 2);
  std::uint32_t* const spared = bits.data();
  std::uint32_t* const before = spared + words;
  std::uint32_t* const size = before + words;
  std::uint32_t* const total = size + 1;
  SKYRANK_CUDA_CALL(cudaMemsetAsync(tau.data(), 0xff, tau.bytes(), run.stream()));
  SKYRANK_CUDA_CALL(cudaMemcpyAsync(size, &table.n, sizeof(table.n), cudaMemcpyHostToDevice, run.stream()));
  const std::size_t resident = 8 * static_cast<std::size_t>(run.device.properties().multiprocessors);
  const std::size_t blocks = blocks_for(n, kThreads);
  launch("find_tau", find_tau<Key>, {.blocks = std::min(blocks, resident), .threads = kThreads}, run.stream(), table,
         tau.data());
  launch("mark_spared", mark_spared<Key>, {.blocks = blocks, .threads = kThreads}, run.stream(), table, tau.data(),
         spared);
  rank_bits({.words = spared, .zeros = false, .first = nullptr, .size = size}, spared, before, total, run.device);
  RowList list;
  SKYRANK_CUDA_CALL(cudaMemcpyAsync(&list.count, total, sizeof(list.count), cudaMemcpyDeviceToHost, run.stream()));
  run.device.synchronize();
  list.rows = run.allocate<std::uint32_t>(list.count);
  launch("list_rows", list_rows, {.blocks = blocks, .threads = kThreads}, run.stream(), Ranks{spared, before}, table.n,
         list.rows.data());
  run.end_stage("prefilter", total);
  return list;
}

template RowList prefilter(SkylineRun&, const KeyTable<std::uint32_t>&);
template RowList prefilter(SkylineRun&, const KeyTable<std::uint64_t>&);

}  // namespace skyrank::kernels::cuda::skyline
