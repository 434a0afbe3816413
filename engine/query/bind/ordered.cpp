#include <cstddef>
#include <memory>
#include <utility>

#include "engine/column_traits.hpp"
#include "engine/query/bind/binding.hpp"
#include "engine/text.hpp"

// Comparisons of columns whose categories have an order, as tests of their texts.
namespace skyrank::query {
namespace {

using OrderPtr = std::shared_ptr<const exec::Categories>;

OrderPtr order_of_node(const BoundNode& node, const Schema& schema) {
  if (node.op != Op::column) return nullptr;
  return schema.fields[static_cast<std::size_t>(node.column)].order;
}

bool is_null_literal(const BoundNode& node) {
  return node.op == Op::literal && std::holds_alternative<Null>(node.value);
}

std::string listed(const exec::Categories& order) {
  constexpr std::size_t kMaxListed = 10;
  std::string text;
  for (std::size_t i = 0; i < order.texts().size(); ++i) {
    if (i == kMaxListed) return text + ", ...";
    text += (i == 0 ? "" : ", ") + order.texts()[i];
  }
  return text;
}

/// A comparison of operands of which one at least ranks by an order.
class Ordered {
 public:
  Ordered(const Schema& schema, const FailComparison& fail) : schema_(schema), fail_(fail) {}

  /// Finds the order of all operands; returns false where none has one.
  bool find_order(const std::vector<BoundPtr>& operands) {
    for (const BoundPtr& operand : operands) {
      const OrderPtr order = order_of_node(*operand, schema_);
      if (order == nullptr) continue;
      if (order_ == nullptr) name_ = schema_.fields[static_cast<std::size_t>(operand->column)].name;
      if (order_ != nullptr && order_->texts() != order->texts()) {
        fail_("columns whose categories have different orders cannot be compared by them");
      }
      order_ = order;
    }
    return order_ != nullptr;
  }

  /// Returns the place of an operand in the order, as a node.
  BoundPtr place_of(const BoundPtr& operand) const {
    if (is_null_literal(*operand)) return make_literal(Null{}, Type::int64);
    if (operand->op == Op::literal) return make_literal(static_cast<std::int64_t>(rank_of(*operand)), Type::int64);
    if (order_of_node(*operand, schema_) == nullptr) {
      fail_("column " + in_quotes(name_) + " compares by the order of its categories, " + listed(*order_) +
            "; a text that may be none of them has no place in it");
    }
    std::vector<BoundPtr> branches;
    for (std::size_t rank = 0; rank < order_->texts().size(); ++rank) {
      branches.push_back(make_node(Op::equal, Type::boolean, {operand, text(rank)}));
      branches.push_back(make_literal(static_cast<std::int64_t>(rank), Type::int64));
    }
    if (branches.empty()) return make_literal(Null{}, Type::int64);
    return make_node(Op::case_when, Type::int64, std::move(branches));
  }

  /// Returns the test for the texts with places from `begin` to before `end`.
  BoundPtr is_between(const BoundPtr& column, std::size_t begin, std::size_t end, bool negated) const {
    std::vector<BoundPtr> members = {column};
    const bool none = begin >= end;  // a test that is true for all texts, in the negative
    for (std::size_t rank = none ? 0 : begin; rank < (none ? size() : end); ++rank) members.push_back(text(rank));
    return make_node(Op::in, Type::boolean, std::move(members), negated != none);
  }

  std::size_t rank_of(const BoundNode& node) const {
    const auto& text = std::get<std::string>(node.value);
    const auto rank = order_->rank(text);
    if (!rank && order_->texts().empty()) {
      fail_("the order of the categories of " + in_quotes(name_) + " is not known before its rows are read");
    }
    if (!rank) {
      fail_(in_quotes(text) + " is no category of " + in_quotes(name_) + ", which compares by the order of its " +
            "categories: " + listed(*order_) + did_you_mean(text, order_->texts()));
    }
    return static_cast<std::size_t>(rank.value_or(0));
  }

  std::size_t size() const { return order_->texts().size(); }

 private:
  BoundPtr text(std::size_t rank) const { return make_literal(order_->texts()[rank], Type::string); }

  const Schema& schema_;
  const FailComparison& fail_;
  OrderPtr order_;
  std::string name_;
};

BoundPtr compared_with(const Ordered& ordered, Op op, const BoundPtr& column, std::size_t rank) {
  switch (op) {
    case Op::less: return ordered.is_between(column, 0, rank, false);
    case Op::less_equal: return ordered.is_between(column, 0, rank + 1, false);
    case Op::greater: return ordered.is_between(column, rank + 1, ordered.size(), false);
    default: return ordered.is_between(column, rank, ordered.size(), false);
  }
}

bool is_text(const BoundNode& node) {
  return node.op == Op::literal && std::holds_alternative<std::string>(node.value);
}

}  // namespace

bool has_order(const BoundNode& node, const Schema& schema) { return order_of_node(node, schema) != nullptr; }

BoundPtr ordered_comparison(Op op, const std::vector<BoundPtr>& operands, bool negated, const Schema& schema,
                            const FailComparison& fail) {
  if (op == Op::equal || op == Op::not_equal || op == Op::in) return nullptr;
  Ordered ordered(schema, fail);
  if (!ordered.find_order(operands)) return nullptr;
  const BoundPtr& first = operands[0];
  const BoundPtr& second = operands[1];
  if (op == Op::between && has_order(*first, schema) && is_text(*second) && is_text(*operands[2])) {
    return ordered.is_between(first, ordered.rank_of(*second), ordered.rank_of(*operands[2]) + 1, negated);
  }
  if (op != Op::between && is_text(*second)) return compared_with(ordered, op, first, ordered.rank_of(*second));
  if (op != Op::between && is_text(*first)) {
    return compared_with(ordered, exchanged(op), second, ordered.rank_of(*first));
  }
  std::vector<BoundPtr> places;
  for (const BoundPtr& operand : operands) places.push_back(ordered.place_of(operand));
  return make_node(op, Type::boolean, std::move(places), negated);
}

}  // namespace skyrank::query
