// Columns of Parquet files that are decoded without Arrow's reader of whole columns, against the table that was
// written: types, encodings, pages, NULLs, dictionaries, damage.
#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/io/file.h>
#include <arrow/ipc/writer.h>
#include <arrow/record_batch.h>
#include <arrow/table.h>
#include <arrow/util/thread_pool.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/writer.h>
#include <parquet/properties.h>

#include <numeric>
#include <skyrank/engine.hpp>

#include "datasets/arrow/arrow_table.hpp"
#include "datasets/arrow/arrow_types.hpp"
#include "datasets/columnar/columnar.hpp"
#include "datasets/columnar/decode/flat_column.hpp"
#include "datasets/columnar/page_filter.hpp"
#include "datasets/reader.hpp"
#include "datasets/source.hpp"
#include "tests/build.hpp"
#include "tests/datasets/sources.hpp"
#include "tests/datasets/support.hpp"

namespace skyrank::datasets {
namespace {

using test::error_of;
using test::require;
using test::schema_of;
using test::TemporaryFolder;
using test::values_of;
using ::testing::HasSubstr;
using ::testing::Not;

/// Calls add(row) for each row, or adds a NULL where `nulls` is true and the row is one of them.
template <class Builder, class Add>
std::shared_ptr<arrow::Array> build(Builder&& builder, std::int64_t rows, bool nulls, const Add& add) {
  for (std::int64_t row = 0; row < rows; ++row) {
    require(nulls && (row % 7 == 3 || row / 50 % 4 == 2) ? builder.AppendNull() : add(builder, row));
  }
  return builder.Finish().ValueOrDie();
}

template <class Type>
std::shared_ptr<arrow::Array> numbers(const std::shared_ptr<arrow::DataType>& type, std::int64_t rows, bool nulls) {
  using Builder = typename arrow::TypeTraits<Type>::BuilderType;
  return build(Builder(type, arrow::default_memory_pool()), rows, nulls, [](Builder& builder, std::int64_t row) {
    return builder.Append(static_cast<typename Builder::value_type>(row * row % 1'009 * 1'000'003 - 500));
  });
}

/// Strings of `distinct` values, among them the empty one.
std::shared_ptr<arrow::Array> strings(std::int64_t rows, bool nulls, std::int64_t distinct) {
  return build(arrow::StringBuilder(), rows, nulls, [&](arrow::StringBuilder& builder, std::int64_t row) {
    const std::int64_t word = row * 31 % distinct;
    return builder.Append(word == 0 ? "" : "word " + std::to_string(word));
  });
}

std::shared_ptr<arrow::Table> columns_of_all_types(std::int64_t rows, bool nulls) {
  const std::vector<std::pair<std::string, std::shared_ptr<arrow::Array>>> columns = {
      {"i32", numbers<arrow::Int32Type>(arrow::int32(), rows, nulls)},
      {"u32", numbers<arrow::UInt32Type>(arrow::uint32(), rows, nulls)},
      {"i64", numbers<arrow::Int64Type>(arrow::int64(), rows, nulls)},
      {"u64", numbers<arrow::UInt64Type>(arrow::uint64(), rows, nulls)},
      {"i8", numbers<arrow::Int8Type>(arrow::int8(), rows, nulls)},
      {"u16", numbers<arrow::UInt16Type>(arrow::uint16(), rows, nulls)},
      {"f32", numbers<arrow::FloatType>(arrow::float32(), rows, nulls)},
      {"f64", numbers<arrow::DoubleType>(arrow::float64(), rows, nulls)},
      {"day", numbers<arrow::Date32Type>(arrow::date32(), rows, nulls)},
      {"s", numbers<arrow::TimestampType>(arrow::timestamp(arrow::TimeUnit::SECOND), rows, nulls)},
      {"ms", numbers<arrow::TimestampType>(arrow::timestamp(arrow::TimeUnit::MILLI), rows, nulls)},
      {"us", numbers<arrow::TimestampType>(arrow::timestamp(arrow::TimeUnit::MICRO, "UTC"), rows, nulls)},
      {"ns", numbers<arrow::TimestampType>(arrow::timestamp(arrow::TimeUnit::NANO), rows, nulls)},
      {"few", strings(rows, nulls, 5)},
      {"many", strings(rows, nulls, 997)},
      {"none", arrow::MakeArrayOfNull(arrow::utf8(), rows).ValueOrDie()},
  };
  arrow::FieldVector fields;
  arrow::ArrayVector arrays;
  for (const auto& [name, array] : columns) {
    fields.push_back(arrow::field(name, array->type(), nulls || name == "none"));
    arrays.push_back(array);
  }
  return arrow::Table::Make(arrow::schema(std::move(fields)), arrays);
}

void write_file(const arrow::Table& table, const std::filesystem::path& file, std::int64_t group_rows,
                parquet::WriterProperties::Builder& properties, bool store_schema = false) {
  parquet::ArrowWriterProperties::Builder arrow_properties;
  if (store_schema) arrow_properties.store_schema();
  const auto out = arrow::io::FileOutputStream::Open(file.string()).ValueOrDie();
  require(parquet::arrow::WriteTable(table, arrow::default_memory_pool(), out, group_rows, properties.build(),
                                     arrow_properties.build()));
  require(out->Close());
}

/// Reads a file by Arrow's reader alone.
Table read_by_arrow(const std::filesystem::path& file) {
  const auto input = arrow::io::ReadableFile::Open(file.string()).ValueOrDie();
  std::unique_ptr<parquet::arrow::FileReader> reader;
  parquet::arrow::FileReaderBuilder builder;
  require(builder.Open(input));
  require(builder.Build(&reader));
  std::shared_ptr<arrow::Table> table = reader->ReadTable().ValueOrDie();
  arrow::FieldVector fields;
  std::vector<std::shared_ptr<arrow::ChunkedArray>> columns;
  for (const auto& field : table->fields()) {
    columns.push_back(normalise(table->GetColumnByName(field->name()), file.string(), field->name()));
    fields.push_back(arrow::field(field->name(), columns.back()->type()));
  }
  return to_skyrank(arrow::Table::Make(arrow::schema(std::move(fields)), std::move(columns)), file.string());
}

/// Expects units of a source that are read at once to have some rows of `whole`.
void expect_together(const Source& source, const Table& whole, const std::vector<std::size_t>& units) {
  std::vector<int> columns(source.schema().columns().size());
  std::iota(columns.begin(), columns.end(), 0);
  std::vector<RowId> rows;
  std::int64_t begin = 0;
  for (std::size_t unit = 0; unit < source.units().size(); ++unit) {
    const std::int64_t end = begin + source.units()[unit].rows;
    for (RowId row = begin; row < end && std::ranges::count(units, unit) > 0; ++row) rows.push_back(row);
    begin = end;
  }
  const Table found = source.read(units, columns).table;
  ASSERT_EQ(schema_of(found), schema_of(whole));
  for (const Column& column : whole.columns()) {
    EXPECT_EQ(values_of(found, column.name()), values_of(Table({take(column, rows)}), column.name())) << column.name();
  }
}

/// Expects each unit of a source to have the rows of `whole`, and all of them together.
void expect_units(const Source& source, const Table& whole) {
  std::vector<int> columns(source.schema().columns().size());
  std::iota(columns.begin(), columns.end(), 0);
  std::vector<std::size_t> all(source.units().size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  expect_together(source, whole, all);
  std::int64_t begin = 0;
  for (std::size_t unit = 0; unit < source.units().size(); ++unit) {
    std::vector<RowId> rows(static_cast<std::size_t>(source.units()[unit].rows));
    std::iota(rows.begin(), rows.end(), std::exchange(begin, begin + source.units()[unit].rows));
    const std::size_t units[] = {unit};
    const Table found = source.read(units, columns).table;
    ASSERT_EQ(schema_of(found), schema_of(whole));
    for (const Column& column : whole.columns()) {
      EXPECT_EQ(values_of(found, column.name()), values_of(Table({take(column, rows)}), column.name()))
          << column.name() << " in unit " << unit;
    }
  }
  EXPECT_EQ(begin, whole.num_rows());
}

/// Expects the codes that a source has of its columns to stand for their values. Returns how many columns have some.
int checked_codes(const Source& source, const Table& whole) {
  int coded = 0;
  for (int i = 0; i < whole.num_columns(); ++i) {
    coded += source.has_codes(i) ? 1 : 0;
    const Column& column = whole.column(i);
    RowId row = 0;
    for (std::size_t unit = 0; unit < source.units().size(); ++unit) {
      const std::int64_t rows = source.units()[unit].rows;
      const auto found = source.codes(unit, i);
      row += rows;
      if (!found) continue;
      EXPECT_EQ(found->codes.size(), rows);
      EXPECT_EQ(found->values.type(), column.type());
      for (std::int64_t at = 0; at < std::min(rows, found->codes.size()); ++at) {
        const bool has_value = !found->codes.is_null(at);
        const Value value = has_value ? found->values.value(std::get<std::int64_t>(found->codes.value(at))) : Value();
        EXPECT_EQ(to_string(value), to_string(column.value(row - rows + at))) << column.name() << " in row " << at;
      }
    }
  }
  return coded;
}

/// Expects a source to give rows that fill pages and others that do not, with each column read alone.
void expect_some_rows(const Source& source, const Table& whole) {
  std::vector<RowId> rows = {5};
  for (RowId row = 64; row < 320; ++row) rows.push_back(row);
  for (RowId row = 900; row < whole.num_rows() - 300; row += row % 200 == 0 ? 90 : 1) rows.push_back(row);
  for (std::size_t i = 0; i < whole.columns().size(); ++i) {
    const Column& column = whole.columns()[i];
    const std::vector<int> columns = {static_cast<int>(i)};
    const Table found = source.read_rows(rows, columns).table;
    EXPECT_EQ(values_of(found, column.name()), values_of(Table({take(column, rows)}), column.name())) << column.name();
  }
}

/// Returns numbers, dates and timestamps, in the order of their values.
long double number(const Value& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return static_cast<long double>(*integer);
  if (const auto* integer = std::get_if<std::uint64_t>(&value)) return static_cast<long double>(*integer);
  if (const auto* date = std::get_if<Date>(&value)) return date->days;
  if (const auto* timestamp = std::get_if<Timestamp>(&value)) return static_cast<long double>(timestamp->ticks);
  return std::get<double>(value);
}

/// Expects bounds of zones of a column to be those of its values from row `begin` on.
void expect_bounds(const ZoneStatistics& zones, const Column& column, std::int64_t begin, std::int64_t rows) {
  std::int64_t row = begin;
  for (std::size_t i = 0; i < zones.rows.size(); ++i) {
    std::vector<long double> values;
    for (const std::int64_t end = row + zones.rows[i]; row < end; ++row) {
      if (!column.is_null(row)) values.push_back(number(column.value(row)));
    }
    const auto zone = static_cast<std::int64_t>(i);
    const auto nulls = zones.rows[i] - static_cast<std::int64_t>(values.size());
    EXPECT_EQ(zones.bounds.nulls[i].value_or(nulls), nulls);
    ASSERT_EQ(zones.bounds.min.is_null(zone), values.empty());
    if (values.empty()) continue;
    EXPECT_EQ(number(zones.bounds.min.value(zone)), std::ranges::min(values)) << column.name();
    EXPECT_EQ(number(zones.bounds.max.value(zone)), std::ranges::max(values)) << column.name();
  }
  EXPECT_EQ(row, begin + rows);
}

/// Returns how many zones the columns of a source have together, all of which are to be right.
std::size_t checked_zones(const Source& source, const Table& whole) {
  std::size_t count = 0;
  std::int64_t begin = 0;
  for (std::size_t unit = 0; unit < source.units().size(); ++unit) {
    const std::int64_t rows = source.units()[unit].rows;
    for (int i = 0; i < static_cast<int>(whole.columns().size()); ++i) {
      const auto zones = source.zones(unit, i);
      if (!zones) continue;
      EXPECT_GT(zones->bytes, 0U);
      count += zones->rows.size();
      expect_bounds(*zones, whole.column(i), begin, rows);
    }
    begin += rows;
  }
  return count;
}

ColumnarFile columnar_file(const std::filesystem::path& file) {
  return {arrow::io::ReadableFile::Open(file.string()).ValueOrDie(), std::filesystem::file_size(file), file.string()};
}

/// Reads the numbers of a leaf of the only row group by ranges of its pages. Returns the number of ranges.
std::size_t read_ranges(const std::filesystem::path& file, int leaf, const arrow::Array& expected) {
  const ColumnarFile columnar = columnar_file(file);
  const auto metadata = parquet_info(columnar).metadata;
  const std::vector<PageRange> ranges = divide_pages(columnar, metadata, 0, leaf, 64);
  std::vector<std::int64_t> rows;
  for (const PageRange& range : ranges) rows.push_back(range.rows);
  FlatNumbers numbers(expected.type(), rows, arrow::default_memory_pool());
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    numbers.read(i, *open_page_range(columnar, metadata, 0, ranges[i]), leaf);
  }
  EXPECT_TRUE(numbers.finish()->Equals(expected));
  return ranges.size();
}

/// Reads all of a file that is its only row group, in pieces of about `rows` rows.
std::shared_ptr<arrow::Table> read_pieces(const std::filesystem::path& file, std::int64_t rows) {
  const ColumnarFile columnar = columnar_file(file);
  const ParquetFileInfo info = parquet_info(columnar);
  std::vector<int> fields(static_cast<std::size_t>(info.schema->num_fields()));
  std::iota(fields.begin(), fields.end(), 0);
  return parquet_row_groups(columnar, info.metadata, {{0}, fields, {}, true, rows}, true);
}

struct Encoding {
  std::string name;
  bool nulls = false;
  bool second_version = false;  // of data pages
  bool dictionaries = true;
  std::int64_t page_bytes = 1 << 20;
  arrow::Compression::type compression = arrow::Compression::UNCOMPRESSED;
  std::int64_t dictionary_bytes = 1 << 20;
};

class FlatColumns : public ::testing::TestWithParam<Encoding> {};

INSTANTIATE_TEST_SUITE_P(
    Encodings, FlatColumns,
    ::testing::Values(Encoding{"required"}, Encoding{"required_v2", false, true, true, 300},
                      Encoding{"nulls", true, false, true, 1 << 20, arrow::Compression::SNAPPY},
                      Encoding{"nulls_v2", true, true, true, 200, arrow::Compression::ZSTD},
                      Encoding{"snappy_v2", true, true, true, 200, arrow::Compression::SNAPPY},
                      Encoding{"plain", false, false, false, 200}, Encoding{"plain_nulls", true, true, false},
                      // Some pages of indices, then plain ones.
                      Encoding{"mixed", false, false, true, 100, arrow::Compression::SNAPPY, 400},
                      Encoding{"mixed_nulls", true, true, true, 100, arrow::Compression::UNCOMPRESSED, 400}),
    [](const auto& test) { return test.param.name; });

parquet::WriterProperties::Builder properties_of(const Encoding& encoding) {
  parquet::WriterProperties::Builder properties;
  properties.data_pagesize(encoding.page_bytes)->write_batch_size(64)->compression(encoding.compression);
  properties.data_page_version(encoding.second_version ? parquet::ParquetDataPageVersion::V2
                                                       : parquet::ParquetDataPageVersion::V1);
  properties.dictionary_pagesize_limit(encoding.dictionary_bytes);
  if (!encoding.dictionaries) properties.disable_dictionary();
  return properties;
}

/// Lets Arrow have so many threads, until the end of a scope.
class ArrowThreads {
 public:
  explicit ArrowThreads(int threads) { require(arrow::SetCpuThreadPoolCapacity(threads)); }
  ~ArrowThreads() { require(arrow::SetCpuThreadPoolCapacity(before_)); }
  ArrowThreads(const ArrowThreads&) = delete;
  ArrowThreads& operator=(const ArrowThreads&) = delete;

 private:
  int before_ = arrow::GetCpuThreadPoolCapacity();
};

TEST_P(FlatColumns, AreWhatWasWritten) {
  const Encoding& encoding = GetParam();
  const TemporaryFolder folder;
  const auto written = columns_of_all_types(3'000, encoding.nulls);
  parquet::WriterProperties::Builder properties = properties_of(encoding);
  for (const bool store_schema : {false, true}) {
    // Bounds of pages are in an index of the file, or in the pages' headers.
    if (store_schema) properties.disable_write_page_index();
    write_file(*written, folder / "t.parquet", 1'100, properties, store_schema);
    const auto source = open_source({folder / "t.parquet"});
    ASSERT_NE(source, nullptr);
    ASSERT_EQ(source->units().size(), 3U);
    const Table whole = read_by_arrow(folder / "t.parquet");
    expect_units(*source, whole);
    expect_together(*source, whole, {0, 2});
    expect_some_rows(*source, whole);
    EXPECT_GE(checked_zones(*source, whole), encoding.page_bytes < 1000 ? 100U : 10U);
    EXPECT_GE(checked_codes(*source, whole), encoding.dictionaries ? 1 : 3);
    const Table few = source->read(std::vector<std::size_t>{1}, std::vector<int>{13}).table;
    EXPECT_EQ(few.column("few").data().layout, Layout::dictionary);
  }
}

TEST_P(FlatColumns, MayBeReadInPieces) {
  const Encoding& encoding = GetParam();
  const TemporaryFolder folder;
  constexpr std::int64_t kRows = 3'000;
  parquet::WriterProperties::Builder properties = properties_of(encoding);
  const auto written = columns_of_all_types(kRows, encoding.nulls);
  write_file(*written, folder / "t.parquet", kRows, properties);
  for (const int leaf : {2, 7}) {
    EXPECT_GE(read_ranges(folder / "t.parquet", leaf, *written->column(leaf)->chunk(0)),
              encoding.page_bytes < 1000 ? 9U : 1U);
  }
  const auto whole = read_pieces(folder / "t.parquet", kRows);
  const ArrowThreads many(64);  // so that a piece may have as few rows as are asked for
  for (const std::int64_t rows : {1, 64, 700, 1'500}) {
    const auto found = read_pieces(folder / "t.parquet", rows);
    ASSERT_TRUE(found->ValidateFull().ok());
    EXPECT_TRUE(found->Equals(*whole)) << rows;
  }
}

TEST(FlatColumns, MayBeThoseOfOneRowGroup) {
  const TemporaryFolder folder;
  parquet::WriterProperties::Builder properties;
  write_file(*columns_of_all_types(40'000, true), folder / "t.parquet", 100'000, properties);
  const auto source = open_source({folder / "t.parquet"});
  ASSERT_NE(source, nullptr);
  expect_units(*source, read_by_arrow(folder / "t.parquet"));
}

TEST(FlatColumns, MayHaveNullsInSomeRowGroupsAlone) {
  const TemporaryFolder folder;
  // Row groups of 13 rows, so that their bits begin within bytes; the second one has the only NULL, and the last is
  // short.
  const auto values = [](auto builder) {
    for (int row = 0; row < 30; ++row) require(row == 17 ? builder.AppendNull() : builder.Append(row));
    return builder.Finish().ValueOrDie();
  };
  const auto schema = arrow::schema({arrow::field("i", arrow::int32()), arrow::field("f", arrow::float64())});
  const auto table = arrow::Table::Make(schema, {values(arrow::Int32Builder()), values(arrow::DoubleBuilder())});
  parquet::WriterProperties::Builder properties;
  write_file(*table, folder / "t.parquet", 13, properties);
  const auto source = open_source({folder / "t.parquet"});
  ASSERT_NE(source, nullptr);
  ASSERT_EQ(source->units().size(), 3U);
  expect_units(*source, read_by_arrow(folder / "t.parquet"));
  const Table found = read({folder / "t.parquet"});
  EXPECT_TRUE(found.column("i").is_null(17));
  EXPECT_EQ(found.column("i").value(16), Value(std::int64_t{16}));
  EXPECT_EQ(found.column("f").value(29), Value(29.0));
}

TEST(FlatColumns, HaveIndicesOfTheWidthOfTheirDictionary) {
  const TemporaryFolder folder;
  for (const std::int64_t distinct : {126, 127, 128, 129, 32'766, 32'767, 32'768, 32'769}) {
    const auto array = strings(distinct * 2, false, distinct);
    const auto table = arrow::Table::Make(arrow::schema({arrow::field("s", arrow::utf8())}), {array});
    parquet::WriterProperties::Builder properties;
    properties.dictionary_pagesize_limit(1 << 24);
    write_file(*table, folder / "t.parquet", distinct * 2, properties);
    ReadOptions options;
    options.threads = 1;
    const auto source = open_source({folder / "t.parquet"}, options);
    ASSERT_NE(source, nullptr);
    const Table found = source->read(std::vector<std::size_t>{0}, std::vector<int>{0}).table;
    const Column& column = found.column(0);
    const Type index = distinct <= 127 ? Type::int8 : distinct <= 32'767 ? Type::int16 : Type::int32;
    EXPECT_EQ(column.data().index_type, index) << distinct;
    expect_units(*source, read({folder / "t.parquet"}));
  }
}

TEST(FlatColumns, AreStringsWhereFewAreEqual) {
  const TemporaryFolder folder;
  constexpr std::int64_t kTexts = 100'000;
  const auto table =
      arrow::Table::Make(arrow::schema({arrow::field("s", arrow::utf8())}), {strings(kTexts, false, kTexts)});
  const auto layout = [&](std::int64_t group_rows, const std::vector<std::size_t>& units) {
    parquet::WriterProperties::Builder properties;
    write_file(*table, folder / "t.parquet", group_rows, *properties.disable_dictionary());
    const auto source = open_source({folder / "t.parquet"});
    expect_together(*source, read({folder / "t.parquet"}), units);
    return source->read(units, std::vector<int>{0}).table.column(0).data().layout;
  };
  EXPECT_NE(layout(kTexts, {0}), Layout::dictionary);
  EXPECT_NE(layout(kTexts / 5, {1}), Layout::dictionary) << "a short row group";
  EXPECT_NE(layout(kTexts / 5, {0, 1, 2, 3, 4}), Layout::dictionary) << "several, all of whose texts differ";
}

TEST(FlatColumns, AreRefusedWhereAnIndexIsBeyondTheDictionary) {
  const TemporaryFolder folder;
  // Two words, then the third one in 1,006 rows: 1,000 of them are one run of index 2.
  arrow::StringBuilder builder;
  for (const char* const word : {"a", "b"}) require(builder.Append(word));
  for (int row = 0; row < 1'006; ++row) require(builder.Append("c"));
  const auto schema = arrow::schema({arrow::field("s", arrow::utf8(), false)});
  parquet::WriterProperties::Builder properties;
  write_file(*arrow::Table::Make(schema, {builder.Finish().ValueOrDie()}), folder / "t.parquet", 2'000, properties);
  std::string content = test::content_of(folder / "t.parquet");
  const std::size_t run = content.find("\xD0\x0F\x02");
  ASSERT_NE(run, std::string::npos);
  content[run + 2] = 3;
  folder.write("t.parquet", content);
  ReadOptions options;
  options.threads = 1;
  const auto source = open_source({folder / "t.parquet"}, options);
  ASSERT_NE(source, nullptr);
  EXPECT_EQ(error_of<DataError>([&] { source->read(std::vector<std::size_t>{0}, std::vector<int>{0}); }),
            (folder / "t.parquet").string() +
                ": not a Parquet file that can be read, or damaged: column 's' of row group 0: an index of a page is "
                "beyond its dictionary of 3 entries");
}

class DamagedColumns : public ::testing::TestWithParam<arrow::Compression::type> {};

INSTANTIATE_TEST_SUITE_P(Codecs, DamagedColumns,
                         ::testing::Values(arrow::Compression::UNCOMPRESSED, arrow::Compression::SNAPPY));

TEST_P(DamagedColumns, AreNeverAFailureOfTheProgram) {
  const TemporaryFolder folder;
  parquet::WriterProperties::Builder properties;
  properties.data_pagesize(100)->write_batch_size(16)->compression(GetParam());
  write_file(*columns_of_all_types(120, true), folder / "t.parquet", 60, properties);
  const std::string content = test::content_of(folder / "t.parquet");
  for (std::size_t place = 4; place < content.size(); place += 41) {
    std::string damaged = content;
    damaged[place] = static_cast<char>(damaged[place] ^ 0x2D);
    folder.write("t.parquet", damaged);
    try {
      const auto source = open_source({folder / "t.parquet"});
      std::vector<int> columns(source == nullptr ? 0 : source->schema().columns().size());
      std::iota(columns.begin(), columns.end(), 0);
      for (std::size_t unit = 0; source != nullptr && unit < source->units().size(); ++unit) {
        source->read(std::vector<std::size_t>{unit}, columns);
      }
    } catch (const Error&) {
    }
    try {
      static_cast<void>(read({folder / "t.parquet"}));
    } catch (const Error&) {
    }
  }
}

TEST_P(DamagedColumns, AreToldAlikeInPieces) {
  const TemporaryFolder folder;
  parquet::WriterProperties::Builder properties;
  properties.data_pagesize(100)->write_batch_size(16)->compression(GetParam());
  write_file(*columns_of_all_types(120, true), folder / "t.parquet", 120, properties);
  const std::string content = test::content_of(folder / "t.parquet");
  const ArrowThreads many(64);
  const auto outcome = [&](std::int64_t rows) -> std::string {
    try {
      return read_pieces(folder / "t.parquet", rows)->ToString();
    } catch (const Error& error) {
      return error.what();
    }
  };
  for (std::size_t place = 4; place < content.size(); place += 163) {
    std::string damaged = content;
    damaged[place] = static_cast<char>(damaged[place] ^ 0x2D);
    folder.write("t.parquet", damaged);
    EXPECT_EQ(outcome(1), outcome(1'000)) << place;
  }
}

TEST(FlatColumns, AreRefusedWhereAPageHasAnotherLength) {
  const TemporaryFolder folder;
  parquet::WriterProperties::Builder properties;
  properties.compression(arrow::Compression::SNAPPY)->disable_dictionary();
  const auto schema = arrow::schema({arrow::field("i", arrow::int64(), false)});
  const auto values = numbers<arrow::Int64Type>(arrow::int64(), 100, false);
  write_file(*arrow::Table::Make(schema, {values}), folder / "t.parquet", 100, properties);
  std::string content = test::content_of(folder / "t.parquet");
  const std::size_t page = content.find("\xA0\x06");  // 800 bytes, as Snappy begins with
  ASSERT_NE(page, std::string::npos);
  for (const char low : {'\x9F', '\xA1'}) {
    std::string damaged = content;
    damaged[page] = low;
    folder.write("t.parquet", damaged);
    const auto source = open_source({folder / "t.parquet"});
    ASSERT_NE(source, nullptr);
    EXPECT_THAT(error_of<DataError>([&] { source->read(std::vector<std::size_t>{0}, std::vector<int>{0}); }),
                HasSubstr("not a Parquet file that can be read, or damaged"));
  }
}

// ------------------------------------------------------------------------------------------- answers over such files

/// Queries whose keys, conditions and arguments are strings and numbers with NULLs.
std::vector<Query> queries_of_strings() {
  const auto query = [] { return Query::from("t"); };
  return {
      query().group_by({"s"}).aggregate({count("c")}).rank_by({high("c"), low("s")}).limit(20),
      query().group_by({"s"}).aggregate({max("a", "i"), min("b", "i"), count("d", "i")}).rank_by({low("s")}),
      query().group_by({"s", "few"}).aggregate({sum("a", "f"), avg("b", "i"), max("e", "f")}).rank_by({low("a")}),
      query().group_by({"few"}).aggregate({max("a", "u"), min("b", "f")}).rank_by({high("a")}).limit(3),
      query().partition_by({"s"}).rank_by({high("i")}).limit(2),
      query().partition_by({"few"}).rank_by({low("f")}).limit(5).nulls(Missing::exclude),
      query().where("s in ('', 'word 3', 'word 11')").rank_by({high("i")}).limit(9),
      query().where("s not in ('', 'word 3')").group_by({"few"}).aggregate({count("c")}).rank_by({high("c")}),
      query().where("s is null").rank_by({high("i")}).limit(4),
  };
}

/// Rows [begin, begin + rows): `s` has words of its own in each stretch of 20,000 rows.
std::shared_ptr<arrow::Table> table_of_words(std::int64_t begin, std::int64_t rows, bool as_dictionary = false) {
  const auto word = [](std::int64_t row) {
    const std::int64_t number = row * 7 % 13 + row / 20'000 * 5;
    return number == 0 ? std::string() : "word " + std::to_string(number);
  };
  const auto with_row = [&](const auto& add) {
    return [&, add](auto& b, std::int64_t row) { return add(b, begin + row); };
  };
  const auto s = [&](auto& b, std::int64_t row) { return b.Append(word(row)); };
  const auto few = [](auto& b, std::int64_t row) { return b.Append(row % 3 == 0 ? "a" : "b"); };
  const auto i = [](auto& b, std::int64_t row) { return b.Append(static_cast<std::int32_t>(row * 37 % 100'003)); };
  const auto f = [](auto& b, std::int64_t row) { return b.Append(static_cast<float>(row % 1'001) / 8); };
  const auto u = [](auto& b, std::int64_t row) { return b.Append(static_cast<std::uint64_t>(row * row)); };
  const auto words = as_dictionary ? build(arrow::StringDictionary32Builder(), rows, true, with_row(s))
                                   : build(arrow::StringBuilder(), rows, true, with_row(s));
  const std::vector<std::pair<std::string, std::shared_ptr<arrow::Array>>> columns = {
      {"s", words},
      {"few", build(arrow::StringBuilder(), rows, false, with_row(few))},
      {"i", build(arrow::Int32Builder(), rows, true, with_row(i))},
      {"f", build(arrow::FloatBuilder(), rows, true, with_row(f))},
      {"u", build(arrow::UInt64Builder(), rows, false, with_row(u))}};
  arrow::FieldVector fields;
  arrow::ArrayVector arrays;
  for (const auto& [name, array] : columns) {
    fields.push_back(arrow::field(name, array->type()));
    arrays.push_back(array);
  }
  return arrow::Table::Make(arrow::schema(std::move(fields)), arrays);
}

/// Expects the answers over a source to be those over the same rows in memory, as one table.
void expect_answers(const Source& source, const Table& whole, const std::vector<Query>& asked = queries_of_strings()) {
  const Engine engine({.threads = 2});
  for (const Query& query : asked) {
    const Result expected = engine.run(query, whole);
    for (const bool by_units : {true, false}) {
      if (!by_units && tests::kSanitized) continue;  // the whole table, as above
      Query chosen = query;
      if (!by_units)
        chosen.using_path({.algorithms = {}, .device = DeviceChoice::cpu, .parameters = {}, .without = {"by-units"}});
      const Result found = engine.run(chosen, source);
      EXPECT_EQ(found.rows, expected.rows);
      ASSERT_EQ(schema_of(found.table), schema_of(expected.table));
      for (const Column& column : expected.table.columns()) {
        EXPECT_EQ(values_of(found.table, column.name()), values_of(expected.table, column.name())) << column.name();
      }
    }
  }
}

constexpr std::int64_t kRows = 210'000;  // with row groups of 70,000 rows, which are answered one by one
constexpr std::int64_t kGroupRows = 70'000;

TEST(AnswersOverStrings, AreThoseOfTheTableWhereDictionariesDiffer) {
  const TemporaryFolder folder;
  const auto table = table_of_words(0, kRows);
  for (const std::int64_t dictionary_bytes : {1 << 20, 100}) {
    parquet::WriterProperties::Builder properties;
    properties.data_pagesize(4'000)->write_batch_size(500)->dictionary_pagesize_limit(dictionary_bytes);
    write_file(*table, folder / "t.parquet", kGroupRows, properties);
    const auto source = open_source({folder / "t.parquet"});
    ASSERT_NE(source, nullptr);
    expect_answers(*source, to_skyrank(table, "t"));
  }
  parquet::WriterProperties::Builder plain;
  write_file(*table, folder / "t.parquet", kGroupRows + 5'000, *plain.disable_dictionary());
  const auto source = open_source({folder / "t.parquet"});
  expect_answers(*source, to_skyrank(table, "t"));
  const Result counted = Engine({.device = DeviceChoice::cpu}).run(queries_of_strings().front(), *source);
  EXPECT_THAT(to_string(counted.plan), HasSubstr("rows are grouped by codes of s as they are read"));
}

TEST(AnswersOverStrings, AreThoseOfTheTableWhereOneFileHasPlainPages) {
  const TemporaryFolder folder;
  parquet::WriterProperties::Builder properties;
  write_file(*table_of_words(0, kGroupRows), folder / "a.parquet", kGroupRows, properties);
  properties.disable_dictionary();
  write_file(*table_of_words(kGroupRows, kRows - kGroupRows), folder / "b.parquet", kGroupRows, properties);
  const auto source = open_source({folder / "a.parquet", folder / "b.parquet"});
  ASSERT_NE(source, nullptr);
  expect_answers(*source, read({folder / "a.parquet", folder / "b.parquet"}));
}

TEST(AnswersOverNumbers, AreThoseOfTheTableWhereGroupsComeAsCodes) {
  const TemporaryFolder folder;
  const auto query = [](const char* key) { return Query::from("t").group_by({key}); };
  const auto table = table_of_words(0, kRows);
  parquet::WriterProperties::Builder properties;
  write_file(*table, folder / "t.parquet", kGroupRows, properties);
  const auto source = open_source({folder / "t.parquet"});
  ASSERT_NE(source, nullptr);
  const std::vector<Query> asked = {
      query("f").aggregate({count("c"), sum("a", "i"), avg("b", "i"), max("d", "u")}).rank_by({high("a")}).limit(9),
      query("i").aggregate({count("c"), min("a", "f")}).rank_by({low("a"), high("c")}).limit(50),
      query("f").aggregate({count("c"), sum("a", "f")}).rank_by({high("a")}).limit(5),  // which reads values too
      query("s").aggregate({max("a", "i"), count("b")}).rank_by({high("b")}),
      query("u").aggregate({count("b")}).rank_by({high("b")}).limit(5),  // as many values as rows
  };
  expect_answers(*source, to_skyrank(table, "t"), asked);
  const PlanNode plan = Engine({.device = DeviceChoice::cpu}).run(asked.front(), *source).plan;
  EXPECT_THAT(to_string(plan), HasSubstr("rows are grouped by codes of f as they are read"));
  EXPECT_THAT(to_string(plan), HasSubstr("numbered by codes"));
}

TEST(AnswersOverIntegers, AreByUnitsWhereStatisticsTellThatThereAreFew) {
  const TemporaryFolder folder;
  const arrow::FieldVector fields = {arrow::field("few", arrow::int32()), arrow::field("many", arrow::int64()),
                                     arrow::field("v", arrow::float64())};
  const auto few = build(arrow::Int32Builder(), kRows, true, [](auto& builder, std::int64_t row) {
    return builder.Append(static_cast<int>(row % 99) - 50);
  });
  const auto many = build(arrow::Int64Builder(), kRows, false,
                          [](auto& builder, std::int64_t row) { return builder.Append(row * row); });
  const auto v = build(arrow::DoubleBuilder(), kRows, true, [](auto& builder, std::int64_t row) {
    return builder.Append(static_cast<double>(row % 1'013));
  });
  const auto table = arrow::Table::Make(arrow::schema(fields), {few, many, v});
  parquet::WriterProperties::Builder properties;
  properties.disable_dictionary();  // or groups would be those of its entries
  write_file(*table, folder / "t.parquet", kGroupRows, properties);
  const auto source = open_source({folder / "t.parquet"});
  ASSERT_NE(source, nullptr);
  const auto counted = [](const char* key) {
    return Query::from("t")
        .group_by({key})
        .aggregate({count("c"), avg("a", "v")})
        .rank_by({high("a"), low(key)})
        .limit(9);
  };
  const char* const by_units = "3 units: partial answers, as groups are few";
  EXPECT_THAT(to_string(Engine().run(counted("few"), *source).plan), HasSubstr(by_units));
  EXPECT_THAT(to_string(Engine().run(counted("many"), *source).plan), Not(HasSubstr(by_units)));
  expect_answers(
      *source, to_skyrank(table, "t"),
      {counted("few"), counted("many"), Query::from("t").partition_by({"few"}).rank_by({high("v")}).limit(3)});
  properties.disable_statistics();
  write_file(*table, folder / "t.parquet", kGroupRows, properties);
  EXPECT_THAT(to_string(Engine().run(counted("few"), *open_source({folder / "t.parquet"})).plan),
              Not(HasSubstr(by_units)));
}

TEST(AnswersOverStrings, AreThoseOfTheTableWhereFoldersAreColumns) {
  const TemporaryFolder folder;
  std::int64_t begin = 0;
  for (const char* const name : {"t/lang=de", "t/lang=fr", "t/lang=__HIVE_DEFAULT_PARTITION__"}) {
    std::filesystem::create_directories(folder / name);
    parquet::WriterProperties::Builder properties;
    write_file(*table_of_words(std::exchange(begin, begin + kGroupRows), kGroupRows), folder / name / "part.parquet",
               kGroupRows, properties);
  }
  TableSpec table;
  table.name = "t";
  table.files = {"t"};
  const auto source = open_source(table, folder.path());
  ASSERT_NE(source, nullptr);
  const auto query = [] { return Query::from("t"); };
  expect_answers(
      *source, load(table, folder.path()),
      {query().group_by({"lang", "s"}).aggregate({count("c"), max("a", "i")}).rank_by({high("c"), low("s")}).limit(9),
       query().group_by({"lang"}).aggregate({sum("a", "f")}).rank_by({high("a")}),
       query().partition_by({"lang"}).rank_by({high("i")}).limit(3),
       query().where("lang = 'fr' and s = ''").rank_by({high("i")}).limit(3)});
}

TEST(AnswersOverStrings, AreThoseOfTheTableWhereArrowFilesHaveDictionaries) {
  const TemporaryFolder folder;
  // Each batch has a dictionary that goes on where the last one ended, which is written as a delta, or as one of its
  // own.
  for (const bool deltas : {true, false}) {
    arrow::RecordBatchVector batches;
    for (std::int64_t begin = 0; begin < kRows; begin += kGroupRows) {
      const auto words = deltas ? table_of_words(0, begin + kGroupRows, true)->column(0)->chunk(0)->Slice(begin)
                                : table_of_words(begin, kGroupRows, true)->column(0)->chunk(0);
      const auto rows = table_of_words(begin, kGroupRows);
      const auto encoded =
          rows->SetColumn(0, arrow::field("s", words->type()), std::make_shared<arrow::ChunkedArray>(words));
      batches.push_back(encoded.ValueOrDie()->CombineChunksToBatch().ValueOrDie());
    }
    auto options = arrow::ipc::IpcWriteOptions::Defaults();
    options.emit_dictionary_deltas = deltas;
    options.unify_dictionaries = !deltas;
    const auto out = arrow::io::FileOutputStream::Open((folder / "t.arrow").string()).ValueOrDie();
    const auto writer = arrow::ipc::MakeFileWriter(out, batches.front()->schema(), options).ValueOrDie();
    if (deltas) {
      for (const auto& batch : batches) require(writer->WriteRecordBatch(*batch));
    } else {
      require(writer->WriteTable(*arrow::Table::FromRecordBatches(batches).ValueOrDie(), kGroupRows));
    }
    require(writer->Close());
    require(out->Close());
    const auto source = open_source({folder / "t.arrow"});
    ASSERT_NE(source, nullptr);
    expect_answers(*source, to_skyrank(table_of_words(0, kRows), "t"));
  }
}

}  // namespace
}  // namespace skyrank::datasets
