#include <cmath>

#include "kernels/cuda/topk/bitonic_steps.hpp"
#include "planner/cost/cuda_common.hpp"
#include "planner/cost/models.hpp"

namespace skyrank::planner::cost {
namespace {

namespace network = kernels::cuda::bitonic;

constexpr double kSharedByte = 1 / 25e12;   // of all multiprocessors' shared memory, without bank conflicts
constexpr double kInstruction = 1 / 14e12;  // on integers of 32 bits, in all multiprocessors
constexpr int kElementBits = 4;             // the algorithm's default

/// What a kernel's network works on.
struct Item {
  double bytes = 0;
  double compare = 0;  ///< instructions that put two in order
  double other = 0;    ///< instructions for one, besides
};

/// Seconds of one kernel: the longest of global memory, shared memory and arithmetic, which overlap
/// (bitonic-topk-sigmod18, section 7.2, where arithmetic is left out).
double kernel_seconds(const network::Plan& plan, const network::Sizes& sizes, double tiles, double global_bytes,
                      const Item& item) {
  double moved = 0;     // items through shared memory, each as often as its banks' conflicts say
  double compared = 0;  // pairs of items
  for (int i = 0; i < plan.pass_count; ++i) {
    const network::Pass& pass = plan.passes[i];
    const unsigned live_after = i + 1 < plan.pass_count ? plan.passes[i + 1].live : plan.live;
    const double read = std::exp2(std::popcount(pass.live));
    const double written = std::exp2(std::popcount(live_after));
    const int conflicts = network::bank_conflicts(pass, 0, 1u << sizes.bank_bits, sizes.bank_bits, plan.padding_shift);
    moved += conflicts * ((i == 0 ? 0 : read) + written);
    double elements = read;
    for (int step = pass.first_step; step < pass.first_step + pass.steps; ++step) {
      compared += elements / 2;
      if (plan.steps[step].merge) elements /= 2;
    }
  }
  const double shared = kSharedByte * item.bytes * moved * tiles;
  const double instructions = item.compare * compared + item.other * std::exp2(sizes.tile_bits);
  const double arithmetic = kInstruction * instructions * tiles;
  return kCudaLaunch + std::max({kCudaByte * global_bytes, shared, arithmetic});
}

}  // namespace

double cuda_bitonic(const kernels::TopKShape& shape, const Machine& /*machine*/) {
  constexpr double kMostElements = 2048;
  constexpr std::size_t kManyRows = std::size_t{1} << 32;  // with fewer, tiles may be smaller
  const double n = static_cast<double>(shape.n);
  const double k = std::clamp(static_cast<double>(std::min(shape.k, shape.n)), 1.0, kMostElements);
  const auto whole_k = static_cast<std::size_t>(k);
  // A minimum and a maximum, or two compares and four selections for each 64 bits.
  const bool short_keys = packed_bytes(shape) == 4;
  const Item key{.bytes = packed_bytes(shape), .compare = short_keys ? 2.0 : 6.0, .other = 12};
  const Item element{.bytes = element_bytes(shape), .compare = short_keys ? 6.0 : 12.0, .other = 4};

  const network::Sizes of_keys = network::sizes_of_keys(whole_k, static_cast<std::size_t>(key.bytes));
  const network::Operators all_merges{.sort = true, .merges = of_keys.tile_bits - of_keys.run_bits, .rebuild = true};
  const network::Plan plan_of_keys = network::make_plan(of_keys, all_merges, {.chunk_permutation = false});
  const double tiles_of_keys = std::max(1.0, n / std::exp2(of_keys.tile_bits));
  double left = k * tiles_of_keys;
  double seconds = cuda_overhead(shape) +
                   kernel_seconds(plan_of_keys, of_keys, tiles_of_keys, n * key.bytes + left * element.bytes, key);

  const network::Sizes sizes =
      network::sizes_for(kManyRows, whole_k, static_cast<std::size_t>(element.bytes), kElementBits);
  const int merges = network::merges_of(sizes);
  const double reduction = std::exp2(merges);
  for (network::Operators operators{.sort = true, .merges = merges};; operators.sort = false) {
    const double tiles = std::max(1.0, left / std::exp2(sizes.tile_bits));
    const double bytes = (left + left / reduction) * element.bytes;
    seconds += kernel_seconds(network::make_plan(sizes, operators, {}), sizes, tiles, bytes, element);
    if (left <= reduction * k) return seconds;
    left /= reduction;
  }
}

}  // namespace skyrank::planner::cost
