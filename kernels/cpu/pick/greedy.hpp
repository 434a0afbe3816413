#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "kernels/common/memory.hpp"

namespace skyrank::kernels {

/// Picks `count` of the candidates, each time one of most gain, the lowest of equal ones. `gains` are those beside
/// none; gain(i) is that of a candidate beside those picked, which only falls as more are picked, and take(i) picks
/// one. So most gains need not be known anew (Minoux, "Accelerated Greedy Algorithms for Maximizing Submodular Set
/// Functions", 1978).
template <class Gain, class GainOf, class Take>
Vector<std::size_t> pick_greedily(const Vector<Gain>& gains, std::size_t count, const GainOf& gain, const Take& take) {
  struct Candidate {
    Gain gain;  ///< its gain when `known` were picked, at least what it is now
    std::size_t place;
    std::size_t known;
  };
  const auto is_behind = [](const Candidate& a, const Candidate& b) {
    return a.gain != b.gain ? a.gain < b.gain : a.place > b.place;
  };
  std::vector<Candidate> heap;
  heap.reserve(gains.size());
  for (std::size_t i = 0; i < gains.size(); ++i) heap.push_back({gains[i], i, 0});
  std::make_heap(heap.begin(), heap.end(), is_behind);
  Vector<std::size_t> picked;
  while (picked.size() < count && !heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), is_behind);
    Candidate& top = heap.back();
    if (top.known < picked.size()) {
      top.gain = std::min(top.gain, gain(top.place));
      top.known = picked.size();
      std::push_heap(heap.begin(), heap.end(), is_behind);
      continue;
    }
    take(top.place);
    picked.push_back(top.place);
    heap.pop_back();
  }
  return picked;
}

}  // namespace skyrank::kernels
