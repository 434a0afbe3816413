#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernels/common/with_key.hpp"
#include "kernels/cuda/device/context.hpp"
#include "kernels/cuda/device/kernel/load_once.cuh"
#include "kernels/cuda/device/launch.cuh"
#include "kernels/cuda/expression/columns.hpp"
#include "kernels/cuda/expression/policy.hpp"

// Keys from stored values. Each kernel is bound by memory: types and recipes are told apart by branches that all
// threads take alike, so that there is one kernel for each width of keys and not one for each type.
namespace skyrank::kernels::cuda::expression {
namespace {

constexpr unsigned kThreads = KeyPolicy::kThreads;
constexpr unsigned kRows = KeyPolicy::kRows;
constexpr unsigned kAll = 0xffffffffu;

__device__ std::int64_t row_at(const RowId* ids, std::size_t place) {
  return ids == nullptr ? static_cast<std::int64_t>(place) : ids[place];
}

/// Calls `body(place)` for all of [0, n), neighbours for neighbouring threads.
template <class Body>
__device__ void for_places(std::size_t n, Body body) {
  const std::size_t tile = std::size_t{kThreads} * kRows;
  for (std::size_t first = blockIdx.x * tile; first < n; first += gridDim.x * tile) {
#pragma unroll
    for (unsigned i = 0; i < kRows; ++i) {
      const std::size_t place = first + i * kThreads + threadIdx.x;
      if (place < n) body(place);
    }
  }
}

template <class Key>
__device__ std::uint64_t key_of(const KeyColumn& keys, std::size_t row) {
  return static_cast<const Key*>(keys.data)[row];
}

__device__ std::uint64_t key_at(const KeyColumn& keys, std::size_t row) {
  switch (keys.width) {
    case KeyWidth::bytes1: return key_of<std::uint8_t>(keys, row);
    case KeyWidth::bytes2: return key_of<std::uint16_t>(keys, row);
    case KeyWidth::bytes4: return key_of<std::uint32_t>(keys, row);
    case KeyWidth::bytes8: break;
  }
  return key_of<std::uint64_t>(keys, row);
}

/// The range that blocks agree on.
struct SharedRange {
  unsigned long long lowest;
  unsigned long long highest;
  unsigned any_value;
  unsigned any_null;
};

/// Adds the values of a warp, in the order of `ordered`, to the range.
__device__ void add_values(unsigned long long lowest, unsigned long long highest, bool any_value, SharedRange* range) {
  for (unsigned distance = 16; distance > 0; distance /= 2) {
    lowest = min(lowest, __shfl_down_sync(kAll, lowest, distance));
    highest = max(highest, __shfl_down_sync(kAll, highest, distance));
  }
  any_value = __any_sync(kAll, any_value) != 0;
  if (threadIdx.x % 32 != 0 || !any_value) return;
  atomicMin(&range->lowest, lowest);
  atomicMax(&range->highest, highest);
  range->any_value = 1;
}

__global__ void __launch_bounds__(kThreads)
    find_range(StoredColumn column, std::size_t n, const RowId* ids, SharedRange* range) {
  const bool with_sign = is_signed(column.stored);
  unsigned long long lowest = ~0ull;
  unsigned long long highest = 0;
  bool any_value = false;
  bool any_null = false;
  for_places(n, [&](std::size_t place) {
    const std::int64_t row = row_at(ids, place);
    if (!is_valid(column, row)) {
      any_null = true;
      return;
    }
    const unsigned long long value = ordered(stored_bits(column, row), with_sign);
    lowest = min(lowest, value);
    highest = max(highest, value);
    any_value = true;
  });
  add_values(lowest, highest, any_value, range);
  if (any_null) range->any_null = 1;
}

/// Integers that one load of 16 bytes brings.
template <class T>
struct alignas(16) Loaded {
  T values[16 / sizeof(T)];
};

template <class T>
constexpr T kLeast = std::numeric_limits<T>::lowest();
template <class T>
constexpr T kGreatest = std::numeric_limits<T>::max();

/// The range of a whole column without NULLs, aligned to 16 bytes.
template <class T>
__global__ void __launch_bounds__(kThreads) find_range_of_all(const T* values, std::size_t n, SharedRange* range) {
  constexpr std::size_t kLoaded = 16 / sizeof(T);
  T lowest = kGreatest<T>;
  T highest = kLeast<T>;
  const auto take = [&](T value) {
    lowest = min(lowest, value);
    highest = max(highest, value);
  };
  const std::size_t loads = n / kLoaded;
  const std::size_t tile = std::size_t{kThreads} * kRows;
  for (std::size_t first = blockIdx.x * tile; first < loads; first += gridDim.x * tile) {
    Loaded<T> loaded[kRows];
#pragma unroll
    for (unsigned i = 0; i < kRows; ++i) {
      const std::size_t load = min(first + i * kThreads + threadIdx.x, loads - 1);
      loaded[i] = with_bits_of<Loaded<T>>(load_once(reinterpret_cast<const uint4*>(values) + load));
    }
#pragma unroll
    for (unsigned i = 0; i < kRows; ++i) {
#pragma unroll
      for (std::size_t j = 0; j < kLoaded; ++j) take(loaded[i].values[j]);
    }
  }
  const std::size_t rest = loads * kLoaded + threadIdx.x;
  if (blockIdx.x == 0 && rest < n) take(values[rest]);
  constexpr bool kWithSign = std::is_signed_v<T>;
  const bool any_value = lowest <= highest;
  add_values(any_value ? ordered(static_cast<std::uint64_t>(lowest), kWithSign) : ~0ull,
             any_value ? ordered(static_cast<std::uint64_t>(highest), kWithSign) : 0, any_value, range);
}

/// Calls `f(T{})` with the type of stored integers; returns false where values are none.
template <class F>
bool with_integer(Stored stored, const F& f) {
  switch (stored) {
    case Stored::int8: f(std::int8_t{}); break;
    case Stored::int16: f(std::int16_t{}); break;
    case Stored::int32: f(std::int32_t{}); break;
    case Stored::int64: f(std::int64_t{}); break;
    case Stored::uint8: f(std::uint8_t{}); break;
    case Stored::uint16: f(std::uint16_t{}); break;
    case Stored::uint32: f(std::uint32_t{}); break;
    case Stored::uint64: f(std::uint64_t{}); break;
    default: return false;
  }
  return true;
}

template <class Key>
__global__ void __launch_bounds__(kThreads)
    encode(StoredColumn column, std::size_t n, const RowId* ids, KeyRecipe recipe, Key* keys) {
  for_places(n, [&](std::size_t place) { keys[place] = static_cast<Key>(recipe(column, row_at(ids, place))); });
}

__global__ void __launch_bounds__(kThreads) find_greatest(KeyColumn keys, std::size_t n, unsigned long long* greatest) {
  unsigned long long mine = 0;
  for_places(n, [&](std::size_t row) { mine = max(mine, static_cast<unsigned long long>(key_at(keys, row))); });
  for (unsigned distance = 16; distance > 0; distance /= 2) {
    mine = max(mine, __shfl_down_sync(kAll, mine, distance));
  }
  if (threadIdx.x % 32 == 0) atomicMax(greatest, mine);
}

struct Parts {
  KeyPart parts[kMaxParts];
  int count;
};

template <class Key>
__global__ void __launch_bounds__(kThreads) pack(const __grid_constant__ Parts parts, std::size_t n, Key* packed) {
  for_places(n, [&](std::size_t row) {
    std::uint64_t key = 0;
    for (int i = 0; i < parts.count; ++i) {
      const KeyPart& part = parts.parts[i];
      key = (part.bits == 64 ? 0 : key << part.bits) | key_at(part.column, row);
    }
    packed[row] = static_cast<Key>(key);
  });
}

template <class Key>
__global__ void __launch_bounds__(kThreads)
    take(const Key* keys, const std::int64_t* positions, std::size_t n, Key* taken) {
  for_places(n, [&](std::size_t place) { taken[place] = keys[positions[place]]; });
}

Grid grid_for(std::size_t n, const DeviceContext& device) {
  const std::size_t resident = 8 * static_cast<std::size_t>(device.properties().multiprocessors);
  return {.blocks = std::min(blocks_for(n, std::size_t{kThreads} * kRows), resident), .threads = kThreads};
}

/// Room for n keys, which `f(keys, grid, device)` fills.
template <class F>
DeviceArray filled(std::size_t n, KeyWidth width, const F& f) {
  DeviceArray keys(n * static_cast<std::size_t>(width));
  if (n == 0) return keys;
  DeviceContext& device = DeviceContext::of_process();
  const Lease lease(device);
  with_key(width, [&]<class Key>(Key) { f(static_cast<Key*>(keys.data()), grid_for(n, device), device.stream()); });
  return keys;
}

}  // namespace

IntegerRange range_of(const StoredColumn& column, const DeviceRows& rows) {
  if (rows.n == 0) return {};
  DeviceContext& device = DeviceContext::of_process();
  const Lease lease(device);
  const auto memory = device.allocate<SharedRange>(1);
  SharedRange range{~0ull, 0, 0, 0};
  SKYRANK_CUDA_CALL(cudaMemcpyAsync(memory.data(), &range, sizeof(range), cudaMemcpyHostToDevice, device.stream()));
  const bool reads_all = rows.ids == nullptr && column.validity == nullptr &&
                         reinterpret_cast<std::uintptr_t>(column.values) % sizeof(uint4) == 0;
  const auto find_all = [&]<class T>(T) {
    const Grid grid = grid_for(blocks_for(rows.n * sizeof(T), sizeof(uint4)), device);
    launch("find_range_of_all", find_range_of_all<T>, grid, device.stream(), static_cast<const T*>(column.values),
           rows.n, memory.data());
  };
  if (!reads_all || !with_integer(column.stored, find_all)) {
    launch("find_range", find_range, grid_for(rows.n, device), device.stream(), column, rows.n, rows.ids,
           memory.data());
  }
  SKYRANK_CUDA_CALL(cudaMemcpyAsync(&range, memory.data(), sizeof(range), cudaMemcpyDeviceToHost, device.stream()));
  device.synchronize();
  return {range.lowest, range.highest, range.any_value != 0, range.any_null != 0};
}

DeviceArray make_keys(const StoredColumn& column, const DeviceRows& rows, const KeyRecipe& recipe, KeyWidth width) {
  return filled(rows.n, width, [&]<class Key>(Key* keys, const Grid& grid, cudaStream_t stream) {
    launch("encode", encode<Key>, grid, stream, column, rows.n, rows.ids, recipe, keys);
  });
}

std::uint64_t greatest_key(const KeyColumn& keys, std::size_t n) {
  if (n == 0) return 0;
  DeviceContext& device = DeviceContext::of_process();
  const Lease lease(device);
  const auto memory = device.allocate<unsigned long long>(1);
  unsigned long long greatest = 0;
  SKYRANK_CUDA_CALL(cudaMemsetAsync(memory.data(), 0, memory.bytes(), device.stream()));
  launch("find_greatest", find_greatest, grid_for(n, device), device.stream(), keys, n, memory.data());
  SKYRANK_CUDA_CALL(
      cudaMemcpyAsync(&greatest, memory.data(), sizeof(greatest), cudaMemcpyDeviceToHost, device.stream()));
  device.synchronize();
  return greatest;
}

DeviceArray pack_parts(std::span<const KeyPart> parts, std::size_t n, KeyWidth width) {
  Parts all{};
  for (const KeyPart& part : parts) all.parts[all.count++] = part;
  return filled(n, width, [&]<class Key>(Key* packed, const Grid& grid, cudaStream_t stream) {
    launch("pack", pack<Key>, grid, stream, all, n, packed);
  });
}

DeviceArray take_keys(const KeyColumn& keys, const std::int64_t* positions, std::size_t count) {
  return filled(count, keys.width, [&]<class Key>(Key* taken, const Grid& grid, cudaStream_t stream) {
    launch("take", take<Key>, grid, stream, keys.as<Key>(), positions, count, taken);
  });
}

}  // namespace skyrank::kernels::cuda::expression
