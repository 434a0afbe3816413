#pragma once

#include <span>

namespace skyrank::planner::cost {

/// Sum over points of weight times exp(-r^2 / 2), r being the distance of a point from `values`. `points` has the first
/// feature of all points, then the second, and so on, weights.size() of each.
double weighted_rbf_kernel(std::span<const float> points, std::span<const float> weights,
                           std::span<const float> values);

}  // namespace skyrank::planner::cost
