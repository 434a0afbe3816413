#include "planner/cost/common.hpp"
#include "planner/cost/models.hpp"

namespace skyrank::planner::cost {
namespace {

/// Seconds to put m ranks in order: by comparing them, or from 16,384 on, where they are integers, digit by digit.
double order_seconds(const kernels::TopKShape& shape, double m, const Machine& machine) {
  constexpr double kFew = 16384;
  constexpr double kDigit = 1.5e-9;  // an element of 64 bits moved once
  const double step = rank_step(shape);
  double key_bits = 0;
  for (const kernels::KeyWidth width : shape.widths) key_bits += kernels::bits(width);
  const bool integers = key_bits + static_cast<double>(std::bit_width(shape.n)) <= 128;
  if (!integers) return sort_seconds(m, step) / threads_used(m, kFew, machine);
  const double moved = kDigit * step / 4e-9 * key_bits / 8 * std::max(0.0, m - kFew);
  return sort_seconds(std::min(m, kFew), step) + moved / threads_used(m, 2 * kFew, machine);
}

}  // namespace

double sampled_threshold(const kernels::TopKShape& shape, const Machine& machine) {
  constexpr double kStart = 0.5e-6;
  constexpr double kByte = 0.04e-9;    // of the first key column, which the pass reads
  constexpr double kMade = 0.5e-9;     // a key made on the way
  constexpr double kSampled = 8e-9;    // a row looked up and ordered
  constexpr double kCandidate = 8e-9;  // a row that the pass finds
  constexpr double kPlaces = 2;        // of the sample that the bound is set too high, and its square roots
  constexpr double kSpread = 3.2;
  const double n = static_cast<double>(shape.n);
  const double k = std::min(n, static_cast<double>(shape.k));
  const double sample = std::sqrt(3 * n) + std::cbrt(4 * n * k);
  const double every = n / std::max(sample, 1.0);
  const bool sampled = k < n / 2;
  const double candidates = sampled ? std::min(n, k + kSpread * std::sqrt(k * every) + kPlaces * every) : n;
  const double passes = shape.ties == kernels::TieRule::all ? 2 : 1;
  const double bytes = shape.widths.empty() ? 0 : kernels::bits(shape.widths.front()) / 8.0;
  return kStart + kSampled * std::min(sample, n) +
         passes * (kByte * bytes + (shape.fused ? kMade : 0)) * n / threads_used(n, 32768, machine) +
         kCandidate * candidates / threads_used(candidates, 32768, machine) +
         order_seconds(shape, sampled ? k : n, machine);
}

}  // namespace skyrank::planner::cost
