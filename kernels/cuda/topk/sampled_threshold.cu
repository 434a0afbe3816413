#include <algorithm>
#include <bit>
#include <cstdint>

#include "kernels/cuda/device/launch.cuh"
#include "kernels/cuda/device/shared.cuh"
#include "kernels/cuda/topk/block_select.cuh"
#include "kernels/cuda/topk/solve.cuh"
#include "kernels/cuda/topk/sort.cuh"
#include "kernels/cuda/topk/threshold_plan.hpp"

// The best path: the keys are read once. A sample gives a threshold that a little more than k elements lie at or below;
// one pass compares every key with it and keeps those elements; the k least of them are the answer (the idea of
// randomized-selection-hpg11, section 5, with one pivot). Elements are distinct, so ties need no care: of equal keys,
// the threshold's row id keeps as many as are wanted. A threshold that kept too few or too many is found out on the
// device, and another algorithm answers.
//
// Floor: n keys read. Besides: 32 bytes for each sampled row, and three reads of some multiple of k elements, by one
// block while these are few.
namespace skyrank::kernels::cuda::topk {
namespace {

constexpr unsigned kSampleThreads = 1024;
constexpr unsigned kScanThreads = 256;
/// 16-byte loads of a thread that are under way at a time. With 2,048 threads on a multiprocessor, 128 KiB.
constexpr unsigned kLoads = 4;
/// Elements that a warp collects before it asks for room among the candidates.
constexpr unsigned kHeld = 128;
/// Most elements that the last block puts in order, for which it has shared memory.
constexpr std::size_t kMostOfBlock = 4096;
/// Up to so many rows need no sample: one block selects among all of them.
constexpr std::size_t kFewRows = 8192;
/// Bytes of candidates that the last block has in its shared memory. More are read from where they are.
constexpr std::size_t kStagedBytes = 144 * 1024;

/// What the kernels hand on to each other.
template <class ElementT>
struct State {
  using Element = ElementT;
  unsigned failed;
  unsigned blocks_done;
  unsigned long long candidates;
  Element threshold;
};

/// A place in the i-th of `count` equal stretches of n rows: any order of the rows is as good as a random one, as long
/// as a block's stretches lie all over them.
__device__ std::size_t sampled_row(std::size_t i, std::size_t count, std::size_t n) {
  const std::uint64_t length = n / count;
  std::uint64_t x = (i + 1) * 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return i * length + __umul64hi(x ^ (x >> 31), length);
}

/// Each block hands on the least elements of its part of the sample; the last one to finish takes the threshold from
/// all of those.
template <class E>
__global__ void __launch_bounds__(kSampleThreads)
    find_threshold(E elements, std::size_t n, unsigned kept_of_block, unsigned rank, State<typename E::Element>* state,
                   typename E::Element* kept) {
  using Element = typename E::Element;
  __shared__ Element sample[kSampleOfBlock];
  __shared__ BlockSelect<Element, kSampleThreads> select;
  __shared__ unsigned taken;
  __shared__ bool last;
  const std::size_t all = std::size_t{gridDim.x} * kSampleOfBlock;
  SetBits<Element> bits;
#pragma unroll
  for (unsigned i = threadIdx.x; i < kSampleOfBlock; i += kSampleThreads) {
    const Element element = elements.at(sampled_row(std::size_t{i} * gridDim.x + blockIdx.x, all, n));
    bits.add(element);
    sample[i] = element;
  }
  if (threadIdx.x == 0) taken = 0;
  __syncthreads();
  const Element bound = select.kth(sample, kSampleOfBlock, kept_of_block, bits);
  for (unsigned i = threadIdx.x; i < kSampleOfBlock; i += kSampleThreads) {
    if (sample[i] <= bound) kept[blockIdx.x * kept_of_block + atomicAdd(&taken, 1u)] = sample[i];
  }
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) last = atomicAdd(&state->blocks_done, 1u) == gridDim.x - 1;
  __syncthreads();
  if (!last) return;
  __threadfence();
  const unsigned count = gridDim.x * kept_of_block;
  const bool fits = count <= kSampleOfBlock;
  bits = {};
  for (unsigned i = threadIdx.x; i < count; i += kSampleThreads) {
    bits.add(kept[i]);
    if (fits) sample[i] = kept[i];
  }
  __syncthreads();
  const Element threshold = select.kth(fits ? sample : kept, count, rank, bits);
  if (threadIdx.x == 0) state->threshold = threshold;
}

/// What one warp has found, and where it goes. All lanes call, with the same `held`.
template <class Element>
struct Collector {
  Element* buffer;  ///< kHeld elements of shared memory
  Element* candidates;
  std::size_t capacity;
  unsigned long long* count;
  unsigned held = 0;

