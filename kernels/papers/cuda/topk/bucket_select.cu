#include <cmath>
#include <cstdint>

#include "kernels/cuda/topk/narrow.cuh"

// Bucket select (Shanbhag et al., SIGMOD 2018, sections 2.3, 4.2 and 6.2): the least and the greatest key first, which
// for k = 1 is all; then buckets of equal widths between the two, and between the ends of the bucket with the k-th
// element, until all of one is in the answer.
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
template <class E>
__global__ void __launch_bounds__(kNarrowThreads) find_extremes(Narrow<E, Buckets> narrow, Extremes<E>* of_blocks) {
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

constexpr Parameter kParameters[] = {{"buckets", "buckets that the range of the keys is divided into", 16, 2048, 256}};

struct BucketSelect {
  template <class E>
  static bool select(Run& run, const E& elements, std::size_t n, std::size_t k, typename E::Element* chosen) {
    const auto buckets = static_cast<unsigned>(run.parameters["buckets"]);
    Narrowing<E, Buckets> narrowing(run, elements, n, k, chosen, buckets);
    const Grid grid = narrowing.grid(find_extremes<E>);
    auto of_blocks = run.allocate<Extremes<E>>(grid.blocks);
    launch("find_extremes", find_extremes<E>, grid, run.stream(), narrowing.shared_by_kernels(), of_blocks.data());
    if (k > 1) {
      // The first buckets: nothing is written yet.
      narrowing.pass();
      narrowing.finish();
    }
    narrowing.count_work();
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
