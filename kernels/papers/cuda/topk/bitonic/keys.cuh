#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/cuda/device/kernel/shared.cuh"
#include "kernels/cuda/device/launch.cuh"
#include "kernels/papers/cuda/topk/bitonic/keys.hpp"

// The first reduction on bare keys, half as wide as elements: a block's network finds the k-th least key of a tile, and
// the threads, which still have the tile's keys in registers, tell which rows have the k least. Rows of equal keys are
// counted in their order, so what is kept, and the time it takes, is the same as if the rows had gone along.
namespace skyrank::kernels::cuda::topk::network {

inline constexpr unsigned kAllLanes = 0xffffffff;

/// The keys of a thread's rows. A warp has consecutive rows; of these its threads take `kWide` neighbouring ones at a
/// time, one thread after the other.
template <class Key>
struct ThreadKeys {
  static constexpr int kWide = 16 / static_cast<int>(sizeof(Key));
  static constexpr int kChunks = kKeysOfThread / kWide;
  struct alignas(16) Wide {
    Key keys[kWide];
  };

  Key keys[kKeysOfThread];
  std::size_t tile;  ///< its first row
  unsigned rows;     ///< rows of the tile, fewer in the last one
  unsigned first;    ///< the thread's first row, counted from the tile's

  __device__ ThreadKeys(std::size_t first_of_tile, std::size_t rows_of_tile)
      : tile(first_of_tile),
        rows(static_cast<unsigned>(rows_of_tile)),
        first((threadIdx.x / 32) * (32 * kKeysOfThread) + (threadIdx.x % 32) * kWide) {}

  __device__ unsigned place(int j) const { return first + (j / kWide) * (32 * kWide) + j % kWide; }
  __device__ std::size_t row(int j) const { return tile + place(j); }
  __device__ bool exists(int j) const { return place(j) < rows; }

