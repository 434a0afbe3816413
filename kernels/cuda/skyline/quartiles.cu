#include "kernels/cuda/skyline/quartiles.hpp"

#include <algorithm>

#include "kernels/cuda/device/kernel/block.cuh"
#include "kernels/cuda/device/launch.cuh"

namespace skyrank::kernels::cuda::skyline {
namespace {

constexpr unsigned kThreads = 256;
constexpr int kDigitBits = 11;
constexpr unsigned kBins = 1u << kDigitBits;
constexpr unsigned kRanks = 3;
constexpr std::size_t kRowsOfBlock = 16 * kThreads;

/// How far the selection has come in one column. Zeroed before the first digit.
struct Selection {
  std::uint32_t rank[kRanks];  ///< among the keys with the prefix
  std::uint32_t bins[kRanks * kBins];
  std::uint32_t arrived;  ///< blocks
};

/// Ranks whose keys have the same prefix so far count in the bins of the first of them.
template <class Key>
__device__ unsigned first_alike(const Quartiles<Key>& prefixes, unsigned r, int above) {
  for (unsigned earlier = 0; earlier < r; ++earlier) {
    if (above >= static_cast<int>(8 * sizeof(Key)) || prefixes.of[earlier] >> above == prefixes.of[r] >> above) {
      return earlier;
    }
  }
  return r;
}

/// The digit of bits [shift, above) of the three keys of a column, of which the higher bits are known.
template <class Key>
__global__ void __launch_bounds__(kThreads)
    select_digit(const __grid_constant__ KeyTable<Key> table, const std::uint32_t* rows, std::uint32_t count, int shift,
                 int above, Quartiles<Key>* quartiles, Selection* selections) {
  __shared__ std::uint32_t bins[kRanks * kBins];
  __shared__ bool last;
  constexpr int kBits = static_cast<int>(8 * sizeof(Key));
  const unsigned column = blockIdx.x % static_cast<unsigned>(table.d);
  const unsigned part = blockIdx.x / static_cast<unsigned>(table.d);
  const unsigned parts = gridDim.x / static_cast<unsigned>(table.d);
  Selection& selection = selections[column];
  const Quartiles<Key> prefixes = quartiles[column];
  const bool any = above >= kBits;
  unsigned of[kRanks];
  for (unsigned r = 0; r < kRanks; ++r) of[r] = first_alike(prefixes, r, above);
  for (unsigned bin = threadIdx.x; bin < kRanks * kBins; bin += kThreads) bins[bin] = 0;
  __syncthreads();
  const std::uint32_t digits = (1u << (above - shift)) - 1;
  for (std::uint64_t i = part * kThreads + threadIdx.x; i < count; i += std::uint64_t{parts} * kThreads) {
    const Key key = table.columns[column][rows[i]];
    for (unsigned r = 0; r < kRanks; ++r) {
      if (of[r] != r || !(any || key >> above == prefixes.of[r] >> above)) continue;
      atomicAdd(bins + r * kBins + (static_cast<std::uint32_t>(key >> shift) & digits), 1u);
    }
  }
  __syncthreads();
  for (unsigned bin = threadIdx.x; bin < kRanks * kBins; bin += kThreads) {
    if (bins[bin] != 0) atomicAdd(selection.bins + bin, bins[bin]);
  }
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) last = atomicAdd(&selection.arrived, 1u) == parts - 1;
  __syncthreads();
  if (!last) return;
  __threadfence();
  constexpr unsigned kOwn = kBins / kThreads;
  for (unsigned r = 0; r < kRanks; ++r) {
    const std::uint32_t rank =
        any ? static_cast<std::uint32_t>(std::uint64_t{count} * (r + 1) / (kRanks + 1)) : selection.rank[r];
    std::uint32_t own[kOwn];
    std::uint32_t sum = 0;
    for (unsigned i = 0; i < kOwn; ++i) {
      own[i] = __ldcg(selection.bins + of[r] * kBins + threadIdx.x * kOwn + i);
      sum += own[i];
    }
    std::uint32_t all = 0;
    std::uint32_t before = sum_before(sum, all);
    for (unsigned i = 0; i < kOwn; ++i) {
      if (before <= rank && rank < before + own[i]) {
        quartiles[column].of[r] = static_cast<Key>(prefixes.of[r] | static_cast<Key>(threadIdx.x * kOwn + i) << shift);
        selection.rank[r] = rank - before;
      }
      before += own[i];
    }
  }
  __syncthreads();
  for (unsigned bin = threadIdx.x; bin < kRanks * kBins; bin += kThreads) selection.bins[bin] = 0;
  if (threadIdx.x == 0) selection.arrived = 0;
}

}  // namespace

template <class Key>
Buffer<Quartiles<Key>> find_quartiles(SkylineRun& run, const KeyTable<Key>& table, const RowList& list) {
  const auto d = static_cast<std::size_t>(table.d);
  auto quartiles = run.allocate<Quartiles<Key>>(d);
  const auto selections = run.allocate<Selection>(d);
  SKYRANK_CUDA_CALL(cudaMemsetAsync(quartiles.data(), 0, quartiles.bytes(), run.stream()));
  SKYRANK_CUDA_CALL(cudaMemsetAsync(selections.data(), 0, selections.bytes(), run.stream()));
  const std::size_t resident = 6 * static_cast<std::size_t>(run.device.properties().multiprocessors);
  const std::size_t parts = std::min(blocks_for(list.count, kRowsOfBlock), blocks_for(resident, d));
  for (int above = 8 * static_cast<int>(sizeof(Key)); above > 0; above -= kDigitBits) {
    launch("select_digit", select_digit<Key>, {.blocks = parts * d, .threads = kThreads}, run.stream(), table,
           list.rows.data(), list.count, std::max(0, above - kDigitBits), above, quartiles.data(), selections.data());
  }
  run.end_stage("quartiles");
  return quartiles;
}

template Buffer<Quartiles<std::uint32_t>> find_quartiles(SkylineRun&, const KeyTable<std::uint32_t>&, const RowList&);
template Buffer<Quartiles<std::uint64_t>> find_quartiles(SkylineRun&, const KeyTable<std::uint64_t>&, const RowList&);

}  // namespace skyrank::kernels::cuda::skyline
