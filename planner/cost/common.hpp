#pragma once

#include <algorithm>
#include <bit>
#include <cmath>

#include "kernels/common/problem.hpp"
#include "planner/choose.hpp"

// What several cost models share.
namespace skyrank::planner::cost {

/// Threads that an algorithm uses which gives each at least `grain` of n rows. Continuous in n, so that a prediction
/// never falls when rows are added.
inline double threads_used(double n, double grain, const Machine& machine) {
  return std::clamp(n / grain, 1.0, std::max(1.0, static_cast<double>(machine.threads)));
}

/// Rows that each of those threads gets.
inline double rows_of_thread(double n, double grain, const Machine& machine) {
  return std::max(std::min(n, grain), n / std::max(1.0, static_cast<double>(machine.threads)));
}

/// Seconds to sort n elements on one thread, at `step` seconds for one element on one level.
inline double sort_seconds(double n, double step) { return step * n * std::log2(std::max(2.0, n)); }

/// Seconds for one step of comparing and moving a top-k rank: one integer of 64 or of 128 bits, or columns one by one.
inline double rank_step(const kernels::TopKShape& shape) {
  int bits = static_cast<int>(std::bit_width(shape.n));
  for (const kernels::KeyWidth width : shape.widths) bits += kernels::bits(width);
  return bits <= 64 ? 4e-9 : bits <= 128 ? 6e-9 : 25e-9;
}

/// Seconds to put m ranks in order: by comparing them, or from 16,384 on, where they are integers, digit by digit.
inline double order_seconds(const kernels::TopKShape& shape, double m, const Machine& machine) {
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

/// Seconds to look at the keys of one row of a top-k problem.
inline double scan_step(const kernels::TopKShape& shape) {
  return shape.widths.size() == 1 ? 0.5e-9 : 1e-9 * static_cast<double>(shape.widths.size());
}

/// What a heap of the k best costs for all but its own operations on one rank.
struct HeapWork {
  double scan = 0;     ///< seconds to scan the rows, on the threads used
  double inserts = 0;  ///< ranks that enter a thread's heap after it was filled, in random order
  double levels = 0;   ///< of a heap
  double merge = 0;    ///< seconds to sort what all heaps hold
  double filled = 0;   ///< ranks in one thread's heap
};

inline HeapWork heap_work(const kernels::TopKShape& shape, const Machine& machine) {
  const double n = static_cast<double>(shape.n);
  const double k = std::min(n, static_cast<double>(shape.k));
  const double threads = threads_used(n, 32768, machine);
  const double rows = n / threads;
  HeapWork work;
  work.filled = std::min(k, rows);
  work.scan = scan_step(shape) * rows * (shape.ties == kernels::TieRule::all ? 2 : 1);
  work.inserts = work.filled > 0 ? work.filled * std::log(rows / work.filled) : 0;
  work.levels = std::log2(std::max(2.0, work.filled));
  const double held = threads * work.filled;
  work.merge = sort_seconds(held, rank_step(shape)) / threads_used(held, 16384, machine);
  return work;
}

}  // namespace skyrank::planner::cost
