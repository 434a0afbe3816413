#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "datasets/reader.hpp"
#include "datasets/write/writer.hpp"
#include "tests/linear/operations.hpp"

// The work of reading and writing a file grows with its bytes, however these are spread over rows, columns and keys.
namespace skyrank::datasets {
namespace {

using tests::expect_linear;
using tests::list;

class LinearFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(::testing::TempDir()) / "skyrank_linear";
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  /// Counts reading a file of some text on one thread.
  void expect_linear_reading(const std::string& what, const std::string& name, int n,
                             const std::function<std::string(int)>& text) {
    const std::filesystem::path file = folder_ / name;
    expect_linear(what, n, [&](int size) {
      std::ofstream(file) << text(size);
      return [file] { read({file}, on_one_thread({})); };
    });
  }

  /// Counts opening a file of some text as a source, in blocks.
  void expect_linear_opening(const std::string& what, const std::string& name, int n,
                             const std::function<std::string(int)>& text) {
    const std::filesystem::path file = folder_ / name;
    expect_linear(what + ", in blocks", n, [&](int size) {
      std::ofstream(file) << text(size);
      return [file] {
        ReadOptions in_blocks = on_one_thread({});
        in_blocks.block_bytes = 1 << 12;
        open_source({file}, in_blocks);
      };
    });
  }

  static ReadOptions on_one_thread(ReadOptions options) {
    options.threads = 1;
    return options;
  }

  static std::string name(int i) { return "c" + std::to_string(i); }

  /// A table of two rows and n columns.
  static Table wide(int n) {
    std::vector<Column> columns;
    for (int i = 0; i < n; ++i) columns.push_back(Column::own(name(i), std::vector<std::int64_t>{i, 2 * i}));
    return Table(std::move(columns));
  }

  std::filesystem::path folder_;
};

TEST_F(LinearFiles, OfRows) {
  const auto rows = [](int n) {
    std::string text = "a,b\n";
    for (int i = 0; i < n; ++i) text += std::to_string(i) + ",x\n";
    return text;
  };
  const auto json = [](int n) {
    std::string text;
    for (int i = 0; i < n; ++i) text += "{\"a\":" + std::to_string(i) + "}\n";
    return text;
  };
  // Texts of 64 KiB and more are parsed in another way.
  expect_linear_reading("rows of CSV", "rows.csv", 12'000, rows);
  expect_linear_opening("rows of CSV", "rows.csv", 1'000, rows);
  expect_linear_opening("quoted rows of CSV", "quoted.csv", 500, [](int n) {
    std::string text = "a,b\n";
    for (int i = 0; i < n; ++i) text += std::to_string(i) + ",\"x\n\"\"y\"\n";
    return text;
  });
  expect_linear_reading("rows of JSON lines", "rows.jsonl", 500, json);
  expect_linear_opening("rows of JSON lines", "rows.jsonl", 500, json);
}

TEST_F(LinearFiles, OfALine) {
  const auto line = [](const std::string& field) {
    return [field](int n) { return list(n, name) + "\n" + list(n, [&](int) { return field; }) + "\n"; };
  };
  const auto json = [](int n) { return "{" + list(n, [](int i) { return "\"" + name(i) + "\":-1"; }) + "}\n"; };
  expect_linear_reading("numbers of a CSV line", "numbers.csv", 100, line("-1"));
  expect_linear_opening("numbers of a CSV line", "numbers.csv", 100, line("-1"));
  expect_linear_reading("texts of a CSV line", "texts.csv", 100, line("\"a b\""));
  expect_linear_reading("columns of CSV of which types are guessed twice", "mixed.csv", 100,
                        [&](int n) { return line("1")(n) + list(n, [](int) { return "a"; }) + "\n"; });
  ReadOptions stated;
  for (int i = 0; i < 1'600; ++i) stated.types[name(i)] = parse_column_type("string", name(i));
  expect_linear("fields of stated types", 100, [&](int n) {
    return [text = line("1")(n), options = on_one_thread(stated)] { read_csv(text, "stated.csv", options); };
  });
  expect_linear_reading("keys of a JSON line", "keys.jsonl", 100, json);
  expect_linear_opening("keys of a JSON line", "keys.jsonl", 100, json);
  expect_linear_reading("members that are left out", "members.jsonl", 500,
                        [](int n) { return "{\"a\":1,\"b\":[" + list(n, [](int) { return "{\"c\":1}"; }) + "]}\n"; });
}

TEST_F(LinearFiles, OfAField) {
  const auto field = [](const std::string& begin, const std::string& unit, const std::string& end) {
    return [=](int n) {
      std::string text = begin;
      for (int i = 0; i < n; ++i) text += unit;
      return text + end;
    };
  };
  expect_linear_reading("bytes of a field", "field.csv", 20'000, field("a,b\n1,", "x", "\n"));
  expect_linear_opening("bytes of a field", "field.csv", 20'000, field("a,b\n1,", "x", "\n"));
  expect_linear_reading("quotes of a field", "quotes.csv", 20'000, field("a,b\n1,\"", "\"\"", "\"\n"));
  expect_linear_reading("lines of a field", "lines.csv", 40'000, field("a,b\n1,\"", "x\n", "\"\n"));
  expect_linear_opening("lines of a field", "lines.csv", 20'000, field("a,b\n1,\"", "x\n", "\"\n"));
  expect_linear_reading("digits of a number", "digits.csv", 20'000, field("a,b\n1,0.", "1", "\n"));
  // The bytes of a text in JSON are simdjson's work, which does not report.
  expect_linear_opening("escapes of a text in JSON", "escapes.jsonl", 10'000,
                        field("{\"a\":\"", "\\u00e9\\n", "\"}\n"));
}

TEST_F(LinearFiles, OfColumns) {
  for (const auto& [kind, file] :
       {std::pair(Format::csv, "wide.csv"), std::pair(Format::jsonl, "wide.jsonl"),
        std::pair(Format::parquet, "wide.parquet"), std::pair(Format::arrow, "wide.arrow")}) {
    const Format format = kind;
    const std::filesystem::path path = folder_ / file;
    expect_linear(std::string("columns written to ") + file, 50, [&](int n) {
      return [path, format, table = wide(n)] { write(table, path, format, {.threads = 1}); };
    });
    expect_linear(std::string("columns read from ") + file, 50, [&](int n) {
      write(wide(n), path, format, {.threads = 1});
      return [path] { read({path}, on_one_thread({})); };
    });
    expect_linear(std::string("columns chosen of ") + file, 50, [&](int n) {
      write(wide(n), path, format, {.threads = 1});
      ReadOptions options;
      options.columns.emplace();
      for (int i = 0; i < n; ++i) options.columns->push_back(name(i));
      return [path, options] { read({path}, on_one_thread(options)); };
    });
  }
  expect_linear("columns of text for people", 50, [](int n) {
    return [table = wide(n)] {
      std::ostringstream out;
      write_text(table, out);
    };
  });
}

}  // namespace
}  // namespace skyrank::datasets
