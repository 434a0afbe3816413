// Compressed text, pipes, and the names by which files are found: formats before names, URIs.
#include <arrow/buffer.h>
#include <arrow/util/compression.h>
#include <sys/stat.h>

#include <thread>

#include "datasets/reader.hpp"
#include "datasets/source.hpp"
#include "datasets/write/writer.hpp"
#include "tests/datasets/support.hpp"

namespace skyrank::datasets {
namespace {

using test::error_of;
using test::schema_of;
using test::TemporaryFolder;
using test::values_of;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string compressed(std::string_view text, arrow::Compression::type type) {
  const auto codec = arrow::util::Codec::Create(type).ValueOrDie();
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(text.data());
  const auto size = static_cast<std::int64_t>(text.size());
  std::string out(static_cast<std::size_t>(codec->MaxCompressedLen(size, bytes)), '\0');
  auto* begin = reinterpret_cast<std::uint8_t*>(out.data());
  out.resize(static_cast<std::size_t>(
      codec->Compress(size, bytes, static_cast<std::int64_t>(out.size()), begin).ValueOrDie()));
  return out;
}

std::string gzip(std::string_view text) { return compressed(text, arrow::Compression::GZIP); }
std::string zstd(std::string_view text) { return compressed(text, arrow::Compression::ZSTD); }

TEST(CompressedText, HasTheRowsOfTheText) {
  const TemporaryFolder folder;
  std::string text = "id,name,day\n";
  for (int i = 0; i < 50'000; ++i) text += std::to_string(i) + ",\"name, " + std::to_string(i % 13) + "\",2024-01-02\n";
  const Table expected = read({folder.write("t.csv", text)});
  folder.write("a.csv.gz", gzip(text));
  folder.write("b.CSV.ZST", zstd(text));
  // Members of gzip follow one another, as `cat` joins files.
  folder.write("c.csv.gz", gzip(text.substr(0, 1'000)) + gzip(text.substr(1'000)));
  for (const char* name : {"a.csv.gz", "b.CSV.ZST", "c.csv.gz"}) {
    const Table table = read({folder / name});
    EXPECT_EQ(schema_of(table), schema_of(expected)) << name;
    EXPECT_EQ(values_of(table, "name"), values_of(expected, "name")) << name;
    EXPECT_THAT(column_names({folder / name}).names, ElementsAre("id", "name", "day")) << name;
  }
  folder.write("d.jsonl.gz", gzip("{\"a\": 1}\n"));
  EXPECT_THAT(schema_of(read({folder / "d.jsonl.gz"})), ElementsAre("a:int64"));
}

TEST(CompressedText, DamageIsAnErrorThatNamesTheFile) {
  const TemporaryFolder folder;
  std::string text = "id\n";
  for (int i = 0; i < 10'000; ++i) text += std::to_string(i * 7919) + "\n";
  for (const auto& [name, content] : {std::pair("t.csv.gz", gzip(text)), std::pair("t.csv.zst", zstd(text))}) {
    folder.write(name, content.substr(0, content.size() / 2));
    EXPECT_THAT(error_of<DataError>([&, file = name] { read({folder / file}); }),
                AllOf(HasSubstr(name), HasSubstr("cannot be decompressed, it is damaged or cut short")));
    folder.write(name, text);
    EXPECT_THAT(error_of<DataError>([&, file = name] { read({folder / file}); }), HasSubstr("cannot be decompressed"));
  }
  folder.write("t.parquet.gz", gzip("PAR1"));
  EXPECT_THAT(error_of<DataError>([&] { read({folder / "t.parquet.gz"}); }), HasSubstr("names no format"));
  ReadOptions options;
  options.format = Format::parquet;
  EXPECT_THAT(error_of<DataError>([&] { read({folder / "t.parquet.gz"}, options); }),
              HasSubstr("is compressed as a whole, which files of format parquet cannot be"));
}

TEST(Pipes, FirstBytesTellFormatAndCompression) {
  const TemporaryFolder folder;
  for (const std::string& content :
       {std::string("a\n1\n"), gzip("a\n1\n"), zstd("{\"a\": 1}\n"), std::string("{\"a\": 1}")}) {
    const auto pipe = folder / "pipe";
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    std::jthread writer([&] { std::ofstream(pipe, std::ios::binary) << content; });
    const Table table = read({pipe});
    EXPECT_THAT(schema_of(table), ElementsAre("a:int64"));
    EXPECT_THAT(values_of(table, "a"), ElementsAre("1"));
    std::filesystem::remove(pipe);
  }
}

class NamedFiles : public ::testing::Test {
 protected:
  TableSpec of(std::string file, std::string format = {}) {
    TableSpec source;
    source.name = "t";
    source.files = {std::move(file)};
    source.format = std::move(format);
    source.location = {"batch.yaml", 3, 7};
    return source;
  }
  Table load(const TableSpec& source) { return datasets::load(source, folder_.path()); }
  TemporaryFolder folder_;
};

TEST_F(NamedFiles, AFormatGoesBeforeTheExtension) {
  folder_.write("rows.txt", "a\tb\n1\t2\n");
  EXPECT_THAT(schema_of(load(of("rows.txt", "tsv"))), ElementsAre("a:int64", "b:int64"));
  std::filesystem::create_directory(folder_ / "parts");
  folder_.write("parts/0001", "{\"a\": 1}\n");
  folder_.write("parts/0000", gzip("{\"a\": 0}\n"));
  folder_.write("parts/_SUCCESS", "");
  EXPECT_THAT(values_of(load(of("parts", "jsonl")), "a"), ElementsAre("0", "1"));
  EXPECT_THAT(error_of<DataError>([&] { load(of("rows.txt", "cvs")); }),
              AllOf(StartsWith("batch.yaml:3:7"), HasSubstr("unknown format 'cvs'"), HasSubstr("csv")));
}

TEST_F(NamedFiles, UrisNameFilesOfThisMachine) {
  folder_.write("a b.csv", "a\n1\n");
  folder_.write("c.csv", "a\n2\n");
  const std::string path = folder_.path().string();
  EXPECT_THAT(values_of(load(of("file://" + path + "/a%20b.csv")), "a"), ElementsAre("1"));
  EXPECT_THAT(values_of(load(of("file://localhost" + path + "/c.csv")), "a"), ElementsAre("2"));
  EXPECT_THAT(values_of(load(of("file:" + path + "/*.csv")), "a"), ElementsAre("1", "2"));
  EXPECT_THAT(error_of<DataError>([&] { load(of("https://host/t.csv")); }),
              AllOf(StartsWith("batch.yaml:3:7: 'https://host/t.csv' cannot be opened: "),
                    HasSubstr("files are read from paths, from file:///path, and from s3://bucket/key")));
  EXPECT_THAT(error_of<DataError>([&] { load(of("file://host/t.csv")); }), HasSubstr("names no absolute path"));
  EXPECT_THAT(error_of<DataError>([&] { load(of("file:t.csv")); }), HasSubstr("names no absolute path"));
  EXPECT_THAT(error_of<DataError>([&] { load(of("file://" + path + "/none.csv")); }), HasSubstr("there is no file"));
}

TEST_F(NamedFiles, AFormatMayComeBeforeTheName) {
  folder_.write("rows", "{\"a\": 1}\n");
  folder_.write("more", gzip("{\"a\": 2}\n"));
  EXPECT_THAT(values_of(load(of("jsonl:rows")), "a"), ElementsAre("1"));
  EXPECT_THAT(values_of(load(of("jsonl:*")), "a"), ElementsAre("2", "1"));
  TableSpec both = of("jsonl:rows");
  both.files.emplace_back("more");
  EXPECT_EQ(error_of<DataError>([&] { load(both); }),
            "batch.yaml:3:7: 'more' and 'jsonl:rows' are of different formats by their names; all files that begin "
            "with a format need the same");
  EXPECT_EQ(error_of<DataError>([&] { load(of("jsonl:rows", "csv")); }),
            "batch.yaml:3:7: 'jsonl:rows' begins with another format than 'format: csv'; leave one of them out");
  // A file of that name is a file.
  folder_.write("csv:x.csv", "a\n3\n");
  EXPECT_THAT(values_of(load(of("csv:x.csv")), "a"), ElementsAre("3"));
}

TEST_F(NamedFiles, ADelimiterIsOneCharacter) {
  folder_.write("t.csv", "a;b\n1,5;\"x;y\"\n");
  folder_.write("t.tsv", "a\tb\n1\t2\n");
  TableSpec source = of("t.csv");
  source.csv.delimiter = ";";
  EXPECT_THAT(schema_of(load(source)), ElementsAre("a:float64", "b:string"));
  EXPECT_THAT(values_of(load(source), "b"), ElementsAre("x;y"));
  EXPECT_THAT(schema_of(load(of("t.tsv"))), ElementsAre("a:int64", "b:int64"));
  source.files = {"t.tsv"};
  for (const char* tab : {"\t", "\\t", "tab"}) {
    source.csv.delimiter = tab;
    source.format = "csv";
    EXPECT_THAT(schema_of(load(source)), ElementsAre("a:int64", "b:int64"));
  }
  for (const char* wrong : {";;", "\"", "\n", "\xC3\xA9"}) {
    source.csv.delimiter = wrong;
    EXPECT_EQ(error_of<DataError>([&] { load(source); }),
              std::string("batch.yaml:3:7: a delimiter is one character of ASCII other than a quote and a line break, "
                          "such as ';', or 'tab'; found '") +
                  wrong + "'");
  }
}

TEST_F(NamedFiles, APartitionValueOfAnotherTypeMakesTheColumnText) {
  for (const char* folder : {"t/n=1", "t/n=x"}) {
    std::filesystem::create_directories(folder_ / folder);
    folder_.write(std::string(folder) + "/a.csv", "a\n1\n");
  }
  EXPECT_THAT(schema_of(load(of("t"))), ElementsAre("a:int64", "n:string"));
}

}  // namespace
}  // namespace skyrank::datasets
