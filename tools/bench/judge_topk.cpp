#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <cstdint>
#include <utility>

#include "tools/bench/judge.hpp"

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

/// The key that is at place `place` when the keys of the rows are sorted.
std::uint64_t key_at_place(const KeyColumn& column, const RowSet& rows, std::size_t place) {
  std::vector<std::uint64_t> keys(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) keys[i] = key_at(column, rows[i]);
  const auto nth = keys.begin() + static_cast<std::ptrdiff_t>(place);
  std::ranges::nth_element(keys, nth);
  return *nth;
}

/// Column by column: rows below the k-th key are in, rows above are out, and the next column decides among the rest.
Answer reference(const TopKProblem& problem) {
  const std::size_t k = std::min(problem.k, problem.n);
  if (k == 0) return {};
  Answer chosen;
  RowSet rest(problem.n);
  for (const KeyColumn& column : problem.keys) {
    const std::uint64_t last = key_at_place(column, rest, k - chosen.size() - 1);
    Answer equal;
    for (std::size_t i = 0; i < rest.size(); ++i) {
      const std::uint64_t key = key_at(column, rest[i]);
      if (key < last) chosen.push_back(rest[i]);
      if (key == last) equal.push_back(rest[i]);
    }
    rest = RowSet(std::move(equal));
  }
  const std::size_t wanted = problem.ties == TieRule::all ? rest.size() : k - chosen.size();
  const std::size_t first = problem.ties == TieRule::last ? rest.size() - wanted : 0;
  for (std::size_t i = first; i < first + wanted; ++i) chosen.push_back(rest[i]);
  std::ranges::sort(chosen, [&](RowId a, RowId b) {
    const std::weak_ordering order = compare(problem, a, b);
    return order != 0 ? order < 0 : a < b;
  });
  return chosen;
}

std::string fault_of(const TopKProblem& problem, const Answer& answer, const Answer& expected) {
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
  const Answer expected = reference(problem);
  std::vector<std::string> faults;
  for (const Answer& answer : answers) faults.push_back(fault_of(problem, answer, expected));
  return faults;
}

}  // namespace skyrank::bench
