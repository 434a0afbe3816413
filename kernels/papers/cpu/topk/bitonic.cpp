#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <type_traits>
#include <vector>

#include "kernels/common/algorithm.hpp"
#include "kernels/common/counters.hpp"
#include "kernels/cpu/scratch.hpp"
#include "kernels/cpu/topk/answer.hpp"
#include "kernels/cpu/topk/selection.hpp"
#include "kernels/cpu/vector_targets.hpp"

// Bitonic top-k: blocks that stay in the first-level cache are sorted into runs of k by a bitonic network; then of two
// runs the k smaller elements are kept, which are a bitonic sequence, sorted again by the network's last steps, and so
// on to one run a block. Runs of many blocks are reduced the same way.
//
// The network works on vectors: each of their lanes is a list of its own, so that no step has to move an element from
// one lane to another. The lanes' best come together at the end.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/papers/cpu/topk/bitonic.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace skyrank::kernels::topk {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::ScalableTag<std::uint64_t>;

constexpr std::size_t kRegisters = 16;  ///< vectors that the short steps of the network work on at a time

/// Puts two vectors in order, lane by lane.
HWY_INLINE void exchange(std::uint64_t* a, std::uint64_t* b, bool ascending) {
  const Tag tag;
  const auto x = hn::Load(tag, a);
  const auto y = hn::Load(tag, b);
  hn::Store(ascending ? hn::Min(x, y) : hn::Max(x, y), tag, a);
  hn::Store(ascending ? hn::Max(x, y) : hn::Min(x, y), tag, b);
}

/// One step over all rows: compares those `distance` apart, ascending where the row has no bit of `run`.
void long_step(std::uint64_t* block, std::size_t rows, std::size_t distance, std::size_t run) {
  const std::size_t lanes = hn::Lanes(Tag());
  for (std::size_t first = 0; first < rows; first += 2 * distance) {
    const bool ascending = (first & run) == 0;
    for (std::size_t row = first; row < first + distance; ++row) {
      exchange(block + row * lanes, block + (row + distance) * lanes, ascending);
    }
  }
}

/// A step within 16 vectors in registers, all in one direction or, with `kRun` below 16, in alternating ones.
template <std::size_t kDistance, std::size_t kRun, class Vectors>
HWY_INLINE void short_step(Vectors& v, bool ascending) {
  for (std::size_t i = 0; i < kRegisters; ++i) {
    if ((i & kDistance) != 0) continue;
    const bool up = kRun < kRegisters ? (i & kRun) == 0 : ascending;
    const auto low = hn::Min(v[i], v[i + kDistance]);
    const auto high = hn::Max(v[i], v[i + kDistance]);
    v[i] = up ? low : high;
    v[i + kDistance] = up ? high : low;
  }
}

/// Calls body(vectors, first row) for every 16 rows, which it may change.
template <class Body>
HWY_INLINE void for_registers(std::uint64_t* block, std::size_t rows, const Body& body) {
  const Tag tag;
  const std::size_t lanes = hn::Lanes(tag);
  for (std::size_t first = 0; first < rows; first += kRegisters) {
    hn::Vec<Tag> v[kRegisters];
    for (std::size_t i = 0; i < kRegisters; ++i) v[i] = hn::Load(tag, block + (first + i) * lanes);
    body(v, first);
    for (std::size_t i = 0; i < kRegisters; ++i) hn::Store(v[i], tag, block + (first + i) * lanes);
  }
}

/// Sorts bitonic sequences of `length` rows, 16 or more, in the direction that the bit `run` of their rows says.
void sort_bitonic(std::uint64_t* block, std::size_t rows, std::size_t length, std::size_t run) {
  for (std::size_t distance = length / 2; distance >= kRegisters; distance /= 2) long_step(block, rows, distance, run);
  for_registers(block, rows, [run](auto& v, std::size_t first) HWY_ATTR {
    const bool ascending = (first & run) == 0;
    short_step<8, kRegisters>(v, ascending);
    short_step<4, kRegisters>(v, ascending);
    short_step<2, kRegisters>(v, ascending);
    short_step<1, kRegisters>(v, ascending);
  });
}

