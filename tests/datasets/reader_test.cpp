#include "datasets/reader.hpp"

#include <arrow/array.h>
#include <arrow/array/builder_binary.h>
#include <arrow/array/builder_decimal.h>
#include <arrow/array/builder_dict.h>
#include <arrow/array/builder_nested.h>
#include <arrow/array/builder_primitive.h>
#include <arrow/io/file.h>
#include <arrow/ipc/writer.h>
#include <arrow/record_batch.h>
#include <arrow/table.h>
#include <arrow/type.h>
#include <arrow/util/decimal.h>
#include <arrow/util/float16.h>
#include <parquet/arrow/writer.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <chrono>
#include <numeric>
#include <random>
#include <stop_token>
#include <thread>
#include <utility>

#include "datasets/input/files.hpp"
#include "datasets/write/writer.hpp"
#include "tests/build.hpp"
#include "tests/datasets/support.hpp"
#include "tests/fork.hpp"

namespace skyrank::datasets {
namespace {

using test::error_of;
using test::schema_of;
using test::TemporaryFolder;
using test::values_of;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

using ArrayPtr = std::shared_ptr<arrow::Array>;
using Fields = std::vector<std::pair<std::string, ArrayPtr>>;
using Strings = std::vector<std::string>;

template <class Builder>
ArrayPtr finish(Builder& builder) {
  return builder.Finish().ValueOrDie();
}

template <class Builder, class T>
ArrayPtr array_of(const std::vector<T>& values) {
  Builder builder;
  for (const T& value : values) EXPECT_TRUE(builder.Append(value).ok());
  return finish(builder);
}

ArrayPtr int64s(const std::vector<std::int64_t>& values) { return array_of<arrow::Int64Builder>(values); }
ArrayPtr strings(const Strings& values) { return array_of<arrow::StringBuilder>(values); }

ArrayPtr decimals(int precision, int scale, const Strings& values) {
  arrow::Decimal128Builder builder(arrow::decimal128(precision, scale));
  for (const std::string& value : values) {
    EXPECT_TRUE(builder.Append(arrow::Decimal128::FromString(value).ValueOrDie()).ok());
  }
  return finish(builder);
}

ArrayPtr decimals256(int precision, int scale, const Strings& values) {
  arrow::Decimal256Builder builder(arrow::decimal256(precision, scale));
  for (const std::string& value : values) {
    EXPECT_TRUE(builder.Append(arrow::Decimal256::FromString(value).ValueOrDie()).ok());
  }
  return finish(builder);
}

ArrayPtr lists(int rows = 2) {
  arrow::ListBuilder builder(arrow::default_memory_pool(), std::make_shared<arrow::Int32Builder>());
  EXPECT_TRUE(builder.Append().ok());
  EXPECT_TRUE(static_cast<arrow::Int32Builder*>(builder.value_builder())->AppendValues({1, 2}).ok());
  for (int row = 1; row < rows; ++row) EXPECT_TRUE(builder.Append().ok());
  return finish(builder);
}

std::shared_ptr<arrow::Table> table_of(const Fields& fields) {
  arrow::FieldVector schema;
  arrow::ArrayVector arrays;
  for (const auto& [name, array] : fields) {
    schema.push_back(arrow::field(name, array->type()));
    arrays.push_back(array);
  }
  return arrow::Table::Make(arrow::schema(schema), arrays);
}

enum class Store { parquet, file, stream };

// Chunks become row groups or record batches.
std::filesystem::path store(const std::filesystem::path& path, const std::shared_ptr<arrow::Table>& table, Store how,
                            std::int64_t chunk = 1 << 20) {
  const auto out = arrow::io::FileOutputStream::Open(path.string()).ValueOrDie();
  if (how == Store::parquet) {
    const auto properties = parquet::ArrowWriterProperties::Builder().store_schema()->build();
    EXPECT_TRUE(parquet::arrow::WriteTable(*table, arrow::default_memory_pool(), out, chunk,
                                           parquet::default_writer_properties(), properties)
                    .ok());
  } else {
    const auto writer = (how == Store::file ? arrow::ipc::MakeFileWriter(out, table->schema())
                                            : arrow::ipc::MakeStreamWriter(out, table->schema()))
                            .ValueOrDie();
    EXPECT_TRUE(writer->WriteTable(*table, chunk).ok());
    EXPECT_TRUE(writer->Close().ok());
  }
  EXPECT_TRUE(out->Close().ok());
  return path;
}

ReadOptions only(Strings columns) {
  ReadOptions options;
  options.columns = std::move(columns);
  return options;
}

class ColumnarFiles : public ::testing::TestWithParam<Store> {
 protected:
  std::filesystem::path write(const std::string& stem, const Fields& fields, std::int64_t chunk = 1 << 20) {
    const std::string extension = GetParam() == Store::parquet ? ".parquet" : ".arrow";
    return store(folder_ / (stem + extension), table_of(fields), GetParam(), chunk);
  }

