#include "engine/operators/segments.hpp"

#include <algorithm>

namespace skyrank::exec {

Segments one_segment(std::int64_t n) { return {{0, n}, {}}; }

std::int64_t largest(const Segments& segments) {
  std::int64_t size = 0;
  for (std::int64_t s = 0; s < segments.count(); ++s) size = std::max(size, segments.size(s));
  return size;
}

double segments_to_solve(const Segments& segments) {
  double count = 0;
  for (std::int64_t s = 0; s < segments.count(); ++s) count += segments.size(s) > 1 ? 1 : 0;
  return count;
}

}  // namespace skyrank::exec
