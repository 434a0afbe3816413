#pragma once

#include <rapidcheck.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include <skyrank/engine.hpp>

#include "tests/semantics/random_case.hpp"

// Laws of parts draw their cases from rapidcheck by these.
namespace skyrank {

inline const Engine& engine() {
  static const Engine two({.threads = 2, .device = DeviceChoice::cpu});
  return two;
}

/// Draws from the whole of [low, high), whatever the size that rapidcheck has grown to.
template <class T>
T drawn(T low, T high) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<T>(low, high));
}

/// A random case whose answer is unique.
inline RandomCase drawn_case() {
  RandomCase random = random_case(drawn<std::uint64_t>(0, 1'000'000'000));
  if (random.query.ties() == Ties::any) random.query.ties(Ties::first);
  return random;
}

/// Ascending positions among so many rows, some of them several times.
inline std::vector<RowId> drawn_cuts(std::int64_t rows) {
  std::vector<RowId> cuts;
  for (int left = drawn(0, 12); left > 0; --left) cuts.push_back(drawn<RowId>(0, rows + 1));
  std::ranges::sort(cuts);
  return cuts;
}

}  // namespace skyrank
