#include <cstdint>

#include "kernels/cuda/device/kernel/shared.cuh"
#include "kernels/cuda/device/launch.cuh"
#include "kernels/cuda/topk/block/tiles.cuh"
#include "kernels/cuda/topk/solve.cuh"
#include "kernels/papers/cuda/stage_marks.hpp"
#include "kernels/papers/cuda/topk/block_sums.cuh"
#include "kernels/papers/cuda/topk/randomized_select/pivots.hpp"

// Randomized selection (Monroe et al., HPG 2011): two pivots from a sorted random sample, chosen so that with a wished
// probability the k-th element lies between them. One pass counts what lies before and between the pivots; if the k-th
// is elsewhere the pivots are shifted and the pass is made again. A second pass saves the first bin, which is in the
// answer, and the middle one, of which the rest of the answer is selected. The rows themselves stay as they are.
//
// Elements carry row ids and so are all different: repeated keys do not make the middle bin larger.
namespace skyrank::kernels::cuda::topk {
namespace {

using Count = unsigned long long;

constexpr unsigned kLoads = 2;
/// Threads of a block that draws or, unless asked otherwise, counts and saves.
constexpr unsigned kThreads = 256;

/// The pivots: elements below `low` belong to the first bin, then elements not above `high` to the middle one.
template <class Element>
struct Pivots {
  Element low;
  Element high;
};

template <class Element>
__device__ Pivots<Element> pivots_at(const PivotPair& at, const Element* splitters, std::size_t count) {
  const auto end = static_cast<std::ptrdiff_t>(count);
  return {at.low < 0 ? Element{0} : splitters[at.low], at.high >= end ? kNoElement<Element> : splitters[at.high]};
}

/// Masks of a thread's items of a tile that fall into the two bins.
struct InBins {
  unsigned first = 0;
  unsigned middle = 0;
};

template <class Source>
__device__ InBins query(const Source& source, std::size_t tile, typename Source::Item (&items)[Source::kItems],
                        const Pivots<typename Source::Element>& pivots) {
  InBins in;
  const unsigned present = source.load(tile, items);
#pragma unroll
  for (unsigned i = 0; i < Source::kItems; ++i) {
    const auto element = source.element(items[i], source.place(tile, i));
    if ((present >> i & 1) == 0 || element > pivots.high) continue;
    (element < pivots.low ? in.first : in.middle) |= 1u << i;
  }
  return in;
}

/// Mixes the bits of a number (the finalizer of MurmurHash3).
__device__ std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdULL;
  x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53ULL;
  return x ^ (x >> 33);
}

template <class E>
__global__ void draw_splitters(E elements, std::size_t n, std::uint64_t seed, typename E::Element* splitters,
                               std::size_t count) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) splitters[i] = elements.at(__umul64hi(mixed(i + 1 + (seed << 32)), n));
}

/// Sizes of the two bins.
struct BinSizes {
  Count first;
  Count middle;
};

/// The output of the counting pass: for each block, where its elements begin in either bin.
struct Offsets {
  BinSizes* total;
  Count* first;
  Count* middle;
  unsigned* arrived;
};

template <class E, unsigned kBlock>
__global__ void __launch_bounds__(kBlock)
    count_bins(E elements, std::size_t n, PivotPair at, const typename E::Element* splitters, std::size_t count,
               Offsets offsets) {
  const KeyTiles<E, kBlock, kLoads> keys(elements, n);
  const auto pivots = pivots_at(at, splitters, count);
  Count first = 0;
  Count middle = 0;
  for (std::size_t tile = blockIdx.x; tile < keys.count(); tile += gridDim.x) {
    typename E::Key items[keys.kItems];
    const InBins in = query(keys, tile, items, pivots);
    first += static_cast<unsigned>(__popc(in.first));
    middle += static_cast<unsigned>(__popc(in.middle));
  }
  BinSizes block{0, 0};
  sum_before(first, block.first);
  sum_before(middle, block.middle);
  if (threadIdx.x == 0) {
    offsets.first[blockIdx.x] = block.first;
    offsets.middle[blockIdx.x] = block.middle;
  }
  if (!last_block(offsets.arrived)) return;
  const BinSizes total{sum_over_blocks(offsets.first), sum_over_blocks(offsets.middle)};
  if (threadIdx.x == 0) *offsets.total = total;
}

