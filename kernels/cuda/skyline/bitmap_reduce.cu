#include "kernels/cuda/skyline/bitmap_reduce.cuh"

#include <algorithm>
#include <array>

#include "kernels/cuda/device/launch.cuh"

namespace skyrank::kernels::cuda::skyline::bitmap {
namespace {

constexpr unsigned kWarps = 2;   ///< of a block; its place is free only when the last of them is done
constexpr unsigned kPairs = 64;  ///< that a warp keeps: 31 that wait and 32 that come

/// Whether row a dominates row b, of `bytes` bytes each.
template <class Key>
__device__ bool dominates_row(const void* rows, std::uint32_t a, std::uint32_t b, int stride) {
  constexpr int kKeys = sizeof(uint4) / sizeof(Key);
  struct alignas(16) Vector {
    Key keys[kKeys];
  };
  const auto* const x =
      reinterpret_cast<const Vector*>(static_cast<const Key*>(rows) + std::size_t{a} * static_cast<unsigned>(stride));
  const auto* const y =
      reinterpret_cast<const Vector*>(static_cast<const Key*>(rows) + std::size_t{b} * static_cast<unsigned>(stride));
  bool worse = false;
  bool better = false;
#pragma unroll 1
  for (int v = 0; v < stride / kKeys; ++v) {
    const Vector own = x[v];
    const Vector other = y[v];
#pragma unroll
    for (int k = 0; k < kKeys; ++k) {
      worse |= own.keys[k] > other.keys[k];
      better |= own.keys[k] < other.keys[k];
    }
  }
  return better && !worse;
}

__device__ std::uint32_t peek(const std::uint32_t* word) { return *static_cast<const volatile std::uint32_t*>(word); }

/// Pairs of a row and a candidate that may dominate it, until there are enough for all lanes of a warp.
class PairQueue {
 public:
  __device__ PairQueue(const Candidates& rows, std::uint32_t first_row, std::uint32_t first_candidate,
                       std::uint32_t* pairs)
      : rows_(rows), first_row_(first_row), first_candidate_(first_candidate), pairs_(pairs) {}

  /// Lanes with `taking` add a pair; `lanes` is their ballot, not empty. Whether pairs were tested.
  __device__ bool add(bool taking, unsigned lanes, std::uint32_t row, unsigned candidate) {
    const unsigned lane = threadIdx.x % 32;
    if (taking) pairs_[count_ + __popc(lanes & ((1u << lane) - 1))] = (row - first_row_) << 5 | candidate;
    count_ += static_cast<unsigned>(__popc(lanes));
    __syncwarp();
    if (count_ < 32) return false;
    count_ -= 32;
    test(pairs_[count_ + lane]);
    __syncwarp();
    return true;
  }

  __device__ void finish() {
    const unsigned lane = threadIdx.x % 32;
    if (lane < count_) test(pairs_[lane]);
  }

  unsigned long long tests = 0;

 private:
  __device__ void test(std::uint32_t pair) {
    const std::uint32_t row = first_row_ + (pair >> 5);
    const std::uint32_t candidate = first_candidate_ + (pair & 31u);
    ++tests;
    const bool dominated = rows_.wide ? dominates_row<std::uint64_t>(rows_.rows, candidate, row, rows_.stride)
                                      : dominates_row<std::uint32_t>(rows_.rows, candidate, row, rows_.stride);
    if (dominated) atomicOr(&rows_.dominated[row / 32], 1u << (row % 32));
  }

  const Candidates& rows_;
  std::uint32_t first_row_;
  std::uint32_t first_candidate_;
  std::uint32_t* pairs_;
  unsigned count_ = 0;
};

/// The bitmaps of a group of candidates, in the registers of a warp: lane l holds for each dimension the set of the
/// candidates at or below level l. And the group's least levels, laid out as `maxima`, without guards.
template <int kDims>
struct Bitmaps {
  std::uint32_t sets[kDims];
  std::uint32_t corner[guarded_words(kDims)];

