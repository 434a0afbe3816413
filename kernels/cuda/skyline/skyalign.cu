#include <algorithm>
#include <utility>

#include "kernels/cuda/device/block.cuh"
#include "kernels/cuda/device/launch.cuh"
#include "kernels/cuda/skyline/chunk.cuh"
#include "kernels/cuda/skyline/grid.cuh"
#include "kernels/cuda/skyline/ranks.cuh"

// SkyAlign (skyalign-vldb15, Algorithm 1). Rows lie in the cells of a grid of medians, sorted by (population of the
// median mask, that mask). Phase l compares every row that is left with those of level l, that is of population l: a
// dominating row's median mask is a subset (equations 1 to 3), and where the masks do not tell, the quartile masks must
// not speak against it (equations 4 and 5). Then dominated rows go, those of level l are the skyline's, and the others
// move together.
//
// A warp's 32 rows are neighbours, so of one cell or of few. It looks at 32 cells at a time, skips those that are no
// subset of all its rows' masks together, and walks the rows of the others: 32 quartile masks, loaded for all its rows
// at once and tested by 32 rows without a branch, leave a word of hits for each row, which alone lead to dominance
// tests of its own.
namespace skyrank::kernels::cuda::skyline {
namespace {

constexpr unsigned kThreads = 128;
constexpr std::uint32_t kBatch = 32;  ///< rows tested before any dominance test

/// Rows from which on a phase may take long enough for the host to wait for it.
constexpr std::uint32_t kManyRows = 1u << 17;

struct Levels {
  int first;
  int end;
};

/// What the phases share, and one phase's part.
template <class Key, class Mask>
struct Phase {
  GridRows<Key, Mask> rows;
  GridCells<Mask> cells;
  const std::uint32_t* starts;      ///< of the cells' rows, and the end
  const std::uint32_t* count;       ///< of the rows
  const std::uint32_t* warp_first;  ///< first warp of each cell, and the end, where a warp has rows of one cell only
  std::uint32_t* boundary;          ///< set to the first row above the levels
  std::uint32_t* dominated;         ///< a bit for each row; zeros before
  TestCounters* counters;
  Levels levels;
  int stride;
  bool quartiles;  ///< whether to test their masks
};

/// A warp's rows: [begin, begin + 32), those before `end`.
struct WarpRows {
  std::uint32_t begin;
  std::uint32_t end;
};

/// Warps of the last rows, which have the most to do, come first.
template <class Key, class Mask>
__device__ WarpRows rows_of_warp(const Phase<Key, Mask>& phase) {
  const std::uint32_t warp = blockIdx.x * (kThreads / 32) + threadIdx.x / 32;
  const std::uint32_t count = *phase.count;
  if (phase.warp_first == nullptr) {
    const std::uint32_t warps = (count + 31) / 32;
    if (warp >= warps) return {0, 0};
    return {(warps - 1 - warp) * 32, count};
  }
  std::uint32_t cell = 0;
  std::uint32_t end = *phase.cells.count;
  const std::uint32_t warps = phase.warp_first[end];
  if (warp >= warps) return {0, 0};
  const std::uint32_t place = warps - 1 - warp;
  while (end - cell > 1) {  // the last cell that begins at or before this warp
    const std::uint32_t middle = cell + (end - cell) / 2;
    if (phase.warp_first[middle] <= place)
      cell = middle;
    else
      end = middle;
  }
  return {phase.starts[cell] + 32 * (place - phase.warp_first[cell]), phase.starts[cell + 1]};
}

__device__ std::uint32_t any_of_warp(std::uint32_t mask) { return __reduce_or_sync(~0u, mask); }
__device__ std::uint64_t any_of_warp(std::uint64_t mask) {
  const std::uint64_t high = __reduce_or_sync(~0u, static_cast<std::uint32_t>(mask >> 32));
  return high << 32 | __reduce_or_sync(~0u, static_cast<std::uint32_t>(mask));
}

template <class Mask>
struct WideMasks {
  static constexpr unsigned kCount = 16 / sizeof(Mask);
  Mask masks[kCount];
};

/// Bit i: mask i of 16 bytes has no forbidden bit.
template <class Mask>
__device__ std::uint32_t allowed(const Mask* masks, Mask forbidden) {
  const uint4 loaded = __ldg(reinterpret_cast<const uint4*>(masks));
  WideMasks<Mask> wide;
  __builtin_memcpy(&wide, &loaded, sizeof(loaded));
  std::uint32_t hits = 0;
#pragma unroll
  for (unsigned i = 0; i < WideMasks<Mask>::kCount; ++i) {
    if ((wide.masks[i] & forbidden) == 0) hits |= 1u << i;
  }
  return hits;
}

/// Bit i: mask i has no forbidden bit, for the masks before `end` and perhaps some more of a batch of 32. `masks` are
/// aligned to 16 bytes.
template <class Mask>
__device__ std::uint32_t allowed_of_batch(const Mask* masks, std::uint32_t end, Mask forbidden) {
  constexpr unsigned kStep = WideMasks<Mask>::kCount;
  std::uint32_t hits = 0;
  if (end >= kBatch) {
#pragma unroll
    for (unsigned i = 0; i < kBatch; i += kStep) hits |= allowed(masks + i, forbidden) << i;
  } else {
#pragma unroll 1
    for (unsigned i = 0; i < end; i += kStep) hits |= allowed(masks + i, forbidden) << i;
  }
  return hits;
}

/// The first `count` bits, of 32.
__device__ std::uint32_t first_bits(std::uint32_t count) { return count >= 32 ? ~0u : (1u << count) - 1; }

/// One thread's row and what it has found out.
template <class Key, class Mask, int kDims, bool kCount>
class Search {
 public:
  __device__ Search(const Phase<Key, Mask>& phase, std::uint32_t row, bool alive)
      : phase_(phase),
        own_(phase.rows.keys + std::size_t{alive ? row : 0} * static_cast<unsigned>(phase.stride), phase.stride),
        median_(alive ? phase.rows.median[row] : Mask{0}),
        quartile_(alive ? phase.rows.quartile[row] : Mask{0}),
        alive_(alive) {}

