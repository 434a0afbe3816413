#include <fmt/format.h>
#include <tbb/blocked_range.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_sort.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <compare>
#include <cstdint>
#include <functional>
#include <numeric>
#include <utility>

#include "tools/bench/judge.hpp"

// Judges answers to top-k problems without sorting their rows: finds the k-th key byte by byte.
namespace skyrank::bench {
namespace {

using kernels::KeyColumn;
using kernels::KeyWidth;
using kernels::RowId;
using kernels::TieRule;
using kernels::TopKProblem;

std::uint64_t key_at(const KeyColumn& column, RowId row) {
  switch (column.width) {
    case KeyWidth::bytes1: return column.as<std::uint8_t>()[row];
    case KeyWidth::bytes2: return column.as<std::uint16_t>()[row];
    case KeyWidth::bytes4: return column.as<std::uint32_t>()[row];
    case KeyWidth::bytes8: break;
  }
  return column.as<std::uint64_t>()[row];
}

std::weak_ordering compare(const TopKProblem& problem, RowId a, RowId b) {
  for (const KeyColumn& column : problem.keys) {
    if (const auto order = key_at(column, a) <=> key_at(column, b); order != 0) return order;
  }
  return std::weak_ordering::equivalent;
}

/// Rows of a problem: some, or all of them without a list.
class RowSet {
 public:
  explicit RowSet(std::size_t n) : n_(n) {}
  explicit RowSet(Answer rows) : n_(rows.size()), rows_(std::move(rows)), listed_(true) {}

  std::size_t size() const { return n_; }
  RowId operator[](std::size_t i) const { return listed_ ? rows_[i] : static_cast<RowId>(i); }

