#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "kernels/cuda/device/launch.cuh"
#include "kernels/cuda/topk/solve.cuh"
#include "kernels/papers/cuda/topk/dr_topk/append.cuh"

// In-place selection, which assists Dr. Top-k (Gaihre et al., SC 2021, section 5.1): every pass reads all elements
// again, counts the bins of those that lie in the present range, makes the bin with the k-th element the next range,
// and writes nothing. The last block of a pass decides, so the host waits for nothing; passes that were not needed end
// at once.
namespace skyrank::kernels::cuda::topk::delegate {

inline constexpr unsigned kBinBits = 8;
inline constexpr unsigned kBins = 1u << kBinBits;
inline constexpr unsigned kInPlaceThreads = kBins;
inline constexpr unsigned kInBlockThreads = 1024;
/// Elements that one thread has in flight.
inline constexpr int kInFlight = 4;
/// At most this many elements pass through one block faster than through many blocks, launch by launch.
inline constexpr std::size_t kInBlock = 16384;

/// Elements in device memory, to select from. Rows of a problem (`Elements`) can be selected from likewise.
template <class ElementT>
struct ElementVector {
  using Element = ElementT;

  const Element* data = nullptr;

  __device__ Element at(std::size_t i) const { return data[i]; }
};

/// The range by digits, most significant first: a flag says which the elements of interest have.
template <class ElementT>
struct RadixBins {
  using Element = ElementT;
  static constexpr bool kOfExtremes = false;

  Element flag = 0;  ///< the digits found, at their places
  Element mask = 0;  ///< ones at those places
  int shift = 0;     ///< place of the last digit found

  static RadixBins first(int bits) { return {0, 0, bits}; }
  static int most_passes(int bits) { return bits / static_cast<int>(kBinBits); }

  __device__ bool holds(Element element) const { return (element & mask) == flag; }
  __device__ unsigned bin(Element element) const {
    return static_cast<unsigned>(element >> (shift - static_cast<int>(kBinBits))) % kBins;
  }
  __device__ void enter(unsigned bin) {
    shift -= static_cast<int>(kBinBits);
    flag |= static_cast<Element>(bin) << shift;
    mask |= static_cast<Element>(kBins - 1) << shift;
  }
  /// The greatest element that the range may hold, and whether it holds one only.
  __device__ Element last() const { return flag | ((Element{1} << shift) - 1); }
  __device__ bool single() const { return shift == 0; }
};

__device__ inline int bit_length_of(std::uint64_t value) { return 64 - __clzll(static_cast<long long>(value)); }
__device__ inline int bit_length_of(Uint128 value) {
  const auto high = static_cast<std::uint64_t>(value >> 64);
  return high != 0 ? 64 + bit_length_of(high) : bit_length_of(static_cast<std::uint64_t>(value));
}

/// The range by buckets of equal widths, at first between the least and the greatest element.
template <class ElementT>
struct BucketBins {
  using Element = ElementT;
  static constexpr bool kOfExtremes = true;

  Element low = 0;
  Element high = 0;
  int shift = 0;            ///< distances from `low` are cut to 32 bits
  std::uint64_t scale = 0;  ///< buckets for one of those, times 2^32

  static BucketBins first(int /*bits*/) { return {}; }
  /// Buckets are wider than a 256th of the range by up to a 255th, and by one.
  static int most_passes(int bits) { return bits / static_cast<int>(kBinBits) + 2; }

  __device__ static BucketBins between(Element low, Element high) {
    const Element range = high - low;
    const int length = bit_length_of(range);
    const int shift = length > 32 ? length - 32 : 0;
    const std::uint64_t steps = static_cast<std::uint64_t>(range >> shift) + 1;
    return {low, high, shift, (std::uint64_t{kBins} << 32) / steps};
  }

