#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>

#include "kernels/cuda/topk/dr_append.cuh"
#include "kernels/cuda/topk/solve.cuh"

// In-place radix selection with a flag (dr-topk-sc21, section 5.1): every pass reads all elements again, counts the
// next digit of those that have the digits found so far (the flag), and never writes an element. The last block of a
// pass decides the digit, so the host waits for nothing; passes that were not needed end at once.
namespace skyrank::kernels::cuda::topk {

inline constexpr unsigned kRadixBits = 8;
inline constexpr unsigned kDigits = 1u << kRadixBits;
inline constexpr unsigned kRadixThreads = kDigits;
inline constexpr unsigned kInBlockThreads = 1024;
/// Elements that one thread has in flight.
inline constexpr int kInFlight = 4;
/// Up to so many elements one block goes through all digits faster than many blocks do, launch by launch.
inline constexpr std::size_t kInBlock = 16384;

/// Elements in device memory, to select from. Rows of a problem (`Elements`) can be selected from likewise.
template <class ElementT>
struct ElementVector {
  using Element = ElementT;

  const Element* data = nullptr;

  __device__ Element at(std::size_t i) const { return data[i]; }
};

/// A selection under way, in device memory.
template <class Element>
struct RadixState {
  Element flag;               ///< the digits found, at their places
  Element mask;               ///< ones at those places
  Element bound;              ///< once done: of the elements at most this one, there are k and up to `slack` more
  unsigned long long size;    ///< of the vector
  unsigned long long wanted;  ///< of the elements that have the flag
  unsigned long long slack;
  int shift;  ///< of the next digit
  int passes;
  unsigned done;
  unsigned blocks_done;  ///< of the pass
  unsigned long long counts[kDigits];
};

/// Starts a selection of the k least of `size` elements, 0 < k <= size, which have `bits` bits and are distinct, but
/// for those behind the k-th.
template <class Element>
__global__ void __launch_bounds__(kRadixThreads) radix_start(RadixState<Element>* state, unsigned long long size,
                                                             unsigned long long k, unsigned long long slack, int bits) {
  state->counts[threadIdx.x] = 0;
  if (threadIdx.x != 0) return;
  state->flag = 0;
  state->mask = 0;
  state->bound = kNoElement<Element>;
  state->size = size;
  state->wanted = k;
  state->slack = slack;
  state->shift = bits - static_cast<int>(kRadixBits);
  state->passes = 0;
  state->blocks_done = 0;
  state->done = size <= k + slack ? 1 : 0;
}

/// Counts the next digits of elements with the flag, of this block's share. Equal digits in a row, which minima have
/// for a start, make one atomic operation.
template <class Source, class Element>
__device__ void count_digits(const Source& source, const RadixState<Element>& state, unsigned* counts) {
  for (unsigned digit = threadIdx.x; digit < kDigits; digit += blockDim.x) counts[digit] = 0;
  __syncthreads();
  const Element flag = state.flag;
  const Element mask = state.mask;
  const int shift = state.shift;
  const std::size_t size = state.size;
  const std::size_t tile = std::size_t{kInFlight} * blockDim.x;
  unsigned digit = 0;
  unsigned run = 0;
  for (std::size_t first = blockIdx.x * tile + threadIdx.x; first < size; first += gridDim.x * tile) {
    Element loaded[kInFlight];
    for (int i = 0; i < kInFlight; ++i) {
      const std::size_t place = first + static_cast<std::size_t>(i) * blockDim.x;
      loaded[i] = place < size ? source.at(place) : Element{0};
    }
    for (int i = 0; i < kInFlight; ++i) {
      const std::size_t place = first + static_cast<std::size_t>(i) * blockDim.x;
      if (place >= size || (loaded[i] & mask) != flag) continue;
      const unsigned next = static_cast<unsigned>(loaded[i] >> shift) % kDigits;
      if (next != digit) {
        if (run > 0) atomicAdd(&counts[digit], run);
        digit = next;
        run = 0;
      }
      ++run;
    }
  }
  if (run > 0) atomicAdd(&counts[digit], run);
  __syncthreads();
}

/// Extends the flag by the digit that holds the wanted element; ends where enough digits are known. Thread i brings the
/// count of digit i, threads beyond bring 0; all of the block call it.
template <class Element>
__device__ void choose_digit(RadixState<Element>& state, unsigned long long count) {
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
  const int shift = state.shift;
  state.flag |= static_cast<Element>(threadIdx.x) << shift;
  state.mask |= static_cast<Element>(kDigits - 1) << shift;
  state.wanted = wanted - before;
  state.bound = state.flag | ((Element{1} << shift) - 1);
  state.shift = shift - static_cast<int>(kRadixBits);
  state.passes += 1;
  state.done = shift == 0 || up_to_here - wanted <= state.slack ? 1 : 0;
}

template <class Source, class Element>
__global__ void __launch_bounds__(kRadixThreads) radix_pass(Source source, RadixState<Element>* state) {
  __shared__ unsigned counts[kDigits];
  __shared__ bool last;
  if (state->done != 0) return;
  count_digits(source, *state, counts);
  const unsigned mine = counts[threadIdx.x];
  if (mine > 0) atomicAdd(&state->counts[threadIdx.x], static_cast<unsigned long long>(mine));
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) last = atomicAdd(&state->blocks_done, 1u) + 1 == gridDim.x;
  __syncthreads();
  if (!last) return;
  __threadfence();
  choose_digit(*state, __ldcg(&state->counts[threadIdx.x]));
  state->counts[threadIdx.x] = 0;
  if (threadIdx.x == 0) state->blocks_done = 0;
}

