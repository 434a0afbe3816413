#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/query/bound.hpp"

namespace skyrank::query {

/// Throws the error of a comparison that has no meaning, at its place.
using FailComparison = std::function<void(const std::string& message)>;

/// Returns a comparison (<, <=, >, >=, between) as it is by the order of the columns that it compares, in terms of what
/// needs no order: a test for the texts that are less, or a comparison of places in the order. Null where no operand is
/// a column that ranks by an order. Calls `fail` for texts that are not in the order, and for other orders.
BoundPtr ordered_comparison(Op op, const std::vector<BoundPtr>& operands, bool negated, const Schema& schema,
                            const FailComparison& fail);

/// Returns true if a node is a column that ranks by an order.
bool has_order(const BoundNode& node, const Schema& schema);

}  // namespace skyrank::query
