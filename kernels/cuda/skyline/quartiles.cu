#include "kernels/cuda/skyline/quartiles.hpp"

#include "kernels/cuda/device/launch.cuh"
#include "kernels/cuda/device/sort_and_scan.hpp"

namespace skyrank::kernels::cuda::skyline {
namespace {

template <class Key>
__global__ void __launch_bounds__(kMapThreads)
    take_column(const Key* column, const std::uint32_t* rows, std::uint32_t count, Key* keys) {
  const std::uint32_t i = blockIdx.x * kMapThreads + threadIdx.x;
  if (i < count) keys[i] = column[rows[i]];
}

/// A thread for each quartile.
template <class Key>
__global__ void take_quartiles(const Key* sorted, std::uint32_t count, Quartiles<Key>* quartiles) {
  quartiles->of[threadIdx.x] = sorted[std::uint64_t{count} * (threadIdx.x + 1) / (blockDim.x + 1)];
}

}  // namespace

template <class Key>
Buffer<Quartiles<Key>> find_quartiles(SkylineRun& run, const KeyTable<Key>& table, const RowList& list) {
  const auto d = static_cast<std::size_t>(table.d);
  auto quartiles = run.allocate<Quartiles<Key>>(d);
  const auto keys = run.allocate<Key>(list.count);
  const auto sorted = run.allocate<Key>(list.count);
  for (std::size_t c = 0; c < d; ++c) {
    launch("take_column", take_column<Key>, one_each(list.count), run.stream(), table.columns[c], list.rows.data(),
           list.count, keys.data());
    sort_keys(keys.data(), sorted.data(), list.count, run.device);
    launch("take_quartiles", take_quartiles<Key>, {.blocks = 1, .threads = 3}, run.stream(), sorted.data(), list.count,
           quartiles.data() + c);
  }
  run.end_stage("quartiles");
  return quartiles;
}

template Buffer<Quartiles<std::uint32_t>> find_quartiles(SkylineRun&, const KeyTable<std::uint32_t>&, const RowList&);
template Buffer<Quartiles<std::uint64_t>> find_quartiles(SkylineRun&, const KeyTable<std::uint64_t>&, const RowList&);

}  // namespace skyrank::kernels::cuda::skyline
