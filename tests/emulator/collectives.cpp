#include "tests/emulator/collectives.hpp"

#include <bit>
#include <cstddef>

#include "tests/emulator/poison.hpp"

namespace skyrank::emulator {
namespace {

/// Calls `visit(thread)` for the lanes of a mask.
template <class Visit>
void for_each_thread(const Warp& warp, unsigned mask, Visit visit) {
  for (; mask != 0; mask &= mask - 1) visit(*warp.threads[static_cast<unsigned>(std::countr_zero(mask))]);
}

unsigned lanes_with(const Warp& warp, unsigned mask, std::uint64_t value) {
  unsigned lanes = 0;
  for_each_thread(warp, mask, [&](const Thread& thread) { lanes |= thread.value == value ? 1U << thread.lane : 0U; });
  return lanes;
}

std::uint32_t lesser(std::uint32_t a, std::uint32_t b, bool is_signed) {
  const bool less = is_signed ? static_cast<std::int32_t>(a) < static_cast<std::int32_t>(b) : a < b;
  return less ? a : b;
}

std::uint32_t combine(Collective reduction, std::uint32_t a, std::uint32_t b) {
  switch (reduction) {
    case Collective::reduce_add: return a + b;
    case Collective::reduce_min: return lesser(a, b, false);
    case Collective::reduce_min_signed: return lesser(a, b, true);
    case Collective::reduce_max: return a ^ b ^ lesser(a, b, false);
    case Collective::reduce_max_signed: return a ^ b ^ lesser(a, b, true);
    case Collective::reduce_and: return a & b;
    case Collective::reduce_or: return a | b;
    default: return a ^ b;
  }
}

std::uint32_t reduce(const Warp& warp, unsigned mask, Collective reduction) {
  auto total = static_cast<std::uint32_t>(warp.threads[static_cast<unsigned>(std::countr_zero(mask))]->value);
  for_each_thread(warp, mask & (mask - 1), [&](const Thread& thread) {
    total = combine(reduction, total, static_cast<std::uint32_t>(thread.value));
  });
  return total;
}

}  // namespace

const char* name(Collective collective) {
  static constexpr const char* kNames[] = {
      "__syncthreads",     "__syncthreads_count", "__syncthreads_and", "__syncthreads_or",  "__syncwarp",
      "__shfl_sync",       "__shfl_up_sync",      "__shfl_down_sync",  "__shfl_xor_sync",   "__ballot_sync",
      "__any_sync",        "__all_sync",          "__match_any_sync",  "__reduce_add_sync", "__reduce_min_sync",
      "__reduce_min_sync", "__reduce_max_sync",   "__reduce_max_sync", "__reduce_and_sync", "__reduce_or_sync",
      "__reduce_xor_sync",
  };
  return kNames[static_cast<std::size_t>(collective)];
}

bool is_barrier(Collective collective) { return collective <= Collective::syncthreads_or; }

unsigned source_lane(Collective shuffle, unsigned lane, unsigned operand, unsigned width) {
  const unsigned first = lane & ~(width - 1);
  const unsigned last = first + width - 1;
  switch (shuffle) {
    case Collective::shfl: return first | (operand & (width - 1));
    case Collective::shfl_up: return lane >= first + operand ? lane - operand : lane;
    case Collective::shfl_down: return lane + operand <= last ? lane + operand : lane;
    default: return (lane ^ operand) <= last ? lane ^ operand : lane;
  }
}

void exchange(Warp& warp, unsigned mask, Collective collective) {
  const auto give_all = [&](std::uint64_t result) {
    for_each_thread(warp, mask, [=](Thread& thread) { thread.result = result; });
  };
  switch (collective) {
    case Collective::syncwarp: return;
    case Collective::shfl:
    case Collective::shfl_up:
    case Collective::shfl_down:
    case Collective::shfl_xor:
      // A lane outside the mask gives what nobody may rely on.
      return for_each_thread(warp, mask, [&](Thread& thread) {
        thread.result = (mask >> thread.source & 1U) != 0 ? warp.threads[thread.source]->value : kPoisonWord;
      });
    case Collective::match_any:
      return for_each_thread(warp, mask, [&](Thread& thread) { thread.result = lanes_with(warp, mask, thread.value); });
    case Collective::ballot:
    case Collective::any:
    case Collective::all: return give_all(lanes_with(warp, mask, 1));
    default: return give_all(reduce(warp, mask, collective));
  }
}

}  // namespace skyrank::emulator
