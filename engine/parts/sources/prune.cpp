#include "engine/parts/sources/prune.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "engine/expression/evaluate.hpp"
#include "engine/expression/patterns.hpp"

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

query::BoundPtr make_column(DataType type, int column) {
  query::BoundNode node;
  node.op = query::Op::column;
  node.type = type;
  node.column = column;
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
  UnitCondition(const Ir& ir, Statistics& statistics) : ir_(ir), statistics_(statistics) {}

  /// True for each unit that may have a row for which `condition` is true.
  BoundPtr may_be_true(const Operation& condition) {
    if (condition.op == Op::logical_and || condition.op == Op::logical_or) {
      std::vector<BoundPtr> operands;
      for (std::size_t i = 0; i < condition.operands.size(); ++i) {
        operands.push_back(may_be_true(ir_.operand(condition, i)));
      }
      return make_condition(condition.op, std::move(operands));
    }
    const auto test = column_test(ir_, condition);
    const auto places = test ? statistics_.find(test->column->column) : std::nullopt;
    return places ? may_be_true(*test, *places) : always();
  }

 private:
  using Places = typename Statistics::Places;

  static BoundPtr may_be_true(const ColumnTest& test, const Places& places) {
    const DataType type = test.column->type;
    if (test.op == Op::is_null) return flag(test.negated ? places.has_values : places.has_nulls);
    BoundPtr possible = flag(places.has_values);
    if (test.negated) return possible;
    switch (test.op) {
      case Op::less:
      case Op::less_equal: return both(possible, bound(type, places.min, test.op, literal(*test.upper)));
      case Op::greater:
      case Op::greater_equal: return both(possible, bound(type, places.max, test.op, literal(*test.lower)));
      case Op::equal:
      case Op::between: return both(possible, inside(type, places, literal(*test.lower), literal(*test.upper)));
      case Op::in:
        return test.members->constants.empty() ? always()
                                               : both(possible, is_any(type, places, test.members->constants));
      default: return possible;
    }
  }

  /// A tree of little height, as lists may be long.
  static BoundPtr is_any(DataType type, const Places& places,
                         std::span<const std::shared_ptr<const Constant>> members) {
    if (members.size() == 1) {
      const BoundPtr member = literal(members.front()->value, type);
      return inside(type, places, member, member);
    }
    const std::size_t half = members.size() / 2;
    return either(is_any(type, places, members.first(half)), is_any(type, places, members.subspan(half)));
  }

  /// True where a value from `lower` to `upper` may be.
  static BoundPtr inside(DataType type, const Places& places, const BoundPtr& lower, const BoundPtr& upper) {
    return both(bound(type, places.min, Op::less_equal, upper), bound(type, places.max, Op::greater_equal, lower));
  }

  static BoundPtr bound(DataType type, int column, Op op, const BoundPtr& literal) {
    const BoundPtr value = make_column(type, column);
    return either(make_condition(Op::is_null, {value}), make_condition(op, {value, literal}));
  }

  static BoundPtr literal(const Operation& operation) { return literal(operation.constant->value, operation.type); }

  static BoundPtr literal(const Value& value, DataType type) {
    BoundNode node;
    node.type = type;
    node.value = value;
    return std::make_shared<const BoundNode>(std::move(node));
  }

  static BoundPtr flag(int column) { return make_column(Type::boolean, column); }

  const Ir& ir_;
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
  const Ir ir = lower(*condition.root);
  if (!never_fails(ir)) return {all_units(source_), "the condition can fail, and the row is to be named"};
  query::BoundExpression over_units;
  over_units.type = Type::boolean;
  over_units.root = UnitCondition(ir, *statistics_).may_be_true(ir.root());
  const std::string names = joined(statistics_->names());
  if (names.empty()) return {all_units(source_), "there are no statistics of the condition's columns"};
  const auto count = static_cast<std::int64_t>(source_.units().size());
  const Vector<RowId> kept = filter(over_units, statistics_->table(), Rows{count});
  return {{kept.begin(), kept.end()}, "by the statistics of " + names};
}

}  // namespace skyrank::exec
