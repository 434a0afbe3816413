#include "kernels/cuda/device/sort_and_scan.hpp"

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>

#include <type_traits>

#include "kernels/cuda/device/calls.hpp"

namespace skyrank::kernels::cuda {

__extension__ using Uint128 = unsigned __int128;

template <class Key>
void sort_keys(const Key* keys, Key* sorted, std::size_t n, DeviceContext& device, int bits) {
  with_temporary(device, [&](void* temporary, std::size_t& bytes) {
    SKYRANK_CUDA_CALL(
        cub::DeviceRadixSort::SortKeys(temporary, bytes, keys, sorted, std::uint64_t{n}, 0, bits, device.stream()));
  });
}

template <class Key, class Value>
void sort_pairs(void* temporary, std::size_t& bytes, const Key* keys, Key* sorted_keys, const Value* values,
                Value* sorted_values, std::size_t n, cudaStream_t stream, int bits) {
  using Count = std::make_unsigned_t<Value>;
  SKYRANK_CUDA_CALL(cub::DeviceRadixSort::SortPairs(temporary, bytes, keys, sorted_keys, values, sorted_values,
                                                    static_cast<Count>(n), 0, bits, stream));
}

template <class Key, class Value>
void sort_pairs(const Key* keys, Key* sorted_keys, const Value* values, Value* sorted_values, std::size_t n,
                DeviceContext& device, int bits) {
  with_temporary(device, [&](void* temporary, std::size_t& bytes) {
    sort_pairs(temporary, bytes, keys, sorted_keys, values, sorted_values, n, device.stream(), bits);
  });
}

template <class Key>
void sort_pairs(TwoArrays<Key>& keys, TwoArrays<std::uint32_t>& values, std::uint32_t n, DeviceContext& device,
                int bits) {
  cub::DoubleBuffer<Key> key_arrays(keys.current, keys.other);
  cub::DoubleBuffer<std::uint32_t> value_arrays(values.current, values.other);
  with_temporary(device, [&](void* temporary, std::size_t& bytes) {
    SKYRANK_CUDA_CALL(
        cub::DeviceRadixSort::SortPairs(temporary, bytes, key_arrays, value_arrays, n, 0, bits, device.stream()));
  });
  keys = {key_arrays.Current(), key_arrays.Alternate()};
  values = {value_arrays.Current(), value_arrays.Alternate()};
}

void exclusive_sum(std::uint64_t* values, std::size_t n, DeviceContext& device) {
  with_temporary(device, [&](void* temporary, std::size_t& bytes) {
    SKYRANK_CUDA_CALL(cub::DeviceScan::ExclusiveSum(temporary, bytes, values, values, n, device.stream()));
  });
}

template void sort_keys(const std::uint32_t*, std::uint32_t*, std::size_t, DeviceContext&, int);
template void sort_keys(const std::uint64_t*, std::uint64_t*, std::size_t, DeviceContext&, int);
template void sort_keys(const Uint128*, Uint128*, std::size_t, DeviceContext&, int);

#define SKYRANK_INSTANTIATE(Key, Value)                                                               \
  template void sort_pairs(const Key*, Key*, const Value*, Value*, std::size_t, DeviceContext&, int); \
  template void sort_pairs(void*, std::size_t&, const Key*, Key*, const Value*, Value*, std::size_t, cudaStream_t, int);
SKYRANK_INSTANTIATE(std::uint32_t, std::uint32_t)
SKYRANK_INSTANTIATE(std::uint64_t, std::uint32_t)
SKYRANK_INSTANTIATE(std::uint32_t, std::int64_t)
SKYRANK_INSTANTIATE(std::uint64_t, std::int64_t)
#undef SKYRANK_INSTANTIATE

template void sort_pairs(TwoArrays<std::uint32_t>&, TwoArrays<std::uint32_t>&, std::uint32_t, DeviceContext&, int);
template void sort_pairs(TwoArrays<std::uint64_t>&, TwoArrays<std::uint32_t>&, std::uint32_t, DeviceContext&, int);

}  // namespace skyrank::kernels::cuda
