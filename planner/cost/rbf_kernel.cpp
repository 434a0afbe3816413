#include "planner/cost/rbf_kernel.hpp"

#include <cstddef>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "planner/cost/rbf_kernel.cpp"
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <hwy/contrib/math/math-inl.h>

HWY_BEFORE_NAMESPACE();
namespace skyrank::planner::cost {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Sum over the points from the i-th on, as many as a vector has lanes, but for the first `done` of them.
template <class Tag>
auto rbf_kernel_at(Tag tag, std::size_t i, std::size_t done, const float* points, std::span<const float> weights,
                   std::span<const float> values) {
  auto square = hn::Zero(tag);
  for (std::size_t j = 0; j < values.size(); ++j) {
    const auto off = hn::Sub(hn::LoadU(tag, points + j * weights.size() + i), hn::Set(tag, values[j]));
    square = hn::MulAdd(off, off, square);
  }
  const auto near = hn::Exp(tag, hn::Mul(square, hn::Set(tag, -0.5F)));
  return hn::IfThenZeroElse(hn::FirstN(tag, done), hn::Mul(near, hn::LoadU(tag, weights.data() + i)));
}

template <class Tag>
double rbf_kernels_of(Tag tag, const float* points, std::span<const float> weights, std::span<const float> values) {
  const std::size_t lanes = hn::Lanes(tag);
  const std::size_t whole = weights.size() / lanes * lanes;
  auto sum = hn::Zero(tag);
  for (std::size_t i = 0; i < whole; i += lanes) {
    sum = hn::Add(sum, rbf_kernel_at(tag, i, 0, points, weights, values));
  }
  if (whole < weights.size()) {
    const std::size_t last = weights.size() - lanes;
    sum = hn::Add(sum, rbf_kernel_at(tag, last, whole - last, points, weights, values));
  }
  return static_cast<double>(hn::GetLane(hn::SumOfLanes(tag, sum)));
}

double sum_rbf_kernels(std::span<const float> points, std::span<const float> weights, std::span<const float> values) {
  const hn::ScalableTag<float> tag;
  if (weights.size() >= hn::Lanes(tag)) return rbf_kernels_of(tag, points.data(), weights, values);
  return rbf_kernels_of(hn::CappedTag<float, 1>(), points.data(), weights, values);
}

}  // namespace HWY_NAMESPACE
}  // namespace skyrank::planner::cost
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace skyrank::planner::cost {

HWY_EXPORT(sum_rbf_kernels);

double weighted_rbf_kernel(std::span<const float> points, std::span<const float> weights,
                           std::span<const float> values) {
  return HWY_DYNAMIC_DISPATCH(sum_rbf_kernels)(points, weights, values);
}

}  // namespace skyrank::planner::cost
#endif
