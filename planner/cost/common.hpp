#pragma once

#include <algorithm>
#include <bit>
#include <cmath>

#include "kernels/common/problem.hpp"
#include "planner/cost/terms.hpp"
#include "planner/facts/machine.hpp"
#include "planner/facts/statistics.hpp"

// Helpers that several cost models share.
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

/// Steps of sorting n elements on one thread: one for each element on each level.
inline double sort_steps(double n) { return n * std::log2(std::max(2.0, n)); }

/// Bytes of one row's keys.
inline double key_bytes(const kernels::TopKShape& shape) {
  double bytes = 0;
  for (const kernels::KeyWidth width : shape.widths) bytes += kernels::bits(width) / 8.0;
  return bytes;
}

/// How much longer a step on a top-k rank takes than on one of 64 bits: one of 128 bits, or columns one by one.
inline double rank_weight(const kernels::TopKShape& shape) {
  const double bits = static_cast<double>(std::bit_width(shape.n)) + 8 * key_bytes(shape);
  return bits <= 64 ? 1 : bits <= 128 ? 1.5 : 6;
}

inline double rank_bytes(const kernels::TopKShape& shape) {
  return static_cast<double>(std::bit_width(shape.n)) + 8 * key_bytes(shape) <= 64 ? 8 : 16;
}

/// How much of a sort's work there is to do: none where no neighbours descend, or all, and less the fewer different
/// keys there are, since equal ones lie in order.
inline double disorder(const Statistics& statistics) {
  const double in_order = std::abs(2 * statistics.ascending - 1);
  return (1 - std::pow(in_order, 8)) * std::sqrt(statistics.distinct);
}

/// The same for the k best rows, which lie in order where most of them have one key. With `either` a descending order
/// is as good as an ascending one.
inline double disorder_of_best(const Statistics& statistics, bool either) {
  const double balance = 2 * statistics.best_ascending - 1;
  return 1 - std::pow(either ? std::abs(balance) : std::max(0.0, balance), 8);
}

// Caches of usual servers: what each core has, and what a query finds free of the one that all share.
inline constexpr double kOwnCache = 1 << 20;
inline constexpr double kSharedCache = 16 << 20;

/// Share of `bytes` that does not stay in a cache. It grows with them.
inline double beyond(double bytes, double cache) { return bytes > cache ? 1 - cache / bytes : 0; }

/// How many threads together read memory as fast as it goes: each reads a third of what a socket's share brings.
inline double memory_threads(int threads) {
  constexpr int kMax = 3;
  return std::clamp(threads, 1, kMax);
}

/// Returns how many bytes of `bytes` one thread reads, or what takes as long: those that come from memory come no
/// faster for more threads than its bandwidth has room for.
inline double bytes_of_thread(double bytes, double threads, const Machine& machine) {
  const double far = beyond(bytes, kSharedCache);
  return bytes * ((1 - far) / threads + far / std::min(threads, memory_threads(machine.threads)));
}

/// Putting m ranks in order: by comparing them, or from 16,384 on, where they are integers, digit by digit, which
/// scatters them. Ranks of more than 64 bits have terms of their own.
inline void add_order(Terms& terms, const kernels::TopKShape& shape, double m, const Statistics& statistics,
                      const Machine& machine) {
  constexpr double kFew = 16384;
  const double weight = rank_weight(shape);
  const bool integers = key_bytes(shape) * 8 + static_cast<double>(std::bit_width(shape.n)) <= 128;
  const bool scattered = integers && m > kFew;
  const double compared = scattered ? kFew / 16 : m;  // counting digits costs about as much
  const double steps = weight * sort_steps(compared) / (integers ? 1 : threads_used(m, kFew, machine));
  const double mixed = steps * disorder_of_best(statistics, true);
  const bool wide = weight > 1;
  terms.push_back({"order", wide ? 0 : mixed, 4e-9});
  terms.push_back({"order-wide", wide ? mixed : 0, 4e-9});
  terms.push_back({"order-runs", weight * compared, 1e-9});
  const double moved = scattered ? weight * key_bytes(shape) * m * disorder_of_best(statistics, false) : 0;
  const double digits = moved / threads_used(m, kFew / 2, machine);
  terms.push_back({"order-digits", digits, 1.5e-9});
  terms.push_back({"order-scattered", digits * beyond(2 * m * rank_bytes(shape), kOwnCache), 4e-9});
}

