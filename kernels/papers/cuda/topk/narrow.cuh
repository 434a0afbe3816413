#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "kernels/cuda/device/kernel/block.cuh"
#include "kernels/cuda/device/kernel/shared.cuh"
#include "kernels/cuda/device/launch.cuh"
#include "kernels/cuda/topk/block/tiles.cuh"
#include "kernels/cuda/topk/solve.cuh"
#include "kernels/papers/cuda/topk/block_sums.cuh"

// Selection by histograms, what radix select and bucket select share: the k-th least element is known to lie in an
// interval; count how many elements of the interval fall into each of its bins; the bin with the k-th is the next
// interval. First the intervals are of keys; once only one key is left they are of row ids (which decide ties).
//
// One pass is one kernel: it applies the interval that the last one found and counts bins for the next. What lies below
// the interval goes to the answer and what lies in it to a smaller array, but only where writing that and reading it
// once costs less than reading the present array again. The last block of a pass chooses the bin and says what the next
// pass does, so the host never waits.
namespace skyrank::kernels::cuda::topk {

using Count = unsigned long long;

inline constexpr unsigned kNarrowThreads = 256;

inline constexpr Parameter kAlwaysWrites{
    "writes", "1: each pass writes what it keeps, as the paper's; 0: only where that is less work", 0, 1, 0};

/// The effect of a pass on its source, besides counting bins.
enum class Step : std::uint8_t {
  count,      ///< nothing
  partition,  ///< splits it into what is chosen, what is in the interval, and what is neither
  finish,     ///< all that is not above the interval is chosen; no bins are counted
  done,       ///< nothing is left to do
};

/// The state of a selection. Bins divide the interval's keys, or rows, by their distance from its low end:
///   unsigned of(std::uint64_t distance)      the bin, below the number of bins, rising with the distance
///   std::uint64_t first(unsigned bin)        the least distance in it
///   static Bins over(std::uint64_t range, unsigned bins)   for distances in [0, range]
///   static Bins over_keys(std::uint64_t low, std::uint64_t range, unsigned bins)   the same for keys from `low` on, if
///                                                          their bins depend on more than distances
///   static int passes(int bits, unsigned bins)             until an interval of 2^bits has become one of 1, at most,
///   if
///                                                          they are few enough for finish()
template <class Element, class Bins>
struct NarrowState {
  Element low;   ///< the k-th least element is in [low, high],
  Element high;  ///< all rows of a key lie in the interval, or none, unless `unit_bits` is 0
  Bins bins;
  int unit_bits;  ///< unit of distances: keys, which are this far up in an element, or (0) rows of one key
  Step step;
  int source;         ///< source of the next pass: 0 all keys, 1 and 2 the buffers
  Count source_size;  ///< elements there
  Count wanted;       ///< elements of the interval that are chosen
  Count chosen;       ///< elements in the answer so far
  Count kept;         ///< elements in the other buffer so far
  unsigned arrived;
  Count bytes_read;
  Count bytes_written;  ///< to the buffers
  Count candidates;     ///< elements not above the first interval
};

/// Bins that depend on the keys themselves. A concept of its own: to nvcc 13.0, a requires-expression with a call of
/// the object's own device function does not hold.
template <class Bins, class Key>
concept BinsOfKeys = requires(Key low, std::uint64_t range, unsigned bins) {
  Bins::over_keys(low, range, bins);
};

/// The arguments of all kernels of a selection.
template <class E, class Bins>
struct Narrow {
  using Key = typename E::Key;
  using Element = typename E::Element;

  E elements;
  std::size_t n;
  std::size_t k;
  unsigned bin_count;
  bool always_writes;
  NarrowState<Element, Bins>* state;
  Count* histogram;
  Element* first_buffer;
  Element* second_buffer;
  Element* answer;

  __device__ Element* buffer(int source) const { return source == 1 ? first_buffer : second_buffer; }

  /// One thread, before the first choice: makes the keys in [low, high] the interval.
  __device__ void begin(Key low, Key high) const {
    state->wanted = k;
    set_interval(low, high);
  }

  /// The thread that found the bin with the k-th element, of the `inside` elements of which `below` come before it.
  __device__ void choose(unsigned bin, Count below, Count inside) const {
    if (state->candidates == 0) state->candidates = below + inside;
    pass_ended();
    set_bin(bin);
    state->wanted -= below;
    const bool worth_writing = always_writes || 2 * inside * sizeof(Element) <= source_bytes();
    state->step = inside == state->wanted ? Step::finish : worth_writing ? Step::partition : Step::count;
  }