  __device__ void add(bool take, Element element) {
    const unsigned votes = __ballot_sync(kAllLanes, take);
    if (votes == 0) return;
    const auto more = static_cast<unsigned>(__popc(votes));
    if (held + more > kHeld) flush();
    const unsigned before = votes & ((1u << (threadIdx.x % kLanes)) - 1);
    if (take) buffer[held + static_cast<unsigned>(__popc(before))] = element;
    held += more;
  }

  __device__ void flush() {
    __syncwarp();
    const unsigned lane = threadIdx.x % kLanes;
    unsigned long long place = 0;
    if (lane == 0 && held > 0) place = atomicAdd(count, static_cast<unsigned long long>(held));
    place = __shfl_sync(kAllLanes, place, 0);
    for (unsigned i = lane; i < held; i += kLanes) {
      if (place + i < capacity) candidates[place + i] = buffer[i];
    }
    __syncwarp();
    held = 0;
  }
};

/// 16 bytes of keys.
template <class Key>
struct Keys16 {
  static constexpr unsigned kCount = 16 / sizeof(Key);
  Key keys[kCount];
};

template <class Key>
__device__ Keys16<Key> load_once(const uint4* keys) {
  const uint4 words = __ldcs(keys);
  Keys16<Key> result;
  if constexpr (sizeof(Key) == 4) {
    result.keys[0] = words.x;
    result.keys[1] = words.y;
    result.keys[2] = words.z;
    result.keys[3] = words.w;
  } else {
    result.keys[0] = words.x | (static_cast<Key>(words.y) << 32);
    result.keys[1] = words.z | (static_cast<Key>(words.w) << 32);
  }
  return result;
}

/// Rows that 16-byte loads cannot cover: before the first aligned one, and after the last whole tile.
struct Cut {
  std::size_t head = 0;   ///< rows before the first tile
  std::size_t tiles = 0;  ///< of kScanThreads * kLoads loads
};

/// Keeps every element at or below the threshold, in any order.
template <class E>
__global__ void __launch_bounds__(kScanThreads)
    keep_candidates(E elements, std::size_t n, Cut cut, State<typename E::Element>* state,
                    typename E::Element* candidates, std::size_t capacity) {
  using Element = typename E::Element;
  using Key = typename E::Key;
  using Vector = Keys16<Key>;
  constexpr std::size_t kTileRows = std::size_t{kScanThreads} * kLoads * Vector::kCount;
  __shared__ Element buffers[kScanThreads / kLanes][kHeld];
  const Element threshold = state->threshold;
  const Key limit = E::key(threshold);
  Collector<Element> found{buffers[threadIdx.x / kLanes], candidates, capacity, &state->candidates};

  for (std::size_t tile = blockIdx.x; tile < cut.tiles; tile += gridDim.x) {
    const std::size_t first_row = cut.head + tile * kTileRows;
    const auto* const vectors = reinterpret_cast<const uint4*>(elements.keys + first_row);
    Vector loaded[kLoads];
#pragma unroll
    for (unsigned j = 0; j < kLoads; ++j) loaded[j] = load_once<Key>(vectors + j * kScanThreads + threadIdx.x);
    bool near = false;
#pragma unroll
    for (unsigned j = 0; j < kLoads; ++j) {
#pragma unroll
      for (unsigned c = 0; c < Vector::kCount; ++c) near |= loaded[j].keys[c] <= limit;
    }
    if (!__any_sync(kAllLanes, near)) continue;
#pragma unroll
    for (unsigned j = 0; j < kLoads; ++j) {
#pragma unroll
      for (unsigned c = 0; c < Vector::kCount; ++c) {
        const std::size_t row = first_row + (j * kScanThreads + threadIdx.x) * Vector::kCount + c;
        const Element element = elements.of(loaded[j].keys[c], row);
        found.add(element <= threshold, element);
      }
    }
  }

  if (blockIdx.x == gridDim.x - 1) {
    const std::size_t covered = cut.tiles * kTileRows;
    const std::size_t rest = n - covered;
    for (std::size_t i = 0; i < rest; i += kScanThreads) {
      const std::size_t place = i + threadIdx.x;
      const std::size_t row = place < cut.head ? place : place + covered;
      const Element element = place < rest ? elements.at(row) : kNoElement<Element>;
      found.add(element <= threshold, element);
    }
  }
  found.flush();
}

/// Too few candidates, or more than there was room for.
template <class Element>
__device__ bool guess_failed(const State<Element>& state, std::size_t k, std::size_t capacity) {
  return state.candidates < k || state.candidates > capacity;
}

/// One block: the k least candidates in order. `size` is k rounded up to a power of two; shared memory holds so many
/// elements and kStagedBytes.
template <class Element>
__global__ void __launch_bounds__(kSampleThreads)
    choose_among(const Element* candidates, std::size_t capacity, unsigned k, unsigned size, State<Element>* state,
                 Element* chosen) {
  constexpr std::size_t kStaged = kStagedBytes / sizeof(Element);
  __shared__ BlockSelect<Element, kSampleThreads> select;
  __shared__ unsigned taken;
  if (guess_failed(*state, k, capacity)) {
    if (threadIdx.x == 0) state->failed = 1;
    return;
  }
  if (threadIdx.x == 0) taken = 0;
  const auto count = static_cast<unsigned>(state->candidates);
  Element* const sorted = dynamic_shared<Element>();
  Element* const staged = sorted + size;
  const bool fits = count <= kStaged;
  SetBits<Element> bits;
  for (unsigned i = threadIdx.x; i < count; i += kSampleThreads) {
    const Element element = candidates[i];
    bits.add(element);
    if (fits) staged[i] = element;
  }
  const Element* const from = fits ? staged : candidates;
  for (unsigned i = k + threadIdx.x; i < size; i += kSampleThreads) sorted[i] = kNoElement<Element>;
  __syncthreads();
  const Element greatest = select.kth(from, count, k, bits);
  for (unsigned i = threadIdx.x; i < count; i += kSampleThreads) {
    if (from[i] <= greatest) sorted[atomicAdd(&taken, 1u)] = from[i];
  }
  __syncthreads();
  block_bitonic_sort(sorted, size);
  for (unsigned i = threadIdx.x; i < k; i += kSampleThreads) chosen[i] = sorted[i];
}

/// All rows are candidates, where these are few.
template <class E>
__global__ void __launch_bounds__(kSampleThreads)
    take_few(E elements, unsigned n, typename E::Element* all, State<typename E::Element>* state) {
  for (unsigned row = threadIdx.x; row < n; row += kSampleThreads) all[row] = elements.at(row);
  if (threadIdx.x == 0) state->candidates = n;
}

/// Fills the room that candidates left, so that all of it can be sorted.
template <class Element>
__global__ void fill_up(std::size_t k, std::size_t capacity, State<Element>* state, Element* candidates) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= state->candidates && i < capacity) candidates[i] = kNoElement<Element>;
  if (i == 0 && guess_failed(*state, k, capacity)) state->failed = 1;
}

