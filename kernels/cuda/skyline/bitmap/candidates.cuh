#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/cuda/device/kernel/search.cuh"
#include "kernels/cuda/device/kernel/shared.cuh"
#include "kernels/cuda/skyline/bitmap/levels.cuh"
#include "kernels/cuda/skyline/overlap.cuh"
#include "kernels/cuda/skyline/solve.cuh"

// Rows in the forms and in the order in which they meet.
namespace skyrank::kernels::cuda::skyline::bitmap {

inline constexpr int kZBits = 32;     ///< at most, of a sort key's z-order
inline constexpr int kCodeBits = 40;  ///< bits of a sort key's code; those below the z-order are a hash's
inline constexpr int kGuardedLevelsOfWord = 5;

/// Words of so many levels of six bits, whose highest is a guard.
SKYRANK_HD constexpr int guarded_words(int dims) { return (dims + kGuardedLevelsOfWord - 1) / kGuardedLevelsOfWord; }

/// Highest bits of a level that go into a z-order. Two are as good as five for 10^6 rows of 12 dimensions.
SKYRANK_HD constexpr int z_planes(int d) {
  return d * kLevelBits <= kZBits ? kLevelBits : (d <= kZBits ? kZBits / d : 1);
}

SKYRANK_HD constexpr int z_bits(int d) { return d <= kZBits ? z_planes(d) * d : kZBits; }
SKYRANK_HD constexpr int hash_bits(int d) { return kCodeBits - z_bits(d); }

inline constexpr unsigned kGroupsOfSpan = 32;
inline constexpr unsigned kSpansOfRecord = 32;

/// Words of what a search reads of a span: `guarded` words of each of its groups, and which of their rows are
/// dominated.
SKYRANK_HD constexpr unsigned span_words(int guarded) { return (static_cast<unsigned>(guarded) + 1) * kGroupsOfSpan; }

/// Candidates, 32 a group, 32 groups a span. What is read of 32 groups or spans at a time lies side by side, with
/// addresses that differ by constants, and is there for absent ones too: these are never open.
struct Candidates {
  std::uint32_t count = 0;
  std::uint32_t groups = 0;
  std::uint32_t spans = 0;
  int d = 0;
  int stride = 0;  ///< keys of a row, padded with zeros to a multiple of 16 bytes
  int words = 0;   ///< words of a row's levels
  int guarded = 0;
  bool wide = false;                ///< keys of 64 bits
  void* rows = nullptr;             ///< count x stride keys
  std::uint32_t* levels = nullptr;  ///< groups x words x 32
  /// spans x (guarded + 1) x 32: the greatest levels of each group, their guards set; then which rows are known to be
  /// dominated, with those of absent rows and of twins
  std::uint32_t* maxima = nullptr;
  std::uint32_t* span_maxima = nullptr;  ///< the same of spans: spans / 32 x guarded x 32
  std::uint32_t* firsts = nullptr;       ///< groups: the first group with rows that one of this group's may dominate
  std::uint32_t* heads = nullptr;        ///< count: the row's place, or that of the first of rows equal to it
  std::uint64_t* codes = nullptr;        ///< count: sort keys

