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

/// What the kernels hand on to each other.
template <class Element>
struct State {
  Element first_bound;
  Element threshold;
  unsigned left_of_sample;
  unsigned blocks_done;
  unsigned long long candidates;
};

/// A place in the i-th of `count` equal stretches of n rows: any order of the rows is as good as a random one.
__device__ std::size_t sampled_row(std::size_t i, std::size_t count, std::size_t n, std::uint64_t salt) {
  const std::uint64_t length = n / count;
  std::uint64_t x = (i + 1) * 0x9e3779b97f4a7c15ULL + salt;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return i * length + __umul64hi(x ^ (x >> 31), length);
}

/// One block: the element of rank `rank` in a sample of one row a thread.
template <class E>
__global__ void __launch_bounds__(kSampleThreads)
    first_bound(E elements, std::size_t n, unsigned count, unsigned rank, State<typename E::Element>* state) {
  using Element = typename E::Element;
  __shared__ Element sample[kFirstSample];
  __shared__ BlockSelect<Element, kSampleThreads> select;
  for (unsigned i = threadIdx.x; i < count; i += kSampleThreads) sample[i] = elements.at(sampled_row(i, count, n, 0));
  __syncthreads();
  const Element bound = select.kth(sample, count, rank);
  if (threadIdx.x == 0) *state = {bound, bound, 0, 0, 0};
}

/// Collects the part of a larger sample that lies at or below the first bound; the last block to finish takes the
/// threshold from it.
template <class E>
__global__ void __launch_bounds__(kSampleThreads)
    threshold_of_sample(E elements, std::size_t n, std::size_t count, unsigned rank, State<typename E::Element>* state,
                        typename E::Element* left) {
  using Element = typename E::Element;
  __shared__ BlockSelect<Element, kSampleThreads> select;
  __shared__ bool last;
  const Element bound = state->first_bound;
  const std::size_t stride = std::size_t{gridDim.x} * kSampleThreads;
  for (std::size_t i = std::size_t{blockIdx.x} * kSampleThreads + threadIdx.x; i < count; i += stride) {
    const Element element = elements.at(sampled_row(i, count, n, 1));
    if (element > bound) continue;
    const unsigned place = atomicAdd(&state->left_of_sample, 1u);
    if (place < kLeftOfSample) left[place] = element;
  }
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) last = atomicAdd(&state->blocks_done, 1u) == gridDim.x - 1;
  __syncthreads();
  if (!last) return;
  __threadfence();
  // With too few or too many left, the first bound stays: a worse threshold, but one.
  const unsigned kept = state->left_of_sample;
  if (kept < rank || kept > kLeftOfSample) return;
  const Element threshold = select.kth(left, kept, rank);
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

/// One block: the k least candidates in order. `size` is k rounded up to a power of two.
template <class Element>
__global__ void __launch_bounds__(kSampleThreads)
    choose_among(const Element* candidates, const State<Element>* state, std::size_t capacity, unsigned k,
                 unsigned size, Element* chosen, unsigned* failed) {
  __shared__ BlockSelect<Element, kSampleThreads> select;
  __shared__ unsigned taken;
  if (guess_failed(*state, k, capacity)) {
    if (threadIdx.x == 0) *failed = 1;
    return;
  }
  if (threadIdx.x == 0) taken = 0;
  const auto count = static_cast<unsigned>(state->candidates);
  const Element greatest = select.kth(candidates, count, k);
  Element* const sorted = dynamic_shared<Element>();
  for (unsigned i = k + threadIdx.x; i < size; i += kSampleThreads) sorted[i] = kNoElement<Element>;
  __syncthreads();
  for (unsigned i = threadIdx.x; i < count; i += kSampleThreads) {
    if (candidates[i] <= greatest) sorted[atomicAdd(&taken, 1u)] = candidates[i];
  }
  __syncthreads();
  block_bitonic_sort(sorted, size);
  for (unsigned i = threadIdx.x; i < k; i += kSampleThreads) chosen[i] = sorted[i];
}

