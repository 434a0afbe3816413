#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>

#include "kernels/cuda/device/launch.cuh"
#include "kernels/cuda/device/shared.cuh"
#include "kernels/cuda/topk/bitonic.cuh"
#include "kernels/cuda/topk/bitonic_network.cuh"
#include "kernels/cuda/topk/solve.cuh"

// Bitonic top-k (Shanbhag, Pirk, Madden, SIGMOD 2018): runs of k elements are sorted by a bitonic network; of two runs
// the k lesser elements are kept, which are a bitonic sequence, sorted again by the network's last steps, and so on to
// one run. What is compared never depends on the data, so neither does the time.
//
// Each optimisation of section 4.3 can be switched off, to measure what it is worth.
namespace skyrank::kernels::cuda::topk {
namespace {

namespace network = bitonic;

constexpr unsigned kThreads = 256;

/// Keys of rows, in no order.
template <class E>
struct Unsorted {
  using Element = typename E::Element;
  using Key = typename E::Key;
  static constexpr int kWide = 16 / static_cast<int>(sizeof(Key));
  struct alignas(16) Wide {
    Key keys[kWide];
  };

  E elements;
  std::size_t n;
  bool aligned;  ///< keys can be read 16 bytes at a time

  __device__ Element at(std::size_t row) const { return row < n ? elements.at(row) : kNoElement<Element>; }

  /// A full tile's rows in any places: neighbouring threads read neighbouring keys. Those of a tile that is cut short
  /// come first, so that runs of padding come last.
  template <int kCount>
  __device__ __forceinline__ void load(std::size_t first, const network::Plan& plan, const network::Group& group,
                                       unsigned number, Element (&v)[kCount]) const {
    const std::size_t tile = std::size_t{1} << plan.tile_bits;
    if (aligned && first + tile <= n) {
#pragma unroll
      for (int j = 0; j < kCount; j += kWide) {
        const std::size_t row = first + j * (tile / kCount) + number * kWide;
        const Wide wide = *reinterpret_cast<const Wide*>(elements.keys + row);
#pragma unroll
        for (int i = 0; i < kWide; ++i) v[j + i] = elements.of(wide.keys[i], row + i);
      }
    } else {
      group.template for_each<kCount>(network::kNoPadding, [&](int j, unsigned index) { v[j] = at(first + index); });
    }
  }
};

/// Elements of which every 2^run_bits are a run or a bitonic sequence.
template <class ElementT>
struct Sequences {
  using Element = ElementT;
  const Element* elements;
  std::size_t n;

  __device__ Element at(std::size_t i) const { return i < n ? elements[i] : kNoElement<Element>; }

  template <int kCount>
  __device__ __forceinline__ void load(std::size_t first, const network::Plan& /*plan*/, const network::Group& group,
                                       unsigned /*number*/, Element (&v)[kCount]) const {
    group.template for_each<kCount>(network::kNoPadding, [&](int j, unsigned index) { v[j] = at(first + index); });
  }
};

template <int kCount, class Element>
constexpr unsigned launch_bound() {
  return network::most_threads(sizeof(Element), std::countr_zero(static_cast<unsigned>(kCount)));
}

/// Each block does a plan on its tile: SortReducer and BitonicReducer (section 4.3, "merging operators") and, one by
/// one, the operators that they are made of.
template <int kCount, class Source>
__global__ void __launch_bounds__(launch_bound<kCount, typename Source::Element>())
    reduce(Source source, const __grid_constant__ network::Plan plan, typename Source::Element* out,
           std::size_t out_size) {
  using Element = typename Source::Element;
  auto* const shared = dynamic_shared<Element>();
  const std::size_t first = std::size_t{blockIdx.x} << plan.tile_bits;
  int pass = 0;
  if (plan.work_before_writing) {
    network::run_first<kCount>(plan, shared, [&](const network::Group& group, unsigned number, Element(&v)[kCount]) {
      source.load(first, plan, group, number, v);
    });
    pass = 1;
  } else {
    const unsigned tile = 1u << plan.tile_bits;
    for (unsigned i = threadIdx.x; i < tile; i += blockDim.x) {
      shared[network::padded(i, plan.padding_shift)] = source.at(first + i);
    }
  }
  __syncthreads();
  for (; pass < plan.pass_count; ++pass) {
    network::run_pass<kCount>(plan, plan.passes[pass], shared);
    __syncthreads();
  }
  const std::size_t place = std::size_t{blockIdx.x} << __popc(plan.live);
  if (place < out_size) network::write_kept(plan, shared, out + place, out_size - place);
}

template <class Source>
__global__ void copy_elements(Source source, typename Source::Element* out, std::size_t size) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < size) out[i] = source.at(i);
}