/// Sorts runs of `length` rows, 16 or more, alternately ascending and descending.
void sort_runs(std::uint64_t* block, std::size_t rows, std::size_t length) {
  for_registers(block, rows, [](auto& v, std::size_t first) HWY_ATTR {
    short_step<1, 2>(v, true);
    short_step<2, 4>(v, true);
    short_step<1, 4>(v, true);
    short_step<4, 8>(v, true);
    short_step<2, 8>(v, true);
    short_step<1, 8>(v, true);
    const bool ascending = (first & kRegisters) == 0;
    short_step<8, kRegisters>(v, ascending);
    short_step<4, kRegisters>(v, ascending);
    short_step<2, kRegisters>(v, ascending);
    short_step<1, kRegisters>(v, ascending);
  });
  for (std::size_t sorted = 2 * kRegisters; sorted <= length; sorted *= 2) sort_bitonic(block, rows, sorted, sorted);
}

/// Keeps the smaller elements of pairs of an ascending and a descending run of k rows; they are bitonic sequences.
void merge(std::uint64_t* block, std::size_t rows, std::size_t k) {
  const Tag tag;
  const std::size_t lanes = hn::Lanes(tag);
  std::uint64_t* out = block;
  for (std::size_t first = 0; first < rows; first += 2 * k) {
    for (std::size_t row = first; row < first + k; ++row, out += lanes) {
      hn::Store(hn::Min(hn::Load(tag, block + row * lanes), hn::Load(tag, block + (row + k) * lanes)), tag, out);
    }
  }
}

/// From bitonic sequences of k rows to one, in the first k rows. `rows` / k is a power of two.
void reduce_bitonic(std::uint64_t* block, std::size_t rows, std::size_t k) {
  for (; rows > k; rows /= 2) {
    sort_bitonic(block, rows, k, k);
    merge(block, rows, k);
  }
}

/// The same from rows in no order, at least 2 k of them.
void reduce_unsorted(std::uint64_t* block, std::size_t rows, std::size_t k) {
  sort_runs(block, rows, k);
  merge(block, rows, k);
  reduce_bitonic(block, rows / 2, k);
}

