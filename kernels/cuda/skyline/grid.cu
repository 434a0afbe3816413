#include "kernels/cuda/skyline/grid.cuh"

#include <algorithm>
#include <bit>
#include <utility>

#include "kernels/cuda/device/launch.cuh"
#include "kernels/cuda/device/sort_and_scan.hpp"
#include "kernels/cuda/skyline/chunk.cuh"
#include "kernels/cuda/skyline/quartiles.hpp"
#include "kernels/cuda/skyline/ranks.cuh"

namespace skyrank::kernels::cuda::skyline {
namespace {

/// How a median mask becomes a sort key: its population above its `mask_bits` highest bits. Masks of 58 bits and more
/// lose their lowest ones: rows of one level are then in an order in which equal masks need not be neighbours, so that
/// a mask may have several cells. With so many columns hardly any two rows share one.
struct CellOrder {
  int d;
  int population_bits;
  int mask_bits;

  explicit CellOrder(int dims)
      : d(dims),
        population_bits(static_cast<int>(std::bit_width(static_cast<unsigned>(dims)))),
        mask_bits(std::min(dims, 64 - population_bits)) {}

  int bits() const { return population_bits + mask_bits; }

  template <class Mask>
  __device__ std::uint64_t of(Mask mask) const {
    return static_cast<std::uint64_t>(population(mask)) << mask_bits | mask >> (d - mask_bits);
  }
};

template <class Key, class Mask>
__global__ void __launch_bounds__(kMapThreads)
    find_cells(const __grid_constant__ KeyTable<Key> table, const std::uint32_t* rows, std::uint32_t count,
               const Quartiles<Key>* quartiles, CellOrder order, std::uint64_t* keys) {
  const std::uint32_t i = blockIdx.x * kMapThreads + threadIdx.x;
  if (i >= count) return;
  const std::uint32_t row = rows[i];
  Mask median = 0;
  for (int c = 0; c < table.d; ++c) {
    median |= static_cast<Mask>(Mask{table.columns[c][row] > quartiles[c].of[1]} << c);
  }
  keys[i] = order.of(median);
}

/// Keys and masks of rows in their new order.
template <class Key, class Mask>
__global__ void __launch_bounds__(kMapThreads)
    gather(const __grid_constant__ KeyTable<Key> table, const std::uint32_t* rows, std::uint32_t count,
           const Quartiles<Key>* quartiles, GridRows<Key, Mask> to) {
  const std::uint32_t i = blockIdx.x * kMapThreads + threadIdx.x;
  if (i >= count) return;
  const std::uint32_t row = rows[i];
  Mask median = 0;
  Mask quartile = 0;
  copy_row(table, row, to.keys + std::size_t{i} * static_cast<unsigned>(padded_dims<Key>(table.d)),
           [&](int c, Key key) {
             const Quartiles<Key> at = quartiles[c];
             const bool upper = key > at.of[1];
             median |= static_cast<Mask>(Mask{upper} << c);
             quartile |= static_cast<Mask>(Mask{key > (upper ? at.of[2] : at.of[0])} << c);
           });
  to.rows[i] = row;
  to.median[i] = median;
  to.quartile[i] = quartile;
}

template <class Mask>
__global__ void __launch_bounds__(kMapThreads)
    mark_cells(const Mask* median, std::uint32_t count, std::uint32_t* firsts) {
  const std::uint32_t i = blockIdx.x * kMapThreads + threadIdx.x;
  const bool first = i < count && (i == 0 || median[i] != median[i - 1]);
  const std::uint32_t word = __ballot_sync(~0u, static_cast<int>(first));
  if (threadIdx.x % 32 == 0 && i < count) firsts[i / 32] = word;
}

/// Lists the masks of the cells and where their rows start. `level_first` has d + 2 entries.
template <class Mask>
__global__ void __launch_bounds__(kMapThreads)
    list_cells(const Mask* median, std::uint32_t count, int d, Ranks ranks, Mask* masks, std::uint32_t* starts,
               std::uint32_t* level_first) {
  const std::uint32_t i = blockIdx.x * kMapThreads + threadIdx.x;
  if (i > count) return;
  const bool end = i == count;
  if (!end && !ranks.keeps(i)) return;
  const std::uint32_t cell = ranks.of(i);
  if (!end) masks[cell] = median[i];
  starts[cell] = i;
  const int level = end ? d + 1 : population(median[i]);
  for (int lower = i == 0 ? 0 : population(median[i - 1]) + 1; lower <= level; ++lower) level_first[lower] = cell;
}

template <class Key, class Mask>
Buffer<std::uint32_t> in_order(SkylineRun& run, const KeyTable<Key>& table, RowList list,
                               const Quartiles<Key>* quartiles) {
  const CellOrder order(table.d);
  auto keys = run.allocate<std::uint64_t>(list.count);
  launch("find_cells", find_cells<Key, Mask>, one_each(list.count), run.stream(), table, list.rows.data(), list.count,
         quartiles, order, keys.data());
  run.end_stage("masks");
  sort_pairs(keys, list.rows, run.device, order.bits());
  run.end_stage("sort");
  return std::move(list.rows);
}

}  // namespace

template <class Key, class Mask>
CellGrid<Key, Mask> make_grid(SkylineRun& run, const KeyTable<Key>& table, RowList list) {
  const std::uint32_t count = list.count;
  const auto d = static_cast<std::size_t>(table.d);
  const auto quartiles = find_quartiles(run, table, list);
  const Buffer<std::uint32_t> rows = in_order<Key, Mask>(run, table, std::move(list), quartiles.data());
  const std::size_t most_cells = d < 31 ? std::min<std::size_t>(count, std::size_t{1} << d) : count;
  CellGrid<Key, Mask> grid{.rows = GridMemory<Key, Mask>(run, count, padded_dims<Key>(table.d)),
                           .masks = run.allocate<Mask>(most_cells),
                           .starts = run.allocate<std::uint32_t>(most_cells + 1),
                           .level_first = run.allocate<std::uint32_t>(d + 3),
                           .most_cells = most_cells};
  const GridRows<Key, Mask> view = grid.rows.view();
  const cuda::Grid blocks = one_each(count);
  launch("gather", gather<Key, Mask>, blocks, run.stream(), table, rows.data(), count, quartiles.data(), view);
  run.end_stage("gather");

  const std::size_t words = words_for_ranks(count);
  const auto bits = run.allocate<std::uint32_t>(2 * words + 1);
  std::uint32_t* const firsts = bits.data();
  std::uint32_t* const before = firsts + words;
  std::uint32_t* const size = before + words;
  SKYRANK_CUDA_CALL(cudaMemcpyAsync(size, &count, sizeof(count), cudaMemcpyHostToDevice, run.stream()));
  launch("mark_cells", mark_cells<Mask>, blocks, run.stream(), view.median, count, firsts);
  rank_bits({.words = firsts, .zeros = false, .first = nullptr, .size = size}, firsts, before,
            grid.level_first.data() + d + 2, run.device);
  launch("list_cells", list_cells<Mask>, one_each(count + std::size_t{1}), run.stream(), view.median, count, table.d,
         Ranks{firsts, before}, grid.masks.data(), grid.starts.data(), grid.level_first.data());
  run.end_stage("cells");
  return grid;
}

template CellGrid<std::uint32_t, std::uint32_t> make_grid(SkylineRun&, const KeyTable<std::uint32_t>&, RowList);
template CellGrid<std::uint32_t, std::uint64_t> make_grid(SkylineRun&, const KeyTable<std::uint32_t>&, RowList);
template CellGrid<std::uint64_t, std::uint32_t> make_grid(SkylineRun&, const KeyTable<std::uint64_t>&, RowList);
template CellGrid<std::uint64_t, std::uint64_t> make_grid(SkylineRun&, const KeyTable<std::uint64_t>&, RowList);

}  // namespace skyrank::kernels::cuda::skyline
