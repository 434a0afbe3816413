#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "kernels/cuda/device/kernel/shared.cuh"
#include "kernels/cuda/device/launch.cuh"
#include "kernels/cuda/topk/block/tiles.cuh"
#include "kernels/cuda/topk/solve.cuh"

// Per-thread top-k (Shanbhag et al., SIGMOD 2018, sections 3.1 and 4.1, appendix A): every thread of a full device
// keeps the k least of the elements that it reads, in a heap in shared memory or in a list in registers. Their lists
// are reduced by the same kernel, with fewer threads, until they are few enough to be sorted.
namespace skyrank::kernels::cuda::topk {
namespace {

constexpr unsigned kWarp = 32;
constexpr unsigned kHeapThreads = 64;
/// Shared memory that a block may have on every GPU from compute capability 8.0 on.
constexpr std::size_t kSharedBytes = 96 * 1024;
/// Elements that a thread reads, in multiples of k, before there are more threads: what it leaves is worth its work.
constexpr std::size_t kShrink = 8;
/// Lists of fewer elements are sorted.
constexpr std::size_t kFew = std::size_t{1} << 15;

/// A thread's k least elements: a heap with the greatest on top, striped over the block's shared memory, so that the
/// threads of a warp use different banks wherever in their heaps they are. Begins with k times kNoElement.
template <class Element>
class Heap {
 public:
  static constexpr unsigned kLoads = 4;

  static std::size_t shared_bytes(unsigned threads, std::size_t k) { return threads * k * sizeof(Element); }

  __device__ explicit Heap(unsigned k) : size_(k), entries_(dynamic_shared<Element>() + threadIdx.x) {
    for (unsigned i = 0; i < size_; ++i) at(i) = kNoElement<Element>;
  }

  __device__ Element worst() const { return worst_; }

  /// Takes the worst out and `element`, which is less, in.
  __device__ void replace_worst(Element element) {
    unsigned hole = 0;
    for (unsigned child = 1; child < size_; child = 2 * hole + 1) {
      Element greater = at(child);
      if (child + 1 < size_ && greater < at(child + 1)) greater = at(++child);
      if (greater < element) break;
      at(hole) = greater;
      hole = child;
    }
    at(hole) = element;
    worst_ = at(0);
  }

  /// Writes them `stride` apart.
  __device__ void write(Element* to, std::size_t stride) const {
    for (unsigned i = 0; i < size_; ++i) to[i * stride] = at(i);
  }

 private:
  __device__ Element& at(unsigned i) const { return entries_[i * blockDim.x]; }

  unsigned size_;
  Element* entries_;
  Element worst_ = kNoElement<Element>;
};

/// The same as a list of at most `kSize` in registers, which are never indexed but in loops that unroll. Longer lists
/// than registers can have are in (local) memory; to unroll them would only make the code larger.
template <class Element, unsigned kSize>
class List {
 public:
  static constexpr unsigned kLoads = 2;

  static std::size_t shared_bytes(unsigned /*threads*/, std::size_t /*k*/) { return 0; }

  __device__ explicit List(unsigned k) : size_(k) {
    // Entries that are too many are never the greatest.
#pragma unroll kUnroll
    for (unsigned i = 0; i < kSize; ++i) entries_[i] = i < size_ ? kNoElement<Element> : Element{0};
  }

  __device__ Element worst() const { return worst_; }

  __device__ void replace_worst(Element element) {
#pragma unroll kUnroll
    for (unsigned i = 0; i < kSize; ++i) entries_[i] = i == worst_at_ ? element : entries_[i];
    worst_ = entries_[0];
    worst_at_ = 0;
#pragma unroll kUnroll
    for (unsigned i = 1; i < kSize; ++i) {
      const bool greater = worst_ < entries_[i];
      worst_ = greater ? entries_[i] : worst_;
      worst_at_ = greater ? i : worst_at_;
    }
  }

  __device__ void write(Element* to, std::size_t stride) const {
#pragma unroll kUnroll
    for (unsigned i = 0; i < kSize; ++i) {
      if (i < size_) to[i * stride] = entries_[i];
    }
  }

 private:
  static constexpr unsigned kUnroll = kSize <= 64 ? kSize : 8;

