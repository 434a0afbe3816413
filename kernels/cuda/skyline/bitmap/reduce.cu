#include "kernels/cuda/skyline/bitmap/reduce.cuh"

#include <algorithm>
#include <array>

#include "kernels/cuda/device/launch.cuh"
#include "kernels/cuda/skyline/bitmap/policy.hpp"

// Compares candidates of a skyline with each other by bitmaps. A warp holds the bitmaps of 32 candidates, a group, in
// its registers and meets the groups of one chunk, from the coarse test to the exact one: the maxima of 32 spans of
// groups at a time, the maxima of a span's groups, the levels of a group's rows against the bitmaps, and at last the
// keys of single pairs. Each test discards most of what the next one costs more for. Pairs are collected until all
// lanes of the warp have one, so that lanes compare keys together. Rows that are found dominated are left out by all
// warps from then on.
namespace skyrank::kernels::cuda::skyline::bitmap {
namespace {

constexpr unsigned kWarps = ReducePolicy::kWarps;
constexpr unsigned kPairs = 64;  ///< pairs that a warp keeps: 31 that wait and 32 that come

/// Returns true if row a dominates row b, of `bytes` bytes each.
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

/// The same address, of which the compiler does not know how it was made, so that it adds to it as a whole.
template <class T>
__device__ T* as_it_is(T* address) {
#if defined(__CUDACC__)
  asm("" : "+l"(address));
#endif
  return address;
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
    if (dominated) atomicOr(rows_.dominated(row / 32), 1u << (row % 32));
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

  /// Builds the bitmaps of the candidates `alive`, one in each lane. Bit by bit: a level is at most l if, above the
  /// bits that are the same, it has a 0 where l has a 1.
  __device__ void build(const std::uint32_t* levels, unsigned alive) {
    const unsigned lane = threadIdx.x % 32;
    unsigned ones[kLevelBits];  // of the lane's number, a word of each bit
#pragma unroll
    for (int p = 0; p < kLevelBits; ++p) ones[p] = 0 - (lane >> p & 1u);
#pragma unroll
    for (int v = 0; v < guarded_words(kDims); ++v) corner[v] = 0;
#pragma unroll
    for (int w = 0; w < level_words(kDims); ++w) {
      const std::uint32_t word = levels[w * 32 + static_cast<int>(lane)];
#pragma unroll
      for (int f = 0; f < kLevelsOfWord; ++f) {
        const int j = w * kLevelsOfWord + f;
        if (j >= kDims) break;
        unsigned set = ~0u;
#pragma unroll
        for (int p = 0; p < kLevelBits; ++p) {
          const unsigned zeros = ~__ballot_sync(kAllLanes, (word >> (f * kLevelBits + p) & 1u) != 0);
          set = (zeros & ones[p]) | (zeros & set) | (ones[p] & set);
        }
        sets[j] = set & alive;
        const unsigned level = word >> (f * kLevelBits) & 31u;
        const unsigned least = __reduce_min_sync(kAllLanes, (alive >> lane & 1u) != 0 ? level : 31u);
        corner[j / kGuardedLevelsOfWord] |= least << (j % kGuardedLevelsOfWord * (kLevelBits + 1));
      }
    }
  }

  /// Returns true if one of the rows that have these maxima may be at or above the corner in all dimensions.
  __device__ bool may_dominate(const std::uint32_t (&maxima)[guarded_words(kDims)]) const {
    constexpr std::uint32_t kGuards = 0x20820820u;
    std::uint32_t kept = kGuards;
#pragma unroll
    for (int v = 0; v < guarded_words(kDims); ++v) kept &= maxima[v] - corner[v];
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
      if (kDims > 18 && w > 0 && w % 2 == 0 && __any_sync(kAllLanes, found != 0) == 0) return 0;
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

/// A group whose rows a warp's candidates may dominate, and which of them were dominated when it was looked at.
struct alignas(8) OpenGroup {
  std::uint32_t group;
  std::uint32_t dominated;
};

constexpr unsigned kOpenGroups = ReducePolicy::kOpenGroups;
constexpr unsigned kPastOpen = ReducePolicy::kPastOpen;

/// Shared memory of a warp.
struct WarpMemory {
  OpenGroup open[kOpenGroups + kPastOpen];
  std::uint32_t pairs[kPairs];
};

/// A group of candidates in a warp.
template <int kDims, bool kCount>
class Reducer {
 public:
  static constexpr int kWords = level_words(kDims);
  static constexpr int kGuarded = guarded_words(kDims);
  static constexpr int kAtOnce = kDims <= 24 ? 2 : 1;  ///< groups met at once, so that their loads overlap
  static_assert(2 * kAtOnce <= kPastOpen);

  __device__ Reducer(const Candidates& rows, std::uint32_t group, unsigned alive, std::uint32_t first,
                     WarpMemory& memory)
      : rows_(rows), group_(group), memory_(memory), queue_(rows, first * 32, group * 32, memory.pairs) {
    bitmaps_.build(rows.levels + std::size_t{group} * kWords * 32, alive);
  }

  /// Against the groups [first, end).
  __device__ void meet(std::uint32_t first, std::uint32_t end) {
    constexpr std::uint32_t kGroupsOfRecord = kGroupsOfSpan * kSpansOfRecord;
    for (std::uint32_t record = first / kGroupsOfRecord; record * kGroupsOfRecord < end; ++record) {
      unsigned spans = open_spans(record, first, end);
      while (spans != 0) {
        // Two at a time, so that their loads overlap.
        const std::uint32_t one = record * kSpansOfRecord + first_bit(spans);
        spans &= spans - 1;
        const bool both = spans != 0;
        const std::uint32_t other = both ? record * kSpansOfRecord + first_bit(spans) : one;
        spans &= spans - 1;
        const Span a = read_span(one);
        const Span b = read_span(other);
        list_open(a, one, first, end);
        list_open(b, other, first, both ? end : first);
        if (open_ > kOpenGroups - 2 * kGroupsOfSpan) meet_open();
      }
    }
    meet_open();
    queue_.finish();
  }

  __device__ void count(TestCounters* counters) const {
    unsigned long long dominance_tests = queue_.tests;
    unsigned long long mask_tests = mask_tests_;
    for (unsigned distance = 16; distance > 0; distance /= 2) {
      dominance_tests += __shfl_xor_sync(kAllLanes, dominance_tests, static_cast<int>(distance));
      mask_tests += __shfl_xor_sync(kAllLanes, mask_tests, static_cast<int>(distance));
    }
    if (threadIdx.x % 32 != 0) return;
    atomicAdd(&counters->dominance_tests, dominance_tests);
    atomicAdd(&counters->mask_tests, mask_tests);
  }

 private:
  /// The groups of a span, one in each lane.
  struct Span {
    std::uint32_t maxima[kGuarded];
    std::uint32_t dominated;
  };

  __device__ static unsigned first_bit(unsigned word) {
    return static_cast<unsigned>(__ffs(static_cast<int>(word))) - 1;
  }

  /// Returns which of the 32 spans of a record are open and have groups of [first, end).
  __device__ unsigned open_spans(std::uint32_t record, std::uint32_t first, std::uint32_t end) {
    const unsigned lane = threadIdx.x % 32;
    const std::uint32_t span = record * kSpansOfRecord + lane;
    const std::uint32_t* const source = rows_.span_maxima + std::size_t{record} * (kGuarded * kSpansOfRecord) + lane;
    std::uint32_t maxima[kGuarded];
#pragma unroll
    for (int v = 0; v < kGuarded; ++v) maxima[v] = source[static_cast<unsigned>(v) * kSpansOfRecord];
    const bool there = span >= first / kGroupsOfSpan && span * kGroupsOfSpan < end;
    if constexpr (kCount) mask_tests_ += there ? 1 : 0;
    return __ballot_sync(kAllLanes, there && bitmaps_.may_dominate(maxima));
  }

  __device__ Span read_span(std::uint32_t span) const {
    const unsigned lane = threadIdx.x % 32;
    const std::uint32_t* const source = rows_.maxima + std::size_t{span} * span_words(kGuarded) + lane;
    Span read;
#pragma unroll
    for (int v = 0; v < kGuarded; ++v) read.maxima[v] = source[static_cast<unsigned>(v) * kGroupsOfSpan];
    read.dominated = peek(source + static_cast<unsigned>(kGuarded) * kGroupsOfSpan);
    return read;
  }

  __device__ void list_open(const Span& span, std::uint32_t number, std::uint32_t first, std::uint32_t end) {
    const unsigned lane = threadIdx.x % 32;
    const std::uint32_t group = number * kGroupsOfSpan + lane;
    // No branches, which would make loads wait for each other.
    const bool open = bitmaps_.may_dominate(span.maxima) & (span.dominated != ~0u) & (group >= first) & (group < end);
    if constexpr (kCount) ++mask_tests_;
    const unsigned lanes = __ballot_sync(kAllLanes, open);
    const unsigned place = open_ + static_cast<unsigned>(__popc(lanes & ((1u << lane) - 1)));
    if (open) memory_.open[place] = {group, span.dominated};
    open_ += static_cast<unsigned>(__popc(lanes));
  }

  /// The levels of the rows of the open groups from the i-th on, and whether the lane's own were dominated.
  __device__ void fetch(unsigned i, std::uint32_t (&levels)[kAtOnce][kWords], bool (&dominated)[kAtOnce]) const {
    const unsigned lane = threadIdx.x % 32;
    const std::uint32_t* const all = as_it_is(rows_.levels + lane);
#pragma unroll
    for (int a = 0; a < kAtOnce; ++a) {
      const OpenGroup open = memory_.open[i + a];
      const std::uint32_t* const source = all + std::size_t{open.group} * (kWords * 32);
#pragma unroll
      for (int w = 0; w < kWords; ++w) levels[a][w] = source[w * 32];
      dominated[a] = (open.dominated & 1u << lane) != 0;
    }
  }

  __device__ void meet_open() {
    if (open_ == 0) return;
    const unsigned lane = threadIdx.x % 32;
    __syncwarp();
    // Groups that are fetched past the end have no rows.
    if (lane < kPastOpen) memory_.open[open_ + lane] = {memory_.open[open_ - 1].group, ~0u};
    __syncwarp();
    std::uint32_t levels[kAtOnce][kWords];
    bool dominated[kAtOnce];
    fetch(0, levels, dominated);
    for (unsigned i = 0; i < open_; i += kAtOnce) {
      std::uint32_t found[kAtOnce];
      bool any = false;
#pragma unroll
      for (int a = 0; a < kAtOnce; ++a) {
        found[a] = bitmaps_.at_or_below(levels[a]);
        if (dominated[a]) found[a] = 0;
        any = any || found[a] != 0;
      }
      if constexpr (kCount) mask_tests_ += 32 * min(static_cast<unsigned>(kAtOnce), open_ - i);
      fetch(i + kAtOnce, levels, dominated);
      if (__any_sync(kAllLanes, any) == 0) continue;
#pragma unroll 1
      for (int a = 0; a < kAtOnce && i + a < open_; ++a) {
        // The code of `settle` once, not for each a.
        settle(memory_.open[i + a].group, a == 0 ? found[0] : found[kAtOnce - 1]);
      }
    }
    open_ = 0;
    __syncwarp();
  }

  __device__ static unsigned hits(std::uint32_t found) {
    return __reduce_add_sync(kAllLanes, static_cast<unsigned>(__popc(found)));
  }

  /// Leaves out candidates of `found` that are not at or below the lane's row by their keys, dimension by dimension
  /// while there are many.
  template <class Key>
  __device__ std::uint32_t at_or_below_by_keys(std::uint32_t group, std::uint32_t found) const {
    const unsigned lane = threadIdx.x % 32;
    const auto stride = static_cast<unsigned>(rows_.stride);
    const auto* const keys = static_cast<const Key*>(rows_.rows);
    const Key* const row = keys + std::size_t{min(group * 32 + lane, rows_.count - 1)} * stride;
    const Key* const candidate = keys + std::size_t{min(group_ * 32 + lane, rows_.count - 1)} * stride;
    for (int j = 0; j < rows_.d && hits(found) > ReducePolicy::kWorthTests; ++j) {
      const Key own = row[j];
      const Key its = candidate[j];
      std::uint32_t set = 0;
      // Not all at once, which would take the registers of what is done far more often.
#pragma unroll 4
      for (unsigned c = 0; c < 32; ++c) set |= exchange(its, c) <= own ? 1u << c : 0;
      found &= set;
    }
    return found;
  }

  /// Each lane's row of a group may be dominated by the candidates `found`.
  __device__ void settle(std::uint32_t group, std::uint32_t found) {
    const unsigned lane = threadIdx.x % 32;
    std::uint32_t* const dominated = rows_.dominated(group);
    if (group == group_) found &= ~(1u << lane);
    if ((peek(dominated) >> lane & 1u) != 0) found = 0;
    unsigned lanes = __ballot_sync(kAllLanes, found != 0);
    if (__popc(lanes) >= ReducePolicy::kManyLanes) {
      std::uint32_t levels[kWords];
#pragma unroll
      for (int w = 0; w < kWords; ++w) levels[w] = rows_.levels[(std::size_t{group} * kWords + w) * 32 + lane];
      const unsigned sure = __ballot_sync(kAllLanes, (bitmaps_.below(levels, rows_.d) & found) != 0);
      if (sure != 0 && lane == 0) atomicOr(dominated, sure);
      if ((sure >> lane & 1u) != 0) found = 0;
      lanes &= ~sure;
      // Many are left only where rows share levels.
      if (hits(found) > ReducePolicy::kWorthTests) {
        found = rows_.wide ? at_or_below_by_keys<std::uint64_t>(group, found)
                           : at_or_below_by_keys<std::uint32_t>(group, found);
        lanes = __ballot_sync(kAllLanes, found != 0);
      }
    }
    while (lanes != 0) {
      const bool tested = queue_.add(found != 0, lanes, group * 32 + lane, first_bit(found));
      found &= found - 1;
      if (tested && (peek(dominated) >> lane & 1u) != 0) found = 0;
      lanes = __ballot_sync(kAllLanes, found != 0);
    }
  }

  const Candidates& rows_;
  std::uint32_t group_;
  WarpMemory& memory_;
  Bitmaps<kDims> bitmaps_;
  PairQueue queue_;
  unsigned open_ = 0;
  unsigned long long mask_tests_ = 0;
};

/// Blocks of a multiprocessor that registers are shared out for: as many as do without spilling.
SKYRANK_HD constexpr int resident_for(int dims) {
  return dims <= 6 ? 16 : dims <= 12 ? 14 : dims <= 16 ? 11 : dims <= 24 ? 8 : 4;
}

/// Chunks of groups that a GPU takes: one of every `share.members`, in each round from the other end, as later chunks
/// meet more candidates.
struct Chunks {
  std::uint32_t groups = 0;  ///< groups of a chunk
  std::uint32_t rounds = 0;  ///< chunks of this GPU; the last one may lie past all groups
  ReduceShare share;

  __device__ std::uint32_t begin(std::uint32_t round) const {
    const std::uint32_t place = round % 2 == 0 ? share.member : share.members - 1 - share.member;
    return (round * share.members + place) * groups;
  }
};

/// A warp holds a group of candidates against the groups of one chunk.
template <int kDims, bool kCount>
__global__ void __launch_bounds__(kWarps * 32, resident_for(kDims))
    reduce(const __grid_constant__ Candidates rows, const Chunks chunks, TestCounters* counters) {
  __shared__ WarpMemory memory[kWarps];
  follow_previous();
  const std::uint32_t group = blockIdx.x / chunks.rounds * kWarps + threadIdx.x / 32;
  const std::uint32_t begin = chunks.begin(blockIdx.x % chunks.rounds);
  const std::uint32_t end = min(begin + chunks.groups, rows.groups);
  if (group >= rows.groups) return;
  const std::uint32_t alive = ~peek(rows.dominated(group));
  const std::uint32_t first = max(rows.firsts[group], begin);
  if (alive == 0 || first >= end) return;
  Reducer<kDims, kCount> reducer(rows, group, alive, first, memory[threadIdx.x / 32]);
  reducer.meet(first, end);
  if constexpr (kCount) reducer.count(counters);
}

constexpr std::array kPaddedDims = {4, 5, 6, 8, 10, 12, 14, 16, 18, 24, 36, 66};

template <int kDims>
void reduce_padded(SkylineRun& run, const Candidates& rows, ReduceShare share) {
  using Policy = ReducePolicy;
  // Each GPU gets as many chunks, and so warps, as it would have alone.
  const std::uint32_t parts =
      share.members * std::max(Policy::kMinChunks, (Policy::kMinWarps + rows.groups - 1) / rows.groups);
  constexpr std::uint32_t kLargestChunk = 1u << 21;  // of which the queue of pairs can number the rows
  std::uint32_t chunk = std::clamp((rows.groups + parts - 1) / parts, 4u, kLargestChunk);
  if (chunk > kGroupsOfSpan) chunk = (chunk + kGroupsOfSpan - 1) / kGroupsOfSpan * kGroupsOfSpan;
  const std::uint32_t all = (rows.groups + chunk - 1) / chunk;
  const Chunks chunks{.groups = chunk, .rounds = (all + share.members - 1) / share.members, .share = share};
  const auto kernel = run.counts() ? reduce<kDims, true> : reduce<kDims, false>;
  launch(
      "reduce", kernel,
      {.blocks = blocks_for(rows.groups, kWarps) * chunks.rounds, .threads = kWarps * 32, .overlaps = can_overlap(run)},
      run.stream(), rows, chunks, run.counters());
}

template <std::size_t kFirst = 0>
void reduce_for_dims(SkylineRun& run, const Candidates& rows, ReduceShare share) {
  constexpr int kDims = kPaddedDims[kFirst];
  if constexpr (kFirst + 1 < kPaddedDims.size()) {
    if (rows.d > kDims) return reduce_for_dims<kFirst + 1>(run, rows, share);
  }
  reduce_padded<kDims>(run, rows, share);
}

}  // namespace

int padded_dims(int d) {
  return *std::find_if(kPaddedDims.begin(), kPaddedDims.end(), [d](int dims) { return d <= dims; });
}

void reduce_groups(SkylineRun& run, const Candidates& rows, ReduceShare share) { reduce_for_dims(run, rows, share); }

}  // namespace skyrank::kernels::cuda::skyline::bitmap
