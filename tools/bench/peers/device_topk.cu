// cub::DeviceTopK for selections.py, which compiles this file against the sources of CCCL 3.6 or later that it is
// given.

#include <cub/device/device_topk.cuh>
#include <cuda/iterator>
#include <cuda/stream>

#include <cstddef>
#include <cstdint>

/// Puts a selection of the k largest of n floats, with their positions and in any order, on a stream; returns the
/// error. With no temporary memory it sets the bytes that are needed, and does nothing else.
extern "C" int device_topk(const float* numbers, std::int64_t n, std::int64_t k, float* values, std::int64_t* positions,
                           void* temporary, std::size_t* bytes, cudaStream_t stream) {
  const auto requirements = cuda::execution::require(cuda::execution::determinism::not_guaranteed,
                                                     cuda::execution::output_ordering::unsorted);
  const auto environment = cuda::std::execution::env{cuda::stream_ref{stream}, requirements};
  return cub::DeviceTopK::MaxPairs(temporary, *bytes, numbers, values, cuda::make_counting_iterator(std::int64_t{0}),
                                   positions, n, k, environment);
}
