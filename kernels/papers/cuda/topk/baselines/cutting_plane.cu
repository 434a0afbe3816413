#include <thrust/transform_reduce.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

#include "kernels/papers/cuda/topk/baselines/thrust.cuh"

// Minimisation of a convex function (Beliakov 2011, as Monroe et al. compare with it): the k-th least of values x is
// where
//   f(y) = sum of (k - 1/2) (x - y) over x > y, and of (n - k + 1/2) (y - x) over x < y
// is least. Kelley's cutting-plane method keeps a place on either side of it; the next one is where the tangents of f
// at both meet, and one pass over all keys gives f and its slope there. Once few keys lie between the two, they are
// sorted.
//
// The values are the keys as doubles. Their order is not strict for keys of 64 bits, and sums of them are not exact:
// these decide how many passes there are, and not the answer, for which keys are counted.
namespace skyrank::kernels::cuda::topk {
namespace {

constexpr Parameter kParameters[] = {
    {"few", "keys, at most, that are sorted once no more lie between both places", 1, 1 << 20, 1 << 14},
    kOrdered,
    kReturned,
};

/// Passes, at most: then whatever is left is sorted. Halving alone would end 64-bit keys by then.
constexpr std::size_t kMaxPasses = 100;

template <class Key>
struct Extremes {
  Key least = std::numeric_limits<Key>::max();
  Key greatest = 0;
};

template <class Key>
struct Alone {
  SKYRANK_HD Extremes<Key> operator()(Key key) const { return {key, key}; }
};

template <class Key>
struct Outer {
  SKYRANK_HD Extremes<Key> operator()(const Extremes<Key>& a, const Extremes<Key>& b) const {
    return {b.least < a.least ? b.least : a.least, b.greatest > a.greatest ? b.greatest : a.greatest};
  }
};

/// Sums over keys x at a place y.
struct Sums {
  double above = 0;  ///< sum of x - y where x > y
  double below = 0;  ///< sum of y - x where x < y
  std::uint64_t less = 0;
  std::uint64_t equal = 0;
};

struct Add {
  SKYRANK_HD Sums operator()(const Sums& a, const Sums& b) const {
    return {a.above + b.above, a.below + b.below, a.less + b.less, a.equal + b.equal};
  }
};

template <class Key>
struct SumsAt {
  double place;

  SKYRANK_HD Sums operator()(Key key) const {
    const double distance = static_cast<double>(key) - place;
    Sums sums;
    sums.above = distance > 0 ? distance : 0;
    sums.below = distance < 0 ? -distance : 0;
    sums.less = distance < 0 ? 1 : 0;
    sums.equal = distance == 0 ? 1 : 0;
    return sums;
  }
};

/// Elements of keys with values in [from, to].
template <class E>
struct Within {
  double from;
  double to;

  SKYRANK_HD bool operator()(typename E::Element element) const {
    const auto value = static_cast<double>(E::key(element));
    return from <= value && value <= to;
  }
};

/// The values that the k-th is among, of which `less` keys have lesser ones and `size` keys have one.
struct Bracket {
  double from;
  double to;
  std::size_t less;
  std::size_t size;
};

/// A place with f and a slope of its there.
struct Tangent {
  double place;
  double f;
  double slope;
};

template <class E>
class CuttingPlane {
 public:
  using Key = typename E::Key;
  using Element = typename E::Element;

  CuttingPlane(Run& run, const E& elements, std::size_t n, std::size_t k)
      : run_(run), elements_(elements), n_(n), k_(k) {}

  void select(Element* chosen) {
    const Bracket bracket = enclose();
    auto middle = run_.allocate<Element>(bracket.size);
    copy_wanted(run_, elements_, n_, chosen, Within<E>{kLeast, std::nextafter(bracket.from, kLeast)});
    copy_wanted(run_, elements_, n_, middle.data(), Within<E>{bracket.from, bracket.to});
    sort_elements(middle.data(), middle.size(), run_.device);
    SKYRANK_CUDA_CALL(cudaMemcpyAsync(chosen + bracket.less, middle.data(), (k_ - bracket.less) * sizeof(Element),
                                      cudaMemcpyDeviceToDevice, run_.stream()));
    if (run_.context.count_work) {
      run_.count((passes_ + 2) * n_ * sizeof(Key), (bracket.size + k_) * sizeof(Element), bracket.size);
    }
  }

