#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cuda/device/kernel/shared.cuh"
#include "kernels/cuda/device/launch.cuh"
#include "kernels/papers/cuda/topk/bitonic/reducers.cuh"

// A filter and a custom ranking function fused into bitonic top-k (Shanbhag, Pirk, Madden, SIGMOD 2018, section 5), so
// that neither the rows that pass nor their keys are ever written to global memory.
//
// A source is a type, copied to the device, with
//   __device__ bool operator()(std::size_t row, Key& key) const;
// which says whether a row takes part and, if it does, gives its key.
namespace skyrank::kernels::cuda::topk::network {

inline constexpr int kRowsOfThread = 4;  ///< rows that a thread of FusedSortReducer looks at between two barriers

/// The elements of a block that wait for the network, in shared memory, and how many there are.
template <class Element>
struct WaitingElements {
  Element* shared;
  unsigned* warps;  ///< room for a number of each warp
  unsigned count = 0;

  /// Appends the elements of those threads that have one, in the order of threads. All threads call this.
  template <int kCount>
  __device__ void append(const Plan& plan, const Element (&v)[kCount], unsigned taking) {
    const unsigned lane = threadIdx.x % 32;
    const unsigned warp = threadIdx.x / 32;
    unsigned of_warp = 0;
    unsigned places[kCount];  // among the warp's
#pragma unroll
    for (int j = 0; j < kCount; ++j) {
      const unsigned votes = __ballot_sync(0xffffffff, (taking >> j) & 1);
      places[j] = of_warp + static_cast<unsigned>(__popc(votes & ((1u << lane) - 1)));
      of_warp += static_cast<unsigned>(__popc(votes));
    }
    if (lane == 0) warps[warp] = of_warp;
    __syncthreads();
    unsigned before = count;
    for (unsigned other = 0; other < blockDim.x / 32; ++other) {
      before += other < warp ? warps[other] : 0;
      count += warps[other];
    }
#pragma unroll
    for (int j = 0; j < kCount; ++j) {
      if (((taking >> j) & 1) != 0) shared[padded(before + places[j], plan.padding_shift)] = v[j];
    }
    __syncthreads();
  }

  /// Keeps the k least, in ascending order at the front.
  template <int kElements>
  __device__ void reduce(const Plan& plan, unsigned k) {
    for (unsigned i = count + threadIdx.x; i < (1u << plan.tile_bits); i += blockDim.x) {
      shared[padded(i, plan.padding_shift)] = kNoElement<Element>;
    }
    __syncthreads();
    for (int pass = 0; pass < plan.pass_count; ++pass) {
      run_pass<kElements>(plan, plan.passes[pass], shared);
      __syncthreads();
    }
    count = count < k ? count : k;
  }
};

/// FusedSortReducer: the filter fills a buffer of a tile's size in shared memory; when it is full the network reduces
/// it. The k elements that are left stay there and wait for the next ones, so that a block writes only once.
template <int kElements, class E, class Source>
__global__ void __launch_bounds__(launch_bound<kElements, typename E::Element>())
    fused_sort_reducer(Source source, std::size_t n, E elements, const __grid_constant__ Plan plan, unsigned k,
                       typename E::Element* out) {
  using Element = typename E::Element;
  __shared__ unsigned warps[kMaxThreads / 32];
  WaitingElements<Element> waiting{dynamic_shared<Element>(), warps};
  const unsigned batch = kRowsOfThread * blockDim.x;
  for (std::size_t first = std::size_t{blockIdx.x} * batch; first < n; first += std::size_t{gridDim.x} * batch) {
    Element v[kRowsOfThread];
    unsigned taking = 0;
#pragma unroll
    for (int j = 0; j < kRowsOfThread; ++j) {
      const std::size_t row = first + j * blockDim.x + threadIdx.x;
      typename E::Key key{};
      const bool takes_part = row < n && source(row, key);
      v[j] = elements.of(key, row);
      taking |= (takes_part ? 1u : 0u) << j;
    }
    waiting.append(plan, v, taking);
    if (waiting.count + batch > (1u << plan.tile_bits)) waiting.template reduce<kElements>(plan, k);
  }
  waiting.template reduce<kElements>(plan, k);
  for (unsigned i = threadIdx.x; i < k; i += blockDim.x) {
    const Element none = kNoElement<Element>;
    out[std::size_t{blockIdx.x} * k + i] = i < waiting.count ? waiting.shared[padded(i, plan.padding_shift)] : none;
  }
}

/// Writes the k least elements of the rows of [0, n) that take part, 0 < k <= 2048, in ascending order, to `chosen`,
/// which has room for k; kNoElement where there are fewer. `elements.keys` is not looked at: the source gives the keys.
template <class E, class Source, class Element = typename E::Element>
void least_of_source(DeviceContext& device, const Source& source, std::size_t n, const E& elements, std::size_t k,
                     Element* chosen) {
  constexpr int kElementBits = 4;
  constexpr int kElements = 1 << kElementBits;
  const std::size_t tile_bytes = tile_bytes_within(device.properties().shared_bytes_per_block);
  const Sizes sizes = sizes_for(std::max(n, k + 1), k, sizeof(Element), kElementBits, tile_bytes);
  // The buffer is in shared memory already.
  const Switches from_buffer{.work_before_writing = false};
  const Operators operators{.sort = true, .merges = sizes.tile_bits - sizes.run_bits, .rebuild = true};
  const Plan plan = make_plan(sizes, operators, from_buffer);
  const auto kernel = fused_sort_reducer<kElements, E, Source>;
  const unsigned threads = 1u << (sizes.tile_bits - sizes.element_bits);
  const std::size_t shared_bytes = shared_elements(plan) * sizeof(Element);
  const std::size_t resident =
      resident_blocks(kernel, threads, shared_bytes) * static_cast<std::size_t>(device.properties().multiprocessors);
  const std::size_t blocks = std::min(blocks_for(n, std::size_t{1} << sizes.tile_bits), resident);
  auto left = device.allocate<Element>(blocks * k);
  launch("fused_sort_reducer", kernel, {.blocks = blocks, .threads = threads, .shared_bytes = shared_bytes},
         device.stream(), source, n, elements, plan, static_cast<unsigned>(k), left.data());
  const Sizes rest = sizes_for(std::max(left.size(), k + 1), k, sizeof(Element), kElementBits, tile_bytes);
  Reducers<Element>(device, rest, {}, k).least(Sequences<Element>{left.data(), left.size()}, chosen);
}

}  // namespace skyrank::kernels::cuda::topk::network
