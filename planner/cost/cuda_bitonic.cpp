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

/// Instructions that put two elements in order: two compares of words and four selections for 64 bits.
double compare_instructions(double element_bytes) { return 6 * element_bytes / 8; }

/// Seconds of one kernel: the longest of global memory, shared memory and arithmetic, which overlap
/// (bitonic-topk-sigmod18, section 7.2, where arithmetic is left out).
double kernel_seconds(const network::Plan& plan, const network::Sizes& sizes, double tiles, double global_bytes,
                      double element_bytes) {
  double moved = 0;     // elements through shared memory, each as often as its banks' conflicts say
  double compared = 0;  // pairs of elements
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
  const double shared = kSharedByte * element_bytes * moved * tiles;
  const double arithmetic = kInstruction * compare_instructions(element_bytes) * compared * tiles;
  return kCudaLaunch + std::max({kCudaByte * global_bytes, shared, arithmetic});
}

}  // namespace

double cuda_bitonic(const kernels::TopKShape& shape, const Machine& /*machine*/) {
  constexpr double kMostElements = 2048;
  constexpr std::size_t kManyRows = std::size_t{1} << 32;  // with fewer, tiles may be smaller
  const double bytes = element_bytes(shape);
  const double k = std::clamp(static_cast<double>(std::min(shape.k, shape.n)), 1.0, kMostElements);
  const network::Sizes sizes =
      network::sizes_for(kManyRows, static_cast<std::size_t>(k), static_cast<std::size_t>(bytes), kElementBits);
  const int merges = network::merges_of(sizes);
  const double tile = std::exp2(sizes.tile_bits);
  const double reduction = std::exp2(merges);
  network::Operators operators{.sort = true, .merges = merges};
  double seconds = cuda_overhead(shape);
  double read_bytes = packed_bytes(shape);
  for (double left = static_cast<double>(shape.n);; left /= reduction) {
    const double tiles = std::max(1.0, left / tile);
    const network::Plan plan = network::make_plan(sizes, operators, {});
    seconds += kernel_seconds(plan, sizes, tiles, left * read_bytes + left / reduction * bytes, bytes);
    if (left <= reduction * k) return seconds;
    operators.sort = false;
    read_bytes = bytes;
  }
}

}  // namespace skyrank::planner::cost