/// All passes, by one block, where the elements are few.
template <class Source, class Element>
__global__ void __launch_bounds__(kInBlockThreads) radix_in_block(Source source, RadixState<Element>* state) {
  __shared__ unsigned counts[kDigits];
  while (state->done == 0) {
    count_digits(source, *state, counts);
    choose_digit(*state, threadIdx.x < kDigits ? counts[threadIdx.x] : 0);
    __syncthreads();
  }
}

/// Writes the elements up to the bound, `*taken` of them, which starts as 0.
template <class Source, class Element>
__global__ void __launch_bounds__(kRadixThreads)
    radix_take(Source source, const RadixState<Element>* state, unsigned long long* taken, Element* chosen) {
  const Element bound = state->bound;
  const std::size_t size = state->size;
  const std::size_t tile = std::size_t{kInFlight} * blockDim.x;
  for (std::size_t first = blockIdx.x * tile; first < size; first += gridDim.x * tile) {
    Element loaded[kInFlight];
    bool wanted[kInFlight];
    for (int i = 0; i < kInFlight; ++i) {
      const std::size_t place = first + static_cast<std::size_t>(i) * blockDim.x + threadIdx.x;
      loaded[i] = place < size ? source.at(place) : kNoElement<Element>;
      wanted[i] = place < size && loaded[i] <= bound;
    }
    append(loaded, wanted, taken, chosen);
  }
}

inline Grid radix_grid(std::size_t size, const DeviceContext& device) {
  constexpr std::size_t kTile = std::size_t{kInFlight} * kRadixThreads;
  const std::size_t resident = 8 * static_cast<std::size_t>(device.properties().multiprocessors);
  return {.blocks = std::min(blocks_for(size, kTile), resident), .threads = kRadixThreads};
}

/// Finds the bound that lets through the k least of `size` elements, and up to `slack` more.
template <class Source, class Element>
void radix_bound(Run& run, const Source& source, std::size_t size, std::size_t k, std::size_t slack, int bits,
                 RadixState<Element>* state) {
  launch("radix_start", radix_start<Element>, {.blocks = 1, .threads = kRadixThreads}, run.stream(), state, size, k,
         slack, bits);
  if (size <= kInBlock) {
    const auto threads = std::clamp<std::size_t>(std::bit_ceil(size / kInFlight), kDigits, kInBlockThreads);
    launch("radix_in_block", radix_in_block<Source, Element>, {.blocks = 1, .threads = static_cast<unsigned>(threads)},
           run.stream(), source, state);
    return;
  }
  const Grid grid = radix_grid(size, run.device);
  for (int pass = 0; pass < bits / static_cast<int>(kRadixBits); ++pass) {
    launch("radix_pass", radix_pass<Source, Element>, grid, run.stream(), source, state);
  }
}

/// Puts the k least of `size` elements into `chosen`, in the order of chance; `*taken` is 0.
template <class Source, class Element>
void radix_select(Run& run, const Source& source, std::size_t size, std::size_t k, int bits, RadixState<Element>* state,
                  unsigned long long* taken, Element* chosen) {
  radix_bound(run, source, size, k, 0, bits, state);
  launch("radix_take", radix_take<Source, Element>, radix_grid(size, run.device), run.stream(), source, state, taken,
         chosen);
}

}  // namespace skyrank::kernels::cuda::topk