 private:
  std::size_t n_;
  Answer rows_;
  bool listed_ = false;
};

/// Calls f(keys) with the keys of a column as a pointer to their type.
template <class F>
void with_keys(const KeyColumn& column, const F& f) {
  switch (column.width) {
    case KeyWidth::bytes1: return f(column.as<std::uint8_t>());
    case KeyWidth::bytes2: return f(column.as<std::uint16_t>());
    case KeyWidth::bytes4: return f(column.as<std::uint32_t>());
    case KeyWidth::bytes8: break;
  }
  f(column.as<std::uint64_t>());
}

constexpr std::size_t kBlock = 1 << 16;

std::size_t blocks_of(std::size_t n) { return (n + kBlock - 1) / kBlock; }

/// Calls f(block, begin, end) for the blocks of n rows, on all threads.
template <class F>
void for_each_block(std::size_t n, const F& f) {
  tbb::parallel_for(tbb::blocked_range<std::size_t>(0, blocks_of(n)), [&](const auto& range) {
    for (std::size_t block = range.begin(); block < range.end(); ++block) {
      f(block, block * kBlock, std::min(n, (block + 1) * kBlock));
    }
  });
}

/// Counts the values of one byte of the keys, of the rows whose higher bytes are those of `key`.
template <class Key>
std::array<std::size_t, 256> count_bytes(const Key* keys, const RowSet& rows, std::uint64_t key, int shift) {
  tbb::enumerable_thread_specific<std::array<std::size_t, 256>> counts;
  for_each_block(rows.size(), [&](std::size_t, std::size_t begin, std::size_t end) {
    std::array<std::size_t, 256>& mine = counts.local();
    const int higher = shift + 8;
    for (std::size_t i = begin; i < end; ++i) {
      const std::uint64_t it = keys[rows[i]];
      if (higher == 64 || it >> higher == key >> higher) ++mine[(it >> shift) & 0xff];
    }
  });
  std::array<std::size_t, 256> sum{};
  for (const auto& some : counts) std::ranges::transform(sum, some, sum.begin(), std::plus{});
  return sum;
}

/// The key that is at place `place` when the keys of the rows are sorted: byte by byte, the highest first.
std::uint64_t key_at_place(const KeyColumn& column, const RowSet& rows, std::size_t place) {
  std::uint64_t found = 0;
  with_keys(column, [&]<class Key>(const Key* keys) {
    for (int shift = 8 * (static_cast<int>(sizeof(Key)) - 1); shift >= 0; shift -= 8) {
      const std::array<std::size_t, 256> counts = count_bytes(keys, rows, found, shift);
      std::uint64_t byte = 0;
      for (; counts[byte] <= place; ++byte) place -= counts[byte];
      found |= byte << shift;
    }
  });
  return found;
}

/// The rows that pass, in their order.
template <class Passes>
Answer filtered(const RowSet& rows, const Passes& passes) {
  std::vector<std::size_t> ends(blocks_of(rows.size()) + 1);
  for_each_block(rows.size(), [&](std::size_t block, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) ends[block + 1] += passes(rows[i]) ? 1 : 0;
  });
  std::partial_sum(ends.begin(), ends.end(), ends.begin());
  Answer found(ends.back());
  for_each_block(rows.size(), [&](std::size_t block, std::size_t begin, std::size_t end) {
    std::size_t place = ends[block];
    for (std::size_t i = begin; i < end; ++i) {
      if (passes(rows[i])) found[place++] = rows[i];
    }
  });
  return found;
}

/// Column by column: rows below the k-th key are in, rows above
/// are out, and the next column decides among the rest.
Answer reference(const TopKProblem& problem) {
  const std::size_t k = std::min(problem.k, problem.n);
  if (k == 0) return {};
  Answer chosen;
  RowSet rest(problem.n);
  for (const KeyColumn& column : problem.keys) {
    const std::uint64_t last = key_at_place(column, rest, k - chosen.size() - 1);
    with_keys(column, [&](const auto* keys) {
      const Answer less = filtered(rest, [&](RowId row) { return keys[row] < last; });
      chosen.insert(chosen.end(), less.begin(), less.end());
      rest = RowSet(filtered(rest, [&](RowId row) { return keys[row] == last; }));
    });
  }
  const std::size_t wanted = problem.ties == TieRule::all ? rest.size() : k - chosen.size();
  const std::size_t first = problem.ties == TieRule::last ? rest.size() - wanted : 0;
  for (std::size_t i = first; i < first + wanted; ++i) chosen.push_back(rest[i]);
  tbb::parallel_sort(chosen.begin(), chosen.end(), [&](RowId a, RowId b) {
    const std::weak_ordering order = compare(problem, a, b);
    return order != 0 ? order < 0 : a < b;
  });
  return chosen;
}

/// Has `kept` hold a reference that begins with the problem's answer, and returns the part.
std::span<const RowId> reference_in(KeptReference& kept, const TopKProblem& problem) {
  const std::size_t k = std::min(problem.k, problem.n);
  const bool by_first = problem.ties == TieRule::first || problem.ties == TieRule::any;
  if (by_first && kept.by_first && k <= kept.rows.size()) return std::span(kept.rows).first(k);
  kept.rows = reference(problem);
  kept.by_first = by_first;
  return kept.rows;
}

/// The best rows by one column as a set: rows below the k-th key are in, and the first of those that have it.
Answer best_as_set(const TopKProblem& problem) {
  const std::size_t k = std::min(problem.k, problem.n);
  const KeyColumn& column = problem.keys.front();
  const std::uint64_t last = key_at_place(column, RowSet(problem.n), k - 1);
  Answer set((problem.n + 63) / 64 + 2);
  with_keys(column, [&](const auto* keys) {
    std::vector<std::size_t> ties(blocks_of(problem.n) + 1);
    tbb::enumerable_thread_specific<std::size_t> less(0);
    for_each_block(problem.n, [&](std::size_t block, std::size_t begin, std::size_t end) {
      std::size_t below = 0;
      std::size_t equal = 0;
      for (std::size_t row = begin; row < end; ++row) {
        below += keys[row] < last ? 1 : 0;
        equal += keys[row] == last ? 1 : 0;
      }
      less.local() += below;
      ties[block + 1] = equal;
    });
    std::partial_sum(ties.begin(), ties.end(), ties.begin());
    const std::size_t wanted = k - less.combine(std::plus{});
    // A block has whole words.
    for_each_block(problem.n, [&](std::size_t block, std::size_t begin, std::size_t end) {
      std::size_t tie = ties[block];
      for (std::size_t row = begin; row < end; ++row) {
        const bool is_in = keys[row] < last || (keys[row] == last && tie < wanted);
        tie += keys[row] == last ? 1 : 0;
        set[row / 64] |= static_cast<RowId>(std::uint64_t{is_in ? 1U : 0U} << (row % 64));
      }
    });
  });
  set[set.size() - 2] = static_cast<RowId>(k);
  return set;
}

std::string fault_of(const TopKProblem& problem, const Answer& answer, std::span<const RowId> expected) {
  if (std::ranges::equal(answer, expected)) return {};
  if (answer.size() != expected.size()) {
    return fmt::format("{} rows instead of {}", answer.size(), expected.size());
  }
  for (std::size_t i = 0; i < answer.size(); ++i) {
    const bool is_row = answer[i] >= 0 && static_cast<std::size_t>(answer[i]) < problem.n;
    const bool may_differ = problem.ties == TieRule::any && is_row && compare(problem, answer[i], expected[i]) == 0;
    if (answer[i] != expected[i] && !may_differ) {
      return fmt::format("at place {} row {} instead of {}", i, answer[i], expected[i]);
    }
    // Rows of equal keys come by ascending row id, which also tells them apart.
    if (i > 0 && answer[i - 1] >= answer[i] && compare(problem, answer[i - 1], answer[i]) == 0) {
      return fmt::format("row {} comes before row {}", answer[i - 1], answer[i]);
    }
  }
  return {};
}

}  // namespace

