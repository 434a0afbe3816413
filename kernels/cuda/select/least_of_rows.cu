#include "kernels/cuda/select/least_of_rows.hpp"

#include <algorithm>

#include "kernels/cuda/device/kernel/shared.cuh"
#include "kernels/cuda/device/launch.cuh"
#include "kernels/cuda/select/policy.hpp"
#include "kernels/cuda/select/row_groups.cuh"
#include "kernels/cuda/select/row_selection.cuh"
#include "kernels/cuda/select/row_threads.cuh"

// One wanted number of each row: blocks find that of each part, and a block a row the best of its parts. The least keys
// of a thread's groups come first, as for more wanted numbers; only threads that have the least of all look for its
// place, up to where they first find it, so that a row of equal numbers is not read again.

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
    selection.select(k, [&](unsigned rank, unsigned column) { answer.put(rows, i, rank, column); });
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

using OneShape = OnePolicy::Shape;
using OneThreads = RowThreads<OneShape::kThreads>;

/// The least key of each part and its column in the part.
template <class Key>
struct LeastOfParts {
  Key* keys;
  unsigned* columns;
};

template <class N>
__global__ void __launch_bounds__(OneShape::kThreads)
    find_least_of_parts(RowParts<typename N::Stored> rows, KeyOrder<typename N::Key> order,
                        LeastOfParts<typename N::Key> least) {
  using Groups = RowGroups<N, OneShape>;
  using Key = typename N::Key;
  __shared__ typename OneThreads::Shared shared;
  let_next_start();
  OneThreads threads(shared);
  const std::size_t part = blockIdx.x;
  Groups groups({rows.numbers + rows.begin(part), order}, static_cast<unsigned>(rows.size(part)));
  groups.find_least();
  Key key = groups.least(0);
#pragma unroll
  for (unsigned i = 1; i < Groups::kGroups; ++i) key = min(key, groups.least(i));
  key = threads.least(key);
  const unsigned column = threads.least(groups.first_of(key));
  if (threadIdx.x > 0) return;
  least.keys[part] = key;
  least.columns[part] = column;
}

template <class N>
__global__ void __launch_bounds__(OneShape::kThreads)
    write_least(RowParts<typename N::Stored> rows, LeastOfParts<typename N::Key> least,
                RowAnswer<typename N::Stored> answer) {
  using Key = typename N::Key;
  __shared__ typename OneThreads::Shared shared;
  OneThreads threads(shared);
  const std::size_t row = blockIdx.x;
  const std::size_t first = row * rows.parts;
  Key key = static_cast<Key>(~Key{0});
  std::size_t part = ~std::size_t{0};
  wait_for_previous();
  for (std::size_t i = threadIdx.x; i < rows.parts; i += OneShape::kThreads) {
    const Key of_part = least.keys[first + i];
    if (of_part < key || part == ~std::size_t{0}) {
      key = of_part;
      part = i;
    }
  }
  const Key best = threads.least(key);
  part = threads.least(key == best ? part : ~std::size_t{0});
  if (threadIdx.x > 0) return;
  const std::size_t column = rows.first_column(first + part) + least.columns[first + part];
  rows.parts = 1;
  answer.put(rows, row, 0, column);
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

template <class N>
void least_one(const RowParts<typename N::Stored>& rows, const KeyOrder<typename N::Key>& order,
               const RowAnswer<typename N::Stored>& answer, Workspace& workspace, const DeviceStream& device) {
  const LeastOfParts<typename N::Key> least{workspace.take<typename N::Key>(rows.count()),
                                            workspace.take<unsigned>(rows.count())};
  if (workspace.counts()) return;
  launch("find_least_of_parts", find_least_of_parts<N>, {.blocks = rows.count(), .threads = OneShape::kThreads},
         device.stream, rows, order, least);
  launch("write_least", write_least<N>,
         {.blocks = rows.rows, .threads = OneShape::kThreads, .overlaps = device.properties.overlaps_launches},
         device.stream, rows, least, answer);
}

#define SKYRANK_INSTANTIATE(...)                                                                                     \
  template void least_of_rows<__VA_ARGS__>(const RowParts<__VA_ARGS__::Stored>&, const KeyOrder<__VA_ARGS__::Key>&,  \
                                           std::size_t, const RowAnswer<__VA_ARGS__::Stored>&, const DeviceStream&); \
  template void least_one<__VA_ARGS__>(const RowParts<__VA_ARGS__::Stored>&, const KeyOrder<__VA_ARGS__::Key>&,      \
                                       const RowAnswer<__VA_ARGS__::Stored>&, Workspace&, const DeviceStream&);
SKYRANK_FOR_ALL_NUMBERS(SKYRANK_INSTANTIATE)
#undef SKYRANK_INSTANTIATE

}  // namespace skyrank::kernels::cuda::select
