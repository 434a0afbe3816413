#include <algorithm>
#include <type_traits>
#include <utility>

#include "kernels/cuda/device/kernel/scan.cuh"
#include "kernels/cuda/device/kernel/search.cuh"
#include "kernels/cuda/device/launch.cuh"
#include "kernels/cuda/skyline/chunk.cuh"
#include "kernels/cuda/skyline/grid.cuh"
#include "kernels/cuda/skyline/policy.hpp"
#include "kernels/cuda/skyline/ranks.cuh"

// SkyAlign (Bøgh et al., PVLDB 2015, Algorithm 1). Rows lie in the cells of a grid of medians, sorted by (population of
// the median mask, that mask). Phase l compares every row that is left with those of level l, that is of population l:
// a dominating row's median mask is a subset (equations 1 to 3), and where the masks do not tell, the quartile masks
// must not speak against it (equations 4 and 5). Then dominated rows go, those of level l are the skyline's, and the
// others move together.
//
// A warp's 32 rows are neighbours, so of one cell or of few. It looks at 32 cells at a time, skips those that are no
// subset of all its rows' masks together, and walks the rows of the others: a batch of quartile masks, loaded for all
// its rows at once and tested by 32 rows without a branch, leaves a word of hits for each row, which alone lead to
// dominance tests of its own.
//
// A row that is found dominated is a candidate no longer, as in the authors' code (skycube-templates, skyAlign.cuh):
// what dominates it is in the same level and dominates all that it does. Its quartile mask becomes one that no mask
// test allows (of 32 and 64 columns none is left to be that), in plain memory, so that looking costs nothing. Whether
// others see it in time decides what is counted, never what is found.
namespace skyrank::kernels::cuda::skyline {
namespace {

using Policy = SkyAlignPolicy;
constexpr unsigned kThreads = Policy::kThreads;

struct Levels {
  int first;
  int end;
};

/// The arguments that all phases share, and those of one phase.
template <class Key, class Mask>
struct Phase {
  GridRows<Key, Mask> rows;
  GridCells<Mask> cells;
  const std::uint32_t* starts;      ///< starts of the cells' rows, and the end
  const std::uint32_t* count;       ///< number of the rows
  const std::uint32_t* warp_first;  ///< first warp of each cell, and the end, where a warp has rows of one cell only
  std::uint32_t* boundary;          ///< set to the first row above the levels
  std::uint32_t* dominated;         ///< a bit for each row; zeros before
  std::uint32_t* task;              ///< the next one; 0 before
  TestCounters* counters;
  Levels levels;
  int stride;
  bool quartiles;             ///< true if quartile masks are tested
  std::uint32_t most_slices;  ///< slices of a level; 0: as many as keep the device busy
  Mask marker;                ///< the bit by which rows that the phase has found dominated are marked, or 0: not at all
};

/// Rows [begin, end).
struct RowRange {
  std::uint32_t begin;
  std::uint32_t end;
};

/// The last of [begin, end) whose entry in an ascending array is at most `value`; that of `begin` is.
__device__ std::uint32_t last_at_most(const std::uint32_t* ascending, std::uint32_t begin, std::uint32_t end,
                                      std::uint32_t value) {
  return first_where(begin + 1, end, [=](std::uint32_t i) { return ascending[i] > value; }) - 1;
}

/// The tasks of a phase: each 32 rows against each slice of the levels' rows.
template <class Key, class Mask>
class Tasks {
 public:
  __device__ Tasks(const Phase<Key, Mask>& phase, RowRange level) : phase_(phase), level_(level) {
    const std::uint32_t rows = level.end - level.begin;
    groups_ = phase.warp_first != nullptr ? phase.warp_first[*phase.cells.count] : (*phase.count + 31) / 32;
    const std::uint32_t busy = max(1u, min(Policy::kTasks / max(1u, groups_), rows / Policy::kSliceRows));
    const std::uint32_t slices = phase.most_slices > 0 ? min(busy, phase.most_slices) : busy;
    length_ = ((rows + slices - 1) / slices + 31) / 32 * 32;
    count_ = groups_ * ((rows + length_ - 1) / length_);
  }

  /// The next task that nobody has taken, the same for all of a warp; or one past the last.
  __device__ std::uint32_t take() const {
    std::uint32_t task = 0;
    if (threadIdx.x % 32 == 0) task = atomicAdd(phase_.task, 1u);
    return __shfl_sync(~0u, task, 0);
  }
  __device__ std::uint32_t count() const { return count_; }

