#include <arrow/buffer.h>
#include <arrow/io/memory.h>
#include <arrow/ipc/writer.h>
#include <arrow/record_batch.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <numeric>
#include <skyrank/error.hpp>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "datasets/arrow/arrow_table.hpp"
#include "datasets/stream/row_stream.hpp"
#include "engine/placeholder_column.hpp"

// Tests rows of streams: formats, pieces that cut records anywhere, lines that are wrong, and ends.
namespace skyrank::datasets {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using Rows = std::vector<std::string>;

Table schema_of_stream() {
  return Table({exec::placeholder_column("n", Type::int64, 0), exec::placeholder_column("t", Type::string, 0)});
}

void add_rows(const Table& table, Rows& rows) {
  for (std::int64_t i = 0; i < table.num_rows(); ++i) {
    std::string text;
    for (const Column& column : table.columns()) {
      text += (text.empty() ? "" : "|") + (column.is_null(i) ? "NULL" : to_string(column.value(i)));
    }
    rows.push_back(text);
  }
}

class RowStreams : public testing::Test {
 protected:
  RowStreams() {
    std::string name = (std::filesystem::temp_directory_path() / "stream-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    file_ = folder_ / "rows";
  }
  ~RowStreams() override { std::filesystem::remove_all(folder_); }

  static StreamOptions options(Format format) {
    StreamOptions options;
    options.reading.format = format;
    options.reading.threads = 1;
    return options;
  }

  void write(const std::string& text) const { std::ofstream(file_, std::ios::binary) << text; }

  /// Reads all rows of a file, and the message of the error at its end.
  std::pair<Rows, std::string> read(const StreamOptions& options, const Table& schema = schema_of_stream()) const {
    Rows rows;
    try {
      RowStream stream(file_, schema, options);
      while (const auto table = stream.next()) add_rows(*table, rows);
    } catch (const DataError& error) {
      return {rows, error.what()};
    }
    return {rows, ""};
  }

  /// Reads a text that comes through a pipe in pieces of some bytes.
  Rows read_pieces(const std::string& text, std::size_t bytes, const StreamOptions& options) const {
    const std::filesystem::path pipe = folder_ / "pipe";
    if (::mkfifo(pipe.c_str(), 0600) != 0) ADD_FAILURE() << "no pipe";
    std::jthread writer([&] {
      std::ofstream stream(pipe, std::ios::binary);
      for (std::size_t at = 0; at < text.size(); at += bytes) {
        stream << text.substr(at, bytes) << std::flush;
        std::this_thread::sleep_for(std::chrono::microseconds(300));
      }
    });
    Rows rows;
    RowStream stream(pipe, schema_of_stream(), options);
    while (const auto table = stream.next()) add_rows(*table, rows);
    writer.join();
    std::filesystem::remove(pipe);
    return rows;
  }

  std::filesystem::path folder_;
  std::filesystem::path file_;
};

TEST_F(RowStreams, JsonLines) {
  write("{\"t\":\"a\",\"n\":1}\n\n{\"n\":2,\"x\":[1]} {\"t\":\"\\n\"}\r\n  {\"n\":null,\"t\":\"7\"}");
  EXPECT_THAT(read(options(Format::jsonl)).first, ElementsAre("1|a", "2|NULL", "NULL|\n", "NULL|7"));
  write("\n \n");
  EXPECT_THAT(read(options(Format::jsonl)), testing::Pair(testing::IsEmpty(), ""));
}

TEST_F(RowStreams, Csv) {
  write("t,more,n\na,,1\n\"b,\n\"\"\",x,2\r\n,,\n\"\",,3");
  const Rows rows = {"1|a", "2|b,\n\"", "NULL|NULL", "3|"};
  EXPECT_EQ(read(options(Format::csv)).first, rows);
  write("t;n\na;1\n");
  StreamOptions other = options(Format::csv);
  other.reading.delimiter = ';';
  EXPECT_THAT(read(other).first, ElementsAre("1|a"));
  write("t\tn\n-\t1\n");
  other = options(Format::tsv);
  other.reading.null_spellings = {"-"};
  EXPECT_THAT(read(other).first, ElementsAre("1|NULL"));
  write("7,8\n9,10\n");
  other = options(Format::csv);
  other.reading.header = false;
  const Table numbers({exec::placeholder_column("c1", Type::float64, 0)});
  EXPECT_THAT(read(other, numbers).first, ElementsAre("8", "10"));
  write("t,n\n");
  EXPECT_THAT(read(options(Format::csv)), testing::Pair(testing::IsEmpty(), ""));
  write("t,n");
  EXPECT_THAT(read(options(Format::csv)), testing::Pair(testing::IsEmpty(), ""));
}

TEST_F(RowStreams, PiecesCutRecordsAnywhere) {
  const std::string json = "{\"n\":1,\"t\":\"a\"}\n{\"n\":2,\"t\":\"b\"}\n{\"n\":3,\"t\":\"c\"}";
  const std::string csv = "n,t\r\n1,a\r\n2,\"b\nb\"\r\n\r\n3,c\r\n";
  for (const std::size_t bytes : {1, 2, 3, 7, 100}) {
    EXPECT_THAT(read_pieces(json, bytes, options(Format::jsonl)), ElementsAre("1|a", "2|b", "3|c")) << bytes;
    EXPECT_THAT(read_pieces(csv, bytes, options(Format::csv)), ElementsAre("1|a", "2|b\nb", "3|c")) << bytes;
  }
}

TEST_F(RowStreams, ArrowStreams) {
  const auto sink = *arrow::io::BufferOutputStream::Create();
  const Table one({Column::own("t", std::vector<std::string>{"a", "b"}),
                   Column::own("n", std::vector<std::int32_t>{1, 2}), Column::own("x", std::vector<double>{0, 0})});
  const Table two({Column::own("t", std::vector<std::string>{"c"}), Column::own("n", std::vector<std::int32_t>{3}),
                   Column::own("x", std::vector<double>{0})});
  const auto writer = *arrow::ipc::MakeStreamWriter(sink, to_arrow(one)->schema());
  for (const Table& table : {one, two}) ASSERT_TRUE(writer->WriteRecordBatch(*to_arrow(table)).ok());
  ASSERT_TRUE(writer->Close().ok());
  const std::string bytes = (*sink->Finish())->ToString();
  write(bytes);
  EXPECT_THAT(read(options(Format::arrow)).first, ElementsAre("1|a", "2|b", "3|c"));
  for (const std::size_t piece : {1, 5, 64}) {
    EXPECT_THAT(read_pieces(bytes, piece, options(Format::arrow)), ElementsAre("1|a", "2|b", "3|c"));
  }
  write(bytes.substr(0, bytes.size() / 2));
  EXPECT_NE(read(options(Format::arrow)).second, "");
  write("ARROW1 and so on");
  EXPECT_THAT(read(options(Format::arrow)).second, HasSubstr("is an Arrow file"));
  write("{\"n\":1}\n");
  EXPECT_THAT(read(options(Format::arrow)).second, HasSubstr("is no Arrow stream"));
  write("");
  EXPECT_THAT(read(options(Format::arrow)), testing::Pair(testing::IsEmpty(), ""));
}

TEST_F(RowStreams, RowsBeforeABadLineComeFirst) {
  std::string json;
  std::string csv = "n,t\n";
  for (int i = 0; i < 1000; ++i) {
    json += "{\"n\":" + std::to_string(i) + "}\n";
    csv += std::to_string(i) + ",\"a\nb\"\n";
  }
  write(json + "{\"n\":\"x\"}\n" + json);
  const auto [json_rows, json_error] = read(options(Format::jsonl));
  EXPECT_EQ(json_rows.size(), 1000);
  EXPECT_THAT(json_error, AllOf(HasSubstr("rows:1001"), HasSubstr("column 'n'"), HasSubstr("x")));
  write(json + "{\"n\":\n" + json);
  EXPECT_EQ(read(options(Format::jsonl)).first.size(), 1000);
  for (const char* const bad : {"x,y\n", "1\n", "1,2,3\n"}) {
    write(csv + bad + csv.substr(4));
    const auto [rows, error] = read(options(Format::csv));
    EXPECT_EQ(rows.size(), 1000) << bad;
    EXPECT_THAT(error, HasSubstr("rows:2002")) << bad;
  }
  write(csv + "1,\"never closed\n");
  const auto [closed, unclosed] = read(options(Format::csv));
  EXPECT_EQ(closed.size(), 1000);
  EXPECT_THAT(unclosed, AllOf(HasSubstr("rows:2002"), HasSubstr("never closed")));
  write("t,n,\na,1,\n");
  EXPECT_THAT(read(options(Format::csv)).second, HasSubstr("the last column of a stream needs a name"));
  write("t,t\na,1\n");
  EXPECT_THAT(read(options(Format::csv)).second, HasSubstr("comes twice"));
  write("t,m\na,1\n");
  EXPECT_THAT(read(options(Format::csv)).second, HasSubstr("there is no column 'n'"));
}

TEST_F(RowStreams, SkipsAndSplits) {
  write("n,t\n0,a\n1,a\n2,a\n3,a\n4,a\n");
  StreamOptions some = options(Format::csv);
  some.skip_rows = 2;
  some.max_rows = 2;
  RowStream stream(file_, schema_of_stream(), some);
  EXPECT_EQ(stream.next()->num_rows(), 2);
  const auto last = stream.next();
  ASSERT_TRUE(last);
  EXPECT_EQ(last->column("n").value(0), Value(std::int64_t{4}));
  EXPECT_FALSE(stream.next());
  some.skip_rows = 5;
  EXPECT_THAT(read(some), testing::Pair(testing::IsEmpty(), ""));
  some.skip_rows = 6;
  EXPECT_THAT(read(some).second, HasSubstr("has 5 rows, but 6 were taken"));
}

TEST_F(RowStreams, FollowsAFileThatGrows) {
  write("{\"n\":1}\n{\"n\":");
  StreamOptions follow = options(Format::jsonl);
  follow.follow = true;
  std::stop_source stop;
  follow.reading.stop = stop.get_token();
  RowStream stream(file_, schema_of_stream(), follow);
  Rows rows;
  add_rows(*stream.next(), rows);
  std::ofstream(file_, std::ios::app) << "2}\n";
  add_rows(*stream.next(), rows);
  EXPECT_THAT(rows, ElementsAre("1|NULL", "2|NULL"));
  std::jthread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    stop.request_stop();
  });
  EXPECT_THROW(stream.next(), CancelledError);
  RowStream again(file_, schema_of_stream(), [&] {
    StreamOptions fresh = follow;
    fresh.reading.stop = {};
    return fresh;
  }());
  EXPECT_EQ(again.next()->num_rows(), 2);
  write("");
  EXPECT_THROW(again.next(), DataError);
}

TEST_F(RowStreams, ReadsNoColumns) {
  write("n,t\n1,a\n2,b\n");
  const auto read_none = [&](Format format) {
    RowStream stream(file_, Table(), options(format));
    return stream.next()->num_rows();
  };
  EXPECT_EQ(read_none(Format::csv), 2);
  write("{\"n\":1}\n{}\n{}\n");
  EXPECT_EQ(read_none(Format::jsonl), 3);
}

}  // namespace
}  // namespace skyrank::datasets