/// Passes over the rows: one more finds those that tie with the last one of the answer.
inline double passes(const kernels::TopKShape& shape) { return shape.ties == kernels::TieRule::all ? 2 : 1; }

/// Adds the terms of algorithms that compare a block of rows with the skyline so far, then with each other. The threads
/// share each block twice; in the first block rows only meet each other. `rows` is the number of rows, of which `kept`
/// are in the skyline; `tests_a_step` tests are done, and priced, at once.
inline void add_blocks(Terms& terms, double rows, double kept, double tests_a_step, double threads,
                       const Values& values) {
  const double block = value_or(values, "block", 1024);
  terms.push_back({"blocks", rows / block * threads, 1e-6});
  const double first = std::min(rows, block) * std::min(kept, block) / 2;
  terms.push_back({"block-tests", first / tests_a_step / threads, 1e-9});
}

/// Returns the columns read for each row. A single column counts half, as it is read twice as fast as one of several.
inline double scan_weight(const kernels::TopKShape& shape) {
  return shape.widths.size() == 1 ? 0.5 : static_cast<double>(shape.widths.size());
}

/// The work of heaps that keep the k best.
struct HeapWork {
  double rows = 0;     ///< rows of one thread
  double inserts = 0;  ///< ranks that enter a thread's heap after it was filled
  double levels = 0;   ///< levels of a heap
  double filled = 0;   ///< ranks in one thread's heap
  double held = 0;     ///< in all heaps
};

/// In random order a heap of k takes in k ln(n / k) ranks after the first k; in ascending order none, in descending
/// order all. Of rows that tie with the last one none enters.
inline HeapWork heap_work(const kernels::TopKShape& shape, const Statistics& statistics, const Machine& machine) {
  const double n = static_cast<double>(shape.n);
  const double k = std::min(n, static_cast<double>(shape.k));
  const double threads = threads_used(n, 32768, machine);
  HeapWork work;
  work.rows = n / threads;
  work.filled = std::min(k, work.rows);
  const double rest = work.rows - work.filled;
  const double random = work.filled > 0 ? std::min(rest, work.filled * std::log(work.rows / work.filled)) : 0;
  const double towards = statistics.order < 0 ? rest : 0;
  const double share = std::pow(std::abs(statistics.order), 8);  // nothing short of nearly sorted matters
  work.inserts = (1 - statistics.ties) * (random + share * (towards - random));
  work.levels = std::log2(std::max(2.0, work.filled));
  work.held = threads * work.filled;
  return work;
}

/// Cost of a heap in every thread: `steps` that sift a rank by one level, then a sort of what the heaps hold.
inline Cost heap_cost(const kernels::TopKShape& shape, const HeapWork& work, double steps, const Machine& machine) {
  return {{{"start", 1, 0.35e-6},
           {"threads", threads_used(static_cast<double>(shape.n), 32768, machine) - 1, 5e-6},
           {"scan", passes(shape) * scan_weight(shape) * work.rows, 1e-9},
           {"heap-steps", rank_weight(shape) * steps, 4e-9},
           {"heap-far", rank_weight(shape) * steps * beyond(work.filled * rank_bytes(shape), kOwnCache), 8e-9},
           {"merge", rank_weight(shape) * sort_steps(work.held) / threads_used(work.held, 16384, machine), 4e-9}},
          2 * work.held * rank_bytes(shape)};
}

}  // namespace skyrank::planner::cost
