#pragma once

#include <bit>
#include <concepts>
#include <cstdint>

#include "vector_types.h"

// The identity of a CUDA thread, and its meetings with others of its block and warp.

namespace skyrank::emulator {

/// A line of source, for messages.
struct Place {
  const char* file = nullptr;
  int line = 0;

  /// Returns the place where a function is called, as the default of its parameter.
  static constexpr Place here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) { return {file, line}; }
};

}  // namespace skyrank::emulator

/// Coordinates of the running thread.
extern uint3 threadIdx;
extern uint3 blockIdx;
extern dim3 blockDim;
extern dim3 gridDim;
inline constexpr int warpSize = 32;

/// The block's dynamic shared memory, aligned as the strictest hardware access wants it. Ends the program when the
/// launch gave none.
void* emulated_dynamic_shared(skyrank::emulator::Place place = skyrank::emulator::Place::here());

namespace skyrank::emulator {

/// Operations that threads of a block or of a warp do together. Only those in the same one meet.
enum class Collective : std::uint8_t {
  syncthreads,
  syncthreads_count,
  syncthreads_and,
  syncthreads_or,
  syncwarp,
  shfl,
  shfl_up,
  shfl_down,
  shfl_xor,
  ballot,
  any,
  all,
  match_any,
  reduce_add,
  reduce_min,
  reduce_min_signed,
  reduce_max,
  reduce_max_signed,
  reduce_and,
  reduce_or,
  reduce_xor,
};

/// Waits for all threads of the block that have not ended; returns for how many `predicate` holds.
unsigned meet_block(Collective collective, bool predicate, Place place);

/// Waits for the lanes of `mask`, and returns what the collective makes of their values for this one.
std::uint64_t meet_warp(Collective collective, unsigned mask, std::uint64_t value, Place place);

/// One of the shuffles: the value of the lane that `operand` (lane, distance or bits) says, within segments of `width`.
std::uint64_t shuffle(Collective collective, unsigned mask, std::uint64_t value, int operand, int width, Place place);

/// Mask of the calling lane alone.
unsigned own_lane(Place place);

/// Lets the others go first.
void yield(Place place);

/// Ends the program with a message that says which thread, where.
[[noreturn]] void trap(Place place);

/// Ticks of a clock that never goes back.
long long ticks();

template <class T>
concept Shuffled = std::same_as<T, int> || std::same_as<T, unsigned> || std::same_as<T, long> ||
    std::same_as<T, unsigned long> || std::same_as<T, long long> || std::same_as<T, unsigned long long> ||
    std::same_as<T, float> || std::same_as<T, double>;

template <Shuffled T>
std::uint64_t to_word(T value) {
  if constexpr (sizeof(T) == 4) {
    return std::bit_cast<std::uint32_t>(value);
  } else {
    return std::bit_cast<std::uint64_t>(value);
  }
}

template <Shuffled T>
T from_word(std::uint64_t word) {
  if constexpr (sizeof(T) == 4) {
    return std::bit_cast<T>(static_cast<std::uint32_t>(word));
  } else {
    return std::bit_cast<T>(word);
  }
}

}  // namespace skyrank::emulator

inline void __syncthreads(skyrank::emulator::Place place = skyrank::emulator::Place::here()) {
  skyrank::emulator::meet_block(skyrank::emulator::Collective::syncthreads, false, place);
}
inline int __syncthreads_count(int predicate, skyrank::emulator::Place place = skyrank::emulator::Place::here()) {
  using skyrank::emulator::Collective;
  return static_cast<int>(skyrank::emulator::meet_block(Collective::syncthreads_count, predicate != 0, place));
}
inline int __syncthreads_and(int predicate, skyrank::emulator::Place place = skyrank::emulator::Place::here()) {
  using skyrank::emulator::Collective;
  return skyrank::emulator::meet_block(Collective::syncthreads_and, predicate == 0, place) == 0;
}
inline int __syncthreads_or(int predicate, skyrank::emulator::Place place = skyrank::emulator::Place::here()) {
  using skyrank::emulator::Collective;
  return skyrank::emulator::meet_block(Collective::syncthreads_or, predicate != 0, place) != 0;
}

inline void __syncwarp(unsigned mask = ~0U, skyrank::emulator::Place place = skyrank::emulator::Place::here()) {
  skyrank::emulator::meet_warp(skyrank::emulator::Collective::syncwarp, mask, 0, place);
}
/// The calling lane alone: lanes never run at the same time here.
inline unsigned __activemask(skyrank::emulator::Place place = skyrank::emulator::Place::here()) {
  return skyrank::emulator::own_lane(place);
}

