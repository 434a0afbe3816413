#include "engine/parts/prune.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "engine/expression/evaluate.hpp"

// The condition over rows becomes one over units, which is evaluated like any other. It is true for each unit in which
// the first may be true for a row: `x < 5` becomes `has_values and (min is null or min < 5)` over a table that has the
// statistics of a unit in each row. So bounds are compared exactly as values are.
namespace skyrank::exec {

query::BoundPtr make_condition(query::Op op, std::vector<query::BoundPtr> operands) {
  query::BoundNode node;
  node.op = op;
  node.type = Type::boolean;
  node.children = std::move(operands);
  return std::make_shared<const query::BoundNode>(std::move(node));
}

namespace {

using query::BoundNode;
using query::BoundPtr;
using query::Op;

BoundPtr always() {
  BoundNode node;
  node.type = Type::boolean;
  node.value = true;
  return std::make_shared<const BoundNode>(std::move(node));
}

BoundPtr both(BoundPtr a, BoundPtr b) { return make_condition(Op::logical_and, {std::move(a), std::move(b)}); }
BoundPtr either(BoundPtr a, BoundPtr b) { return make_condition(Op::logical_or, {std::move(a), std::move(b)}); }

/// The other comparison that says the same with its operands exchanged.
Op exchanged(Op op) {
  switch (op) {
    case Op::less: return Op::greater;
    case Op::less_equal: return Op::greater_equal;
    case Op::greater: return Op::less;
    case Op::greater_equal: return Op::less_equal;
    default: return op;
  }
}

bool is_comparison(Op op) { return op >= Op::equal && op <= Op::greater_equal; }

/// Returns true if an expression has a value for every row. Floats follow IEEE 754; integers may overflow.
bool cannot_fail(const BoundNode& node) {
  const bool calculates =
      ((node.op >= Op::negate && node.op <= Op::modulo) || (node.op >= Op::abs && node.op <= Op::ceil)) &&
      node.type.type != Type::float64;
  return !calculates && std::ranges::all_of(node.children, [](const BoundPtr& child) { return cannot_fail(*child); });
}

}  // namespace

/// Statistics of the columns that conditions name, as a table with one row a unit.
class UnitPruner::Statistics {
 public:
  explicit Statistics(const Source& source) : source_(source) {}

  /// Places of a column's statistics in the table.
  struct Places {
    int min = 0;
    int max = 0;
    int has_values = 0;  // false if all rows of the unit are known to be NULL
    int has_nulls = 0;   // false if no row of the unit is known to be NULL
  };

  /// Nothing where the source does not know anything.
  std::optional<Places> find(int column) {
    if (const auto known = places_.find(column); known != places_.end()) return known->second;
    std::optional<Places> places;
    if (auto statistics = source_.statistics(column)) places = add(*statistics);
    return places_.emplace(column, places).first->second;
  }

  const std::vector<std::string>& names() const { return names_; }
  Table table() const { return Table(columns_); }

 private:
  Places add(const UnitStatistics& statistics) {
    std::vector<bool> has_values;
    std::vector<bool> has_nulls;
    for (std::size_t unit = 0; unit < source_.units().size(); ++unit) {
      const auto& nulls = statistics.nulls[unit];
      has_values.push_back(!nulls || *nulls < source_.units()[unit].rows);
      has_nulls.push_back(!nulls || *nulls > 0);
    }
    names_.push_back(statistics.min.name());
    Places places;
    places.min = append(statistics.min);
    places.max = append(statistics.max);
    places.has_values = append(Column::own("", has_values));
    places.has_nulls = append(Column::own("", has_nulls));
    return places;
  }

  int append(const Column& column) {
    columns_.push_back(column.renamed(std::to_string(columns_.size())));
    return static_cast<int>(columns_.size()) - 1;
  }

  const Source& source_;
  std::map<int, std::optional<Places>> places_;
  std::vector<Column> columns_;
  std::vector<std::string> names_;
};

namespace {

/// Makes the condition over units.
template <class Statistics>
class UnitCondition {
 public:
  explicit UnitCondition(Statistics& statistics) : statistics_(statistics) {}

  /// True for each unit that may have a row for which `node` is true.
  BoundPtr may_be_true(const BoundNode& node) {
    switch (node.op) {
      case Op::logical_and:
      case Op::logical_or: {
        std::vector<BoundPtr> children;
        for (const BoundPtr& child : node.children) children.push_back(may_be_true(*child));
        return make_condition(node.op, std::move(children));
      }
      case Op::in: return node.negated ? has_values(*node.children.front()) : is_member(node);
      case Op::between: return node.negated ? has_values(*node.children.front()) : is_between(node);
      case Op::is_null: return node.negated ? has_values(*node.children.front()) : has_nulls(*node.children.front());
      default: return is_comparison(node.op) ? compared(node) : always();
    }
  }