/// Saves both bins, each block its elements where `offsets` has it begin. `kStaged`: what a tile has is put together in
/// shared memory and written side by side; otherwise each thread writes what it finds (section 6.2.4).
template <class E, unsigned kBlock, bool kStaged>
__global__ void __launch_bounds__(kBlock)
    partition_and_save(E elements, std::size_t n, PivotPair at, const typename E::Element* splitters, std::size_t count,
                       Offsets offsets, typename E::Element* first, typename E::Element* middle) {
  using Element = typename E::Element;
  const KeyTiles<E, kBlock, kLoads> keys(elements, n);
  const auto pivots = pivots_at(at, splitters, count);
  BinSizes written{offsets.first[blockIdx.x], offsets.middle[blockIdx.x]};
  for (std::size_t tile = blockIdx.x; tile < keys.count(); tile += gridDim.x) {
    typename E::Key items[keys.kItems];
    const InBins in = query(keys, tile, items, pivots);
    if (__syncthreads_or(static_cast<int>(in.first | in.middle)) == 0) continue;
    // A tile has fewer than 2^16 items.
    unsigned total = 0;
    const unsigned before =
        sum_before(static_cast<unsigned>(__popc(in.first)) | static_cast<unsigned>(__popc(in.middle)) << 16, total);
    const unsigned total_first = total & 0xffffu;
    const unsigned total_middle = total >> 16;
    Element* to_first = first + written.first + (before & 0xffffu);
    Element* to_middle = middle + written.middle + (before >> 16);
    if constexpr (kStaged) {
      to_first = dynamic_shared<Element>() + (before & 0xffffu);
      to_middle = dynamic_shared<Element>() + total_first + (before >> 16);
    }
#pragma unroll
    for (unsigned i = 0; i < keys.kItems; ++i) {
      if ((in.first >> i & 1) != 0) *to_first++ = keys.element(items[i], keys.place(tile, i));
      if ((in.middle >> i & 1) != 0) *to_middle++ = keys.element(items[i], keys.place(tile, i));
    }
    if constexpr (kStaged) {
      const Element* const staged = dynamic_shared<Element>();
      __syncthreads();
      for (unsigned i = threadIdx.x; i < total_first; i += kBlock) first[written.first + i] = staged[i];
      for (unsigned i = threadIdx.x; i < total_middle; i += kBlock) {
        middle[written.middle + i] = staged[total_first + i];
      }
    }
    written.first += total_first;
    written.middle += total_middle;
  }
}

constexpr Parameter kParameters[] = {
    {"probability", "percent, at least, that the first two pivots are to have the k-th row between them", 1, 99, 80},
    {"seed", "seed of the random sample", 0, 2147483647, 0},
    {"coalesced_from", "per mille of the rows that k is at least for rows to be written side by side", 0, 1000, 100},
    {"block_threads", "threads of a block, rounded down to a power of two; the paper has 64 or 128", 64, 256, kThreads},
    {"keys_per_thread", "keys of a thread, on the average; the paper has 8, and 0 leaves a grid that the device holds",
     0, 4096, 0},
    kOrdered,
    kReturned,
};

template <class E, unsigned kBlock>
class RandomizedSelection {
 public:
  using Element = typename E::Element;

  RandomizedSelection(Run& run, const E& elements, std::size_t n, std::size_t k)
      : run_(run),
        marks_(run),
        elements_(elements),
        n_(n),
        k_(k),
        blocks_(grid_size()),
        splitters_(run.allocate<Element>(splitter_count(n))),
        total_(run.allocate<BinSizes>(1)),
        of_blocks_(run.allocate<Count>(2 * blocks_)),
        arrived_(run.allocate<unsigned>(1)) {
    SKYRANK_CUDA_CALL(cudaMemsetAsync(arrived_.data(), 0, arrived_.bytes(), run.stream()));
  }

  void select(Element* chosen) {
    draw();
    marks_.end("splitters", n_);
    guess_until_enclosed();
    marks_.end("counting", found_.middle);
    auto middle = run_.allocate<Element>(found_.middle);
    save(chosen, middle.data());
    marks_.end("partition", found_.middle);
    const std::size_t rest = k_ - found_.first;
    if (rest < found_.middle) sort_elements(middle.data(), middle.size(), run_.device);
    SKYRANK_CUDA_CALL(cudaMemcpyAsync(chosen + found_.first, middle.data(), rest * sizeof(Element),
                                      cudaMemcpyDeviceToDevice, run_.stream()));
    marks_.end("selection", rest);
    marks_.note();
    if (!run_.context.count_work) return;
    const std::size_t saved = found_.first + found_.middle;
    run_.count((guesses_ + 1) * n_ * sizeof(typename E::Key) + saved * sizeof(Element),
               (splitters_.size() + saved) * sizeof(Element), saved);
  }

