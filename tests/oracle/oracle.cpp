#include "tests/oracle/oracle.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace skyrank::oracle {
namespace {

using kernels::OrderNode;
using kernels::SkylineProblem;

/// The keys of all columns as 64-bit integers, row after row.
class Rows {
 public:
  Rows(std::span<const kernels::KeyColumn> columns, std::size_t n) : width_(columns.size()), keys_(n * columns.size()) {
    for (std::size_t c = 0; c < width_; ++c) {
      for (std::size_t row = 0; row < n; ++row) keys_[row * width_ + c] = key_at(columns[c], row);
    }
  }

  /// The keys of one row.
  const std::uint64_t* operator[](std::size_t row) const { return keys_.data() + row * width_; }

 private:
  std::size_t width_;
  std::vector<std::uint64_t> keys_;
};

bool node_equal(std::span<const OrderNode> order, std::size_t node, const std::uint64_t* a, const std::uint64_t* b) {
  const OrderNode& it = order[node];
  if (it.kind == OrderNode::Kind::key) return a[it.first] == b[it.first];
  for (std::size_t child = it.first; child < it.first + it.count; ++child) {
    if (!node_equal(order, child, a, b)) return false;
  }
  return true;
}

/// Returns true if row a is better than row b by this node, in the words of the definition of each kind of node.
bool node_better(std::span<const OrderNode> order, std::size_t node, const std::uint64_t* a, const std::uint64_t* b) {
  const OrderNode& it = order[node];
  switch (it.kind) {
    case OrderNode::Kind::key: return a[it.first] < b[it.first];
    case OrderNode::Kind::prior:
      for (std::size_t child = it.first; child < it.first + it.count; ++child) {
        if (!node_equal(order, child, a, b)) return node_better(order, child, a, b);
      }
      return false;
    case OrderNode::Kind::pareto: break;
  }
  bool somewhere = false;
  for (std::size_t child = it.first; child < it.first + it.count; ++child) {
    if (node_better(order, child, a, b)) {
      somewhere = true;
    } else if (!node_equal(order, child, a, b)) {
      return false;
    }
  }
  return somewhere;
}

/// Returns true if row a is nowhere greater than row b and somewhere smaller.
bool pareto_better(std::size_t columns, const std::uint64_t* a, const std::uint64_t* b) {
  bool smaller_somewhere = false;
  for (std::size_t c = 0; c < columns; ++c) {
    if (a[c] > b[c]) return false;
    if (a[c] < b[c]) smaller_somewhere = true;
  }
  return smaller_somewhere;
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

std::function<bool(std::size_t j, std::size_t i)> dominance(const SkylineProblem& problem) {
  return [rows = Rows(problem.keys, problem.n), order = problem.order, columns = problem.keys.size()](std::size_t j,
                                                                                                      std::size_t i) {
    return order.empty() ? pareto_better(columns, rows[j], rows[i]) : node_better(order, 0, rows[j], rows[i]);
  };
}

std::vector<RowId> skyline(const SkylineProblem& problem) {
  const Rows rows(problem.keys, problem.n);
  if (!problem.order.empty()) {
    return skyline(problem.n,
                   [&](std::size_t j, std::size_t i) { return node_better(problem.order, 0, rows[j], rows[i]); });
  }
  return skyline(problem.n,
                 [&](std::size_t j, std::size_t i) { return pareto_better(problem.keys.size(), rows[j], rows[i]); });
}

std::vector<RowId> topk(const kernels::TopKProblem& problem) {
  const Rows keys(problem.keys, problem.n);
  const auto compare = [&keys, columns = problem.keys.size()](RowId a, RowId b) {
    const std::uint64_t* const x = keys[static_cast<std::size_t>(a)];
    const std::uint64_t* const y = keys[static_cast<std::size_t>(b)];
    for (std::size_t c = 0; c < columns; ++c) {
      if (x[c] != y[c]) return x[c] < y[c] ? -1 : 1;
    }
    return 0;
  };
  const auto is_better = [&](RowId a, RowId b) { return compare(a, b) < 0; };
  std::vector<RowId> rows(problem.n);
  std::iota(rows.begin(), rows.end(), RowId{0});
  if (problem.k == 0) return {};
  if (problem.k >= problem.n) {
    std::stable_sort(rows.begin(), rows.end(), is_better);
    return rows;
  }

  // Rows better than the k-th are in; of those equal to it, the tie rule takes some.
  std::nth_element(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(problem.k - 1), rows.end(), is_better);
  const RowId kth = rows[problem.k - 1];
  std::vector<RowId> answer;
  std::vector<RowId> ties;
  for (RowId row = 0; row < static_cast<RowId>(problem.n); ++row) {
    const int order = compare(row, kth);
    if (order < 0) answer.push_back(row);
    if (order == 0) ties.push_back(row);
  }
  std::stable_sort(answer.begin(), answer.end(), is_better);
  const auto wanted = static_cast<std::ptrdiff_t>(problem.k - answer.size());
  switch (problem.ties) {
    case kernels::TieRule::all: answer.insert(answer.end(), ties.begin(), ties.end()); break;
    case kernels::TieRule::last: answer.insert(answer.end(), ties.end() - wanted, ties.end()); break;
    case kernels::TieRule::first:
    case kernels::TieRule::any: answer.insert(answer.end(), ties.begin(), ties.begin() + wanted); break;
  }
  return answer;
}

}  // namespace skyrank::oracle
