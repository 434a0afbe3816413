#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

#include "kernels/common/problem.hpp"
#include "planner/profile.hpp"
#include "planner/statistics.hpp"

// Corrects the sum of an algorithm's terms by a factor where analysis ends: caches, branches, compilers. The logarithm
// of the factor is a regression on features of the problem: logarithms of sizes and some properties, each scaled so
// that problems at a distance of 1 are about as far off as each other. The factor is bounded, and so are the sizes that
// it looks at: beyond the sizes of the runs it stays what it is at their edge.
namespace skyrank::planner::cost {

/// Features of a problem by name.
std::span<const std::string_view> correction_names(bool ranking);

/// Their values, in the same order: made once of a problem, but for the two that differ between its algorithms.
class Features {
 public:
  static constexpr std::size_t kMax = 21;

  Features(const kernels::SkylineShape& shape, const Statistics& statistics);
  Features(const kernels::TopKShape& shape, const Statistics& statistics);

  /// `seconds` are what the algorithm's terms say. The values live until the next call.
  std::span<const double> of(int threads, double seconds);

 private:
  Features(std::span<const std::string_view> names, double of_threads);

  std::array<double, kMax> values_;
  std::size_t count_;
  std::size_t threads_at_;
  std::size_t seconds_at_;
  double of_threads_;  ///< scale of their logarithm
};

/// The factor, from a third to three; 1 where the correction is of other features.
double correction_factor(const Correction& correction, std::span<const double> values);

/// The greatest logarithm of the factor.
inline constexpr double kMaxCorrected = 1.0986;

}  // namespace skyrank::planner::cost
