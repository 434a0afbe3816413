#include <gtest/gtest.h>

#include <map>
#include <random>

#include "tests/semantics/paths.hpp"
#include "tests/semantics/tables.hpp"

// Random tables of all types with NaN, NULL and extremes, and random queries over them, against the reference.
namespace skyrank {
namespace {

/// A condition as text for the engine and as a function for the reference.
using Conditions = std::map<std::string, std::function<Value(RowId)>>;

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed) {}

  std::int64_t below(std::int64_t bound) { return std::uniform_int_distribution<std::int64_t>(0, bound - 1)(random_); }
  bool chance(int percent) { return below(100) < percent; }
  template <class T>
  const T& one_of(const std::vector<T>& items) {
    return items[static_cast<std::size_t>(below(static_cast<std::int64_t>(items.size())))];
  }

  Table table() {
    const std::int64_t n = chance(10) ? below(3) : chance(10) ? 100 + below(200) : below(40);
    null_percent_ = chance(50) ? 0 : 10;
    std::vector<Column> columns;
    for (const DataType type : preference_types()) {
      columns.push_back(random_column(type, "c" + std::to_string(columns.size()), n));
    }
    columns.push_back(string_column("s", n));
    return Table(std::move(columns));
  }

  Query query(const Table& table, Conditions& conditions) {
    Query query = Query::from("t");
    if (chance(40)) query.where(condition(table, conditions));
    for (std::int64_t i = chance(30) ? 1 + below(2) : 0; i > 0; --i) {
      const auto& name = table.column(static_cast<int>(below(table.num_columns()))).name();
      const Expression column = Expression::column(name);
      if (query.partition_columns != std::vector{column}) query.partition_columns.push_back(column);
    }
    const bool prefer = chance(70);
    if (prefer) add_preference(query, table, conditions);
    for (std::int64_t i = prefer ? below(3) : 1 + below(3); i > 0; --i) {
      query.ranking.emplace_back(key_column(table), chance(50));
    }
    if (chance(60)) query.limit(chance(20) ? below(3) : below(2 * table.num_rows() + 1));
    if (chance(30)) query.offset(below(10));
    query.ties(one_of<Ties>({Ties::first, Ties::last, Ties::all}));
    if (chance(20)) query.nan(Missing::exclude);
    if (chance(20)) query.nulls(Missing::exclude);
    return query;
  }

 private:
  Column random_column(DataType type, std::string name, std::int64_t n) {
    if (type.type == Type::int64 && chance(50))
      return wide<std::int64_t>(std::move(name), n, {kMinInt64, kMaxInt64, -1, 0});
    if (type.type == Type::uint64 && chance(50))
      return wide<std::uint64_t>(std::move(name), n, {kMaxUint64, kMaxUint64 - 1, 0});
    if (type.type == Type::float64)
      return wide<double>(std::move(name), n, {kNaN, kInfinity, -kInfinity, -0.0, 0.0, 1, 2.5, -1e300});
    if (type.type == Type::float32) {
      return wide<float>(std::move(name), n,
                         {std::numeric_limits<float>::quiet_NaN(), -0.0F, 0.0F, 0.1F, 3.0F, 1e-40F});
    }
    const bool is_signed = is_signed_integer(type.type) || is_temporal(type.type) || type.type == Type::float16;
    std::vector<std::optional<int>> cells;
    const std::int64_t values = type.type == Type::boolean ? 2 : 1 + below(8);
    for (std::int64_t i = 0; i < n; ++i) {
      const auto value = static_cast<int>(below(values)) - (is_signed ? 3 : 0);
      cells.push_back(chance(null_percent_) ? std::nullopt : std::optional(value));
    }
    return column_of(type, std::move(name), cells);
  }

  template <class T>
  Column wide(std::string name, std::int64_t n, const std::vector<T>& values) {
    std::vector<std::optional<T>> cells;
    for (std::int64_t i = 0; i < n; ++i) {
      cells.push_back(chance(null_percent_) ? std::nullopt : std::optional<T>(one_of(values)));
    }
    return column(std::move(name), cells);
  }