  /// Rows that do not exist have the greatest key. `wide`: all exist, and keys can be read 16 bytes at a time.
  __device__ void load(const Key* all, bool wide) {
    if (wide) {
#pragma unroll
      for (int chunk = 0; chunk < kChunks; ++chunk) {
        const Wide read = *reinterpret_cast<const Wide*>(all + row(chunk * kWide));
#pragma unroll
        for (int i = 0; i < kWide; ++i) keys[chunk * kWide + i] = read.keys[i];
      }
    } else {
#pragma unroll
      for (int j = 0; j < kKeysOfThread; ++j) keys[j] = exists(j) ? all[row(j)] : static_cast<Key>(~Key{0});
    }
  }
};

/// How many of a block's rows come before a thread's, and how many there are, of two kinds: those with keys below the
/// k-th, in any order, and those that tie with it, in the order of rows (chunk by chunk).
template <int kChunks>
struct Ranks {
  unsigned less = 0;
  unsigned all_less = 0;
  unsigned ties[kChunks];
  unsigned all_ties = 0;
};

/// Sums over the lanes up to and including each one.
template <class Word>
__device__ Word inclusive_sum(Word value) {
  const unsigned lane = threadIdx.x % 32;
#pragma unroll
  for (unsigned distance = 1; distance < 32; distance *= 2) {
    const Word below = __shfl_up_sync(kAllLanes, value, distance);
    if (lane >= distance) value += below;
  }
  return value;
}

/// `warps` has room for two numbers of each warp. All threads of the block call this.
template <int kChunks>
__device__ Ranks<kChunks> rank_in_block(unsigned less, const unsigned (&ties)[kChunks], unsigned* warps) {
  // One byte a chunk: a warp has at most 128 rows of one.
  using Packed = std::conditional_t<kChunks <= 4, unsigned, unsigned long long>;
  Packed packed = 0;
#pragma unroll
  for (int chunk = 0; chunk < kChunks; ++chunk) packed |= static_cast<Packed>(ties[chunk]) << (8 * chunk);
  const unsigned less_here = inclusive_sum(less);
  const Packed ties_here = inclusive_sum(packed);
  const Packed ties_of_warp = __shfl_sync(kAllLanes, ties_here, 31);
  const auto byte = [](Packed word, int chunk) { return static_cast<unsigned>(word >> (8 * chunk)) & 0xff; };

  Ranks<kChunks> ranks;
  unsigned before = 0;
#pragma unroll
  for (int chunk = 0; chunk < kChunks; ++chunk) {
    ranks.ties[chunk] = before + byte(ties_here, chunk) - ties[chunk];
    before += byte(ties_of_warp, chunk);
  }
  ranks.less = less_here - less;

  const unsigned warp = threadIdx.x / 32;
  const unsigned count = blockDim.x / 32;
  if (threadIdx.x % 32 == 31) {
    warps[2 * warp] = less_here;
    warps[2 * warp + 1] = before;
  }
  __syncthreads();
  for (unsigned other = 0; other < count; ++other) {
    const unsigned other_less = warps[2 * other];
    const unsigned other_ties = warps[2 * other + 1];
    ranks.all_less += other_less;
    ranks.all_ties += other_ties;
    if (other >= warp) continue;
    ranks.less += other_less;
#pragma unroll
    for (int chunk = 0; chunk < kChunks; ++chunk) ranks.ties[chunk] += other_ties;
  }
  return ranks;
}

/// Writes the k least elements of the block's tile to `out`, in any order, and kNoElement where there are fewer.
template <class E, class Key = typename E::Key>
__device__ void write_least(const E& elements, const ThreadKeys<Key>& mine, Key kth, unsigned k, unsigned* warps,
                            typename E::Element* out) {
  constexpr int kChunks = ThreadKeys<Key>::kChunks;
  constexpr int kWide = ThreadKeys<Key>::kWide;
  unsigned less = 0;
  unsigned ties[kChunks] = {};
#pragma unroll
  for (int j = 0; j < kKeysOfThread; ++j) {
    less += mine.keys[j] < kth ? 1 : 0;
    ties[j / kWide] += mine.keys[j] == kth && mine.exists(j) ? 1 : 0;
  }
  Ranks<kChunks> ranks = rank_in_block<kChunks>(less, ties, warps);
  const unsigned wanted = k - ranks.all_less;
  const unsigned taken = wanted < ranks.all_ties ? wanted : ranks.all_ties;
  // The first of the rows that tie, in the order of elements.
  const unsigned skipped = elements.complement == 0 ? 0 : ranks.all_ties - taken;
#pragma unroll
  for (int j = 0; j < kKeysOfThread; ++j) {
    const bool is_less = mine.keys[j] < kth;
    const bool is_tie = mine.keys[j] == kth && mine.exists(j);
    const unsigned tie = ranks.ties[j / kWide] - skipped;
    if (is_less || (is_tie && tie < taken)) {
      out[is_less ? ranks.less : ranks.all_less + tie] = elements.of(mine.keys[j], mine.row(j));
    }
    ranks.less += is_less ? 1 : 0;
    ranks.ties[j / kWide] += is_tie ? 1 : 0;
  }
  for (unsigned i = ranks.all_less + taken + threadIdx.x; i < k; i += blockDim.x) {
    out[i] = kNoElement<typename E::Element>;
  }
}

/// The network of one run length, known when the kernel is compiled: sorts the runs of a tile, merges them all and
/// rebuilds the last one.
template <class KeyT, int kRunBits>
struct KeyNetwork {
  using Key = KeyT;
  static constexpr Sizes kSizes = sizes_of_keys(std::size_t{1} << kRunBits, sizeof(Key));
  static constexpr Operators kOperators{.sort = true, .merges = kSizes.tile_bits - kRunBits, .rebuild = true};
  static constexpr Plan kPlan = make_plan(kSizes, kOperators, {.chunk_permutation = false});
  static constexpr unsigned kThreads = 1u << (kSizes.tile_bits - kSizes.element_bits);
  static constexpr unsigned kPlaces = place_of_key((1u << kSizes.tile_bits) - 1, sizeof(Key)) + 1;
  /// Blocks of a multiprocessor, for the compiler: threads may have 64 registers, with long keys 128.
  static constexpr unsigned kBlocks = 4096 / sizeof(Key) / kThreads;

