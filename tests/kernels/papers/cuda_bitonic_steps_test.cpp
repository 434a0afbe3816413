#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "kernels/papers/cuda/topk/bitonic/steps.hpp"

// The plans of bitonic top-k on the GPU, carried out here by their definition.
namespace skyrank::kernels::tests {
namespace {

namespace network = cuda::topk::network;
using network::Operators;
using network::Pass;
using network::Plan;
using network::Sizes;
using network::Step;
using network::Switches;

std::vector<Switches> all_switches() {
  std::vector<Switches> all;
  for (unsigned bits = 0; bits < 32; ++bits) {
    const auto on = [bits](int i) { return ((bits >> i) & 1) != 0; };
    all.push_back({on(0), on(1), on(2), on(3), on(4)});
  }
  return all;
}

/// Tiles at their least and usual sizes, for every k and number of elements of a thread.
std::vector<Sizes> all_sizes() {
  std::vector<Sizes> all;
  for (std::size_t k = 1; k <= 2048; k = 2 * k + (k == 64 ? 1 : 0)) {
    for (int element_bits = 3; element_bits <= 6; ++element_bits) {
      for (const std::size_t bytes : {8, 16}) {
        for (const std::size_t n : {k + 1, std::size_t{1} << 30}) {
          all.push_back(network::sizes_for(n, k, bytes, element_bits));
        }
      }
    }
  }
  return all;
}

std::vector<unsigned> random_tile(int bits) {
  std::mt19937 engine(static_cast<unsigned>(bits));
  std::vector<unsigned> tile(std::size_t{1} << bits);
  std::ranges::generate(tile, [&] { return engine() % 10007; });
  return tile;
}

void carry_out(const Step& step, unsigned live, std::vector<unsigned>& tile) {
  const unsigned bit = 1u << step.bit;
  for (unsigned i = 0; i < tile.size(); ++i) {
    if ((i & ~live) != 0 || (i & bit) != 0) continue;
    const bool down = !step.merge && (i & (1u << step.run)) != 0;
    if ((tile[i | bit] < tile[i]) != down) std::swap(tile[i], tile[i | bit]);
  }
}

/// Returns the elements that a plan keeps of a tile.
std::vector<unsigned> carry_out(const Plan& plan, std::vector<unsigned> tile) {
  unsigned live = (1u << plan.tile_bits) - 1;
  for (int step = 0; step < plan.step_count; ++step) {
    carry_out(plan.steps[step], live, tile);
    if (plan.steps[step].merge) live &= ~(1u << plan.steps[step].bit);
  }
  std::vector<unsigned> left;
  for (unsigned i = 0; i < network::kept(plan); ++i) left.push_back(tile[network::deposit(i, live)]);
  return left;
}

TEST(BitonicSteps, DepositSpreadsBits) {
  EXPECT_EQ(network::deposit(0b1011, 0b11010100), 0b10010100u);
  EXPECT_EQ(network::deposit(0xffff, 0b101), 0b101u);
  EXPECT_EQ(network::deposit(5, 0), 0u);
}

TEST(BitonicSteps, PlacesOfDisjointBitsAddUp) {
  for (const int shift : {3, 4, 5, network::kNoPadding}) {
    for (unsigned mask = 0; mask < 1024; ++mask) {
      const unsigned a = 0x2d7 & mask;
      const unsigned b = 0x3b9 & ~mask;
      EXPECT_EQ(network::padded(a | b, shift), network::padded(a, shift) + network::padded(b, shift));
    }
  }
}

TEST(BitonicSteps, LocalSortMakesRunsOfBothDirections) {
  for (const Sizes& sizes : all_sizes()) {
    const Plan plan = network::make_plan(sizes, {.sort = true}, {});
    const std::vector<unsigned> tile = random_tile(sizes.tile_bits);
    const std::vector<unsigned> sorted = carry_out(plan, tile);
    ASSERT_EQ(sorted.size(), tile.size());
    const auto run = std::ptrdiff_t{1} << sizes.run_bits;
    for (std::ptrdiff_t first = 0; first < std::ssize(tile); first += run) {
      std::vector<unsigned> expected(tile.begin() + first, tile.begin() + first + run);
      std::ranges::sort(expected);
      if ((first & run) != 0) std::ranges::reverse(expected);
      ASSERT_TRUE(std::equal(expected.begin(), expected.end(), sorted.begin() + first)) << first;
    }
  }
}

TEST(BitonicSteps, ReducersKeepTheLeast) {
  for (const Sizes& sizes : all_sizes()) {
    const std::vector<unsigned> tile = random_tile(sizes.tile_bits);
    const int merges = sizes.tile_bits - sizes.run_bits;
    std::vector<unsigned> expected = tile;
    std::ranges::sort(expected);
    expected.resize(std::size_t{1} << sizes.run_bits);

    const Plan whole = network::make_plan(sizes, {.sort = true, .merges = merges, .rebuild = true}, {});
    EXPECT_EQ(carry_out(whole, tile), expected);

    // The same in two kernels, of which the second one gets bitonic sequences.
    const Plan sort = network::make_plan(sizes, {.sort = true, .merges = merges / 2}, {});
    std::vector<unsigned> left = carry_out(sort, tile);
    Sizes rest = sizes;
    rest.tile_bits -= merges / 2;
    if (rest.tile_bits < rest.element_bits || merges < 2) continue;
    const Plan reduce = network::make_plan(rest, {.merges = merges - merges / 2, .rebuild = true}, {});
    EXPECT_EQ(carry_out(reduce, left), expected);
  }
}

TEST(BitonicSteps, PassesDoAllStepsInOrderWithinTheirPlaces) {
  for (const Sizes& sizes : all_sizes()) {
    const Operators operators{.sort = true, .merges = network::merges_of(sizes), .rebuild = true};
    for (const Switches& switches : all_switches()) {
      const Plan plan = network::make_plan(sizes, operators, switches);
      unsigned live = (1u << sizes.tile_bits) - 1;
      int next = 0;
      for (int i = 0; i < plan.pass_count; ++i) {
        const Pass& pass = plan.passes[i];
        ASSERT_EQ(pass.live, live);
        ASSERT_EQ(pass.first_step, next);
        ASSERT_EQ(pass.mask & ~live, 0u);
        ASSERT_LE(std::popcount(pass.mask), sizes.element_bits);
        if (i > 0 && !switches.combined_steps) {
          ASSERT_EQ(pass.steps, 1);
        }
        for (; next < pass.first_step + pass.steps; ++next) {
          const Step& step = plan.steps[next];
          ASSERT_NE(pass.mask & (1u << step.bit), 0);
          ASSERT_NE(live & (1u << step.bit), 0u);
          if (step.merge) live &= ~(1u << step.bit);
        }
        // A permutation only ever reorders the elements of one thread.
        for (unsigned lane = 0; lane < 32; ++lane) {
          ASSERT_LT(network::permutation(pass, lane), 1u << std::popcount(pass.mask));
          if (!switches.chunk_permutation) {
            ASSERT_EQ(network::permutation(pass, lane), 0u);
          }
        }
      }
      ASSERT_EQ(next, plan.step_count);
      ASSERT_EQ(plan.live, live);
    }
  }
}

TEST(BitonicSteps, CombinedStepsTakeFewerPasses) {
  const Sizes sizes = network::sizes_for(1 << 30, 32, 8, 4);
  const Operators sort_reducer{.sort = true, .merges = 4};
  const auto passes = [&](const Switches& switches) {
    return static_cast<int>(network::make_plan(sizes, sort_reducer, switches).pass_count);
  };
  // Local sort of 32: 1 + 2 + 3 + 4 + 5 steps; then four merges with three rebuilds of 5 between them.
  EXPECT_EQ(passes({.combined_steps = false, .work_before_writing = false}), 15 + 4 + 3 * 5);
  // Ten steps, then 4 3 2 1 | 0 M 4 3 | 2 1 0 M | 4 3 2 1 | 0 M 4 3 | 2 1 0 M
  EXPECT_EQ(passes({}), 7);
  EXPECT_GT(passes({.reassigned_partitions = false}), 7);
}

int most_conflicts(const Sizes& sizes, const Plan& plan) {
  int most = 0;
  for (int i = 1; i < plan.pass_count; ++i) {
    for (unsigned j = 0; j < 1u << std::popcount(plan.passes[i].mask); ++j) {
      most = std::max(
          most, network::bank_conflicts(plan.passes[i], j, 1u << sizes.bank_bits, sizes.bank_bits, plan.padding_shift));
    }
  }
  return most;
}

// Local sort, for all k that take more than one pass.
TEST(BitonicSteps, PaddingAndPermutationAvoidAllBankConflicts) {
  for (std::size_t k = 32; k <= 2048; k *= 2) {
    for (const std::size_t bytes : {8, 16}) {
      SCOPED_TRACE("k = " + std::to_string(k) + ", " + std::to_string(bytes) + " bytes");
      const Sizes sizes = network::sizes_for(1 << 30, k, bytes, 4);
      const auto conflicts = [&](const Switches& switches) {
        return most_conflicts(sizes, network::make_plan(sizes, {.sort = true}, switches));
      };
      EXPECT_GE(conflicts({.padding = false, .chunk_permutation = false}), 4);
      EXPECT_LE(conflicts({.chunk_permutation = false}), 2);
      EXPECT_EQ(conflicts({}), 1);
    }
  }
}

TEST(BitonicSteps, PlacesOfBareKeysAreDistinctAndAddUp) {
  for (const std::size_t bytes : {4, 8}) {
    for (unsigned index = 1; index < 1u << 14; ++index) {
      ASSERT_GT(network::place_of_key(index, bytes), network::place_of_key(index - 1, bytes));
      for (const unsigned mask : {0xfu, 0x1eu, 0x39u, 0x2203u}) {
        ASSERT_EQ(network::place_of_key(index, bytes),
                  network::place_of_key(index & mask, bytes) + network::place_of_key(index & ~mask, bytes));
      }
    }
  }
}

}  // namespace
}  // namespace skyrank::kernels::tests
