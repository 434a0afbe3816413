#include "tools/skyrank/answers/answers.hpp"

#include <fmt/format.h>

#include <skyrank/version.hpp>

#include "datasets/write/writer.hpp"
#include "tools/skyrank/answers/json.hpp"
#include "tools/skyrank/answers/report.hpp"

namespace skyrank::tools {
namespace {

std::string milliseconds(double time) { return fmt::format("{:.{}f} ms", time, time < 10 ? 2 : time < 100 ? 1 : 0); }

std::string summary_line(const Answer& answer) {
  const Timing& timing = answer.result.timing;
  return fmt::format("{} from {}; read {}, keys {}, compute {}, gather {}",
                     counted(answer.result.table.num_rows(), "row", "rows"), with_separators(answer.input_rows),
                     milliseconds(answer.read_ms), milliseconds(timing.filter_ms + timing.keys_ms),
                     milliseconds(timing.transfer_ms + timing.compute_ms), milliseconds(timing.gather_ms));
}

/// Aligned tables with a heading and a line on size and time.
class TextWriter : public AnswerWriter {
 public:
  TextWriter(Console& console, std::int64_t max_rows) : console_(console), max_rows_(max_rows) {}

  void write(const Answer& answer) override {
    if (!first_) console_.print("\n");
    first_ = false;
    console_.print(console_.strong(answer.query.name()) + "\n");
    print_table(console_, answer.result.table, max_rows_);
    console_.print(console_.faint(summary_line(answer)) + "\n");
    const std::int64_t rows = answer.result.table.num_rows();
    if (max_rows_ >= 0 && rows > max_rows_) {
      console_.print(console_.faint(fmt::format("{} of {} rows shown; for all, add --rows 0, --format csv or --out DIR",
                                                with_separators(max_rows_), with_separators(rows))) +
                     "\n");
    }
  }

 private:
  Console& console_;
  std::int64_t max_rows_;  // of an answer that are shown; negative: all
  bool first_ = true;
};

/// The bare rows of a single query.
class RowsWriter : public AnswerWriter {
 public:
  RowsWriter(Console& console, datasets::Format format) : console_(console), format_(format) {}

  void write(const Answer& answer) override { print_rows(console_, answer.result.table, format_); }

 private:
  Console& console_;
  datasets::Format format_;
};

/// One file a query.
struct Files {
  std::filesystem::path folder;
  datasets::Format format;
  int threads;

  std::filesystem::path write(const Answer& answer, const std::stop_token& stop) const {
    auto file = folder / fmt::format("{}.{}", answer.query.name(), datasets::to_string(format));
    datasets::write(answer.result.table, file, format, {.threads = threads, .stop = stop});
    return file;
  }
};

/// Files, and a line on each.
class FileWriter : public AnswerWriter {
 public:
  FileWriter(Console& console, Files files) : console_(console), files_(std::move(files)) {}

  void write(const Answer& answer) override {
    const std::string file = files_.write(answer, console_.stop()).string();
    console_.print(fmt::format("{}: {}\n", console_.strong(file), summary_line(answer)));
  }

 private:
  Console& console_;
  Files files_;
};

/// One JSON document for the whole run; rows as the JSON lines writer spells them, or files in their place.
class JsonWriter : public AnswerWriter {
 public:
  JsonWriter(Console& console, const std::filesystem::path& batch, std::optional<Files> files)
      : console_(console), files_(std::move(files)) {
    const Json about = {{"skyrank", version()}, {"batch", batch.string()}};
    console_.print(open(about) + ", \"queries\": [");
  }

  void write(const Answer& answer) override {
    const Table& table = answer.result.table;
    Json about = {{"name", answer.query.name()},         {"table", answer.query.from()},
                  {"input_rows", answer.input_rows},     {"row_count", table.num_rows()},
                  {"columns", columns(table)},           {"timing", to_json(answer.result.timing)},
                  {"work", to_json(answer.result.work)}, {"plan", to_json(answer.result.plan)}};
    about["timing"]["read_ms"] = answer.read_ms;
    if (files_) {
      about["file"] = files_->write(answer, console_.stop()).string();
      print_item(to_line(about));
      return;
    }
    print_item(open(about) + ", \"rows\": [");
    in_rows_ = true;
    print_json_rows(console_, table);
    in_rows_ = false;
    console_.print("]}");
  }