  Column string_column(std::string name, std::int64_t n) {
    std::vector<std::string> values;
    std::vector<bool> valid;
    for (std::int64_t i = 0; i < n; ++i) {
      values.push_back(one_of<std::string>({"", "a", "b", "ab", "c"}));
      valid.push_back(!chance(null_percent_));
    }
    return Column::own(std::move(name), values, valid);
  }

  Expression key_column(const Table& table) {
    return Expression::column(table.column(static_cast<int>(below(table.num_columns() - 1))).name());
  }

  /// An integer column compared with a small number, or a string with another.
  Expression condition(const Table& table, Conditions& conditions) {
    const std::vector<std::string> integers{"c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8"};
    if (chance(30)) {
      const std::string word = one_of<std::string>({"", "a", "b"});
      const Expression expression("s != '" + word + "'");
      conditions[expression.text()] = [&table, word](RowId row) -> Value {
        const Value value = table.column("s").value(row);
        if (std::holds_alternative<Null>(value)) return Null{};
        return value != Value(word);
      };
      return expression;
    }
    const std::string name = one_of(integers);
    const std::int64_t limit = below(4);
    const Expression expression(name + " <= " + std::to_string(limit) + (chance(20) ? " or " + name + " is null" : ""));
    const bool or_null = expression.text().find("null") != std::string::npos;
    conditions[expression.text()] = [&table, name, limit, or_null](RowId row) -> Value {
      const Value value = table.column(name).value(row);
      if (std::holds_alternative<Null>(value)) return or_null ? Value(true) : Value(Null{});
      return reference::compare(value, Value(limit)) <= 0;
    };
    return expression;
  }

  void add_preference(Query& query, const Table& table, Conditions& conditions) {
    query.prefer(preference(table, conditions, 3));
    if (chance(20)) query.distinct();
    if (chance(20)) {
      query.levels(1 + below(4));
    } else if (chance(20)) {
      query.at_least(below(20));
    }
  }

  Preference preference(const Table& table, Conditions& conditions, int depth) {
    if (depth == 0 || chance(25)) return term(table, conditions);
    if (chance(10)) return inverse(preference(table, conditions, depth - 1));
    std::vector<Preference> children;
    for (std::int64_t i = 1 + below(3); i > 0; --i) children.push_back(preference(table, conditions, depth - 1));
    return chance(50) ? pareto(std::move(children)) : prior(std::move(children));
  }

  Preference term(const Table& table, Conditions& conditions) {
    if (chance(10)) return where(condition(table, conditions));
    if (chance(10)) return in("s", {{std::string("b")}, {std::string("a"), std::string("")}});
    const Column& column = table.column(static_cast<int>(below(table.num_columns() - 1)));
    const Expression expression = Expression::column(column.name());
    const Type type = column.type().type;
    if (chance(30) && is_numeric(type)) {
      if (is_integer(type) && chance(30)) return around(expression, 0.5 + static_cast<double>(below(4)));
      if (chance(50)) return around(expression, below(4));
      const std::int64_t from = below(3);
      return between(expression, from, from + below(3));
    }
    if (chance(20) && is_integer(type)) return in(expression, {{std::int64_t{1}}, {std::int64_t{0}, std::int64_t{3}}});
    return chance(50) ? low(expression) : high(expression);
  }

  std::mt19937_64 random_;
  int null_percent_ = 0;
};

class RandomQueries : public testing::TestWithParam<std::uint64_t> {};

TEST_P(RandomQueries, AgreeWithTheReference) {
  constexpr std::uint64_t kQueries = 40;
  for (std::uint64_t i = 0; i < kQueries && !HasFailure(); ++i) {
    const std::uint64_t seed = GetParam() * kQueries + i;
    SCOPED_TRACE("seed " + std::to_string(seed));
    Generator generator(seed);
    const Table table = generator.table();
    Conditions conditions;
    const Query query = generator.query(table, conditions);
    expect_reference(query, table, [&](const Expression& expression, RowId row) {
      if (!expression.column_name().empty()) return table.column(expression.column_name()).value(row);
      return conditions.at(expression.text())(row);
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomQueries, testing::Range<std::uint64_t>(0, 25));

}  // namespace
}  // namespace skyrank