std::vector<std::string> judge(const TopKProblem& problem, std::span<const Answer> answers) {
  KeptReference kept;
  return judge(problem, answers, kept);
}

std::vector<std::string> judge(const TopKProblem& problem, std::span<const Answer> answers, KeptReference& kept) {
  const std::span<const RowId> expected = reference_in(kept, problem);
  std::vector<std::string> faults;
  for (const Answer& answer : answers) faults.push_back(fault_of(problem, answer, expected));
  return faults;
}

Answer as_set(std::span<const RowId> answer, std::size_t n) {
  const std::size_t words = (n + 63) / 64;
  Answer set(words + 2);
  tbb::enumerable_thread_specific<RowId> outside(0);
  for_each_block(answer.size(), [&](std::size_t, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const auto row = static_cast<std::size_t>(answer[i]);
      if (answer[i] < 0 || row >= n) {
        ++outside.local();
        continue;
      }
      const auto bit = static_cast<RowId>(std::uint64_t{1} << (row % 64));
      std::atomic_ref(set[row / 64]).fetch_or(bit, std::memory_order_relaxed);
    }
  });
  set[words] = static_cast<RowId>(answer.size());
  set[words + 1] = outside.combine(std::plus{});
  return set;
}

std::vector<std::string> judge_sets(const TopKProblem& problem, std::span<const Answer> sets, KeptReference& kept) {
  if (kept.set_k != problem.k) {
    kept.set = problem.keys.size() == 1 ? best_as_set(problem) : as_set(reference_in(kept, problem), problem.n);
    kept.set_k = problem.k;
  }
  const Answer& expected = kept.set;
  std::vector<std::string> faults;
  for (const Answer& set : sets) {
    if (set == expected) {
      faults.emplace_back();
      continue;
    }
    std::size_t missing = 0;
    for (std::size_t word = 0; word + 2 < set.size(); ++word) {
      missing += static_cast<std::size_t>(std::popcount(static_cast<std::uint64_t>(expected[word] & ~set[word])));
    }
    faults.push_back(fmt::format("{} rows instead of {}, of which {} are missing", set[set.size() - 2],
                                 expected[expected.size() - 2], missing));
  }
  return faults;
}

}  // namespace skyrank::bench