  /// One thread, at the end of a pass: counts its work, and makes what it kept the source.
  __device__ void pass_ended() const {
    state->bytes_read += source_bytes();
    if (state->step == Step::finish) state->step = Step::done;
    if (state->step != Step::partition) return;
    state->source = state->source == 1 ? 2 : 1;
    state->source_size = state->kept;
    state->bytes_written += state->kept * sizeof(Element);
    state->kept = 0;
  }

 private:
  __device__ std::size_t source_bytes() const {
    return state->source == 0 ? n * sizeof(Key) : state->source_size * sizeof(Element);
  }

  /// The greatest distance in the interval.
  __device__ std::uint64_t range() const {
    return static_cast<std::uint64_t>((state->high - state->low) >> state->unit_bits);
  }

  /// The bins of an interval that begins with key `low`.
  __device__ Bins over_keys(Key low) const {
    if constexpr (BinsOfKeys<Bins, Key>) {
      return Bins::over_keys(low, range(), bin_count);
    } else {
      return Bins::over(range(), bin_count);
    }
  }

  __device__ void set_interval(Key low, Key high) const {
    const Element least_row = elements.complement == 0 ? Element{0} : E::kRowMask - (n - 1);
    state->low = (static_cast<Element>(low) << E::kRowBits) + least_row;
    state->high = (static_cast<Element>(high) << E::kRowBits) + least_row + (n - 1);
    state->unit_bits = low == high ? 0 : E::kRowBits;
    state->bins = low == high ? Bins::over(range(), bin_count) : over_keys(low);
  }

  __device__ void set_bin(unsigned bin) const {
    const std::uint64_t begin = state->bins.first(bin);
    const std::uint64_t end = bin == state->bins.of(range()) ? range() : state->bins.first(bin + 1) - 1;
    if (state->unit_bits != 0) {
      const Key lowest = E::key(state->low);
      set_interval(static_cast<Key>(lowest + begin), static_cast<Key>(lowest + end));
    } else {
      state->high = state->low + end;
      state->low += begin;
      state->bins = Bins::over(end - begin, bin_count);
    }
  }
};

/// Adds the block's histogram to the grid's. Returns whether the block is the last to do so, and may choose.
template <class E, class Bins>
__device__ bool add_histogram(const Narrow<E, Bins>& narrow, const unsigned* histogram) {
  __syncthreads();
  for (unsigned bin = threadIdx.x; bin < narrow.bin_count; bin += blockDim.x) {
    if (histogram[bin] != 0) atomicAdd(&narrow.histogram[bin], Count{histogram[bin]});
  }
  return last_block(&narrow.state->arrived);
}

/// The last block finds the bin with the k-th element, and empties the histogram.
template <class E, class Bins>
__device__ void choose_bin(const Narrow<E, Bins>& narrow) {
  const unsigned each = (narrow.bin_count + blockDim.x - 1) / blockDim.x;
  const unsigned begin = min(narrow.bin_count, threadIdx.x * each);
  const unsigned end = min(narrow.bin_count, begin + each);
  const Count wanted = narrow.state->wanted;
  Count mine = 0;
  for (unsigned bin = begin; bin < end; ++bin) mine += __ldcg(&narrow.histogram[bin]);
  Count total = 0;
  Count below = sum_before(mine, total);
  if (below < wanted && wanted <= below + mine) {
    unsigned bin = begin;
    Count inside = __ldcg(&narrow.histogram[bin]);
    while (below + inside < wanted) {
      below += inside;
      inside = __ldcg(&narrow.histogram[++bin]);
    }
    narrow.choose(bin, below, inside);
  }
  for (unsigned bin = begin; bin < end; ++bin) narrow.histogram[bin] = 0;
}

/// The block's histogram, of zeros.
inline __device__ unsigned* empty_histogram(unsigned bins) {
  auto* const histogram = dynamic_shared<unsigned>();
  for (unsigned bin = threadIdx.x; bin < bins; bin += blockDim.x) histogram[bin] = 0;
  __syncthreads();
  return histogram;
}

/// The places where this thread writes the first of its items of two kinds.
struct Places {
  Count chosen;
  Count kept;
};

/// Makes room for the items that a block's threads have in one tile, as many of either kind as bits are set, behind
/// those that have been written.
inline __device__ Places reserve(unsigned chosen, unsigned kept, Count* all_chosen, Count* all_kept) {
  __shared__ Count of_block[2];
  // A tile has fewer than 2^16 items.
  unsigned total = 0;
  const unsigned before =
      sum_before(static_cast<unsigned>(__popc(chosen)) | static_cast<unsigned>(__popc(kept)) << 16, total);
  if (threadIdx.x == 0) {
    of_block[0] = atomicAdd(all_chosen, Count{total & 0xffffu});
    of_block[1] = atomicAdd(all_kept, Count{total >> 16});
  }
  __syncthreads();
  return {of_block[0] + (before & 0xffffu), of_block[1] + (before >> 16)};
}

/// Compares keys, if the interval is of whole keys and the source has nothing else: less work than comparing elements.
template <class E>
struct ByKey {
  using Value = typename E::Key;