  /// At most 32 rows, of one cell where warps are to have no others. Those of the highest populations, which have the
  /// most to do, come first.
  __device__ RowRange rows(std::uint32_t task) const {
    const std::uint32_t group = groups_ - 1 - task % groups_;
    if (phase_.warp_first == nullptr) return {group * 32, min(group * 32 + 32, *phase_.count)};
    const std::uint32_t cell = last_at_most(phase_.warp_first, 0, *phase_.cells.count, group);
    const std::uint32_t begin = phase_.starts[cell] + 32 * (group - phase_.warp_first[cell]);
    return {begin, min(begin + 32, phase_.starts[cell + 1])};
  }

  __device__ RowRange slice(std::uint32_t task) const {
    const std::uint32_t begin = level_.begin + task / groups_ * length_;
    return {begin, min(begin + length_, level_.end)};
  }

 private:
  const Phase<Key, Mask>& phase_;
  RowRange level_;
  std::uint32_t groups_;  ///< groups of 32 rows
  std::uint32_t length_;  ///< rows of a slice
  std::uint32_t count_;
};

__device__ std::uint32_t any_of_warp(std::uint32_t mask) { return __reduce_or_sync(~0u, mask); }
__device__ std::uint64_t any_of_warp(std::uint64_t mask) {
  const std::uint64_t high = __reduce_or_sync(~0u, static_cast<std::uint32_t>(mask >> 32));
  return high << 32 | __reduce_or_sync(~0u, static_cast<std::uint32_t>(mask));
}

__device__ void add_of_warp(unsigned long long* total, unsigned long long count) {
  for (int distance = 16; distance > 0; distance /= 2) count += __shfl_xor_sync(~0u, count, distance);
  if (threadIdx.x % 32 == 0 && count > 0) atomicAdd(total, count);
}

/// The masks that one load brings.
template <class Mask, unsigned kMasks>
struct WideMasks {
  Mask masks[kMasks];
};

/// Bit i: mask i has no forbidden bit. The masks are aligned to their size together, 8 or 16 bytes.
template <unsigned kMasks, class Mask>
__device__ std::uint32_t allowed(const Mask* masks, Mask forbidden) {
  using Load = std::conditional_t<kMasks * sizeof(Mask) == 16, uint4, uint2>;
  // Masks may be marked meanwhile. An older one that the first-level cache still has is as right.
  const Load loaded = __ldca(reinterpret_cast<const Load*>(masks));
  WideMasks<Mask, kMasks> wide;
  static_assert(sizeof(wide) == sizeof(loaded));
  __builtin_memcpy(&wide, &loaded, sizeof(loaded));
  std::uint32_t hits = 0;
#pragma unroll
  for (unsigned i = 0; i < kMasks; ++i) {
    if ((wide.masks[i] & forbidden) == 0) hits |= 1u << i;
  }
  return hits;
}

/// Bit i: mask i has no forbidden bit, for the masks before `end` and perhaps some more of a batch. `masks` are aligned
/// to 16 bytes.
template <std::uint32_t kSize, class Mask>
__device__ std::uint32_t allowed_of_batch(const Mask* masks, std::uint32_t end, Mask forbidden) {
  constexpr unsigned kWide = 16 / sizeof(Mask);
  constexpr unsigned kStep = kSize < kWide ? kSize : kWide;
  std::uint32_t hits = 0;
  if (kSize == kStep || end >= kSize) {
#pragma unroll
    for (unsigned i = 0; i < kSize; i += kStep) hits |= allowed<kStep>(masks + i, forbidden) << i;
  } else {
#pragma unroll 1
    for (unsigned i = 0; i < end; i += kStep) hits |= allowed<kStep>(masks + i, forbidden) << i;
  }
  return hits;
}

/// The first `count` bits, of 32.
__device__ std::uint32_t first_bits(std::uint32_t count) { return count >= 32 ? ~0u : (1u << count) - 1; }

/// One thread's row, and whether it is known to be dominated.
template <class Key, class Mask, int kDims, bool kCount, std::uint32_t kSize>
class Search {
 public:
  __device__ Search(const Phase<Key, Mask>& phase, std::uint32_t row, bool there)
      : phase_(phase), row_(row), alive_(there && !settled()), median_(alive_ ? phase.rows.median[row] : Mask{0}) {}

  __device__ Mask median() const { return median_; }
  __device__ bool alive() const { return alive_; }
  __device__ bool any_alive() const { return __any_sync(~0u, static_cast<int>(alive_)) != 0; }

