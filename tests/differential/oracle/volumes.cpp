#include "tests/differential/oracle/volumes.hpp"

#include <algorithm>
#include <cmath>
#include <set>

namespace skyrank::differential {
namespace {

constexpr double kExact = 9007199254740992;  // 2^53
constexpr int kMaxHalvings = 10;
constexpr double kMaxSteps = 1e7;

/// Returns the largest power of two, up to 1, that divides all finite coordinates.
double unit_of(const std::vector<std::vector<double>>& points) {
  double unit = 1;
  for (const std::vector<double>& point : points) {
    for (const double value : point) {
      if (!std::isfinite(value)) continue;
      for (int i = 0; value / unit != std::trunc(value / unit); ++i) {
        if (i == kMaxHalvings) throw Undefined("a volume that rounds");
        unit /= 2;
      }
      if (std::abs(value / unit) >= kExact) throw Undefined("a volume that rounds");
    }
  }
  return unit;
}

}  // namespace

Boxes::Boxes(const std::vector<std::vector<double>>& points, const std::vector<double>& reference)
    : dims_(reference.size()), unit_(std::min(unit_of(points), unit_of({reference}))) {
  double whole = 1;
  for (std::size_t t = 0; t < dims_; ++t) {
    double longest = 0;
    for (const std::vector<double>& point : points) {
      if (std::isfinite(point[t])) longest = std::max(longest, (reference[t] - point[t]) / unit_);
    }
    whole *= longest;
  }
  if (whole >= kExact) throw Undefined("a volume that rounds");
  for (const std::vector<double>& point : points) {
    Edges& edges = edges_.emplace_back();
    for (std::size_t t = 0; t < dims_; ++t) {
      const bool better = std::isfinite(point[t]) && point[t] < reference[t];
      edges.push_back(better ? static_cast<Integer>((reference[t] - point[t]) / unit_) : 0);
    }
  }
}

/// Adds up slices along the last edge.
Integer Boxes::covered(std::vector<Edges> boxes, std::size_t dims) {
  if (boxes.empty()) return 0;
  const std::size_t last = dims - 1;
  std::ranges::sort(boxes, [&](const Edges& a, const Edges& b) { return a[last] > b[last]; });
  if (dims == 1) return boxes.front()[0];
  Integer sum = 0;
  Integer longest = 0;
  std::vector<Edges> above;
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    above.push_back(boxes[i]);
    longest = std::max(longest, boxes[i][0]);
    const Integer height = boxes[i][last] - (i + 1 < boxes.size() ? boxes[i + 1][last] : 0);
    if (height > 0) sum += height * (dims == 2 ? longest : covered(above, last));
  }
  return sum;
}

double Boxes::exclusive_volume(std::size_t i, const std::vector<std::size_t>& others) const {
  std::set<Edges> shared;
  for (const std::size_t other : others) {
    Edges edges = edges_[i];
    for (std::size_t t = 0; t < dims_; ++t) edges[t] = std::min(edges[t], edges_[other][t]);
    if (std::ranges::all_of(edges, [](Integer edge) { return edge > 0; })) shared.insert(edges);
  }
  if (std::pow(static_cast<double>(shared.size()), static_cast<double>(dims_ - 1)) > kMaxSteps) {
    throw Undefined("too many boxes");
  }
  Integer volume = 1;
  for (const Integer edge : edges_[i]) volume *= edge;
  volume -= covered({shared.begin(), shared.end()}, dims_);
  return static_cast<double>(volume) * std::pow(unit_, static_cast<double>(dims_));
}

}  // namespace skyrank::differential