  __device__ static Value of(typename E::Element element) { return E::key(element); }
  template <class Source>
  __device__ static Value of_item(const Source& /*source*/, Value key, std::size_t /*place*/) {
    return key;
  }
  __device__ static Value distance(Value from, Value to, int /*unit_bits*/) { return static_cast<Value>(to - from); }
};

/// Compares elements, which any pass may do.
template <class E>
struct ByElement {
  using Value = typename E::Element;

  __device__ static Value of(Value element) { return element; }
  template <class Source>
  __device__ static Value of_item(const Source& source, typename Source::Item item, std::size_t place) {
    return source.element(item, place);
  }
  __device__ static std::uint64_t distance(Value from, Value to, int unit_bits) {
    return static_cast<std::uint64_t>((to - from) >> unit_bits);
  }
};

/// One pass over a source.
template <class Compared, class E, class Bins, class Source>
__device__ void narrow_source(const Narrow<E, Bins>& narrow, const Source& source, unsigned* histogram) {
  using Element = typename E::Element;
  using Value = typename Compared::Value;
  using Item = typename Source::Item;
  const auto* const state = narrow.state;
  const Step step = state->step;
  const Value low = Compared::of(state->low);
  const Value high = Compared::of(state->high);
  // Something lies above what finishes: the answer is not everything.
  const Value chosen_below = step == Step::finish ? static_cast<Value>(high + 1) : low;
  const Bins bins = state->bins;
  const int unit_bits = state->unit_bits;
  Element* const next = narrow.buffer(state->source == 1 ? 2 : 1);

  for (std::size_t tile = blockIdx.x; tile < source.count(); tile += gridDim.x) {
    Item items[Source::kItems];
    const unsigned present = source.load(tile, items);
    unsigned chosen = 0;
    unsigned kept = 0;
#pragma unroll
    for (unsigned i = 0; i < Source::kItems; ++i) {
      if ((present >> i & 1) == 0) continue;
      const Value value = Compared::of_item(source, items[i], source.place(tile, i));
      if (value > high) continue;
      if (value < chosen_below) {
        chosen |= 1u << i;
        continue;
      }
      kept |= 1u << i;
      atomicAdd(&histogram[bins.of(Compared::distance(low, value, unit_bits))], 1u);
    }
    if (step == Step::count || __syncthreads_or(static_cast<int>(chosen | kept)) == 0) continue;
    Places places = reserve(chosen, kept, &narrow.state->chosen, &narrow.state->kept);
#pragma unroll
    for (unsigned i = 0; i < Source::kItems; ++i) {
      if ((chosen >> i & 1) != 0) narrow.answer[places.chosen++] = source.element(items[i], source.place(tile, i));
      if ((kept >> i & 1) != 0) next[places.kept++] = source.element(items[i], source.place(tile, i));
    }
  }
}

template <class E, class Bins>
__global__ void __launch_bounds__(kNarrowThreads) narrow_pass(Narrow<E, Bins> narrow) {
  using Element = typename E::Element;
  auto* const state = narrow.state;
  const Step step = state->step;
  if (step == Step::done) return;
  unsigned* const histogram = empty_histogram(narrow.bin_count);
  const int source = state->source;
  if (source != 0) {
    const ElementTiles<Element, kNarrowThreads> listed(narrow.buffer(source), state->source_size);
    narrow_source<ByElement<E>>(narrow, listed, histogram);
  } else {
    const KeyTiles<E, kNarrowThreads> keys(narrow.elements, narrow.n);
    if (state->unit_bits == 0) {
      narrow_source<ByElement<E>>(narrow, keys, histogram);
    } else {
      narrow_source<ByKey<E>>(narrow, keys, histogram);
    }
  }
  if (step != Step::finish) {
    if (add_histogram(narrow, histogram)) choose_bin(narrow);
  } else if (last_block(&state->arrived) && threadIdx.x == 0) {
    narrow.pass_ended();
  }
}

/// Memory and launches of a selection of the k least of n elements into `answer`, by intervals of `bin_count` bins.
template <class E, class Bins>
class Narrowing {
 public:
  using Element = typename E::Element;

