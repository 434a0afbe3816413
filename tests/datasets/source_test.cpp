#include "datasets/source.hpp"

#include <cstdlib>

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

TableSpec of_files(std::vector<std::string> files) {
  TableSpec source;
  source.name = "t";
  source.files = std::move(files);
  source.location = {"batch.yaml", 3, 7};
  return source;
}

TEST(Source, FilesRelativeToTheBatch) {
  const TemporaryFolder folder;
  folder.write("p1.csv", "1,-\n");
  folder.write("p2.csv", "2,x\n");
  TableSpec source = of_files({"p*.csv"});
  source.csv.header = false;
  source.csv.null_spellings = {"-"};
  const Table table = load(source, folder.path());
  EXPECT_THAT(values_of(table, "c0"), ElementsAre("1", "2"));
  EXPECT_THAT(values_of(table, "c1"), ElementsAre("NULL", "x"));
  EXPECT_THAT(column_names(source, folder.path()).names, ElementsAre("c0", "c1"));
  EXPECT_THAT(schema_of(load_schema(source, folder.path())), ElementsAre("c0:int64", "c1:string"));
  EXPECT_EQ(load_schema(source, folder.path()).num_rows(), 0);
  LoadOptions options;
  options.columns = {"c1"};
  EXPECT_THAT(schema_of(load(source, folder.path(), options)), ElementsAre("c1:string"));
  EXPECT_THAT(schema_of(load_schema(source, folder.path(), options)), ElementsAre("c1:string"));
}

class FolderTables : public ::testing::Test {
 protected:
  void write(const std::string& file, std::string_view content) {
    std::filesystem::create_directories((folder_ / file).parent_path());
    folder_.write(file, content);
  }
  Table load_files(std::vector<std::string> files) { return load(of_files(std::move(files)), folder_.path()); }

  TemporaryFolder folder_;
};

TEST_F(FolderTables, FoldersGiveColumns) {
  write("t/city=Oslo/day=2020-01-02/n=1/part.csv", "a\n1\n2\n");
  write("t/city=__HIVE_DEFAULT_PARTITION__/day=2020-01-03/n=-5/part.csv", "a\n3\n");
  write("t/city=%C3%85lesund%2Fx/day=2020-01-01/n=10/part.csv", "a\n4\n");
  write("t/_SUCCESS", "");
  write("t/.part.csv.crc", "x");
  write("t/_temporary/part.csv", "other\n1\n");
  write("t/notes.txt", "x");
  for (const std::string name : {"t", "t/", "t/*/*/*/*.csv", "t/city=*"}) {
    const Table table = load_files({name});
    EXPECT_THAT(schema_of(table), ElementsAre("a:int64", "city:string", "day:date", "n:int64")) << name;
    EXPECT_THAT(values_of(table, "a"), ElementsAre("4", "1", "2", "3")) << name;
    EXPECT_THAT(values_of(table, "city"), ElementsAre("\xC3\x85lesund/x", "Oslo", "Oslo", "NULL")) << name;
    EXPECT_THAT(values_of(table, "day"), ElementsAre("2020-01-01", "2020-01-02", "2020-01-02", "2020-01-03"));
    EXPECT_THAT(values_of(table, "n"), ElementsAre("10", "1", "1", "-5"));
  }
  EXPECT_THAT(column_names(of_files({"t"}), folder_.path()).names, ElementsAre("a", "city", "day", "n"));
  LoadOptions options;
  options.columns = {"n", "a"};
  EXPECT_THAT(schema_of(load(of_files({"t"}), folder_.path(), options)), ElementsAre("n:int64", "a:int64"));
  options.columns = {"city"};
  EXPECT_EQ(load(of_files({"t"}), folder_.path(), options).num_rows(), 4);
  EXPECT_THAT(schema_of(load_schema(of_files({"t"}), folder_.path())),
              ElementsAre("a:int64", "city:string", "day:date", "n:int64"));
}

TEST_F(FolderTables, CodesWithLeadingZerosStayText) {
  write("t/code=007/a.csv", "a\n1\n");
  write("t/code=12/a.csv", "a\n1\n");
  EXPECT_THAT(values_of(load_files({"t"}), "code"), ElementsAre("007", "12"));
  EXPECT_THAT(schema_of(load_files({"t/code=12/a.csv"})), ElementsAre("a:int64", "code:int64"));
}

TEST_F(FolderTables, WhatDoesNotFitIsRefused) {
  write("t/city=Oslo/a.csv", "a\n1\n");
  write("t/b.csv", "a\n1\n");
  EXPECT_THAT(error_of<DataError>([&] { load_files({"t"}); }),
              AllOf(HasSubstr("t/b.csv: lies in no folder 'city=...', but"), HasSubstr("city=Oslo/a.csv does")));
  write("u/a=2/a.csv", "a\n1\n");
  EXPECT_THAT(error_of<DataError>([&] { load_files({"u"}); }),
              HasSubstr("u/a=2/a.csv: stores a column 'a', and its folder 'a=...' gives another; rename"));
  write("v/a=1/a=2/x.csv", "b\n1\n");
  EXPECT_THAT(error_of<DataError>([&] { load_files({"v"}); }),
              HasSubstr("two of its folders give a value for column 'a'"));
  write("w/notes.txt", "x");
  EXPECT_THAT(error_of<DataError>([&] { load_files({"w"}); }),
              AllOf(StartsWith("batch.yaml:3:7"), HasSubstr("w' holds no file that can be read (.csv .tsv .jsonl")));
}

