// A query answers the same over each kind of file that holds the same table.
#include <arrow/buffer.h>
#include <arrow/util/compression.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <thread>

#include <skyrank/engine.hpp>

#include "datasets/reader.hpp"
#include "datasets/source.hpp"
#include "datasets/write/writer.hpp"
#include "tests/build.hpp"
#include "tests/datasets/support.hpp"

namespace skyrank::datasets {
namespace {

using test::content_of;
using test::TemporaryFolder;
using test::values_of;

std::string compressed(const std::string& text, arrow::Compression::type type) {
  const auto codec = arrow::util::Codec::Create(type).ValueOrDie();
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(text.data());
  const auto size = static_cast<std::int64_t>(text.size());
  std::string out(static_cast<std::size_t>(codec->MaxCompressedLen(size, bytes)), '\0');
  auto* begin = reinterpret_cast<std::uint8_t*>(out.data());
  out.resize(static_cast<std::size_t>(
      codec->Compress(size, bytes, static_cast<std::int64_t>(out.size()), begin).ValueOrDie()));
  return out;
}

/// Hotels with every type that text and Parquet share, NULLs, and texts that need quotes and escapes.
std::string hotels() {
  std::string text = "id,price,rating,name,open,since,seen\n";
  for (int i = 0; i < 400; ++i) {
    text += std::to_string(i - 200) + "," + (i % 13 == 0 ? "" : std::to_string(i * 37 % 101)) + "," +
            std::to_string(i * 53 % 97) + ".25,";
    text += i % 5 == 0 ? "\"a \"\"quoted\"\"\n\\ t\xC3\xA9xt, " + std::to_string(i % 7) + "\","
                       : "n" + std::to_string(i % 7) + ",";
    text += std::string(i % 3 == 0 ? "true" : "false") + ",2024-0" + std::to_string(1 + i % 9) + "-02,";
    text += i % 11 == 0 ? "\n" : "2024-01-02 03:04:" + std::to_string(10 + i % 50) + "\n";
  }
  return text;
}

std::vector<Query> queries() {
  return {
      Query::from("t").where("price <= 80 and open").prefer({low("price"), high("rating")}),
      Query::from("t").rank_by({high("seen"), low("id")}).limit(7).offset(3),
      Query::from("t")
          .where("name in ['n1', 'n3'] or since > date '2024-05-01'")
          .rank_by({low("price")})
          .limit(9)
          .ties(Ties::all),
      Query::from("t")
          .group_by({"name"})
          .aggregate({count("n"), max("best", "rating"), sum("total", "price")})
          .rank_by({high("total")}),
      Query::from("t").prefer({low("price"), high("rating")}).levels(2).partition_by({"open"}),
  };
}

class Kinds : public ::testing::Test {
 protected:
  Kinds() {
    const Table table = read({folder_.write("t.csv", hotels())});
    for (const Format format : {Format::jsonl, Format::parquet, Format::arrow}) {
      write(table, folder_ / ("t." + std::string(to_string(format))), format);
    }
    for (const char* text : {"t.csv", "t.jsonl"}) {
      const std::string content = content_of(folder_ / text);
      folder_.write(std::string(text) + ".gz", compressed(content, arrow::Compression::GZIP));
      folder_.write(std::string(text) + ".zst", compressed(content, arrow::Compression::ZSTD));
    }
    // Semicolons stand in no text of the table.
    std::string other = content_of(folder_ / "t.csv");
    std::replace(other.begin(), other.end(), ',', ';');
    folder_.write("semicolons.txt", other);
    parquet_ = read({folder_ / "t.parquet"});
  }

  static TableSpec of(const std::string& file) {
    TableSpec source;
    source.name = "t";
    source.files = {file};
    return source;
  }

  void expect_answers(const std::shared_ptr<const Source>& source, const std::string& kind) const {
    for (const Query& query : queries()) {
      const Result expected = engine_.run(query, parquet_);
      const Result found = engine_.run(query, *source);
      EXPECT_EQ(found.rows, expected.rows) << kind;
      EXPECT_EQ(found.levels, expected.levels) << kind;
      ASSERT_EQ(found.table.columns().size(), expected.table.columns().size()) << kind;
      for (const Column& column : expected.table.columns()) {
        if (column.name() == "seen") continue;  // Parquet has no timestamps in seconds
        EXPECT_EQ(found.table.column(column.name()).type(), column.type()) << kind << ", " << column.name();
        EXPECT_EQ(values_of(found.table, column.name()), values_of(expected.table, column.name())) << kind;
      }
    }
  }

  void expect_answers(const TableSpec& table, std::int64_t block_bytes = 0) const {
    LoadOptions options;
    options.block_bytes = block_bytes;
    options.pipes = make_pipe_cache();
    auto source = open_source(table, folder_.path(), options);
    const std::string kind = table.files.front() + " by blocks of " + std::to_string(block_bytes);
    expect_answers(source != nullptr ? source : in_memory_source(load(table, folder_.path(), options)), kind);
  }

  TemporaryFolder folder_;
  Table parquet_;
  Engine engine_{{.device = DeviceChoice::cpu}};
};

TEST_F(Kinds, FilesAnswerAsParquetDoes) {
  for (const char* name : {"t.csv", "t.csv.gz", "t.csv.zst", "t.jsonl", "t.jsonl.gz", "t.jsonl.zst", "t.arrow"}) {
    expect_answers(of(name));
    if (!tests::kSanitized) expect_answers(of("file://" + (folder_ / name).string()));
  }
  for (const char* name : {"t.csv", "t.jsonl"}) {
    for (const std::int64_t bytes : {200, 5'000}) expect_answers(of(name), bytes);
  }
}

TEST_F(Kinds, DelimitedTextAnswersAsParquetDoes) {
  TableSpec table = of("csv:semicolons.txt");
  table.csv.delimiter = ";";
  // The texts differ by their commas.
  LoadOptions options;
  options.columns = {"id", "price", "rating", "open"};
  const Query query = Query::from("t").where("open").prefer({low("price"), high("rating")}).select({Expression("id")});
  EXPECT_EQ(engine_.run(query, load(table, folder_.path(), options)).rows, engine_.run(query, parquet_).rows);
}

TEST_F(Kinds, PipesAnswerAsParquetDoes) {
  for (const char* name : {"t.csv", "t.csv.gz", "t.jsonl.zst", "t.parquet", "t.arrow"}) {
    const auto pipe = folder_ / "pipe";
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    std::jthread writer([&] { std::ofstream(pipe, std::ios::binary) << content_of(folder_ / name); });
    expect_answers(of(pipe.string()));
    std::filesystem::remove(pipe);
  }
}

}  // namespace
}  // namespace skyrank::datasets