/// One block: the k least of all rows in order, where these are few.
template <class E>
__global__ void __launch_bounds__(kSampleThreads)
    choose_among_all(E elements, unsigned n, typename E::Element* all, State<typename E::Element>* state) {
  for (unsigned row = threadIdx.x; row < n; row += kSampleThreads) all[row] = elements.at(row);
  if (threadIdx.x == 0) state->candidates = n;
}

/// Fills the room that candidates left, so that all of it can be sorted.
template <class Element>
__global__ void fill_up(const State<Element>* state, std::size_t k, std::size_t capacity, Element* candidates,
                        unsigned* failed) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= state->candidates && i < capacity) candidates[i] = kNoElement<Element>;
  if (i == 0 && guess_failed(*state, k, capacity)) *failed = 1;
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
    auto state = run.allocate<State<Element>>(1);
    unsigned* const failed = run.may_fail();
    const ThresholdPlan plan = n <= kFewRows ? ThresholdPlan{.capacity = n} : plan_threshold(n, k);
    auto candidates = run.allocate<Element>(plan.capacity);
    if (n <= kFewRows) {
      launch("choose_among_all", choose_among_all<E>, {.blocks = 1, .threads = kSampleThreads}, run.stream(), elements,
             static_cast<unsigned>(n), candidates.data(), state.data());
    } else {
      find_threshold(run, elements, n, plan, state.data());
      keep(run, elements, n, plan, state.data(), candidates.data());
    }
    finish(run, k, plan.capacity, state.data(), candidates.data(), chosen, failed);
    if (run.context.count_work) {
      run.work += {.bytes_read = n * sizeof(typename E::Key) + (plan.sample + plan.first_sample) * 32,
                   .bytes_written = plan.expected * sizeof(Element),
                   .candidates = n <= kFewRows ? n : plan.expected};
    }
    return true;
  }

 private:
  template <class E>
  static void find_threshold(Run& run, const E& elements, std::size_t n, const ThresholdPlan& plan,
                             State<typename E::Element>* state) {
    auto left = run.allocate<typename E::Element>(kLeftOfSample);
    launch("first_bound", first_bound<E>, {.blocks = 1, .threads = kSampleThreads}, run.stream(), elements, n,
           static_cast<unsigned>(plan.first_sample), static_cast<unsigned>(plan.first_rank), state);
    const auto blocks = static_cast<std::size_t>(run.device.properties().multiprocessors);
    launch("threshold_of_sample", threshold_of_sample<E>,
           {.blocks = std::min(blocks, blocks_for(plan.sample, kSampleThreads)), .threads = kSampleThreads},
           run.stream(), elements, n, plan.sample, static_cast<unsigned>(plan.rank), state, left.data());
  }

  template <class E>
  static void keep(Run& run, const E& elements, std::size_t n, const ThresholdPlan& plan,
                   State<typename E::Element>* state, typename E::Element* candidates) {
    const Cut cut = cut_of(elements, n);
    const std::size_t resident = resident_blocks(keep_candidates<E>, kScanThreads) *
                                 static_cast<std::size_t>(run.device.properties().multiprocessors);
    launch("keep_candidates", keep_candidates<E>,
           {.blocks = std::clamp<std::size_t>(cut.tiles, 1, resident), .threads = kScanThreads}, run.stream(), elements,
           n, cut, state, candidates, plan.capacity);
  }

  template <class Element>
  static void finish(Run& run, std::size_t k, std::size_t capacity, State<Element>* state, Element* candidates,
                     Element* chosen, unsigned* failed) {
    if (k <= kMostOfBlock) {
      const auto size = std::bit_ceil(static_cast<unsigned>(k));
      launch("choose_among", choose_among<Element>,
             {.blocks = 1, .threads = kSampleThreads, .shared_bytes = size * sizeof(Element)}, run.stream(), candidates,
             state, capacity, static_cast<unsigned>(k), size, chosen, failed);
      return;
    }
    launch("fill_up", fill_up<Element>, {.blocks = blocks_for(capacity, kScanThreads), .threads = kScanThreads},
           run.stream(), state, k, capacity, candidates, failed);
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
    .supports = needs_packable_keys,
    .run = solve<SampledThreshold>,
};

}  // namespace skyrank::kernels::cuda::topk
