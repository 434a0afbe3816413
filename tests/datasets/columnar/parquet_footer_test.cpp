// Footers of Parquet files that say what cannot be: counts, sizes, places, names, levels.
#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/io/file.h>
#include <arrow/ipc/writer.h>
#include <arrow/record_batch.h>
#include <arrow/table.h>
#include <parquet/arrow/writer.h>
#include <parquet/properties.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <skyrank/engine.hpp>

#include "datasets/reader.hpp"
#include "tests/build.hpp"
#include "tests/datasets/sources.hpp"
#include "tests/datasets/support.hpp"
#include "tests/parquet/thrift_tree.hpp"

namespace skyrank::datasets {
namespace {

using test::error_of;
using test::require;
using test::TemporaryFolder;
using ::testing::AllOf;
using ::testing::HasSubstr;
using tests::ParquetParts;
using tests::ThriftValue;

constexpr std::int64_t kFooterRows = 300;
constexpr std::int64_t kFooterGroupRows = 100;

/// Writes a table of an integer, a number with NULLs and a text in three row groups.
std::string sound_file(const TemporaryFolder& folder) {
  arrow::Int64Builder integers;
  arrow::DoubleBuilder numbers;
  arrow::StringBuilder texts;
  for (std::int64_t row = 0; row < kFooterRows; ++row) {
    require(integers.Append(row * 37 % 101));
    require(row % 5 == 0 ? numbers.AppendNull() : numbers.Append(static_cast<double>(row % 13)));
    require(texts.Append("t" + std::to_string(row % 7)));
  }
  const auto schema = arrow::schema(
      {arrow::field("a", arrow::int64()), arrow::field("b", arrow::float64()), arrow::field("s", arrow::utf8())});
  const auto table =
      arrow::Table::Make(schema, {integers.Finish().ValueOrDie(), numbers.Finish().ValueOrDie(), *texts.Finish()});
  const auto out = arrow::io::FileOutputStream::Open((folder / "sound.parquet").string()).ValueOrDie();
  parquet::WriterProperties::Builder properties;
  properties.compression(arrow::Compression::SNAPPY);
  require(parquet::arrow::WriteTable(*table, arrow::default_memory_pool(), out, kFooterGroupRows, properties.build()));
  require(out->Close());
  return test::content_of(folder / "sound.parquet");
}

/// Reads all columns of a file, unit by unit and some rows.
void read_all(const std::filesystem::path& file) {
  ReadOptions options;
  options.threads = 1;
  const auto source = open_source({file}, options);
  ASSERT_NE(source, nullptr);
  const std::vector<int> columns = test::all_columns(*source);
  for (std::size_t unit = 0; unit < source->units().size(); ++unit) {
    static_cast<void>(source->read(std::vector<std::size_t>{unit}, columns));
  }
  if (num_rows(*source) > 0) static_cast<void>(source->read_rows(std::vector<RowId>{0}, columns));
}

class ParquetFooters : public ::testing::Test {
 protected:
  /// Returns the message for the file with another footer.
  std::string refusal(const std::function<void(ParquetParts&)>& change) {
    ParquetParts parts = ParquetParts::of(sound_);
    change(parts);
    const auto file = folder_.write("t.parquet", parts.file());
    for (const auto& run : {std::function<void()>([&] { static_cast<void>(read({file})); }),
                            std::function<void()>([&] { static_cast<void>(column_names({file})); })}) {
      EXPECT_THAT(error_of<DataError>(run), HasSubstr((folder_ / "t.parquet").string() + ": "));
    }
    return error_of<DataError>([&] { read_all(file); });
  }

