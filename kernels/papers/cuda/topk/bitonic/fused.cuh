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
//   template <int kCount>
//   __device__ unsigned look(const SpacedRows& rows, Key (&keys)[kCount]) const;
// which returns a bit for each of the rows that takes part, and sets its key.
namespace skyrank::kernels::cuda::topk::network {

inline constexpr int kRowsOfThread = 4;  ///< rows that a thread of FusedSortReducer looks at between two barriers

/// Rows of a thread, `stride` apart; those from `end` on do not exist.
struct SpacedRows {
  std::size_t first;
  std::size_t stride;
  std::size_t end;

  __device__ std::size_t operator[](int i) const { return first + i * stride; }
  __device__ bool has(int i) const { return (*this)[i] < end; }
};

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
      const unsigned votes = __ballot_sync(0xffffffff, static_cast<int>((taking >> j) & 1));
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
/// it. The k elements that are left stay there and wait for the next ones, so that a block writes only once. Ours: once
/// there are k, only elements below the greatest of them are appended, so that hardly any reductions follow. Adds the
/// rows that take part to `taken`.
template <int kElements, class E, class Source>
__global__ void __launch_bounds__(launch_bound<kElements, typename E::Element>())
    fused_sort_reducer(const __grid_constant__ Source source, std::size_t n, E elements,
                       const __grid_constant__ Plan plan, unsigned k, typename E::Element* out,
                       unsigned long long* taken) {
  using Element = typename E::Element;
  __shared__ unsigned warps[kMaxThreads / 32];
  WaitingElements<Element> waiting{dynamic_shared<Element>(), warps};
  const unsigned batch = kRowsOfThread * blockDim.x;
  Element bound = kNoElement<Element>;
  unsigned long long mine = 0;
  for (std::size_t first = std::size_t{blockIdx.x} * batch; first < n; first += std::size_t{gridDim.x} * batch) {
    const SpacedRows rows{first + threadIdx.x, blockDim.x, n};
    typename E::Key keys[kRowsOfThread] = {};
    const unsigned taking = source.look(rows, keys);
    mine += static_cast<unsigned>(__popc(taking));
    Element v[kRowsOfThread];
    unsigned wanted = 0;
#pragma unroll
    for (int j = 0; j < kRowsOfThread; ++j) {
      v[j] = elements.of(keys[j], rows[j]);
      wanted |= (v[j] < bound ? taking : 0) & (1u << j);
    }
    if (__syncthreads_or(static_cast<int>(wanted)) == 0) continue;
    waiting.append(plan, v, wanted);
    if (waiting.count + batch <= (1u << plan.tile_bits)) continue;
    waiting.template reduce<kElements>(plan, k);
    if (waiting.count == k) bound = waiting.shared[padded(k - 1, plan.padding_shift)];
  }
  waiting.template reduce<kElements>(plan, k);
  for (unsigned i = threadIdx.x; i < k; i += blockDim.x) {
    const Element none = kNoElement<Element>;
    out[std::size_t{blockIdx.x} * k + i] = i < waiting.count ? waiting.shared[padded(i, plan.padding_shift)] : none;
  }
  for (int distance = 16; distance > 0; distance /= 2) mine += __shfl_xor_sync(0xffffffff, mine, distance);
  if (threadIdx.x % 32 == 0 && mine > 0) atomicAdd(taken, mine);
}

/// Writes the k least elements of the rows of [0, n) that take part, 0 < k <= 2048, in ascending order, to `chosen`,
/// which has room for k; kNoElement where there are fewer. Adds to `taken`, in device memory, how many take part.
/// `elements.keys` is not looked at, because the source gives the keys.
template <class E, class Source, class Element = typename E::Element>
Work least_of_source(DeviceContext& device, const Source& source, std::size_t n, const E& elements, std::size_t k,
                     Element* chosen, unsigned long long* taken) {
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
  const std::size_t resident = resident_blocks(kernel, threads, shared_bytes) * device.properties().multiprocessors;
  const std::size_t blocks = std::min(blocks_for(n, std::size_t{1} << sizes.tile_bits), resident);
  auto left = device.allocate<Element>(blocks * k);
  launch("fused_sort_reducer", kernel, {.blocks = blocks, .threads = threads, .shared_bytes = shared_bytes},
         device.stream(), source, n, elements, plan, static_cast<unsigned>(k), left.data(), taken);
  const Sizes rest = sizes_for(std::max(left.size(), k + 1), k, sizeof(Element), kElementBits, tile_bytes);
  Work work = Reducers<Element>(device, rest, {}, k).least(Sequences<Element>{left.data(), left.size()}, chosen);
  work.bytes_written += left.bytes();
  return work;
}

}  // namespace skyrank::kernels::cuda::topk::network