  /// Before the first call of `cell`.
  __device__ void load() {
    const std::uint32_t row = alive_ ? row_ : 0;
    quartile_ = __ldcg(phase_.rows.quartile + row);
    if ((quartile_ & phase_.marker) != 0) alive_ = false;
    own_.load(phase_.rows.keys + std::size_t{row} * static_cast<unsigned>(phase_.stride), phase_.stride);
  }

  /// Looks among the rows of a range, which are of the cell `mask`, for one that dominates this one. All threads of the
  /// warp call it.
  __device__ void cell(Mask mask, RowRange range) {
    bool open = alive_ && (mask & static_cast<Mask>(~median_)) == 0;
    const auto forbidden =
        static_cast<Mask>(((mask | static_cast<Mask>(~median_)) & static_cast<Mask>(~quartile_)) | phase_.marker);
    for (std::uint32_t base = range.begin / 4 * 4; base < range.end; base += kSize) {
      if (++batches_ % (Policy::kPatience * Policy::kBatch / kSize) == 0 && open && settled()) alive_ = open = false;
      if (!__any_sync(~0u, static_cast<int>(open))) return;
      std::uint32_t inside = first_bits(min(kSize, range.end - base));
      if (base < range.begin) inside &= ~0u << (range.begin - base);
      std::uint32_t hits = inside;
      if (phase_.quartiles) hits &= allowed_of_batch<kSize>(phase_.rows.quartile + base, range.end - base, forbidden);
      if (!open) hits = 0;
      const std::uint32_t found = first_dominating(hits, base, mask == median_);
      if constexpr (kCount) {
        if (open && phase_.quartiles) {
          mask_tests_ += static_cast<std::uint32_t>(__popc(found < 32 ? inside & first_bits(found + 1) : inside));
        }
      }
      if (found < 32) {
        settle();
        alive_ = open = false;
      }
    }
  }

  /// Counts the tests of this row's mask with those of cells, each lane's its own, whose population is lower; the
  /// warp's rows share them. `filled`: the cells that have rows; `met`: how many of the lanes' cells the row came to.
  /// All threads of the warp call it.
  __device__ void count_cells(std::uint32_t filled, Mask mask, std::uint32_t met) {
    const int own = __popcll(median_);
    const int population = __popcll(mask);
    for (; filled != 0; filled &= filled - 1) {
      const auto lane = static_cast<unsigned>(__ffs(static_cast<int>(filled)) - 1);
      if (__shfl_sync(~0u, population, static_cast<int>(lane)) < own && lane < met) ++cell_tests_;
    }
  }

  /// Adds what was counted to the run's work. All threads of the warp call it.
  __device__ void tell() const {
    if constexpr (kCount) {
      add_of_warp(&phase_.counters->cell_tests, cell_tests_);
      add_of_warp(&phase_.counters->dominance_tests, dominance_tests_);
      add_of_warp(&phase_.counters->mask_tests, mask_tests_);
    }
  }

 private:
  __device__ bool settled() const {
    return (*static_cast<const volatile std::uint32_t*>(phase_.dominated + row_ / 32) >> (row_ % 32) & 1u) != 0;
  }