  __device__ bool alive() const { return alive_; }
  __device__ Mask median() const { return median_; }

  /// Tests of median masks, each of a cell that has rows, by a row of a higher level.
  __device__ void count_cells(std::uint32_t cells) {
    if constexpr (kCount) {
      if (alive_) mask_tests_ += static_cast<std::uint32_t>(__popc(cells));
    }
  }

  /// Looks for a row in [begin, end), of the cell `mask`, that dominates this one. All threads of the warp call it.
  __device__ void cell(Mask mask, std::uint32_t begin, std::uint32_t end) {
    bool open = alive_ && (mask & static_cast<Mask>(~median_)) == 0;
    const auto forbidden = static_cast<Mask>((mask | static_cast<Mask>(~median_)) & static_cast<Mask>(~quartile_));
    for (std::uint32_t base = begin / 4 * 4; base < end; base += kBatch) {
      if (!__any_sync(~0u, static_cast<int>(open))) return;
      std::uint32_t in_cell = first_bits(end - base);
      if (base < begin) in_cell &= ~0u << (begin - base);
      std::uint32_t hits = in_cell;
      if (phase_.quartiles) hits &= allowed_of_batch(phase_.rows.quartile + base, end - base, forbidden);
      if (!open) hits = 0;
      const std::uint32_t found = first_dominating(hits, base, mask == median_);
      if constexpr (kCount) {
        if (open && phase_.quartiles) {
          mask_tests_ += static_cast<std::uint32_t>(__popc(found < 32 ? in_cell & first_bits(found + 1) : in_cell));
        }
      }
      if (found < 32) {
        alive_ = false;
        open = false;
      }
    }
  }

  __device__ void tell() const {
    if constexpr (kCount) {
      if (dominance_tests_ > 0) atomicAdd(&phase_.counters->dominance_tests, dominance_tests_);
      if (mask_tests_ > 0) atomicAdd(&phase_.counters->mask_tests, mask_tests_);
    }
  }

