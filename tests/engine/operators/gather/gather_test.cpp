#include "engine/operators/gather/gather.hpp"

#include <cmath>
#include <limits>
#include <memory>
#include <string>

#include <skyrank/error.hpp>

#include "tests/engine/operator_test.hpp"

namespace skyrank::exec {
namespace {

using Ids = std::vector<RowId>;

/// Gathers and compares with what the column itself says of each row.
void expect_gathers(const Column& column, const Ids& rows) {
  const Column gathered = gather(column, rows, "g");
  EXPECT_EQ(gathered.name(), "g");
  EXPECT_EQ(gathered.type(), column.type());
  ASSERT_EQ(gathered.size(), static_cast<std::int64_t>(rows.size()));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Value expected = rows[i] < 0 ? Value(Null{}) : column.value(rows[i]);
    EXPECT_EQ(gathered.value(static_cast<std::int64_t>(i)), expected) << "row " << i;
  }
}

TEST(Gather, EveryFixedWidthType) {
  const Ids rows{2, 0, 2, 1};
  expect_gathers(Column::own<std::int8_t>("a", {-1, 2, 127}), rows);
  expect_gathers(Column::own<std::int16_t>("a", {-1, 2, 300}), rows);
  expect_gathers(Column::own<std::int32_t>("a", {-1, 2, 70'000}), rows);
  expect_gathers(Column::own<std::int64_t>("a", {-1, 2, std::int64_t{1} << 60}), rows);
  expect_gathers(Column::own<std::uint8_t>("a", {1, 2, 255}), rows);
  expect_gathers(Column::own<std::uint16_t>("a", {1, 2, 65535}), rows);
  expect_gathers(Column::own<std::uint32_t>("a", {1, 2, 4294967295U}), rows);
  expect_gathers(Column::own<std::uint64_t>("a", {1, 2, ~std::uint64_t{0}}), rows);
  expect_gathers(Column::own<Float16>("a", {{0x3c00}, {0x0001}, {0xfc00}}), rows);
  expect_gathers(Column::own<float>("a", {0.1F, -2, 3}), rows);
  expect_gathers(Column::own<double>("a", {0.1, -2, std::numeric_limits<double>::infinity()}), rows);
  expect_gathers(Column::own<Date>("a", {{1}, {-2}, {3}}), rows);
  expect_gathers(Column::own_as<std::int64_t>("a", DataType(Type::timestamp, TimeUnit::microsecond), {1, -2, 3}), rows);
  expect_gathers(Column::own("a", std::vector<bool>{true, false, true}), rows);
}

TEST(Gather, KeepsBits) {
  const double negative_zero = gather(Column::own<double>("a", {1, -0.0}), Ids{1}, "g").value(0).index() == 4
                                   ? std::get<double>(gather(Column::own<double>("a", {1, -0.0}), Ids{1}, "g").value(0))
                                   : 1;
  EXPECT_TRUE(negative_zero == 0 && std::signbit(negative_zero));
}

TEST(Gather, NullsAndMissingRows) {
  const Column column = Column::own<std::int32_t>("a", {1, 2, 3}, {true, false, true});
  expect_gathers(column, {1, 0, -1, 2});
  EXPECT_TRUE(gather(column, Ids{1}, "g").may_have_nulls());
  EXPECT_FALSE(gather(column, Ids{0, 2}, "g").may_have_nulls()) << "no bitmap where no row is NULL";
}

TEST(Gather, StridedValues) {
  const std::vector<float> matrix{1, 2, 3, 4, 5, 6};
  expect_gathers(Column::view_strided("a", Type::float32, matrix.data() + 1, 3, 2 * sizeof(float)), {2, 1, 0});
}

TEST(Gather, PackedBooleansFromAnyBit) {
  const std::vector<std::uint8_t> bits{0b10110100, 0b00000101};
  ColumnData data;
  data.type = Type::boolean;
  data.layout = Layout::bits;
  data.length = 9;
  data.values = bits.data();
  data.bit_offset = 2;
  expect_gathers(Column("a", data), {0, 1, 2, 3, 4, 5, 6, 7, 8, 8, 0});
}

TEST(Gather, StringsOfEveryLayout) {
  const Ids rows{3, 0, 2, -1, 1};
  const std::vector<std::string> texts{"", "fjord", "Århus", "x"};
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  expect_gathers(Column::own("a", texts, {true, true, false, true}), rows);
  expect_gathers(Column::view("a", std::span<const std::string_view>(views)), rows);

  const std::string joined = "onetwothree";
  const std::vector<std::int64_t> offsets{0, 3, 6, 11, 11};
  ColumnData large;
  large.type = Type::string;
  large.layout = Layout::large_utf8;
  large.length = 4;
  large.values = joined.data();
  large.offsets64 = offsets.data();
  expect_gathers(Column("a", large), rows);

  const std::vector<std::uint8_t> indices{1, 0, 2, 1};
  ColumnData dictionary;
  dictionary.type = Type::string;
  dictionary.layout = Layout::dictionary;
  dictionary.length = 4;
  dictionary.values = indices.data();
  dictionary.stride = 1;
  dictionary.index_type = Type::uint8;
  dictionary.dictionary = std::make_shared<const ColumnData>(large);
  expect_gathers(Column("a", dictionary), rows);
}

TEST(Gather, OwnsItsMemory) {
  auto texts = std::make_unique<std::vector<std::string_view>>(2, "gone soon");
  const Column gathered = gather(Column::view("a", std::span<const std::string_view>(*texts)), Ids{0}, "g");
  texts.reset();
  EXPECT_EQ(gathered.value(0), Value(std::string("gone soon")));
}

TEST(Gather, ManyRows) {
  std::vector<std::int64_t> numbers;
  std::vector<std::string> texts;
  std::vector<bool> valid;
  Ids rows;
  for (std::int64_t i = 0; i < 70'001; ++i) {
    numbers.push_back(i * i);
    texts.push_back(std::to_string(i));
    valid.push_back(i % 3 != 0);
    rows.push_back((i * 7919) % 70'001);
  }
  expect_gathers(Column::own("a", numbers, valid), rows);
  expect_gathers(Column::own("a", texts, valid), rows);
}

TEST(Gather, NoRows) {
  expect_gathers(Column::own<std::int32_t>("a", {1}), {});
  expect_gathers(Column::own("a", std::vector<std::string>{"x"}), {});
}

TEST(Gather, ExpressionsInAnyOrder) {
  const Table table({Column::own<std::int32_t>("a", {1, 2, 3, 4}, {true, true, false, true})});
  const Column sum = gather(bound("a + 10", table), table, Ids{3, 2, 0}, "sum");
  EXPECT_EQ(values(sum), (std::vector<Value>{std::int64_t{14}, Null{}, std::int64_t{11}}));
}

TEST(Gather, AColumnAsExpressionKeepsItsType) {
  const Table table({Column::own<std::int16_t>("a", {1, 2})});
  EXPECT_EQ(gather(bound("a", table), table, Ids{1, 0}, "b").type(), DataType(Type::int16));
}

TEST(Gather, ComputedStringsOwnTheirMemory) {
  auto texts = std::make_unique<std::vector<std::string>>(2, std::string("long enough to live on the heap"));
  auto views = std::make_unique<std::vector<std::string_view>>(texts->begin(), texts->end());
  const Column column = [&] {
    const Table table({Column::view("s", std::span<const std::string_view>(*views))});
    return gather(bound("case when true then s else 'x' end", table), table, Ids{0, 1}, "g");
  }();
  texts.reset();
  views.reset();
  EXPECT_EQ(column.value(1), Value(std::string("long enough to live on the heap")));
}

TEST(Gather, NamesTheLowestFailingRow) {
  const Table table({Column::own<std::int64_t>("a", {1, 0, 5, 0})});
  try {
    gather(bound("10 / a", table), table, Ids{3, 2, 1}, "g");
    FAIL() << "division by zero went through";
  } catch (const DataError& error) {
    EXPECT_NE(error.message().find("row 1"), std::string::npos) << error.message();
  }
}

TEST(AscendingOrder, SortsIndices) {
  EXPECT_EQ(ascending_order(Ids{30, 10, 20}), (Ids{1, 2, 0}));
  EXPECT_TRUE(ascending_order(Ids{1, 2, 3}).empty());
  EXPECT_TRUE(ascending_order(Ids{}).empty());
}

}  // namespace
}  // namespace skyrank::exec
