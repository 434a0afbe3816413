// Text as people have it: delimiters, decimal signs, headers, comments and encodings that are recognised or stated, and
// JSON documents.
#include <arrow/util/compression.h>

#include <string>
#include <vector>

#include "datasets/input/encoding.hpp"
#include "datasets/source.hpp"
#include "tests/datasets/support.hpp"

namespace skyrank::datasets {
namespace {

using test::error_of;
using test::schema_of;
using test::TemporaryFolder;
using test::values_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string gzipped(std::string_view text) {
  const auto codec = arrow::util::Codec::Create(arrow::Compression::GZIP).ValueOrDie();
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(text.data());
  const auto size = static_cast<std::int64_t>(text.size());
  std::string out(static_cast<std::size_t>(codec->MaxCompressedLen(size, bytes)), '\0');
  auto* begin = reinterpret_cast<std::uint8_t*>(out.data());
  out.resize(static_cast<std::size_t>(
      codec->Compress(size, bytes, static_cast<std::int64_t>(out.size()), begin).ValueOrDie()));
  return out;
}

class TextForms : public ::testing::Test {
 protected:
  TableSpec of(const std::string& name, const std::string& content) const {
    folder_.write(name, content);
    TableSpec table;
    table.name = "t";
    table.files = {name};
    return table;
  }

  /// Reads a table as a whole, and requires that reading it in small blocks gives the same.
  Table load(const TableSpec& table) {
    LoadOptions options;
    notes_.clear();
    options.on_note = [this](const std::string& note) {
      notes_.push_back(note.substr(folder_.path().string().size() + 1));
    };
    Table whole = datasets::load(table, folder_.path(), options);
    options.block_bytes = 16;
    options.on_note = {};
    if (const auto source = open_source(table, folder_.path(), options)) {
      std::vector<std::size_t> units(source->units().size());
      std::vector<int> columns(static_cast<std::size_t>(whole.num_columns()));
      for (std::size_t i = 0; i < units.size(); ++i) units[i] = i;
      for (std::size_t i = 0; i < columns.size(); ++i) columns[i] = static_cast<int>(i);
      EXPECT_EQ(schema_of(source->schema()), schema_of(whole));
      const Table blocks = source->read(units, columns).table;
      for (const Column& column : whole.columns()) {
        EXPECT_EQ(values_of(blocks, column.name()), values_of(whole, column.name()));
      }
    }
    return whole;
  }

  std::string error(const TableSpec& table) {
    const std::string text = error_of<DataError>([&] { load(table); });
    const std::string begin = folder_.path().string() + "/";
    return text.starts_with(begin) ? text.substr(begin.size()) : text;
  }