  SKYRANK_HD static constexpr unsigned place(unsigned index) { return place_of_key(index, sizeof(Key)); }
};

/// Keys of descending runs are kept as their complements, which ascend, so that a step is a minimum and a maximum
/// whatever the direction: bit `domain` of a key's index tells whether it is complemented. Directions that differ only
/// between a thread's registers need no complements, since the compiler knows them.
inline constexpr int kPlain = -1;

/// The domain in which a step is done, if keys are in `domain` before.
SKYRANK_HD constexpr int domain_of(const Step& step, unsigned mask, int domain, int tile_bits) {
  if (step.merge || step.run >= tile_bits) return domain;
  if (domain == kPlain && (mask & (1u << step.run)) != 0) return kPlain;
  return step.run;
}

/// The domain of the keys in shared memory before a pass.
SKYRANK_HD constexpr int domain_before(const Plan& plan, int pass) {
  int domain = kPlain;
  for (int i = 0; i < pass; ++i) {
    unsigned mask = plan.passes[i].mask;
    for (int at = plan.passes[i].first_step; at < plan.passes[i].first_step + plan.passes[i].steps; ++at) {
      const Step& step = plan.steps[at];
      domain = step.merge ? kPlain : domain_of(step, mask, domain, plan.tile_bits);
      if (step.merge) mask &= ~(1u << step.bit);
    }
  }
  return domain;
}

/// All ones or zero: what a key is combined with, for one bit of its index.
template <class Key, unsigned kMask>
__device__ __forceinline__ Key complement_of(int bit, unsigned index, int j) {
  if (bit == kPlain) return 0;
  const unsigned set = (kMask >> bit) & 1 ? static_cast<unsigned>(j) >> place_of(bit, kMask) : index >> bit;
  return static_cast<Key>(Key{0} - static_cast<Key>(set & 1));
}

template <unsigned kMask, int kFrom, int kTo, int kCount, class Key>
__device__ __forceinline__ void change_domain(Key (&v)[kCount], unsigned index) {
  if constexpr (kFrom != kTo) {
#pragma unroll
    for (int j = 0; j < kCount; ++j) {
      v[j] ^= complement_of<Key, kMask>(kFrom, index, j) ^ complement_of<Key, kMask>(kTo, index, j);
    }
  }
}

/// A thread's part of a pass from step kStep on; `index` has the bits of its keys' indices that are not in kMask.
template <class Network, int kPass, int kStep, unsigned kMask, int kDomain, int kCount>
__device__ __forceinline__ void work_on_keys(typename Network::Key (&v)[kCount], unsigned index,
                                             typename Network::Key* shared) {
  using Key = typename Network::Key;
  constexpr Pass kNow = Network::kPlan.passes[kPass];
  if constexpr (kStep == kNow.first_step + kNow.steps) {
    Key* const mine = shared + Network::place(index);
#pragma unroll
    for (int j = 0; j < kCount; ++j) mine[Network::place(deposit(static_cast<unsigned>(j), kMask))] = v[j];
  } else {
    constexpr Step kThis = Network::kPlan.steps[kStep];
    constexpr int kPlace = place_of(kThis.bit, kMask);
    if constexpr (kThis.merge) {
      static_assert(kDomain == kPlain || kDomain == kThis.bit);
      Key least[kCount / 2];
#pragma unroll
      for (int i = 0; i < kCount / 2; ++i) {
        constexpr int kLow = (1 << kPlace) - 1;
        const int first = ((i & ~kLow) << 1) | (i & kLow);
        const Key other = v[first | (1 << kPlace)];
        least[i] = min(v[first], kDomain == kPlain ? other : static_cast<Key>(~other));
      }
      work_on_keys<Network, kPass, kStep + 1, kMask & ~(1u << kThis.bit), kPlain>(least, index, shared);
    } else {
      constexpr int kNext = domain_of(kThis, kMask, kDomain, Network::kPlan.tile_bits);
      change_domain<kMask, kDomain, kNext>(v, index);
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        if (((i >> kPlace) & 1) != 0) continue;
        const bool varies = kNext == kPlain && ((kMask >> kThis.run) & 1) != 0;
        const bool down = varies && ((i >> place_of(kThis.run, kMask)) & 1) != 0;
        const Key a = v[i];
        const Key b = v[i | (1 << kPlace)];
        v[i] = down ? max(a, b) : min(a, b);
        v[i | (1 << kPlace)] = down ? min(a, b) : max(a, b);
      }
      work_on_keys<Network, kPass, kStep + 1, kMask, kNext>(v, index, shared);
    }
  }
}

