#include "engine/query/weights/corners.hpp"

#include <algorithm>
#include <compare>
#include <cstddef>
#include <numeric>
#include <string>
#include <utility>

#include <skyrank/error.hpp>

// The double description method (Motzkin, Raiffa, Thompson and Thrall, 1953; Fukuda and Prodon, "Double Description
// Method Revisited", 1996). The region is a cone, as weights that sum to 1 stand for all their multiples. It begins as
// all weights that are 0 or more, whose corners are the terms themselves, and each constraint cuts it: corners on the
// right side stay, and each edge from one of them to one on the wrong side gets a corner on the constraint.
namespace skyrank::query {
namespace {

using Ray = std::vector<Int128>;

constexpr std::size_t kMaxCornersOnTheWay = 4096;  // later constraints may cut them off

[[noreturn]] void fail_size() { throw QueryError("the numbers of 'weights' are too large or have too many digits"); }

[[noreturn]] void fail_corners() {
  throw QueryError("the region of 'weights' has more than " + std::to_string(kMaxCorners) + " corners");
}

Int128 times(Int128 a, Int128 b) {
  Int128 product = 0;
  if (__builtin_mul_overflow(a, b, &product)) fail_size();
  return product;
}

Int128 plus(Int128 a, Int128 b) {
  Int128 sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) fail_size();
  return sum;
}

Int128 dot(const Ray& a, const Ray& b) {
  Int128 sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum = plus(sum, times(a[i], b[i]));
  return sum;
}

Int128 gcd(Int128 a, Int128 b) {
  while (b != 0) a = std::exchange(b, a % b);
  return a < 0 ? -a : a;
}

void shorten(Ray& ray) {
  Int128 divisor = 0;
  for (const Int128 value : ray) divisor = gcd(divisor, value);
  if (divisor > 1) {
    for (Int128& value : ray) value /= divisor;
  }
}

/// A corner, and the constraints that hold with equality there.
struct Corner {
  Ray ray;
  std::vector<bool> tight;
};

/// Returns true if two corners share an edge: no third one is on all the constraints that they share.
bool are_adjacent(const std::vector<Corner>& corners, const Corner& a, const Corner& b) {
  return std::ranges::none_of(corners, [&](const Corner& other) {
    if (&other == &a || &other == &b) return false;
    for (std::size_t i = 0; i < a.tight.size(); ++i) {
      if (a.tight[i] && b.tight[i] && !other.tight[i]) return false;
    }
    return true;
  });
}

/// Returns the point of an edge on the constraint that has `up` > 0 at one end and `down` < 0 at the other.
Corner between(const Corner& a, Int128 up, const Corner& b, Int128 down) {
  Corner middle = a;
  const Int128 divisor = gcd(up, down);
  for (std::size_t i = 0; i < a.ray.size(); ++i) {
    middle.ray[i] = plus(times(-down / divisor, a.ray[i]), times(up / divisor, b.ray[i]));
  }
  shorten(middle.ray);
  for (std::size_t i = 0; i < a.tight.size(); ++i) middle.tight[i] = a.tight[i] && b.tight[i];
  return middle;
}

/// Compares a / b with c / d, by the whole parts of their continued fractions.
std::strong_ordering compare_fractions(Int128 a, Int128 b, Int128 c, Int128 d) {
  if (a / b != c / d) return a / b <=> c / d;
  const Int128 rest_a = a % b;
  const Int128 rest_c = c % d;
  if (rest_a == 0 || rest_c == 0) return rest_a <=> rest_c;
  return compare_fractions(d, rest_c, b, rest_a);
}

/// Returns true for the corner that weighs the first term more, then the second, and so on.
bool favours_earlier(const Ray& a, const Ray& b) {
  const Int128 sum_a = std::accumulate(a.begin(), a.end(), Int128{0}, plus);
  const Int128 sum_b = std::accumulate(b.begin(), b.end(), Int128{0}, plus);
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto order = compare_fractions(a[i], sum_a, b[i], sum_b);
    if (order != std::strong_ordering::equal) return order == std::strong_ordering::greater;
  }
  return false;
}

}  // namespace

std::vector<std::vector<Int128>> corners_of(std::size_t terms, const std::vector<std::vector<Int128>>& constraints) {
  std::vector<Corner> corners;
  for (std::size_t i = 0; i < terms; ++i) {
    Corner corner{Ray(terms, 0), std::vector<bool>(terms, true)};
    corner.ray[i] = 1;
    corner.tight[i] = false;
    corners.push_back(std::move(corner));
  }
  for (const Ray& constraint : constraints) {
    std::vector<Int128> sides;
    for (const Corner& corner : corners) sides.push_back(dot(constraint, corner.ray));
    std::vector<Corner> kept;
    for (std::size_t i = 0; i < corners.size(); ++i) {
      if (sides[i] < 0) continue;
      kept.push_back(corners[i]);
      kept.back().tight.push_back(sides[i] == 0);
      for (std::size_t j = 0; j < corners.size(); ++j) {
        if (sides[i] == 0 || sides[j] >= 0 || !are_adjacent(corners, corners[i], corners[j])) continue;
        kept.push_back(between(corners[i], sides[i], corners[j], sides[j]));
        kept.back().tight.push_back(true);
      }
    }
    corners = std::move(kept);
    if (corners.size() > kMaxCornersOnTheWay) fail_corners();
  }
  if (corners.size() > kMaxCorners) fail_corners();
  std::vector<Ray> rays;
  for (Corner& corner : corners) rays.push_back(std::move(corner.ray));
  std::ranges::sort(rays, favours_earlier);
  return rays;
}

}  // namespace skyrank::query
