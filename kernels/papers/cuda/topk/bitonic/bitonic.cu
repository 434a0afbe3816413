#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>

#include "kernels/cuda/device/launch.cuh"
#include "kernels/cuda/topk/solve.cuh"
#include "kernels/papers/cuda/topk/bitonic/bitonic.cuh"
#include "kernels/papers/cuda/topk/bitonic/keys.hpp"
#include "kernels/papers/cuda/topk/bitonic/reducers.cuh"

// Bitonic top-k (Shanbhag, Pirk, Madden, SIGMOD 2018): runs of k elements are sorted by a bitonic network; of two runs
// the k lesser elements are kept, which are a bitonic sequence, sorted again by the network's last steps, and so on to
// one run. What is compared never depends on the data, so neither does the time.
//
// Each optimisation of section 4.3 can be switched off, to measure what it is worth. One more, ours, is off unless
// asked for: `bare_keys`. Runs beyond the paper's do all their steps in global memory.
namespace skyrank::kernels::cuda::topk {
namespace {

using network::Unsorted;

static_assert(std::size_t{1} << network::kMaxRunBits == kLargestBitonicK);
constexpr unsigned kThreads = 256;

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
__global__ void merge_in_memory(network::Sequences<Element> runs, int run_bits, Element* out, std::size_t out_size) {
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
  bool bare_keys;
  network::Switches switches;
};

Settings settings_of(const ParameterValues& parameters) {
  const auto on = [&](const char* name) { return parameters[name] != 0; };
  const bool all = on("combined_steps") && on("work_before_writing") && on("padding") && on("chunk_permutation") &&
                   on("reassigned_partitions");
  return {.element_bits = network::bits_to_count(static_cast<std::size_t>(parameters["elements"]) + 1) - 1,
          .shared_memory = on("shared_memory"),
          .merged_operators = on("merged_operators"),
          .bare_keys = on("bare_keys") && all,
          .switches = {.combined_steps = on("combined_steps"),
                       .work_before_writing = on("work_before_writing"),
                       .padding = on("padding"),
                       .chunk_permutation = on("chunk_permutation"),
                       .reassigned_partitions = on("reassigned_partitions")}};
}

template <class Element>
network::Reducers<Element> reducers(Run& run, std::size_t n, std::size_t k, const Settings& settings) {
  const int element_bits = std::min(settings.element_bits, network::most_element_bits(sizeof(Element)));
  const std::size_t tile_bytes = network::tile_bytes_within(run.device.properties().shared_bytes_per_block);
  return {run.device, network::sizes_for(n, k, sizeof(Element), element_bits, tile_bytes), settings.switches, k};
}

/// Returns true if there are more rows than a tile of bare keys has.
template <class E>
bool fill_a_tile(const Unsorted<E>& rows, std::size_t k) {
  return rows.n > std::size_t{1} << network::sizes_of_keys(k, sizeof(typename E::Key)).tile_bits;
}

/// Tiles of bare keys first, and what they leave the same way, as keys of 64 bits, or by reducers.
template <class E, class Element = typename E::Element>
Work least_by_keys(Run& run, const Unsorted<E>& rows, const Settings& settings, std::size_t k, Element* chosen) {
  const network::Sizes sizes = network::sizes_of_keys(k, sizeof(typename E::Key));
  const std::size_t tiles = blocks_for(rows.n, std::size_t{1} << sizes.tile_bits);
  auto left = run.allocate<Element>(tiles * k);
  network::least_of_tiles(run.stream(), sizes.run_bits, rows, tiles, k, left.data());
  const auto least_of_left = [&] {
    if constexpr (sizeof(Element) == 8) {
      const Unsorted<network::OwnKeys<Element>> elements{{left.data()}, left.size(), true};
      if (fill_a_tile(elements, k)) return least_by_keys(run, elements, settings, k, chosen);
    }
    const network::Sequences<Element> unsorted{left.data(), left.size()};
    return reducers<Element>(run, left.size(), k, settings).least(unsorted, chosen);
  };
  Work work = least_of_left();
  work.bytes_read += rows.n * Unsorted<E>::kBytes;
  work.bytes_written += left.bytes();
  work.candidates = std::min(rows.n, left.size());
  return work;
}

Grid grid_of(std::size_t size) { return {.blocks = blocks_for(size, kThreads), .threads = kThreads}; }

/// One phase of the network on bitonic sequences of 2^bits, a kernel for each step.
template <class Element>
void phase_in_memory(Run& run, Element* elements, std::size_t size, int bits) {
  for (int bit = bits - 1; bit >= 0; --bit) {
    const network::Step step{static_cast<std::uint8_t>(bit), static_cast<std::uint8_t>(bits), false};
    launch("step_in_memory", step_in_memory<Element>, grid_of(size / 2), run.stream(), elements, size, step);
  }
}

/// Operators that do their steps in global memory.
template <class Element>
struct StepByStep {
  Run& run;
  int run_bits;

  template <class Rows>
  void sort(const Rows& rows, Element* out, std::size_t size) const {
    launch("copy_elements", copy_elements<Rows>, grid_of(size), run.stream(), rows, out, size);
    for (int bits = 1; bits <= run_bits; ++bits) phase_in_memory(run, out, size, bits);
  }
  void rebuild(Element* elements, std::size_t size) const { phase_in_memory(run, elements, size, run_bits); }
};

/// Operators that do their steps in shared memory.
template <class Element>
struct TileByTile {
  network::Reducers<Element> reducers;