  __device__ bool holds(Element element) const { return low <= element && element <= high; }
  __device__ unsigned bin(Element element) const {
    return static_cast<unsigned>(static_cast<std::uint64_t>((element - low) >> shift) * scale >> 32);
  }
  __device__ Element begin(unsigned bin) const {
    return low + (static_cast<Element>(((std::uint64_t{bin} << 32) + scale - 1) / scale) << shift);
  }
  __device__ void enter(unsigned chosen) {
    const Element end = chosen == bin(high) ? high : begin(chosen + 1) - 1;
    *this = between(begin(chosen), end);
  }
  __device__ Element last() const { return high; }
  __device__ bool single() const { return low == high; }
};

/// A selection under way, in device memory.
template <class Bins>
struct InPlaceState {
  using Element = typename Bins::Element;

  Bins bins;
  Element bound;              ///< once done: it lets through the k least elements, and up to `slack` more
  unsigned long long size;    ///< elements to select from
  unsigned long long wanted;  ///< elements of the range that are wanted
  unsigned long long slack;
  int passes;
  unsigned done;
  unsigned blocks_done;  ///< blocks that are done with the pass
  unsigned long long counts[kBins];

  /// One thread, when the range has become one of `inside` elements.
  __device__ void range_found(unsigned long long inside) {
    bound = bins.last();
    done = bins.single() || inside - wanted <= slack ? 1 : 0;
  }
};

/// Starts a selection of the k least of `size` elements, 0 < k <= size, which are distinct, but for those behind the
/// k-th.
template <class Bins>
__global__ void __launch_bounds__(kInPlaceThreads)
    start_in_place(InPlaceState<Bins>* state, Bins bins, unsigned long long size, unsigned long long k,
                   unsigned long long slack) {
  state->counts[threadIdx.x] = 0;
  if (threadIdx.x != 0) return;
  state->bins = bins;
  state->bound = kNoElement<typename Bins::Element>;
  state->size = size;
  state->wanted = k;
  state->slack = slack;
  state->passes = 0;
  state->blocks_done = 0;
  state->done = size <= k + slack ? 1 : 0;
}

/// Returns true if the calling block is the last of the grid to get here. All of its threads call it, and see what the
/// other blocks wrote before.
__device__ inline bool is_last_block(unsigned* blocks_done) {
  __shared__ bool last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    last = atomicAdd(blocks_done, 1u) + 1 == gridDim.x;
    if (last) *blocks_done = 0;
  }
  __syncthreads();
  __threadfence();
  return last;
}

/// The least and the greatest of some elements.
template <class Element>
struct Extremes {
  Element least;
  Element greatest;

  __device__ void add(const Extremes& other) {
    least = other.least < least ? other.least : least;
    greatest = greatest < other.greatest ? other.greatest : greatest;
  }
};

/// Thread 0 gets the extremes of the block's threads; `shared` has room for one of each.
template <class Element>
__device__ Extremes<Element> extremes_of_block(Extremes<Element> mine, Extremes<Element>* shared) {
  shared[threadIdx.x] = mine;
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) shared[threadIdx.x].add(shared[threadIdx.x + half]);
  }
  return shared[threadIdx.x];
}

/// Finds the first range of buckets: between the least and the greatest of all elements, but for kNoElement. For k = 1
/// that is all. `of_blocks` has room for one of each block.
template <class Source, class Bins>
__global__ void __launch_bounds__(kInPlaceThreads)
    find_extremes(Source source, InPlaceState<Bins>* state, Extremes<typename Bins::Element>* of_blocks) {
  using Element = typename Bins::Element;
  __shared__ Extremes<Element> of_threads[kInPlaceThreads];
  if (state->done != 0) return;
  const std::size_t size = state->size;
  Extremes<Element> mine{kNoElement<Element>, 0};
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < size;
       i += std::size_t{gridDim.x} * blockDim.x) {
    const Element element = source.at(i);
    if (element != kNoElement<Element>) mine.add({element, element});
  }
  const Extremes<Element> of_block = extremes_of_block(mine, of_threads);
  if (threadIdx.x == 0) of_blocks[blockIdx.x] = of_block;
  if (!is_last_block(&state->blocks_done)) return;
  mine = {kNoElement<Element>, 0};
  for (unsigned block = threadIdx.x; block < gridDim.x; block += blockDim.x) mine.add(of_blocks[block]);
  const Extremes<Element> all = extremes_of_block(mine, of_threads);
  if (threadIdx.x != 0) return;
  const bool least_is_all = state->wanted == 1;
  state->bins = Bins::between(all.least, least_is_all ? all.least : all.greatest);
  state->passes = 1;
  state->range_found(least_is_all ? 1 : size);
}

