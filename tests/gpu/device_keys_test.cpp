#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <skyrank/error.hpp>

#include "engine/device/device_query_state.hpp"
#include "engine/device/translate.hpp"
#include "engine/keys/device/make_device_keys.hpp"
#include "engine/keys/device_keys.hpp"
#include "engine/keys/key_columns.hpp"
#include "engine/operators/filter/filter.hpp"
#include "engine/plan/rules/make_plan.hpp"
#include "engine/query/bound.hpp"
#include "tests/build.hpp"
#include "tests/engine/edge_columns.hpp"
#include "tests/engine/layout_columns.hpp"
#include "tests/engine/random_expressions.hpp"
#include "tests/gpu/gpu_test.hpp"
#include "tests/kernels/algorithms.hpp"

// Filters and keys that the device makes, beside the host's: the same rows, and the same bytes.
namespace skyrank::exec {
namespace {

using DeviceKeys = gpu_testing::GpuTest;
using tests::kEmulated;

std::vector<std::byte> bytes_of(const Keys& keys, std::int64_t n) {
  const Keys near = to_host(keys, n);
  std::vector<std::byte> bytes(static_cast<std::size_t>(n) * static_cast<std::size_t>(near.column.width));
  if (!bytes.empty()) std::memcpy(bytes.data(), near.column.data, bytes.size());
  return bytes;
}

/// Returns the result of a function, or the message of the DataError that it throws.
template <class F>
auto or_message(const F& f) -> std::pair<std::optional<decltype(f())>, std::string> {
  try {
    return {f(), ""};
  } catch (const DataError& error) {
    return {std::nullopt, error.message()};
  }
}

template <class Term>
void expect_same_keys(Term term, const Table& table, const RowSet& rows, const std::string& told) {
  for (const bool nulls_first : {false, true}) {
    SCOPED_TRACE(told + (nulls_first ? ", NULL first" : ""));
    term.nulls_first = nulls_first;
    DeviceQueryState device_state;
    const auto here = or_message([&] { return make_keys(term, table, rows.view()); });
    const auto there = or_message([&] { return make_keys(device_state, term, table, rows); });
    ASSERT_EQ(there.second, here.second);
    if (!here.first) return;
    EXPECT_EQ(there.first->memory, kernels::Memory::device);
    EXPECT_EQ(there.first->column.width, here.first->column.width);
    EXPECT_EQ(bytes_of(*there.first, rows.size()), bytes_of(*here.first, rows.size()));
  }
}

// A column keeps things on the device for its queries, which must not keep the column.
TEST_F(DeviceKeys, SharedColumnsGoWithTheirTable) {
  std::weak_ptr<ResidentColumn> kept;
  {
    const Table table({Column::own("a", std::vector<float>(100, 1.0F))});
    const Table copy = table;
    DeviceQueryState first(true);
    first.column(table.column(0).data());
    DeviceQueryState second(true);
    second.column(copy.column(0).data());
    second.column(copy.column(0).data());
    EXPECT_EQ(first.columns_found(), 0u);
    EXPECT_EQ(second.columns_found(), 1u);
    EXPECT_EQ(second.columns(), 1u);
    kept = shared_on_device(table.column(0).data());
    EXPECT_FALSE(kept.expired());
  }
  EXPECT_TRUE(kept.expired());
}

RowSet every_third(std::int64_t n) {
  Vector<RowId> ids;
  for (RowId row = 1; row < n; row += 3) ids.push_back(row);
  return RowSet::listed(std::move(ids));
}

void expect_same_filter(const std::string& condition, const Table& table) {
  const query::BoundExpression expression = bound(condition, table);
  for (const RowSet& rows : {RowSet::all(table.num_rows()), every_third(table.num_rows())}) {
    DeviceQueryState device_state;
    const auto ids = [](const RowSet& set) {
      const Rows view = set.view();
      Vector<RowId> list;
      for (std::int64_t i = 0; i < view.n; ++i) list.push_back(view[i]);
      return list;
    };
    const auto here = or_message([&] { return filter(expression, table, rows.view()); });
    const auto there = or_message([&] { return ids(filter(device_state, expression, table, rows)); });
    EXPECT_EQ(there, here) << condition;
  }
}

std::vector<query::BoundPreference> terms_of(const std::vector<Preference>& preferences, const Table& table) {
  std::vector<query::BoundPreference> terms;
  for (const Preference& preference : preferences) {
    for (const Preference& directed : {preference, inverse(preference)}) {
      terms.push_back(*query::bind(Query::from("t").prefer(directed), query::schema_of(table)).preference);
    }
  }
  return terms;
}

void expect_same_terms(const std::vector<Preference>& preferences, const Table& table, const std::string& told) {
  for (const query::BoundPreference& term : terms_of(preferences, table)) {
    const std::string name = told + ", " + term.expression.text + ", kind " +
                             std::to_string(static_cast<int>(term.kind)) + (term.inverted ? ", inverted" : "");
    for (const RowSet& rows : {RowSet::all(table.num_rows()), every_third(table.num_rows()), RowSet::listed({})}) {
      expect_same_keys(term, table, rows, name);
    }
  }
}

/// Edge values, as often as it takes for several blocks, with and without NULLs.
template <class T>
Table edge_table(DataType type, const std::vector<T>& edges, bool nulls) {
  std::vector<T> all;
  std::vector<bool> valid;
  for (std::size_t i = 0; i < (kEmulated ? 300 : 5000); ++i) {
    all.push_back(edges[i * 7 % edges.size()]);
    if (nulls) valid.push_back(i % 5 != 3);
  }
  return Table({Column::own_as("a", type, std::move(all), valid)});
}

TEST_F(DeviceKeys, OfNumbersOfEveryType) {
  for_number_types([](DataType type, const auto& edges) {
    for (const bool nulls : {false, true}) {
      const Table table = edge_table(type, edges, nulls);
      const auto whole = [](std::int64_t i) { return Value(i); };
      expect_same_terms(
          {low("a"), high("a"), around("a", whole(2)), around("a", 2.5), between("a", whole(-1), whole(3)),
           between("a", 0.25, 1e19), in("a", {{whole(1), whole(0)}, {whole(100), 2.5}, {Value(-1.0)}}), where("a > 1"),
           where("not (a <= 1 or a is null)")},
          table, to_string(type) + (nulls ? " with NULLs" : ""));
    }
  });
}

TEST_F(DeviceKeys, OfTimesOfEveryUnit) {
  for_time_types([](DataType type, const auto& edges) {
    for (const bool nulls : {false, true}) {
      const Table table = edge_table(type, edges, nulls);
      const bool is_date = type.type == Type::date;
      const Value upper = is_date ? Value(Date{3}) : Value(Timestamp{100'000, TimeUnit::second});
      expect_same_terms(
          {low("a"), high("a"), around("a", Date{1}), between("a", Date{-1}, upper), where("a > date '1970-01-02'"),
           where("a between date '1969-12-31' and timestamp '1970-01-02 00:00:01'")},
          table, to_string(type) + (nulls ? " with NULLs" : ""));
    }
  });
}

TEST_F(DeviceKeys, OfColumnsOfEveryLayout) {
  const Table table(layouts(kEmulated ? 500 : 9'000));
  for (const Column& column : table.columns()) {
    const Expression name = Expression::column(column.name());
    expect_same_terms({low(name), high(name)}, table, column.name());
    if (column.type().type != Type::string) continue;
    expect_same_terms({in(name, {{std::string("text 3"), std::string("text 4")}, {std::string("text 9")}})}, table,
                      column.name());
  }
  for (const char* condition : {"bits", "offset_bits or bits", "strings = 'text 3' and plain > 0", "views is null",
                                "large < 'text 2' or floats > 500", "unaligned in (1, 2) or shorts % 3 = 1"}) {
    expect_same_filter(condition, table);
  }
}

/// Strings as indices into their different values.
Column dictionary_column(std::string name, const std::vector<std::int16_t>& indices, const std::vector<bool>& valid,
                         const std::vector<std::string>& entries) {
  const Column plain = Column::own_as(name, Type::int16, indices, valid);
  const Column texts = Column::own("entries", entries);
  ColumnData data = plain.data();
  data.type = Type::string;
  data.layout = Layout::dictionary;
  data.index_type = Type::int16;
  data.dictionary = std::make_shared<ColumnData>(texts.data());
  return {std::move(name), std::move(data)};
}

TEST_F(DeviceKeys, OfStringsInADictionary) {
  std::vector<std::int16_t> indices;
  std::vector<bool> valid;
  for (std::size_t i = 0; i < 400; ++i) {
    indices.push_back(static_cast<std::int16_t>(i % 3));
    valid.push_back(i % 7 != 0);
  }
  for (const bool nulls : {false, true}) {
    const Table table(
        {dictionary_column("city", indices, nulls ? valid : std::vector<bool>(), {"Oslo", "Bergen", "Åre"})});
    expect_same_terms({in("city", {{std::string("Bergen")}, {std::string("Oslo"), std::string("Nowhere")}}),
                       where("city in ('Oslo', 'Åre')"), where("city is null"), low("city"), high("lower(city)")},
                      table, "a dictionary");
    expect_same_filter("city = 'Oslo' or city > 'P'", table);
    expect_same_filter("city between 'B' and 'C' or city is null", table);
    expect_same_filter("'Oslo' in ('Oslo', city)", table);
    expect_same_filter("'B' not between 'C' and city or city = 'Oslo'", table);
    expect_same_filter("not ('B' between city and 'A')", table);
    expect_same_filter("('Bergen' in (city, 'Oslo')) is null", table);
  }
}

TEST_F(DeviceKeys, OfRandomExpressions) {
  for (std::uint64_t seed = 1; seed <= (kEmulated ? 40 : 300); ++seed) {
    Random random(seed);
    const Table table = random_table(200, random);
    ExpressionWriter writer(random);
    for (const int depth : {1, 2, 3}) {
      const std::string number = writer.number(depth);
      for (const bool high : {false, true}) {
        expect_same_keys(query::BoundRankTerm{bound(number, table), high}, table, RowSet::all(table.num_rows()),
                         number);
      }
      expect_same_filter(writer.condition(depth), table);
    }
  }
}

// They have more steps, or a deeper stack, than a kernel runs for several rows at a time.
TEST_F(DeviceKeys, OfLongExpressions) {
  Random random(9);
  const Table table = random_table(300, random);
  std::string sum = "d";
  std::string deep = "f";
  for (int i = 0; i < 40; ++i) sum += " + " + std::to_string(i) + " * d";
  for (int i = 0; i < 20; ++i) deep = "f - (" + deep + " * d)";
  for (const std::string& number : {sum, deep}) {
    expect_same_keys(query::BoundRankTerm{bound(number, table), true}, table, RowSet::all(table.num_rows()), number);
    expect_same_filter(number + " > 3 or s is null", table);
  }
}

// Operations on values of all kinds, beside NULLs, of several rows at a time.
TEST_F(DeviceKeys, OfEveryOperation) {
  Random random(12);
  const Table table = random_table(1003, random);
  for (const char* number : {"d + f",
                             "d - 2.5",
                             "2.5 - d",
                             "f * d",
                             "d / f",
                             "s + 3",
                             "s - i",
                             "s * 7",
                             "-d",
                             "-s",
                             "abs(d)",
                             "abs(s)",
                             "sqrt(f)",
                             "floor(d)",
                             "ceil(f)",
                             "min(d, f)",
                             "max(f, d, 1)",
                             "min(s, i)",
                             "max(s, 2)",
                             "d % 3",
                             "u + u",
                             "case when d > f then d when f > 1 then f end",
                             "case when p then s else i end",
                             "case when d > 1 then f else d * f end",
                             "case when d > 1 then f end",
                             "case when p then 2 else d + f end",
                             "case when p then NULL else d end",
                             "d * d + f * f",
                             "sqrt(abs((d - 1) * f + d * d))",
                             "f + s",
                             "s + 0.5 * i",
                             "f + 2.5 * d * f",
                             "2.5 * (d + f)",
                             "s * (i + s)"}) {
    for (const bool high : {false, true}) {
      expect_same_keys(query::BoundRankTerm{bound(number, table), high}, table, RowSet::all(table.num_rows()), number);
    }
  }
  for (const char* condition : {"d < f",
                                "d <= 1",
                                "1 >= d",
                                "s = i",
                                "s != 3",
                                "s between -2 and 4",
                                "not (d between 0.5 and 1.5)",
                                "u > s",
                                "d is null",
                                "f is not null",
                                "p or d > 1",
                                "p and not (s < 0)",
                                "d between f and 3",
                                "s in (1, 2)",
                                "d not in (0, 1, NULL)",
                                "case when p then d > 0 else s > 0 end",
                                "d < f * f",
                                "2 <= d + f",
                                "s = i - s",
                                "d * d < f",
                                "(d > 1 or f < 1) and s between -2 and 4",
                                "d > 1 and (f < 1 or p and s > 0)",
                                "not (f > 0 or d is null)"}) {
    expect_same_filter(condition, table);
  }
}

/// Values next to constants, and constants that not every type has.
template <class T>
std::vector<T> values_around(const std::vector<double>& constants) {
  std::vector<T> values;
  for (const double constant : constants) {
    if constexpr (std::is_floating_point_v<T>) {
      const auto value = static_cast<T>(constant);
      const T most = std::numeric_limits<T>::infinity();
      for (const T near : {value, std::nextafter(value, most), std::nextafter(value, -most)}) values.push_back(near);
    } else {
      constexpr double kMost = 4e18;
      const auto value = static_cast<std::int64_t>(std::clamp(constant, -kMost, kMost));
      for (const std::int64_t near : {value - 1, value, value + 1}) {
        if (near == std::int64_t{static_cast<T>(near)}) values.push_back(static_cast<T>(near));
      }
    }
  }
  for (const T value : {std::numeric_limits<T>::lowest(), std::numeric_limits<T>::max()}) values.push_back(value);
  if constexpr (std::is_floating_point_v<T>) {
    for (const T value : {std::numeric_limits<T>::infinity(), -std::numeric_limits<T>::infinity(), T(-0.0),
                          std::numeric_limits<T>::quiet_NaN()}) {
      values.push_back(value);
    }
  }
  if (values.size() % 7 == 0) values.push_back(T(3));
  return values;
}

template <class T>
void expect_same_comparisons(DataType type) {
  const std::vector<double> constants = {0, -1, 0.1, 16777217, 2147483647, 2147483648, -2147483649, 1e39, 1e-46};
  const std::vector<std::string> texts = {"0",          "-1",          "0.1",  "16777217", "2147483647",
                                          "2147483648", "-2147483649", "1e39", "1e-46"};
  for (const bool nulls : {false, true}) {
    const Table table = edge_table(type, values_around<T>(constants), nulls);
    for (const std::string& c : texts) {
      for (const char* const compared : {"a < ", "a <= ", "a > ", "a >= ", "a = ", "a != "}) {
        expect_same_filter(compared + c + " or a = 77", table);
      }
      expect_same_filter("a between -3 and " + c, table);
      expect_same_filter("not (a between " + c + " and 1e9) and (a < 5 or a > " + c + ")", table);
      expect_same_filter("a > 3 and a < " + c + " or not (a != " + c + " and a < 2)", table);
    }
  }
}

// Such columns are compared as they are stored, with bounds of their own type.
TEST_F(DeviceKeys, OfComparisonsWithConstants) {
  expect_same_comparisons<float>(Type::float32);
  expect_same_comparisons<double>(Type::float64);
  expect_same_comparisons<std::int32_t>(Type::int32);
  expect_same_comparisons<std::int64_t>(Type::int64);
  expect_same_comparisons<std::uint32_t>(Type::uint32);
}

// Not by way of the host: none of these needs a column that it would have to compute.
TEST_F(DeviceKeys, OfExpressionsThatRunThereWhole) {
  Random random(5);
  const Table table = random_table(100, random);
  for (const char* text : {"d + 2.5 * f", "case when s != 0 then i / s end", "sqrt(abs(d)) - floor(f)", "min(d, f, 2)",
                           "-s % 3", "i between 0 and u", "u in (1, 2, NULL)", "p and d > 3 or not p", "t is null",
                           "max(s, 3) >= u", "coalesce(i, s, 3)"}) {
    DeviceQueryState device_state;
    const auto program = compile(bound(text, table), table);
    const auto translated = translate(device_state, *program);
    ASSERT_TRUE(translated) << text;
    for (const kernels::Instruction& how : translated->instructions) {
      if (how.op != kernels::Opcode::column) continue;
      const void* const values = translated->columns[how.index].values;
      const bool of_table = std::ranges::any_of(table.columns(), [&](const Column& column) {
        return ResidentColumn::is_possible(column.data()) && device_state.column(column.data()).values == values;
      });
      EXPECT_TRUE(of_table || std::string(text) == "t is null") << text;
    }
  }
}

TEST_F(DeviceKeys, CombineAsTheHostsDo) {
  const std::int64_t n = 777;
  Random random(3);
  std::vector<std::int32_t> small;
  std::vector<double> doubles;
  std::vector<std::int64_t> longs;
  for (std::int64_t i = 0; i < n; ++i) {
    small.push_back(static_cast<std::int32_t>(random.below(9)));
    doubles.push_back(static_cast<double>(random.below(99)) / 8);
    longs.push_back(static_cast<std::int64_t>(random.next() >> 20));
  }
  const Table table({Column::own("s", small), Column::own("d", doubles), Column::own("l", longs)});
  const std::vector<std::vector<std::string>> combinations = {{"s", "l"}, {"s", "d"}, {"d", "s", "l"}, {"s", "s", "s"}};
  Vector<std::int64_t> positions;
  for (std::int64_t i = 0; i < n; i += 5) positions.push_back(i);
  for (const auto& names : combinations) {
    DeviceQueryState device_state;
    std::vector<Keys> here;
    std::vector<Keys> there;
    for (const std::string& name : names) {
      const query::BoundRankTerm term{bound(name, table), name == "s"};
      here.push_back(make_keys(term, table, all_rows(table)));
      there.push_back(make_keys(device_state, term, table, RowSet::all(n)));
    }
    const Keys combined = combine_prior(there, n);
    EXPECT_EQ(combined.memory, kernels::Memory::device);
    EXPECT_EQ(bytes_of(combined, n), bytes_of(combine_prior(here, n), n));
    EXPECT_EQ(bytes_of(widen(there[0], n, kernels::KeyWidth::bytes8), n),
              bytes_of(widen(here[0], n, kernels::KeyWidth::bytes8), n));
    EXPECT_EQ(bytes_of(take(there[0], positions), static_cast<std::int64_t>(positions.size())),
              bytes_of(take(here[0], positions), static_cast<std::int64_t>(positions.size())));
    EXPECT_EQ(runs_of_equal(there, positions).bounds, runs_of_equal(here, positions).bounds);
    EXPECT_EQ(runs_of_equal(there, positions).positions, runs_of_equal(here, positions).positions);
  }
}

/// Plans for one thread and a GPU that nothing forces the query to.
PhysicalPlan planned_beside_gpu(const Query& query, const Table& table, const Rules& rules = {}) {
  planner::Constraints constraints;
  constraints.lists_candidates = true;
  return make_plan(query::bind(query, query::schema_of(table)), table, constraints, {.threads = 1, .cuda = true},
                   rules);
}

std::string reason_of_keys(const PhysicalPlan& plan) {
  const std::vector<RuleOutcome> outcomes = plan.rules.outcomes();
  const auto found = std::ranges::find(outcomes, "device-keys", &RuleOutcome::rule);
  return found == outcomes.end() ? "" : found->reason;
}

/// 300,000 rows of six columns.
Table many_points() {
  constexpr std::size_t kRows = 300'000;
  std::vector<Column> columns;
  for (std::size_t c = 0; c < 6; ++c) {
    std::vector<double> values(kRows);
    for (std::size_t i = 0; i < kRows; ++i) values[i] = static_cast<double>((i + 1) * (2 * c + 7919) % 1'000'003);
    columns.push_back(Column::own("c" + std::to_string(c), std::move(values)));
  }
  return Table(std::move(columns));
}

Query skyline_of_many() {
  return Query::from("t").prefer({low("c0"), low("c1"), low("c2"), low("c3"), low("c4")}).where("c5 > 1000");
}

TEST_F(DeviceKeys, SendsColumnsWhereTheWholeQueryIsCheaperThere) {
  const Table table = many_points();
  const PhysicalPlan plan = planned_beside_gpu(skyline_of_many(), table);
  EXPECT_TRUE(plan.on_device);
  EXPECT_EQ(plan.operators.filter->device, kernels::Device::cuda);
  EXPECT_EQ(reason_of_keys(plan), "all kernels run there, and the way there pays");
  const auto decision = std::ranges::find(plan.rules.decisions(), "device-keys", &PricedDecision::subject);
  ASSERT_NE(decision, plan.rules.decisions().end());
  EXPECT_TRUE(decision->candidates.front().taken);
  EXPECT_LT(decision->candidates.front().predicted_ms, decision->candidates.back().predicted_ms);
}

TEST_F(DeviceKeys, LeavesColumnsWhereTheWayDoesNotPay) {
  const Table table = many_points();
  const PhysicalPlan plan = planned_beside_gpu(Query::from("t").rank_by({low("c0")}).limit(5), table);
  EXPECT_FALSE(plan.on_device);
  EXPECT_THAT(reason_of_keys(plan), testing::HasSubstr("does not pay"));
  EXPECT_NE(std::ranges::find(plan.rules.decisions(), "device-keys", &PricedDecision::subject),
            plan.rules.decisions().end());
  Rules off;
  off.switch_off("device-keys");
  EXPECT_FALSE(planned_beside_gpu(skyline_of_many(), table, off).on_device);
}

TEST_F(DeviceKeys, LeavesColumnsForWhichTheGpuHasNoRoom) {
  const Table table = many_points();
  const Query query = skyline_of_many();
  const planner::Machine small{.threads = 1, .cuda = true, .device_bytes = 10e6};
  EXPECT_FALSE(make_plan(query::bind(query, query::schema_of(table)), table, {}, small, {}).on_device);
}

}  // namespace
}  // namespace skyrank::exec