  __device__ void settle() const {
    atomicOr(phase_.dominated + row_ / 32, 1u << (row_ % 32));
    if (phase_.marker != 0) phase_.rows.quartile[row_] = phase_.marker;
  }

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
  std::uint32_t row_;
  bool alive_;
  Mask median_;
  Mask quartile_ = 0;
  OwnRow<Key, kDims> own_;
  unsigned batches_ = 0;
  unsigned long long dominance_tests_ = 0;
  unsigned long long mask_tests_ = 0;
  unsigned long long cell_tests_ = 0;
};

/// The tests of one task: the rows of a warp against a slice of the rows of cells [first_cell, end_cell).
template <class Key, class Mask, int kDims, bool kCount, std::uint32_t kSize>
__device__ void compare_task(const Phase<Key, Mask>& phase, RowRange rows, RowRange slice, std::uint32_t first_cell,
                             std::uint32_t end_cell) {
  const unsigned lane = threadIdx.x % 32;
  const std::uint32_t row = rows.begin + lane;
  Search<Key, Mask, kDims, kCount, kSize> search(phase, min(row, rows.end - 1), row < rows.end);
  if (!search.any_alive()) return;
  const Mask together = any_of_warp(search.median());
  bool loaded = false;
  for (std::uint32_t group = last_at_most(phase.starts, first_cell, end_cell, slice.begin);
       group < end_cell && phase.starts[group] < slice.end; group += 32) {
    const std::uint32_t cell = min(group + lane, end_cell - 1);
    const Mask mask = phase.cells.masks[cell];
    const bool filled =
        group + lane < end_cell && max(phase.starts[cell], slice.begin) < min(phase.starts[cell + 1], slice.end);
    const bool open = filled && (mask & static_cast<Mask>(~together)) == 0;
    const std::uint32_t open_cells = __ballot_sync(~0u, static_cast<int>(open));
    std::uint32_t met = search.alive() ? 32 : 0;
    if (open_cells != 0) {
      if (!loaded) search.load();
      loaded = true;
      if (!search.alive()) met = 0;
      for (std::uint32_t left = open_cells; left != 0; left &= left - 1) {
        const auto place = static_cast<std::uint32_t>(__ffs(static_cast<int>(left)) - 1);
        const std::uint32_t next = group + place;
        search.cell(phase.cells.masks[next],
                    {max(phase.starts[next], slice.begin), min(phase.starts[next + 1], slice.end)});
        if (met == 32 && !search.alive()) met = place + 1;
      }
    }
    if constexpr (kCount) search.count_cells(__ballot_sync(~0u, static_cast<int>(filled)), mask, met);
    if (open_cells != 0 && !search.any_alive()) break;
  }
  search.tell();
}

template <class Key, class Mask, int kDims, bool kCount, std::uint32_t kSize>
__global__ void __launch_bounds__(kThreads) compare(const __grid_constant__ Phase<Key, Mask> phase) {
  const std::uint32_t first_cell = phase.cells.level_first[phase.levels.first];
  const std::uint32_t end_cell = phase.cells.level_first[phase.levels.end];
  const RowRange level{phase.starts[first_cell], phase.starts[end_cell]};
  if (blockIdx.x == 0 && threadIdx.x == 0) *phase.boundary = level.end;
  if (level.begin >= level.end) return;
  const Tasks<Key, Mask> tasks(phase, level);
  for (std::uint32_t task = tasks.take(); task < tasks.count(); task = tasks.take()) {
    compare_task<Key, Mask, kDims, kCount, kSize>(phase, tasks.rows(task), tasks.slice(task), first_cell, end_cell);
  }
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
    const std::uint32_t before = sum_before<1024>(warps, all);
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
template <class Key, class Mask, bool kCount, std::uint32_t kSize>
Compare<Key, Mask> compare_for(int stride) {
  if constexpr (sizeof(Key) == 4 && sizeof(Mask) == 4) {
    switch (stride) {
      case 4: return compare<Key, Mask, 4, kCount, kSize>;
      case 8: return compare<Key, Mask, 8, kCount, kSize>;
      case 12: return compare<Key, Mask, 12, kCount, kSize>;
      case 16: return compare<Key, Mask, 16, kCount, kSize>;
      default: break;
    }
  }
  return compare<Key, Mask, 0, kCount, kSize>;
}

template <class Key, class Mask, std::uint32_t kSize>
Compare<Key, Mask> compare_for(const SkylineRun& run, int stride) {
  return run.counts() ? compare_for<Key, Mask, true, kSize>(stride) : compare_for<Key, Mask, false, kSize>(stride);
}

/// How a phase is compared.
template <class Key, class Mask>
struct Plan {
  Compare<Key, Mask> kernel;
  std::size_t resident;       ///< blocks that the device holds
  std::uint32_t most_slices;  ///< the value of Phase
};

/// The plan of a phase of one level, or of all (-1), where the prefilter has left `n` rows, and `marks` says whether
/// those found dominated are marked. How many tests that spares hangs on how far others have come meanwhile, and the
/// authors' threads walk a level from its first row to its last, each row of it after the other. Level 0 dominates most
/// of the rest, and where that is little, all of it is compared at once: one slice in short batches keeps the pace of
/// what settles its rows.
template <class Key, class Mask>
Plan<Key, Mask> plan_phase(const SkylineRun& run, std::uint32_t n, int d, int level, bool marks) {
  const int stride = padded_dims<Key>(d);
  const bool keep_pace = marks && level == 0 && n <= Policy::kFewRows;
  const auto kernel = keep_pace ? compare_for<Key, Mask, Policy::kShortBatch>(run, stride)
                                : compare_for<Key, Mask, Policy::kBatch>(run, stride);
  const std::uint32_t fit = keep_pace ? 1 : marks && level >= 0 && d <= Policy::kFewDims ? 2 : 0;
  const auto asked = static_cast<std::uint32_t>(run.parameters["slices"]);
  return {.kernel = kernel,
          .resident = resident_blocks(kernel, kThreads) * run.device.properties().multiprocessors,
          .most_slices = asked > 0 ? asked : fit};
}

/// A bit that no mask of d columns has, or 0.
template <class Mask>
Mask spare_bit(int d) {
  constexpr int kBits = 8 * static_cast<int>(sizeof(Mask));
  return d < kBits ? Mask{1} << (kBits - 1) : Mask{0};
}

/// The phases over the rows that the prefilter has left, and their memory.
template <class Key, class Mask>
class Phases {
 public:
  Phases(SkylineRun& run, const KeyTable<Key>& table, RowList list)
      : run_(run),
        d_(table.d),
        n_(list.count),
        steps_(run.parameters["sync"] != 0 ? table.d + 1 : 1),
        padded_(run.parameters["padded"] != 0),
        grid_(make_grid<Key, Mask>(run, table, std::move(list))),
        other_rows_(run, n_, padded_dims<Key>(d_)),
        other_starts_(run.allocate<std::uint32_t>(grid_.starts.size())),
        warp_first_(run.allocate<std::uint32_t>(padded_ ? grid_.starts.size() : 0)),
        bits_(run.allocate<std::uint32_t>(3 * words_for_ranks(n_))),
        counts_(run.allocate<std::uint32_t>(2 * static_cast<std::size_t>(steps_) + 2)) {}

  /// Marks the skyline's rows.
  void find(std::uint32_t* members) {
    clear();
    Phase<Key, Mask> phase = first_phase();
    GridRows<Key, Mask> to = other_rows_.view();
    std::uint32_t* from_starts = grid_.starts.data();
    std::uint32_t* to_starts = other_starts_.data();
    const bool marks = phase.marker != 0;
    const auto first = plan_phase<Key, Mask>(run_, n_, d_, steps_ > 1 ? 0 : -1, marks);
    const auto other = plan_phase<Key, Mask>(run_, n_, d_, steps_ > 1 ? 1 : -1, marks);
    for (int step = 0; step < steps_; ++step) {
      if (steps_ > 1) phase.levels = {step, step + 1};
      compare_rows(phase, step == 0 ? first : other);
      remove_dominated(phase, step, to, to_starts, members);
      std::swap(phase.rows, to);
      std::swap(from_starts, to_starts);
      phase.starts = from_starts;
      ++phase.count;
      ++phase.task;
      run_.end_stage(steps_ > 1 ? "phase " + std::to_string(step) : "phases", phase.count);
      if (n_ >= Policy::kManyRows) run_.pace();
    }
  }

 private:
  std::uint32_t* dominated() const { return bits_.data(); }
  std::uint32_t* boundary() const { return counts_.data() + steps_ + 1; }

  void clear() const {
    SKYRANK_CUDA_CALL(cudaMemsetAsync(dominated(), 0, words_for_ranks(n_) * sizeof(std::uint32_t), run_.stream()));
    SKYRANK_CUDA_CALL(cudaMemsetAsync(counts_.data(), 0, counts_.bytes(), run_.stream()));
    SKYRANK_CUDA_CALL(cudaMemcpyAsync(counts_.data(), &n_, sizeof(n_), cudaMemcpyHostToDevice, run_.stream()));
  }

  Phase<Key, Mask> first_phase() const {
    const bool quartiles = run_.parameters["quartiles"] != 0;
    const bool live = quartiles && run_.parameters["live"] != 0;
    return {.rows = grid_.rows.view(),
            .cells = grid_.cells(),
            .starts = grid_.starts.data(),
            .count = counts_.data(),
            .warp_first = padded_ ? warp_first_.data() : nullptr,
            .boundary = boundary(),
            .dominated = dominated(),
            .task = boundary() + 1,
            .counters = run_.counters(),
            .levels = {0, d_ + 1},
            .stride = padded_dims<Key>(d_),
            .quartiles = quartiles,
            .most_slices = 0,
            .marker = live ? spare_bit<Mask>(d_) : Mask{0}};
  }

  void compare_rows(Phase<Key, Mask>& phase, const Plan<Key, Mask>& plan) const {
    if (padded_) {
      launch("assign_warps", assign_warps, {.blocks = 1, .threads = 1024}, run_.stream(), phase.starts,
             phase.cells.count, warp_first_.data());
    }
    const std::size_t most_groups = n_ / 32 + 1 + (padded_ ? grid_.most_cells : 0);
    const std::size_t most_tasks = most_groups * (1 + n_ / Policy::kSliceRows);
    phase.most_slices = plan.most_slices;
    const std::size_t blocks = std::min(plan.resident, blocks_for(most_tasks, kThreads / 32));
    launch("compare", plan.kernel, {.blocks = blocks, .threads = kThreads}, run_.stream(), phase);
  }

  void remove_dominated(const Phase<Key, Mask>& phase, int step, const GridRows<Key, Mask>& to,
                        std::uint32_t* to_starts, std::uint32_t* members) const {
    std::uint32_t* const kept = dominated() + words_for_ranks(n_);
    std::uint32_t* const before = kept + words_for_ranks(n_);
    rank_bits({.words = dominated(), .zeros = true, .first = boundary(), .size = phase.count}, kept, before,
              counts_.data() + step + 1, run_.device);
    launch("repack", repack<Key, Mask>,
           {.blocks = blocks_for(std::max<std::size_t>(n_, grid_.most_cells + 1), kThreads), .threads = kThreads},
           run_.stream(), phase, Ranks{kept, before}, to, to_starts, members);
  }

  SkylineRun& run_;
  int d_;
  std::uint32_t n_;
  int steps_;
  bool padded_;
  CellGrid<Key, Mask> grid_;
  GridMemory<Key, Mask> other_rows_;
  Buffer<std::uint32_t> other_starts_;
  Buffer<std::uint32_t> warp_first_;  ///< first warps of padded cells
  Buffer<std::uint32_t> bits_;        ///< a bit for each row that is dominated, and the ranks of the others
  /// Rows at the beginning of each phase and after the last one, the boundary of a phase, each phase's next task.
  Buffer<std::uint32_t> counts_;
};

struct SkyAlign {
  template <class Key>
  static void find(SkylineRun& run, const KeyTable<Key>& table, std::uint32_t* members) {
    RowList list = prefilter(run, table);
    if (run.counts()) count_bytes<Key>(run, table, list.count);
    if (table.d <= 32)
      Phases<Key, std::uint32_t>(run, table, std::move(list)).find(members);
    else
      Phases<Key, std::uint64_t>(run, table, std::move(list)).find(members);
  }

 private:
  /// Counts the bytes of the passes over all keys: two of the prefilter, those of the sorts for quartiles and two
  /// before, masks, and the copy in cell order.
  template <class Key>
  static void count_bytes(SkylineRun& run, const KeyTable<Key>& table, std::uint64_t left) {
    constexpr std::uint64_t kDigits = sizeof(Key);  // of the sorts
    const std::uint64_t row = static_cast<std::uint64_t>(table.d) * sizeof(Key);
    run.count((2 * table.n + (kDigits + 4) * left) * row, left * row, left);
  }
};

constexpr Parameter kParameters[] = {
    {"sync", "0: no removal of dominated rows between the levels (the paper's NoSync)", 0, 1, 1},
    {"quartiles", "0: masks of the medians only (the paper's NoQuart)", 0, 1, 1},
    {"slices",
     "the most slices of a level that warps take apart; 0: as many as keep the device busy, but with live two up to 6 "
     "columns, and one of level 0 where at most 2^18 rows are left",
     0, 4096, 0},
    {"live",
     "1: rows that a phase has found dominated are tested no more for dominating others; not without quartiles, nor of "
     "32 or 64 columns",
     0, 1, 1},
    {"padded", "1: a warp has rows of one cell only (the paper's Padded)", 0, 1, 0},
};

}  // namespace

extern const SkylineAlgorithm skyalign;
const SkylineAlgorithm skyalign{
    .name = "cuda-skyalign",
    .summary = "quartile grid: masks settle most pairs of rows without a dominance test; in phases of mask population",
    .source =
        "Bøgh, Chester, Assent: Work-Efficient Parallel Skyline Computation for the GPU, PVLDB 8(9), 2015, Algorithm 1",
    .device = Device::cuda,
    .parameters = kParameters,
    .supports = supports_flat_pareto,
    .run = solve_skyline<SkyAlign>,
    .variants = {.resident = find_skyline<SkyAlign>},
};

}  // namespace skyrank::kernels::cuda::skyline