std::size_t lanes() { return hn::Lanes(Tag()); }

}  // namespace HWY_NAMESPACE
}  // namespace skyrank::kernels::topk
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace skyrank::kernels::topk {
namespace {

HWY_EXPORT(reduce_unsorted);
HWY_EXPORT(reduce_bitonic);
HWY_EXPORT(lanes);

constexpr std::size_t kBlock = 2048;  ///< ranks of a block, where k leaves room for two runs a lane
constexpr std::size_t kMinRun = 16;
constexpr std::size_t kLargestK = 1024;
constexpr std::size_t kRowsOfPart = 1 << 15;  ///< with fewer, another thread costs more than it saves

/// Ranks in rows of one vector each.
class Block {
 public:
  Block(std::size_t rows, std::size_t lanes) : rows_(rows), lanes_(lanes), ranks_(rows * lanes) {}

  std::size_t size() const { return rows_ * lanes_; }
  std::uint64_t* data() { return ranks_.get(); }

  void reduce_unsorted(std::size_t k) { HWY_DYNAMIC_DISPATCH(reduce_unsorted)(data(), rows_, k); }
  void reduce_bitonic(std::size_t k) { HWY_DYNAMIC_DISPATCH(reduce_bitonic)(data(), rows_, k); }

 private:
  std::size_t rows_;
  std::size_t lanes_;
  Array<std::uint64_t> ranks_;
};

/// The k least of the numbers that fill(begin, end, out) gives for rows [begin, end), in no order; k is at most their
/// number.
template <class Fill>
Scratch<std::uint64_t> least_of_part(const Fill& fill, std::size_t begin, std::size_t end, std::size_t k,
                                     const Context& context) {
  const std::size_t lanes = HWY_DYNAMIC_DISPATCH(lanes)();
  const std::size_t run = std::max(kMinRun, std::bit_ceil(k));
  const std::size_t rows = std::max(kBlock / lanes, 2 * run);
  Block block(rows, lanes);
  Block best(rows, lanes);  // runs of blocks, one after the other
  std::size_t held = 0;
  for (; begin < end; begin += block.size()) {
    context.check();
    const std::size_t count = std::min(end - begin, block.size());
    fill(begin, begin + count, block.data());
    // The filling of the block is no less than any number.
    std::fill(block.data() + count, block.data() + block.size(), ~std::uint64_t{0});
    block.reduce_unsorted(run);
    std::copy_n(block.data(), run * lanes, best.data() + held);
    held += run * lanes;
    if (held < best.size()) continue;
    best.reduce_bitonic(run);
    held = run * lanes;
  }
  Scratch<std::uint64_t> found(best.data(), best.data() + held);
  std::nth_element(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(k - 1), found.end());
  found.resize(k);
  return found;
}

/// The k least of parts of all rows.
template <class Fill>
Scratch<std::uint64_t> least(const Fill& fill, std::size_t n, std::size_t k, const Context& context) {
  Vector<Scratch<std::uint64_t>> parts(std::clamp<std::size_t>(n / kRowsOfPart, 1, concurrency()));
  parallel_for(parts.size(), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t part = begin; part < end; ++part) {
      parts[part] = least_of_part(fill, n * part / parts.size(), n * (part + 1) / parts.size(), k, context);
    }
  });
  Scratch<std::uint64_t> all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

/// Ranks of 64 bits go through the network themselves.
template <class Ranks>
Scratch<std::uint64_t> least_ranks(const TopKProblem& problem, const Ranks& ranks, std::size_t k,
                                   const Context& context) {
  return least([&](std::size_t begin, std::size_t end, std::uint64_t* out) { ranks.fill(begin, end, out); }, problem.n,
               k, context);
}

/// Selects wider ranks by their first keys, which leaves all rows up to the k-th of these.
template <class Ranks>
Scratch<typename Ranks::Rank> ranks_by_first_key(const TopKProblem& problem, const Ranks& ranks, std::size_t k,
                                                 const Context& context) {
  const KeyColumn& column = problem.keys.front();
  const auto fill = [&](std::size_t begin, std::size_t end, std::uint64_t* out) {
    with_keys(column, [&](const auto* keys) { std::copy(keys + begin, keys + end, out); });
  };
  Scratch<std::uint64_t> keys = least(fill, problem.n, k, context);
  const auto last = keys.begin() + static_cast<std::ptrdiff_t>(k - 1);
  std::nth_element(keys.begin(), last, keys.end());
  Scratch<typename Ranks::Rank> found;
  std::array<std::uint32_t, kScanRows> offsets;
  for (std::size_t begin = 0; begin < problem.n; begin += kScanRows) {
    context.check();
    const std::size_t count =
        find_at_most(column, begin, std::min(problem.n, begin + kScanRows), *last, offsets.data());
    for (std::size_t i = 0; i < count; ++i) found.push_back(ranks.rank_at(begin + offsets[i]));
  }
  return found;
}

template <class Ranks, class Counters>
TopKSolution solve(const TopKProblem& problem, const Ranks& ranks, Counters counters, const Context& context) {
  using Rank = typename Ranks::Rank;
  const std::size_t n = problem.n;
  const std::size_t k = std::min(problem.k, n);
  Scratch<Rank> best = [&] {
    if constexpr (std::is_base_of_v<IntegerRanks<std::uint64_t>, Ranks>) {
      return least_ranks(problem, ranks, k, context);
    } else {
      return ranks_by_first_key(problem, ranks, k, context);
    }
  }();
  counters.bytes_read(n * key_bytes(problem));
  counters.bytes_written(n * sizeof(std::uint64_t));
  counters.candidates(best.size());
  keep_best_in_order(ranks, best, k, false, context);
  return solution_of_best(problem, ranks, std::span<const Rank>(best), counters, context);
}

Support supports(const TopKShape& shape) {
  if (shape.fused) return needs_key_columns(shape);
  return std::min(shape.k, shape.n) <= kLargestK ? Support::yes() : Support::no("finds at most 1024 rows");
}

TopKSolution run(const TopKProblem& problem, const ParameterValues&, const Context& context) {
  if (problem.n == 0 || problem.k == 0) return {};
  return with_ranks(problem, [&](const auto& ranks) {
    return with_counters(context, [&](auto counters) { return solve(problem, ranks, counters, context); });
  });
}

}  // namespace

extern const TopKAlgorithm bitonic{
    .name = "bitonic",
    .summary = "a bitonic network over blocks, one list a SIMD lane, that keeps the k best of each",
    .source =
        "Shanbhag, Pirk, Madden: Efficient Top-K Query Processing on Massively Parallel Hardware, SIGMOD 2018, section "
        "3.2, appendix C",
    .device = Device::cpu,
    .parameters = {},
    .supports = supports,
    .run = run,
};

}  // namespace skyrank::kernels::topk
#endif