/// The same for selections that overwrite what is out of their range, so that it is in none of the later ones, as GGKS
/// does (Alabi et al., JEA 2012). The last element of all stands for those: whatever range holds it holds all elements
/// that are wanted before.
template <class ElementT>
struct OverwrittenVector {
  using Element = ElementT;

  Element* data = nullptr;

  __device__ Element at(std::size_t i) const { return data[i]; }
  __device__ void drop(std::size_t i) const { data[i] = kNoElement<Element>; }
};

/// Counts the bins of elements in the range, of this block's share. Equal bins in a row, which minima have for a start,
/// make one atomic operation.
template <class Source, class Bins>
__device__ void count_bins(const Source& source, const InPlaceState<Bins>& state, unsigned* counts) {
  for (unsigned bin = threadIdx.x; bin < kBins; bin += blockDim.x) counts[bin] = 0;
  __syncthreads();
  const Bins bins = state.bins;
  const std::size_t size = state.size;
  const std::size_t tile = std::size_t{kInFlight} * blockDim.x;
  unsigned bin = 0;
  unsigned run = 0;
  for (std::size_t first = blockIdx.x * tile + threadIdx.x; first < size; first += gridDim.x * tile) {
    typename Bins::Element loaded[kInFlight];
#pragma unroll
    for (int i = 0; i < kInFlight; ++i) {
      const std::size_t place = first + static_cast<std::size_t>(i) * blockDim.x;
      loaded[i] = place < size ? source.at(place) : 0;
    }
#pragma unroll
    for (int i = 0; i < kInFlight; ++i) {
      const std::size_t place = first + static_cast<std::size_t>(i) * blockDim.x;
      if (place >= size) continue;
      if (!bins.holds(loaded[i])) {
        if constexpr (requires { source.drop(place); }) source.drop(place);
        continue;
      }
      const unsigned next = bins.bin(loaded[i]);
      if (next != bin) {
        if (run > 0) atomicAdd(&counts[bin], run);
        bin = next;
        run = 0;
      }
      ++run;
    }
  }
  if (run > 0) atomicAdd(&counts[bin], run);
  __syncthreads();
}

/// Makes the bin that holds the wanted element the range. Thread i brings the count of bin i, threads beyond bring 0;
/// all of the block call it.
template <class Bins>
__device__ void choose_bin(InPlaceState<Bins>& state, unsigned long long count) {
  __shared__ unsigned long long of_warps[32];
  const unsigned lane = threadIdx.x % 32;
  const unsigned long long wanted = state.wanted;
  unsigned long long up_to_here = count;
  for (unsigned distance = 1; distance < 32; distance *= 2) {
    const unsigned long long below = __shfl_up_sync(0xffffffffu, up_to_here, distance);
    if (lane >= distance) up_to_here += below;
  }
  if (lane == 31) of_warps[threadIdx.x / 32] = up_to_here;
  __syncthreads();
  for (unsigned warp = 0; warp < threadIdx.x / 32; ++warp) up_to_here += of_warps[warp];
  const unsigned long long before = up_to_here - count;
  if (before >= wanted || wanted > up_to_here) return;
  state.bins.enter(threadIdx.x);
  state.wanted = wanted - before;
  state.passes += 1;
  state.range_found(count);
}

