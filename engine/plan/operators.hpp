#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/plan/kernel_path.hpp"
#include "planner/facts/cardinality.hpp"

// The operators of a plan: their kinds, names and order.
namespace skyrank::exec {

/// The kinds of operators. A plan has at most one of each kind, but a skyline for each step of its preference.
enum class OperatorKind : std::uint8_t {
  scan,
  filter,
  skyline_prefix,  ///< the selection of rows by the ranking, before a skyline
  group,
  missing,  ///< `nan` and `nulls` other than worst
  partition,
  skyline_keys,
  skyline,
  skyband,  ///< instead of a skyline
  measure,
  pick,
  rank_keys,
  top_k,
  sort,
  limit,
  gather,
};

/// Returns the name of a kind of operator, as in PlanNode::op.
constexpr std::string_view name_of(OperatorKind kind) {
  switch (kind) {
    case OperatorKind::scan: return "scan";
    case OperatorKind::filter: return "filter";
    case OperatorKind::group: return "group";
    case OperatorKind::missing: return "missing";
    case OperatorKind::partition: return "partition";
    case OperatorKind::skyline_keys:
    case OperatorKind::rank_keys: return "keys";
    case OperatorKind::skyline: return "skyline";
    case OperatorKind::skyband: return "skyband";
    case OperatorKind::measure: return "measure";
    case OperatorKind::pick: return "pick";
    case OperatorKind::skyline_prefix:
    case OperatorKind::top_k: return "top-k";
    case OperatorKind::sort: return "sort";
    case OperatorKind::limit: return "limit";
    case OperatorKind::gather: break;
  }
  return "gather";
}

/// The expected output and cost of an operator.
struct Estimate {
  planner::Cardinality rows = {};  ///< rows that it gives
  double ms = 0;                   ///< its own time
  double bytes = 0;                ///< temporary memory
};

/// An operator of a plan.
struct Operator {
  OperatorKind kind = OperatorKind::scan;
  std::string detail;  ///< the parts of the query that it works on, in its words
  Estimate estimate = {};
  std::size_t step = 0;                        ///< step of the preference, for a skyline
  std::optional<kernels::Device> device = {};  ///< device of an operator without a choice of kernels
  std::optional<PathDescription> path = {};    ///< the kernel's path for the estimated sizes, once chosen
  std::vector<std::pair<std::string, double>> statistics = {};  ///< sampled values behind the estimate
  std::string note = {};                                        ///< a remark for explain
  std::string fallback = {};  ///< runs instead where the guess behind it turns out wrong, for explain
};

/// The operators of a query, from its input to its answer. Those that a query does not need are absent.
struct Operators {
  Operator scan;
  std::optional<Operator> filter;
  std::optional<Operator> skyline_prefix;  ///< instead of the filter
  bool filter_last = false;                ///< the filter comes after the skyline
  std::optional<Operator> group;
  std::optional<Operator> having;  ///< a filter of the groups
  std::optional<Operator> missing;
  std::optional<Operator> partition;
  std::optional<Operator> skyline_keys;
  std::vector<Operator> skyline;  ///< one for each step of the preference, or a skyband
  std::optional<Operator> measure;
  std::optional<Operator> pick;  ///< chooses a few rows of the skyline
  std::optional<Operator> rank_keys;
  std::optional<Operator> order;  ///< a top-k, a sort or, without a ranking, a limit
  Operator gather;

  /// Returns them in the order in which they run; those after a fallback if `fell_back`.
  std::vector<const Operator*> in_order(bool fell_back = false) const {
    std::vector<const Operator*> ops{&scan};
    const auto add_if = [&](const std::optional<Operator>& op) {
      if (op) ops.push_back(&*op);
    };
    const bool selects = skyline_prefix && !fell_back;
    if (!filter_last) add_if(selects ? skyline_prefix : filter);
    add_if(group);
    add_if(having);
    add_if(missing);
    add_if(partition);
    add_if(skyline_keys);
    for (const Operator& step : skyline) ops.push_back(&step);
    if (filter_last) add_if(filter);
    add_if(measure);
    add_if(pick);
    add_if(rank_keys);
    add_if(order);
    ops.push_back(&gather);
    return ops;
  }
};

/// Returns an operator that gives `rows` rows.
inline Operator make_operator(OperatorKind kind, std::string detail, const planner::Cardinality& rows) {
  return {.kind = kind, .detail = std::move(detail), .estimate = {.rows = rows}};
}

}  // namespace skyrank::exec
