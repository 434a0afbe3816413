#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <stdexcept>

#include <skyrank/error.hpp>
#include <skyrank/table.hpp>

#include "tests/engine/column_values.hpp"

namespace skyrank {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <class Thrown, class Function>
std::string message_of(Function&& function) {
  try {
    function();
  } catch (const Thrown& error) {
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

template <class T>
class Integers : public ::testing::Test {};
using IntegerTypes = ::testing::Types<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t,
                                      std::uint16_t, std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(Integers, IntegerTypes);

TYPED_TEST(Integers, KeepTheirExtremes) {
  using Limits = std::numeric_limits<TypeParam>;
  const auto column = Column::own("x", std::vector<TypeParam>{Limits::min(), 0, 1, Limits::max()});
  EXPECT_EQ(column.type(), DataType(type_of<TypeParam>()));
  EXPECT_EQ(to_string(column.value(0)), std::to_string(Limits::min()));
  EXPECT_EQ(to_string(column.value(3)), std::to_string(Limits::max()));
  EXPECT_EQ(column.value(2), Value{std::int64_t{1}});
  EXPECT_FALSE(column.may_have_nulls());
}

TEST(Column, ViewsWithoutCopying) {
  std::vector<double> memory = {1, 2, 3};
  const auto column = Column::view("x", std::span<const double>(memory));
  EXPECT_EQ(column.data().values, memory.data());
  EXPECT_EQ(column.data().owner, nullptr);
  memory[1] = 7;
  EXPECT_EQ(column.value(1), Value{7.0});
}

TEST(Column, OwnsWithoutCopying) {
  std::vector<std::int64_t> memory = {1, 2, 3};
  const void* address = memory.data();
  const auto column = Column::own("x", std::move(memory));
  EXPECT_EQ(column.data().values, address);
  const Column copy = column;
  EXPECT_EQ(copy.data().values, address);
  EXPECT_NE(copy.data().owner, nullptr);
}

TEST(Column, OwnedMemoryOutlivesItsFirstColumn) {
  std::optional<Column> first = Column::own("x", std::vector<std::string>{"a", "", "longer than a small string"});
  const Column second = first->renamed("y");
  first.reset();
  EXPECT_EQ(second.name(), "y");
  EXPECT_THAT(values(second), ElementsAre(Value{std::string("a")}, Value{std::string()},
                                          Value{std::string("longer than a small string")}));
}

TEST(Column, StridesReachIntoStructs) {
  struct Row {
    std::int32_t id;
    float score;
    std::array<char, 3> tag;
  };
  const std::array<Row, 3> rows = {{{1, 0.5F, {}}, {2, 1.5F, {}}, {3, 2.5F, {}}}};
  const auto ids = Column::view_strided("id", Type::int32, &rows[0].id, 3, sizeof(Row));
  const auto scores = Column::view_strided("score", Type::float32, &rows[0].score, 3, sizeof(Row));
  const auto backwards =
      Column::view_strided("id", Type::int32, &rows[2].id, 3, -static_cast<std::int64_t>(sizeof(Row)));
  EXPECT_THAT(values(ids), ElementsAre(Value{std::int64_t{1}}, Value{std::int64_t{2}}, Value{std::int64_t{3}}));
  EXPECT_THAT(values(scores), ElementsAre(Value{0.5}, Value{1.5}, Value{2.5}));
  EXPECT_EQ(backwards.value(0), Value{std::int64_t{3}});
}

TEST(Column, NullsByFlags) {
  std::vector<bool> valid(20, true);
  valid[0] = valid[8] = valid[19] = false;
  const auto column = Column::own("x", std::vector<std::int32_t>(20, 4), valid);
  ASSERT_TRUE(column.may_have_nulls());
  for (std::size_t row = 0; row < valid.size(); ++row) {
    EXPECT_EQ(column.is_null(static_cast<std::int64_t>(row)), !valid[row]);
  }
  EXPECT_EQ(column.value(8), Value{Null{}});
  EXPECT_EQ(column.value(9), Value{std::int64_t{4}});
}

TEST(Column, FlagsThatAreAllTrueMakeNoBitmap) {
  EXPECT_FALSE(Column::own("x", std::vector<std::int32_t>{1, 2}, {true, true}).may_have_nulls());
}

TEST(Column, NullsByViewedBitsWithAnOffset) {
  const std::array<std::uint8_t, 2> bits = {0b1010'0000, 0b0000'0001};
  const std::vector<std::int16_t> memory = {1, 2, 3, 4};
  const auto column = Column::view("x", std::span<const std::int16_t>(memory), Validity{bits.data(), 5});
  EXPECT_THAT(values(column),
              ElementsAre(Value{std::int64_t{1}}, Value{Null{}}, Value{std::int64_t{3}}, Value{std::int64_t{4}}));
}

TEST(Column, Booleans) {
  const auto owned = Column::own("b", std::vector<bool>{true, false, true}, {true, true, false});
  EXPECT_EQ(owned.type(), DataType(Type::boolean));
  EXPECT_THAT(values(owned), ElementsAre(Value{true}, Value{false}, Value{Null{}}));
  const std::array<bool, 2> memory = {false, true};
  EXPECT_THAT(values(Column::view("b", std::span<const bool>(memory))), ElementsAre(Value{false}, Value{true}));
  const std::array<std::uint8_t, 2> bits = {0b0100'0000, 0b0000'0010};
  ColumnData packed;
  packed.type = Type::boolean;
  packed.layout = Layout::bits;
  packed.length = 4;
  packed.values = bits.data();
  packed.bit_offset = 6;
  EXPECT_THAT(values(Column("b", packed)), ElementsAre(Value{true}, Value{false}, Value{false}, Value{true}));
}

TEST(Column, ViewedStrings) {
  const std::vector<std::string_view> memory = {"one", "", "three"};
  const auto column = Column::view("s", std::span<const std::string_view>(memory));
  EXPECT_EQ(column.type(), DataType(Type::string));
  EXPECT_EQ(column.data().string_at(2).data(), memory[2].data());
  EXPECT_THAT(values(column),
              ElementsAre(Value{std::string("one")}, Value{std::string()}, Value{std::string("three")}));
}

TEST(Column, OwnedStringsKeepEveryByte) {
  const std::vector<std::string> strings = {std::string("a\0b", 3), "", "\xff\xfe", "end"};
  const auto column = Column::own("s", strings, {true, true, true, false});
  for (std::size_t row = 0; row < 3; ++row) {
    EXPECT_EQ(column.value(static_cast<std::int64_t>(row)), Value{strings[row]});
  }
  EXPECT_EQ(column.value(3), Value{Null{}});
  EXPECT_EQ(Column::own("s", std::vector<std::string>{}).size(), 0);
  EXPECT_EQ(Column::own("s", std::vector<std::string>{"", ""}).value(1), Value{std::string()});
}

template <class Index>
void expect_dictionary_lookup() {
  const auto words = Column::own("words", std::vector<std::string>{"no", "yes"});
  const std::vector<Index> indices = {1, 0, 1};
  ColumnData data;
  data.type = Type::string;
  data.layout = Layout::dictionary;
  data.length = 3;
  data.values = indices.data();
  data.stride = sizeof(Index);
  data.index_type = type_of<Index>();
  data.dictionary = std::make_shared<const ColumnData>(words.data());
  EXPECT_THAT(values(Column("d", data)),
              ElementsAre(Value{std::string("yes")}, Value{std::string("no")}, Value{std::string("yes")}));
}

TEST(Column, DictionariesWithEveryIndexType) {
  expect_dictionary_lookup<std::int8_t>();
  expect_dictionary_lookup<std::int16_t>();
  expect_dictionary_lookup<std::int32_t>();
  expect_dictionary_lookup<std::int64_t>();
  expect_dictionary_lookup<std::uint8_t>();
  expect_dictionary_lookup<std::uint16_t>();
  expect_dictionary_lookup<std::uint32_t>();
  expect_dictionary_lookup<std::uint64_t>();
}

TEST(Column, Temporal) {
  EXPECT_EQ(Column::own("d", std::vector<Date>{{17287}}).value(0), (Value{Date{17287}}));
  const std::vector<std::int64_t> ticks = {1493640000123};
  const DataType type(Type::timestamp, TimeUnit::millisecond);
  const auto column = Column::view_as("t", type, std::span<const std::int64_t>(ticks));
  EXPECT_EQ(column.type(), type);
  EXPECT_EQ(column.value(0), (Value{Timestamp{1493640000123, TimeUnit::millisecond}}));
  EXPECT_EQ(Column::own_as("d", Type::date, std::vector<std::int32_t>{-1}).value(0), (Value{Date{-1}}));
}

TEST(Column, Float16AndFloat32WidenExactly) {
  EXPECT_EQ(Column::own("h", std::vector<Float16>{{0x3C00}, {0x3555}}).value(1), Value{0.333251953125});
  EXPECT_EQ(Column::own("f", std::vector<float>{0.1F}).value(0), Value{double{0.1F}});
}

TEST(Column, RefusesWhatDoesNotFit) {
  EXPECT_EQ(message_of<DataError>([] {
              const std::vector<std::int32_t> memory(1);
              Column::view_as("t", DataType(Type::timestamp, TimeUnit::microsecond),
                              std::span<const std::int32_t>(memory));
            }),
            "column 't' of type timestamp[us] needs values of 8 bytes, not 4");
  EXPECT_EQ(message_of<DataError>([] {
              Column::own("x", std::vector<int>{1, 2}, {true});
            }),
            "column 'x' has 2 values but 1 validity flags");
  EXPECT_EQ(message_of<DataError>([] { Column::view_strided("x", Type::int32, nullptr, 3, 4); }),
            "column 'x' has 3 values at a null pointer");
  EXPECT_THAT(message_of<DataError>([] { Column::view_strided("x", Type::int32, nullptr, -1, 4); }),
              HasSubstr("negative length -1"));
  EXPECT_THAT(message_of<DataError>([] { Column::view_strided("x", Type::string, "abc", 1, 1); }),
              HasSubstr("string_view"));
  EXPECT_EQ(Column::view_strided("x", Type::int32, nullptr, 0, 4).size(), 0);
}

TEST(Column, RowsOutsideAreRefused) {
  const auto column = Column::own("x", std::vector<int>{1, 2});
  EXPECT_THROW(column.value(2), std::out_of_range);
  EXPECT_THROW(column.value(-1), std::out_of_range);
}

TEST(Table, FindsColumnsByName) {
  const Table table({Column::own("price", std::vector<int>{1, 2}), Column::own("rating", std::vector<float>{1, 2})});
  EXPECT_EQ(table.num_rows(), 2);
  EXPECT_EQ(table.num_columns(), 2);
  EXPECT_EQ(table.find("rating"), 1);
  EXPECT_EQ(table.find("Rating"), std::nullopt);
  EXPECT_EQ(table.column("rating").type(), DataType(Type::float32));
  EXPECT_EQ(message_of<BindError>([&] { table.column("prise"); }), "there is no column 'prise'; did you mean 'price'?");
  EXPECT_EQ(message_of<BindError>([&] { table.column("stars"); }), "there is no column 'stars'");
}

TEST(Table, RefusesUnequalLengthsAndDoubleNames) {
  EXPECT_EQ(message_of<DataError>([] {
              Table({Column::own("a", std::vector<int>{1, 2}), Column::own("b", std::vector<int>{1})});
            }),
            "columns of a table must have equal lengths: 'a' has 2 rows, 'b' has 1");
  EXPECT_EQ(message_of<DataError>([] {
              Table({Column::own("a", std::vector<int>{1}), Column::own("a", std::vector<int>{1})});
            }),
            "two columns are named 'a'");
}

TEST(Table, MayHaveNoColumnsOrNoRows) {
  EXPECT_EQ(Table().num_rows(), 0);
  EXPECT_EQ(Table::with_rows(5).num_rows(), 5);
  EXPECT_EQ(Table::with_rows(5).num_columns(), 0);
  EXPECT_EQ(Table({Column::own("a", std::vector<int>{})}).num_rows(), 0);
  EXPECT_THROW(Table::with_rows(-1), DataError);
}

}  // namespace
}  // namespace skyrank