template <class Source, class Bins>
__global__ void __launch_bounds__(kInPlaceThreads) pass_in_place(Source source, InPlaceState<Bins>* state) {
  __shared__ unsigned counts[kBins];
  if (state->done != 0) return;
  count_bins(source, *state, counts);
  const unsigned mine = counts[threadIdx.x];
  if (mine > 0) atomicAdd(&state->counts[threadIdx.x], static_cast<unsigned long long>(mine));
  if (!is_last_block(&state->blocks_done)) return;
  choose_bin(*state, __ldcg(&state->counts[threadIdx.x]));
  state->counts[threadIdx.x] = 0;
}

/// All passes, by one block, where the elements are few.
template <class Source, class Bins>
__global__ void __launch_bounds__(kInBlockThreads) passes_in_block(Source source, InPlaceState<Bins>* state) {
  __shared__ unsigned counts[kBins];
  while (state->done == 0) {
    count_bins(source, *state, counts);
    choose_bin(*state, threadIdx.x < kBins ? counts[threadIdx.x] : 0);
    __syncthreads();
  }
}

/// Writes the elements up to the bound, `*taken` of them, which starts as 0.
template <class Source, class Element>
__global__ void __launch_bounds__(kInPlaceThreads)
    take_up_to(Source source, unsigned long long size, const Element* up_to, unsigned long long* taken,
               Element* chosen) {
  const Element bound = *up_to;
  const std::size_t tile = std::size_t{kInFlight} * blockDim.x;
  for (std::size_t first = blockIdx.x * tile; first < size; first += gridDim.x * tile) {
    Element loaded[kInFlight];
    bool wanted[kInFlight];
#pragma unroll
    for (int i = 0; i < kInFlight; ++i) {
      const std::size_t place = first + static_cast<std::size_t>(i) * blockDim.x + threadIdx.x;
      loaded[i] = place < size ? source.at(place) : kNoElement<Element>;
      wanted[i] = place < size && loaded[i] <= bound;
    }
    append(loaded, wanted, taken, chosen);
  }
}

inline Grid in_place_grid(std::size_t size, const DeviceContext& device) {
  constexpr std::size_t kTile = std::size_t{kInFlight} * kInPlaceThreads;
  const std::size_t resident = 8 * device.properties().multiprocessors;
  return {.blocks = std::min(blocks_for(size, kTile), resident), .threads = kInPlaceThreads};
}

/// Finds the bound that lets through the k least of `size` elements of `bits` bits, and up to `slack` more.
template <class Source, class Bins>
void bound_in_place(Run& run, const Source& source, std::size_t size, std::size_t k, std::size_t slack, int bits,
                    InPlaceState<Bins>* state) {
  const Grid grid = in_place_grid(size, run.device);
  launch("start_in_place", start_in_place<Bins>, {.blocks = 1, .threads = kInPlaceThreads}, run.stream(), state,
         Bins::first(bits), size, k, slack);
  if constexpr (Bins::kOfExtremes) {
    auto of_blocks = run.allocate<Extremes<typename Bins::Element>>(grid.blocks);
    launch("find_extremes", find_extremes<Source, Bins>, grid, run.stream(), source, state, of_blocks.data());
  }
  if (size <= kInBlock) {
    const auto threads = std::clamp<std::size_t>(std::bit_ceil(size / kInFlight), kBins, kInBlockThreads);
    launch("passes_in_block", passes_in_block<Source, Bins>, {.blocks = 1, .threads = static_cast<unsigned>(threads)},
           run.stream(), source, state);
    return;
  }
  for (int pass = 0; pass < Bins::most_passes(bits); ++pass) {
    launch("pass_in_place", pass_in_place<Source, Bins>, grid, run.stream(), source, state);
  }
}

}  // namespace skyrank::kernels::cuda::topk::delegate