/// One step of the network over all elements, whose number is a multiple of 2^step.run.
template <class Element>
__global__ void step_in_memory(Element* elements, std::size_t size, network::Step step) {
  const std::size_t pair = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (pair >= size / 2) return;
  const std::size_t bit = std::size_t{1} << step.bit;
  const std::size_t low = 2 * pair - (pair & (bit - 1));
  const bool down = ((low >> step.run) & 1) != 0;
  const Element a = elements[low];
  const Element b = elements[low + bit];
  if ((b < a) != down) {
    elements[low] = b;
    elements[low + bit] = a;
  }
}

/// The lesser elements of each two runs of 2^run_bits (algorithm 3); a last one without partner stays as it is.
template <class Element>
__global__ void merge_in_memory(Sequences<Element> runs, int run_bits, Element* out, std::size_t out_size) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= out_size) return;
  const std::size_t run = std::size_t{1} << run_bits;
  const std::size_t low = 2 * i - (i & (run - 1));
  const Element a = runs.at(low);
  const Element b = runs.at(low + run);
  out[i] = b < a ? b : a;
}

/// How a run is configured.
struct Settings {
  int element_bits;
  bool shared_memory;
  bool merged_operators;
  network::Switches switches;
};

Settings settings_of(const ParameterValues& parameters) {
  const auto on = [&](const char* name) { return parameters[name] != 0; };
  return {.element_bits = network::bits_to_count(static_cast<std::size_t>(parameters["elements"]) + 1) - 1,
          .shared_memory = on("shared_memory"),
          .merged_operators = on("merged_operators"),
          .switches = {.combined_steps = on("combined_steps"),
                       .work_before_writing = on("work_before_writing"),
                       .padding = on("padding"),
                       .chunk_permutation = on("chunk_permutation"),
                       .reassigned_partitions = on("reassigned_partitions")}};
}

/// The steps that the operators of a run are made of, as launches.
template <class E>
class Bitonic {
 public:
  using Element = typename E::Element;

  Bitonic(Run& run, std::size_t n, std::size_t k)
      : run_(run),
        settings_(settings_of(run.parameters)),
        sizes_(network::sizes_for(n, k, sizeof(Element), settings_.element_bits)) {}

  /// The least elements in ascending order, as many as `chosen` has room for.
  void least(const Unsorted<E>& rows, Element* chosen, std::size_t room) const {
    if (settings_.shared_memory && settings_.merged_operators) {
      least_by_reducers(rows, chosen, room);
    } else {
      least_by_operators(rows, chosen, room);
    }
  }

 private:
  std::size_t run_size() const { return std::size_t{1} << sizes_.run_bits; }
  std::size_t tile_size() const { return std::size_t{1} << sizes_.tile_bits; }

  /// Launches a plan's kernel; at most `room` elements are written.
  template <class Source>
  void reduce_tiles(const char* name, const Source& source, const network::Operators& operators, Element* out,
                    std::size_t room) const {
    switch (sizes_.element_bits) {
      case 3: return reduce_with<8>(name, source, operators, out, room);
      case 4: return reduce_with<16>(name, source, operators, out, room);
      case 5: return reduce_with<32>(name, source, operators, out, room);
      default: return reduce_with<64>(name, source, operators, out, room);
    }
  }