  /// `scratch`: 32 words of shared memory.
  __device__ void build(const std::uint32_t* levels, bool taking, std::uint32_t* scratch) {
    const unsigned lane = threadIdx.x % 32;
#pragma unroll
    for (int v = 0; v < guarded_words(kDims); ++v) corner[v] = 0;
#pragma unroll
    for (int w = 0; w < level_words(kDims); ++w) {
      const std::uint32_t word = levels[w * 32 + static_cast<int>(lane)];
#pragma unroll
      for (int f = 0; f < kLevelsOfWord; ++f) {
        const int j = w * kLevelsOfWord + f;
        if (j >= kDims) break;
        const unsigned level = word >> (f * kLevelBits) & 31u;
        sets[j] = sets_by_level(level, taking, scratch);
        const unsigned least = __reduce_min_sync(kAllLanes, taking ? level : 31u);
        corner[j / kGuardedLevelsOfWord] |= least << (j % kGuardedLevelsOfWord * (kLevelBits + 1));
      }
    }
  }

  /// Whether a row of the group with these maxima may be at or above the corner in all dimensions.
  __device__ bool may_dominate(const std::uint32_t* maxima, std::uint32_t groups, std::uint32_t group) const {
    constexpr std::uint32_t kGuards = 0x20820820u;
    std::uint32_t kept = kGuards;
#pragma unroll
    for (int v = 0; v < guarded_words(kDims); ++v) {
      kept &= maxima[std::size_t{groups} * static_cast<unsigned>(v) + group] - corner[v];
    }
    return kept == kGuards;
  }

  /// The candidates that are below a row's levels in all d dimensions, so that they dominate it for certain.
  __device__ std::uint32_t below(const std::uint32_t* row_levels, int d) const {
    std::uint32_t found = ~0u;
#pragma unroll
    for (int w = 0; w < level_words(kDims); ++w) {
#pragma unroll
      for (int f = 0; f < kLevelsOfWord; ++f) {
        const int j = w * kLevelsOfWord + f;
        if (j >= kDims) break;
        const unsigned level = row_levels[w] >> (f * kLevelBits) & 31u;
        const std::uint32_t set = exchange(sets[j], level - 1);
        if (j < d) found &= level > 0 ? set : 0;
      }
    }
    return found;
  }

  /// The candidates that are at or below a row's levels in all dimensions. A whole warp calls, each lane for its row.
  __device__ std::uint32_t at_or_below(const std::uint32_t* row_levels) const {
    std::uint32_t found = ~0u;
#pragma unroll
    for (int w = 0; w < level_words(kDims); ++w) {
      if (w > 0 && w % 2 == 0 && __any_sync(kAllLanes, found != 0) == 0) return 0;
#pragma unroll
      for (int f = 0; f < kLevelsOfWord; ++f) {
        const int j = w * kLevelsOfWord + f;
        if (j >= kDims) break;
        found &= exchange(sets[j], row_levels[w] >> (f * kLevelBits));
      }
    }
    return found;
  }
};

/// Groups whose rows a warp's candidates may dominate, until there are enough to go through them.
constexpr unsigned kOpenGroups = 256;

/// Shared memory of a warp.
struct WarpMemory {
  std::uint32_t pairs[kPairs];
  std::uint32_t open[kOpenGroups];
};

/// A group of candidates in a warp.
template <int kDims, bool kCount>
class Reducer {
 public:
  static constexpr int kWords = level_words(kDims);
  static constexpr int kAtOnce = kDims <= 24 ? 2 : 1;  ///< groups met at once, so that their loads overlap

  __device__ Reducer(const Candidates& rows, std::uint32_t group, std::uint32_t alive, std::uint32_t first,
                     WarpMemory& memory)
      : rows_(rows), group_(group), alive_(alive), memory_(memory), queue_(rows, first * 32, group * 32, memory.pairs) {
    const unsigned lane = threadIdx.x % 32;
    bitmaps_.build(rows.levels + std::size_t{group} * kWords * 32, (alive >> lane & 1u) != 0, memory.open);
  }

  /// Against the groups [first, end).
  __device__ void meet(std::uint32_t first, std::uint32_t end) {
    const unsigned lane = threadIdx.x % 32;
    const std::uint32_t end_span = (end + kGroupsOfSpan - 1) / kGroupsOfSpan;
    std::uint32_t next = first / kGroupsOfSpan;
    std::uint32_t base = next;
    unsigned spans = 0;  // bit i: span base + i is open and has not been looked through
    bool all = false;
    while (!all) {
      while (open_ <= kOpenGroups - 32 && !all) {
        if (spans != 0) {
          list_open((base + first_bit(spans)) * kGroupsOfSpan + lane, first, end);
          spans &= spans - 1;
        } else if (next < end_span) {
          base = next;
          next += 32;
          const bool there = base + lane < end_span;
          spans = __ballot_sync(kAllLanes, there && bitmaps_.may_dominate(rows_.span_maxima, rows_.spans, base + lane));
          if constexpr (kCount) mask_tests_ += there ? 1 : 0;
        } else {
          all = true;
        }
      }
      meet_open();
    }
    queue_.finish();
  }