  /// The dominated rows of a group.
  SKYRANK_HD std::uint32_t* dominated(std::uint32_t group) const {
    const std::size_t span = group / kGroupsOfSpan;
    return maxima + span * span_words(guarded) + static_cast<unsigned>(guarded) * kGroupsOfSpan + group % kGroupsOfSpan;
  }
};

/// Rows before they are sorted.
struct Unsorted {
  void* rows = nullptr;
  std::uint32_t* levels = nullptr;  ///< words x count
  std::uint64_t* codes = nullptr;
  std::uint32_t* order = nullptr;
};

/// The dimensions that tell rows apart, a bit each: those of whose sample not all keys are equal. A whole warp calls.
template <class Key>
__device__ std::uint64_t telling_dims(const Key* thresholds, int d) {
  const auto tells = [&](unsigned j) {
    return j < static_cast<unsigned>(d) && thresholds[j * kLevels] != thresholds[j * kLevels + kLevels - 1];
  };
  const unsigned lane = threadIdx.x % 32;
  const std::uint64_t upper = __ballot_sync(kAllLanes, tells(lane + 32));
  return upper << 32 | __ballot_sync(kAllLanes, tells(lane));
}

/// Row i of the survivors `ids` (null: all rows of the table): its keys side by side, its levels, and its sort key: the
/// z-order of its levels above a hash of its keys, so that equal rows meet.
template <class Key>
__global__ void code_rows(const __grid_constant__ KeyTable<Key> table, const std::uint32_t* ids, const Key* thresholds,
                          const __grid_constant__ Candidates to, const __grid_constant__ Unsorted out) {
  constexpr int kKeys = sizeof(uint4) / sizeof(Key);
  struct alignas(sizeof(uint4)) Vector {
    Key keys[kKeys];
  };
  __shared__ std::uint32_t spread[kLevels];  // a level's bits, as far apart as there are telling dimensions
  follow_previous();
  const unsigned lane = threadIdx.x % 32;
  const int d = to.d;
  const std::uint64_t telling = telling_dims(thresholds, d);
  const int tell = max(1, __popcll(telling));
  const int planes = max(1, min(kLevelBits, z_bits(d) / tell));
  const int top = z_bits(d) - 1;
  if (threadIdx.x < kLevels) {
    std::uint32_t bits = 0;
    for (int p = 0; p < planes; ++p) bits |= (lane >> (kLevelBits - 1 - p) & 1u) << (top - p * tell);
    spread[lane] = bits;
  }
  __syncthreads();
  const std::uint32_t place = blockIdx.x * blockDim.x + threadIdx.x;
  const bool taking = place < to.count;
  const std::uint32_t taken = taking ? place : 0;
  const std::uint32_t id = ids == nullptr ? taken : ids[taken];
  auto* const row =
      reinterpret_cast<Vector*>(static_cast<Key*>(out.rows) + std::size_t{place} * static_cast<unsigned>(to.stride));
  std::uint32_t z = 0;
  std::uint64_t hash = 0;
  std::uint32_t word = 0;
  int field = 0;
  int w = 0;
  int rank = 0;  // of a dimension among those that tell
  for (int first = 0; first < d; first += kKeys) {
    Vector vector{};
#pragma unroll
    for (int k = 0; k < kKeys; ++k) {
      if (first + k < d) vector.keys[k] = table.columns[first + k][id];
    }
#pragma unroll
    for (int k = 0; k < kKeys; ++k) {
      const int j = first + k;
      if (j >= d) break;
      const unsigned level = level_of(vector.keys[k], thresholds[j * kLevels + static_cast<int>(lane)]);
      if ((telling >> j & 1u) != 0 && rank < kZBits) z |= spread[level] >> rank++;
      hash = (hash ^ vector.keys[k]) * 0x9E3779B97F4A7C15u;
      hash ^= hash >> 32;
      word |= level << (field * kLevelBits);
      if (++field < kLevelsOfWord) continue;
      if (taking) out.levels[std::size_t{to.count} * static_cast<unsigned>(w) + place] = word;
      word = 0;
      field = 0;
      ++w;
    }
    if (taking) row[first / kKeys] = vector;
  }
  if (!taking) return;
  for (; w < to.words; ++w, word = 0) out.levels[std::size_t{to.count} * static_cast<unsigned>(w) + place] = word;
  const std::uint64_t low = hash & ((std::uint64_t{1} << hash_bits(d)) - 1);
  out.codes[place] = std::uint64_t{z} << hash_bits(d) | low;
  out.order[place] = place;
}

/// The first place in [0, end) whose code is not below `code`, where codes ascend.
__device__ inline std::uint32_t first_not_below(const std::uint64_t* codes, std::uint32_t end, std::uint64_t code) {
  return first_where(0u, end, [=](std::uint32_t i) { return codes[i] >= code; });
}

inline constexpr unsigned kSpanThreads = kGroupsOfSpan * 32;

/// The greatest levels of the rows of a warp, of which `levels` packs six; `maxima` packs five with guards, one word
/// for each warp of the block after the other.
template <class Levels>
__device__ void find_maxima(const Levels& levels, int words, int guarded, std::uint32_t* maxima) {
  const unsigned lane = threadIdx.x % 32;
  std::uint32_t word = 0;
  int field = 0;
  for (int w = 0; w < words; ++w) {
    const std::uint32_t own = levels(w);
    for (int f = 0; f < kLevelsOfWord; ++f, ++field) {
      const int out = field / kGuardedLevelsOfWord;
      const int at = field % kGuardedLevelsOfWord;
      if (out >= guarded) break;
      const std::uint32_t most = __reduce_max_sync(kAllLanes, own >> (f * kLevelBits) & 31u);
      word |= (most | 32u) << (at * (kLevelBits + 1));
      const bool last = field + 1 == words * kLevelsOfWord;
      if (at + 1 < kGuardedLevelsOfWord && !last) continue;
      for (int rest = at + 1; rest < kGuardedLevelsOfWord; ++rest) word |= 32u << (rest * (kLevelBits + 1));
      if (lane == 0) maxima[static_cast<unsigned>(out) * kGroupsOfSpan + threadIdx.x / 32] = word;
      word = 0;
    }
  }
}

/// A warp for each group of sorted rows, a block for each span. Shared memory: a word for each group and each guarded
/// word.
template <class Key>
__global__ void __launch_bounds__(kSpanThreads)
    gather_groups(const Unsorted in, const std::uint32_t* order, const __grid_constant__ Candidates to) {
  auto* const maxima = dynamic_shared<std::uint32_t>();
  follow_previous();
  const unsigned lane = threadIdx.x % 32;
  const unsigned warp = threadIdx.x / 32;
  const std::uint32_t group = blockIdx.x * kGroupsOfSpan + warp;
  const std::uint32_t place = group * 32 + lane;
  const bool taking = place < to.count;
  const std::uint32_t from = order[taking ? place : to.count - 1];
  const auto stride = static_cast<unsigned>(to.stride);
  const auto words = static_cast<unsigned>(to.words);
  const auto* const rows = static_cast<const Key*>(in.rows);
  constexpr unsigned kKeysOfVector = sizeof(uint4) / sizeof(Key);
  const auto* const source = reinterpret_cast<const uint4*>(rows + std::size_t{from} * stride);
  if (taking) {
    auto* const row = reinterpret_cast<uint4*>(static_cast<Key*>(to.rows) + std::size_t{place} * stride);
    for (unsigned v = 0; v < stride / kKeysOfVector; ++v) row[v] = source[v];
  }
  const auto levels = [&](int w) {
    const std::uint32_t own = in.levels[std::size_t{to.count} * static_cast<unsigned>(w) + from];
    if (group < to.groups) to.levels[(std::size_t{group} * words + static_cast<unsigned>(w)) * 32 + lane] = own;
    return own;
  };
  find_maxima(levels, to.words, to.guarded, maxima);

  bool twin = false;
  if (taking) {
    std::uint32_t head = place;
    const std::uint64_t code = to.codes[place];
    const std::uint64_t before = place > 0 ? to.codes[place - 1] : ~std::uint64_t{0};
    if (before == code) {
      const std::uint32_t first = first_not_below(to.codes, place, code);
      const Key* other = rows + std::size_t{order[first]} * stride;
      const Key* own = rows + std::size_t{from} * stride;
      twin = true;
      for (unsigned j = 0; j < stride && twin; ++j) twin = own[j] == other[j];
      if (twin) head = first;
    }
    to.heads[place] = head;
    // Rows that a row dominates follow it in the z-order, or have the same code.
    const int hash = hash_bits(to.d);
    if (lane == 0) {
      const bool shared = before >> hash == code >> hash;
      to.firsts[group] = shared ? first_not_below(to.codes, place, code >> hash << hash) / 32 : group;
    }
  }
  const unsigned out_of_play = __ballot_sync(kAllLanes, twin || !taking);
  if (lane == 0) *to.dominated(group) = out_of_play;

  __syncthreads();
  const unsigned place_in_record = blockIdx.x % kSpansOfRecord;
  const std::size_t record = blockIdx.x / kSpansOfRecord * static_cast<unsigned>(to.guarded);
  for (unsigned v = warp; v < static_cast<unsigned>(to.guarded); v += kGroupsOfSpan) {
    const bool there = blockIdx.x * kGroupsOfSpan + lane < to.groups;
    const std::uint32_t own = there ? maxima[v * kGroupsOfSpan + lane] : 0;
    to.maxima[blockIdx.x * std::size_t{span_words(to.guarded)} + v * kGroupsOfSpan + lane] = own;
    std::uint32_t most = 0;
    for (int f = 0; f < kGuardedLevelsOfWord; ++f) {
      const int shift = f * (kLevelBits + 1);
      most |= __reduce_max_sync(kAllLanes, own >> shift & 63u) << shift;
    }
    std::uint32_t* const spans = to.span_maxima + (record + v) * kSpansOfRecord;
    if (lane == 0) spans[place_in_record] = most;
    if (blockIdx.x + 1 == gridDim.x && lane > place_in_record) spans[lane] = 0;
  }
}

}  // namespace skyrank::kernels::cuda::skyline::bitmap