  template <class Rows>
  void sort(const Rows& rows, Element* out, std::size_t size) const {
    reducers.reduce_tiles("local_sort", rows, {.sort = true}, out, size);
  }
  /// In place: a block writes what it alone has read.
  void rebuild(Element* elements, std::size_t size) const {
    reducers.reduce_tiles("rebuild", network::Sequences<Element>{elements, size}, {.rebuild = true}, elements, size);
  }
};

/// Local sort, then merge and rebuild again and again (section 3.2).
template <class E, class Operators, class Element = typename E::Element>
Work least_by_operators(Run& run, const Unsorted<E>& rows, const Operators& operators, std::size_t k, Element* chosen) {
  const int run_bits = network::bits_to_count(k);
  const std::size_t run_size = std::size_t{1} << run_bits;
  std::size_t size = blocks_for(rows.n, run_size) * run_size;
  std::size_t written = size;
  auto from = run.allocate<Element>(size);
  operators.sort(rows, from.data(), size);
  while (size > run_size) {
    const network::Sequences<Element> runs{from.data(), size};
    size = blocks_for(size, 2 * run_size) * run_size;
    auto to = run.allocate<Element>(size);
    launch("merge_in_memory", merge_in_memory<Element>, grid_of(size), run.stream(), runs, run_bits, to.data(), size);
    operators.rebuild(to.data(), size);
    from = std::move(to);
    written += 2 * size;
  }
  SKYRANK_CUDA_CALL(cudaMemcpyAsync(chosen, from.data(), k * sizeof(Element), cudaMemcpyDeviceToDevice, run.stream()));
  return network::Reducers<Element>::work_of(rows, rows.n, written);
}

/// The k least elements in ascending order, as the settings say. Runs of more than kLargestBitonicK do not fit shared
/// memory, and all their steps are in global memory, as Gaihre et al. (Dr. Top-k, SC 2021, section 6.1) had to extend
/// the paper's program.
template <class E, class Element = typename E::Element>
Work least(Run& run, const Unsorted<E>& rows, std::size_t k, Element* chosen) {
  const Settings settings = settings_of(run.parameters);
  if (k > kLargestBitonicK) {
    return least_by_operators(run, rows, StepByStep<Element>{run, network::bits_to_count(k)}, k, chosen);
  }
  const network::Reducers<Element> on_tiles = reducers<Element>(run, rows.n, k, settings);
  if (!settings.shared_memory) {
    return least_by_operators(run, rows, StepByStep<Element>{run, network::bits_to_count(k)}, k, chosen);
  }
  if (!settings.merged_operators) return least_by_operators(run, rows, TileByTile<Element>{on_tiles}, k, chosen);
  if (settings.bare_keys && fill_a_tile(rows, k)) return least_by_keys(run, rows, settings, k, chosen);
  return on_tiles.least(rows, chosen);
}

struct BitonicTopK {
  template <class E>
  static bool select(Run& run, const E& elements, std::size_t n, std::size_t k, typename E::Element* chosen) {
    const bool aligned = reinterpret_cast<std::uintptr_t>(elements.keys) % 16 == 0;
    const Work work = least(run, Unsorted<E>{elements, n, aligned}, k, chosen);
    if (run.context.count_work) run.work += work;
    return true;
  }
};

Support supports(const TopKShape& shape) { return needs_key_columns(shape); }

constexpr Parameter kParameters[] = {
    {"elements", "elements of a thread, rounded down to a power of two; at most 16 of 128 bits", 8, 64, 16},
    {"shared_memory", "an operator's steps work in shared memory, not in global memory", 0, 1, 1},
    {"merged_operators", "one kernel does several operators; needs shared_memory", 0, 1, 1},
    {"combined_steps", "threads do several steps of the network on elements in registers", 0, 1, 1},
    {"work_before_writing", "threads do the first steps on elements fresh from global memory", 0, 1, 1},
    {"padding", "unused places in shared memory part what would be in the same bank", 0, 1, 1},
    {"chunk_permutation", "threads read their elements in orders that avoid the same bank", 0, 1, 1},
    {"reassigned_partitions", "after a merge half of the threads keep all work", 0, 1, 1},
    {"bare_keys", "ours: where all of the above are on, the first kernel leaves row ids aside", 0, 1, 0},
    {"fused", "where a query is a filter and a ranking by columns on the GPU, the first kernel does all of it", 0, 1,
     1},
};

}  // namespace

template <class Element>
void bitonic_least(Run& run, const Element* elements, std::size_t size, std::size_t k, Element* chosen) {
  const Settings defaults = settings_of(ParameterValues(kParameters, {}));
  if constexpr (sizeof(Element) == 8) {
    const bool aligned = reinterpret_cast<std::uintptr_t>(elements) % 16 == 0;
    const Unsorted<network::OwnKeys<Element>> rows{{elements}, size, aligned};
    if (fill_a_tile(rows, k)) {
      least_by_keys(run, rows, defaults, k, chosen);
      return;
    }
  }
  reducers<Element>(run, size, k, defaults).least(network::Sequences<Element>{elements, size}, chosen);
}

template void bitonic_least(Run&, const std::uint64_t*, std::size_t, std::size_t, std::uint64_t*);
template void bitonic_least(Run&, const Uint128*, std::size_t, std::size_t, Uint128*);

extern const TopKAlgorithm bitonic;
const TopKAlgorithm bitonic{
    .name = "cuda-bitonic",
    .summary = "sorts runs of k by a bitonic network and merges them, the better half of each two staying",
    .source =
        "Shanbhag, Pirk, Madden: Efficient Top-K Query Processing on Massively Parallel Hardware, SIGMOD 2018, "
        "sections 3.2, 4.3 and 5",
    .device = Device::cuda,
    .parameters = kParameters,
    .supports = supports,
    .run = solve<BitonicTopK>,
    .variants = {.scan = best_of_bitonic_scan},
};

}  // namespace skyrank::kernels::cuda::topk
