#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "emulator/threads.hpp"

namespace skyrank::emulator {

class Fiber;

inline constexpr unsigned kLanes = 32;

struct Thread {
  enum class State : std::uint8_t { ready, waiting, sleeping, ended };

  uint3 index{};
  unsigned warp = 0;
  unsigned lane = 0;
  State state = State::ended;
  Fiber* fiber = nullptr;  ///< fiber that it goes on with; none before it starts
  // The place where it waits, and what it brings there and takes away.
  Collective collective = Collective::syncthreads;
  unsigned mask = 0;
  Place place;
  std::uint64_t value = 0;
  unsigned source = 0;  ///< the lane whose value a shuffle takes
  std::uint64_t result = 0;
};

/// Lanes that have come to one collective, while others of its mask have not.
struct Meeting {
  Collective collective = Collective::syncwarp;
  unsigned mask = 0;
  unsigned arrived = 0;
};

struct Warp {
  std::array<Thread*, kLanes> threads{};
  // Masks of lanes.
  unsigned alive = 0;
  unsigned ready = 0;
  unsigned sleeping = 0;
  std::vector<Meeting> meetings;
};

/// Returns the name that the source has for it.
const char* name(Collective collective);

/// Returns true for collectives of the block, false for those of a warp.
bool is_barrier(Collective collective);

/// The lane that a shuffle reads. What would leave the segment of `width` lanes, a power of 2, reads itself.
unsigned source_lane(Collective shuffle, unsigned lane, unsigned operand, unsigned width);

/// Gives the lanes of the mask their results, when all of them have come with their values.
void exchange(Warp& warp, unsigned mask, Collective collective);

}  // namespace skyrank::emulator