  TemporaryFolder folder_;
  std::vector<std::string> notes_;
};

TEST_F(TextForms, DelimitersAreRecognised) {
  for (const std::string delimiter : {",", ";", "\t", "|"}) {
    const Table table =
        load(of("t.csv", "a" + delimiter + "b\n1" + delimiter + "x y\n2" + delimiter + "\"p,q;r|s\"\n"));
    EXPECT_THAT(schema_of(table), ElementsAre("a:int64", "b:string"));
    EXPECT_THAT(values_of(table, "b"), ElementsAre("x y", "p,q;r|s"));
    EXPECT_EQ(notes_.empty(), delimiter == ",");
  }
  EXPECT_THAT(notes_, ElementsAre("t.csv: recognised delimiter '|'; state 'delimiter' if this is wrong"));
  // The usual one splits these, or no other does everywhere.
  EXPECT_THAT(schema_of(load(of("t.csv", "a;x,b;y\n1;2,3;4\n"))), ElementsAre("a;x:string", "b;y:string"));
  EXPECT_THAT(schema_of(load(of("t.csv", "a;b\n1\n"))), ElementsAre("a;b:int64"));
  EXPECT_THAT(schema_of(load(of("t.tsv", "a;b\n1;2\n"))), ElementsAre("a:int64", "b:int64"));
  TableSpec stated = of("t.csv", "a;b\n1;2\n");
  stated.csv.delimiter = ",";
  EXPECT_THAT(schema_of(load(stated)), ElementsAre("a;b:string"));
  EXPECT_THAT(notes_, IsEmpty());
}

TEST_F(TextForms, FilesThatAreAlikeAreToldOfOnce) {
  of("a.csv", "a;b\n1;2\n");
  TableSpec table = of("b.csv", "a;b\n3;4\n");
  table.files = {"a.csv", "b.csv"};
  EXPECT_THAT(values_of(load(table), "b"), ElementsAre("2", "4"));
  EXPECT_THAT(notes_, ElementsAre("a.csv: recognised delimiter ';'; state 'delimiter' if this is wrong"));
}

TEST_F(TextForms, DecimalCommasAreRecognised) {
  const Table table = load(of("t.csv", "n;x;y;z\na;1,5;2;\"-0,25\"\nb;;3,5;1e3\nc;2;4;7,0\n"));
  EXPECT_THAT(schema_of(table), ElementsAre("n:string", "x:float64", "y:float64", "z:float64"));
  EXPECT_THAT(values_of(table, "x"), ElementsAre("1.5", "NULL", "2"));
  EXPECT_THAT(values_of(table, "z"), ElementsAre("-0.25", "1000", "7"));
  EXPECT_THAT(notes_, ElementsAre("t.csv: recognised delimiter ';', decimal comma; state 'delimiter' or 'decimal' if "
                                  "this is wrong"));
  // A point groups thousands there: no number, rather than a wrong one.
  EXPECT_THAT(schema_of(load(of("t.csv", "x;y\n1,5;1.000\n2,5;x\n"))), ElementsAre("x:float64", "y:string"));
  EXPECT_THAT(schema_of(load(of("t.csv", "x;y\n1,5;1.5\n2,5;2.5\n"))), ElementsAre("x:string", "y:float64"));
  EXPECT_THAT(schema_of(load(of("t.csv", "x;y\n1,5;a\n2;1,x\n"))), ElementsAre("x:float64", "y:string"));
}

TEST_F(TextForms, DecimalSignsMayBeStated) {
  TableSpec quoted = of("t.csv", "x,y\n\"1,5\",\"0,5\"\n\"2\",3\n");
  EXPECT_THAT(schema_of(load(quoted)), ElementsAre("x:string", "y:string"));
  quoted.csv.decimal = ",";
  EXPECT_THAT(schema_of(load(quoted)), ElementsAre("x:float64", "y:float64"));
  EXPECT_THAT(values_of(load(quoted), "x"), ElementsAre("1.5", "2"));
  quoted.types = {{"x", "decimal(5,2)"}, {"y", "float32"}};
  EXPECT_THAT(values_of(load(quoted), "x"), ElementsAre("1.50", "2.00"));
  EXPECT_THAT(values_of(load(quoted), "y"), ElementsAre("0.5", "3"));
  TableSpec point = of("p.csv", "x;y\n1,5;1.5\n");
  point.csv.decimal = ",";
  point.types = {{"y", "float64"}};
  EXPECT_EQ(error(point),
            "p.csv:2: column 'y' holds '1.5', which is no value of type float64, as its 'types' say; correct the "
            "value, or name another type, such as string");
  point.csv.decimal = ";";
  EXPECT_THAT(error(point), HasSubstr("a decimal sign is '.' or ','; found ';'"));
}

TEST_F(TextForms, ManyRowsWithDecimalCommas) {
  std::string text = "a;b;c\n";
  for (int i = 0; i < 20'000; ++i)
    text += std::to_string(i) + ";" + std::to_string(i) + "," + std::to_string(i % 10) + ";t\n";
  const Table table = datasets::load(of("t.csv", text), folder_.path());
  EXPECT_THAT(schema_of(table), ElementsAre("a:int64", "b:float64", "c:string"));
  EXPECT_EQ(to_string(table.column("b").value(12'345)), "12345.5");
}

TEST_F(TextForms, HeadersAreRecognised) {
  const Table table = load(of("t.csv", "1.5,2\n3,4\n"));
  EXPECT_THAT(schema_of(table), ElementsAre("c0:float64", "c1:int64"));
  EXPECT_THAT(notes_, ElementsAre("t.csv: recognised no header; state 'header' if this is wrong"));
  TableSpec years = of("t.csv", "2023,2024\n3,4\n");
  years.csv.header = true;
  EXPECT_THAT(schema_of(load(years)), ElementsAre("2023:int64", "2024:int64"));
  EXPECT_THAT(schema_of(load(of("t.csv", "a,2\n3,4\n"))), ElementsAre("a:int64", "2:int64"));
}

TEST_F(TextForms, ExportsOfSpreadsheetsAreRead) {
  const Table table = load(of("t.csv", "\xEF\xBB\xBFsep=;\r\nName;Preis;;\r\n\"A; B\";\"1,5\";;\r\nC;2,5;;\r\n"));
  EXPECT_THAT(schema_of(table), ElementsAre("Name:string", "Preis:float64"));
  EXPECT_THAT(values_of(table, "Name"), ElementsAre("A; B", "C"));
  EXPECT_THAT(notes_, ElementsAre("t.csv: recognised delimiter ';', decimal comma, 1 line before the records; state "
                                  "'delimiter', 'decimal' or 'skip' if this is wrong"));
  TableSpec preamble = of("p.csv", "\"Report, of\"\n\nx,y\n1,2\n3\n");
  preamble.csv.skip = 2;
  EXPECT_EQ(error(preamble),
            "p.csv:5: expected 2 fields as in the first line, found 1; quote fields that hold the delimiter");
  preamble = of("p.csv", "1,\"2\n\n1,2\n");
  preamble.csv.skip = 2;
  preamble.csv.header = false;
  EXPECT_THAT(values_of(load(preamble), "c1"), ElementsAre("2"));
}

TEST_F(TextForms, TitlesAreRecognised) {
  for (const std::string title : {"Report\n\n", "Report\r\nof \"2024\"\r\n\r\n\r\n"}) {
    EXPECT_THAT(schema_of(load(of("t.csv", title + "a;b\n1;x\n2;y\n"))), ElementsAre("a:int64", "b:string"));
    EXPECT_THAT(schema_of(load(of("t.csv", title + "a,b\n1,x\n2,y\n"))), ElementsAre("a:int64", "b:string"));
  }
  EXPECT_THAT(notes_, ElementsAre("t.csv: recognised 2 lines before the records; state 'skip' if this is wrong"));
  EXPECT_THAT(error(of("t.csv", "a,b\n\n1,x\n2\n")), HasSubstr("t.csv:4: expected 2 fields"));
  EXPECT_THAT(schema_of(load(of("t.csv", "a\n\n1\n2\n3\n"))), ElementsAre("a:int64"));
}

TEST_F(TextForms, SeparatorsOfThousandsAreTold) {
  const std::string told = "' has separators of thousands, as in '";
  load(of("t.csv", "a,b\n\"1,200\",x\n900.5,y\n,z\n\"-1,234,567.5\",x\n"));
  EXPECT_THAT(notes_, ElementsAre(HasSubstr("t.csv: column 'a" + told + "-1,234,567.5', so that it is text")));
  load(of("d.csv", "a;b\n1.200,5;1,5\n"));
  EXPECT_THAT(notes_.back(), HasSubstr("if this is wrong; column 'a" + told + "1.200,5'"));
  for (const char* value :
       {"1,20", "1,2000", "12,34,567", "1,234x", "1,234,", ",123", "12345,678", "x1,234", "1,234.5,6"}) {
    load(of("t.csv", "a,b\n\"" + std::string(value) + "\",x\n2,y\n"));
    EXPECT_THAT(notes_, IsEmpty()) << value;
  }
}

TEST_F(TextForms, CommentsAreSkipped) {
  const Table table = load(of("t.csv", "# of 2024\n# by x\na,b\n1,#2\n"));
  EXPECT_THAT(values_of(table, "b"), ElementsAre("#2"));
  EXPECT_THAT(notes_, ElementsAre("t.csv: recognised 2 lines before the records; state 'skip' if this is wrong"));
  // Names may begin so.
  EXPECT_THAT(schema_of(load(of("t.csv", "#a,b\n1,2\n"))), ElementsAre("#a:int64", "b:int64"));
  TableSpec stated = of("t.csv", "a,b\n// x \"\n1,\"p\n// q\"\n//\n2,y // z\n");
  stated.csv.comment = "//";
  EXPECT_THAT(values_of(load(stated), "b"), ElementsAre("p\n// q", "y // z"));
  stated = of("t.csv", "//\na,b\n1,2\n//\n3\n");
  stated.csv.comment = "//";
  EXPECT_EQ(error(stated),
            "t.csv:5: expected 2 fields as in the first line, found 1; quote fields that hold the delimiter");
}

/// Returns a text of ASCII and one letter, which stands for '@', in UTF-16.
std::string utf16(const std::string& text, bool big) {
  std::string encoded = big ? "\xFE\xFF" : "\xFF\xFE";
  for (const char c : text) {
    const char low = c == '@' ? '\xE9' : c;
    encoded += big ? std::string{'\0', low} : std::string{low, '\0'};
  }
  return encoded;
}

TEST_F(TextForms, EncodingsAreRead) {
  for (const bool big : {false, true}) {
    const std::string text = utf16("a\tb\r\n1\tcaf@\r\n2\tx\r\n", big);
    EXPECT_THAT(values_of(load(of("t.csv", text)), "b"), ElementsAre("caf\xC3\xA9", "x"));
    EXPECT_THAT(notes_, ElementsAre("t.csv: recognised encoding UTF-16",
                                    "t.csv: recognised delimiter tab; state 'delimiter' if this is wrong"));
    EXPECT_THAT(values_of(load(of("t.csv.gz", gzipped(text))), "b"), ElementsAre("caf\xC3\xA9", "x"));
    EXPECT_THAT(values_of(load(of("t.jsonl", utf16("{\"a\": \"caf@\"}\n", big))), "a"), ElementsAre("caf\xC3\xA9"));
  }
  TableSpec latin = of("t.csv", "a,b\n1,caf\xE9\n");
  EXPECT_EQ(error(latin),
            "t.csv:2: column 'b' is not valid UTF-8; state the 'encoding' of the file, such as windows-1252, or "
            "convert it to UTF-8");
  latin.encoding = "ISO-8859-1";
  EXPECT_THAT(values_of(load(latin), "b"), ElementsAre("caf\xC3\xA9"));
  latin.encoding = "utf-7000";
  EXPECT_THAT(error(latin), HasSubstr("unknown encoding 'utf-7000'"));
  EXPECT_EQ(error(of("t.csv", utf16("a\n1\n", false) + "x")),
            "t.csv:3: the text is not UTF-16; state another 'encoding', or convert the file to UTF-8");
}

TEST_F(TextForms, ArraysOfJsonAreRecords) {
  for (const std::string text : {"[{\"a\": 1, \"b\": \"]},{\"}, {\"a\": 2}]",
                                 " [\n  {\n    \"a\": 1,\n \"b\": \"]},{\"\n  },\n  {\"a\": 2}\n]\n"}) {
    const Table table = load(of("t.json", text));
    EXPECT_THAT(values_of(table, "a"), ElementsAre("1", "2"));
    EXPECT_THAT(values_of(table, "b"), ElementsAre("]},{", "NULL"));
    EXPECT_THAT(values_of(load(of("t.jsonl.gz", gzipped(text))), "a"), ElementsAre("1", "2"));
  }
  EXPECT_THAT(values_of(load(of("t.json", "{\"a\": 1}\n{\"a\": 2}\n")), "a"), ElementsAre("1", "2"));
  EXPECT_THAT(error(of("t.json", "[{\"a\": 1},\n {\"a\": 2,}]")), HasSubstr("t.json:2:9: "));
  EXPECT_THAT(error(of("t.json", "[{\"a\": 1},\n 5]")), HasSubstr("t.json:2:"));
  EXPECT_THAT(error(of("t.json", "[{\"a\": 1}\n {\"a\": 2}]")), HasSubstr("not valid JSON"));
  EXPECT_THAT(error(of("t.json", "[{\"a\": 1}] x")), HasSubstr("not valid JSON"));
  EXPECT_THAT(error(of("t.json", "[{\"a\": 1}")), HasSubstr("not valid JSON"));
}

TEST_F(TextForms, RecordsOfADocumentHaveAPath) {
  TableSpec table =
      of("t.json", "{\"meta\": [1], \"data\": {\"n\": 2,\n\"items\": [\n{\"a\": 1},\n{\"a\": \"x\", \"b\": tru}]}}");
  table.records = "data.items";
  EXPECT_THAT(error(table), HasSubstr("t.json:4:"));
  folder_.write("t.json", "{\"meta\": [1], \"data\": {\"n\": 2, \"items\": [{\"a\": 1}, {\"a\": 2}]}}");
  EXPECT_THAT(values_of(load(table), "a"), ElementsAre("1", "2"));
  table.records = "data";
  LoadOptions only;
  only.columns = {"n"};
  EXPECT_THAT(values_of(datasets::load(table, folder_.path(), only), "n"), ElementsAre("2"));
  table.records = "data.rows";
  EXPECT_THAT(error(table), HasSubstr("there is nothing at 'data.rows'"));
  table.records = "data.n";
  EXPECT_THAT(error(table), HasSubstr("'data.n' is no array of records and no object"));
  table.records = "data..n";
  EXPECT_THAT(error(table), HasSubstr("'records' is a path such as data.items, found 'data..n'"));
}

TEST_F(TextForms, MembersOfObjectsMayBeColumns) {
  TableSpec table = of("t.jsonl",
                       "{\"id\": 1, \"at\": {\"city\": \"Oslo\", \"geo\": {\"x\": 1.5}}, \"n\": 1}\n"
                       "{\"id\": 2, \"at\": {\"zip\": \"7\", \"city\": \"Bergen\"}, \"n\": 2}\n"
                       "{\"id\": 3, \"at\": null, \"e\": {}, \"n\": 3}\n");
  EXPECT_EQ(load(table).unsupported().size(), 2u);
  table.flatten = true;
  const Table flat = load(table);
  EXPECT_THAT(schema_of(flat),
              ElementsAre("id:int64", "at.city:string", "at.geo.x:float64", "n:int64", "at.zip:string"));
  EXPECT_THAT(values_of(flat, "at.city"), ElementsAre("Oslo", "Bergen", "NULL"));
  EXPECT_THAT(values_of(flat, "at.zip"), ElementsAre("NULL", "7", "NULL"));
  EXPECT_THAT(values_of(flat, "n"), ElementsAre("1", "2", "3"));
  ASSERT_EQ(flat.unsupported().size(), 1u);
  EXPECT_EQ(flat.unsupported().front().name, "e");
  table.types = {{"at", "string"}};
  EXPECT_THAT(values_of(load(table), "at"), ElementsAre("{\"city\": \"Oslo\", \"geo\": {\"x\": 1.5}}",
                                                        "{\"zip\": \"7\", \"city\": \"Bergen\"}", "NULL"));
  TableSpec twice = of("t.jsonl", "{\"a.b\": 1, \"a\": {\"b\": 2}}\n");
  twice.flatten = true;
  EXPECT_THAT(error(twice), HasSubstr("the key 'a.b' comes twice in one object"));
  twice = of("t.jsonl", "{\"a\": {\"b\": 1}}\n{\"a\": {\"b\": 2}");
  twice.flatten = true;
  EXPECT_THAT(error(twice), HasSubstr("the last object is cut short"));
}

TEST_F(TextForms, ArchivesAndWorkbooksAreRefused) {
  for (const char* name : {"t.csv", "t.zip", "t.xlsx"}) {
    EXPECT_THAT(error(of(name, "PK\x03\x04rest")),
                HasSubstr("unzip -p '" + (folder_ / name).string() + "' | skyrank sql \"SELECT * FROM '-' ...\""));
  }
  EXPECT_THAT(error(of("t.csv", "\xD0\xCF\x11\xE0rest")), HasSubstr("export it as CSV"));
}

TEST_F(TextForms, FilesWithoutAKnownExtensionAreTextIfTheySeemSo) {
  for (const char* name : {"t.txt", "t.dat", "part-0"}) {
    EXPECT_THAT(schema_of(load(of(name, "a;b\n1;x\n"))), ElementsAre("a:int64", "b:string"));
    EXPECT_THAT(schema_of(load(of(name, "{\"a\": 1}\n"))), ElementsAre("a:int64"));
    EXPECT_THAT(error(of(name, std::string("a\0b\n", 4))), HasSubstr("names no format that can be read"));
  }
  EXPECT_THAT(error(of("t.png", "a;b\n")), HasSubstr("the extension '.png' names no format that can be read"));
}

TEST_F(TextForms, DocumentsBesideOtherDataOfAFolderAreLeftOut) {
  std::filesystem::create_directories(folder_ / "f");
  TableSpec folder = of("f/schema.json", "{\"type\": \"x\"}");
  folder.files = {"f"};
  EXPECT_THAT(values_of(load(folder), "type"), ElementsAre("x"));
  folder_.write("f/a.csv", "a\n1\n");
  EXPECT_THAT(schema_of(load(folder)), ElementsAre("a:int64"));
}

}  // namespace
}  // namespace skyrank::datasets
