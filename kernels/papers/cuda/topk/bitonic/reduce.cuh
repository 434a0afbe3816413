#pragma once

#include "kernels/cuda/device/kernel/shared.cuh"
#include "kernels/cuda/device/launch.cuh"
#include "kernels/papers/cuda/topk/bitonic/reducers.cuh"

// The kernel of SortReducer and BitonicReducer. Included by the files that compile it for a source.
namespace skyrank::kernels::cuda::topk::network {

/// Each block does a plan on its tile: SortReducer and BitonicReducer (section 4.3, "merging operators") and, one by
/// one, the operators that they are made of.
template <int kCount, class Source>
__global__ void __launch_bounds__(launch_bound<kCount, typename Source::Element>())
    reduce(Source source, const __grid_constant__ Plan plan, typename Source::Element* out, std::size_t out_size) {
  using Element = typename Source::Element;
  auto* const shared = dynamic_shared<Element>();
  const std::size_t first = std::size_t{blockIdx.x} << plan.tile_bits;
  int pass = 0;
  if (plan.work_before_writing) {
    run_first<kCount>(plan, shared, [&](const Group& group, unsigned number, Element(&v)[kCount]) {
      source.load(first, plan, group, number, v);
    });
    pass = 1;
  } else {
    const unsigned tile = 1u << plan.tile_bits;
    for (unsigned i = threadIdx.x; i < tile; i += blockDim.x) {
      shared[padded(i, plan.padding_shift)] = source.at(first + i);
    }
  }
  __syncthreads();
  for (; pass < plan.pass_count; ++pass) {
    run_pass<kCount>(plan, plan.passes[pass], shared);
    __syncthreads();
  }
  const std::size_t place = std::size_t{blockIdx.x} << __popc(plan.live);
  if (place < out_size) write_kept(plan, shared, out + place, out_size - place);
}

template <int kCount, class Source>
void launch_with(const char* name, cudaStream_t stream, const Source& source, const Plan& plan,
                 typename Source::Element* out, std::size_t room) {
  const std::size_t tile = std::size_t{1} << plan.tile_bits;
  launch(name, reduce<kCount, Source>,
         {.blocks = blocks_for(source.n, tile),
          .threads = static_cast<unsigned>(tile / kCount),
          .shared_bytes = shared_elements(plan) * sizeof(typename Source::Element)},
         stream, source, plan, out, room);
}

template <class Source>
void launch_reduce(const char* name, cudaStream_t stream, const Source& source, const Plan& plan, int element_bits,
                   typename Source::Element* out, std::size_t room) {
  if (element_bits == 3) return launch_with<8>(name, stream, source, plan, out, room);
  if constexpr (most_element_bits(sizeof(typename Source::Element)) > 4) {
    if (element_bits == 5) return launch_with<32>(name, stream, source, plan, out, room);
    if (element_bits == 6) return launch_with<64>(name, stream, source, plan, out, room);
  }
  launch_with<16>(name, stream, source, plan, out, room);
}

}  // namespace skyrank::kernels::cuda::topk::network

/// Compiles the kernels for a source.
#define SKYRANK_INSTANTIATE_REDUCE(Source)                                             \
  template void skyrank::kernels::cuda::topk::network::launch_reduce(                  \
      const char*, cudaStream_t, const skyrank::kernels::cuda::topk::network::Source&, \
      const skyrank::kernels::cuda::topk::network::Plan&, int,                         \
      skyrank::kernels::cuda::topk::network::Source::Element*, std::size_t)
