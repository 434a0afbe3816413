#include <arrow/api.h>
#include <arrow/c/bridge.h>
#include <gtest/gtest.h>

#include <skyrank/arrow.hpp>

// The Arrow C data interface against Arrow C++ itself, in both directions.
namespace skyrank {
namespace {

std::vector<Value> values(const Column& column) {
  std::vector<Value> all;
  for (std::int64_t row = 0; row < column.size(); ++row) all.push_back(column.value(row));
  return all;
}

std::shared_ptr<::arrow::Array> array_of(const std::shared_ptr<::arrow::DataType>& type, const std::string& digits,
                                         bool nulls) {
  auto builder = ::arrow::MakeBuilder(type).ValueOrDie();
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (nulls && i % 3 == 1) {
      EXPECT_TRUE(builder->AppendNull().ok());
    } else {
      const std::string digit(1, digits[i]);
      EXPECT_TRUE(builder->AppendScalar(*::arrow::MakeScalar(digit)->CastTo(type).ValueOrDie()).ok());
    }
  }
  return builder->Finish().ValueOrDie();
}

const std::vector<std::pair<std::shared_ptr<::arrow::DataType>, DataType>>& types() {
  static const std::vector<std::pair<std::shared_ptr<::arrow::DataType>, DataType>> kTypes = {
      {::arrow::int8(), Type::int8},       {::arrow::int16(), Type::int16},   {::arrow::int32(), Type::int32},
      {::arrow::int64(), Type::int64},     {::arrow::uint8(), Type::uint8},   {::arrow::uint16(), Type::uint16},
      {::arrow::uint32(), Type::uint32},   {::arrow::uint64(), Type::uint64}, {::arrow::float32(), Type::float32},
      {::arrow::float64(), Type::float64}, {::arrow::utf8(), Type::string},   {::arrow::large_utf8(), Type::string},
      {::arrow::boolean(), Type::boolean},
  };
  return kTypes;
}

std::shared_ptr<::arrow::RecordBatch> batch_of(const std::shared_ptr<::arrow::Array>& array) {
  return ::arrow::RecordBatch::Make(::arrow::schema({::arrow::field("x", array->type())}), array->length(), {array});
}

Table to_skyrank(const ::arrow::RecordBatch& batch) {
  ArrowArray array;
  ArrowSchema schema;
  EXPECT_TRUE(::arrow::ExportRecordBatch(batch, &array, &schema).ok());
  return import_arrow(&array, &schema);
}

std::shared_ptr<::arrow::RecordBatch> to_arrow(const Table& table) {
  ArrowArray array;
  ArrowSchema schema;
  export_arrow(table, &array, &schema);
  auto batch = ::arrow::ImportRecordBatch(&array, &schema).ValueOrDie();
  EXPECT_TRUE(batch->ValidateFull().ok()) << batch->ValidateFull().ToString();
  return batch;
}

Value value_of(const ::arrow::Scalar& scalar, DataType type) {
  if (!scalar.is_valid) return Null{};
  if (type.type == Type::boolean) return static_cast<const ::arrow::BooleanScalar&>(scalar).value;
  if (type.type == Type::string) return std::string(static_cast<const ::arrow::BaseBinaryScalar&>(scalar).view());
  if (is_floating(type.type)) return std::stod(scalar.ToString());
  return static_cast<std::int64_t>(std::stoll(scalar.ToString()));
}

void expect_same(const ::arrow::Array& expected, const Column& column) {
  ASSERT_EQ(column.size(), expected.length());
  for (std::int64_t row = 0; row < expected.length(); ++row) {
    EXPECT_EQ(column.value(row), value_of(*expected.GetScalar(row).ValueOrDie(), column.type()))
        << expected.type()->ToString() << " row " << row;
  }
}

TEST(ArrowLibrary, EveryTypeWithAndWithoutNullsAndSliced) {
  for (const auto& [arrow_type, type] : types()) {
    const std::string digits = type.type == Type::boolean ? "10011010011110001010" : "31415926535897932384";
    for (const bool nulls : {false, true}) {
      const auto whole = array_of(arrow_type, digits, nulls);
      for (const std::int64_t first : {0, 1, 7, 8, 9, 20}) {
        const auto slice = whole->Slice(first, std::min<std::int64_t>(9, 20 - first));
        const auto batch = batch_of(slice);
        const Table table = to_skyrank(*batch);
        EXPECT_EQ(table.column("x").type(), type);
        expect_same(*slice, table.column("x"));
        const auto back = to_arrow(table);
        EXPECT_TRUE(back->column(0)->Equals(slice)) << back->ToString() << slice->ToString();
      }
    }
  }
}

TEST(ArrowLibrary, SlicedStructsOfSlicedColumns) {
  const auto ints = array_of(::arrow::int32(), "123456789", true);
  const auto strings = array_of(::arrow::utf8(), "0123456789", true)->Slice(1);
  const auto batch = ::arrow::RecordBatch::Make(
      ::arrow::schema({::arrow::field("i", ::arrow::int32()), ::arrow::field("s", ::arrow::utf8())}), 9,
      {ints, strings});
  const auto parent = batch->ToStructArray().ValueOrDie()->Slice(2, 5);
  ArrowArray array;
  ArrowSchema schema;
  ASSERT_TRUE(::arrow::ExportArray(*parent, &array, &schema).ok());
  const Table table = import_arrow(&array, &schema);
  expect_same(*ints->Slice(2, 5), table.column("i"));
  expect_same(*strings->Slice(2, 5), table.column("s"));
}

TEST(ArrowLibrary, HalfFloats) {
  const std::vector<std::uint16_t> halves = {0x3C00, 0x3555, 0xFBFF, 0x0001};
  const auto array = std::make_shared<::arrow::HalfFloatArray>(4, ::arrow::Buffer::Wrap(halves));
  const Table table = to_skyrank(*batch_of(array));
  EXPECT_EQ(values(table.column(0)), (std::vector<Value>{1.0, 0.333251953125, -65504.0, 0x1p-24}));
  EXPECT_TRUE(to_arrow(table)->column(0)->Equals(array));
}

TEST(ArrowLibrary, DatesAndTimestamps) {
  const std::vector<std::int32_t> days = {17287, -1};
  const std::vector<std::int64_t> milliseconds = {17287LL * 86'400'000, -86'400'000};
  const std::vector<Value> expected = {Date{17287}, Date{-1}};
  const auto date32 = std::make_shared<::arrow::Date32Array>(2, ::arrow::Buffer::Wrap(days));
  const auto date64 = std::make_shared<::arrow::Date64Array>(2, ::arrow::Buffer::Wrap(milliseconds));
  EXPECT_EQ(values(to_skyrank(*batch_of(date32)).column(0)), expected);
  EXPECT_EQ(values(to_skyrank(*batch_of(date64)).column(0)), expected);
  EXPECT_TRUE(to_arrow(to_skyrank(*batch_of(date64)))->column(0)->Equals(date32));
  const std::vector<std::pair<::arrow::TimeUnit::type, TimeUnit>> units = {
      {::arrow::TimeUnit::SECOND, TimeUnit::second},
      {::arrow::TimeUnit::MILLI, TimeUnit::millisecond},
      {::arrow::TimeUnit::MICRO, TimeUnit::microsecond},
      {::arrow::TimeUnit::NANO, TimeUnit::nanosecond}};
  for (const auto& [arrow_unit, unit] : units) {
    const auto zoned = std::make_shared<::arrow::TimestampArray>(::arrow::timestamp(arrow_unit, "America/New_York"), 2,
                                                                 ::arrow::Buffer::Wrap(milliseconds));
    const Table table = to_skyrank(*batch_of(zoned));
    EXPECT_EQ(table.column(0).type(), DataType(Type::timestamp, unit));
    EXPECT_EQ(table.column(0).value(0), (Value{Timestamp{milliseconds[0], unit}}));
    const auto back = to_arrow(table)->column(0);
    EXPECT_TRUE(back->type()->Equals(zoned->type()));
    EXPECT_TRUE(back->Equals(zoned));
    const auto plain = zoned->View(::arrow::timestamp(arrow_unit)).ValueOrDie();
    EXPECT_TRUE(to_arrow(to_skyrank(*batch_of(plain)))->column(0)->Equals(plain));
  }
}

TEST(ArrowLibrary, Dictionaries) {
  const auto words = array_of(::arrow::utf8(), "abcd", true);  // "b" is NULL
  for (const auto& index : {::arrow::int8(), ::arrow::int16(), ::arrow::int32(), ::arrow::int64(), ::arrow::uint8(),
                            ::arrow::uint16(), ::arrow::uint32(), ::arrow::uint64()}) {
    const auto indices = array_of(index, "0012331203", true);
    const auto array =
        ::arrow::DictionaryArray::FromArrays(::arrow::dictionary(index, ::arrow::utf8()), indices, words).ValueOrDie();
    const auto slice = array->Slice(2, 7);
    const Table table = to_skyrank(*batch_of(slice));
    ASSERT_EQ(table.column(0).type(), DataType(Type::string));
    const std::vector<Value> got = values(table.column(0));
    for (std::int64_t row = 0; row < slice->length(); ++row) {
      const auto scalar = slice->GetScalar(row).ValueOrDie();
      const auto word = static_cast<const ::arrow::DictionaryScalar&>(*scalar).GetEncodedValue().ValueOrDie();
      EXPECT_EQ(got[static_cast<std::size_t>(row)], value_of(*word, Type::string)) << row;
    }
    const auto back = to_arrow(table)->column(0);
    EXPECT_EQ(back->type_id(), ::arrow::Type::DICTIONARY);
    const Table again = to_skyrank(*batch_of(back));
    EXPECT_EQ(values(again.column(0)), got);
  }
}

TEST(ArrowLibrary, ImportedMemoryOutlivesTheArrowObjects) {
  std::optional<Table> table;
  {
    const auto batch = batch_of(array_of(::arrow::utf8(), "0123456789", false));
    table = to_skyrank(*batch);
  }
  EXPECT_EQ(table->column("x").value(9), Value{std::string("9")});
}

TEST(ArrowLibrary, ExportedMemoryOutlivesTheTable) {
  std::shared_ptr<::arrow::RecordBatch> batch;
  {
    const Table table({Column::own("x", std::vector<std::int64_t>{4, 5, 6}, {true, false, true}),
                       Column::own("s", std::vector<std::string>{"four", "five", "six"})});
    batch = to_arrow(table);
  }
  EXPECT_EQ(batch->num_rows(), 3);
  EXPECT_EQ(batch->column(0)->null_count(), 1);
  EXPECT_EQ(batch->column(1)->GetScalar(2).ValueOrDie()->ToString(), "six");
  const auto column = batch->column(1);
  batch.reset();
  EXPECT_EQ(column->GetScalar(1).ValueOrDie()->ToString(), "five");
}

TEST(ArrowLibrary, TablesWithoutRowsOrColumns) {
  EXPECT_EQ(to_arrow(Table::with_rows(5))->num_rows(), 5);
  for (const auto& [arrow_type, type] : types()) {
    const auto empty = ::arrow::MakeArrayOfNull(arrow_type, 0).ValueOrDie();
    const Table table = to_skyrank(*batch_of(empty));
    EXPECT_EQ(table.num_rows(), 0);
    EXPECT_TRUE(to_arrow(table)->column(0)->Equals(empty));
  }
}

}  // namespace
}  // namespace skyrank