 private:
  /// The first of the hits that dominates this row, or 32.
  __device__ std::uint32_t first_dominating(std::uint32_t hits, std::uint32_t base, bool own_cell) {
    while (hits != 0) {
      const auto i = static_cast<std::uint32_t>(__ffs(static_cast<int>(hits)) - 1);
      hits &= hits - 1;
      const Key* const other = phase_.rows.keys + std::size_t{base + i} * static_cast<unsigned>(phase_.stride);
      if constexpr (kCount) ++dominance_tests_;
      // Rows of different cells are distinct.
      if (at_least_as_good(other, own_) && (!own_cell || differs(other, own_))) return i;
    }
    return 32;
  }

  const Phase<Key, Mask>& phase_;
  OwnRow<Key, kDims> own_;
  Mask median_;
  Mask quartile_;
  bool alive_;
  unsigned long long dominance_tests_ = 0;
  unsigned long long mask_tests_ = 0;
};

template <class Key, class Mask, int kDims, bool kCount>
__global__ void __launch_bounds__(kThreads) compare(const __grid_constant__ Phase<Key, Mask> phase) {
  const GridCells<Mask>& cells = phase.cells;
  const std::uint32_t first_cell = cells.level_first[phase.levels.first];
  if (blockIdx.x == 0 && threadIdx.x == 0) *phase.boundary = phase.starts[cells.level_first[phase.levels.end]];
  if (first_cell == cells.level_first[phase.levels.end]) return;
  const WarpRows warp = rows_of_warp(phase);
  if (warp.begin >= warp.end) return;
  const unsigned lane = threadIdx.x % 32;
  const std::uint32_t row = warp.begin + lane;
  const bool there = row < warp.end;
  Search<Key, Mask, kDims, kCount> search(phase, row, there);
  const Mask together = any_of_warp(search.median());
  const auto level = static_cast<unsigned>(population(search.median()));
  const auto highest = static_cast<int>(__reduce_max_sync(~0u, level));
  const std::uint32_t end_cell = cells.level_first[min(phase.levels.end, highest + 1)];
  for (std::uint32_t group = first_cell; group < end_cell; group += 32) {
    const std::uint32_t cell = group + lane;
    const bool filled = cell < end_cell && phase.starts[cell] < phase.starts[cell + 1];
    const bool open = filled && (cells.masks[cell] & static_cast<Mask>(~together)) == 0;
    std::uint32_t open_cells = __ballot_sync(~0u, static_cast<int>(open));
    if constexpr (kCount) {
      const std::uint32_t filled_cells = __ballot_sync(~0u, static_cast<int>(filled));
      const std::uint32_t below = cells.level_first[level];
      search.count_cells(below > group ? filled_cells & first_bits(below - group) : 0);
    }
    for (; open_cells != 0; open_cells &= open_cells - 1) {
      const std::uint32_t next = group + static_cast<std::uint32_t>(__ffs(static_cast<int>(open_cells)) - 1);
      search.cell(cells.masks[next], phase.starts[next], phase.starts[next + 1]);
    }
    if (!__any_sync(~0u, static_cast<int>(search.alive()))) break;
  }
  const std::uint32_t dominated = __ballot_sync(~0u, static_cast<int>(there && !search.alive()));
  if (lane == 0 && dominated != 0) {
    std::uint32_t* const word = phase.dominated + warp.begin / 32;
    const std::uint32_t shift = warp.begin % 32;
    atomicOr(word, dominated << shift);
    if (shift != 0 && dominated >> (32 - shift) != 0) atomicOr(word + 1, dominated >> (32 - shift));
  }
  search.tell();
}

/// The first warp of each cell, when each warp has rows of one cell only.
__global__ void __launch_bounds__(1024)
    assign_warps(const std::uint32_t* starts, const std::uint32_t* cells, std::uint32_t* warp_first) {
  const std::uint32_t count = *cells;
  std::uint32_t done = 0;
  for (std::uint32_t first = 0; first <= count; first += 1024) {
    const std::uint32_t cell = first + threadIdx.x;
    const std::uint32_t warps = cell < count ? (starts[cell + 1] - starts[cell] + 31) / 32 : 0;
    std::uint32_t all = 0;
    const std::uint32_t before = sum_before(warps, all);
    if (cell <= count) warp_first[cell] = done + before;
    done += all;
  }
}

/// Marks the rows of the levels as the skyline's, moves the others together, and zeroes `dominated`.
template <class Key, class Mask>
__global__ void __launch_bounds__(kThreads)
    repack(const __grid_constant__ Phase<Key, Mask> phase, Ranks ranks, GridRows<Key, Mask> to, std::uint32_t* starts,
           std::uint32_t* members) {
  const std::uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  const std::uint32_t count = *phase.count;
  if (i <= *phase.cells.count) starts[i] = ranks.of(phase.starts[i]);
  if (i / 32 * 32 >= count) return;
  const std::uint32_t dominated = phase.dominated[i / 32];
  __syncwarp();
  if (i % 32 == 0) phase.dominated[i / 32] = 0;
  if (i >= count || (dominated >> (i % 32) & 1u) != 0) return;
  const std::uint32_t row = phase.rows.rows[i];
  if (i < *phase.boundary) {
    atomicOr(members + row / 32, 1u << (row % 32));
    return;
  }
  const std::uint32_t place = ranks.of(i);
  to.rows[place] = row;
  to.median[place] = phase.rows.median[i];
  to.quartile[place] = phase.rows.quartile[i];
  const Key* const from = phase.rows.keys + std::size_t{i} * static_cast<unsigned>(phase.stride);
  Key* const keys = to.keys + std::size_t{place} * static_cast<unsigned>(phase.stride);
  for (int c = 0; c < phase.stride; c += kChunkKeys<Key>) store_chunk(keys + c, load_chunk(from + c));
}

template <class Key, class Mask>
using Compare = void (*)(Phase<Key, Mask>);

/// The kernel for keys of a length that is known to the compiler, where it is short.
template <class Key, class Mask, bool kCount>
Compare<Key, Mask> compare_for(int stride) {
  if constexpr (sizeof(Key) == 4 && sizeof(Mask) == 4) {
    switch (stride) {
      case 4: return compare<Key, Mask, 4, kCount>;
      case 8: return compare<Key, Mask, 8, kCount>;
      case 12: return compare<Key, Mask, 12, kCount>;
      case 16: return compare<Key, Mask, 16, kCount>;
      default: break;
    }
  }
  return compare<Key, Mask, 0, kCount>;
}

template <class Key, class Mask>
void run_phases(SkylineRun& run, const KeyTable<Key>& table, RowList list, std::uint32_t* members) {
  const std::uint32_t n = list.count;
  const bool padded = run.parameters["padded"] != 0;
  const int stride = padded_dims<Key>(table.d);
  const CellGrid<Key, Mask> grid = make_grid<Key, Mask>(run, table, std::move(list));
  const GridMemory<Key, Mask> other_rows(run, n, stride);
  const auto other_starts = run.allocate<std::uint32_t>(grid.starts.size());
  const auto warp_first = run.allocate<std::uint32_t>(padded ? grid.starts.size() : 0);
  const int steps = run.parameters["sync"] != 0 ? table.d + 1 : 1;

  const std::size_t words = words_for_ranks(n);
  const auto bits = run.allocate<std::uint32_t>(3 * words);
  std::uint32_t* const dominated = bits.data();
  const Ranks ranks{dominated + words, dominated + 2 * words};
  SKYRANK_CUDA_CALL(cudaMemsetAsync(dominated, 0, words * sizeof(std::uint32_t), run.stream()));
  // The number of rows at the beginning of each phase and after the last one, and a phase's boundary.
  const auto counts = run.allocate<std::uint32_t>(static_cast<std::size_t>(steps) + 2);
  std::uint32_t* const boundary = counts.data() + steps + 1;
  SKYRANK_CUDA_CALL(cudaMemcpyAsync(counts.data(), &n, sizeof(n), cudaMemcpyHostToDevice, run.stream()));

  Phase<Key, Mask> phase{.rows = grid.rows.view(),
                         .cells = grid.cells(),
                         .starts = grid.starts.data(),
                         .count = counts.data(),
                         .warp_first = padded ? warp_first.data() : nullptr,
                         .boundary = boundary,
                         .dominated = dominated,
                         .counters = run.counters(),
                         .levels = {0, table.d + 1},
                         .stride = stride,
                         .quartiles = run.parameters["quartiles"] != 0};
  GridRows<Key, Mask> to = other_rows.view();
  std::uint32_t* from_starts = grid.starts.data();
  std::uint32_t* to_starts = other_starts.data();
  const auto kernel = run.counts() ? compare_for<Key, Mask, true>(stride) : compare_for<Key, Mask, false>(stride);
  const std::size_t warps = n / 32 + 1 + (padded ? std::min<std::size_t>(grid.most_cells, n) : 0);
  for (int step = 0; step < steps; ++step) {
    if (steps > 1) phase.levels = {step, step + 1};
    if (padded) {
      launch("assign_warps", assign_warps, {.blocks = 1, .threads = 1024}, run.stream(), from_starts, phase.cells.count,
             warp_first.data());
    }
    launch("compare", kernel, {.blocks = blocks_for(warps, kThreads / 32), .threads = kThreads}, run.stream(), phase);
    rank_bits({.words = dominated, .zeros = true, .first = boundary, .size = phase.count}, dominated + words,
              dominated + 2 * words, counts.data() + step + 1, run.device);
    launch("repack", repack<Key, Mask>,
           {.blocks = blocks_for(std::max<std::size_t>(n, grid.most_cells + 1), kThreads), .threads = kThreads},
           run.stream(), phase, ranks, to, to_starts, members);
    std::swap(phase.rows, to);
    std::swap(from_starts, to_starts);
    phase.starts = from_starts;
    ++phase.count;
    run.end_stage(steps > 1 ? "phase " + std::to_string(step) : "phases", phase.count);
    if (n >= kManyRows) run.pace();
  }
}

struct SkyAlign {
  template <class Key>
  static void find(SkylineRun& run, const KeyTable<Key>& table, std::uint32_t* members) {
    RowList list = prefilter(run, table);
    if (run.counts()) count_bytes<Key>(run, table, list.count);
    if (table.d <= 32)
      run_phases<Key, std::uint32_t>(run, table, std::move(list), members);
    else
      run_phases<Key, std::uint64_t>(run, table, std::move(list), members);
  }

