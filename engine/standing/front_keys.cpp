#include "engine/standing/front_keys.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "engine/expression/evaluate.hpp"
#include "kernels/common/problem.hpp"

namespace skyrank::exec {
namespace {

constexpr std::uint64_t kNull = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t kNaN = kNull - 1;
constexpr std::uint64_t kSign = std::uint64_t{1} << 63;

std::uint64_t key_of(double value, bool high) {
  if (std::isnan(value)) return kNaN;
  const auto bits = std::bit_cast<std::uint64_t>(value == 0 ? 0.0 : high ? -value : value);
  return (bits & kSign) != 0 ? ~bits : bits | kSign;
}
std::uint64_t key_of(std::uint64_t value, bool high) { return high ? ~value : value; }
template <class T>
std::uint64_t key_of(T value, bool high) {
  return key_of(static_cast<std::uint64_t>(static_cast<std::int64_t>(value)) ^ kSign, high);
}

/// Returns true if no value of an expression has the key of NULL.
bool leaves_null(const query::BoundExpression& expression) {
  if (is_floating(expression.root->type.type) || expression.root->type.type == Type::boolean) return true;
  return expression.column >= 0 && width_in_bytes(expression.type.type) < 8;
}

bool has_key(Type type) { return type != Type::string && type != Type::decimal128; }

}  // namespace

std::optional<FrontKeys> FrontKeys::of(const query::BoundQuery& query) {
  const bool is_front = query.preference && !query.group && query.partition_columns.empty() &&
                        query.levels.value_or(1) == 1 && !query.at_least && query.skyband.value_or(1) == 1 &&
                        !query.distinct && !query.pick && query.measures.empty() && query.nan_rule == Missing::worst &&
                        query.null_rule == Missing::worst;
  if (!is_front) return std::nullopt;
  for (const query::BoundOutput& output : query.outputs) {
    if (output.kind == query::BoundOutput::Kind::level) return std::nullopt;
  }
  const query::BoundPreference& preference = *query.preference;
  using Kind = Preference::Kind;
  if (!preference.children.empty() && preference.kind != Kind::pareto) return std::nullopt;
  FrontKeys keys;
  keys.condition_ = query.condition;
  const auto add = [&](const query::BoundPreference& term) {
    const bool is_known = term.children.empty() && (term.kind == Kind::low || term.kind == Kind::high);
    if (!is_known || !has_key(term.expression.root->type.type)) return false;
    const bool high = (term.kind == Kind::high) != term.inverted;
    keys.terms_.push_back({term.expression, high, !leaves_null(term.expression)});
    keys.dims_ += keys.terms_.back().marks_null ? 2 : 1;
    return true;
  };
  const bool has_one = preference.children.empty();
  if (has_one ? !add(preference) : !std::ranges::all_of(preference.children, add)) return std::nullopt;
  return keys.dims_ <= static_cast<std::size_t>(kernels::kMaxDims) ? std::optional(std::move(keys)) : std::nullopt;
}

FrontKeyRows FrontKeys::of_rows(const Table& rows) const {
  FrontKeyRows made;
  const auto n = static_cast<std::size_t>(rows.num_rows());
  made.passes.assign(n, !condition_);
  made.keys.resize(n * dims_);
  kernels::Vector<RowId> passing;
  Rows all{rows.num_rows(), nullptr};
  if (condition_) {
    passing = filter(*condition_, rows, all);
    all = {std::ssize(passing), passing.data()};
    for (const RowId row : passing) made.passes[static_cast<std::size_t>(row)] = true;
  }
  std::size_t dim = 0;
  for (const Term& term : terms_) {
    const Column column = evaluate_all(term.expression, rows, all, "key");
    const auto fill = [&]<class T>(T) {
      const T* values = static_cast<const T*>(column.data().values);
      for (std::int64_t i = 0; i < column.size(); ++i) {
        std::uint64_t* const keys = made.keys.data() + static_cast<std::size_t>(all[i]) * dims_ + dim;
        const bool is_null = column.is_null(i);
        keys[0] = is_null ? kNull : key_of(values[i], term.high);
        if (term.marks_null) keys[1] = is_null ? 1 : 0;
      }
    };
    switch (column.type().type) {
      case Type::boolean: fill(std::uint8_t{}); break;
      case Type::date: fill(std::int32_t{}); break;
      case Type::uint64:  // narrow ones keep away from the key of NULL as signed integers do
        term.marks_null ? fill(std::uint64_t{}) : fill(std::int64_t{});
        break;
      case Type::float64: fill(double{}); break;
      default: fill(std::int64_t{});  // int64, decimal64 and timestamps
    }
    dim += term.marks_null ? 2 : 1;
  }
  return made;
}

}  // namespace skyrank::exec
