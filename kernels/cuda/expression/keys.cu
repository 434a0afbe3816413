#include <cstdint>

#include "kernels/common/keys/with_key.hpp"
#include "kernels/cuda/device/calls.hpp"
#include "kernels/cuda/device/kernel/block.cuh"
#include "kernels/cuda/device/map.cuh"
#include "kernels/cuda/expression/columns.hpp"
#include "kernels/cuda/expression/dense_keys.cuh"

// Keys from stored values. Types and recipes are told apart by branches that all threads take alike, so that there is
// one kernel for each width of keys and not one for each type; what is most common has kernels of its own
// (dense_keys.cuh).
namespace skyrank::kernels::cuda::expression {
namespace {

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

__global__ void __launch_bounds__(kMapThreads) find_range(StoredColumn column, DeviceRows rows, SharedRange* range) {
  const bool with_sign = is_signed(column.stored);
  std::uint64_t lowest = ~std::uint64_t{0};
  std::uint64_t highest = 0;
  bool any_value = false;
  bool any_null = false;
  for_all(rows.n, [&](std::size_t place) {
    const std::int64_t row = rows.at(place);
    if (!is_valid(column, row)) {
      any_null = true;
      return;
    }
    const std::uint64_t value = ordered(stored_bits(column, row), with_sign);
    lowest = min(lowest, value);
    highest = max(highest, value);
    any_value = true;
  });
  if (any_null) range->any_null = 1;
  lowest = least_of_warp(lowest);
  highest = ~least_of_warp(~highest);
  any_value = __any_sync(kAllLanes, any_value) != 0;
  if (threadIdx.x % kLanes != 0 || !any_value) return;
  atomicMin(&range->lowest, static_cast<unsigned long long>(lowest));
  atomicMax(&range->highest, static_cast<unsigned long long>(highest));
  range->any_value = 1;
}

template <class Key>
__global__ void __launch_bounds__(kMapThreads)
    encode(StoredColumn column, DeviceRows rows, KeyRecipe recipe, Key* keys) {
  for_all(rows.n, [&](std::size_t place) { keys[place] = static_cast<Key>(recipe(column, rows.at(place))); });
}

__global__ void __launch_bounds__(kMapThreads)
    find_greatest(KeyColumn keys, std::size_t n, unsigned long long* greatest) {
  std::uint64_t mine = 0;
  for_all(n, [&](std::size_t row) { mine = max(mine, key_at(keys, row)); });
  mine = ~least_of_warp(~mine);
  if (threadIdx.x % kLanes == 0) atomicMax(greatest, static_cast<unsigned long long>(mine));
}

struct Parts {
  KeyPart parts[kMaxParts];
  int count;
};

template <class Key>
__global__ void __launch_bounds__(kMapThreads)
    pack(const __grid_constant__ Parts parts, const DeviceRows rows, Key* packed) {
  for_all(rows.n, [&](std::size_t place) {
    const auto row = static_cast<std::size_t>(rows.at(place));
    std::uint64_t key = 0;
    for (int i = 0; i < parts.count; ++i) {
      const KeyPart& part = parts.parts[i];
      key = (part.bits == 64 ? 0 : key << part.bits) | key_at(part.column, row);
    }
    packed[place] = static_cast<Key>(key);
  });
}

template <class Key>
__global__ void __launch_bounds__(kMapThreads)
    take(const Key* keys, const std::int64_t* positions, std::size_t n, Key* taken) {
  for_all(n, [&](std::size_t place) { taken[place] = keys[positions[place]]; });
}

/// Returns the width of the values of a column that lies dense.
KeyWidth width_of(const StoredColumn& column) { return static_cast<KeyWidth>(bytes_of(column.stored)); }

/// Room for n keys, which `f(keys, grid, device)` fills.
template <class F>
DeviceArray filled(std::size_t n, KeyWidth width, const F& f) {
  DeviceArray keys(n * static_cast<std::size_t>(width));
  if (n == 0) return keys;
  DeviceContext& device = DeviceContext::of_process();
  const Lease lease(device);
  with_key(width, [&]<class Key>(Key) { f(static_cast<Key*>(keys.data()), few_each(n, device), device.stream()); });
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
  if (lies_dense(column, rows)) {
    with_key(width_of(column), [&]<class T>(T) {
      launch("find_range_of_dense", find_range_of_dense<T>, few_each(rows.n / DenseWord<T>::kValues + 1, device),
             device.stream(), static_cast<const T*>(column.values), rows.n, is_signed(column.stored), memory.data());
    });
  } else {
    launch("find_range", find_range, few_each(rows.n, device), device.stream(), column, rows, memory.data());
  }
  range = value_at(memory.data(), device);
  return {range.lowest, range.highest, range.any_value != 0, range.any_null != 0};
}

DeviceArray make_keys(const StoredColumn& column, const DeviceRows& rows, const KeyRecipe& recipe, KeyWidth width) {
  const bool dense = lies_dense(column, rows) && is_dense_recipe(recipe) && width <= width_of(column);
  return filled(rows.n, width, [&]<class Key>(Key* keys, const Grid& grid, cudaStream_t stream) {
    if (!dense) return launch("encode", encode<Key>, grid, stream, column, rows, recipe, keys);
    with_key(width_of(column), [&]<class T>(T) {
      if constexpr (sizeof(Key) <= sizeof(T)) {
        launch("encode_dense", encode_dense<T, Key>, grid, stream, static_cast<const T*>(column.values), rows.n,
               DenseRecipe<T>(recipe), keys);
      }
    });
  });
}

std::uint64_t greatest_key(const KeyColumn& keys, std::size_t n) {
  if (n == 0) return 0;
  DeviceContext& device = DeviceContext::of_process();
  const Lease lease(device);
  const auto memory = device.allocate<unsigned long long>(1);
  SKYRANK_CUDA_CALL(cudaMemsetAsync(memory.data(), 0, memory.bytes(), device.stream()));
  launch("find_greatest", find_greatest, few_each(n, device), device.stream(), keys, n, memory.data());
  return value_at(memory.data(), device);
}

void pack_rows(std::span<const KeyPart> parts, const DeviceRows& rows, KeyWidth width, void* packed,
               DeviceContext& device) {
  Parts all{};
  for (const KeyPart& part : parts) all.parts[all.count++] = part;
  with_key(width, [&]<class Key>(Key) {
    launch("pack", pack<Key>, few_each(rows.n, device), device.stream(), all, rows, static_cast<Key*>(packed));
  });
}

DeviceArray pack_parts(std::span<const KeyPart> parts, std::size_t n, KeyWidth width) {
  DeviceArray packed(n * static_cast<std::size_t>(width));
  if (n == 0) return packed;
  DeviceContext& device = DeviceContext::of_process();
  const Lease lease(device);
  pack_rows(parts, {.n = n}, width, packed.data(), device);
  return packed;
}

DeviceArray take_keys(const KeyColumn& keys, const std::int64_t* positions, std::size_t count) {
  return filled(count, keys.width, [&]<class Key>(Key* taken, const Grid& grid, cudaStream_t stream) {
    launch("take", take<Key>, grid, stream, keys.as<Key>(), positions, count, taken);
  });
}

}  // namespace skyrank::kernels::cuda::expression