 private:
  using Keys = KeyTiles<E, kBlock, kLoads>;

  /// Section 6.2: a grid has a block for so many keys of each thread.
  std::size_t grid_size() const {
    const auto keys = static_cast<std::size_t>(run_.parameters["keys_per_thread"]);
    const std::size_t wished =
        keys > 0 ? (n_ + kBlock * keys - 1) / (kBlock * keys)
                 : resident_blocks(count_bins<E, kBlock>, kBlock) * run_.device.properties().multiprocessors;
    return std::min(Keys(elements_, n_).count(), wished);
  }

  Offsets offsets() const {
    return {.total = total_.data(),
            .first = of_blocks_.data(),
            .middle = of_blocks_.data() + blocks_,
            .arrived = arrived_.data()};
  }

  void draw() {
    launch("draw_splitters", draw_splitters<E>,
           {.blocks = blocks_for(splitters_.size(), kThreads), .threads = kThreads}, run_.stream(), elements_, n_,
           static_cast<std::uint64_t>(run_.parameters["seed"]), splitters_.data(), splitters_.size());
    sort_elements(splitters_.data(), splitters_.size(), run_.device);
  }

  /// Waits for each count: it decides whether there is another, and how much memory the middle bin needs.
  void guess_until_enclosed() {
    const double wished = static_cast<double>(run_.parameters["probability"]) / 100;
    pivots_ = likely_pivots(n_, k_, splitters_.size(), wished);
    for (count(); found_.first >= k_ || found_.first + found_.middle < k_; count()) {
      pivots_ = found_.first >= k_ ? shifted_down(pivots_) : shifted_up(pivots_, splitters_.size());
    }
  }

  void count() {
    launch("count_bins", count_bins<E, kBlock>, {.blocks = blocks_, .threads = kBlock}, run_.stream(), elements_, n_,
           pivots_, splitters_.data(), splitters_.size(), offsets());
    SKYRANK_CUDA_CALL(cudaMemcpyAsync(&found_, total_.data(), sizeof(found_), cudaMemcpyDeviceToHost, run_.stream()));
    run_.device.synchronize();
    ++guesses_;
  }

  void save(Element* first, Element* middle) {
    const auto from = static_cast<double>(run_.parameters["coalesced_from"]) / 1000;
    const bool staged = static_cast<double>(k_) >= from * static_cast<double>(n_);
    const auto kernel = staged ? partition_and_save<E, kBlock, true> : partition_and_save<E, kBlock, false>;
    const std::size_t shared = staged ? Keys::kTile * sizeof(Element) : 0;
    launch("partition_and_save", kernel, {.blocks = blocks_, .threads = kBlock, .shared_bytes = shared}, run_.stream(),
           elements_, n_, pivots_, splitters_.data(), splitters_.size(), offsets(), first, middle);
  }

  Run& run_;
  StageMarks marks_;
  E elements_;
  std::size_t n_;
  std::size_t k_;
  std::size_t blocks_;
  Buffer<Element> splitters_;
  Buffer<BinSizes> total_;
  Buffer<Count> of_blocks_;  ///< counts of the blocks for the first bin, then for the middle one
  Buffer<unsigned> arrived_;
  PivotPair pivots_;
  BinSizes found_{};
  std::size_t guesses_ = 0;
};

struct RandomizedSelect {
  static constexpr bool kMayBeUnordered = true;
  static constexpr bool kSelectsAll = true;

  template <class E>
  static bool select(Run& run, const E& elements, std::size_t n, std::size_t k, typename E::Element* chosen) {
    const auto threads = run.parameters["block_threads"];
    if (threads >= 256) {
      RandomizedSelection<E, 256>(run, elements, n, k).select(chosen);
    } else if (threads >= 128) {
      RandomizedSelection<E, 128>(run, elements, n, k).select(chosen);
    } else {
      RandomizedSelection<E, 64>(run, elements, n, k).select(chosen);
    }
    return false;
  }
};

}  // namespace

extern const TopKAlgorithm randomized_select;
const TopKAlgorithm randomized_select{
    .name = "cuda-randomized",
    .summary = "guesses two pivots around the k-th row from a random sample, checks, and selects between them",
    .source = "Monroe, Wendelberger, Michalak: Randomized Selection on the GPU, HPG 2011",
    .device = Device::cuda,
    .parameters = kParameters,
    .supports = needs_key_columns,
    .run = solve<RandomizedSelect>,
};

}  // namespace skyrank::kernels::cuda::topk