/// The passes of a network from kPass on, on keys in shared memory.
template <class Network, int kPass>
__device__ __forceinline__ void run_passes(typename Network::Key* shared) {
  if constexpr (kPass < Network::kPlan.pass_count) {
    constexpr Pass kNow = Network::kPlan.passes[kPass];
    constexpr int kCount = 1 << place_of(16, kNow.mask);
    constexpr unsigned kGroups = (1u << place_of(16, kNow.live)) / kCount;
    for (unsigned group = threadIdx.x; group < kGroups; group += Network::kThreads) {
      const unsigned index = deposit(group, kNow.live & ~unsigned{kNow.mask});
      const typename Network::Key* const mine = shared + Network::place(index);
      typename Network::Key v[kCount];
#pragma unroll
      for (int j = 0; j < kCount; ++j) v[j] = mine[Network::place(deposit(static_cast<unsigned>(j), kNow.mask))];
      constexpr int kDomain = domain_before(Network::kPlan, kPass);
      work_on_keys<Network, kPass, kNow.first_step, kNow.mask, kDomain>(v, index, shared);
    }
    __syncthreads();
    run_passes<Network, kPass + 1>(shared);
  }
}

/// The k least elements of each tile of n rows, in no order. `aligned`: keys can be read 16 bytes at a time.
template <class E, class Network>
__global__ void __launch_bounds__(Network::kThreads, Network::kBlocks)
    least_of_tile(E elements, std::size_t n, bool aligned, unsigned k, typename E::Element* out) {
  using Key = typename E::Key;
  constexpr Plan kPlan = Network::kPlan;
  auto* const shared = dynamic_shared<Key>();
  __shared__ unsigned warps[2 * (Network::kThreads / 32)];
  const std::size_t first = std::size_t{blockIdx.x} << kPlan.tile_bits;
  constexpr std::size_t kTile = std::size_t{1} << kPlan.tile_bits;
  ThreadKeys<Key> mine(first, n - first < kTile ? n - first : kTile);
  mine.load(elements.keys, aligned && mine.rows == kTile);
  {
    constexpr Pass kFirst = kPlan.passes[0];
    Key v[kKeysOfThread];
#pragma unroll
    for (int j = 0; j < kKeysOfThread; ++j) v[j] = mine.keys[j];
    const unsigned index = deposit(threadIdx.x, kFirst.live & ~unsigned{kFirst.mask});
    work_on_keys<Network, 0, 0, kFirst.mask, kPlain>(v, index, shared);
  }
  __syncthreads();
  run_passes<Network, 1>(shared);
  const Key kth = shared[Network::place(k - 1)];
  write_least(elements, mine, kth, k, warps, out + std::size_t{blockIdx.x} * k);
}

/// Launches the kernel that is compiled for run_bits.
template <int kRunBits, class E>
void launch_least(cudaStream_t stream, int run_bits, const Unsorted<E>& rows, std::size_t tiles, std::size_t k,
                  typename E::Element* out) {
  if constexpr (kRunBits < kMaxRunBits) {
    if (run_bits != kRunBits) return launch_least<kRunBits + 1>(stream, run_bits, rows, tiles, k, out);
  }
  using Network = KeyNetwork<typename E::Key, kRunBits>;
  launch("least_of_tiles", least_of_tile<E, Network>,
         {.blocks = tiles, .threads = Network::kThreads, .shared_bytes = Network::kPlaces * sizeof(typename E::Key)},
         stream, rows.elements, rows.n, rows.aligned, static_cast<unsigned>(k), out);
}

template <class E>
void least_of_tiles(cudaStream_t stream, int run_bits, const Unsorted<E>& rows, std::size_t tiles, std::size_t k,
                    typename E::Element* out) {
  launch_least<kShortestKeyRun>(stream, run_bits, rows, tiles, k, out);
}

}  // namespace skyrank::kernels::cuda::topk::network

/// Compiles the kernels for a kind of elements.
#define SKYRANK_INSTANTIATE_LEAST_OF_TILES(E)                                                                 \
  template void skyrank::kernels::cuda::topk::network::least_of_tiles(                                        \
      cudaStream_t, int, const skyrank::kernels::cuda::topk::network::Unsorted<E>&, std::size_t, std::size_t, \
      E::Element*)
