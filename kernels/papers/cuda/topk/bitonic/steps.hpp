#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "kernels/common/host_device.hpp"

// The index arithmetic of bitonic top-k (Shanbhag, Pirk, Madden, SIGMOD 2018, sections 3.2 and 4.3): which elements of
// a tile are compared when, which thread does it, and where they lie in shared memory.
//
// An element of a tile is named by its index, and a step of the network by the bit in which the indices of the two
// elements that it compares differ. Of the two elements of a merge the lesser one takes the index without the bit, and
// no index has that bit from then on: elements never move to where another thread may still read.
namespace skyrank::kernels::cuda::topk::network {

inline constexpr int kMaxPlaces = 6;  ///< for 2^6 elements of a thread
inline constexpr int kMaxTileBits = 14;
inline constexpr int kMaxSteps = 112;  ///< runs of 2^11, sorted, merged three times, and sorted once more
inline constexpr int kLaneBits = 5;

/// Compares elements whose indices differ in `bit`. The lesser one takes the index without the bit, unless that index
/// has the bit `run`; when they are merged, the greater one is dropped.
struct Step {
  std::uint8_t bit;
  std::uint8_t run;
  bool merge;
};

/// Steps that a thread does on elements in registers. Their indices differ in the bits of `mask`, called places when
/// counted from the lowest, and agree in all others of `live`. Register j holds the element whose places spell
/// j ^ permutation(thread).
struct Pass {
  std::uint16_t mask;
  std::uint16_t live;  ///< bits that indices may have before the pass
  std::uint8_t first_step;
  std::uint8_t steps;
  std::uint8_t permutation[kLaneBits];  ///< for each bit of the lane's number, what it contributes
};

/// The steps of a block on its tile.
struct Plan {
  Pass passes[kMaxSteps];
  Step steps[kMaxSteps];
  std::uint16_t live;  ///< bits that indices may have at the end
  std::uint8_t pass_count;
  std::uint8_t step_count;
  std::uint8_t tile_bits;
  std::uint8_t padding_shift;  ///< one unused place after each 2^padding_shift in shared memory
  bool work_before_writing;    ///< the first pass takes its elements from global memory
};

/// The operators of one kernel: runs are sorted (otherwise they come as bitonic sequences), merged with a rebuild
/// between merges, and rebuilt at the end.
struct Operators {
  bool sort = false;
  int merges = 0;
  bool rebuild = false;
};

/// The sizes of a kernel, as powers of two.
struct Sizes {
  int run_bits = 0;      ///< k, rounded up
  int tile_bits = 0;     ///< elements of a block
  int element_bits = 0;  ///< elements of a thread
  int bank_bits = 0;     ///< elements that lie side by side in all banks of shared memory
};

/// The optimisations within a kernel (section 4.3).
struct Switches {
  bool combined_steps = true;
  bool work_before_writing = true;
  bool padding = true;
  bool chunk_permutation = true;
  bool reassigned_partitions = true;
};

inline constexpr int kNoPadding = 31;

/// Puts the lowest bits of `number` where `mask` has bits.
SKYRANK_HD constexpr unsigned deposit(unsigned number, unsigned mask) {
  unsigned spread = 0;
  for (; mask != 0; mask &= mask - 1, number >>= 1) {
    if ((number & 1) != 0) spread |= mask & (0u - mask);
  }
  return spread;
}

/// Returns the place of an element in shared memory, given its index. The places of disjoint sets of bits add up.
SKYRANK_HD constexpr unsigned padded(unsigned index, int padding_shift) { return index + (index >> padding_shift); }

/// Returns the value that the number of a register is combined with by exclusive or, in the given thread.
SKYRANK_HD constexpr unsigned permutation(const Pass& pass, unsigned thread) {
  unsigned combined = 0;
  for (int bit = 0; bit < kLaneBits; ++bit) {
    if (((thread >> bit) & 1) != 0) combined ^= pass.permutation[bit];
  }
  return combined;
}

/// The place of a bit of `mask`.
SKYRANK_HD constexpr int place_of(int bit, unsigned mask) {
  int place = 0;
  for (int lower = 0; lower < bit; ++lower) place += static_cast<int>((mask >> lower) & 1);
  return place;
}

/// Among `lanes` threads that each read register `j`: the most that read from the same bank.
constexpr int bank_conflicts(const Pass& pass, unsigned j, unsigned lanes, int bank_bits, int padding_shift) {
  int readers[32] = {};
  int most = 0;
  for (unsigned lane = 0; lane < lanes; ++lane) {
    const unsigned index =
        deposit(lane, pass.live & ~unsigned{pass.mask}) | deposit(j ^ permutation(pass, lane), pass.mask);
    const int count = ++readers[padded(index, padding_shift) & ((1u << bank_bits) - 1)];
    if (count > most) most = count;
  }
  return most;
}

/// Chunk permutation (section 4.3, figure 10): threads that would read from the same bank at the same time read their
/// elements in different orders. Bit by bit of the lane's number, the order that leaves the fewest conflicts.
constexpr void permute_chunks(Pass& pass, int bank_bits, int padding_shift) {
  const int places = std::popcount(pass.mask);
  // Lanes that shared memory serves at a time; the others' patterns repeat.
  const int lane_bits = bank_bits < kLaneBits ? bank_bits : kLaneBits;
  for (int bit = 0; bit < lane_bits; ++bit) {
    const unsigned lanes = 2u << bit;
    int least = bank_conflicts(pass, 0, lanes, bank_bits, padding_shift);
    std::uint8_t best = 0;
    for (int place = 0; place < places && least > 1; ++place) {
      pass.permutation[bit] = static_cast<std::uint8_t>(1u << place);
      const int conflicts = bank_conflicts(pass, 0, lanes, bank_bits, padding_shift);
      if (conflicts < least) {
        least = conflicts;
        best = pass.permutation[bit];
      }
    }
    pass.permutation[bit] = best;
  }
}

/// Appends one phase: bitonic sequences of 2^bits become sorted, in the direction that the bit `run` says
/// (algorithms 2 and 4, inner loop).
constexpr void append_phase(Plan& plan, int bits, int run) {
  for (int bit = bits - 1; bit >= 0; --bit) {
    plan.steps[plan.step_count++] = {static_cast<std::uint8_t>(bit), static_cast<std::uint8_t>(run), false};
  }
}

constexpr void append_steps(Plan& plan, int run_bits, const Operators& operators) {
  if (operators.sort) {
    for (int bits = 1; bits <= run_bits; ++bits) append_phase(plan, bits, bits);
  }
  int run = run_bits;
  for (int merge = 0; merge < operators.merges; ++merge, ++run) {
    if (merge > 0 || !operators.sort) append_phase(plan, run_bits, run);
    plan.steps[plan.step_count++] = {static_cast<std::uint8_t>(run), static_cast<std::uint8_t>(run), true};
  }
  const bool sorted = operators.sort && operators.merges == 0;
  if (operators.rebuild && !sorted) append_phase(plan, run_bits, run);
}

/// How many places the next pass may have.
constexpr int places_of_pass(const Plan& plan, const Sizes& sizes, const Switches& switches, unsigned live) {
  const bool in_registers = plan.pass_count == 0 && switches.work_before_writing;
  if (in_registers) return sizes.element_bits;
  if (!switches.combined_steps) return 1;
  if (switches.reassigned_partitions) return sizes.element_bits;
  // All threads stay at work, each on fewer elements.
  const int left = std::popcount(live) - (sizes.tile_bits - sizes.element_bits);
  return left < 1 ? 1 : left;
}

/// Groups the steps of some operators into passes, as many to a pass as its threads' registers allow.
constexpr Plan make_plan(const Sizes& sizes, const Operators& operators, const Switches& switches) {
  Plan plan{};
  plan.tile_bits = static_cast<std::uint8_t>(sizes.tile_bits);
  plan.padding_shift = static_cast<std::uint8_t>(switches.padding ? sizes.bank_bits : kNoPadding);
  plan.work_before_writing = switches.work_before_writing;
  append_steps(plan, sizes.run_bits, operators);
  unsigned live = (1u << sizes.tile_bits) - 1;
  int step = 0;
  while (step < plan.step_count || plan.pass_count == 0) {
    const bool first = plan.pass_count == 0 && switches.work_before_writing;
    const int places = places_of_pass(plan, sizes, switches, live);
    Pass pass{};
    pass.live = static_cast<std::uint16_t>(live);
    pass.first_step = static_cast<std::uint8_t>(step);
    unsigned mask = 0;
    for (; step < plan.step_count; ++step) {
      const unsigned with_step = mask | (1u << plan.steps[step].bit);
      if (std::popcount(with_step) > places) break;
      if (!switches.combined_steps && !first && pass.steps == 1) break;
      mask = with_step;
      ++pass.steps;
      if (plan.steps[step].merge) live &= ~(1u << plan.steps[step].bit);
    }
    // A thread that loads unsorted elements loads as many as it can hold.
    for (unsigned bit = 1; (first || mask == 0) && std::popcount(mask) < places; bit <<= 1) mask |= bit & pass.live;
    pass.mask = static_cast<std::uint16_t>(mask);
    if (switches.chunk_permutation) permute_chunks(pass, sizes.bank_bits, plan.padding_shift);
    plan.passes[plan.pass_count++] = pass;
  }
  plan.live = static_cast<std::uint16_t>(live);
  return plan;
}

/// Elements that a tile of a plan leaves.
constexpr std::size_t kept(const Plan& plan) { return std::size_t{1} << std::popcount(plan.live); }

/// Bits of numbers below n, n > 0.
constexpr int bits_to_count(std::size_t n) { return static_cast<int>(std::bit_width(n - 1)); }

/// Elements that lie side by side in all 32 banks of 4 bytes, as a power of two.
constexpr int bank_bits(std::size_t element_bytes) { return std::countr_zero(128 / element_bytes); }

/// Elements that a tile takes up in shared memory.
constexpr std::size_t shared_elements(const Plan& plan) {
  return padded((1u << plan.tile_bits) - 1, plan.padding_shift) + 1;
}

inline constexpr unsigned kMaxThreads = 1024;
inline constexpr unsigned kUsualThreads = 128;
inline constexpr unsigned kFewestThreads = 32;
inline constexpr std::size_t kMaxTileBytes = std::size_t{128} << 10;

/// Elements that a thread can have in registers, as a power of two.
constexpr int most_element_bits(std::size_t element_bytes) { return element_bytes <= 8 ? kMaxPlaces : 4; }

/// Bytes of a tile where a block has so many of shared memory, 96 KiB at least: gaps between elements take some, too.
constexpr std::size_t tile_bytes_within(std::size_t shared_bytes) {
  return shared_bytes < kMaxTileBytes + kMaxTileBytes / 8 ? kMaxTileBytes / 2 : kMaxTileBytes;
}

/// Threads of a block that fit its registers and its shared memory.
constexpr unsigned most_threads(std::size_t element_bytes, int element_bits, std::size_t tile_bytes = kMaxTileBytes) {
  const std::size_t fitting = (tile_bytes / element_bytes) >> element_bits;
  return fitting < kMaxThreads ? static_cast<unsigned>(fitting) : kMaxThreads;
}

/// Returns the sizes for n elements, n > k: tiles that can be reduced by as much as a thread has elements, if a block
/// can be that large and there are as many elements.
constexpr Sizes sizes_for(std::size_t n, std::size_t k, std::size_t element_bytes, int element_bits,
                          std::size_t tile_bytes = kMaxTileBytes) {
  Sizes sizes{};
  sizes.run_bits = bits_to_count(k);
  sizes.element_bits = element_bits;
  sizes.bank_bits = bank_bits(element_bytes);
  const unsigned most = most_threads(element_bytes, element_bits, tile_bytes);
  unsigned threads = 1u << sizes.run_bits;
  if (threads < kUsualThreads) threads = kUsualThreads;
  if (threads > most) threads = most;
  while (threads > kFewestThreads && (std::size_t{threads} << element_bits) >= 2 * n) threads /= 2;
  sizes.tile_bits = std::countr_zero(threads) + element_bits;
  return sizes;
}

inline constexpr int kKeysOfThread = 16;

inline constexpr int kShortestKeyRun = 5;  ///< logarithm to base 2; shorter runs are not worth kernels of their own

/// Tiles of bare keys, of which only the k least are kept.
constexpr Sizes sizes_of_keys(std::size_t k, std::size_t key_bytes) {
  constexpr int kUsualTileBits = 11;
  Sizes sizes{};
  sizes.run_bits = bits_to_count(k);
  if (sizes.run_bits < kShortestKeyRun) sizes.run_bits = kShortestKeyRun;
  sizes.element_bits = bits_to_count(kKeysOfThread);
  sizes.bank_bits = bank_bits(key_bytes);
  // Tiles that leave a sixteenth, or as little as the largest ones do: of 64 KiB.
  const int most = bits_to_count((std::size_t{64} << 10) / key_bytes);
  sizes.tile_bits = sizes.run_bits + sizes.element_bits;
  if (sizes.tile_bits < kUsualTileBits) sizes.tile_bits = kUsualTileBits;
  if (sizes.tile_bits > most) sizes.tile_bits = most;
  return sizes;
}

/// Returns the place of a bare key in shared memory, given its index. Keys of 4 bytes have the gaps that leave the
/// fewest bank conflicts over all run lengths, found by search. The places of disjoint sets of bits add up, so that a
/// thread's keys lie at fixed distances.
SKYRANK_HD constexpr unsigned place_of_key(unsigned index, std::size_t key_bytes) {
  const unsigned further = key_bytes == 4 ? 4 * (index >> 9) : 0;
  return index + (index >> 4) + further;
}

/// Merges of a kernel: a thread's elements reduced to one, or the tile to one run.
constexpr int merges_of(const Sizes& sizes) {
  const int possible = sizes.tile_bits - sizes.run_bits;
  return possible < sizes.element_bits ? possible : sizes.element_bits;
}

}  // namespace skyrank::kernels::cuda::topk::network
