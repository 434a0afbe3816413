#include "tests/oracle/oracle.hpp"

#include <algorithm>
#include <cstring>

namespace skyrank::oracle {
namespace {

using kernels::OrderNode;
using kernels::SkylineProblem;

bool node_equal(const SkylineProblem& problem, std::size_t node, std::size_t a, std::size_t b) {
  const OrderNode& it = problem.order[node];
  if (it.kind == OrderNode::Kind::key) return key_at(problem.keys[it.first], a) == key_at(problem.keys[it.first], b);
  for (std::size_t child = it.first; child < it.first + it.count; ++child) {
    if (!node_equal(problem, child, a, b)) return false;
  }
  return true;
}

/// Returns true if row a is better than row b by this node, in the words of the definition of each kind of node.
bool node_better(const SkylineProblem& problem, std::size_t node, std::size_t a, std::size_t b) {
  const OrderNode& it = problem.order[node];
  switch (it.kind) {
    case OrderNode::Kind::key: return key_at(problem.keys[it.first], a) < key_at(problem.keys[it.first], b);
    case OrderNode::Kind::prior:
      for (std::size_t child = it.first; child < it.first + it.count; ++child) {
        if (!node_equal(problem, child, a, b)) return node_better(problem, child, a, b);
      }
      return false;
    case OrderNode::Kind::pareto: break;
  }
  bool somewhere = false;
  for (std::size_t child = it.first; child < it.first + it.count; ++child) {
    if (node_better(problem, child, a, b)) {
      somewhere = true;
    } else if (!node_equal(problem, child, a, b)) {
      return false;
    }
  }
  return somewhere;
}

}  // namespace

std::uint64_t key_at(const kernels::KeyColumn& column, std::size_t row) {
  switch (column.width) {
    case kernels::KeyWidth::bytes1: return column.as<std::uint8_t>()[row];
    case kernels::KeyWidth::bytes2: return column.as<std::uint16_t>()[row];
    case kernels::KeyWidth::bytes4: return column.as<std::uint32_t>()[row];
    case kernels::KeyWidth::bytes8: break;
  }
  return column.as<std::uint64_t>()[row];
}

bool dominates(const SkylineProblem& problem, std::size_t j, std::size_t i) {
  if (!problem.order.empty()) return node_better(problem, 0, j, i);
  bool smaller_somewhere = false;
  for (const kernels::KeyColumn& column : problem.keys) {
    if (key_at(column, j) > key_at(column, i)) return false;
    if (key_at(column, j) < key_at(column, i)) smaller_somewhere = true;
  }
  return smaller_somewhere;
}

std::vector<RowId> skyline(const SkylineProblem& problem) {
  return skyline(problem.n, [&](std::size_t j, std::size_t i) { return dominates(problem, j, i); });
}

std::vector<RowId> topk(const kernels::TopKProblem& problem) {
  const auto compare = [&](RowId a, RowId b) {
    for (const kernels::KeyColumn& column : problem.keys) {
      const std::uint64_t x = key_at(column, a);
      const std::uint64_t y = key_at(column, b);
      if (x != y) return x < y ? -1 : 1;
    }
    return 0;
  };
  std::vector<RowId> rows(problem.n);
  std::iota(rows.begin(), rows.end(), RowId{0});
  std::stable_sort(rows.begin(), rows.end(), [&](RowId a, RowId b) { return compare(a, b) < 0; });
  if (problem.k == 0) return {};
  if (problem.k >= problem.n) return rows;

  // Rows better than the k-th are in; of those equal to it, the tie rule takes some.
  const RowId kth = rows[problem.k - 1];
  const auto [ties, worse] =
      std::equal_range(rows.begin(), rows.end(), kth, [&](RowId a, RowId b) { return compare(a, b) < 0; });
  std::vector<RowId> answer(rows.begin(), ties);
  const auto wanted = static_cast<std::ptrdiff_t>(problem.k - answer.size());
  switch (problem.ties) {
    case kernels::TieRule::all: answer.insert(answer.end(), ties, worse); break;
    case kernels::TieRule::last: answer.insert(answer.end(), worse - wanted, worse); break;
    case kernels::TieRule::first:
    case kernels::TieRule::any: answer.insert(answer.end(), ties, ties + wanted); break;
  }
  return answer;
}

}  // namespace skyrank::oracle