  __device__ void count(TestCounters* counters) const {
    atomicAdd(&counters->dominance_tests, queue_.tests);
    atomicAdd(&counters->mask_tests, mask_tests_);
  }

 private:
  __device__ static unsigned first_bit(unsigned word) {
    return static_cast<unsigned>(__ffs(static_cast<int>(word))) - 1;
  }

  __device__ void list_open(std::uint32_t group, std::uint32_t first, std::uint32_t end) {
    const unsigned lane = threadIdx.x % 32;
    const bool open = group >= first && group < end && bitmaps_.may_dominate(rows_.maxima, rows_.groups, group) &&
                      peek(&rows_.dominated[group]) != ~0u;
    if constexpr (kCount) ++mask_tests_;
    const unsigned lanes = __ballot_sync(kAllLanes, open);
    if (open) memory_.open[open_ + static_cast<unsigned>(__popc(lanes & ((1u << lane) - 1)))] = group;
    open_ += static_cast<unsigned>(__popc(lanes));
  }

  /// The open groups from the i-th on, and the levels of their rows; or some of them again, at the end.
  __device__ void fetch(unsigned i, std::uint32_t* groups, std::uint32_t (*levels)[kWords]) const {
    const unsigned lane = threadIdx.x % 32;
#pragma unroll
    for (int a = 0; a < kAtOnce; ++a) {
      groups[a] = memory_.open[min(i + a, open_ - 1)];
      const std::uint32_t* const source = rows_.levels + std::size_t{groups[a]} * (kWords * 32) + lane;
#pragma unroll
      for (int w = 0; w < kWords; ++w) levels[a][w] = source[w * 32];
    }
  }

  __device__ void meet_open() {
    __syncwarp();
    if (open_ == 0) return;
    std::uint32_t next_group[kAtOnce];
    std::uint32_t next[kAtOnce][kWords];
    fetch(0, next_group, next);
    for (unsigned i = 0; i < open_; i += kAtOnce) {
      std::uint32_t group[kAtOnce];
      std::uint32_t levels[kAtOnce][kWords];
      std::uint32_t found[kAtOnce];
#pragma unroll
      for (int a = 0; a < kAtOnce; ++a) {
        group[a] = next_group[a];
#pragma unroll
        for (int w = 0; w < kWords; ++w) levels[a][w] = next[a][w];
      }
      fetch(i + kAtOnce, next_group, next);
      bool any = false;
#pragma unroll
      for (int a = 0; a < kAtOnce; ++a) {
        found[a] = bitmaps_.at_or_below(levels[a]) & alive_;
        any = any || found[a] != 0;
      }
      if constexpr (kCount) mask_tests_ += 32 * min(static_cast<unsigned>(kAtOnce), open_ - i);
      if (__any_sync(kAllLanes, any) == 0) continue;
#pragma unroll 1
      for (int a = 0; a < kAtOnce && i + a < open_; ++a) {
        // The code of `settle` once, not for each a.
        std::uint32_t own[kWords];
#pragma unroll
        for (int w = 0; w < kWords; ++w) own[w] = a == 0 ? levels[0][w] : levels[kAtOnce - 1][w];
        settle(a == 0 ? group[0] : group[kAtOnce - 1], own, a == 0 ? found[0] : found[kAtOnce - 1]);
      }
    }
    open_ = 0;
    __syncwarp();
  }

  /// Each lane's row of a group may be dominated by the candidates `found`.
  __device__ void settle(std::uint32_t group, const std::uint32_t* levels, std::uint32_t found) {
    constexpr int kMany = 8;
    const unsigned lane = threadIdx.x % 32;
    if (group == group_) found &= ~(1u << lane);
    if ((peek(&rows_.dominated[group]) >> lane & 1u) != 0) found = 0;
    unsigned lanes = __ballot_sync(kAllLanes, found != 0);
    if (__popc(lanes) >= kMany) {
      const unsigned sure = __ballot_sync(kAllLanes, (bitmaps_.below(levels, rows_.d) & found) != 0);
      if (sure != 0 && lane == 0) atomicOr(&rows_.dominated[group], sure);
      if ((sure >> lane & 1u) != 0) found = 0;
      lanes &= ~sure;
    }
    while (lanes != 0) {
      const bool tested = queue_.add(found != 0, lanes, group * 32 + lane, first_bit(found));
      found &= found - 1;
      if (tested && (peek(&rows_.dominated[group]) >> lane & 1u) != 0) found = 0;
      lanes = __ballot_sync(kAllLanes, found != 0);
    }
  }

