#include <algorithm>
#include <array>

#include "kernels/cuda/device/calls.hpp"
#include "kernels/cuda/device/launch.cuh"
#include "kernels/cuda/device/sort_and_scan.hpp"
#include "kernels/cuda/skyline/bitmap/candidates.cuh"
#include "kernels/cuda/skyline/bitmap/few.cuh"
#include "kernels/cuda/skyline/bitmap/phases.cuh"
#include "kernels/cuda/skyline/bitmap/prefilter.cuh"
#include "kernels/cuda/skyline/bitmap/reduce.cuh"
#include "kernels/cuda/skyline/two_columns.hpp"

// Skyline by bitmaps over groups of 32 candidates; our own design.
//
// Every dimension is cut at sampled quantiles into 32 levels, one a lane. Of a group of 32 candidates a warp holds, for
// each dimension, in lane l the set of those that are at or below level l: a word. A row's own level then picks a set
// by one shuffle, and the intersection of the d sets contains every candidate of the group that dominates the row. A
// warp does that for 32 rows at once, so that d shuffles, d shifts and d / 2 intersections are 1024 mask tests of 32
// levels in every dimension. What is found meets the row in a dominance test, 32 pairs at a time.
//
// Rows lie in a z-order of their levels: neighbours have similar levels, so that most pairs of groups are skipped by a
// comparison of the least levels of the candidates with the greatest levels of the rows, which is made for 32 groups a
// time, and before that for 32 spans of 32 groups. What a row dominates follows it in this order. Candidates that
// turned out to be dominated are left out from then on.
//
// Before that a prefilter: all rows are scored by the sum of their places among the quantiles, and the 1024 best meet
// all rows as groups of candidates, with thresholds at their own quantiles. There "below a threshold that is below the
// row" is certain dominance, and no test follows. If it leaves few rows, they are compared pair by pair; rows of two
// columns are sorted and swept.
//
// Equal rows never dominate each other, and would only make all their tests fail: a hash below the z-order brings them
// together, and all but the first of them take its fate. Exactness depends neither on hashes nor on samples.
//
// The bitmaps follow Tan, Eng, Ooi: Efficient Progressive Skyline Computation, VLDB 2001, section 3.1, cut into groups
// and coarsened to levels, as in the CPU's blocked-bitmap.
namespace skyrank::kernels::cuda::skyline {
namespace bitmap {
namespace {

/// Dimensions that spare_rows is made for.
constexpr std::array<int, 8> kPrefilterDims = {4, 6, 8, 12, 16, 24, 40, kMaxDims};

template <class Key>
using SpareRows = void (*)(KeyTable<Key>, const Key*, const std::uint32_t*, int, PrefilterState*, Spared<Key>);

template <class Key>
struct Prefilter {
  SpareRows<Key> spare = nullptr;
  int dims = 0;  ///< dimensions that it is made for
};

template <class Key, std::size_t kFirst = 0>
Prefilter<Key> prefilter_for(int d) {
  constexpr int kDims = kPrefilterDims[kFirst];
  if constexpr (kFirst + 1 < kPrefilterDims.size()) {
    if (d > kDims) return prefilter_for<Key, kFirst + 1>(d);
  }
  return {spare_rows<Key, kDims>, kDims};
}

}  // namespace

template <class Key>
Survivors<Key> start_prefilter(SkylineRun& run, const KeyTable<Key>& table, std::uint32_t max_few,
                               std::uint32_t* members) {
  const int few_stride = (table.d + kFewStride - 1) / kFewStride * kFewStride;
  Survivors<Key> survivors{run.allocate<std::uint32_t>(table.n),
                           run.allocate<Key>(static_cast<std::size_t>(few_stride) * kFew),
                           run.allocate<PrefilterState>(1)};
  const Spared<Key> spared{survivors.rows.data(), survivors.few.data(), few_stride};
  PrefilterState* const state = survivors.state.data();
  const auto buffer = run.allocate<Key>(kMaxDims * kLevels);
  Key* const thresholds = buffer.data();
  const auto d = static_cast<std::size_t>(table.d);
  const Prefilter<Key> path = prefilter_for<Key>(table.d);
  const auto scores = run.allocate<std::uint16_t>((std::size_t{table.n} + 7) / 8 * 8);
  const auto elite = run.allocate<std::uint32_t>(kElite);
  const auto slopes = run.allocate<float>(d * kLevels);
  const auto sets = run.allocate<std::uint32_t>(elite_bytes(path.dims, kElite / 32) / sizeof(std::uint32_t));
  SKYRANK_CUDA_CALL(cudaMemsetAsync(state, 0, sizeof(*state), run.stream()));
  launch("cut_dimensions", cut_dimensions<Key>, {.blocks = d, .threads = kSampleRows, .overlaps = can_overlap(run)},
         run.stream(), table, nullptr, table.n, thresholds, slopes.data());
  const auto processors = run.device.properties().multiprocessors;
  const std::size_t tiles = blocks_for(table.n, kRowThreads);
  launch("score_rows", score_rows<Key>,
         {.blocks = std::min(tiles, 2 * processors), .threads = kRowThreads, .overlaps = can_overlap(run)},
         run.stream(), table, thresholds, slopes.data(), scores.data(), state);
  launch("collect_elite", collect_elite,
         {.blocks = blocks_for(table.n, 8 * kMapThreads), .threads = kMapThreads, .overlaps = can_overlap(run)},
         run.stream(), scores.data(), table.n, state, elite.data());
  launch("cut_elite", cut_elite<Key>,
         {.blocks = static_cast<std::size_t>(path.dims), .threads = kElite, .overlaps = can_overlap(run)}, run.stream(),
         table, elite.data(), state, thresholds, sets.data());
  const std::size_t room =
      std::min(PrefilterPolicy::kMaxEliteBytes, run.device.properties().shared_bytes_per_block - kSpareRowsBytes);
  const int blocks = std::min<int>(kElite / 32, static_cast<int>(room / elite_bytes(path.dims, 1)));
  const std::size_t shared = elite_bytes(path.dims, blocks);
  const std::size_t resident = resident_blocks(path.spare, kSpareThreads, shared);
  launch("spare_rows", path.spare,
         {.blocks = std::min(blocks_for(table.n, kSpareThreads), resident * processors),
          .threads = kSpareThreads,
          .shared_bytes = shared,
          .overlaps = can_overlap(run)},
         run.stream(), table, thresholds, sets.data(), blocks, state, spared);
  run.end_stage("prefilter", &state->survivors);
  // Before the host knows whether they are few, so that the device need not wait for it.
  const auto settle = run.counts() ? settle_few<Key, true> : settle_few<Key, false>;
  launch("settle_few", settle, {.blocks = kFewBlocks, .threads = kFewThreads, .overlaps = can_overlap(run)},
         run.stream(), spared, max_few, state, members, run.counters());
  return survivors;
}

template <class Key>
std::uint32_t count_survivors(SkylineRun& run, const Survivors<Key>& survivors) {
  const std::uint32_t count = value_at(&survivors.state.data()->survivors, run.device);
  run.context.check();
  return count;
}

namespace {

/// Sets the members' bits of the rows that nothing dominates.
__global__ void mark_members(const Candidates rows, const std::uint32_t* order, const std::uint32_t* list,
                             std::uint32_t* members) {
  follow_previous();
  const std::uint32_t place = blockIdx.x * blockDim.x + threadIdx.x;
  if (place >= rows.count) return;
  const std::uint32_t head = rows.heads[place];
  if ((*rows.dominated(head / 32) >> (head % 32) & 1u) != 0) return;
  const std::uint32_t id = list == nullptr ? order[place] : list[order[place]];
  atomicOr(&members[id / 32], 1u << (id % 32));
}

/// Counts of what candidates are made of.
template <class Key>
void shape(Candidates& rows, std::uint32_t count, int d) {
  constexpr int kKeysOfVector = 16 / sizeof(Key);
  rows.count = count;
  rows.groups = (count + 31) / 32;
  rows.spans = (rows.groups + kGroupsOfSpan - 1) / kGroupsOfSpan;
  rows.d = d;
  rows.stride = (d + kKeysOfVector - 1) / kKeysOfVector * kKeysOfVector;
  rows.words = level_words(padded_dims(d));
  rows.guarded = guarded_words(padded_dims(d));
  rows.wide = sizeof(Key) == 8;
}

}  // namespace

template <class Key>
OrderedRows order_rows(SkylineRun& run, const KeyTable<Key>& table, const std::uint32_t* list, std::uint32_t count) {
  const auto thresholds = run.allocate<Key>(kMaxDims * kLevels);
  OrderedRows ordered;
  Candidates& rows = ordered.rows;
  shape<Key>(rows, count, table.d);
  const std::size_t keys = std::size_t{count} * static_cast<std::size_t>(rows.stride);
  const std::size_t levels = std::size_t{rows.groups} * 32 * static_cast<std::size_t>(rows.words);
  const std::size_t records = (rows.spans + kSpansOfRecord - 1) / kSpansOfRecord;
  const auto take = [&]<class T>(T*& array, std::size_t size) {
    array = reinterpret_cast<T*>(ordered.memory.emplace_back(run.allocate<std::byte>(size * sizeof(T))).data());
  };
  Key* sorted_keys = nullptr;
  take(sorted_keys, keys);
  rows.rows = sorted_keys;
  take(rows.levels, levels);
  take(rows.maxima, std::size_t{rows.spans} * span_words(rows.guarded));
  take(rows.span_maxima, records * static_cast<std::size_t>(rows.guarded) * kSpansOfRecord);
  take(rows.firsts, rows.groups);
  take(rows.heads, count);
  take(rows.codes, count);
  take(ordered.order, count);
  const auto unsorted_keys = run.allocate<Key>(keys);
  const auto unsorted_levels = run.allocate<std::uint32_t>(levels);
  const auto unsorted_codes = run.allocate<std::uint64_t>(count);
  const auto unsorted_order = run.allocate<std::uint32_t>(count);
  const Unsorted unsorted{unsorted_keys.data(), unsorted_levels.data(), unsorted_codes.data(), unsorted_order.data()};
  launch("cut_dimensions", cut_dimensions<Key>,
         {.blocks = static_cast<std::size_t>(table.d), .threads = kSampleRows, .overlaps = can_overlap(run)},
         run.stream(), table, list, count, thresholds.data(), nullptr);
  launch("code_rows", code_rows<Key>,
         {.blocks = blocks_for(count, kMapThreads), .threads = kMapThreads, .overlaps = can_overlap(run)}, run.stream(),
         table, list, thresholds.data(), rows, unsorted);
  sort_pairs(unsorted.codes, rows.codes, unsorted.order, ordered.order, count, run.device, kCodeBits);
  const std::size_t maxima_bytes = kGroupsOfSpan * static_cast<std::size_t>(rows.guarded) * sizeof(std::uint32_t);
  launch("gather_groups", gather_groups<Key>,
         {.blocks = rows.spans, .threads = kSpanThreads, .shared_bytes = maxima_bytes, .overlaps = can_overlap(run)},
         run.stream(), unsorted, ordered.order, rows);
  run.end_stage("order");
  return ordered;
}

void mark_undominated(SkylineRun& run, const OrderedRows& ordered, const std::uint32_t* list, std::uint32_t* members) {
  launch("mark_members", mark_members,
         {.blocks = blocks_for(ordered.rows.count, kMapThreads), .threads = kMapThreads, .overlaps = can_overlap(run)},
         run.stream(), ordered.rows, ordered.order, list, members);
}

// For team.cu.
template Survivors<std::uint32_t> start_prefilter(SkylineRun& run, const KeyTable<std::uint32_t>& table,
                                                  std::uint32_t max_few, std::uint32_t* members);
template Survivors<std::uint64_t> start_prefilter(SkylineRun& run, const KeyTable<std::uint64_t>& table,
                                                  std::uint32_t max_few, std::uint32_t* members);
template std::uint32_t count_survivors(SkylineRun& run, const Survivors<std::uint32_t>& survivors);
template std::uint32_t count_survivors(SkylineRun& run, const Survivors<std::uint64_t>& survivors);
template OrderedRows order_rows(SkylineRun& run, const KeyTable<std::uint32_t>& table, const std::uint32_t* list,
                                std::uint32_t count);
template OrderedRows order_rows(SkylineRun& run, const KeyTable<std::uint64_t>& table, const std::uint32_t* list,
                                std::uint32_t count);

namespace {

struct BlockedBitmap {
  template <class Key>
  static void find(SkylineRun& run, const KeyTable<Key>& table, std::uint32_t* members) {
    const auto max_few = static_cast<std::uint32_t>(run.parameters["few"]);
    const Survivors<Key> survivors = start_prefilter<Key>(run, table, max_few, members);
    const std::uint32_t count = count_survivors<Key>(run, survivors);
    if (run.counts()) {
      const std::size_t row_bytes = static_cast<std::size_t>(table.d) * sizeof(Key);
      const std::size_t kept_bytes = count * (2 * row_bytes + 64);
      run.count(2 * table.n * row_bytes + kept_bytes, 2 * std::size_t{table.n} + kept_bytes, count);
    }
    if (count <= max_few) return;
    const std::uint32_t* const list = survivors.rows.data();
    if (table.d == 2) return sweep_two_columns<Key>(run, table, list, count, members);
    const OrderedRows ordered = order_rows<Key>(run, table, list, count);
    reduce_groups(run, ordered.rows);
    run.end_stage("reduce");
    mark_undominated(run, ordered, list, members);
  }
};

constexpr Parameter kParameters[] = {
    {"few", "rows left by the prefilter that are compared pair by pair, if no more are left", 0, kFew, kFew},
};

}  // namespace
}  // namespace bitmap

extern const SkylineAlgorithm blocked_bitmap;
const SkylineAlgorithm blocked_bitmap{
    .name = "cuda-blocked-bitmap",
    .summary = "level bitmaps over groups of 32 candidates; the fastest on the GPU",
    .source =
        "own design; bitmaps after Tan, Eng, Ooi: Efficient Progressive Skyline Computation, VLDB 2001, section 3.1",
    .device = Device::cuda,
    .parameters = bitmap::kParameters,
    .supports = supports_flat_pareto,
    .run = solve_skyline<bitmap::BlockedBitmap>,
    .variants = {.resident = find_skyline<bitmap::BlockedBitmap>},
};

}  // namespace skyrank::kernels::cuda::skyline