template <class E>
Cut cut_of(const E& elements, std::size_t n) {
  constexpr std::size_t kTileRows = std::size_t{kScanThreads} * kLoads * Keys16<typename E::Key>::kCount;
  const std::size_t beyond = reinterpret_cast<std::uintptr_t>(elements.keys) % sizeof(uint4);
  const std::size_t head = std::min(n, beyond == 0 ? 0 : (sizeof(uint4) - beyond) / sizeof(typename E::Key));
  return {.head = head, .tiles = (n - head) / kTileRows};
}

struct SampledThreshold {
  using Fallback = Sort;

  template <class E>
  static bool select(Run& run, const E& elements, std::size_t n, std::size_t k, typename E::Element* chosen) {
    if (n > kFewRows && k > n / 4) return Fallback::select(run, elements, n, k, chosen);
    using Element = typename E::Element;
    const bool few = n <= kFewRows;
    const ThresholdPlan plan = few ? ThresholdPlan{.capacity = n} : plan_threshold(n, k);
    auto* const state = run.guess_with<State<Element>>();
    const auto memory = run.allocate<Element>(plan.capacity + plan.blocks * plan.kept_of_block);
    Element* const candidates = memory.data();
    if (few) {
      launch("take_few", take_few<E>, {.blocks = 1, .threads = kSampleThreads}, run.stream(), elements,
             static_cast<unsigned>(n), candidates, state);
    } else {
      launch("find_threshold", find_threshold<E>, {.blocks = plan.blocks, .threads = kSampleThreads}, run.stream(),
             elements, n, static_cast<unsigned>(plan.kept_of_block), static_cast<unsigned>(plan.rank), state,
             candidates + plan.capacity);
      keep(run, elements, n, plan.capacity, state, candidates);
    }
    choose(run, k, plan.capacity, state, candidates, chosen);
    if (run.context.count_work) {
      constexpr std::size_t kSector = 32;
      run.count(n * sizeof(typename E::Key) + plan.blocks * kSampleOfBlock * kSector, plan.expected * sizeof(Element),
                few ? n : plan.expected);
    }
    return true;
  }

