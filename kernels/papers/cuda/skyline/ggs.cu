#include <algorithm>
#include <type_traits>
#include <utility>

#include "kernels/cuda/device/kernel/shared.cuh"
#include "kernels/cuda/device/launch.cuh"
#include "kernels/cuda/device/sort_and_scan.hpp"
#include "kernels/cuda/skyline/chunk.cuh"
#include "kernels/cuda/skyline/ranks.cuh"
#include "kernels/cuda/skyline/sample_ranks.cuh"
#include "kernels/cuda/skyline/solve.cuh"

// GGS (Bøgh, Assent, Magnani, DaMoN 2013) in the optimised form of Bøgh et al., PVLDB 2015, section 6.1. Rows in the
// order of the sums of their keys, so that none is dominated by a later one; the paper's columns have one scale, ours
// need not, so that the sums of the keys' ranks in a sample come first. In each round every row that is left is
// compared with the first alpha of them, one after the other, by a thread of its own, until one dominates it; then
// dominated rows go, what is left of the first alpha is the skyline's, and the others move together. All threads read
// the same row at a time, through the read-only cache; their own is in registers. Rows of different sums are distinct,
// which takes half a dominance test.
namespace skyrank::kernels::cuda::skyline {
namespace {

constexpr unsigned kGgsThreads = 256;

/// Sums of up to 64 keys of 64 bits need 70: the upper part, which is all of those of 32-bit keys, and the lower 32.
struct Sum {
  std::uint64_t upper;
  std::uint32_t lower;
};

template <class Key>
__device__ Sum sum_of(const KeyTable<Key>& table, std::uint32_t row) {
  std::uint64_t upper = 0;
  std::uint64_t lower = 0;
  for (int c = 0; c < table.d; ++c) {
    const Key key = table.columns[c][row];
    if constexpr (sizeof(Key) == 8) {
      upper += key >> 32;
      lower += static_cast<std::uint32_t>(key);
    } else {
      upper += key;
    }
  }
  return {upper + (lower >> 32), static_cast<std::uint32_t>(lower)};
}

template <class Key>
__global__ void __launch_bounds__(kGgsThreads)
    lower_sums(const __grid_constant__ KeyTable<Key> table, std::uint32_t* sums, std::uint32_t* rows) {
  const std::uint32_t row = blockIdx.x * kGgsThreads + threadIdx.x;
  if (row >= table.n) return;
  sums[row] = sum_of(table, row).lower;
  rows[row] = row;
}

constexpr int kUpperBits = 39;  // of 64 keys, with what the lower part carries
constexpr int kRankBits = 17;   // of a sum of 64 ranks

/// Computes the sums of the rows' ranks, and below them the upper parts of those of their keys, in some order, or, with
/// null, in that of the problem, which is written to `rows`.
template <class Key>
__global__ void __launch_bounds__(kGgsThreads)
    upper_sums(const __grid_constant__ KeyTable<Key> table, SampleRanks<Key> ranks, const std::uint32_t* order,
               std::uint64_t* sums, std::uint32_t* rows) {
  const std::uint32_t i = blockIdx.x * kGgsThreads + threadIdx.x;
  if (i >= table.n) return;
  const std::uint32_t row = order != nullptr ? order[i] : i;
  std::uint64_t of_ranks = 0;
  for (int c = 0; c < table.d; ++c) of_ranks += ranks.rank_of(c, table.columns[c][row]);
  sums[i] = of_ranks << kUpperBits | sum_of(table, row).upper;
  if (order == nullptr) rows[i] = row;
}

/// Row ids in the order of their sums, and the sums.
struct OrderBySum {
  Buffer<std::uint64_t> sums;
  Buffer<std::uint32_t> rows;
};

template <class Key>
OrderBySum sort_by_sum(SkylineRun& run, const KeyTable<Key>& table) {
  const Buffer<Key> sample = sample_ranks(run, table);
  const std::size_t n = table.n;
  const Grid blocks{.blocks = blocks_for(n, kGgsThreads), .threads = kGgsThreads};
  auto rows = run.allocate<std::uint32_t>(n);
  const bool two_parts = sizeof(Key) == 8;
  if (two_parts) {
    auto lower = run.allocate<std::uint32_t>(n);
    launch("lower_sums", lower_sums<Key>, blocks, run.stream(), table, lower.data(), rows.data());
    sort_pairs(lower, rows, run.device, 32);
  }
  auto upper = run.allocate<std::uint64_t>(n);
  launch("upper_sums", upper_sums<Key>, blocks, run.stream(), table, SampleRanks<Key>{sample.data()},
         two_parts ? rows.data() : nullptr, upper.data(), rows.data());
  sort_pairs(upper, rows, run.device, kUpperBits + kRankBits);
  return {std::move(upper), std::move(rows)};
}

/// Rows in the order of their sums.
template <class Key>
struct SumRows {
  std::uint64_t* sums;  ///< the output of upper_sums
  std::uint32_t* rows;  ///< row ids of the problem
  Key* keys;            ///< keys of each row side by side, as many as padded_dims says
};

template <class Key>
__global__ void __launch_bounds__(kGgsThreads)
    gather(const __grid_constant__ KeyTable<Key> table, const std::uint32_t* rows, Key* keys) {
  const std::uint32_t i = blockIdx.x * kGgsThreads + threadIdx.x;
  if (i >= table.n) return;
  copy_row(table, rows[i], keys + std::size_t{i} * static_cast<unsigned>(padded_dims<Key>(table.d)), [](int, Key) {});
}

/// One round's part of what the rounds share.
template <class Key>
struct Round {
  SumRows<Key> rows;
  const std::uint32_t* count;
  std::uint32_t alpha;
  std::uint32_t* boundary;   ///< set to the number of rows compared with
  std::uint32_t* dominated;  ///< a bit for each row
  TestCounters* counters;
  int stride;
};

template <class Key, int kDims, bool kCount>
__global__ void __launch_bounds__(kGgsThreads) compare_with_first(const __grid_constant__ Round<Key> round) {
  const std::uint32_t count = *round.count;
  const std::uint32_t candidates = min(round.alpha, count);
  if (blockIdx.x == 0 && threadIdx.x == 0) *round.boundary = candidates;
  const std::uint32_t i = blockIdx.x * kGgsThreads + threadIdx.x;
  if (i / 32 * 32 >= count) return;
  const bool there = i < count;
  const std::uint32_t end = there ? min(candidates, i) : 0;
  OwnRow<Key, kDims> own;
  own.load(round.rows.keys + std::size_t{there ? i : 0} * static_cast<unsigned>(round.stride), round.stride);
  const std::uint64_t sum = round.rows.sums[there ? i : 0];
  bool dominated = false;
  std::uint32_t j = 0;
  for (; j < end && !dominated; ++j) {
    const Key* const other = round.rows.keys + std::size_t{j} * static_cast<unsigned>(round.stride);
    dominated = at_least_as_good(other, own) && (round.rows.sums[j] != sum || differs(other, own));
  }
  if constexpr (kCount) atomicAdd(&round.counters->dominance_tests, static_cast<unsigned long long>(j));
  const std::uint32_t word = __ballot_sync(~0u, static_cast<int>(dominated));
  if (threadIdx.x % 32 == 0) round.dominated[i / 32] = word;
}

/// Rows of a tile in shared memory.
constexpr std::uint32_t kTileRows = 32;

/// The same as first published (Bøgh, Assent, Magnani, DaMoN 2013): the block copies the rows that it compares with to
/// shared memory, tile by tile; loops over the columns stay loops, and a dominance test looks at all columns.
template <class Key, bool kCount>
__global__ void __launch_bounds__(kGgsThreads) compare_in_tiles(const __grid_constant__ Round<Key> round, int d) {
  Key* const tile = dynamic_shared<Key>();
  const std::uint32_t count = *round.count;
  const std::uint32_t candidates = min(round.alpha, count);
  if (blockIdx.x == 0 && threadIdx.x == 0) *round.boundary = candidates;
  const std::uint32_t i = blockIdx.x * kGgsThreads + threadIdx.x;
  const std::uint32_t end = i < count ? min(candidates, i) : 0;
  const auto stride = static_cast<unsigned>(round.stride);
  const Key* const own = round.rows.keys + std::size_t{i < count ? i : 0} * stride;
  bool dominated = false;
  std::uint32_t tests = 0;
  for (std::uint32_t begin = 0; begin < candidates; begin += kTileRows) {
    const std::uint32_t rows = min(kTileRows, candidates - begin);
    for (std::uint32_t place = threadIdx.x; place < rows * stride; place += kGgsThreads) {
      tile[place] = round.rows.keys[std::size_t{begin} * stride + place];
    }
    __syncthreads();
    for (std::uint32_t j = 0; j < rows && begin + j < end && !dominated; ++j) {
      const Key* const other = tile + j * stride;
      bool worse = false;
      bool better = false;
#pragma unroll 1
      for (int c = 0; c < d; ++c) {
        worse |= other[c] > own[c];
        better |= other[c] < own[c];
      }
      dominated = better && !worse;
      ++tests;
    }
    if (__syncthreads_and(static_cast<int>(dominated || begin + kTileRows >= end)) != 0) break;
  }
  if constexpr (kCount) atomicAdd(&round.counters->dominance_tests, static_cast<unsigned long long>(tests));
  const std::uint32_t word = __ballot_sync(~0u, static_cast<int>(dominated));
  if (threadIdx.x % 32 == 0 && i < count) round.dominated[i / 32] = word;
}

/// Marks what is left of the first rows as the skyline's and moves the others together.
template <class Key>
__global__ void __launch_bounds__(kGgsThreads)
    repack(const __grid_constant__ Round<Key> round, Ranks ranks, SumRows<Key> to, std::uint32_t* members) {
  const std::uint32_t i = blockIdx.x * kGgsThreads + threadIdx.x;
  if (i >= *round.count || (round.dominated[i / 32] >> (i % 32) & 1u) != 0) return;
  const std::uint32_t row = round.rows.rows[i];
  if (i < *round.boundary) {
    atomicOr(members + row / 32, 1u << (row % 32));
    return;
  }
  const std::uint32_t place = ranks.of(i);
  to.rows[place] = row;
  to.sums[place] = round.rows.sums[i];
  const Key* const from = round.rows.keys + std::size_t{i} * static_cast<unsigned>(round.stride);
  Key* const keys = to.keys + std::size_t{place} * static_cast<unsigned>(round.stride);
  for (int c = 0; c < round.stride; c += kChunkKeys<Key>) store_chunk(keys + c, load_chunk(from + c));
}

template <class Key, bool kCount>
auto compare_for(int stride) {
  if constexpr (sizeof(Key) == 4) {
    switch (stride) {
      case 4: return compare_with_first<Key, 4, kCount>;
      case 8: return compare_with_first<Key, 8, kCount>;
      case 12: return compare_with_first<Key, 12, kCount>;
      case 16: return compare_with_first<Key, 16, kCount>;
      default: break;
    }
  }
  return compare_with_first<Key, 0, kCount>;
}

struct Ggs {
  template <class Key>
  static void find(SkylineRun& run, const KeyTable<Key>& table, std::uint32_t* members) {
    const std::size_t n = table.n;
    const int stride = padded_dims<Key>(table.d);
    const std::size_t row_keys = n * static_cast<std::size_t>(stride);
    const OrderBySum sorted = sort_by_sum(run, table);
    run.end_stage("sort");
    const auto other_sums = run.allocate<std::uint64_t>(n);
    const auto other_rows = run.allocate<std::uint32_t>(n);
    const auto keys = run.allocate<Key>(row_keys);
    const auto other_keys = run.allocate<Key>(row_keys);
    launch("gather", gather<Key>, {.blocks = blocks_for(n, kGgsThreads), .threads = kGgsThreads}, run.stream(), table,
           sorted.rows.data(), keys.data());
    run.end_stage("gather");

    const std::size_t words = words_for_ranks(n);
    const auto bits = run.allocate<std::uint32_t>(3 * words + 3);
    std::uint32_t* const dominated = bits.data();
    const Ranks ranks{dominated + words, dominated + 2 * words};
    std::uint32_t* counts[2] = {dominated + 3 * words, dominated + 3 * words + 1};
    std::uint32_t left = table.n;
    SKYRANK_CUDA_CALL(cudaMemcpyAsync(counts[0], &left, sizeof(left), cudaMemcpyHostToDevice, run.stream()));
    Round<Key> round{.rows = {sorted.sums.data(), sorted.rows.data(), keys.data()},
                     .count = counts[0],
                     .alpha = static_cast<std::uint32_t>(run.parameters["alpha"]),
                     .boundary = counts[1] + 1,
                     .dominated = dominated,
                     .counters = run.counters(),
                     .stride = stride};
    SumRows<Key> to{other_sums.data(), other_rows.data(), other_keys.data()};
    const auto kernel = run.counts() ? compare_for<Key, true>(stride) : compare_for<Key, false>(stride);
    const auto in_tiles = run.counts() ? compare_in_tiles<Key, true> : compare_in_tiles<Key, false>;
    const bool optimised = run.parameters["optimised"] != 0;
    while (left > 0) {
      const Grid blocks{.blocks = blocks_for(left, kGgsThreads), .threads = kGgsThreads};
      if (optimised) {
        launch("compare_with_first", kernel, blocks, run.stream(), round);
      } else {
        Grid with_tiles = blocks;
        with_tiles.shared_bytes = kTileRows * static_cast<std::size_t>(stride) * sizeof(Key);
        launch("compare_in_tiles", in_tiles, with_tiles, run.stream(), round, table.d);
      }
      rank_bits({.words = dominated, .zeros = true, .first = round.boundary, .size = counts[0]}, dominated + words,
                dominated + 2 * words, counts[1], run.device);
      launch("repack", repack<Key>, blocks, run.stream(), round, ranks, to, members);
      std::swap(round.rows, to);
      std::swap(counts[0], counts[1]);
      round.count = counts[0];
      // The device alone knows whether there is another round.
      SKYRANK_CUDA_CALL(cudaMemcpyAsync(&left, counts[0], sizeof(left), cudaMemcpyDeviceToHost, run.stream()));
      run.device.synchronize();
      run.context.check();
    }
    run.end_stage("rounds");
    if (run.counts()) run.count(2 * row_keys * sizeof(Key), row_keys * sizeof(Key), n);
  }
};

constexpr Parameter kParameters[] = {
    {"alpha", "rows that all others are compared with in one round", 32, 65536, 1024},
    {"optimised", "0: tiles in shared memory, no unrolled loops, full dominance tests, as first published", 0, 1, 1},
};

}  // namespace

extern const SkylineAlgorithm ggs;
const SkylineAlgorithm ggs{
    .name = "cuda-ggs",
    .summary = "rows by the sum of their keys, all compared with the first of them, round by round",
    .source =
        "Bøgh, Assent, Magnani: Efficient GPU-based Skyline Computation, DaMoN 2013; optimised as in Bøgh, Chester, "
        "Assent, PVLDB 8(9), 2015, section 6.1",
    .device = Device::cuda,
    .parameters = kParameters,
    .supports = supports_flat_pareto,
    .run = solve_skyline<Ggs>,
    .variants = {.resident = find_skyline<Ggs>},
};

}  // namespace skyrank::kernels::cuda::skyline
