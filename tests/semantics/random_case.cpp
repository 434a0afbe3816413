#include "tests/semantics/random_case.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/semantics/tables.hpp"

namespace skyrank {
namespace {

using reference::Row;
using Formula = std::function<Value(const Row&)>;

bool is_null(const Value& value) { return std::holds_alternative<Null>(value); }

/// A column that expressions may name.
struct Field {
  std::string name;
  DataType type;
  bool small = false;  ///< integers that sums and products of a few do not overflow
};

/// An expression's text and its meaning.
struct Meaning {
  std::string text;
  Formula formula;
};

class Generator {
 public:
  Generator(std::uint64_t seed, bool large)
      : random_(seed), names_(seed), measures_(seed), words_(seed + 1), large_(large) {}

  RandomCase make() {
    make_table();
    Query& query = made_.query;
    query = Query::from("t");
    if (chance(40)) query.where(known(condition(2)));
    if (chance(15)) add_groups();
    std::vector<Field> partitions;
    for (std::int64_t i = chance(30) ? 1 + below(2) : 0; i > 0; --i) {
      const Field field = one_of(fields_);
      if (partitions.empty() || partitions.front().name != field.name) partitions.push_back(field);
    }
    const bool may_name = query.group_by().empty();
    std::vector<GroupKey> keys;
    for (Field& field : partitions) {
      keys.push_back(may_name ? named_key("p" + std::to_string(keys.size()), field)
                              : GroupKey(Expression::column(field.name)));
    }
    query.partition_by(std::move(keys));
    const bool prefer = made_.table.num_rows() <= kPreferRows && chance(70);
    if (prefer) add_preference();
    std::vector<RankTerm> ranking;
    for (std::int64_t i = prefer ? below(3) : 1 + below(3); i > 0; --i) ranking.emplace_back(key(), chance(50));
    if (!ranking.empty()) query.rank_by(std::move(ranking));
    if (chance(60)) query.limit(chance(50) ? below(20) : below(2 * made_.table.num_rows() + 1));
    if (chance(30)) query.offset(below(10));
    query.ties(one_of<Ties>({Ties::first, Ties::last, Ties::all}));
    if (chance(40)) query.nan(one_of<Missing>({Missing::exclude, Missing::best}));
    if (picks_ && query.nan() == Missing::best) query.nan(Missing::worst);
    if (chance(40)) query.nulls(one_of<Missing>({Missing::exclude, Missing::best}));
    if (chance(30)) add_selection();
    if (prefer && measure_below(100) < 30) add_measures();
    return std::move(made_);
  }

 private:
  static constexpr std::int64_t kPreferRows = 1500;  // beyond that the reference takes seconds

  std::int64_t below(std::int64_t bound) { return std::uniform_int_distribution<std::int64_t>(0, bound - 1)(random_); }
  bool chance(int percent) { return below(100) < percent; }
  template <class T>
  const T& one_of(const std::vector<T>& items) {
    return items[static_cast<std::size_t>(below(static_cast<std::int64_t>(items.size())))];
  }
  std::uint64_t measure_below(std::uint64_t bound) { return measures_() % bound; }
  bool name_chance(int percent) { return static_cast<int>(names_() % 100) < percent; }

  /// A key by a field under its own name, or by an expression under `name`, which `field` becomes then.
  GroupKey named_key(const std::string& name, Field& field) {
    const std::string column = field.name;
    if (name_chance(60)) return Expression::column(column);
    field.name = name;
    if (name_chance(30)) return {name, Expression::column(column)};
    if (name_chance(30)) {
      field = {name, Type::boolean, false};
      return {name, known({column + " is null", [column](const Row& row) -> Value { return is_null(row(column)); }})};
    }
    return {name, known({"coalesce(" + column + ", NULL)", [column](const Row& row) { return row(column); }})};
  }

  Expression known(const Meaning& meaning) {
    const Expression expression(meaning.text);
    made_.formulas[expression.text()] = meaning.formula;
    return expression;
  }