  unsigned size_;
  Element entries_[kSize];
  Element worst_ = kNoElement<Element>;
  unsigned worst_at_ = 0;
};

/// Each thread's k least elements of a source, which warps read in turns. Element i of thread t goes to
/// kept[t + i * threads].
template <class Best, class Source>
__global__ void __launch_bounds__(kHeapThreads) keep_best(Source source, unsigned k, typename Source::Element* kept) {
  const std::size_t threads = std::size_t{gridDim.x} * blockDim.x;
  const std::size_t thread = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  Best best(k);
  for (std::size_t tile = thread / kWarp; tile < source.count(); tile += threads / kWarp) {
    typename Source::Item items[Source::kItems];
    const unsigned present = source.load(tile, items);
#pragma unroll
    for (unsigned i = 0; i < Source::kItems; ++i) {
      const auto element = source.element(items[i], source.place(tile, i));
      if ((present >> i & 1) != 0 && element < best.worst()) best.replace_worst(element);
    }
  }
  best.write(kept + thread, threads);
}

/// The lists of all threads that read `n` elements of a source. Where there are fewer than k elements for a thread,
/// kNoElement fills its list.
template <class Best, class Source>
Buffer<typename Source::Element> best_of(Run& run, const Source& source, std::size_t n, std::size_t k) {
  const unsigned threads = Best::shared_bytes(kHeapThreads, k) <= kSharedBytes ? kHeapThreads : kWarp;
  const std::size_t shared = Best::shared_bytes(threads, k);
  const auto kernel = keep_best<Best, Source>;
  const std::size_t resident = resident_blocks(kernel, threads, shared) * run.device.properties().multiprocessors;
  const std::size_t blocks = std::clamp<std::size_t>(n / (kShrink * k * threads), 1, resident);
  auto kept = run.allocate<typename Source::Element>(blocks * threads * k);
  launch("keep_best", kernel, {.blocks = blocks, .threads = threads, .shared_bytes = shared}, run.stream(), source,
         static_cast<unsigned>(k), kept.data());
  if (run.context.count_work) {
    run.count(n * sizeof(typename Source::Item), kept.bytes());
  }
  return kept;
}

template <class Best, class E>
void select_per_thread(Run& run, const E& elements, std::size_t n, std::size_t k, typename E::Element* chosen) {
  using Element = typename E::Element;
  auto kept = best_of<Best>(run, KeyTiles<E, kWarp, Best::kLoads>(elements, n), n, k);
  if (run.context.count_work) run.work.candidates += std::min(n, kept.size());
  while (kept.size() > std::max(kFew, 2 * kShrink * k * kHeapThreads)) {
    const ElementTiles<Element, kWarp, Best::kLoads> lists(kept.data(), kept.size());
    kept = best_of<Best>(run, lists, kept.size(), k);
  }
  sort_elements(kept.data(), kept.size(), run.device);
  SKYRANK_CUDA_CALL(cudaMemcpyAsync(chosen, kept.data(), k * sizeof(Element), cudaMemcpyDeviceToDevice, run.stream()));
}

/// Bytes of the elements that `solve` makes of a problem's rows.
std::size_t element_bytes(const TopKShape& shape) {
  const bool is_short = total_bits(shape.widths) <= 32 && shape.n <= std::numeric_limits<std::uint32_t>::max();
  return is_short ? sizeof(ShortElements::Element) : sizeof(LongElements::Element);
}

Support keeps_at_most(std::size_t most, std::string_view where, const TopKShape& shape) {
  if (Support support = needs_key_columns(shape); !support) return support;
  // With k = n there is nothing to select.
  if (shape.k <= most || shape.k >= shape.n) return Support::yes();
  return Support::no("k is " + std::to_string(shape.k) + ", and the " + std::string(where) +
                     " of a thread has room for " + std::to_string(most) + " such rows");
}

struct HeapPerThread {
  static Support supports(const TopKShape& shape) {
    return keeps_at_most(kSharedBytes / (kWarp * element_bytes(shape)), "shared memory", shape);
  }

  template <class E>
  static bool select(Run& run, const E& elements, std::size_t n, std::size_t k, typename E::Element* chosen) {
    select_per_thread<Heap<typename E::Element>>(run, elements, n, k, chosen);
    return true;
  }
};

struct ListPerThread {
  static Support supports(const TopKShape& shape) { return keeps_at_most(kMax, "register list", shape); }

  template <class E>
  static bool select(Run& run, const E& elements, std::size_t n, std::size_t k, typename E::Element* chosen) {
    select_with_room<E, 8>(run, elements, n, k, chosen);
    return true;
  }

 private:
  /// The paper measures lists up to here.
  static constexpr unsigned kMax = 256;

  /// Selects with the shortest list of at least `kSize` entries.
  template <class E, unsigned kSize>
  static void select_with_room(Run& run, const E& elements, std::size_t n, std::size_t k, typename E::Element* chosen) {
    constexpr unsigned kMore = kSize < 32 ? 32 : 2 * kSize;
    if constexpr (kMore <= kMax) {
      if (k > kSize) return select_with_room<E, kMore>(run, elements, n, k, chosen);
    }
    select_per_thread<List<typename E::Element, kSize>>(run, elements, n, k, chosen);
  }
};

}  // namespace

extern const TopKAlgorithm per_thread;
const TopKAlgorithm per_thread{
    .name = "cuda-per-thread",
    .summary = "a heap of the k best for each thread, in shared memory, then the best of these",
    .source =
        "Shanbhag, Pirk, Madden: Efficient Top-K Query Processing on Massively Parallel Hardware, SIGMOD 2018, "
        "sections 3.1 and 4.1",
    .device = Device::cuda,
    .parameters = {},
    .supports = HeapPerThread::supports,
    .run = solve<HeapPerThread>,
};

extern const TopKAlgorithm per_thread_registers;
const TopKAlgorithm per_thread_registers{
    .name = "cuda-per-thread-registers",
    .summary = "a list of the k best for each thread, in registers, then the best of these",
    .source =
        "Shanbhag, Pirk, Madden: Efficient Top-K Query Processing on Massively Parallel Hardware, SIGMOD 2018, "
        "appendix A",
    .device = Device::cuda,
    .parameters = {},
    .supports = ListPerThread::supports,
    .run = solve<ListPerThread>,
};

}  // namespace skyrank::kernels::cuda::topk
