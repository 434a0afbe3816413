#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <cstdint>
#include <iterator>
#include <numeric>

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

/// Column by column: rows below the k-th key are in, rows above are out, and the next column decides among the rest.
Answer reference(const TopKProblem& problem) {
  const std::size_t k = std::min(problem.k, problem.n);
  if (k == 0) return {};
  Answer chosen;
  Answer rest(problem.n);
  std::iota(rest.begin(), rest.end(), RowId{0});
  for (const KeyColumn& column : problem.keys) {
    std::vector<std::uint64_t> keys(rest.size());
    std::ranges::transform(rest, keys.begin(), [&](RowId row) { return key_at(column, row); });
    const auto place = keys.begin() + static_cast<std::ptrdiff_t>(k - chosen.size() - 1);
    std::ranges::nth_element(keys, place);
    const std::uint64_t last = *place;
    std::ranges::copy_if(rest, std::back_inserter(chosen), [&](RowId row) { return key_at(column, row) < last; });
    std::erase_if(rest, [&](RowId row) { return key_at(column, row) != last; });
  }
  const auto wanted = static_cast<std::ptrdiff_t>(problem.ties == TieRule::all ? rest.size() : k - chosen.size());
  const auto first = problem.ties == TieRule::last ? rest.end() - wanted : rest.begin();
  chosen.insert(chosen.end(), first, first + wanted);
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