  const Candidates& rows_;
  std::uint32_t group_;
  std::uint32_t alive_;
  WarpMemory& memory_;
  Bitmaps<kDims> bitmaps_;
  PairQueue queue_;
  unsigned open_ = 0;
  unsigned long long mask_tests_ = 0;
};

/// Blocks of a multiprocessor that registers are shared out for: more where a warp's bitmaps are few.
SKYRANK_HD constexpr int resident_for(int dims) { return dims <= 12 ? 12 : dims <= 16 ? 10 : dims <= 24 ? 8 : 4; }

/// A warp holds a group of candidates against the groups of one of `chunks` chunks.
template <int kDims, bool kCount>
__global__ void __launch_bounds__(kWarps * 32, resident_for(kDims))
    reduce(const __grid_constant__ Candidates rows, std::uint32_t chunk, std::uint32_t chunks, TestCounters* counters) {
  __shared__ WarpMemory memory[kWarps];
  const std::uint32_t group = blockIdx.x / chunks * kWarps + threadIdx.x / 32;
  const std::uint32_t begin = blockIdx.x % chunks * chunk;
  const std::uint32_t end = min(begin + chunk, rows.groups);
  if (group >= rows.groups) return;
  const std::uint32_t alive = ~peek(&rows.dominated[group]);
  if (alive == 0) return;

  // What a row dominates follows it in the z-order, or has the same code.
  std::uint32_t first = group;
  const int hash = hash_bits(rows.d);
  const std::uint64_t code = rows.codes[std::size_t{group} * 32] >> hash;
  if (group > 0 && rows.codes[std::size_t{group} * 32 - 1] >> hash == code) {
    first = first_not_below(rows.codes, group * 32, code << hash) / 32;
  }
  first = max(first, begin);
  if (first >= end) return;
  Reducer<kDims, kCount> reducer(rows, group, alive, first, memory[threadIdx.x / 32]);
  reducer.meet(first, end);
  if constexpr (kCount) reducer.count(counters);
}

constexpr std::array kPaddedDims = {4, 5, 6, 8, 10, 12, 14, 16, 18, 24, 36, 66};

template <int kDims>
void reduce_padded(SkylineRun& run, const Candidates& rows) {
  // Enough warps for the device, even where the first groups of candidates see the most rows; and bitmaps that are
  // used often enough to be worth their making.
  constexpr std::uint32_t kLeastWarps = 16384;
  constexpr std::uint32_t kLeastChunks = 16;
  const std::uint32_t parts = std::max(kLeastChunks, (kLeastWarps + rows.groups - 1) / rows.groups);
  constexpr std::uint32_t kLargestChunk = 1u << 21;  // of which the queue of pairs can number the rows
  const std::uint32_t chunk = std::clamp((rows.groups + parts - 1) / parts, 4u, kLargestChunk);
  const std::uint32_t chunks = (rows.groups + chunk - 1) / chunk;
  const auto kernel = run.counts() ? reduce<kDims, true> : reduce<kDims, false>;
  launch("reduce", kernel, {.blocks = blocks_for(rows.groups, kWarps) * chunks, .threads = kWarps * 32}, run.stream(),
         rows, chunk, chunks, run.counters());
}

template <std::size_t kFirst = 0>
void reduce_for_dims(SkylineRun& run, const Candidates& rows) {
  constexpr int kDims = kPaddedDims[kFirst];
  if constexpr (kFirst + 1 < kPaddedDims.size()) {
    if (rows.d > kDims) return reduce_for_dims<kFirst + 1>(run, rows);
  }
  reduce_padded<kDims>(run, rows);
}

}  // namespace

int padded_dims(int d) {
  return *std::find_if(kPaddedDims.begin(), kPaddedDims.end(), [d](int dims) { return d <= dims; });
}

void reduce_groups(SkylineRun& run, const Candidates& rows) { reduce_for_dims(run, rows); }

}  // namespace skyrank::kernels::cuda::skyline::bitmap
