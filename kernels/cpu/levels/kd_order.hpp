#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <numeric>

#include "kernels/cpu/levels/points.hpp"
#include "kernels/cpu/parallel.hpp"

namespace skyrank::kernels::levels {

/// Returns the place where a range of a k-d order is split.
constexpr std::uint32_t middle(std::uint32_t begin, std::uint32_t end) { return begin + (end - begin) / 2; }

/// Ranges up to this size are not split any further.
inline constexpr std::uint32_t kKdLeaf = 32;

/// The place of each point in a k-d order by all codes but the first: every range of places that halving [0, n) at its
/// `middle` leads to is split at the median of one code, the codes taking turns.
inline Vector<std::uint32_t> kd_places(const Points& points, const Context& context) {
  const auto n = static_cast<std::uint32_t>(points.size());
  const std::size_t codes = points.dims() - 1;
  Vector<std::uint32_t> order(n);
  std::iota(order.begin(), order.end(), 0u);
  Vector<std::uint32_t> bounds{0, n};
  for (std::size_t depth = 0; n >> depth > kKdLeaf; ++depth) {
    const std::size_t code = 1 + depth % codes;
    const std::size_t grain = std::max<std::size_t>(1, (std::size_t{1} << 14) >> (std::bit_width(n >> depth) - 1));
    parallel_for(bounds.size() - 1, grain, [&](std::size_t first, std::size_t last) {
      for (std::size_t r = first; r < last; ++r) {
        context.check();
        const auto begin = order.begin() + bounds[r];
        const auto end = order.begin() + bounds[r + 1];
        std::nth_element(begin, order.begin() + middle(bounds[r], bounds[r + 1]), end,
                         [&](std::uint32_t a, std::uint32_t b) { return points[a][code] < points[b][code]; });
      }
    });
    Vector<std::uint32_t> halves;
    halves.reserve(2 * bounds.size());
    for (std::size_t r = 0; r + 1 < bounds.size(); ++r) {
      halves.push_back(bounds[r]);
      halves.push_back(middle(bounds[r], bounds[r + 1]));
    }
    halves.push_back(n);
    bounds = std::move(halves);
  }
  Vector<std::uint32_t> places(n);
  for (std::uint32_t place = 0; place < n; ++place) places[order[place]] = place;
  return places;
}

}  // namespace skyrank::kernels::levels