 private:
  static constexpr double kLeast = -1;  // below every value
  static constexpr double kGreatest = std::numeric_limits<double>::max();

  /// Begins with the least and the greatest value.
  Bracket enclose() {
    const auto few = static_cast<std::uint64_t>(run_.parameters["few"]);
    const Extremes<Key> ends = extremes();
    std::optional<Bracket> found = visit(static_cast<double>(ends.least));
    if (!found) found = visit(static_cast<double>(ends.greatest));
    while (!found && between() > few && passes_ < kMaxPasses) {
      const double place = next();
      if (!(left_.place < place && place < right_.place)) break;  // no double lies between the two
      found = visit(place);
    }
    if (found) return *found;
    return {std::nextafter(left_.place, kGreatest), std::nextafter(right_.place, kLeast), low_.less + low_.equal,
            between()};
  }

  /// Keys with values between both places.
  std::uint64_t between() const { return high_.less - low_.less - low_.equal; }

  Extremes<Key> extremes() {
    ++passes_;
    return with_thrust(run_, [&](const auto& policy) {
      return thrust::transform_reduce(policy, elements_.keys, elements_.keys + n_, Alone<Key>{}, Extremes<Key>{},
                                      Outer<Key>{});
    });
  }

  /// Makes a place the left or the right one; or returns it, if it is the value of the k-th.
  std::optional<Bracket> visit(double place) {
    const Sums sums = sums_at(place);
    if (sums.less >= k_) {
      high_ = sums;
      right_ = tangent(place, sums, true);
    } else if (sums.less + sums.equal < k_) {
      low_ = sums;
      left_ = tangent(place, sums, false);
    } else {
      return Bracket{place, place, sums.less, sums.equal};
    }
    return std::nullopt;
  }

  Sums sums_at(double place) {
    ++passes_;
    return with_thrust(run_, [&](const auto& policy) {
      return thrust::transform_reduce(policy, elements_.keys, elements_.keys + n_, SumsAt<Key>{place}, Sums{}, Add{});
    });
  }

  /// f has a slope on either side of a value. Towards the k-th, both places have that which is nearer to zero.
  Tangent tangent(double place, const Sums& sums, bool is_right) const {
    const double above = static_cast<double>(k_) - 0.5;
    const double below = static_cast<double>(n_ - k_) + 0.5;
    const std::uint64_t lesser = is_right ? sums.less : sums.less + sums.equal;
    return {place, above * sums.above + below * sums.below,
            below * static_cast<double>(lesser) - above * static_cast<double>(n_ - lesser)};
  }

  /// Returns where the tangents meet; or half the way, where rounding has them meet elsewhere, or after many passes.
  double next() const {
    constexpr std::size_t kHalvesFrom = 30;
    const double meet =
        (right_.f - left_.f + left_.place * left_.slope - right_.place * right_.slope) / (left_.slope - right_.slope);
    const bool is_between = left_.place < meet && meet < right_.place;
    return is_between && passes_ < kHalvesFrom ? meet : left_.place + (right_.place - left_.place) / 2;
  }

  Run& run_;
  E elements_;
  std::size_t n_;
  std::size_t k_;
  std::size_t passes_ = 0;
  Sums low_;  ///< at left_, below the k-th
  Sums high_;
  Tangent left_{};
  Tangent right_{};
};

struct MinimiseConvex {
  static constexpr bool kMayBeUnordered = true;
  static constexpr bool kSelectsAll = true;

  template <class E>
  static bool select(Run& run, const E& elements, std::size_t n, std::size_t k, typename E::Element* chosen) {
    CuttingPlane<E>(run, elements, n, k).select(chosen);
    return false;
  }
};

}  // namespace

extern const TopKAlgorithm cutting_plane;
const TopKAlgorithm cutting_plane{
    .name = "cuda-cutting-plane",
    .summary = "finds the k-th key as the minimum of a convex function, each step by sums over all keys",
    .source =
        "Beliakov: Parallel calculation of the median and order statistics on GPUs with application to robust "
        "regression, "
        "2011",
    .device = Device::cuda,
    .parameters = kParameters,
    .supports = needs_key_columns,
    .run = solve<MinimiseConvex>,
};

}  // namespace skyrank::kernels::cuda::topk