  // ---- Tables ----

  std::int64_t number_of_rows() {
    if (chance(10)) return below(3);
    if (large_ && chance(25)) return chance(20) ? kPreferRows + below(20'000) : 300 + below(kPreferRows - 300);
    return chance(10) ? 100 + below(200) : below(40);
  }

  void make_table() {
    const std::int64_t n = number_of_rows();
    null_percent_ = one_of<int>({0, 0, 2, 10, 60});
    std::vector<Column> columns;
    for (const DataType type : preference_types()) {
      const std::string name = "c" + std::to_string(columns.size());
      fields_.push_back({name, type, false});
      columns.push_back(random_column(type, name, n));
    }
    fields_.push_back({"s", Type::string, false});
    columns.push_back(string_column("s", n));
    made_.table = Table(std::move(columns));
  }

  Column random_column(DataType type, std::string name, std::int64_t n) {
    if (type.type == Type::int64 && chance(50))
      return wide<std::int64_t>(std::move(name), n, {kMinInt64, kMaxInt64, -1, 0});
    if (type.type == Type::uint64 && chance(50))
      return wide<std::uint64_t>(std::move(name), n, {kMaxUint64, kMaxUint64 - 1, 0});
    if (type.type == Type::float64 && chance(60))
      return wide<double>(std::move(name), n, {kNaN, kInfinity, -kInfinity, -0.0, 0.0, 1, 2.5, -1e300});
    if (type.type == Type::float32 && chance(60)) {
      return wide<float>(std::move(name), n,
                         {std::numeric_limits<float>::quiet_NaN(), -0.0F, 0.0F, 0.1F, 3.0F, 1e-40F});
    }
    if (type.type == Type::decimal128 && chance(50)) return wide_decimal(type, std::move(name), n);
    fields_.back().small = is_integer(type.type) || is_decimal(type.type);
    return in_some_layout(column_of(type, std::move(name), small_cells(type.type, n)));
  }

  /// Few or many distinct values, in any order, ascending or descending.
  std::vector<std::optional<int>> small_cells(Type type, std::int64_t n) {
    const bool narrow = width_in_bytes(type) == 1;
    const std::int64_t values = type == Type::boolean ? 2
                                : chance(60)          ? 1 + below(8)
                                : narrow              ? 120
                                                      : one_of<std::int64_t>({120, 2000, 30'000});
    const bool is_signed = is_signed_integer(type) || is_temporal(type) || is_floating(type) || is_decimal(type);
    std::vector<int> drawn;
    for (std::int64_t i = 0; i < n; ++i) drawn.push_back(static_cast<int>(below(values)) - (is_signed ? 3 : 0));
    if (type == Type::float16) {
      for (int& value : drawn) value %= 2048;  // what it holds exactly
    }
    if (chance(15)) std::sort(drawn.begin(), drawn.end());
    if (chance(10)) std::reverse(drawn.begin(), drawn.end());
    std::vector<std::optional<int>> cells;
    for (const int value : drawn) cells.push_back(chance(null_percent_) ? std::nullopt : std::optional(value));
    return cells;
  }

  /// Values that span more than 64 bits.
  Column wide_decimal(DataType type, std::string name, std::int64_t n) {
    const Int128 large = Int128{1} << 95;
    std::vector<Int128> values;
    std::vector<bool> valid;
    for (std::int64_t i = 0; i < n; ++i) {
      values.push_back(one_of<Int128>({large, -large, large - 1, 0, 10'000, -1}));
      valid.push_back(!chance(null_percent_));
    }
    return in_some_layout(Column::own_as(std::move(name), type, std::move(values), valid));
  }

  template <class T>
  Column wide(std::string name, std::int64_t n, const std::vector<T>& values) {
    std::vector<std::optional<T>> cells;
    for (std::int64_t i = 0; i < n; ++i) {
      cells.push_back(chance(null_percent_) ? std::nullopt : std::optional<T>(one_of(values)));
    }
    return in_some_layout(column(std::move(name), cells));
  }

  /// The same values as they are, or spread over memory: with a stride, off their alignment.
  Column in_some_layout(Column column) {
    ColumnData data = column.data();
    if (data.layout != Layout::plain || !chance(20)) return column;
    const auto width = static_cast<std::int64_t>(width_in_bytes(data.type.type));
    const std::int64_t stride = width + below(9);
    auto memory = std::make_shared<std::vector<std::byte>>(static_cast<std::size_t>(data.length * stride + 1));
    std::byte* first = memory->data() + (chance(50) ? 1 : 0);
    for (std::int64_t i = 0; i < data.length; ++i) {
      std::memcpy(first + i * stride, static_cast<const std::byte*>(data.values) + i * data.stride,
                  static_cast<std::size_t>(width));
    }
    data.values = first;
    data.stride = stride;
    data.owner =
        std::make_shared<std::pair<std::shared_ptr<const void>, std::shared_ptr<const void>>>(memory, data.owner);
    return Column(column.name(), data);
  }

  /// Strings of their own, or indices into a dictionary that holds more than is used.
  Column string_column(std::string name, std::int64_t n) {
    const std::vector<std::string> words = {"", "a", "b", "ab", "c", "long enough to lie outside of its string"};
    std::vector<std::string> values;
    std::vector<std::int16_t> indices;
    std::vector<bool> valid;
    for (std::int64_t i = 0; i < n; ++i) {
      indices.push_back(static_cast<std::int16_t>(below(static_cast<std::int64_t>(words.size()) - 1)));
      values.push_back(words[static_cast<std::size_t>(indices.back())]);
      valid.push_back(!chance(null_percent_));
    }
    Column plain = Column::own(name, values, valid);
    if (chance(50)) return plain;
    const Column index = Column::own(name, indices, valid);
    ColumnData data = index.data();
    data.layout = Layout::dictionary;
    data.type = Type::string;
    data.index_type = Type::int16;
    data.dictionary = std::make_shared<const ColumnData>(Column::own("words", words).data());
    return Column(std::move(name), data);
  }

  // ---- Expressions ----

  std::vector<Field> fields_of(const auto& condition) {
    std::vector<Field> found;
    for (const Field& field : fields_) {
      if (condition(field)) found.push_back(field);
    }
    return found;
  }

  /// A column or an expression that preferences and rankings take.
  Expression key() {
    if (chance(20)) {
      if (const auto meaning = number()) return known(*meaning);
    }
    return Expression::column(one_of(fields_).name);
  }

  /// Arithmetic that does not overflow; nothing where no column allows for it.
  std::optional<Meaning> number() {
    const auto integers = fields_of([](const Field& field) { return field.small && is_integer(field.type.type); });
    const auto floats = fields_of([](const Field& field) { return field.type == Type::float64; });
    if (!floats.empty() && (integers.empty() || chance(30))) return of_float(one_of(floats).name);
    if (integers.empty()) return std::nullopt;
    const std::string a = one_of(integers).name;
    const std::string b = one_of(integers).name;
    const std::int64_t times = 1 + below(5);
    if (chance(30)) {
      return Meaning{"abs(" + a + ") * " + std::to_string(times), [=](const Row& row) -> Value {
                       const Value x = row(a);
                       if (is_null(x)) return Null{};
                       return times * std::abs(std::get<std::int64_t>(x));
                     }};
    }
    return Meaning{a + " + " + std::to_string(times) + " * " + b, [=](const Row& row) -> Value {
                     const Value x = row(a);
                     const Value y = row(b);
                     if (is_null(x) || is_null(y)) return Null{};
                     return std::get<std::int64_t>(x) + times * std::get<std::int64_t>(y);
                   }};
  }

  Meaning of_float(const std::string& name) {
    const auto of_value = [&](const std::string& text, double (*f)(double)) {
      return Meaning{text, [name, f](const Row& row) -> Value {
                       const Value x = row(name);
                       if (is_null(x)) return Null{};
                       return f(std::get<double>(x));
                     }};
    };
    if (chance(50)) return of_value("sqrt(abs(" + name + "))", [](double x) { return std::sqrt(std::abs(x)); });
    return of_value(name + " * 0.5 - 1", [](double x) { return x * 0.5 - 1; });
  }

  Meaning condition(int depth) {
    if (depth == 0 || chance(60)) return comparison();
    const Meaning a = condition(depth - 1);
    if (chance(20)) {
      return {"not (" + a.text + ")", [a](const Row& row) -> Value {
                const Value x = a.formula(row);
                return is_null(x) ? x : Value(!std::get<bool>(x));
              }};
    }
    const Meaning b = condition(depth - 1);
    const bool both = chance(50);
    return {"(" + a.text + (both ? ") and (" : ") or (") + b.text + ")", [a, b, both](const Row& row) -> Value {
              const Value x = a.formula(row);
              const Value y = b.formula(row);
              if (x == Value(!both) || y == Value(!both)) return !both;
              return is_null(x) || is_null(y) ? Value(Null{}) : Value(both);
            }};
  }

  /// An integer or a float compared with a small number, a string with another, any value with NULL.
  Meaning comparison() {
    const Field field = one_of(fields_);
    const std::string name = field.name;
    if (chance(10)) return {name + " is null", [name](const Row& row) -> Value { return is_null(row(name)); }};
    if (field.type == Type::string) {
      const std::string word = one_of<std::string>({"", "a", "b"});
      return {name + " != '" + word + "'", [name, word](const Row& row) -> Value {
                const Value value = row(name);
                return is_null(value) ? value : Value(value != Value(word));
              }};
    }
    if (is_integer(field.type.type)) {
      const std::int64_t limit = below(chance(70) ? 4 : 1000);
      return {name + " <= " + std::to_string(limit), [name, limit](const Row& row) -> Value {
                const Value value = row(name);
                return is_null(value) ? value : Value(reference::compare(value, Value(limit)) <= 0);
              }};
    }
    if (is_floating(field.type.type)) {
      const std::int64_t limit = below(100);
      return {name + " < " + std::to_string(limit) + ".5", [name, limit](const Row& row) -> Value {
                const Value value = row(name);
                return is_null(value) ? value : Value(std::get<double>(value) < static_cast<double>(limit) + 0.5);
              }};
    }
    if (is_decimal(field.type.type)) {
      const Decimal limit{below(900), 2};
      return {name + " <= " + to_string(Value(limit)), [name, limit](const Row& row) -> Value {
                const Value value = row(name);
                return is_null(value) ? value : Value(reference::compare(value, Value(limit)) <= 0);
              }};
    }
    return {name + " is not null", [name](const Row& row) -> Value { return !is_null(row(name)); }};
  }

  // ---- Queries ----

  void add_groups() {
    std::vector<Field> after;
    std::vector<GroupKey> keys;
    for (std::int64_t i = 1 + below(2); i > 0; --i) {
      Field field = one_of(fields_);
      if (std::any_of(after.begin(), after.end(), [&](const Field& other) { return other.name == field.name; }))
        continue;
      keys.push_back(named_key("g" + std::to_string(keys.size()), field));
      after.push_back(field);
    }
    made_.query.group_by(std::move(keys));
    for (std::int64_t i = below(4); i > 0; --i) add_aggregate("a" + std::to_string(i), after);
    made_.query.aggregate(std::move(aggregates_));
    fields_ = std::move(after);
  }

  void add_aggregate(const std::string& name, std::vector<Field>& after) {
    const Field field = one_of(fields_);
    const Expression column = Expression::column(field.name);
    if (chance(30) || field.type == Type::string) {
      aggregates_.push_back(chance(50) ? count(name) : count(name, column));
      after.push_back({name, Type::int64, true});
    } else if (is_numeric(field.type.type) && chance(50)) {
      // Only sums of what is small cannot overflow; averages can be of anything.
      if (is_decimal(field.type.type) && !field.small) return;  // the reference rounds averages of long ones twice
      const bool adds = (field.small || is_floating(field.type.type)) && chance(50);
      aggregates_.push_back(adds ? sum(name, column) : avg(name, column));
      const bool is_float = !adds || is_floating(field.type.type);
      if (adds && is_decimal(field.type.type)) {
        after.push_back({name, DataType::decimal(kMaxDigits128, field.type.scale), false});
        return;
      }
      after.push_back({name,
                       is_float                               ? Type::float64
                       : is_unsigned_integer(field.type.type) ? Type::uint64
                                                              : Type::int64,
                       false});
    } else {
      aggregates_.push_back(chance(50) ? min(name, column) : max(name, column));
      after.push_back({name, field.type, field.small});
    }
  }

  void add_preference() {
    Query& query = made_.query;
    Preference whole = preference(3);
    apart([&] {
      if (chance(20)) whole = behind_condition(std::move(whole));
    });
    query.prefer(std::move(whole));
    apart([&] {
      if (chance(15)) add_pick();
    });
    if (chance(20)) query.distinct(true);
    if (chance(20)) {
      query.levels(1 + below(4));
    } else if (chance(20)) {
      query.at_least(below(20));
    }
  }

  /// Replaces the preference by a flat one, and adds a skyband and functions of rows, some beside a pick.
  void add_measures() {
    Query& query = made_.query;
    std::vector<Preference> terms;
    std::vector<std::string> calls = {"level()", "dominated_by()", "dominates()"};
    Pick pick{1 + static_cast<std::int64_t>(measure_below(9)), Pick::By::coverage, {}};
    if (measure_below(2) == 0) {
      for (std::uint64_t i = 1 + measure_below(4); i > 0; --i) terms.push_back(term());
      apart([&] {
        if (terms.size() == 1 && chance(40)) terms.front() = behind_condition(std::move(terms.front()));
      });
    } else {
      add_number_terms(terms, calls, pick);
    }
    query.prefer(terms.size() == 1 ? terms.front() : pareto(std::move(terms)));
    query.pick(std::nullopt);
    if (measure_below(100) < 40) {
      query.pick(pick);
      if (pick.by != Pick::By::coverage && query.nan() == Missing::best) query.nan(Missing::worst);
    }
    if (measure_below(100) < 60) {
      query.levels(std::nullopt).at_least(std::nullopt);
      query.skyband(measure_below(100) < 30 ? kAllRows : 1 + static_cast<std::int64_t>(measure_below(6)));
    }
    const auto call = [&] { return Expression(calls[measure_below(calls.size())]); };
    std::vector<RankTerm> ranking = query.rank_by();
    for (std::uint64_t i = measure_below(3); i > 0; --i) {
      const auto place = static_cast<std::ptrdiff_t>(measure_below(ranking.size() + 1));
      ranking.insert(ranking.begin() + place, RankTerm(call(), measure_below(2) == 0));
    }
    if (!ranking.empty()) query.rank_by(ranking);
    std::vector<SelectItem> items = query.select();
    for (std::uint64_t i = measure_below(3); i > 0; --i) items.push_back({"m" + std::to_string(i), call()});
    query.select(std::move(items));
  }

  /// Adds `low` and `high` terms of numbers, and the functions of rows and the measure of a pick that need such.
  void add_number_terms(std::vector<Preference>& terms, std::vector<std::string>& calls, Pick& pick) {
    const bool small = measure_below(2) == 0;  // for volumes that no order of operations rounds
    const auto numbers = fields_of([&](const Field& field) {
      return small ? field.small && is_integer(field.type.type)
                   : is_numeric(field.type.type) && (!is_decimal(field.type.type) || field.small);
    });
    if (numbers.empty()) return terms.push_back(term());
    std::string reference;
    std::string weights;
    for (std::uint64_t i = 1 + measure_below(3); i > 0; --i) {
      const Field& field = numbers[measure_below(numbers.size())];
      const Expression value = Expression::column(field.name);
      const bool high = measure_below(2) == 0;
      const bool inverts = measure_below(5) == 0;
      terms.push_back(high == inverts ? low(value) : skyrank::high(value));
      apart([&] {
        if (chance(25)) terms.back() = in_boxes(std::move(terms.back()), field);
      });
      if (inverts) terms.back() = inverse(std::move(terms.back()));
      if (small) pick.reference.push_back(static_cast<double>(measure_below(9)) - (high ? 4 : 0));
      reference += (reference.empty() ? "" : ", ") + std::to_string(high ? -1 : 4);
      weights += (weights.empty() ? "" : ", ") + std::string(measure_below(2) == 0 ? "1" : "0.25");
    }
    calls.insert(calls.end(), {"crowding()", "compromise()", "compromise(" + weights + ")"});
    if (small) calls.push_back("contribution(" + reference + ")");
    const std::uint64_t by = measure_below(small ? 3 : 2);
    if (by == 1) pick.by = Pick::By::distance;
    if (by == 2) pick.by = Pick::By::hypervolume;
    if (by != 2) pick.reference.clear();
  }

  Preference preference(int depth) {
    if (depth == 0 || chance(25)) return term();
    if (chance(10)) return inverse(preference(depth - 1));
    std::vector<Preference> children;
    for (std::int64_t i = 1 + below(3); i > 0; --i) children.push_back(preference(depth - 1));
    return chance(50) ? pareto(std::move(children)) : prior(std::move(children));
  }

  Preference term() {
    if (chance(10)) return where(known(condition(1)));
    const Field field = one_of(fields_);
    const Expression expression = Expression::column(field.name);
    if (field.type == Type::string) return in(expression, {{std::string("b")}, {std::string("a"), std::string("")}});
    if (chance(30) && is_numeric(field.type.type)) {
      if (is_integer(field.type.type) && chance(30)) return around(expression, 0.5 + static_cast<double>(below(4)));
      if (chance(50)) return around(expression, below(4));
      const std::int64_t from = below(3);
      if (chance(20)) return between(expression, from, Null{});
      if (chance(20)) return between(expression, Null{}, from);
      if (chance(10)) return around(expression, std::numeric_limits<double>::infinity());
      return between(expression, from, from + below(3));
    }
    if (chance(20) && is_integer(field.type.type))
      return in(expression, {{std::int64_t{1}}, {std::int64_t{0}, std::int64_t{3}}});
    const Expression value = chance(20) ? key() : expression;
    Preference found = chance(50) ? low(value) : high(value);
    apart([&] {
      if (value == expression && chance(25)) found = in_boxes(std::move(found), field);
    });
    return found;
  }

  /// Draws from numbers of its own, so that all else stays as it is.
  template <class Draw>
  void apart(const Draw& draw) {
    std::swap(random_, words_);
    draw();
    std::swap(random_, words_);
  }

  Preference behind_condition(Preference preference) {
    const Meaning met = condition(1);
    std::vector<Expression> violations;
    for (const Field& field : fields_of([](const Field& f) { return f.small && is_integer(f.type.type); })) {
      if (!chance(40)) continue;
      const std::string name = field.name;
      violations.push_back(Expression(name + " % 4"));
      known({"case when " + met.text + " then 0 else " + name + " % 4 end", [met, name](const Row& row) -> Value {
               if (met.formula(row) == Value(true)) return std::int64_t{0};
               const Value value = row(name);
               return is_null(value) ? value : Value(std::get<std::int64_t>(value) % 4);
             }});
    }
    return feasible(known(met), std::move(violations), std::move(preference));
  }

  /// A pick among the rows of a flat preference, whose values are small where volumes are to have no rounding.
  void add_pick() {
    const auto by = one_of<Pick::By>({Pick::By::distance, Pick::By::coverage, Pick::By::hypervolume});
    const bool exact = by == Pick::By::hypervolume;
    const auto fields = fields_of([&](const Field& field) {
      return exact ? field.small && is_integer(field.type.type)
                   : is_numeric(field.type.type) || is_temporal(field.type.type);
    });
    if (fields.empty()) return;
    std::vector<Preference> terms;
    std::vector<double> reference;
    for (std::int64_t i = 1 + below(3); i > 0; --i) {
      const Expression column = Expression::column(one_of(fields).name);
      terms.push_back(chance(50) ? low(column) : inverse(high(column)));
      if (chance(50)) terms.back() = inverse(terms.back());
      if (exact) reference.push_back(static_cast<double>(below(9)));
    }
    Preference whole = chance(20) ? terms.front() : pareto(terms);
    if (whole.kind != Preference::Kind::pareto && exact) reference.resize(1);
    if (chance(20)) whole = behind_condition(std::move(whole));
    made_.query.prefer(std::move(whole)).pick(Pick{1 + below(6), by, std::move(reference)});
    picks_ = by != Pick::By::coverage;
  }

  Preference in_boxes(Preference term, const Field& field) {
    const std::string name = field.name;
    const bool ratio = is_numeric(field.type.type) && chance(30);
    const Value size = ratio                                ? Value(std::string(chance(50) ? "50%" : "1000%"))
                       : field.type.type == Type::timestamp ? Value(std::string(one_of<std::string>({"2s", "1min"})))
                       : field.type.type == Type::date      ? Value(1 + below(9))
                       : !is_numeric(field.type.type)       ? Value(Null{})
                       : chance(50) || is_integer(field.type.type) ? Value(1 + below(5))
                                                                   : Value(0.25 * static_cast<double>(1 + below(9)));
    if (is_null(size)) return term;
    Preference boxed = step(std::move(term), size);
    const double times = ratio ? (size == Value(std::string("50%")) ? 1.5 : 11) : 0;
    const TimeUnit unit = field.type.unit;
    made_.formulas[boxed.expression->text()] = [=](const Row& row) {
      return ratio ? reference::ratio_box(row(name), times) : reference::box(row(name), size, unit);
    };
    return boxed;
  }

  void add_selection() {
    std::vector<SelectItem> items;
    for (std::int64_t i = 1 + below(4); i > 0; --i) {
      const std::string name = "x" + std::to_string(i);
      const std::int64_t kind = below(6);
      if (kind == 0) {
        items.push_back({name, Expression("row")});
      } else if (kind == 1 && made_.query.prefer()) {
        items.push_back({name, Expression("level")});
      } else if (kind == 2 && !made_.query.rank_by().empty()) {
        items.push_back({name, Expression("score")});
      } else if (kind == 3) {
        items.push_back({name, key()});
      } else {
        items.push_back({name, Expression::column(one_of(fields_).name)});
      }
    }
    made_.query.select(items);
  }

  std::mt19937_64 random_;
  std::mt19937_64 names_;     // of keys: cases stay as they are without names
  std::mt19937_64 measures_;  // and without functions of rows
  std::mt19937_64 words_;     // and without boxes and conditions to meet
  bool large_;
  int null_percent_ = 0;
  bool picks_ = false;         // the values of terms count, which `nan: best` would make two of
  std::vector<Field> fields_;  // of the input, then of the groups
  std::vector<Aggregate> aggregates_;
  RandomCase made_;
};

}  // namespace

reference::Evaluate RandomCase::evaluate() const {
  return [this](const Expression& expression, const reference::Row& row) -> Value {
    if (!expression.column_name().empty()) return row(expression.column_name());
    return formulas.at(expression.text())(row);
  };
}

RandomCase random_case(std::uint64_t seed, bool large) { return Generator(seed, large).make(); }

}  // namespace skyrank
