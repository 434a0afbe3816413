#include "kernels/cuda/skyline/sample_ranks.cuh"

#include "kernels/cuda/device/kernel/block_sort.cuh"
#include "kernels/cuda/device/launch.cuh"
#include "kernels/cuda/skyline/sampled_row.hpp"

namespace skyrank::kernels::cuda::skyline {
namespace {

/// A block sorts the sample of its column.
template <class Key>
__global__ void __launch_bounds__(kSampleRanks) sort_samples(const __grid_constant__ KeyTable<Key> table, Key* ranks) {
  __shared__ Key places[kSampleRanks];
  const unsigned i = threadIdx.x;
  const unsigned count = table.n < kSampleRanks ? table.n : kSampleRanks;
  places[i] = i < count ? table.columns[blockIdx.x][sampled_row(table.n, i, count)] : static_cast<Key>(~Key{0});
  __syncthreads();
  sort_in_block<kSampleRanks>(places, kSampleRanks);
  ranks[blockIdx.x * kSampleRanks + i] = places[i];
}

}  // namespace

template <class Key>
Buffer<Key> sample_ranks(SkylineRun& run, const KeyTable<Key>& table) {
  auto ranks = run.allocate<Key>(static_cast<std::size_t>(table.d) * kSampleRanks);
  launch("sort_samples", sort_samples<Key>, {.blocks = static_cast<std::size_t>(table.d), .threads = kSampleRanks},
         run.stream(), table, ranks.data());
  return ranks;
}

template Buffer<std::uint32_t> sample_ranks(SkylineRun&, const KeyTable<std::uint32_t>&);
template Buffer<std::uint64_t> sample_ranks(SkylineRun&, const KeyTable<std::uint64_t>&);

}  // namespace skyrank::kernels::cuda::skyline
