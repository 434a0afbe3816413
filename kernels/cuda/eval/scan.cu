#include <algorithm>
#include <cstdint>

#include "kernels/common/expression.hpp"
#include "kernels/common/keys.hpp"
#include "kernels/cuda/device/context.hpp"
#include "kernels/cuda/device/launch.cuh"
#include "kernels/cuda/eval/columns.hpp"

// A filter and a weighted sum to keys in one pass: the columns are read once, 16 bytes at a time, and nothing but the
// keys is written.
namespace skyrank::kernels::cuda {
namespace {

constexpr unsigned kThreads = 256;
/// Neighbouring rows of a thread: four values of 32 bits are one load, of 64 bits two.
constexpr unsigned kRows = 4;

__device__ bool is_integer(const ScannedColumn& column) {
  return column.stored == Stored::int32 || column.stored == Stored::int64;
}

template <class T>
__device__ void load16(const T* from, T* to) {
  const uint4 loaded = __ldcs(reinterpret_cast<const uint4*>(from));
  memcpy(to, &loaded, sizeof(loaded));
}

/// The values of kRows rows from `row` on, which are there, or of the `count` first of them.
template <class Short, class Value>
__device__ void load_rows(const ScannedColumn& column, bool is_short, std::size_t row, unsigned count,
                          Value (&values)[kRows]) {
  const auto* const shorts = static_cast<const Short*>(column.values) + row;
  const auto* const longs = static_cast<const Value*>(column.values) + row;
  if (count < kRows) {
    for (unsigned i = 0; i < kRows; ++i) {
      values[i] = i >= count ? Value{0} : is_short ? static_cast<Value>(shorts[i]) : longs[i];
    }
  } else if (is_short) {
    Short loaded[kRows];
    load16(shorts, loaded);
#pragma unroll
    for (unsigned i = 0; i < kRows; ++i) values[i] = static_cast<Value>(loaded[i]);
  } else {
    load16(longs, values);
    load16(longs + 2, values + 2);
  }
}

template <class Key>
__device__ Key key_of(double sum, bool high) {
  if constexpr (sizeof(Key) == 4) {
    return float_key(with_bits_of<std::uint32_t>(static_cast<float>(sum)), high);
  } else {
    return float_key(with_bits_of<std::uint64_t>(sum), high);
  }
}

/// Keys of floats leave the greatest one to NULL: here it is that of rows that do not pass.
template <class Key>
__global__ void __launch_bounds__(kThreads)
    keys_of_scan(const __grid_constant__ ColumnScan scan, std::size_t n, Key* keys, unsigned long long* passing) {
  unsigned mine = 0;
  const std::size_t stride = std::size_t{gridDim.x} * kThreads * kRows;
  for (std::size_t row = (std::size_t{blockIdx.x} * kThreads + threadIdx.x) * kRows; row < n; row += stride) {
    const unsigned count = n - row < kRows ? static_cast<unsigned>(n - row) : kRows;
    double sums[kRows] = {};
    bool passes[kRows];
#pragma unroll
    for (unsigned i = 0; i < kRows; ++i) passes[i] = i < count;
    for (int c = 0; c < scan.count; ++c) {
      const ScannedColumn& column = scan.columns[c];
      if (is_integer(column)) {
        std::int64_t values[kRows];
        load_rows<std::int32_t>(column, column.stored == Stored::int32, row, count, values);
#pragma unroll
        for (unsigned i = 0; i < kRows; ++i) {
          passes[i] = passes[i] && values[i] >= column.lowest_integer && values[i] <= column.highest_integer;
        }
        continue;
      }
      double values[kRows];
      load_rows<float>(column, column.stored == Stored::float32, row, count, values);
#pragma unroll
      for (unsigned i = 0; i < kRows; ++i) {
        if (column.filtered) passes[i] = passes[i] && values[i] >= column.lowest && values[i] <= column.highest;
        if (c >= scan.terms) continue;
        const double product = detail::product_of(scan.weights[c], values[i]);
        sums[i] = c == 0 ? product : detail::sum_of(sums[i], product);
      }
    }
    Key made[kRows];
#pragma unroll
    for (unsigned i = 0; i < kRows; ++i) {
      made[i] = passes[i] ? key_of<Key>(sums[i], scan.high) : static_cast<Key>(~Key{0});
      mine += passes[i] ? 1 : 0;
    }
    if (count == kRows) {
      constexpr std::size_t kStores = kRows * sizeof(Key) / sizeof(uint4);
      uint4 words[kStores];
      memcpy(words, made, sizeof(made));
#pragma unroll
      for (std::size_t i = 0; i < kStores; ++i) reinterpret_cast<uint4*>(keys + row)[i] = words[i];
    } else {
      for (unsigned i = 0; i < count; ++i) keys[row + i] = made[i];
    }
  }
  for (unsigned distance = 16; distance > 0; distance /= 2) mine += __shfl_down_sync(0xffffffffu, mine, distance);
  if (threadIdx.x % 32 == 0 && mine > 0) atomicAdd(passing, static_cast<unsigned long long>(mine));
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
         {.blocks = std::min(blocks_for(n, std::size_t{kThreads} * kRows), resident), .threads = kThreads},
         device.stream(), scan, n, keys, counter.data());
  unsigned long long passing = 0;
  SKYRANK_CUDA_CALL(
      cudaMemcpyAsync(&passing, counter.data(), sizeof(passing), cudaMemcpyDeviceToHost, device.stream()));
  device.synchronize();
  return static_cast<std::size_t>(passing);
}

}  // namespace

ScannedKeys scan_keys(const ColumnScan& scan, std::size_t n) {
  ScannedKeys scanned;
  scanned.width = scan.short_keys ? KeyWidth::bytes4 : KeyWidth::bytes8;
  scanned.keys = DeviceArray(n * static_cast<std::size_t>(scanned.width));
  if (n == 0) return scanned;
  scanned.passing = scan.short_keys ? run_scan(scan, n, static_cast<std::uint32_t*>(scanned.keys.data()))
                                    : run_scan(scan, n, static_cast<std::uint64_t*>(scanned.keys.data()));
  return scanned;
}

}  // namespace skyrank::kernels::cuda