inline unsigned __ballot_sync(unsigned mask, int predicate,
                              skyrank::emulator::Place place = skyrank::emulator::Place::here()) {
  using skyrank::emulator::Collective;
  return static_cast<unsigned>(skyrank::emulator::meet_warp(Collective::ballot, mask, predicate != 0, place));
}
inline int __any_sync(unsigned mask, int predicate, skyrank::emulator::Place place = skyrank::emulator::Place::here()) {
  using skyrank::emulator::Collective;
  return skyrank::emulator::meet_warp(Collective::any, mask, predicate != 0, place) != 0;
}
inline int __all_sync(unsigned mask, int predicate, skyrank::emulator::Place place = skyrank::emulator::Place::here()) {
  using skyrank::emulator::Collective;
  return skyrank::emulator::meet_warp(Collective::all, mask, predicate != 0, place) == mask;
}

// Overloads rather than templates, so that arguments convert (or are ambiguous) as in CUDA.
#define EMULATOR_EXCHANGES(type)                                                                         \
  inline type __shfl_sync(unsigned mask, type value, int source_lane, int width = warpSize,              \
                          skyrank::emulator::Place place = skyrank::emulator::Place::here()) {           \
    using namespace skyrank::emulator;                                                                   \
    return from_word<type>(shuffle(Collective::shfl, mask, to_word(value), source_lane, width, place));  \
  }                                                                                                      \
  inline type __shfl_up_sync(unsigned mask, type value, unsigned distance, int width = warpSize,         \
                             skyrank::emulator::Place place = skyrank::emulator::Place::here()) {        \
    using namespace skyrank::emulator;                                                                   \
    const int operand = static_cast<int>(distance);                                                      \
    return from_word<type>(shuffle(Collective::shfl_up, mask, to_word(value), operand, width, place));   \
  }                                                                                                      \
  inline type __shfl_down_sync(unsigned mask, type value, unsigned distance, int width = warpSize,       \
                               skyrank::emulator::Place place = skyrank::emulator::Place::here()) {      \
    using namespace skyrank::emulator;                                                                   \
    const int operand = static_cast<int>(distance);                                                      \
    return from_word<type>(shuffle(Collective::shfl_down, mask, to_word(value), operand, width, place)); \
  }                                                                                                      \
  inline type __shfl_xor_sync(unsigned mask, type value, int bits, int width = warpSize,                 \
                              skyrank::emulator::Place place = skyrank::emulator::Place::here()) {       \
    using namespace skyrank::emulator;                                                                   \
    return from_word<type>(shuffle(Collective::shfl_xor, mask, to_word(value), bits, width, place));     \
  }                                                                                                      \
  inline unsigned __match_any_sync(unsigned mask, type value,                                            \
                                   skyrank::emulator::Place place = skyrank::emulator::Place::here()) {  \
    using namespace skyrank::emulator;                                                                   \
    return static_cast<unsigned>(meet_warp(Collective::match_any, mask, to_word(value), place));         \
  }

EMULATOR_EXCHANGES(int)
EMULATOR_EXCHANGES(unsigned)
EMULATOR_EXCHANGES(long)
EMULATOR_EXCHANGES(unsigned long)
EMULATOR_EXCHANGES(long long)
EMULATOR_EXCHANGES(unsigned long long)
EMULATOR_EXCHANGES(float)
EMULATOR_EXCHANGES(double)
#undef EMULATOR_EXCHANGES

#define EMULATOR_REDUCTION(operation, type, collective)                                                        \
  inline type __reduce_##operation##_sync(unsigned mask, type value,                                           \
                                          skyrank::emulator::Place place = skyrank::emulator::Place::here()) { \
    using namespace skyrank::emulator;                                                                         \
    return from_word<type>(meet_warp(Collective::collective, mask, to_word(value), place));                    \
  }

EMULATOR_REDUCTION(add, unsigned, reduce_add)
EMULATOR_REDUCTION(add, int, reduce_add)
EMULATOR_REDUCTION(min, unsigned, reduce_min)
EMULATOR_REDUCTION(min, int, reduce_min_signed)
EMULATOR_REDUCTION(max, unsigned, reduce_max)
EMULATOR_REDUCTION(max, int, reduce_max_signed)
EMULATOR_REDUCTION(and, unsigned, reduce_and)
EMULATOR_REDUCTION(or, unsigned, reduce_or)
EMULATOR_REDUCTION(xor, unsigned, reduce_xor)
#undef EMULATOR_REDUCTION

inline void __nanosleep(unsigned /*nanoseconds*/, skyrank::emulator::Place place = skyrank::emulator::Place::here()) {
  skyrank::emulator::yield(place);
}
[[noreturn]] inline void __trap(skyrank::emulator::Place place = skyrank::emulator::Place::here()) {
  skyrank::emulator::trap(place);
}
inline long long clock64() { return skyrank::emulator::ticks(); }

// One thread runs at a time and memory is the host's own: nothing to order.
inline void __threadfence() {}
inline void __threadfence_block() {}
inline void __threadfence_system() {}