  Narrowing(Run& run, const E& elements, std::size_t n, std::size_t k, Element* answer, unsigned bin_count)
      : run_(run),
        always_writes_(run.parameters[kAlwaysWrites.name] != 0),
        state_(run.allocate<NarrowState<Element, Bins>>(1)),
        histogram_(run.allocate<Count>(bin_count)),
        first_(run.allocate<Element>(always_writes_ ? n : n * sizeof(typename E::Key) / (2 * sizeof(Element)))),
        second_(run.allocate<Element>(always_writes_ ? n : first_.size() / 2)),
        narrow_{.elements = elements,
                .n = n,
                .k = k,
                .bin_count = bin_count,
                .always_writes = always_writes_,
                .state = state_.data(),
                .histogram = histogram_.data(),
                .first_buffer = first_.data(),
                .second_buffer = second_.data(),
                .answer = answer},
        grid_(grid(narrow_pass<E, Bins>)) {
    SKYRANK_CUDA_CALL(cudaMemsetAsync(state_.data(), 0, state_.bytes(), run.stream()));
    SKYRANK_CUDA_CALL(cudaMemsetAsync(histogram_.data(), 0, histogram_.bytes(), run.stream()));
  }

  const Narrow<E, Bins>& shared_by_kernels() const { return narrow_; }

  /// For a kernel that reads all keys by tiles, with a histogram: as many blocks as the device holds at a time, or as
  /// there are tiles.
  template <class... Parameters>
  Grid grid(void (*kernel)(Parameters...)) const {
    const std::size_t shared = narrow_.bin_count * sizeof(unsigned);
    const KeyTiles<E, kNarrowThreads> keys(narrow_.elements, narrow_.n);
    const std::size_t resident =
        resident_blocks(kernel, kNarrowThreads, shared) * run_.device.properties().multiprocessors;
    return {.blocks = std::min(keys.count(), resident), .threads = kNarrowThreads, .shared_bytes = shared};
  }

  void pass() { launch("narrow_pass", narrow_pass<E, Bins>, grid_, run_.stream(), narrow_); }

  /// Once the first bin was chosen: as many passes as any keys may need. Those that come too many end at once.
  void finish() {
    const int passes = Bins::passes(8 * sizeof(typename E::Key), narrow_.bin_count) +
                       Bins::passes(static_cast<int>(std::bit_width(narrow_.n - 1)), narrow_.bin_count);
    for (int i = 0; i < passes; ++i) pass();
  }

  /// Waits for the passes so far. Returns true if nothing is left to do.
  bool wait() { return fetch_state().step == Step::done; }

  /// Fetches the counters, which costs a wait, if the run is to have them.
  void count_work() {
    if (!run_.context.count_work) return;
    const NarrowState<Element, Bins> state = fetch_state();
    run_.count(state.bytes_read, state.bytes_written + narrow_.k * sizeof(Element), state.candidates);
  }

 private:
  NarrowState<Element, Bins> fetch_state() {
    NarrowState<Element, Bins> state;
    SKYRANK_CUDA_CALL(cudaMemcpyAsync(&state, state_.data(), sizeof(state), cudaMemcpyDeviceToHost, run_.stream()));
    run_.device.synchronize();
    return state;
  }

  Run& run_;
  bool always_writes_;
  Buffer<NarrowState<Element, Bins>> state_;
  Buffer<Count> histogram_;
  // No more than is ever written: all elements, or else half the bytes of what was read.
  Buffer<Element> first_;
  Buffer<Element> second_;
  Narrow<E, Bins> narrow_;
  Grid grid_;
};

}  // namespace skyrank::kernels::cuda::topk
