#include "engine/device/scan.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "engine/device/translate.hpp"
#include "engine/expression/lowering/compile_steps.hpp"
#include "engine/expression/patterns.hpp"
#include "engine/expression/program.hpp"

namespace skyrank::exec {

using kernels::ColumnScan;
using query::Op;

namespace {

/// The values that a conjunction lets through of one column.
struct Bounds {
  double lowest = -std::numeric_limits<double>::infinity();
  double highest = std::numeric_limits<double>::infinity();
  std::int64_t lowest_integer = std::numeric_limits<std::int64_t>::min();
  std::int64_t highest_integer = std::numeric_limits<std::int64_t>::max();

  void nothing() {
    lowest = 1;
    highest = 0;
    lowest_integer = 1;
    highest_integer = 0;
  }
};

void bound_below(Bounds& bounds, double value, bool exclusive) {
  const double least = exclusive ? std::nextafter(value, std::numeric_limits<double>::infinity()) : value;
  if (std::isnan(value) || (exclusive && std::isinf(value) && value > 0)) return bounds.nothing();
  bounds.lowest = std::max(bounds.lowest, least);
}

void bound_above(Bounds& bounds, double value, bool exclusive) {
  const double most = exclusive ? std::nextafter(value, -std::numeric_limits<double>::infinity()) : value;
  if (std::isnan(value) || (exclusive && std::isinf(value) && value < 0)) return bounds.nothing();
  bounds.highest = std::min(bounds.highest, most);
}

void bound_below(Bounds& bounds, std::int64_t value, bool exclusive) {
  if (exclusive && value == std::numeric_limits<std::int64_t>::max()) return bounds.nothing();
  bounds.lowest_integer = std::max(bounds.lowest_integer, value + (exclusive ? 1 : 0));
}

void bound_above(Bounds& bounds, std::int64_t value, bool exclusive) {
  if (exclusive && value == std::numeric_limits<std::int64_t>::min()) return bounds.nothing();
  bounds.highest_integer = std::min(bounds.highest_integer, value - (exclusive ? 1 : 0));
}

/// A scan while it is put together.
class Matcher {
 public:
  Matcher(DeviceQueryState& device_state, const Table& table) : device_state_(device_state), table_(table) {}

  std::optional<ColumnScan> run(const query::BoundQuery& query) {
    const query::BoundRankTerm& term = query.ranking.front();
    scan_.high = term.high;
    scan_.as_it_is = term.expression.column >= 0;
    const std::vector<WeightedColumn> terms = scan_.as_it_is ? std::vector<WeightedColumn>{{term.expression.column, 1}}
                                                             : weighted_numbers(lower(*term.expression.root), table_);
    if (terms.empty() || terms.size() > ColumnScan::kMaxColumns) return std::nullopt;
    for (const WeightedColumn& weighted : terms) {
      const ColumnData& data = table_.column(weighted.column).data();
      if (!is_readable(data) || place_of(data) >= 0) return std::nullopt;
      scan_.weights[scan_.terms++] = weighted.weight;
      add(data);
    }
    if (query.condition) {
      const Ir condition = lower(*query.condition->root);
      if (!restrict_by(condition, condition.root())) return std::nullopt;
    }
    for (int c = 0; c < scan_.count; ++c) add_column(c);
    return scan_;
  }

 private:
  int place_of(const ColumnData& column) const {
    for (int c = 0; c < scan_.count; ++c) {
      const ColumnData& known = *columns_[c];
      const bool same_nulls =
          known.validity.bits == column.validity.bits && known.validity.offset == column.validity.offset;
      const bool same_values =
          known.values == column.values && known.stride == column.stride && known.type == column.type;
      if (same_values && same_nulls) return c;
    }
    return -1;
  }

  int add(const ColumnData& column) {
    columns_[scan_.count] = &column;
    return scan_.count++;
  }

  static bool is_readable(const ColumnData& column) {
    if (column.layout != Layout::plain || column.validity.offset % 4 != 0) return false;
    switch (column.type.type) {
      case Type::float32:
      case Type::float64:
      case Type::int32:
      case Type::int64:
      case Type::decimal64:
      case Type::date:
      case Type::timestamp: return true;
      default: break;
    }
    return false;
  }

  /// The place of a column that a condition is about; -1 where a scan cannot read it.
  int filtered(const ColumnData& column) {
    if (!is_readable(column)) return -1;
    const int place = place_of(column);
    if (place >= 0) return place;
    return scan_.count < ColumnScan::kMaxColumns ? add(column) : -1;
  }

