#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>

#include "kernels/cpu/dominance_counts/dominance_counts.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/vector_targets.hpp"

// Counts what a handful of many rows dominate: vectors of the others' keys, as they are, are compared with each of
// them.
//
// Cost: a comparison of up to d vectors for each wanted row and each vector of rows, on all threads.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/dominance_counts/handful.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef SKYRANK_ROWS_OF_CHUNK
#define SKYRANK_ROWS_OF_CHUNK
namespace skyrank::kernels::dominance_counts {

inline constexpr std::size_t kRowsOfChunk = 2048;  ///< rows that stay in a cache while all wanted rows meet them

/// Consecutive rows of a problem, which has more rows than a vector.
struct RowsOfChunk {
  std::span<const KeyColumn> keys;
  std::size_t first = 0;
  std::size_t size = 0;  ///< at most kRowsOfChunk
};

}  // namespace skyrank::kernels::dominance_counts
#endif

HWY_BEFORE_NAMESPACE();
namespace skyrank::kernels::dominance_counts {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Returns how many rows of a chunk are nowhere less than a wanted row, and do not equal it. The last rows are taken
/// with some before them, which do not count again.
template <class Key>
std::int64_t count_in_chunk_of(const RowsOfChunk& chunk, std::size_t wanted) {
  const hn::ScalableTag<Key> tag;
  const std::size_t lanes = hn::Lanes(tag);
  const std::size_t end = chunk.first + chunk.size;
  auto sum = hn::Zero(tag);
  for (std::size_t row = chunk.first; row < end; row += lanes) {
    const std::size_t from = std::min(row, end - lanes);
    auto left_out = hn::FirstN(tag, row - from);  // or less in some key
    auto equal = hn::Not(left_out);
    for (const KeyColumn& key : chunk.keys) {
      const auto* const column = key.as<Key>();
      const auto own = hn::Set(tag, column[wanted]);
      const auto its = hn::LoadU(tag, column + from);
      left_out = hn::Or(left_out, hn::Lt(its, own));
      equal = hn::And(equal, hn::Eq(its, own));
    }
    sum = hn::Sub(sum, hn::VecFromMask(tag, hn::Not(hn::Or(left_out, equal))));
  }
  return static_cast<std::int64_t>(hn::GetLane(hn::SumOfLanes(tag, sum)));
}

std::int64_t count_in_chunk(const RowsOfChunk& chunk, std::size_t wanted) {
  return chunk.keys[0].width == KeyWidth::bytes8 ? count_in_chunk_of<std::uint64_t>(chunk, wanted)
                                                 : count_in_chunk_of<std::uint32_t>(chunk, wanted);
}

}  // namespace HWY_NAMESPACE
}  // namespace skyrank::kernels::dominance_counts
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace skyrank::kernels::dominance_counts {

HWY_EXPORT(count_in_chunk);

namespace {

std::int64_t count_rows_of_chunk(const RowsOfChunk& chunk, std::size_t wanted) {
  return HWY_DYNAMIC_DISPATCH(count_in_chunk)(chunk, wanted);
}

}  // namespace

Vector<std::int64_t> count_dominated_by_handful(const DominanceCountsProblem& problem,
                                                std::span<const std::int64_t> wanted, const Context& context) {
  Vector<std::int64_t> counts(wanted.size());
  std::mutex mutex;
  parallel_for((problem.n + kRowsOfChunk - 1) / kRowsOfChunk, 8, [&](std::size_t first, std::size_t last) {
    Vector<std::int64_t> here(wanted.size());
    for (std::size_t chunk = first; chunk < last; ++chunk) {
      context.check();
      const std::size_t begin = chunk * kRowsOfChunk;
      const RowsOfChunk rows{problem.keys, begin, std::min(kRowsOfChunk, problem.n - begin)};
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        here[i] += count_rows_of_chunk(rows, static_cast<std::size_t>(wanted[i]));
      }
    }
    const std::scoped_lock lock(mutex);
    for (std::size_t i = 0; i < wanted.size(); ++i) counts[i] += here[i];
  });
  return counts;
}

}  // namespace skyrank::kernels::dominance_counts
#endif  // HWY_ONCE
