#include <cmath>
#include <cstdint>

#include "kernels/papers/cuda/topk/narrow.cuh"

// Bucket select (Shanbhag et al., SIGMOD 2018, sections 2.3, 4.2 and 6.2): the least and the greatest key first, which
// for k = 1 is all; then buckets of equal widths between the two, and between the ends of the bucket with the k-th
// element, until all of one is in the answer.
//
// The paper's keys are values, and its buckets of equal widths in these. Keys here are integers in the order of the
// values, whose widths differ for floats: those of one power of two are as many as those of the next.
// Buckets are therefore of equal widths in the keys, or, where asked, in the floats that keys of their width stand for.
namespace skyrank::kernels::cuda::topk {
namespace {

/// Bins of equal widths. A bin is the whole part of distance * scale / 2^64.
struct Buckets {
  std::uint64_t scale;  ///< 0: each distance is a bin of its own

  __device__ unsigned of(std::uint64_t distance) const {
    return static_cast<unsigned>(scale == 0 ? distance : __umul64hi(distance, scale));
  }
  __device__ std::uint64_t first(unsigned bin) const {
    if (scale == 0) return bin;
    return static_cast<std::uint64_t>(((Uint128{bin} << 64) + scale - 1) / scale);
  }
  __device__ static Buckets over(std::uint64_t range, unsigned bins) {
    if (range < bins) return {0};
    return {static_cast<std::uint64_t>((Uint128{bins} << 64) / (Uint128{range} + 1))};
  }
  static int passes(int bits, unsigned bins) {
    // The scale is rounded down by less than 1, which for R distances makes bins up to R / (bins - 1) wide.
    int count = 0;
    double widest = std::ldexp(1.0, bits);
    for (; widest > bins; ++count) widest = widest / (bins - 1) + 1;
    return count + (widest > 1 ? 1 : 0);
  }
};

/// The finite float (or double) that a key stands for, or the nearest one, in a unit in which differences of two do not
/// overflow. Keys that stand for something else have an order-preserving value as well.
template <class Key>
__device__ double value_of(Key key) {
  constexpr bool kIsDouble = sizeof(Key) == sizeof(double);
  constexpr Key kSign = Key{1} << (8 * sizeof(Key) - 1);
  constexpr Key kGreatest = kIsDouble ? static_cast<Key>(0xffefffffffffffffULL) : static_cast<Key>(0xff7fffffu);
  const Key finite = min(max(key, static_cast<Key>(~kGreatest)), kGreatest);
  const Key bits = (finite & kSign) != 0 ? finite ^ kSign : ~finite;
  if constexpr (kIsDouble) return __longlong_as_double(static_cast<long long>(bits)) / 4;
  return __int_as_float(static_cast<int>(bits));
}

/// Bins of equal widths in the values of keys. Rows of one key, and keys that values do not tell apart, have bins of
/// equal widths in themselves.
template <class Key>
struct ValueBuckets {
  Buckets of_distances;
  Key low;
  std::uint64_t range;
  double origin;
  double scale;  ///< 0: bins by distances
  unsigned last;

  __device__ unsigned of(std::uint64_t distance) const {
    if (scale == 0) return of_distances.of(distance);
    const double from_origin = (value_of(static_cast<Key>(low + distance)) - origin) * scale;
    return min(static_cast<unsigned>(from_origin), last);
  }
  /// Bins rise with the distance: bisects.
  __device__ std::uint64_t first(unsigned bin) const {
    if (scale == 0) return of_distances.first(bin);
    std::uint64_t below = 0;
    for (std::uint64_t size = range; size > 0;) {
      const std::uint64_t half = size / 2;
      const bool is_below = of(below + half) < bin;
      below += is_below ? half + 1 : 0;
      size = is_below ? size - half - 1 : half;
    }
    return below;
  }
  __device__ static ValueBuckets over(std::uint64_t range, unsigned bins) {
    return {.of_distances = Buckets::over(range, bins), .low = 0, .range = range, .origin = 0, .scale = 0, .last = 0};
  }
  __device__ static ValueBuckets over_keys(Key low, std::uint64_t range, unsigned bins) {
    ValueBuckets buckets = over(range, bins);
    buckets.low = low;
    buckets.last = bins - 1;
    buckets.origin = value_of(low);
    const double scale = bins / (value_of(static_cast<Key>(low + range)) - buckets.origin);
    // Distances of the least doubles, or none, have no scale.
    if (std::isfinite(scale)) buckets.scale = scale;
    return buckets;
  }
};

/// The least element and the greatest key of some rows.
template <class E>
struct Extremes {
  typename E::Element least;
  typename E::Key greatest;