  /// Adds a condition to the bounds. Returns false unless it is a conjunction of bounds.
  bool restrict_by(const Ir& ir, const Operation& condition) {
    if (condition.op == Op::logical_and) {
      bool all = true;
      for (std::size_t i = 0; i < condition.operands.size(); ++i) {
        all = all && restrict_by(ir, ir.operand(condition, i));
      }
      return all;
    }
    const auto test = column_test(ir, condition);
    if (!test) return false;
    switch (test->op) {
      case Op::is_null: return ask_for_null(*test->column, !test->negated);
      case Op::between:
        return !test->negated && bound(*test->column, Op::greater_equal, *test->lower) &&
               bound(*test->column, Op::less_equal, *test->upper);
      case Op::equal:
      case Op::less:
      case Op::less_equal:
      case Op::greater:
      case Op::greater_equal: return bound(*test->column, test->op, *test->lower);
      default: return false;
    }
  }

  bool bound(const Operation& column, Op op, const Operation& literal) {
    if (column.type != literal.type) return false;
    const int place = filtered(table_.column(column.column).data());
    if (place < 0) return false;
    filtered_[place] = true;
    Bounds& bounds = bounds_[place];
    if (is_null_literal(literal)) {
      bounds.nothing();
      return true;
    }
    return std::visit(
        [&]<class T>(const T& value) {
          if constexpr (std::is_same_v<T, double> || std::is_same_v<T, std::int64_t>) {
            if (op != Op::less && op != Op::less_equal) bound_below(bounds, value, op == Op::greater);
            if (op != Op::greater && op != Op::greater_equal) bound_above(bounds, value, op == Op::less);
            return true;
          }
          return false;
        },
        literal.constant->stored);
  }

  bool ask_for_null(const Operation& column, bool wanted) {
    using Nulls = kernels::ScannedColumn::Nulls;
    const ColumnData& data = table_.column(column.column).data();
    const int place = filtered(data);
    if (place < 0) return false;
    const Nulls nulls = wanted ? Nulls::only : Nulls::never;
    const bool has_some = data.validity.bits != nullptr;
    if (wanted && (!has_some || nulls_[place] == Nulls::never)) {
      filtered_[place] = true;
      bounds_[place].nothing();
    } else if (nulls_[place] == Nulls::only && !wanted) {
      filtered_[place] = true;
    } else {
      nulls_[place] = nulls;
    }
    return true;
  }

  void add_column(int c) {
    const kernels::StoredColumn& there = device_state_.column(*columns_[c]);
    const Bounds& bounds = bounds_[c];
    scan_.columns[c] = {.values = there.values,
                        .stored = there.stored,
                        .validity = there.validity,
                        .first_validity_bit = there.first_validity_bit,
                        .nulls = nulls_[c],
                        .filtered = filtered_[c],
                        .lowest = bounds.lowest,
                        .highest = bounds.highest,
                        .lowest_integer = bounds.lowest_integer,
                        .highest_integer = bounds.highest_integer};
  }

  DeviceQueryState& device_state_;
  const Table& table_;
  ColumnScan scan_;
  const ColumnData* columns_[ColumnScan::kMaxColumns] = {};
  Bounds bounds_[ColumnScan::kMaxColumns];
  bool filtered_[ColumnScan::kMaxColumns] = {};
  kernels::ScannedColumn::Nulls nulls_[ColumnScan::kMaxColumns] = {};
};

std::optional<kernels::cuda::expression::ComputedScan> match_programs(DeviceQueryState& device_state,
                                                                      const query::BoundQuery& query,
                                                                      const Table& table) {
  const query::BoundRankTerm& term = query.ranking.front();
  if (term.expression.root->type.type == Type::string) return std::nullopt;
  auto score = translate(device_state, *compile(term.expression, table));
  if (!score) return std::nullopt;
  std::optional<kernels::cuda::expression::DeviceExpression> condition;
  if (query.condition) {
    condition = translate(device_state, *compile(*query.condition, table));
    if (!condition) return std::nullopt;
  }
  return compile_scan(std::move(*score), condition, term.high);
}

}  // namespace

DeviceScan match_scan(DeviceQueryState& device_state, const query::BoundQuery& query, const Table& table) {
  DeviceScan scan{.columns = Matcher(device_state, table).run(query), .computed = std::nullopt};
  if (!scan.columns) scan.computed = match_programs(device_state, query, table);
  return scan;
}

}  // namespace skyrank::exec