 private:
  template <class E>
  static void keep(Run& run, const E& elements, std::size_t n, std::size_t capacity, State<typename E::Element>* state,
                   typename E::Element* candidates) {
    const Cut cut = cut_of(elements, n);
    const std::size_t resident = resident_blocks(keep_candidates<E>, kScanThreads) *
                                 static_cast<std::size_t>(run.device.properties().multiprocessors);
    launch("keep_candidates", keep_candidates<E>,
           {.blocks = std::clamp<std::size_t>(cut.tiles, 1, resident), .threads = kScanThreads}, run.stream(), elements,
           n, cut, state, candidates, capacity);
  }

  template <class Element>
  static void choose(Run& run, std::size_t k, std::size_t capacity, State<Element>* state, Element* candidates,
                     Element* chosen) {
    if (k <= kMostOfBlock) {
      const auto size = std::bit_ceil(static_cast<unsigned>(k));
      launch("choose_among", choose_among<Element>,
             {.blocks = 1, .threads = kSampleThreads, .shared_bytes = size * sizeof(Element) + kStagedBytes},
             run.stream(), candidates, capacity, static_cast<unsigned>(k), size, state, chosen);
      return;
    }
    launch("fill_up", fill_up<Element>, {.blocks = blocks_for(capacity, kScanThreads), .threads = kScanThreads},
           run.stream(), k, capacity, state, candidates);
    sort_elements(candidates, capacity, run.device);
    SKYRANK_CUDA_CALL(cudaMemcpyAsync(chosen, candidates, k * sizeof(Element), cudaMemcpyDeviceToDevice, run.stream()));
  }
};

}  // namespace

extern const TopKAlgorithm sampled_threshold;
const TopKAlgorithm sampled_threshold{
    .name = "cuda-sampled-threshold",
    .summary = "keeps what a threshold from a sample lets through in one pass over the keys, then selects exactly",
    .source = "own design, after randomized-selection-hpg11, section 5",
    .device = Device::cuda,
    .parameters = {},
    .supports = needs_key_columns,
    .run = solve<SampledThreshold>,
};

}  // namespace skyrank::kernels::cuda::topk