  __device__ void add(const Extremes& other) {
    if (other.least < least) least = other.least;
    if (other.greatest > greatest) greatest = other.greatest;
  }
};

/// Thread 0 gets the extremes of the block's threads. The block meets between two calls.
template <class E>
__device__ Extremes<E> of_block(const Extremes<E>& mine) {
  __shared__ Extremes<E> of_threads[kNarrowThreads];
  of_threads[threadIdx.x] = mine;
  for (unsigned distance = kNarrowThreads / 2; distance > 0; distance /= 2) {
    __syncthreads();
    if (threadIdx.x < distance) of_threads[threadIdx.x].add(of_threads[threadIdx.x + distance]);
  }
  return of_threads[threadIdx.x];
}

/// The first pass, which for k = 1 is the only one. `of_blocks` has room for one of each block.
template <class E, class Bins>
__global__ void __launch_bounds__(kNarrowThreads) find_extremes(Narrow<E, Bins> narrow, Extremes<E>* of_blocks) {
  using Key = typename E::Key;
  const KeyTiles<E, kNarrowThreads> keys(narrow.elements, narrow.n);
  Extremes<E> mine{kNoElement<typename E::Element>, 0};
  for (std::size_t tile = blockIdx.x; tile < keys.count(); tile += gridDim.x) {
    Key items[keys.kItems];
    const unsigned present = keys.load(tile, items);
#pragma unroll
    for (unsigned i = 0; i < keys.kItems; ++i) {
      if ((present >> i & 1) != 0) mine.add({keys.element(items[i], keys.place(tile, i)), items[i]});
    }
  }
  const Extremes<E> block = of_block(mine);
  if (threadIdx.x == 0) of_blocks[blockIdx.x] = block;
  if (!last_block(&narrow.state->arrived)) return;
  for (unsigned other = threadIdx.x; other < gridDim.x; other += blockDim.x) mine.add(of_blocks[other]);
  const Extremes<E> all = of_block(mine);
  if (threadIdx.x != 0) return;
  narrow.begin(E::key(all.least), all.greatest);
  narrow.pass_ended();
  if (narrow.k > 1) return;
  narrow.answer[0] = all.least;
  narrow.state->candidates = 1;
}

/// Buckets by values have no least number of passes that all keys are done in: the host asks now and then. Floats of
/// U(0, 1) take fewer than this by 16 buckets at a time.
constexpr int kPassesBeforeAWait = 8;

constexpr Parameter kParameters[] = {
    {"buckets", "buckets that a range is divided into; the paper has 16", 4, 2048, 256},
    {"by_values", "1: buckets of equal widths in the floats that keys stand for, as in the paper; 0: in the keys", 0, 1,
     0},
    kAlwaysWrites,
    kOrdered,
    kReturned,
};

template <class E, class Bins>
class BucketSelection {
 public:
  using Element = typename E::Element;

  BucketSelection(Run& run, const E& elements, std::size_t n, std::size_t k, Element* chosen)
      : run_(run),
        narrowing_(run, elements, n, k, chosen, static_cast<unsigned>(run.parameters["buckets"])),
        more_(k > 1) {}

  void select() {
    const auto kernel = find_extremes<E, Bins>;
    const Grid grid = narrowing_.grid(kernel);
    auto of_blocks = run_.allocate<Extremes<E>>(grid.blocks);
    launch("find_extremes", kernel, grid, run_.stream(), narrowing_.shared_by_kernels(), of_blocks.data());
    if (more_) narrow();
    narrowing_.count_work();
  }

 private:
  void narrow() {
    // The first buckets: nothing is written yet.
    narrowing_.pass();
    if constexpr (requires { Bins::passes(0, 0u); }) {
      narrowing_.finish();
    } else {
      do {
        for (int i = 0; i < kPassesBeforeAWait; ++i) narrowing_.pass();
      } while (!narrowing_.wait());
    }
  }

  Run& run_;
  Narrowing<E, Bins> narrowing_;
  bool more_;
};

struct BucketSelect {
  static constexpr bool kMayBeUnordered = true;

  template <class E>
  static bool select(Run& run, const E& elements, std::size_t n, std::size_t k, typename E::Element* chosen) {
    if (run.parameters["by_values"] != 0) {
      BucketSelection<E, ValueBuckets<typename E::Key>>(run, elements, n, k, chosen).select();
    } else {
      BucketSelection<E, Buckets>(run, elements, n, k, chosen).select();
    }
    return false;
  }
};

}  // namespace

extern const TopKAlgorithm bucket_select;
const TopKAlgorithm bucket_select{
    .name = "cuda-bucket-select",
    .summary = "narrows the keys down to the k-th by buckets of equal widths between the least and the greatest",
    .source =
        "Shanbhag, Pirk, Madden: Efficient Top-K Query Processing on Massively Parallel Hardware, SIGMOD 2018, "
        "sections 2.3, 4.2 and 6.2",
    .device = Device::cuda,
    .parameters = kParameters,
    .supports = needs_key_columns,
    .run = solve<BucketSelect>,
};

}  // namespace skyrank::kernels::cuda::topk
