#include "planner/cost/nearness.hpp"

#include <cstddef>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "planner/cost/nearness.cpp"
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <hwy/contrib/math/math-inl.h>

HWY_BEFORE_NAMESPACE();
namespace skyrank::planner::cost {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Of the points [first, last), which are a multiple of the vectors' lanes.
template <class Tag>
double nearness_of(Tag tag, std::size_t first, std::size_t last, const float* points, std::span<const float> weights,
                   std::span<const double> values) {
  auto sum = hn::Zero(tag);
  for (std::size_t i = first; i < last; i += hn::Lanes(tag)) {
    auto square = hn::Zero(tag);
    for (std::size_t j = 0; j < values.size(); ++j) {
      const auto value = hn::Set(tag, static_cast<float>(values[j]));
      const auto off = hn::Sub(hn::LoadU(tag, points + j * weights.size() + i), value);
      square = hn::MulAdd(off, off, square);
    }
    const auto near = hn::Exp(tag, hn::Mul(square, hn::Set(tag, -0.5F)));
    sum = hn::MulAdd(near, hn::LoadU(tag, weights.data() + i), sum);
  }
  return static_cast<double>(hn::GetLane(hn::SumOfLanes(tag, sum)));
}

double sum_nearness(std::span<const float> points, std::span<const float> weights, std::span<const double> values) {
  const hn::ScalableTag<float> tag;
  const std::size_t whole = weights.size() / hn::Lanes(tag) * hn::Lanes(tag);
  return nearness_of(tag, 0, whole, points.data(), weights, values) +
         nearness_of(hn::CappedTag<float, 1>(), whole, weights.size(), points.data(), weights, values);
}

}  // namespace HWY_NAMESPACE
}  // namespace skyrank::planner::cost
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace skyrank::planner::cost {

HWY_EXPORT(sum_nearness);

double weighted_nearness(std::span<const float> points, std::span<const float> weights,
                         std::span<const double> values) {
  return HWY_DYNAMIC_DISPATCH(sum_nearness)(points, weights, values);
}

}  // namespace skyrank::planner::cost
#endif
