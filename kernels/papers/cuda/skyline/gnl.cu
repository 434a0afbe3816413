#include <algorithm>

#include "kernels/cuda/device/kernel/shared.cuh"
#include "kernels/cuda/device/launch.cuh"
#include "kernels/cuda/skyline/solve.cuh"

// The nested loop of a thread for every row (Choi, Liu, Yu, IRI 2012; Bøgh et al., PVLDB 2015, section 3.1): no order,
// no masks, no synchronisation. A thread compares its row with the half of the rows that follows it, round the end to
// the beginning, and marks whichever of the two is dominated, so that every pair is met once. A bit takes the place of
// the counter.
//
// A thread stops once its row is dominated. That loses nothing: whatever its row would have dominated is dominated by
// some row of the skyline, which never stops, and meets it.
namespace skyrank::kernels::cuda::skyline {
namespace {

constexpr unsigned kGnlThreads = 128;
constexpr unsigned kTile = 32;  ///< rows in shared memory that all threads of a block compare theirs with

/// Pairs that one launch may have to compare: some tenths of a second.
constexpr std::size_t kPairsOfLaunch = std::size_t{1} << 37;

__device__ bool is_set(const std::uint32_t* bits, std::uint32_t i) {
  return (*static_cast<const volatile std::uint32_t*>(bits + i / 32) >> (i % 32) & 1u) != 0;
}

__device__ void set(std::uint32_t* bits, std::uint32_t i) { atomicOr(bits + i / 32, 1u << (i % 32)); }

/// For the rows of the blocks from `first_block` on.
template <class Key, bool kCount>
__global__ void __launch_bounds__(kGnlThreads)
    compare_half(const __grid_constant__ KeyTable<Key> table, std::uint32_t first_block, std::uint32_t* dominated,
                 TestCounters* counters) {
  const int d = table.d;
  auto* const own = dynamic_shared<Key>();                            // key c of thread t at [c * kGnlThreads + t]
  Key* const tile = own + static_cast<std::size_t>(d) * kGnlThreads;  // key c of row j at [c * kTile + j]
  const std::uint32_t n = table.n;
  const std::uint32_t block_row = (first_block + blockIdx.x) * kGnlThreads;
  const std::uint32_t row = block_row + threadIdx.x;
  const std::uint32_t half = n / 2;  // a row's half: the next ones, as many as this
  bool alive = row < n;
  for (int c = 0; c < d; ++c) own[c * kGnlThreads + threadIdx.x] = alive ? table.columns[c][row] : Key{0};
  unsigned long long tests = 0;
  // Rows behind the block's first one, as far as the half of its last one reaches.
  const std::uint32_t end = half + kGnlThreads;
  for (std::uint32_t begin = 1; begin < end; begin += kTile) {
    alive = alive && !is_set(dominated, row);
    // Also: the last tile has been read.
    if (__syncthreads_or(static_cast<int>(alive)) == 0) break;
    for (unsigned i = threadIdx.x; i < static_cast<unsigned>(d) * kTile; i += kGnlThreads) {
      const std::uint64_t other = (std::uint64_t{block_row} + begin + i % kTile) % n;
      tile[i] = table.columns[i / kTile][other];
    }
    __syncthreads();
    for (unsigned j = 0; alive && j < kTile; ++j) {
      const std::uint32_t distance = begin + j - threadIdx.x;  // wraps to a large number where the row is not behind
      if (distance - 1 >= half) continue;
      bool better = false;
      bool worse = false;
      for (int c = 0; c < d && !(better && worse); ++c) {
        const Key mine = own[c * kGnlThreads + threadIdx.x];
        const Key its = tile[c * kTile + j];
        better |= mine < its;
        worse |= mine > its;
      }
      if constexpr (kCount) ++tests;
      if (better == worse) continue;
      if (better) {
        set(dominated, static_cast<std::uint32_t>((std::uint64_t{row} + distance) % n));
      } else {
        set(dominated, row);
        alive = false;
      }
    }
  }
  if constexpr (kCount) atomicAdd(&counters->dominance_tests, tests);
}

__global__ void complement(const std::uint32_t* dominated, std::uint32_t n, std::uint32_t* members) {
  const std::uint32_t word = blockIdx.x * blockDim.x + threadIdx.x;
  if (word >= (n + 31) / 32) return;
  const std::uint32_t last = n % 32;
  const std::uint32_t rows = word == n / 32 && last != 0 ? (1u << last) - 1 : ~0u;
  members[word] = ~dominated[word] & rows;
}

struct Gnl {
  template <class Key>
  static void find(SkylineRun& run, const KeyTable<Key>& table, std::uint32_t* members) {
    const std::size_t n = table.n;
    const std::size_t words = (n + 31) / 32;
    const auto dominated = run.allocate<std::uint32_t>(words);
    SKYRANK_CUDA_CALL(cudaMemsetAsync(dominated.data(), 0, dominated.bytes(), run.stream()));
    const auto kernel = run.counts() ? compare_half<Key, true> : compare_half<Key, false>;
    const std::size_t shared = static_cast<std::size_t>(table.d) * (kGnlThreads + kTile) * sizeof(Key);
    const std::size_t blocks = blocks_for(n, kGnlThreads);
    const std::size_t step = std::max<std::size_t>(1, kPairsOfLaunch / n / kGnlThreads);
    for (std::size_t first = 0; first < blocks; first += step) {
      launch("compare_half", kernel,
             {.blocks = std::min(step, blocks - first), .threads = kGnlThreads, .shared_bytes = shared}, run.stream(),
             table, static_cast<std::uint32_t>(first), dominated.data(), run.counters());
      run.pace();
    }
    launch("complement", complement, {.blocks = blocks_for(words, 256)}, run.stream(), dominated.data(), table.n,
           members);
    if (run.counts()) run.count(n * static_cast<std::size_t>(table.d) * sizeof(Key), words * 8, n);
    run.end_stage("nested loop");
  }
};

}  // namespace

extern const SkylineAlgorithm gnl;
const SkylineAlgorithm gnl{
    .name = "cuda-gnl",
    .summary = "a thread for every row compares it with half of all others",
    .source =
        "Choi, Liu, Yu: Multi-criteria Decision Making with Skyline Computation, IRI 2012; "
        "Bøgh, Chester, Assent, PVLDB 8(9), 2015, section 3.1",
    .device = Device::cuda,
    .parameters = {},
    .supports = supports_flat_pareto,
    .run = solve_skyline<Gnl>,
    .variants = {.resident = find_skyline<Gnl>},
};

}  // namespace skyrank::kernels::cuda::skyline