  template <int kCount, class Source>
  void reduce_with(const char* name, const Source& source, const network::Operators& operators, Element* out,
                   std::size_t room) const {
    const network::Plan plan = network::make_plan(sizes_, operators, settings_.switches);
    launch(name, reduce<kCount, Source>,
           {.blocks = blocks_for(source.n, tile_size()),
            .threads = static_cast<unsigned>(tile_size() / kCount),
            .shared_bytes = network::shared_elements(plan) * sizeof(Element)},
           run_.stream(), source, plan, out, room);
  }

  /// Kernels of merged operators: a SortReducer, then BitonicReducers.
  void least_by_reducers(const Unsorted<E>& rows, Element* chosen, std::size_t room) const {
    // A tile's merges, and whether it is the last one.
    const auto merges_for = [&](std::size_t n) {
      const int needed = network::bits_to_count(blocks_for(n, run_size()));
      return std::min(needed, network::merges_of(sizes_));
    };
    // Runs of padding alone are not kept.
    const auto left_of = [&](std::size_t n, int merges) { return blocks_for(n, run_size() << merges) * run_size(); };
    const auto is_last = [&](std::size_t n, int merges) { return n <= (run_size() << merges); };

    int merges = merges_for(rows.n);
    if (is_last(rows.n, merges)) {
      reduce_tiles("SortReducer", rows, {.sort = true, .merges = merges, .rebuild = true}, chosen, room);
      return count_work(rows.n, rows.n, room);
    }
    std::size_t left = left_of(rows.n, merges);
    std::size_t written = left;
    auto from = run_.allocate<Element>(left);
    reduce_tiles("SortReducer", rows, {.sort = true, .merges = merges}, from.data(), left);
    const std::size_t candidates = std::min(rows.n, left);
    for (;;) {
      const Sequences<Element> sequences{from.data(), left};
      merges = merges_for(left);
      if (is_last(left, merges)) {
        reduce_tiles("BitonicReducer", sequences, {.merges = merges, .rebuild = true}, chosen, room);
        return count_work(rows.n, candidates, written + room);
      }
      left = left_of(left, merges);
      written += left;
      auto to = run_.allocate<Element>(left);
      reduce_tiles("BitonicReducer", sequences, {.merges = merges}, to.data(), left);
      from = std::move(to);
    }
  }

  /// A kernel for each operator or, without shared memory, for each step.
  void least_by_operators(const Unsorted<E>& rows, Element* chosen, std::size_t room) const {
    std::size_t size = blocks_for(rows.n, run_size()) * run_size();
    std::size_t written = size;
    auto from = run_.allocate<Element>(size);
    sort_runs(rows, from.data(), size);
    while (size > run_size()) {
      const Sequences<Element> runs{from.data(), size};
      size = blocks_for(size, 2 * run_size()) * run_size();
      auto to = run_.allocate<Element>(size);
      launch("merge_in_memory", merge_in_memory<Element>, grid_of(size), run_.stream(), runs, sizes_.run_bits,
             to.data(), size);
      rebuild_runs(to.data(), size);
      from = std::move(to);
      written += 2 * size;
    }
    SKYRANK_CUDA_CALL(
        cudaMemcpyAsync(chosen, from.data(), room * sizeof(Element), cudaMemcpyDeviceToDevice, run_.stream()));
    count_work(rows.n, rows.n, written);
  }

  void sort_runs(const Unsorted<E>& rows, Element* out, std::size_t size) const {
    if (settings_.shared_memory) return reduce_tiles("local_sort", rows, {.sort = true}, out, size);
    launch("copy_elements", copy_elements<Unsorted<E>>, grid_of(size), run_.stream(), rows, out, size);
    for (int bits = 1; bits <= sizes_.run_bits; ++bits) phase_in_memory(out, size, bits);
  }

  /// Sorts bitonic sequences in place: a block writes what it alone read.
  void rebuild_runs(Element* elements, std::size_t size) const {
    if (!settings_.shared_memory) return phase_in_memory(elements, size, sizes_.run_bits);
    reduce_tiles("rebuild", Sequences<Element>{elements, size}, {.rebuild = true}, elements, size);
  }