  TemporaryFolder folder_;
  std::string sound_ = sound_file(folder_);
};

const std::vector<std::int64_t> kCounts = {-1,
                                           1,
                                           99,
                                           101,
                                           std::int64_t{1} << 31,
                                           std::int64_t{1} << 32,
                                           std::int64_t{1} << 60,
                                           std::int64_t{1} << 61,
                                           (std::int64_t{1} << 61) + 1,
                                           std::int64_t{1} << 62,
                                           std::numeric_limits<std::int64_t>::max(),
                                           std::numeric_limits<std::int64_t>::min()};

TEST_F(ParquetFooters, AreWrittenAgainAsTheyWere) {
  EXPECT_EQ(ParquetParts::of(sound_).file(), sound_);
  read_all(folder_ / "sound.parquet");
}

TEST_F(ParquetFooters, HaveRowsThatTheirColumnsHave) {
  for (const std::int64_t rows : kCounts) {
    const auto set_rows = [&](ParquetParts& parts) { parts.row_group(1).at(3).integer = rows; };
    EXPECT_THAT(refusal(set_rows), HasSubstr("damaged: column 'a' of row group 1: the number of values is 100, but "
                                             "the row group has " +
                                             std::to_string(rows) + " rows"));
    EXPECT_THAT(refusal([&](ParquetParts& parts) {
                  set_rows(parts);
                  parts.footer.at(3).integer = 2 * kFooterGroupRows + (rows < 0 ? 0 : rows % (std::int64_t{1} << 62));
                }),
                HasSubstr("column 'a' of row group 1"));
  }
}

TEST_F(ParquetFooters, HaveValuesThatTheirPagesCanHold) {
  for (const std::int64_t values : kCounts) {
    EXPECT_THAT(refusal([&](ParquetParts& parts) { parts.chunk(2, 1).at(5).integer = values; }),
                HasSubstr("column 'b' of row group 2: the number of values is " + std::to_string(values)));
  }
  for (const std::int64_t values : {std::int64_t{1} << 60, std::numeric_limits<std::int64_t>::max()}) {
    EXPECT_THAT(refusal([&](ParquetParts& parts) {
                  parts.row_group(0).at(3).integer = values;
                  for (const std::size_t leaf : {0, 1, 2}) parts.chunk(0, leaf).at(5).integer = values;
                }),
                AllOf(HasSubstr("column 'a' of row group 0: the number of values is " + std::to_string(values)),
                      HasSubstr("the data are damaged")));
  }
}

TEST_F(ParquetFooters, HaveAsManyRowsAsTheirRowGroups) {
  for (const std::int64_t rows : kCounts) {
    EXPECT_THAT(refusal([&](ParquetParts& parts) { parts.footer.at(3).integer = rows; }),
                HasSubstr("the file has " + std::to_string(rows) + " rows, and its row groups 300 together"));
  }
}

TEST_F(ParquetFooters, HaveRowsThatTheirPagesHave) {
  for (const std::int64_t rows : {std::int64_t{1}, std::int64_t{99}, std::int64_t{101}, std::int64_t{1} << 33}) {
    ParquetParts parts = ParquetParts::of(sound_);
    parts.footer.at(3).integer = 2 * kFooterGroupRows + rows;
    parts.row_group(0).at(3).integer = rows;
    for (const std::size_t leaf : {0, 1, 2}) parts.chunk(0, leaf).at(5).integer = rows;
    const auto file = folder_.write("t.parquet", parts.file());
    EXPECT_THAT(error_of<DataError>([&] { read_all(file); }), HasSubstr(file.string() + ": ")) << rows;
  }
}

TEST_F(ParquetFooters, HaveChunksThatLieInTheFile) {
  for (const int field : {7, 9, 11}) {
    for (const std::int64_t place : kCounts) {
      if (place >= 1 && place <= 101) continue;  // in the file
      EXPECT_THAT(refusal([&](ParquetParts& parts) {
                    parts.chunk(1, 2).set(field, ThriftValue::of(place, ThriftValue::kInt64));
                  }),
                  HasSubstr("column 's' of row group 1: the "));
    }
  }
}

TEST_F(ParquetFooters, HaveAChunkForEachColumn) {
  EXPECT_THAT(refusal([](ParquetParts& parts) { parts.row_group(1).at(1).elements.pop_back(); }),
              HasSubstr("damaged: row group 1 has 2 columns, and the schema 3"));
  EXPECT_THAT(refusal([](ParquetParts& parts) {
                std::erase_if(parts.row_group(1).at(1)[0].fields,
                              [](const ThriftValue& field) { return field.number == 3; });
              }),
              HasSubstr("column 'a' of row group 1: its number of values, its size or its place is missing"));
}

TEST_F(ParquetFooters, HaveGroupsOfTheFieldsThatFollowThem) {
  for (const std::int64_t children : {std::int64_t{2}, std::int64_t{4}, std::int64_t{-1}, std::int64_t{0x7fffffff}}) {
    EXPECT_THAT(refusal([&](ParquetParts& parts) { parts.schema()[0].at(5).integer = children; }),
                HasSubstr("damaged: the "));
  }
}

TEST_F(ParquetFooters, HaveNamesOfUtf8) {
  EXPECT_THAT(refusal([](ParquetParts& parts) { parts.schema()[2].at(4).bytes = "b\xff\xfe"; }),
              HasSubstr(R"(t.parquet: the column name 'b\xff\xfe' is not UTF-8)"));
}

/// Adds a column of `levels` levels to the schema, and to all row groups a chunk of it.
void add_deep_column(ParquetParts& parts, std::size_t levels) {
  for (std::size_t level = 1; level < levels; ++level) {
    ThriftValue& group = parts.schema().elements.emplace_back();
    group.set(3, ThriftValue::of(1, ThriftValue::kInt32));
    group.set(4, ThriftValue::of("g"));
    group.set(5, ThriftValue::of(1, ThriftValue::kInt32));
  }
  parts.schema().elements.push_back(parts.schema()[1]);
  parts.schema()[0].at(5).integer = 4;
  parts.footer.at(7).elements.push_back(parts.footer.at(7)[0]);
  for (const std::size_t group : {0, 1, 2}) {
    parts.row_group(group).at(1).elements.push_back(parts.row_group(group).at(1)[0]);
  }
}

TEST_F(ParquetFooters, HaveAHundredLevelsAtMost) {
  for (const std::size_t levels : {2U, 99U, 100U}) {
    ParquetParts parts = ParquetParts::of(sound_);
    add_deep_column(parts, levels);
    const auto source = open_source({folder_.write("deep.parquet", parts.file())});
    ASSERT_NE(source, nullptr);
    EXPECT_EQ(source->schema().columns().size(), 3U);
    EXPECT_EQ(source->schema().unsupported().size(), 1U);
  }
  for (const std::size_t levels : {101U, 9'000U, 200'000U}) {
    EXPECT_THAT(refusal([&](ParquetParts& parts) { add_deep_column(parts, levels); }),
                HasSubstr("its schema has fields within fields of more than 100 levels"));
  }
}

TEST_F(ParquetFooters, AreRefusedOrReadWithAnyByteChanged) {
  const std::size_t begin = ParquetParts::of(sound_).body.size();
  const int step = tests::kSanitized ? 7 : 1;
  for (std::size_t place = begin; place < sound_.size(); place += static_cast<std::size_t>(step)) {
    std::string damaged = sound_;
    damaged[place] = static_cast<char>(damaged[place] ^ (1 << place % 8));
    const auto file = folder_.write("t.parquet", damaged);
    try {
      read_all(file);
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr(file.string())) << place;
    }
  }
}

// ------------------------------------------------------------------------------------------------- schemas of Arrow

TEST(ArrowSchemas, HaveAHundredLevelsAtMostAndNamesOfUtf8) {
  const TemporaryFolder folder;
  const auto written = [&](const std::shared_ptr<arrow::Field>& field) {
    const auto schema = arrow::schema({arrow::field("a", arrow::int64()), field});
    const auto out = arrow::io::FileOutputStream::Open((folder / "t.arrow").string()).ValueOrDie();
    const auto writer = arrow::ipc::MakeFileWriter(out, schema).ValueOrDie();
    require(writer->Close());
    require(out->Close());
    return folder / "t.arrow";
  };
  const auto deep = [](int levels) {
    std::shared_ptr<arrow::DataType> type = arrow::int64();
    for (int level = 1; level < levels; ++level) type = arrow::struct_({arrow::field("g", type)});
    return arrow::field("deep", type);
  };
  // Beyond its own limit of messages, Arrow refuses them.
  for (const int levels : {101, 110, 1'000}) {
    EXPECT_THAT(error_of<DataError>([&, file = written(deep(levels))] { static_cast<void>(read({file})); }),
                HasSubstr("t.arrow: "))
        << levels;
  }
  EXPECT_EQ(read({written(deep(100))}).unsupported().size(), 1U);
  for (const auto& field : {arrow::field("\xff", arrow::int64()),
                            arrow::field("s", arrow::struct_({arrow::field("\xff", arrow::int64())}))}) {
    for (const bool as_source : {false, true}) {
      const auto file = written(field);
      EXPECT_THAT(error_of<DataError>([&] {
                    if (as_source) static_cast<void>(open_source({file}));
                    static_cast<void>(read({file}));
                  }),
                  HasSubstr(R"(t.arrow: the column name '\xff' is not UTF-8)"));
    }
  }
}

}  // namespace
}  // namespace skyrank::datasets