TEST_F(FolderTables, FoldersAboveTheBatchGiveNone) {
  write("run=5/t.csv", "a\n1\n");
  EXPECT_THAT(schema_of(load(of_files({"t.csv"}), folder_ / "run=5")), ElementsAre("a:int64"));
}

TEST(Source, MissingFilesAreReportedWhereTheBatchNamesThem) {
  const TemporaryFolder folder;
  EXPECT_THAT(error_of<DataError>([&] { load(of_files({"none.csv"}), folder.path()); }),
              AllOf(StartsWith("batch.yaml:3:7"), HasSubstr("none.csv")));
  EXPECT_THAT(error_of<DataError>([&] { column_names(of_files({"*.csv"}), folder.path()); }),
              StartsWith("batch.yaml:3:7"));
}

TEST(Source, Generators) {
  TableSpec source;
  source.name = "points";
  source.generator = GeneratorSpec{"anticorrelated", 100, 3, 7};
  const Table table = load(source, "/nowhere");
  EXPECT_EQ(table.num_rows(), 100);
  EXPECT_THAT(schema_of(table), ElementsAre("c0:float32", "c1:float32", "c2:float32"));
  EXPECT_THAT(column_names(source, "/nowhere").names, ElementsAre("c0", "c1", "c2"));
  const Table schema = load_schema(source, "/nowhere");
  EXPECT_EQ(schema.num_rows(), 0);
  EXPECT_EQ(schema_of(schema), schema_of(table));
  LoadOptions options;
  options.columns = {"c2", "c0"};
  const Table some = load(source, "/nowhere", options);
  EXPECT_THAT(schema_of(some), ElementsAre("c2:float32", "c0:float32"));
  EXPECT_EQ(values_of(some, "c2"), values_of(table, "c2"));
  options.columns = std::vector<std::string>{};
  EXPECT_EQ(load(source, "/nowhere", options).num_rows(), 100);
}

/// The folder of real data, or nothing where it is absent.
std::optional<std::filesystem::path> real_data() {
  const char* variable = std::getenv("SKYRANK_DATA");
  std::filesystem::path folder = variable != nullptr ? variable : SKYRANK_DEFAULT_DATA;
  if (std::filesystem::exists(folder / "nba.csv")) return folder;
  return std::nullopt;
}

class RealData : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!real_data()) GTEST_SKIP() << "no real data: set SKYRANK_DATA to the folder that holds nba.csv";
  }
  static Table table(const char* file, bool header = true) {
    TableSpec source = of_files({file});
    source.csv.header = header;
    return load(source, *real_data());
  }
};

TEST_F(RealData, Nba) {
  const Table nba = table("nba.csv", false);
  EXPECT_EQ(nba.num_rows(), 17'264);
  EXPECT_THAT(schema_of(nba), ElementsAre("c0:float64", "c1:float64", "c2:float64", "c3:float64", "c4:float64",
                                          "c5:float64", "c6:float64", "c7:float64"));
  EXPECT_EQ(std::get<double>(nba.column("c0").value(0)), 0.8644941);
  EXPECT_EQ(std::get<double>(nba.column("c7").value(0)), 0.9779589);
}

TEST_F(RealData, Diamonds) {
  const Table diamonds = table("diamonds.csv");
  EXPECT_EQ(diamonds.num_rows(), 53'940);
  EXPECT_THAT(schema_of(diamonds),
              ElementsAre("carat:float64", "cut:string", "color:string", "clarity:string", "depth:float64",
                          "table:float64", "price:int64", "x:float64", "y:float64", "z:float64"));
  for (const Column& column : diamonds.columns()) {
    for (std::int64_t row = 0; row < column.size(); ++row) ASSERT_FALSE(column.is_null(row)) << column.name();
  }
}

TEST_F(RealData, CaliforniaHousing) {
  const Table housing = table("california-housing.csv");
  EXPECT_EQ(housing.num_rows(), 20'640);
  EXPECT_EQ(housing.num_columns(), 10);
  const Column& bedrooms = housing.column("total_bedrooms");
  std::int64_t nulls = 0;
  for (std::int64_t row = 0; row < bedrooms.size(); ++row) nulls += bedrooms.is_null(row) ? 1 : 0;
  EXPECT_EQ(nulls, 207);
}

// Real data that is written reads back as it was.
TEST_F(RealData, EveryFormatKeepsEveryValue) {
  const TemporaryFolder folder;
  const Table housing = table("california-housing.csv");
  for (const char* name : {"h.csv", "h.parquet", "h.arrow"}) {
    write(housing, folder / name, format_of(name));
    const Table again = read({folder / name});
    ASSERT_EQ(again.num_rows(), housing.num_rows());
    for (int c = 0; c < housing.num_columns(); ++c) {
      for (std::int64_t row = 0; row < housing.num_rows(); ++row) {
        ASSERT_EQ(to_string(again.column(c).value(row)), to_string(housing.column(c).value(row))) << name;
      }
    }
  }
}

}  // namespace
}  // namespace skyrank::datasets