  TemporaryFolder folder_;
};

INSTANTIATE_TEST_SUITE_P(Stores, ColumnarFiles, ::testing::Values(Store::parquet, Store::file, Store::stream),
                         [](const auto& test) {
                           return test.param == Store::parquet ? "Parquet"
                                  : test.param == Store::file  ? "File"
                                                               : "Stream";
                         });

TEST_P(ColumnarFiles, EveryTypeThatSkyRankHolds) {
  arrow::TimestampBuilder zoned(arrow::timestamp(arrow::TimeUnit::MICRO, "Europe/Oslo"), arrow::default_memory_pool());
  ASSERT_TRUE(zoned.AppendValues({0, -1}).ok());
  arrow::HalfFloatBuilder half;
  ASSERT_TRUE(half.AppendValues({arrow::util::Float16(1.5F).bits(), arrow::util::Float16(-0.25F).bits()}).ok());
  arrow::StringDictionaryBuilder words;
  ASSERT_TRUE(words.Append("x").ok());
  ASSERT_TRUE(words.AppendNull().ok());
  const auto file = write("types", {{"b", array_of<arrow::BooleanBuilder>(std::vector<bool>{true, false})},
                                    {"i8", array_of<arrow::Int8Builder>(std::vector<std::int8_t>{-128, 127})},
                                    {"u16", array_of<arrow::UInt16Builder>(std::vector<std::uint16_t>{0, 65535})},
                                    {"i32", array_of<arrow::Int32Builder>(std::vector<std::int32_t>{-7, 7})},
                                    {"u64", array_of<arrow::UInt64Builder>(std::vector<std::uint64_t>{1, ~0ULL})},
                                    {"f16", finish(half)},
                                    {"f32", array_of<arrow::FloatBuilder>(std::vector<float>{0.5F, -1})},
                                    {"f64", array_of<arrow::DoubleBuilder>(std::vector<double>{0.1, 1e300})},
                                    {"d", array_of<arrow::Date32Builder>(std::vector<std::int32_t>{0, -1})},
                                    {"t", finish(zoned)},
                                    {"s", strings({"a", ""})},
                                    {"ls", array_of<arrow::LargeStringBuilder>(Strings{"b", "c"})},
                                    {"bytes", array_of<arrow::BinaryBuilder>(Strings{"ø", "z"})},
                                    {"dict", finish(words)},
                                    {"dec", decimals(20, 0, {"9223372036854775807", "-5"})}});
  const Table table = read({file});
  EXPECT_THAT(schema_of(table), ElementsAre("b:bool", "i8:int8", "u16:uint16", "i32:int32", "u64:uint64", "f16:float16",
                                            "f32:float32", "f64:float64", "d:date", "t:timestamp[us]", "s:string",
                                            "ls:string", "bytes:string", "dict:string", "dec:decimal(20,0)"));
  EXPECT_THAT(values_of(table, "b"), ElementsAre("true", "false"));
  EXPECT_THAT(values_of(table, "i8"), ElementsAre("-128", "127"));
  EXPECT_THAT(values_of(table, "u16"), ElementsAre("0", "65535"));
  EXPECT_THAT(values_of(table, "u64"), ElementsAre("1", "18446744073709551615"));
  EXPECT_THAT(values_of(table, "f16"), ElementsAre("1.5", "-0.25"));
  EXPECT_THAT(values_of(table, "f64"), ElementsAre("0.1", "1e+300"));
  EXPECT_THAT(values_of(table, "d"), ElementsAre("1970-01-01", "1969-12-31"));
  EXPECT_THAT(values_of(table, "t"), ElementsAre("1970-01-01 00:00:00.000000", "1969-12-31 23:59:59.999999"));
  EXPECT_THAT(values_of(table, "s"), ElementsAre("a", ""));
  EXPECT_THAT(values_of(table, "ls"), ElementsAre("b", "c"));
  EXPECT_THAT(values_of(table, "bytes"), ElementsAre("ø", "z"));
  EXPECT_THAT(values_of(table, "dict"), ElementsAre("x", "NULL"));
  EXPECT_THAT(values_of(table, "dec"), ElementsAre("9223372036854775807", "-5"));
  // Names and types are known without the rows.
  const Table schema = read_schema({file});
  EXPECT_EQ(schema.num_rows(), 0);
  EXPECT_EQ(schema_of(schema), schema_of(table));
}

TEST_P(ColumnarFiles, ManyChunksBecomeOneColumn) {
  std::vector<std::int64_t> numbers;
  Strings texts;
  arrow::StringDictionaryBuilder words;
  for (int i = 0; i < 1000; ++i) {
    numbers.push_back(i);
    texts.push_back("t" + std::to_string(i));
    ASSERT_TRUE(words.Append("w" + std::to_string(i % 300)).ok());
  }
  const Table table =
      read({write("chunks", {{"n", int64s(numbers)}, {"s", strings(texts)}, {"w", finish(words)}}, 70)});
  ASSERT_EQ(table.num_rows(), 1000);
  for (std::int64_t row = 0; row < 1000; ++row) {
    ASSERT_EQ(std::get<std::int64_t>(table.column("n").value(row)), row);
    ASSERT_EQ(table.column("s").data().string_at(row), "t" + std::to_string(row));
    ASSERT_EQ(table.column("w").data().string_at(row), "w" + std::to_string(row % 300));
  }
}

TEST_P(ColumnarFiles, SomeColumnsInAnyOrder) {
  const auto file =
      write("some", {{"a", int64s({1, 2})}, {"tags", lists()}, {"b", strings({"x", "y"})}, {"c", int64s({5, 6})}});
  EXPECT_THAT(schema_of(read({file}, only({"c", "b"}))), ElementsAre("c:int64", "b:string"));
  EXPECT_THAT(values_of(read({file}, only({"c", "b"})), "c"), ElementsAre("5", "6"));
  const Table none = read({file}, only({}));
  EXPECT_EQ(none.num_columns(), 0);
  EXPECT_EQ(none.num_rows(), 2);
  EXPECT_THAT(error_of<DataError>([&] { read({file}, only({"z"})); }), HasSubstr("there is no column 'z'"));
}

TEST_P(ColumnarFiles, TypesThatSkyRankLacks) {
  const auto file =
      write("lacks", {{"a", int64s({1, 2})}, {"tags", lists()}, {"price", decimals256(50, 2, {"1.25", "2.50"})}});
  EXPECT_THAT(schema_of(read({file})), ElementsAre("a:int64"));
  const ColumnNames names = column_names({file});
  EXPECT_THAT(names.names, ElementsAre("a"));
  ASSERT_EQ(names.unsupported.size(), 2U);
  EXPECT_EQ(names.unsupported[0].name, "tags");
  EXPECT_THAT(names.unsupported[0].type, HasSubstr("list"));
  EXPECT_THAT(error_of<DataError>([&] { read({file}, only({"tags"})); }),
              AllOf(HasSubstr(file.string()), HasSubstr("column 'tags' has type list")));
  EXPECT_THAT(error_of<DataError>([&] { read({file}, only({"price"})); }),
              AllOf(HasSubstr("decimal256(50, 2)"), HasSubstr("cast it to a decimal of at most 38 digits")));
}

TEST_P(ColumnarFiles, DecimalsAreReadExactly) {
  const std::string nines(38, '9');
  const Table table = read({write("decimals", {{"short", decimals(18, 2, {"9999999999999999.99", "-0.05"})},
                                               {"long", decimals(38, 0, {nines, "-" + nines})},
                                               {"deep", decimals(5, 5, {"0.00001", "-0.99999"})},
                                               {"wide", decimals256(38, 1, {"1.5", "-2.0"})}})});
  EXPECT_THAT(schema_of(table),
              ElementsAre("short:decimal(18,2)", "long:decimal(38,0)", "deep:decimal(5,5)", "wide:decimal(38,1)"));
  EXPECT_THAT(values_of(table, "short"), ElementsAre("9999999999999999.99", "-0.05"));
  EXPECT_THAT(values_of(table, "long"), ElementsAre(nines, "-" + nines));
  EXPECT_THAT(values_of(table, "deep"), ElementsAre("0.00001", "-0.99999"));
  EXPECT_THAT(values_of(table, "wide"), ElementsAre("1.5", "-2.0"));
}

TEST_P(ColumnarFiles, DecimalsOfSeveralFilesGetOneType) {
  const auto cents = write("cents", {{"a", decimals(6, 2, {"1.25"})}});
  const auto mills = write("mills", {{"a", decimals(5, 3, {"-2.125"})}});
  const auto whole = write("whole", {{"a", int64s({7})}});
  const Table both = read({cents, mills});
  EXPECT_THAT(schema_of(both), ElementsAre("a:decimal(7,3)"));
  EXPECT_THAT(values_of(both, "a"), ElementsAre("1.250", "-2.125"));
  const Table all = read({cents, whole});
  EXPECT_THAT(schema_of(all), ElementsAre("a:decimal(21,2)"));
  EXPECT_THAT(values_of(all, "a"), ElementsAre("1.25", "7.00"));
}

ArrayPtr bytes(const Strings& values) { return array_of<arrow::BinaryBuilder>(values); }

ArrayPtr dictionary_of(const ArrayPtr& entries, const std::vector<std::int32_t>& indices) {
  return arrow::DictionaryArray::FromArrays(arrow::dictionary(arrow::int32(), entries->type()),
                                            array_of<arrow::Int32Builder>(indices), entries)
      .ValueOrDie();
}

/// "name:type:reason" of each column that a table lacks.
Strings lacking(const Table& table) {
  Strings columns;
  for (const UnsupportedColumn& it : table.unsupported()) columns.push_back(it.name + ":" + it.type + ":" + it.reason);
  return columns;
}

TEST_P(ColumnarFiles, BytesThatAreNoTextAreLeftOut) {
  const ArrayPtr large = array_of<arrow::LargeBinaryBuilder>(Strings{"ok", "fine", "\xC3"});
  const auto file = write(
      "bytes", {{"a", int64s({1, 2, 3})}, {"b", bytes({"ok", "\xFF", "x"})}, {"c", large}, {"tags", lists(3)}}, 1);
  const Table table = read({file});
  EXPECT_THAT(schema_of(table), ElementsAre("a:int64"));
  EXPECT_THAT(values_of(table, "a"), ElementsAre("1", "2", "3"));
  EXPECT_THAT(lacking(table), ElementsAre(StartsWith("tags:list<"), "b:binary:row 1 is not UTF-8 text",
                                          "c:large_binary:row 2 is not UTF-8 text"));
  // Columns that are not read are not looked at.
  EXPECT_THAT(lacking(read({file}, only({"a"}))), ElementsAre(StartsWith("tags:list<")));
}

TEST_P(ColumnarFiles, BytesThatAreNoTextAreRefusedByName) {
  const auto file = write("named", {{"a", int64s({1, 2})}, {"b", bytes({"ok", "\xFF"})}, {"tags", lists()}});
  EXPECT_THAT(error_of<DataError>([&] {
                read({file}, only({"b", "a"}));
              }),
              AllOf(StartsWith(file.string() + ": column 'b' has type binary, which SkyRank does not hold"),
                    HasSubstr("row 1 is not UTF-8 text")));
  ReadOptions lenient = only({"b", "tags", "a"});
  lenient.skip_unsupported = true;
  const Table table = read({file}, lenient);
  EXPECT_THAT(schema_of(table), ElementsAre("a:int64"));
  EXPECT_THAT(lacking(table), ElementsAre(StartsWith("tags:list<"), "b:binary:row 1 is not UTF-8 text"));
}

TEST_P(ColumnarFiles, DictionariesOfBytesThatAreNoTextAreLeftOut) {
  const ArrayPtr entries = bytes({"ok", "\xFF"});
  const Table table = read({write("dictionaries", {{"good", dictionary_of(bytes({"x", "y"}), {1, 0, 1})},
                                                   {"bad", dictionary_of(entries, {0, 0, 1})}})});
  EXPECT_THAT(schema_of(table), ElementsAre("good:string"));
  EXPECT_THAT(values_of(table, "good"), ElementsAre("y", "x", "y"));
  EXPECT_THAT(lacking(table), ElementsAre(AllOf(StartsWith("bad:"), HasSubstr("binary"),
                                                ::testing::EndsWith("row 2 is not UTF-8 text"))));
}

TEST_P(ColumnarFiles, AColumnOfBytesIsTextInAllFilesOrInNone) {
  const auto good = write("good", {{"a", int64s({1})}, {"b", bytes({"ok"})}});
  const auto text = write("text", {{"a", int64s({2})}, {"b", strings({"fine"})}});
  const auto bad = write("bad", {{"a", int64s({3})}, {"b", bytes({"\xFF"})}});
  EXPECT_THAT(values_of(read({good, text}), "b"), ElementsAre("ok", "fine"));
  for (const auto& files : {std::vector{good, text, bad}, std::vector{bad, text, good}}) {
    const Table table = read(files);
    EXPECT_THAT(schema_of(table), ElementsAre("a:int64"));
    EXPECT_EQ(table.num_rows(), 3);
    EXPECT_THAT(lacking(table), ElementsAre("b:binary:" + bad.string() + ": row 0 is not UTF-8 text"));
  }
}

TEST_P(ColumnarFiles, SourcesJudgeColumnsOfBytesBySomeRows) {
  const auto file = write("sample",
                          {{"a", int64s({1, 2, 3, 4})},
                           {"b", bytes({"ok", "fine", "\xFF", "x"})},
                           {"c", bytes({"ok", "\xC3\xA9", "", "x"})},
                           {"d", dictionary_of(bytes({"ok", "\xFF"}), {0, 0, 1, 0})},
                           {"tags", lists(4)}},
                          1);
  const auto source = open_source({file});
  if (GetParam() == Store::stream) GTEST_SKIP() << "streams are left to the reader";
  ASSERT_NE(source, nullptr);
  EXPECT_THAT(schema_of(source->schema()), ElementsAre("a:int64", "c:string"));
  EXPECT_THAT(lacking(source->schema()),
              ElementsAre(StartsWith("tags:list<"), "b:binary:row 2 is not UTF-8 text",
                          AllOf(StartsWith("d:"), ::testing::EndsWith("its dictionary is not all UTF-8 text"))));
  const std::vector<RowId> rows = {1, 3};
  EXPECT_THAT(values_of(source->read_rows(rows, std::vector<int>{1}).table, "c"), ElementsAre("\xC3\xA9", "x"));
  EXPECT_THAT(error_of<DataError>([&] {
                open_source({file}, only({"a", "b"}));
              }),
              AllOf(StartsWith(file.string() + ": column 'b' has type binary, which SkyRank does not hold"),
                    HasSubstr("row 2 is not UTF-8 text")));
}

TEST_P(ColumnarFiles, SourcesRefuseBytesThatSomeRowsTookForText) {
  const auto file = write("unseen", {{"a", int64s({1, 2, 3, 4})}, {"b", bytes({"ok", "\xFF", "fine", "x"})}}, 1);
  const auto source = open_source({file});
  if (GetParam() == Store::stream) GTEST_SKIP() << "streams are left to the reader";
  ASSERT_NE(source, nullptr);
  EXPECT_THAT(schema_of(source->schema()), ElementsAre("a:int64", "b:string"));
  const auto refused = AllOf(StartsWith(file.string() + ": column 'b' has type binary"),
                             HasSubstr("some of its values are not UTF-8 text"));
  EXPECT_THAT(error_of<DataError>([&] { source->read(std::vector<std::size_t>{1}, std::vector<int>{1}); }), refused);
  EXPECT_THAT(error_of<DataError>([&] { source->read_rows(std::vector<RowId>{0, 1}, std::vector<int>{1}); }), refused);
  EXPECT_EQ(source->read(std::vector<std::size_t>{0, 2}, std::vector<int>{1}).table.num_rows(), 2);
}

TEST_P(ColumnarFiles, AFolderGivesNoColumnThatTheFileStoresInAnyType) {
  std::filesystem::create_directories(folder_.path() / "tags=1");
  const auto file = write("tags=1/part", {{"a", int64s({1, 2})}, {"tags", lists()}});
  ReadOptions options;
  options.folder_root = folder_.path();
  EXPECT_THAT(error_of<DataError>([&] { read({file}, options); }), HasSubstr("stores a column 'tags', and its folder"));
}

TEST_P(ColumnarFiles, StringsThatAreNotUtf8AreRefusedWithTheirRow) {
  const Strings values{"ok", "fine", "\xC3("};
  const auto refusal = [&](const ArrayPtr& column) {
    const auto file = write("strings", {{"a", int64s({1, 2, 3})}, {"s", column}}, 2);
    return error_of<DataError>([&] { read({file}); });
  };
  const auto expected = [](const std::string& type) {
    return AllOf(HasSubstr("strings."), HasSubstr("column 's' has type " + type),
                 HasSubstr("but row 2 is not valid UTF-8"));
  };
  EXPECT_THAT(refusal(strings(values)), expected("string"));
  EXPECT_THAT(refusal(array_of<arrow::LargeStringBuilder>(values)), expected("large_string"));
  EXPECT_THAT(refusal(dictionary_of(strings(values), {0, 1, 2})), expected("string"));
}

TEST_P(ColumnarFiles, EmptyTables) {
  const Table table = read({write("empty", {{"a", int64s({})}, {"s", strings({})}})});
  EXPECT_EQ(table.num_rows(), 0);
  EXPECT_THAT(schema_of(table), ElementsAre("a:int64", "s:string"));
}

TEST_P(ColumnarFiles, DamageIsRefused) {
  std::vector<std::int64_t> numbers(1000);
  const auto file = write("whole", {{"a", int64s(numbers)}, {"s", strings(Strings(1000, "text"))}});
  const std::string bytes = test::content_of(file);
  const std::string extension = file.extension();
  for (const std::size_t size : {std::size_t{0}, std::size_t{3}, std::size_t{20}, bytes.size() / 2}) {
    const auto cut = folder_.write("cut" + extension, bytes.substr(0, size));
    EXPECT_THAT(error_of<DataError>([&] { read({cut}); }), HasSubstr(cut.string())) << size;
  }
  const auto text = folder_.write("text" + extension, "a,b\n1,2\n");
  EXPECT_THAT(error_of<DataError>([&] { read({text}); }), HasSubstr("that can be read"));
  // Whatever a flipped byte does, it is a table or an error of ours.
  for (std::size_t at = 0; at < bytes.size(); at += 1 + bytes.size() / 400) {
    std::string flipped = bytes;
    flipped[at] = static_cast<char>(~flipped[at]);
    try {
      read({folder_.write("flipped" + extension, flipped)});
    } catch (const Error&) {
    }
  }
}

TEST_P(ColumnarFiles, SeveralFiles) {
  const auto a = write("a", {{"n", array_of<arrow::Int8Builder>(std::vector<std::int8_t>{-1})}, {"s", strings({"x"})}});
  const auto b =
      write("b", {{"s", strings({"y"})}, {"n", array_of<arrow::UInt16Builder>(std::vector<std::uint16_t>{65535})}});
  const Table table = read({a, b});
  EXPECT_THAT(schema_of(table), ElementsAre("n:int32", "s:string"));
  EXPECT_THAT(values_of(table, "n"), ElementsAre("-1", "65535"));
  EXPECT_THAT(values_of(table, "s"), ElementsAre("x", "y"));
  EXPECT_EQ(schema_of(read_schema({a, b})), schema_of(table));
  EXPECT_EQ(read({a, b}, only({})).num_rows(), 2);
}

TEST_P(ColumnarFiles, SeveralFilesThatDoNotFit) {
  const auto a = write("a", {{"n", int64s({(std::int64_t{1} << 53) + 1})}});
  const auto fraction = write("fraction", {{"n", array_of<arrow::DoubleBuilder>(std::vector<double>{0.5})}});
  const auto text = write("text", {{"n", strings({"x"})}});
  const auto other = write("other", {{"m", int64s({1})}});
  const auto more = write("more", {{"n", int64s({1})}, {"m", int64s({1})}});
  const auto refusal = [&](const std::filesystem::path& file) { return error_of<DataError>([&] { read({a, file}); }); };
  EXPECT_THAT(refusal(fraction), AllOf(StartsWith(a.string() + ": column 'n' holds 9007199254740993 as int64"),
                                       HasSubstr(fraction.string()), HasSubstr("does not hold exactly")));
  EXPECT_THAT(refusal(text), AllOf(HasSubstr(text.string()), HasSubstr("column 'n' is string"), HasSubstr("int64")));
  EXPECT_THAT(refusal(other), AllOf(HasSubstr(other.string()), HasSubstr("has no column 'n'")));
  EXPECT_THAT(refusal(more), AllOf(HasSubstr(more.string()), HasSubstr("has a column 'm'")));
}

TEST(Reader, CsvFilesAgreeOnTheWiderType) {
  const TemporaryFolder folder;
  const auto a = folder.write("a.csv", "i,d,s,u,n\n1,2020-01-01,007,1,\n");
  const auto b = folder.write("b.csv", "n,u,s,d,i\n5,18446744073709551615,x,2020-01-01 06:00:00,0.5\n");
  const Table table = read({a, b});
  EXPECT_THAT(schema_of(table), ElementsAre("i:float64", "d:timestamp[s]", "s:string", "u:uint64", "n:int64"));
  EXPECT_THAT(values_of(table, "i"), ElementsAre("1", "0.5"));
  EXPECT_THAT(values_of(table, "d"), ElementsAre("2020-01-01 00:00:00", "2020-01-01 06:00:00"));
  EXPECT_THAT(values_of(table, "s"), ElementsAre("007", "x"));
  EXPECT_THAT(values_of(table, "u"), ElementsAre("1", "18446744073709551615"));
  EXPECT_THAT(values_of(table, "n"), ElementsAre("NULL", "5"));
  EXPECT_EQ(schema_of(read_schema({a, b})), schema_of(table));
}

TEST_P(ColumnarFiles, IntegersBesideFloatsKeepTheirDigits) {
  const auto whole = write("whole", {{"n", int64s({std::int64_t{1} << 60, -1})}});
  const auto fraction = write("fraction", {{"n", array_of<arrow::DoubleBuilder>(std::vector<double>{0.5})}});
  const Table table = read({whole, fraction});
  EXPECT_THAT(schema_of(table), ElementsAre("n:float64"));
  EXPECT_THAT(values_of(table, "n"), ElementsAre("1.152921504606847e+18", "-1", "0.5"));
}

TEST_P(ColumnarFiles, IntegersWithAndWithoutASignAreTypedByTheirValues) {
  const auto small =
      write("small", {{"n", array_of<arrow::UInt64Builder>(std::vector<std::uint64_t>{1, (1ULL << 63) - 1})}});
  const auto large = write("large", {{"n", array_of<arrow::UInt64Builder>(std::vector<std::uint64_t>{~0ULL})}});
  const auto negative = write("negative", {{"n", int64s({-1})}});
  const auto positive = write("positive", {{"n", int64s({7})}});
  EXPECT_THAT(schema_of(read({small, negative})), ElementsAre("n:int64"));
  EXPECT_THAT(values_of(read({negative, small}), "n"), ElementsAre("-1", "1", "9223372036854775807"));
  EXPECT_THAT(schema_of(read({positive, large})), ElementsAre("n:uint64"));
  EXPECT_THAT(error_of<DataError>([&] {
                read({negative, large});
              }),
              AllOf(StartsWith(negative.string() + ": column 'n' has negative numbers (int64)"),
                    HasSubstr(large.string() + " has numbers beyond int64 (uint64)")));
}

TEST(Reader, CsvFilesWithoutACommonIntegerType) {
  const TemporaryFolder folder;
  const auto a = folder.write("a.csv", "u\n-1\n");
  const auto b = folder.write("b.csv", "u\n18446744073709551615\n");
  EXPECT_THAT(error_of<DataError>([&] {
                read({a, b});
              }),
              AllOf(StartsWith(a.string() + ": column 'u' has negative numbers (int64)"),
                    HasSubstr(b.string() + " has numbers beyond int64 (uint64)")));
}

TEST(Reader, CsvFilesOfIntegersAndFloatsKeepTheirDigits) {
  const TemporaryFolder folder;
  const auto exact = folder.write("exact.csv", "a\n1152921504606846976\n");
  const auto inexact = folder.write("inexact.csv", "a\n1152921504606846977\n");
  const auto fraction = folder.write("fraction.csv", "a\n0.5\n");
  EXPECT_THAT(values_of(read({exact, fraction}), "a"), ElementsAre("1.152921504606847e+18", "0.5"));
  EXPECT_THAT(error_of<DataError>([&] {
                read({inexact, fraction});
              }),
              AllOf(StartsWith(inexact.string() + ": column 'a' holds 1152921504606846977 as int64"),
                    HasSubstr(fraction.string())));
}

/// Options whose progress calls `act` once, when the first bytes of a file have been read.
ReadOptions on_first_read(std::function<void()> act) {
  ReadOptions options;
  options.threads = 1;
  options.progress = [act = std::move(act), called = false](std::uint64_t, std::uint64_t) mutable {
    if (!std::exchange(called, true)) act();
  };
  return options;
}

TEST_P(ColumnarFiles, ChangesWhileTheyAreReadAreRefused) {
  const std::vector<std::int64_t> numbers(100'000, 42);
  const Fields fields = {{"a", int64s(numbers)}, {"b", int64s(numbers)}, {"s", strings(Strings(100'000, "text"))}};
  const auto bytes = test::content_of(write("whole", fields, 10'000));
  for (const std::size_t kept : {std::size_t{0}, std::size_t{100}, bytes.size() / 2}) {
    const auto file = write("cut", fields, 10'000);
    const auto cut = on_first_read([&] { std::filesystem::resize_file(file, kept); });
    EXPECT_THAT(error_of<DataError>([&] { read({file}, cut); }),
                StartsWith(file.string() + ": changed while it was read"))
        << kept;
  }
  const auto file = write("overwritten", fields, 10'000);
  const auto overwrite = on_first_read([&] {
    std::fstream out(file, std::ios::in | std::ios::out | std::ios::binary);
    out << std::string(bytes.size(), 'x');
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // so that the time of the change is another one
  EXPECT_THAT(error_of<DataError>([&] { read({file}, overwrite); }),
              StartsWith(file.string() + ": changed while it was read"));
}

TEST_P(ColumnarFiles, ChangesAfterReadingDoNotShow) {
  const auto file = write("later", {{"a", int64s({1, 2, 3})}, {"s", strings({"x", "y", "z"})}});
  const Table table = read({file});
  std::filesystem::resize_file(file, 0);
  EXPECT_THAT(values_of(table, "a"), ElementsAre("1", "2", "3"));
  EXPECT_THAT(values_of(table, "s"), ElementsAre("x", "y", "z"));
}

TEST(Reader, ACsvFileThatChangesWhileItIsReadIsRefused) {
  const TemporaryFolder folder;
  std::string text = "a,s\n";
  for (int i = 0; i < 500'000; ++i) text += std::to_string(i) + ",text\n";
  for (const std::size_t kept : {std::size_t{0}, std::size_t{100}, text.size() / 2}) {
    const auto file = folder.write("t.csv", text);
    const auto cut = on_first_read([&] { std::filesystem::resize_file(file, kept); });
    EXPECT_THAT(error_of<DataError>([&] { read({file}, cut); }),
                StartsWith(file.string() + ": changed while it was read"));
  }
}

TEST_P(ColumnarFiles, DamageIsNeverAFailureOfTheSystem) {
  std::vector<std::int64_t> numbers(300);
  std::iota(numbers.begin(), numbers.end(), 0);
  const auto file = write("small", {{"a", int64s(numbers)}, {"s", strings(Strings(300, "text"))}}, 100);
  const std::string bytes = test::content_of(file);
  std::mt19937 random(7);
  for (int variant = 0; variant < 400; ++variant) {
    std::string damaged = bytes;
    for (int flips = 0; flips <= variant % 4; ++flips) {
      damaged[random() % damaged.size()] ^= static_cast<char>(1U << (random() % 8));
    }
    try {
      read({folder_.write("damaged" + file.extension().string(), damaged)});
    } catch (const DataError&) {  // a ResourceError would end the test
    }
  }
}

TEST(Reader, FilesOfDifferentFormats) {
  const TemporaryFolder folder;
  const auto csv = folder.write("a.csv", "n,s\n1,x\n");
  const auto tsv = folder.write("b.tsv", "n\ts\n2\ty,z\n");
  const auto parquet =
      store(folder / "c.parquet", table_of({{"n", int64s({3})}, {"s", strings({"w"})}}), Store::parquet);
  const Table table = read({csv, tsv, parquet});
  EXPECT_THAT(values_of(table, "n"), ElementsAre("1", "2", "3"));
  EXPECT_THAT(values_of(table, "s"), ElementsAre("x", "y,z", "w"));
}

TEST(Reader, ColumnNamesOfCsv) {
  const TemporaryFolder folder;
  const auto file = folder.write("a.csv", "x,\"y z\",\n1,2,\n");
  EXPECT_THAT(column_names({file}).names, ElementsAre("x", "y z"));
  ReadOptions options;
  options.header = false;
  EXPECT_THAT(column_names({file}, options).names, ElementsAre("c0", "c1"));
}

TEST(Reader, ADictionaryWithANullEntryCanBeWrittenAgain) {
  const TemporaryFolder folder;
  arrow::StringBuilder entries;
  ASSERT_TRUE(entries.Append("x").ok() && entries.AppendNull().ok() && entries.Append("z").ok());
  arrow::Int32Builder indices;
  ASSERT_TRUE(indices.AppendValues({1, 0, 2, 1}).ok());
  const auto column = arrow::DictionaryArray::FromArrays(*indices.Finish(), *entries.Finish());
  const auto file = store(folder / "t.arrow", table_of({{"s", *column}}), Store::file);
  const Table table = read({file});
  EXPECT_THAT(values_of(table, "s"), ElementsAre("NULL", "x", "z", "NULL"));
  for (const char* name : {"u.parquet", "u.arrow", "u.csv"}) {
    write(table, folder / name, format_of(name));
    EXPECT_THAT(values_of(read({folder / name}), "s"), ElementsAre("NULL", "x", "z", "NULL")) << name;
  }
}

TEST(Reader, ReportsProgress) {
  const TemporaryFolder folder;
  std::string text = "a\n";
  for (int i = 0; i < 1'000'000; ++i) text += "12345\n";
  const auto a = folder.write("a.csv", text);
  const auto b = store(folder / "b.parquet", table_of({{"a", int64s({1, 2})}}), Store::parquet);
  const std::uint64_t size = text.size() + std::filesystem::file_size(b);
  std::vector<std::uint64_t> done;
  ReadOptions options;
  options.progress = [&](std::uint64_t bytes, std::uint64_t total) {
    EXPECT_EQ(total, size);
    done.push_back(bytes);
  };
  read({a, b}, options);
  EXPECT_GE(done.size(), 6U);
  EXPECT_TRUE(std::is_sorted(done.begin(), done.end()));
  EXPECT_EQ(done.back(), size);
}

/// Keeps the progress that a reader reports.
using Reports = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

Reports reports_of(const std::vector<std::filesystem::path>& files, int threads) {
  Reports reports;
  ReadOptions options;
  options.threads = threads;
  options.progress = [&](std::uint64_t done, std::uint64_t total) { reports.emplace_back(done, total); };
  read(files, options);
  return reports;
}

TEST(Reader, ProgressFollowsTextThatIsReadAgain) {
  const TemporaryFolder folder;
  std::string times = "a,b\n";
  std::string large = "a,b\n";
  std::string quotes = "a,b\n";
  for (int i = 0; i < 400'000; ++i) {
    times += "12:30:00,true\n";                             // a time to Arrow, text to SkyRank
    large += "9223372036854775809,true\n";                  // float64 at first
    quotes += i % 2 == 0 ? "\"\",true\n" : "12345,true\n";  // text at first
  }
  for (const int threads : tests::kSanitized ? std::vector{3} : std::vector{1, 3}) {
    // Walks over the text: one or two to guess, one to read again.
    for (const auto& [text, walks] : {std::pair(times, 2U), std::pair(large, 3U), std::pair(quotes, 3U)}) {
      const auto file = folder.write("t.csv", text);
      const Reports reports = reports_of({file}, threads);
      const auto [done, total] = reports.back();
      EXPECT_EQ(done, total);
      EXPECT_NEAR(static_cast<double>(total), static_cast<double>(walks * text.size()), 100) << text.substr(0, 20);
      EXPECT_TRUE(std::is_sorted(reports.begin(), reports.end()));
      // No walk stands still: there are reports all along.
      std::uint64_t last = 0;
      for (const auto& [bytes, all] : reports) {
        EXPECT_LE(bytes, all);
        EXPECT_LT(bytes - last, std::uint64_t{3} << 20);
        last = bytes;
      }
    }
  }
  const auto text_file = folder.write("text.csv", "a\nx\n");
  const auto number_file = folder.write("numbers.csv", "a\n1012\n");
  const Reports reports = reports_of({number_file, text_file}, 1);
  EXPECT_EQ(reports.back(), std::pair(std::uint64_t{7 + 4 + 7}, std::uint64_t{7 + 4 + 7}));
}

TEST(Reader, PipesAreReadToTheEnd) {
  const TemporaryFolder folder;
  const auto pipe = folder / "pipe.csv";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::jthread writer([&] { std::ofstream(pipe) << "a\n1\n2\n"; });
  EXPECT_THAT(values_of(read({pipe}), "a"), ElementsAre("1", "2"));
}

TEST(Reader, APipeIsReadOnceForAllTables) {
  const TemporaryFolder folder;
  const auto pipe = folder / "pipe.csv";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::jthread writer([&] { std::ofstream(pipe) << "a\n1\n2\n"; });
  ReadOptions options;
  options.pipes = make_pipe_cache();
  EXPECT_THAT(column_names({pipe}, options).names, ElementsAre("a"));
  EXPECT_THAT(values_of(read({pipe}, options), "a"), ElementsAre("1", "2"));
  EXPECT_THAT(values_of(read({pipe}, options), "a"), ElementsAre("1", "2"));
}

TEST(Reader, APipeWithoutAnExtensionTellsItsFormat) {
  const TemporaryFolder folder;
  const auto pipe = folder / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const auto parquet = store(folder / "c.parquet", table_of({{"n", int64s({3})}}), Store::parquet);
  for (const std::string& content : {test::content_of(parquet), std::string("n\n3\n")}) {
    std::jthread writer([&] { std::ofstream(pipe, std::ios::binary) << content; });
    EXPECT_THAT(values_of(read({pipe}), "n"), ElementsAre("3"));
  }
}

TEST(Reader, WaitingForAWriterCanBeStopped) {
  const TemporaryFolder folder;
  const auto pipe = folder / "pipe.csv";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::stop_source source;
  ReadOptions options;
  options.stop = source.get_token();
  std::jthread stopper([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    source.request_stop();
  });
  EXPECT_THAT(error_of<CancelledError>([&] { read({pipe}, options); }), HasSubstr("cancelled"));
}

TEST(Reader, DevicesAreRefused) {
  const TemporaryFolder folder;
  for (const char* device : {"/dev/zero", "/dev/urandom", "/dev/full"}) {
    const auto link = folder / "link.csv";
    std::filesystem::remove(link);
    std::filesystem::create_symlink(device, link);
    EXPECT_THAT(error_of<DataError>([&] { read({link}); }),
                StartsWith(link.string() + ": is a device, which has no end"));
  }
  std::filesystem::remove(folder / "link.csv");
  std::filesystem::create_symlink("/dev/null", folder / "link.csv");
  EXPECT_THAT(error_of<DataError>([&] { read({folder / "link.csv"}); }), HasSubstr("the file is empty"));
}

TEST(Reader, WhatIsNoFile) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "dir.csv");
  EXPECT_THAT(error_of<DataError>([&] { read({folder / "dir.csv"}); }),
              AllOf(HasSubstr("dir.csv"), HasSubstr("is a directory, not a file")));
  EXPECT_THAT(error_of<DataError>([&] { read({folder / "none.csv"}); }),
              AllOf(HasSubstr("none.csv"), HasSubstr("No such file")));
  EXPECT_THAT(error_of<DataError>([&] { read({}); }), HasSubstr("at least one file"));
  EXPECT_THAT(error_of<DataError>([&] { read({folder.write("empty.csv", "")}); }),
              HasSubstr("empty.csv: the file is empty"));
}

// Root may read everything, so a child becomes nobody.
TEST(Reader, WithoutPermission) {
  const TemporaryFolder folder;
  const auto file = folder.write("secret.csv", "a\n1\n");
  ASSERT_EQ(::chmod(file.c_str(), 0), 0);
  ASSERT_EQ(::chmod(folder.path().c_str(), 0755), 0);
  const pid_t child = tests::fork_when_idle();
  if (child == 0) {
    if (::geteuid() == 0 && ::seteuid(65534) != 0) ::_exit(2);
    try {
      read({file});
    } catch (const ResourceError& error) {
      ::_exit(std::string(error.what()).find("secret.csv: cannot be read: Permission denied") != std::string::npos ? 0
                                                                                                                   : 3);
    } catch (...) {
    }
    ::_exit(4);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace skyrank::datasets