 private:
  using Places = typename Statistics::Places;

  std::optional<Places> find(const BoundNode& operand) {
    return operand.op == Op::column ? statistics_.find(operand.column) : std::nullopt;
  }

  BoundPtr compared(const BoundNode& node) {
    const BoundPtr& left = node.children[0];
    const BoundPtr& right = node.children[1];
    if (right->op == Op::literal) return compared(*left, node.op, right);
    if (left->op == Op::literal) return compared(*right, exchanged(node.op), left);
    return always();
  }

  BoundPtr compared(const BoundNode& operand, Op op, const BoundPtr& literal) {
    const auto places = find(operand);
    if (!places) return always();
    BoundPtr possible = flag(places->has_values);
    if (op == Op::less || op == Op::less_equal) return both(possible, bound(operand, places->min, op, literal));
    if (op == Op::greater || op == Op::greater_equal) return both(possible, bound(operand, places->max, op, literal));
    return op == Op::equal ? both(possible, inside(operand, *places, literal, literal)) : possible;
  }

  BoundPtr is_between(const BoundNode& node) {
    const BoundNode& operand = *node.children[0];
    const auto places = find(operand);
    if (!places || node.children[1]->op != Op::literal || node.children[2]->op != Op::literal) return always();
    return both(flag(places->has_values), inside(operand, *places, node.children[1], node.children[2]));
  }

  BoundPtr is_member(const BoundNode& node) {
    const BoundNode& operand = *node.children[0];
    const auto places = find(operand);
    const std::span<const BoundPtr> members = std::span(node.children).subspan(1);
    const bool constant = std::ranges::all_of(members, [](const BoundPtr& it) { return it->op == Op::literal; });
    if (!places || !constant || members.empty()) return always();
    return both(flag(places->has_values), is_any(operand, *places, members));
  }

  /// A tree of little height, as lists may be long.
  BoundPtr is_any(const BoundNode& operand, const Places& places, std::span<const BoundPtr> members) {
    if (members.size() == 1) return inside(operand, places, members.front(), members.front());
    const std::size_t half = members.size() / 2;
    return either(is_any(operand, places, members.first(half)), is_any(operand, places, members.subspan(half)));
  }

  /// True where a value from `lower` to `upper` may be.
  static BoundPtr inside(const BoundNode& operand, const Places& places, const BoundPtr& lower, const BoundPtr& upper) {
    return both(bound(operand, places.min, Op::less_equal, upper),
                bound(operand, places.max, Op::greater_equal, lower));
  }

  static BoundPtr bound(const BoundNode& operand, int column, Op op, const BoundPtr& literal) {
    const BoundPtr value = moved(operand, column);
    return either(make_condition(Op::is_null, {value}), make_condition(op, {value, literal}));
  }

  BoundPtr has_values(const BoundNode& operand) {
    const auto places = find(operand);
    return places ? flag(places->has_values) : always();
  }

  BoundPtr has_nulls(const BoundNode& operand) {
    const auto places = find(operand);
    return places ? flag(places->has_nulls) : always();
  }

  static BoundPtr moved(BoundNode operand, int column) {
    operand.column = column;
    return std::make_shared<const BoundNode>(std::move(operand));
  }

  static BoundPtr flag(int column) {
    BoundNode node;
    node.op = Op::column;
    node.type = Type::boolean;
    node.column = column;
    return std::make_shared<const BoundNode>(std::move(node));
  }

  Statistics& statistics_;
};

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

}  // namespace

std::vector<std::size_t> all_units(const Source& source) {
  std::vector<std::size_t> units(source.units().size());
  std::iota(units.begin(), units.end(), std::size_t{0});
  return units;
}

UnitPruner::UnitPruner(const Source& source) : source_(source), statistics_(std::make_unique<Statistics>(source)) {}

UnitPruner::~UnitPruner() = default;

UnitsToRead UnitPruner::units_with(const query::BoundExpression& condition) {
  if (!cannot_fail(*condition.root)) return {all_units(source_), "the condition can fail, and the row is to be named"};
  query::BoundExpression over_units;
  over_units.type = Type::boolean;
  over_units.root = UnitCondition(*statistics_).may_be_true(*condition.root);
  const std::string names = joined(statistics_->names());
  if (names.empty()) return {all_units(source_), "there are no statistics of the condition's columns"};
  const auto count = static_cast<std::int64_t>(source_.units().size());
  const Vector<RowId> kept = filter(over_units, statistics_->table(), Rows{count});
  return {{kept.begin(), kept.end()}, "by the statistics of " + names};
}

}  // namespace skyrank::exec
