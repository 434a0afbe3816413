#include <algorithm>
#include <cstdint>

#include "kernels/cuda/device/context.hpp"
#include "kernels/cuda/device/kernel/block.cuh"
#include "kernels/cuda/device/launch.cuh"
#include "kernels/cuda/expression/columns.hpp"
#include "kernels/cuda/expression/policy.hpp"
#include "kernels/cuda/expression/scan_rows.cuh"

// A filter and a weighted sum to keys in one pass: the columns are read once, 16 bytes at a time, and nothing but the
// keys is written.
namespace skyrank::kernels::cuda::expression {
namespace {

constexpr unsigned kThreads = ScanKeysPolicy::kThreads;

template <class Key>
__device__ void store(Key* keys, const Key (&made)[kRowsOfGroup]) {
  constexpr std::size_t kStores = kRowsOfGroup * sizeof(Key) / sizeof(uint4);
  uint4 words[kStores];
  memcpy(words, made, sizeof(made));
#pragma unroll
  for (std::size_t i = 0; i < kStores; ++i) reinterpret_cast<uint4*>(keys)[i] = words[i];
}

/// The greatest key, which no row that passes has, is that of rows that do not. How many do.
template <class Key, unsigned kRows>
__device__ unsigned keys_of(const ReadScan& scan, const ScannedGroup<Key, kRows>& group, Key (&keys)[kRows]) {
  unsigned passing = 0;
#pragma unroll
  for (unsigned i = 0; i < kRows; ++i) {
    keys[i] = group.passes(i) ? key_of_score(scan, group.scores.bits[i], false) : kNullKey<Key>;
    passing += group.passes(i) ? 1 : 0;
  }
  return passing;
}

template <class Key>
__global__ void __launch_bounds__(kThreads, ScanKeysPolicy::kBlocks)
    keys_of_scan(const __grid_constant__ ReadScan scan, std::size_t n, Key* keys, unsigned long long* passing) {
  const std::size_t groups = n / kRowsOfGroup;
  const std::size_t thread = std::size_t{blockIdx.x} * kThreads + threadIdx.x;
  unsigned mine = 0;
  for (std::size_t group = thread; group < groups; group += std::size_t{gridDim.x} * kThreads) {
    ReadValues<1, ScanForm::general> read[ColumnScan::kMaxColumns];
#pragma unroll
    for (unsigned c = 0; c < ColumnScan::kMaxColumns; ++c) {
      if (c >= static_cast<unsigned>(scan.count)) break;
      read[c].load(scan.columns[c], group);
    }
    ScannedGroup<Key, kRowsOfGroup> scanned;
#pragma unroll
    for (unsigned c = 0; c < ColumnScan::kMaxColumns; ++c) {
      if (c >= static_cast<unsigned>(scan.count)) break;
      const unsigned valid = read[c].valid(scan.columns[c], group);
      with_values<kRowsOfGroup>(scan.columns[c], read[c],
                                [&](const auto& values) { scanned.add(scan, c, valid, values); });
    }
    Key made[kRowsOfGroup];
    mine += keys_of(scan, scanned, made);
    store(keys + group * kRowsOfGroup, made);
  }
  if (thread < n % kRowsOfGroup) {
    const std::size_t row = groups * kRowsOfGroup + thread;
    Key made[1];
    mine += keys_of(scan, look_at_row<Key>(scan, row), made);
    keys[row] = made[0];
  }
  mine = __reduce_add_sync(kAllLanes, mine);
  if (threadIdx.x % kLanes == 0 && mine > 0) atomicAdd(passing, static_cast<unsigned long long>(mine));
}

template <class Key>
std::size_t run_scan(const ColumnScan& scan, std::size_t n, Key* keys) {
  DeviceContext& device = DeviceContext::of_process();
  const Lease lease(device);
  const auto counter = device.allocate<unsigned long long>(1);
  SKYRANK_CUDA_CALL(cudaMemsetAsync(counter.data(), 0, counter.bytes(), device.stream()));
  const std::size_t resident =
      resident_blocks(keys_of_scan<Key>, kThreads) * static_cast<std::size_t>(device.properties().multiprocessors);
  launch("keys_of_scan", keys_of_scan<Key>,
         {.blocks = std::min(blocks_for(n, std::size_t{kThreads} * kRowsOfGroup), resident), .threads = kThreads},
         device.stream(), read_form(scan), n, keys, counter.data());
  unsigned long long passing = 0;
  SKYRANK_CUDA_CALL(
      cudaMemcpyAsync(&passing, counter.data(), sizeof(passing), cudaMemcpyDeviceToHost, device.stream()));
  device.synchronize();
  return static_cast<std::size_t>(passing);
}

}  // namespace

ScannedKeys scan_keys(const ColumnScan& scan, std::size_t n) {
  ScannedKeys scanned;
  scanned.width = scan.has_short_keys() ? KeyWidth::bytes4 : KeyWidth::bytes8;
  scanned.keys = DeviceArray(n * static_cast<std::size_t>(scanned.width));
  if (n == 0) return scanned;
  scanned.passing = scan.has_short_keys() ? run_scan(scan, n, static_cast<std::uint32_t*>(scanned.keys.data()))
                                          : run_scan(scan, n, static_cast<std::uint64_t*>(scanned.keys.data()));
  return scanned;
}

}  // namespace skyrank::kernels::cuda::expression