  void write_error(const Query& query, const std::exception& error) override {
    if (std::exchange(in_rows_, false)) {
      console_.print("], \"error\": " + to_line(to_json(error)) + "}");
      return;
    }
    print_item(to_line({{"name", query.name()}, {"table", query.from()}, {"error", to_json(error)}}));
  }

  void finish() override { console_.print("\n]}\n"); }

 private:
  static Json columns(const Table& table) {
    Json list = Json::array();
    for (const Column& column : table.columns()) {
      list.push_back({{"name", column.name()}, {"type", to_string(column.type())}});
    }
    return list;
  }

  /// An object's text up to its closing brace: rows are appended as text, so that a large answer never becomes a
  /// document in memory.
  static std::string open(const Json& object) {
    std::string text = to_line(object);
    text.pop_back();
    return text;
  }

  void print_item(const std::string& text) {
    console_.print(first_ ? "\n  " : ",\n  ");
    first_ = false;
    console_.print(text);
  }

  Console& console_;
  std::optional<Files> files_;
  bool first_ = true;
  bool in_rows_ = false;  // of an answer, which an error then ends
};

std::unique_ptr<AnswerWriter> make_file_writer(const RunArguments& arguments, Console& console) {
  if (arguments.format == "table")
    throw UsageError("--format table is for terminals; with --out, choose csv, jsonl, parquet or arrow");
  const auto format = datasets::parse_output_format(arguments.format.empty() ? "csv" : arguments.format);
  Files files{arguments.out, format, arguments.threads};
  if (arguments.json) return std::make_unique<JsonWriter>(console, arguments.batch.file, std::move(files));
  return std::make_unique<FileWriter>(console, std::move(files));
}

/// How many rows of an answer a table shows; negative: all. Only a person can have too many.
std::int64_t rows_shown(const RunArguments& arguments, const Console& console) {
  constexpr std::int64_t kRowsOnTerminal = 40;
  if (arguments.rows) return *arguments.rows == 0 ? -1 : *arguments.rows;
  return console.output_is_terminal() ? kRowsOnTerminal : -1;
}

std::unique_ptr<AnswerWriter> make_rows_writer(const RunArguments& arguments, std::size_t num_queries,
                                               Console& console) {
  const auto format = datasets::parse_output_format(arguments.format);
  if (format != datasets::Format::csv && format != datasets::Format::jsonl) {
    throw UsageError(
        fmt::format("--format {} is not for terminals or pipes: say where to write with --out DIR", arguments.format));
  }
  if (num_queries != 1) {
    throw UsageError(
        fmt::format("--format {} prints the rows of one query and the batch has {}: choose one with --query NAME, or "
                    "write each to a file with --out DIR",
                    arguments.format, num_queries));
  }
  return std::make_unique<RowsWriter>(console, format);
}

}  // namespace

std::unique_ptr<AnswerWriter> make_answer_writer(const RunArguments& arguments, std::size_t num_queries,
                                                 Console& console) {
  const bool is_table =
      arguments.out.empty() && !arguments.json && (arguments.format.empty() || arguments.format == "table");
  if (arguments.rows && !is_table)
    throw UsageError("--rows is for tables: leave out --format, --json and --out, or --rows");
  if (!arguments.out.empty()) return make_file_writer(arguments, console);
  if (arguments.json) {
    if (!arguments.format.empty()) throw UsageError("--json has its own form: leave --format out, or add --out DIR");
    return std::make_unique<JsonWriter>(console, arguments.batch.file, std::nullopt);
  }
  if (arguments.format.empty() || arguments.format == "table") {
    return std::make_unique<TextWriter>(console, rows_shown(arguments, console));
  }
  return make_rows_writer(arguments, num_queries, console);
}

}  // namespace skyrank::tools