  void phase_in_memory(Element* elements, std::size_t size, int bits) const {
    for (int bit = bits - 1; bit >= 0; --bit) {
      const network::Step step{static_cast<std::uint8_t>(bit), static_cast<std::uint8_t>(bits), false};
      launch("step_in_memory", step_in_memory<Element>, grid_of(size / 2), run_.stream(), elements, size, step);
    }
  }

  static Grid grid_of(std::size_t size) { return {.blocks = blocks_for(size, kThreads), .threads = kThreads}; }

  void count_work(std::size_t n, std::size_t candidates, std::size_t written) const {
    if (!run_.context.count_work) return;
    // What one kernel writes the next one reads.
    run_.work += {.bytes_read = n * sizeof(typename E::Key) + written * sizeof(Element),
                  .bytes_written = written * sizeof(Element),
                  .candidates = candidates};
  }

  Run& run_;
  Settings settings_;
  network::Sizes sizes_;
};

struct BitonicTopK {
  template <class E>
  static bool select(Run& run, const E& elements, std::size_t n, std::size_t k, typename E::Element* chosen) {
    const bool aligned = reinterpret_cast<std::uintptr_t>(elements.keys) % 16 == 0;
    Bitonic<E>(run, n, k).least({elements, n, aligned}, chosen, k);
    return true;
  }
};

Support supports(const TopKShape& shape) {
  if (Support support = needs_packable_keys(shape); !support) return support;
  // All rows are an answer that needs no selection.
  const bool few = std::min(shape.k, shape.n) <= kLargestBitonicK || shape.k >= shape.n;
  return few ? Support::yes() : Support::no("finds at most 2048 rows");
}

constexpr Parameter kParameters[] = {
    {"elements", "elements of a thread, rounded down to a power of two", 8, 64, 16},
    {"shared_memory", "an operator's steps work in shared memory, not in global memory", 0, 1, 1},
    {"merged_operators", "one kernel does several operators; needs shared_memory", 0, 1, 1},
    {"combined_steps", "threads do several steps of the network on elements in registers", 0, 1, 1},
    {"work_before_writing", "threads do the first steps on elements fresh from global memory", 0, 1, 1},
    {"padding", "unused places in shared memory part what would be in the same bank", 0, 1, 1},
    {"chunk_permutation", "threads read their elements in orders that avoid the same bank", 0, 1, 1},
    {"reassigned_partitions", "after a merge half of the threads keep all work", 0, 1, 1},
};

/// Elements in place of rows: they are their own keys.
template <class ElementT>
struct OwnKeys {
  using Key = ElementT;
  using Element = ElementT;

  const Key* keys;

  __device__ static Element of(Key key, std::size_t /*row*/) { return key; }
  __device__ Element at(std::size_t row) const { return keys[row]; }
};

}  // namespace

template <class Element>
void bitonic_least(Run& run, const Element* elements, std::size_t size, std::size_t k, Element* chosen) {
  const ParameterValues defaults(kParameters, {});
  Context uncounted = run.context;
  uncounted.count_work = false;
  Run own{run.device, defaults, uncounted, run.work};
  BitonicTopK::select(own, OwnKeys<Element>{elements}, size, k, chosen);
}

template void bitonic_least(Run&, const std::uint64_t*, std::size_t, std::size_t, std::uint64_t*);
template void bitonic_least(Run&, const Uint128*, std::size_t, std::size_t, Uint128*);

extern const TopKAlgorithm bitonic;
const TopKAlgorithm bitonic{
    .name = "cuda-bitonic",
    .summary = "sorts runs of k by a bitonic network and merges them, the better half of each two staying",
    .source =
        "Shanbhag, Pirk, Madden: Efficient Top-K Query Processing on Massively Parallel Hardware, SIGMOD 2018, "
        "sections 3.2 and 4.3",
    .device = Device::cuda,
    .parameters = kParameters,
    .supports = supports,
    .run = solve<BitonicTopK>,
};

}  // namespace skyrank::kernels::cuda::topk
