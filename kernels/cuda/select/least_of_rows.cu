#include "kernels/cuda/select/least_of_rows.hpp"

#include <algorithm>

#include "kernels/cuda/device/kernel/shared.cuh"
#include "kernels/cuda/device/launch.cuh"
#include "kernels/cuda/select/policy.hpp"
#include "kernels/cuda/select/row_selection.cuh"

namespace skyrank::kernels::cuda::select {
namespace {

constexpr unsigned kThreads = RowPolicy::kBlockThreads;

template <class N, class Shape>
__global__ void __launch_bounds__(kThreads)
    select_from_rows(RowParts<typename N::Stored> rows, KeyOrder<typename N::Key> order, unsigned k,
                     RowAnswer<typename N::Stored> answer) {
  using Selection = RowSelection<N, Shape>;
  constexpr unsigned kRowsOfBlock = kThreads / Shape::kThreads;
  auto& shared = dynamic_shared<typename Selection::Shared>()[threadIdx.x / Shape::kThreads];
  const std::size_t stride = std::size_t{gridDim.x} * kRowsOfBlock;
  for (std::size_t i = std::size_t{blockIdx.x} * kRowsOfBlock + threadIdx.x / Shape::kThreads; i < rows.count();
       i += stride) {
    Selection selection({rows.numbers + rows.begin(i), order}, static_cast<unsigned>(rows.size(i)), shared);
    selection.select(k, [&](unsigned rank, unsigned column) { answer.put(rows, i, k, rank, column); });
  }
}

template <class N, class Shape>
void launch_selection(const RowParts<typename N::Stored>& rows, const KeyOrder<typename N::Key>& order, std::size_t k,
                      const RowAnswer<typename N::Stored>& answer, const DeviceStream& device) {
  using Shared = typename RowSelection<N, Shape>::Shared;
  constexpr std::size_t kRowsOfBlock = kThreads / Shape::kThreads;
  constexpr std::size_t kMaxBlocks = std::size_t{1} << 30;
  launch("select_from_rows", select_from_rows<N, Shape>,
         {.blocks = std::min(blocks_for(rows.count(), kRowsOfBlock), kMaxBlocks),
          .threads = kThreads,
          .shared_bytes = kRowsOfBlock * sizeof(Shared)},
         device.stream, rows, order, static_cast<unsigned>(k), answer);
}

}  // namespace

template <class N>
void least_of_rows(const RowParts<typename N::Stored>& rows, const KeyOrder<typename N::Key>& order, std::size_t k,
                   const RowAnswer<typename N::Stored>& answer, const DeviceStream& device) {
  const std::size_t bytes = rows.most_columns() * sizeof(typename N::Stored);
  const RowKernel kernel = RowPolicy::kernel_of(rows.count(), bytes, k, device.properties.multiprocessors);
  RowPolicy::with_shape(kernel,
                        [&]<class Shape>(Shape) { launch_selection<N, Shape>(rows, order, k, answer, device); });
}

#define SKYRANK_INSTANTIATE(...)                                                                                    \
  template void least_of_rows<__VA_ARGS__>(const RowParts<__VA_ARGS__::Stored>&, const KeyOrder<__VA_ARGS__::Key>&, \
                                           std::size_t, const RowAnswer<__VA_ARGS__::Stored>&, const DeviceStream&);
SKYRANK_FOR_ALL_NUMBERS(SKYRANK_INSTANTIATE)
#undef SKYRANK_INSTANTIATE

}  // namespace skyrank::kernels::cuda::select
