#include "kernels/cuda/skyline/prefilter.hpp"

#include "kernels/cuda/device/map.cuh"
#include "kernels/cuda/device/select.cuh"
#include "kernels/cuda/skyline/sample_ranks.cuh"
#include "kernels/cuda/skyline/sampled_row.hpp"

namespace skyrank::kernels::cuda::skyline {
namespace {

/// Returns the greatest rank of a row's keys, or `most` where it is not less.
template <class Key>
__device__ unsigned greatest_rank(const KeyTable<Key>& table, const SampleRanks<Key>& ranks, std::uint32_t row,
                                  unsigned most) {
  unsigned greatest = 0;
  for (int c = 0; c < table.d && greatest < most; ++c)
    greatest = max(greatest, ranks.rank_of(c, table.columns[c][row]));
  return min(greatest, most);
}

/// Returns true if no key of a row is above that of its column with this rank.
template <class Key>
__device__ bool is_within(const KeyTable<Key>& table, const SampleRanks<Key>& ranks, std::uint32_t row, unsigned rank) {
  for (int c = 0; c < table.d; ++c) {
    if (table.columns[c][row] > ranks.key_of(c, rank)) return false;
  }
  return true;
}

/// Finds the least of the sampled rows' greatest ranks, to begin with; a thread looks at one row. `tau` gets it twice.
template <class Key>
__global__ void __launch_bounds__(kSampleRanks)
    find_tau_of_sample(const __grid_constant__ KeyTable<Key> table, SampleRanks<Key> ranks, unsigned* tau) {
  __shared__ unsigned least;
  if (threadIdx.x == 0) least = kSampleRanks;
  __syncthreads();
  const unsigned count = min(table.n, kSampleRanks);
  if (threadIdx.x < count) {
    const std::uint32_t row = sampled_row(table.n, threadIdx.x, count);
    atomicMin(&least, greatest_rank(table, ranks, row, kSampleRanks));
  }
  __syncthreads();
  if (threadIdx.x < 2) tau[threadIdx.x] = least;
}

/// Lowers tau[1] from tau[0], that of the sample, to that of all rows.
template <class Key>
__global__ void __launch_bounds__(kMapThreads)
    lower_tau(const __grid_constant__ KeyTable<Key> table, SampleRanks<Key> ranks, unsigned* tau) {
  const unsigned first = tau[0];
  if (first == 0) return;
  for_all(table.n, [&](std::size_t i) {
    const auto row = static_cast<std::uint32_t>(i);
    // Only rows within the corner of the next lower rank can lower it.
    if (is_within(table, ranks, row, first - 1)) atomicMin(tau + 1, greatest_rank(table, ranks, row, first));
  });
}

template <class Key>
__global__ void __launch_bounds__(kMapThreads)
    mark_spared(const __grid_constant__ KeyTable<Key> table, SampleRanks<Key> ranks, const unsigned* tau,
                std::uint32_t* spared) {
  const std::uint32_t row = blockIdx.x * kMapThreads + threadIdx.x;
  const unsigned rank = tau[1];
  bool below = rank == kSampleRanks;  // each row has a key above all sampled ones
  for (int c = 0; c < table.d; ++c) {
    if (!below && row < table.n) below = table.columns[c][row] <= ranks.key_of(c, rank);
    if (__all_sync(~0u, static_cast<int>(below)) != 0) break;
  }
  const std::uint32_t word = __ballot_sync(~0u, static_cast<int>(below));
  if (threadIdx.x % 32 == 0 && row < table.n) spared[row / 32] = word;
}

}  // namespace

template <class Key>
RowList prefilter(SkylineRun& run, const KeyTable<Key>& table) {
  const std::size_t n = table.n;
  const Buffer<Key> sample = sample_ranks(run, table);
  const SampleRanks<Key> ranks{sample.data()};
  const auto tau = run.allocate<unsigned>(2);
  const auto spared = run.allocate<std::uint32_t>((n + 31) / 32);
  launch("find_tau_of_sample", find_tau_of_sample<Key>, {.blocks = 1, .threads = kSampleRanks}, run.stream(), table,
         ranks, tau.data());
  launch("lower_tau", lower_tau<Key>, few_each(n, run.device), run.stream(), table, ranks, tau.data());
  launch("mark_spared", mark_spared<Key>, one_each(n), run.stream(), table, ranks, tau.data(), spared.data());
  const Selection selected(BitIs{spared.data()}, n, run.device);
  RowList list;
  list.count = static_cast<std::uint32_t>(selected.count());
  list.rows = run.allocate<std::uint32_t>(list.count);
  selected.list(IdAt{}, list.rows.data());
  run.end_stage("prefilter", &list.count);
  return list;
}

template RowList prefilter(SkylineRun&, const KeyTable<std::uint32_t>&);
template RowList prefilter(SkylineRun&, const KeyTable<std::uint64_t>&);

}  // namespace skyrank::kernels::cuda::skyline