 private:
  /// Of the passes over all keys: two of the prefilter, those of the quartiles, masks, and the copy in cell order.
  template <class Key>
  static void count_bytes(SkylineRun& run, const KeyTable<Key>& table, std::uint64_t left) {
    constexpr std::uint64_t kDigits = sizeof(Key) == 4 ? 3 : 6;
    const std::uint64_t row = static_cast<std::uint64_t>(table.d) * sizeof(Key);
    run.count((2 * table.n + (kDigits + 2) * left) * row, left * row, left);
  }
};

constexpr Parameter kParameters[] = {
    {"sync", "0: no removal of dominated rows between the levels (the paper's NoSync)", 0, 1, 1},
    {"quartiles", "0: masks of the medians only (the paper's NoQuart)", 0, 1, 1},
    {"padded", "1: a warp has rows of one cell only (the paper's Padded)", 0, 1, 0},
};

}  // namespace

extern const SkylineAlgorithm skyalign;
const SkylineAlgorithm skyalign{
    .name = "cuda-skyalign",
    .summary = "quartile grid: masks settle most pairs of rows without a dominance test; in phases of mask population",
    .source = "skyalign-vldb15, Algorithm 1",
    .device = Device::cuda,
    .parameters = kParameters,
    .supports = supports_flat_pareto,
    .run = solve_skyline<SkyAlign>,
};

}  // namespace skyrank::kernels::cuda::skyline
