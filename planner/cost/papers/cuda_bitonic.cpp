#include <array>
#include <cmath>
#include <map>
#include <span>
#include <vector>

#include "kernels/papers/cuda/topk/bitonic/steps.hpp"
#include "planner/cost/cuda_common.hpp"
#include "planner/cost/papers/models.hpp"

namespace skyrank::planner::cost {
namespace {

namespace network = kernels::cuda::topk::network;

constexpr double kSharedByte = 1 / 25e12;   // of all multiprocessors' shared memory, without bank conflicts
constexpr double kInstruction = 1 / 14e12;  // on integers of 32 bits, in all multiprocessors

/// An item that a kernel's network works on.
struct Item {
  double bytes = 0;
  double compare = 0;  ///< instructions that put two in order
  double other = 0;    ///< instructions for one, besides
};

/// The steps of one kernel's network on a tile.
struct Network {
  double moved = 0;     ///< items through shared memory, each as often as its banks' conflicts say
  double compared = 0;  ///< pairs of items
};

Network network_of(const network::Plan& plan, const network::Sizes& sizes) {
  Network work;
  for (int i = 0; i < plan.pass_count; ++i) {
    const network::Pass& pass = plan.passes[i];
    const unsigned live_after = i + 1 < plan.pass_count ? plan.passes[i + 1].live : plan.live;
    const double read = std::exp2(std::popcount(pass.live));
    const double written = std::exp2(std::popcount(live_after));
    const int conflicts = network::bank_conflicts(pass, 0, 1u << sizes.bank_bits, sizes.bank_bits, plan.padding_shift);
    work.moved += conflicts * ((i == 0 ? 0 : read) + written);
    double elements = read;
    for (int step = pass.first_step; step < pass.first_step + pass.steps; ++step) {
      work.compared += elements / 2;
      if (plan.steps[step].merge) elements /= 2;
    }
  }
  return work;
}

/// The same, remembered: working a network out takes longer than all the rest of planning, and there are few of them.
const Network& known_network(const network::Sizes& sizes, const network::Operators& operators,
                             network::Switches switches) {
  thread_local std::map<std::array<int, 8>, Network> known;
  const std::array<int, 8> name = {
      sizes.run_bits,         sizes.tile_bits,  sizes.element_bits,        sizes.bank_bits,
      operators.sort ? 1 : 0, operators.merges, operators.rebuild ? 1 : 0, switches.chunk_permutation ? 1 : 0};
  const auto [place, is_new] = known.try_emplace(name);
  if (is_new) place->second = network_of(network::make_plan(sizes, operators, switches), sizes);
  return place->second;
}

/// Seconds of one kernel: the longest of global memory, shared memory and arithmetic, which overlap (Shanbhag et al.,
/// SIGMOD 2018, section 7.2, where arithmetic is left out).
double kernel_seconds(const Network& work, const network::Sizes& sizes, double tiles, double global_bytes,
                      const Item& item) {
  const double shared = kSharedByte * item.bytes * work.moved * tiles;
  const double instructions = item.compare * work.compared + item.other * std::exp2(sizes.tile_bits);
  const double arithmetic = kInstruction * instructions * tiles;
  // Larger blocks, of which fewer fit, wait longer at their barriers; fitted.
  constexpr double kWaiting = 0.05;
  constexpr double kUsualThreads = 128;
  const double threads = std::exp2(sizes.tile_bits - sizes.element_bits);
  const double waiting = 1 + kWaiting * std::max(0.0, threads / kUsualThreads - 1);
  return kCudaLaunch + waiting * std::max({kCudaByte * global_bytes, shared, arithmetic});
}

/// Seconds to reduce n keys to k for each tile, and what is left.
double reduce_keys(double& n, std::size_t k, const Item& key, double element_bytes) {
  const network::Sizes sizes = network::sizes_of_keys(k, static_cast<std::size_t>(key.bytes));
  const network::Operators all_merges{.sort = true, .merges = sizes.tile_bits - sizes.run_bits, .rebuild = true};
  const Network& work = known_network(sizes, all_merges, {.chunk_permutation = false});
  const double tiles = std::max(1.0, n / std::exp2(sizes.tile_bits));
  const double left = static_cast<double>(k) * tiles;
  const double seconds = kernel_seconds(work, sizes, tiles, n * key.bytes + left * element_bytes, key);
  n = left;
  return seconds;
}

/// Seconds of a SortReducer and the BitonicReducers after it.
double reduce_elements(double n, std::size_t k, const Item& element, int element_bits) {
  constexpr std::size_t kManyRows = std::size_t{1} << 32;  // with fewer, tiles may be smaller
  const network::Sizes sizes = network::sizes_for(kManyRows, k, static_cast<std::size_t>(element.bytes), element_bits);
  const int merges = network::merges_of(sizes);
  const double reduction = std::exp2(merges);
  double seconds = 0;
  for (network::Operators operators{.sort = true, .merges = merges};; operators.sort = false) {
    const double tiles = std::max(1.0, n / std::exp2(sizes.tile_bits));
    const double bytes = (n + n / reduction) * element.bytes;
    seconds += kernel_seconds(known_network(sizes, operators, {}), sizes, tiles, bytes, element);
    if (n <= reduction * static_cast<double>(k)) return seconds;
    n /= reduction;
  }
}

/// Seconds of runs of k that are sorted, and then merged and sorted again until one is left, a kernel for each step.
double steps_in_memory(const kernels::TopKShape& shape, double element_bytes) {
  const double bits = std::ceil(std::log2(wanted(shape)));
  const double rounds = std::max(0.0, std::ceil(std::log2(static_cast<double>(shape.n)) - bits));
  const double passes = bits * (bits + 1) / 2 + bits;  // of all elements: half of them after the first merge, and so on
  const double launches = bits * (bits + 1) / 2 + rounds * (bits + 1);
  return kCudaLaunch * launches + kCudaByte * 2 * passes * static_cast<double>(shape.n) * element_bytes;
}

}  // namespace

// Section 4.3 of the paper: the more elements a thread has, the more steps of the network work in its registers, until
// these run out.
std::span<const Values> cuda_bitonic_candidates(const kernels::TopKShape& shape) {
  static const std::vector<Values> kValues = {{{"elements", 16}}, {{"elements", 8}}, {{"elements", 32}}};
  return std::span(kValues).first(packed_bytes(shape) == 4 ? 3 : 2);
}

Cost cuda_bitonic(const kernels::TopKShape& shape, const Statistics& statistics, const Machine& /*machine*/,
                  const Values& values) {
  constexpr std::size_t kMaxElements = 2048;
  // Instructions to put two short keys in order, from the compiler's output; all others from an H200's times.
  constexpr Item kShortKey{.bytes = 4, .compare = 2.5, .other = 20};
  constexpr Item kLongKey{.bytes = 8, .compare = 6.5, .other = 140};
  constexpr Item kShortElement{.bytes = 8, .compare = 17, .other = 0};
  constexpr Item kLongElement{.bytes = 16, .compare = 34, .other = 0};
  const std::size_t k = std::clamp<std::size_t>(std::min(shape.k, shape.n), 1, kMaxElements);
  const bool short_keys = packed_bytes(shape) == 4;
  const Item& element = short_keys ? kShortElement : kLongElement;
  double left = static_cast<double>(shape.n);
  double seconds = 0;
  if (value_or(values, "bare_keys", 0) != 0) {
    seconds += reduce_keys(left, k, short_keys ? kShortKey : kLongKey, element.bytes);
    // Elements of 64 bits are keys of their own.
    const double tile = std::exp2(network::sizes_of_keys(k, 8).tile_bits);
    while (short_keys && left > tile) seconds += reduce_keys(left, k, kLongKey, element.bytes);
  }
  const double first = left;
  const int most_bits = short_keys ? 6 : 4;
  const auto elements = static_cast<unsigned>(value_or(values, "elements", 16));
  seconds += reduce_elements(left, k, element, std::min(most_bits, static_cast<int>(std::bit_width(elements)) - 1));
  // Longer runs do all their steps in global memory.
  if (wanted(shape) > kMaxElements) seconds = std::max(seconds, steps_in_memory(shape, element.bytes));
  return cuda_cost(shape, statistics, {.elements = 2 * first, .other = {{"networks", seconds, 1}}});
}

}  // namespace skyrank::planner::cost
