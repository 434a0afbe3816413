// Files that are read as far as queries need them, and the columns of their folders, against `read`.
#include <arrow/array.h>
#include <arrow/array/array_dict.h>
#include <arrow/array/array_nested.h>
#include <arrow/array/util.h>
#include <arrow/builder.h>
#include <arrow/io/file.h>
#include <arrow/ipc/writer.h>
#include <arrow/record_batch.h>
#include <arrow/table.h>
#include <parquet/arrow/writer.h>

#include <cstring>
#include <limits>
#include <numeric>
#include <skyrank/engine.hpp>

#include "datasets/arrow/arrow_table.hpp"
#include "datasets/source.hpp"
#include "datasets/write/writer.hpp"
#include "tests/datasets/sources.hpp"
#include "tests/datasets/support.hpp"

namespace skyrank::datasets {
namespace {

using test::all_columns;
using test::all_units;
using test::error_of;
using test::require;
using test::schema_of;
using test::TemporaryFolder;
using test::values_of;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;

/// Rows of every type, with NULLs in each column but the first.
Table sample(std::int64_t rows, std::int64_t begin = 0) {
  std::vector<std::int64_t> ids;
  std::vector<double> floats;
  std::vector<std::string> texts;
  std::vector<bool> flags;
  std::vector<std::int32_t> days;
  std::vector<std::int64_t> ticks;
  std::vector<std::int64_t> cents;
  std::vector<bool> valid;
  for (std::int64_t row = begin; row < begin + rows; ++row) {
    ids.push_back(row);
    floats.push_back(static_cast<double>(row * 37 % 101) / 4);
    texts.push_back("text " + std::to_string(row % 7));
    flags.push_back(row % 2 == 0);
    days.push_back(static_cast<std::int32_t>(18'000 + row));
    ticks.push_back(1'600'000'000'000 + row * 1'234);
    cents.push_back(row * 99);
    valid.push_back(row % 5 != 3);
  }
  return Table({Column::own("id", ids), Column::own("float", floats, valid), Column::own("text", texts, valid),
                Column::own("flag", flags, valid), Column::own_as("day", Type::date, days, valid),
                Column::own_as("tick", DataType(Type::timestamp, TimeUnit::millisecond), ticks, valid),
                Column::own_as("price", DataType::decimal(12, 2), cents, valid)});
}

/// The sample with its texts as a dictionary.
std::shared_ptr<arrow::Table> arrow_sample(std::int64_t rows) {
  const auto batch = to_arrow(sample(rows));
  arrow::StringDictionaryBuilder builder;
  require(builder.AppendArray(*batch->GetColumnByName("text")));
  const auto words = builder.Finish().ValueOrDie();
  const auto field = arrow::field("word", words->type());
  return arrow::Table::FromRecordBatches({batch->AddColumn(7, field, words).ValueOrDie()}).ValueOrDie();
}

void write_batches(const arrow::Table& table, const std::filesystem::path& file, std::int64_t batch_rows,
                   arrow::Compression::type compression = arrow::Compression::UNCOMPRESSED, bool as_stream = false) {
  auto options = arrow::ipc::IpcWriteOptions::Defaults();
  if (compression != arrow::Compression::UNCOMPRESSED) {
    options.codec = arrow::util::Codec::Create(compression).ValueOrDie();
  }
  const auto out = arrow::io::FileOutputStream::Open(file.string()).ValueOrDie();
  const auto make = [&] {
    return as_stream ? arrow::ipc::MakeStreamWriter(out, table.schema(), options)
                     : arrow::ipc::MakeFileWriter(out, table.schema(), options);
  };
  const auto writer = make().ValueOrDie();
  require(writer->WriteTable(table, batch_rows));
  require(writer->Close());
  require(out->Close());
}

void expect_equal(const Table& found, const Table& expected) {
  ASSERT_EQ(schema_of(found), schema_of(expected));
  ASSERT_EQ(found.num_rows(), expected.num_rows());
  for (const Column& column : expected.columns()) {
    EXPECT_EQ(values_of(found, column.name()), values_of(expected, column.name())) << column.name();
  }
}

/// A source gives the rows of `whole`: all of them, some units, and some rows.
void expect_same_rows(const Source& source, const Table& whole) {
  const std::vector<int> columns = all_columns(source);
  expect_equal(source.read(all_units(source), columns).table, whole);
  std::int64_t begin = 0;
  for (std::size_t unit = 0; unit < source.units().size(); ++unit) {
    std::vector<RowId> rows(static_cast<std::size_t>(source.units()[unit].rows));
    std::iota(rows.begin(), rows.end(), begin);
    begin += source.units()[unit].rows;
    std::vector<Column> expected;
    for (const Column& column : whole.columns()) expected.push_back(take(column, rows));
    const std::size_t units[] = {unit};
    expect_equal(source.read(units, columns).table, Table(expected));
  }
  std::vector<RowId> rows;
  for (RowId row = 1; row < whole.num_rows(); row += 7) rows.push_back(row);
  std::vector<Column> expected;
  for (const Column& column : whole.columns()) expected.push_back(take(column, rows));
  expect_equal(source.read_rows(rows, columns).table, Table(expected));
}

// ------------------------------------------------------------------------------ strings as indices into dictionaries

constexpr std::int64_t kWordRows = 200'000;

/// Rows [begin, begin + rows) of `few` words with NULLs, `many` words of which a dictionary has no room, and NULLs
/// alone.
Table words(std::int64_t rows, std::int64_t begin = 0) {
  std::vector<std::string> few;
  std::vector<std::string> many;
  std::vector<bool> valid;
  for (std::int64_t row = begin; row < begin + rows; ++row) {
    few.push_back("word " + std::to_string(row * row % 50));
    many.push_back("one of very many words " + std::to_string(row / 2));
    valid.push_back(row % 11 != 3);
  }
  return Table({Column::own("few", few, valid), Column::own("many", many),
                Column::own("none", std::vector<std::string>(few.size()), std::vector<bool>(few.size())),
                Column::own("n", std::vector<std::int64_t>(few.size(), 1))});
}

Layout layout_of(const Table& table, const char* column) { return table.column(column).data().layout; }

TEST(DictionariesOfFiles, StayIndicesWhereAllValuesAre) {
  const TemporaryFolder folder;
  write(words(kWordRows), folder / "t.parquet", Format::parquet);
  const auto source = open_source({folder / "t.parquet"});
  ASSERT_NE(source, nullptr);
  EXPECT_THAT(schema_of(source->schema()), ElementsAre("few:string", "many:string", "none:string", "n:int64"));
  const Table table = source->read(all_units(*source), all_columns(*source)).table;
  EXPECT_EQ(layout_of(table, "few"), Layout::dictionary);
  EXPECT_NE(layout_of(table, "many"), Layout::dictionary);
  expect_equal(table, words(kWordRows));
  const RowId rows[] = {0, 3, 17, 99'999};
  expect_equal(source->read_rows(rows, all_columns(*source)).table,
               Table({take(table.column(0), rows), take(table.column(1), rows), take(table.column(2), rows),
                      take(table.column(3), rows)}));
}

TEST(DictionariesOfFiles, StayIndicesWhereTheWriterHadADictionary) {
  const TemporaryFolder folder;
  const auto table = arrow_sample(10'000);
  const auto out = arrow::io::FileOutputStream::Open((folder / "t.parquet").string()).ValueOrDie();
  const auto stored = parquet::ArrowWriterProperties::Builder().store_schema()->build();
  require(parquet::arrow::WriteTable(*table, arrow::default_memory_pool(), out, 1'500,
                                     parquet::default_writer_properties(), stored));
  require(out->Close());
  const auto source = open_source({folder / "t.parquet"});
  ASSERT_NE(source, nullptr);
  ASSERT_EQ(source->units().size(), 7);
  const Table whole = read({folder / "t.parquet"});
  const Table found = source->read(all_units(*source), all_columns(*source)).table;
  EXPECT_EQ(layout_of(found, "word"), Layout::dictionary);
  EXPECT_EQ(found.column("word").data().index_type, Type::int8);
  expect_same_rows(*source, whole);
}

/// The answer over the files and over the same rows in memory.
void expect_same_answer(const std::vector<std::filesystem::path>& files, const Table& whole, const Query& query) {
  const Engine engine;
  const Result expected = engine.run(query, whole);
  const auto source = open_source(files);
  ASSERT_NE(source, nullptr);
  for (const std::size_t memory : {std::size_t{0}, std::size_t{64} << 20}) {
    const Result found = Engine({.memory_bytes = memory}).run(query, *source);
    EXPECT_EQ(found.rows, expected.rows);
    expect_equal(found.table, expected.table);
    for (const Column& column : found.table.columns()) EXPECT_NE(column.data().layout, Layout::dictionary);
  }
}

TEST(DictionariesOfFiles, AnswerAsStringsDo) {
  const TemporaryFolder folder;
  const std::vector<std::filesystem::path> files = {folder / "a.parquet", folder / "b.parquet"};
  const std::int64_t first = 140'000;
  write(words(first), files[0], Format::parquet);
  write(words(kWordRows - first, first), files[1], Format::parquet);
  const Table whole = words(kWordRows);
  const Query groups = Query::from("t").group_by({"few"}).aggregate({count("c")}).rank_by({high("c")});
  EXPECT_THAT(to_string(Engine().run(groups, *open_source(files)).plan),
              HasSubstr("2 units: rows are grouped by codes of few as they are read"));
  const Query many = Query::from("t").group_by({"many"}).aggregate({count("c")}).rank_by({high("c")});
  EXPECT_THAT(to_string(Engine().run(many, *open_source(files)).plan),
              HasSubstr("not by-units: did not help: the first units have many groups"));
  expect_same_answer(files, whole,
                     Query::from("t").group_by({"few"}).aggregate({count("c"), sum("s", "n")}).rank_by({high("c")}));
  expect_same_answer(files, whole, Query::from("t").partition_by({"few"}).rank_by({high("length(many)")}).limit(2));
  expect_same_answer(files, whole,
                     Query::from("t").where("few in ('word 4', 'word 25')").rank_by({high("n")}).limit(9));
  expect_same_answer(files, whole, Query::from("t").where("few is null").rank_by({high("n")}).limit(9));
  expect_same_answer(files, whole, Query::from("t").group_by({"none"}).aggregate({count("c")}).rank_by({high("c")}));
}

/// Two fields of one column, which a table of SkyRank leaves out.
std::shared_ptr<arrow::Array> pairs(std::int64_t rows) {
  const auto batch = to_arrow(sample(rows));
  return arrow::StructArray::Make({batch->column(1), batch->column(2)}, std::vector<std::string>{"x", "y"})
      .ValueOrDie();
}

TEST(ParquetFiles, SomeRowsAreRightBehindColumnsOfSeveralLeaves) {
  const TemporaryFolder folder;
  const auto file = folder / "t.parquet";
  const std::int64_t rows = 100;
  const auto nested = pairs(rows);
  auto table = arrow::Table::FromRecordBatches({to_arrow(sample(rows))}).ValueOrDie();
  for (const int place : {3, 0}) {
    const auto field = arrow::field("pairs" + std::to_string(place), nested->type());
    table = table->AddColumn(place, field, std::make_shared<arrow::ChunkedArray>(nested)).ValueOrDie();
  }
  const auto out = arrow::io::FileOutputStream::Open(file.string()).ValueOrDie();
  require(parquet::arrow::WriteTable(*table, arrow::default_memory_pool(), out, /*chunk_size=*/30));
  require(out->Close());
  const auto source = open_source({file});
  ASSERT_NE(source, nullptr);
  expect_same_rows(*source, sample(rows));
}

/// Returns what a column of a file costs to read that is written with a codec and a dictionary or none.
ReadCost cost_of(const arrow::Table& table, const char* column, arrow::Compression::type codec, bool dictionary) {
  const TemporaryFolder folder;
  const auto out = arrow::io::FileOutputStream::Open((folder / "t.parquet").string()).ValueOrDie();
  parquet::WriterProperties::Builder properties;
  properties.compression(codec);
  if (!dictionary) properties.disable_dictionary();
  require(parquet::arrow::WriteTable(table, arrow::default_memory_pool(), out, 1'000, properties.build()));
  require(out->Close());
  const auto source = open_source({folder / "t.parquet"});
  return source->read_cost(*source->schema().find(column)).value();
}

TEST(ParquetFiles, TellByTheirCodecsAndEncodingsWhatColumnsTakeToRead) {
  const auto table = arrow_sample(4'000);
  constexpr auto kNone = arrow::Compression::UNCOMPRESSED;
  for (const char* column : {"id", "float", "text", "flag", "day", "price"}) {
    const ReadCost plain = cost_of(*table, column, kNone, false);
    EXPECT_GT(plain.value, 0) << column;
    EXPECT_GT(plain.unit, 0) << column;
    EXPECT_GT(cost_of(*table, column, arrow::Compression::ZSTD, false).value, plain.value) << column;
    EXPECT_GT(cost_of(*table, column, arrow::Compression::ZSTD, false).unit, plain.unit) << column;
  }
  EXPECT_LT(cost_of(*table, "text", kNone, true).value, cost_of(*table, "text", kNone, false).value / 5)
      << "texts stay indices";
}

TEST(ParquetFiles, StatisticsAreMadeOnce) {
  const TemporaryFolder folder;
  write(sample(100), folder / "t.parquet", Format::parquet);
  const auto source = open_source({folder / "t.parquet"});
  const auto first = source->statistics(0);
  const auto second = source->statistics(0);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->min.data().values, second->min.data().values);
  EXPECT_NE(source->statistics(1)->min.data().values, first->min.data().values);
}

class ArrowFiles : public ::testing::Test {
 protected:
  TemporaryFolder folder_;
};

TEST_F(ArrowFiles, BatchesAreUnitsWithTheRowsOfTheFile) {
  for (const auto compression :
       {arrow::Compression::UNCOMPRESSED, arrow::Compression::ZSTD, arrow::Compression::LZ4_FRAME}) {
    const auto file = folder_ / "t.arrow";
    write_batches(*arrow_sample(100), file, 30, compression);
    const auto source = open_source({file});
    ASSERT_NE(source, nullptr);
    EXPECT_THAT(source->units(), ElementsAre(Field(&SourceUnit::rows, 30), Field(&SourceUnit::rows, 30),
                                             Field(&SourceUnit::rows, 30), Field(&SourceUnit::rows, 10)));
    expect_same_rows(*source, read({file}));
  }
}

/// Two batches, each with a text of a million letters and a number.
std::shared_ptr<arrow::Table> long_texts() {
  const std::string text(1'000'000, 'x');
  const auto batch = to_arrow(Table(
      {Column::own("text", std::vector<std::string>{text, text}), Column::own("id", std::vector<std::int64_t>{1, 2})}));
  return arrow::Table::FromRecordBatches({batch}).ValueOrDie();
}

TEST_F(ArrowFiles, TextsOfBatchesCountAsTheyAreDecompressed) {
  const auto file = folder_ / "t.arrow";
  for (const auto compression : {arrow::Compression::ZSTD, arrow::Compression::LZ4_FRAME}) {
    write_batches(*long_texts(), file, 1, compression);
    ASSERT_LT(std::filesystem::file_size(file), 50'000);
    const auto source = open_source({file});
    ASSERT_NE(source, nullptr);
    EXPECT_THAT(source->units(), ElementsAre(SourceUnit{1, 1'000'008}, SourceUnit{1, 1'000'008}));
  }
}

TEST_F(ArrowFiles, DictionariesCountAsTheyAreDecompressed) {
  arrow::StringDictionaryBuilder builder;
  for (const char c : {'x', 'y'}) require(builder.Append(std::string(1'000'000, c)));
  const auto words = builder.Finish().ValueOrDie();
  const auto table = arrow::Table::Make(arrow::schema({arrow::field("word", words->type())}), {words});
  write_batches(*table, folder_ / "t.arrow", 1, arrow::Compression::ZSTD);
  const auto source = open_source({folder_ / "t.arrow"});
  ASSERT_NE(source, nullptr);
  EXPECT_GT(source->units()[0].text_bytes, 1'000'000);
  ReadOptions options;
  options.memory_bytes = 1'000'000;
  EXPECT_THAT(error_of<ResourceError>([&] { open_source({folder_ / "t.arrow"}, options); }),
              AllOf(HasSubstr("t.arrow"), HasSubstr("the limit of memory")));
}

TEST_F(ArrowFiles, ABatchBeyondTheLimitIsNotReadForARow) {
  const auto file = folder_ / "t.arrow";
  write_batches(*long_texts(), file, 2, arrow::Compression::ZSTD);
  ReadOptions options;
  const RowId rows[] = {1};
  for (const std::size_t memory : {3'000'000, 1'000'000}) {
    options.memory_bytes = memory;
    const auto source = open_source({file}, options);
    ASSERT_NE(source, nullptr);
    const auto values = [&] { return source->read_rows(rows, all_columns(*source)).table; };
    if (memory > 2'000'000) {
      EXPECT_EQ(values_of(values(), "id"), std::vector<std::string>{"2"});
    } else {
      EXPECT_THAT(error_of<ResourceError>(values), AllOf(HasSubstr("t.arrow"), HasSubstr("the limit of memory")));
    }
  }
}

TEST_F(ArrowFiles, AStreamBeyondTheLimitIsNotDecompressed) {
  const auto file = folder_ / "t.arrow";
  write_batches(*long_texts(), file, 1, arrow::Compression::ZSTD, /*as_stream=*/true);
  ReadOptions options;
  options.memory_bytes = 1'000'000;
  EXPECT_THAT(error_of<ResourceError>([&] { read({file}, options); }),
              AllOf(HasSubstr("t.arrow"), HasSubstr("take 2 MB"), HasSubstr("the limit of memory of 1 MB")));
  options.columns = {"id"};
  EXPECT_EQ(read({file}, options).num_rows(), 2);
}

/// Returns the content with another number in place of each 64-bit one that is `found`.
std::string with_number(std::string content, std::int64_t found, std::int64_t number) {
  const std::string pattern(reinterpret_cast<const char*>(&found), sizeof found);
  for (auto at = content.find(pattern); at != std::string::npos; at = content.find(pattern, at + 1)) {
    std::memcpy(content.data() + at, &number, sizeof number);
  }
  return content;
}

TEST_F(ArrowFiles, NumbersTakeWhatTheirRowsTell) {
  const auto batch = to_arrow(Table({Column::own("id", std::vector<std::int64_t>(12'345))}));
  const auto table = arrow::Table::FromRecordBatches({batch}).ValueOrDie();
  for (const bool as_stream : {false, true}) {
    write_batches(*table, folder_ / "t.arrow", 100'000, arrow::Compression::ZSTD, as_stream);
    const std::string content = test::content_of(folder_ / "t.arrow");
    for (const std::int64_t bytes : {std::int64_t{1} << 20, std::int64_t{1} << 61, std::int64_t{-2}}) {
      folder_.write("t.arrow", with_number(content, 8 * 12'345, bytes));
      EXPECT_THAT(error_of<DataError>([&] { read({folder_ / "t.arrow"}); }),
                  AllOf(HasSubstr("t.arrow"), HasSubstr("is possible: the data are damaged")));
    }
  }
}

TEST_F(ArrowFiles, ViewsOfNullRowsMayBeAnything) {
  arrow::StringViewBuilder builder;
  require(builder.Append("a text that is longer than a view"));
  require(builder.Append("short"));
  require(builder.AppendNull());
  const auto data = builder.Finish().ValueOrDie()->data()->Copy();
  std::memset(data->buffers[1]->mutable_data() + 2 * 16, 0x7F, 16);
  const auto texts = arrow::MakeArray(data);
  const auto table = arrow::Table::Make(arrow::schema({arrow::field("text", texts->type())}), {texts});
  for (const bool as_stream : {false, true}) {
    write_batches(*table, folder_ / "t.arrow", 10, arrow::Compression::UNCOMPRESSED, as_stream);
    EXPECT_EQ(values_of(read({folder_ / "t.arrow"}), "text"),
              (std::vector<std::string>{"a text that is longer than a view", "short", "NULL"}));
  }
}

TEST_F(ArrowFiles, ADecimalOfAnyScaleIsATypeThatMayBeUnsupported) {
  for (const std::int32_t scale :
       {std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()}) {
    const auto prices = arrow::MakeArrayOfNull(arrow::decimal128(10, scale), 1).ValueOrDie();
    const auto table = arrow::Table::Make(arrow::schema({arrow::field("price", prices->type())}), {prices});
    write_batches(*table, folder_ / "t.arrow", 10);
    EXPECT_EQ(read({folder_ / "t.arrow"}).unsupported().size(), 1U);
  }
}

/// The sizes of clothes, as ordered categories in two row groups, of which no row comes first in the order.
std::filesystem::path write_sizes(const TemporaryFolder& folder, bool with_dictionary) {
  arrow::StringBuilder texts;
  require(texts.AppendValues({"S", "M", "L", "XL"}));
  arrow::Int8Builder indices;
  require(indices.AppendValues({3, 1, 2, 0, 2, 0, 3, 1}));
  const auto sizes =
      arrow::DictionaryArray::FromArrays(arrow::dictionary(arrow::int8(), arrow::utf8(), /*ordered=*/true),
                                         indices.Finish().ValueOrDie(), texts.Finish().ValueOrDie())
          .ValueOrDie();
  const auto table = arrow::Table::Make(arrow::schema({arrow::field("size", sizes->type())}), {sizes});
  const auto file = folder / (with_dictionary ? "dictionary.parquet" : "plain.parquet");
  parquet::WriterProperties::Builder properties;
  if (!with_dictionary) properties.disable_dictionary();
  const auto out = arrow::io::FileOutputStream::Open(file).ValueOrDie();
  require(parquet::arrow::WriteTable(*table, arrow::default_memory_pool(), out, /*chunk_size=*/4, properties.build(),
                                     parquet::ArrowWriterProperties::Builder().store_schema()->build()));
  require(out->Close());
  return file;
}

// Arrow makes dictionaries in the order of the values, which is none of the categories.
TEST(OrderedCategories, RankByTheirBytesWhereAFileLacksTheirOrder) {
  const TemporaryFolder folder;
  const Engine engine({.device = DeviceChoice::cpu});
  const Query query = Query::from("t").group_by({"size"}).aggregate({count("n")}).rank_by({low("size")}).limit(4);
  for (const bool with_dictionary : {true, false}) {
    const auto file = write_sizes(folder, with_dictionary);
    const auto expected =
        with_dictionary ? std::vector<std::string>{"S", "M", "L", "XL"} : std::vector<std::string>{"L", "M", "S", "XL"};
    const auto source = open_source({file});
    ASSERT_NE(source, nullptr);
    EXPECT_EQ(values_of(engine.run(query, *source).table, "size"), expected);
    EXPECT_EQ(values_of(engine.run(query, read({file})).table, "size"), expected);
    const std::size_t units[] = {0};
    for (const Table& rows : {source->read(units, all_columns(*source)).table,
                              source->read(all_units(*source), all_columns(*source)).table}) {
      EXPECT_EQ(values_of(engine.run(query, rows).table, "size"), expected);
    }
  }
}

TEST_F(ArrowFiles, SeveralFilesAreOneTable) {
  write_batches(*arrow_sample(20), folder_ / "a.arrow", 7);
  write_batches(*arrow_sample(33), folder_ / "b.feather", 100);
  const auto source = open_source({folder_ / "a.arrow", folder_ / "b.feather"});
  ASSERT_NE(source, nullptr);
  EXPECT_THAT(source->units(), ElementsAre(SourceUnit{7}, SourceUnit{7}, SourceUnit{6}, SourceUnit{33}));
  expect_same_rows(*source, read({folder_ / "a.arrow", folder_ / "b.feather"}));
}

TEST_F(ArrowFiles, OnlyTheColumnsThatAreAskedForAreRead) {
  const auto file = folder_ / "t.arrow";
  const std::int64_t rows = 10'000;
  write_batches(*arrow_sample(rows), file, 1'000);
  ReadOptions options;
  options.columns = {"id", "text"};
  const auto source = open_source({file}, options);
  ASSERT_NE(source, nullptr);
  EXPECT_THAT(schema_of(source->schema()), ElementsAre("id:int64", "text:string"));
  const int id[] = {0};
  const SourceRows read = source->read(all_units(*source), id);
  EXPECT_EQ(values_of(read.table, "id"), values_of(sample(rows), "id"));
  // The column has 8 bytes a row; what all batches say of themselves is read, too.
  EXPECT_LT(read.bytes, std::filesystem::file_size(file) / 2);
  EXPECT_EQ(source->read(all_units(*source), {}).table.num_rows(), rows);
}

TEST_F(ArrowFiles, StreamsAreLeftToTheReader) {
  write_batches(*arrow_sample(10), folder_ / "s.arrow", 5, arrow::Compression::UNCOMPRESSED, /*as_stream=*/true);
  EXPECT_EQ(open_source({folder_ / "s.arrow"}), nullptr);
}

TEST_F(ArrowFiles, ATruncatedFileIsAnErrorThatNamesIt) {
  const auto file = folder_ / "t.arrow";
  write_batches(*arrow_sample(100), file, 30);
  std::filesystem::resize_file(file, std::filesystem::file_size(file) / 2);
  EXPECT_THAT(error_of<DataError>([&] { open_source({file}); }),
              AllOf(HasSubstr("t.arrow"), HasSubstr("not an Arrow file that can be read, or damaged")));
}

TEST_F(ArrowFiles, AFileThatShrinksIsAnErrorOfEveryLaterRead) {
  const auto file = folder_ / "t.arrow";
  write_batches(*arrow_sample(100), file, 30);
  const auto source = open_source({file});
  ASSERT_NE(source, nullptr);
  std::filesystem::resize_file(file, 500);
  const auto message = error_of<DataError>([&] { source->read(all_units(*source), all_columns(*source)); });
  EXPECT_THAT(message, HasSubstr("t.arrow: changed while it was read"));
  const RowId rows[] = {99};
  EXPECT_THAT(error_of<DataError>([&] { source->read_rows(rows, all_columns(*source)); }),
              HasSubstr("t.arrow: changed while it was read"));
}

TEST_F(ArrowFiles, DamageIsNeverAFailureOfTheProgram) {
  const auto file = folder_ / "t.arrow";
  write_batches(*arrow_sample(60), file, 20, arrow::Compression::ZSTD);
  const std::string content = test::content_of(file);
  for (std::size_t place = 0; place < content.size(); place += 13) {
    std::string damaged = content;
    damaged[place] = static_cast<char>(damaged[place] ^ 0x5A);
    folder_.write("t.arrow", damaged);
    try {
      const auto source = open_source({file});
      if (source != nullptr) source->read(all_units(*source), all_columns(*source));
    } catch (const Error&) {
    }
  }
}

/// A table whose files lie in folders year=.../city=....
class Folders : public ::testing::TestWithParam<Format> {
 protected:
  void SetUp() override {
    write("year=2023/city=Oslo", 0, 20);
    write("year=2024/city=Bergen", 20, 25);
    write("year=2024/city=__HIVE_DEFAULT_PARTITION__", 45, 5);
  }
  void write(const std::string& folders, std::int64_t begin, std::int64_t rows) {
    std::filesystem::create_directories(folder_ / ("t/" + folders));
    datasets::write(sample(rows, begin), folder_ / ("t/" + folders + "/part." + std::string(to_string(GetParam()))),
                    GetParam());
  }
  TableSpec table() const {
    TableSpec source;
    source.name = "t";
    source.files = {"t"};
    return source;
  }
  TemporaryFolder folder_;
};

INSTANTIATE_TEST_SUITE_P(Formats, Folders, ::testing::Values(Format::parquet, Format::arrow),
                         [](const auto& test) { return std::string(to_string(test.param)); });

TEST_P(Folders, ColumnsOfFoldersAreThoseOfTheReader) {
  const auto source = open_source(table(), folder_.path());
  ASSERT_NE(source, nullptr);
  EXPECT_EQ(schema_of(source->schema()).back(), "city:string");
  expect_same_rows(*source, load(table(), folder_.path()));
  LoadOptions options;
  options.columns = {"city", "id", "year", "text"};
  const auto some = open_source(table(), folder_.path(), options);
  ASSERT_NE(some, nullptr);
  EXPECT_THAT(schema_of(some->schema()), ElementsAre("city:string", "id:int64", "year:int64", "text:string"));
  expect_same_rows(*some, load(table(), folder_.path(), options));
  options.columns = {"year"};
  const auto folders_only = open_source(table(), folder_.path(), options);
  ASSERT_NE(folders_only, nullptr);
  expect_same_rows(*folders_only, load(table(), folder_.path(), options));
}

TEST_P(Folders, FilesAreSkippedByTheNamesOfTheirFolders) {
  const auto source = open_source(table(), folder_.path());
  ASSERT_NE(source, nullptr);
  const Table whole = load(table(), folder_.path());
  const Engine engine({.device = DeviceChoice::cpu});
  const auto query = [](std::string_view condition) {
    return Query::from("t").where(condition).rank_by({high("id")}).limit(100);
  };
  const std::pair<const char*, const char*> cases[] = {{"year = 2023", "2 of 3 units skipped"},
                                                       {"city = 'Bergen'", "2 of 3 units skipped"},
                                                       {"city is null", "2 of 3 units skipped"},
                                                       {"year > 2030", "3 of 3 units skipped"}};
  for (const auto& [condition, skipped] : cases) {
    const Result result = engine.run(query(condition), *source);
    EXPECT_EQ(result.rows, engine.run(query(condition), whole).rows) << condition;
    EXPECT_THAT(to_string(result.plan), HasSubstr(skipped)) << condition;
  }
}

TEST_P(Folders, AStoredColumnOfTheSameNameIsRefused) {
  TableSpec source = table();
  source.files = {"u"};
  std::filesystem::create_directories(folder_ / "u/id=5");
  datasets::write(sample(3), folder_ / ("u/id=5/x." + std::string(to_string(GetParam()))), GetParam());
  EXPECT_EQ(open_source(source, folder_.path()), nullptr);
  EXPECT_THAT(error_of<DataError>([&] { load(source, folder_.path()); }),
              HasSubstr("stores a column 'id', and its folder 'id=...' gives another"));
}

}  // namespace
}  // namespace skyrank::datasets
