#include "tools/skyrank/answers/answers.hpp"

#include <fmt/format.h>

#include <skyrank/version.hpp>

#include "datasets/write/writer.hpp"
#include "tools/skyrank/answers/json.hpp"
#include "tools/skyrank/answers/output_files.hpp"
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
  TextWriter(Console& console, std::int64_t max_rows, bool with_plan)
      : console_(console), max_rows_(max_rows), with_plan_(with_plan) {}

  void write(const Answer& answer) override {
    if (!first_) console_.print("\n");
    first_ = false;
    console_.print(console_.strong(answer.query.name()) + "\n");
    print_table(console_, answer.result.table, max_rows_);
    console_.note(console_.faint(summary_line(answer)) + "\n");
    const std::int64_t rows = answer.result.table.num_rows();
    if (max_rows_ >= 0 && rows > max_rows_) {
      console_.note(console_.faint(fmt::format("{} of {} rows shown; for all, add --rows 0, --format csv or --out PATH",
                                               with_separators(max_rows_), with_separators(rows))) +
                    "\n");
    }
    if (with_plan_) console_.print(to_string(answer.result.plan));
  }

 private:
  Console& console_;
  std::int64_t max_rows_;  // of an answer that are shown; negative: all
  bool with_plan_;
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

/// Files, and a line on each.
class FileWriter : public AnswerWriter {
 public:
  FileWriter(Console& console, OutputFiles files, bool with_plan)
      : console_(console), files_(std::move(files)), with_plan_(with_plan) {}

  void write(const Answer& answer) override {
    const std::string file = files_.write(answer.query, answer.result.table, console_.stop()).string();
    console_.note(fmt::format("{}: {}\n", console_.strong(file), summary_line(answer)));
    if (with_plan_) console_.print(to_string(answer.result.plan));
  }

 private:
  Console& console_;
  OutputFiles files_;
  bool with_plan_;
};

/// One JSON document for the whole run; rows as the JSON lines writer spells them, or files in their place.
class JsonWriter : public AnswerWriter {
 public:
  JsonWriter(Console& console, const RunArguments& arguments, std::optional<OutputFiles> files)
      : console_(console), files_(std::move(files)), with_plan_(arguments.plan) {
    const Json about = {{"skyrank", version()}, {"batch", arguments.batch.file.string()}};
    console_.print(open(about) + ", \"queries\": [");
  }

  void write(const Answer& answer) override {
    const Table& table = answer.result.table;
    Json about = description(answer);
    if (files_) {
      about["file"] = files_->write(answer.query, table, console_.stop()).string();
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
  /// An answer without its rows.
  Json description(const Answer& answer) const {
    const Table& table = answer.result.table;
    Json about = {{"name", answer.query.name()},     {"table", answer.query.from()},
                  {"input_rows", answer.input_rows}, {"row_count", table.num_rows()},
                  {"columns", columns(table)},       {"timing", to_json(answer.result.timing)}};
    about["timing"]["read_ms"] = answer.read_ms;
    if (with_plan_) {
      about["work"] = to_json(answer.result.work);
      about["plan"] = to_json(answer.result.plan);
    }
    return about;
  }

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
  std::optional<OutputFiles> files_;
  bool with_plan_;
  bool first_ = true;
  bool in_rows_ = false;  // of an answer, which an error then ends
};

std::unique_ptr<AnswerWriter> make_file_writer(const RunArguments& arguments, std::size_t num_queries,
                                               Console& console) {
  OutputFiles files(arguments, num_queries);
  if (arguments.json) return std::make_unique<JsonWriter>(console, arguments, std::move(files));
  return std::make_unique<FileWriter>(console, std::move(files), arguments.plan);
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
        fmt::format("--format {} is not for terminals or pipes: say where to write with --out PATH", arguments.format));
  }
  if (num_queries != 1) {
    throw UsageError(
        fmt::format("--format {} prints the rows of one query and the batch has {}: choose one with --query NAME, or "
                    "write each to a file with --out PATH",
                    arguments.format, num_queries));
  }
  if (arguments.plan) {
    throw UsageError(fmt::format("--plan would be among the rows: leave it or --format {} out, or add --out PATH",
                                 arguments.format));
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
  if (!arguments.out.empty()) return make_file_writer(arguments, num_queries, console);
  if (arguments.json) {
    if (!arguments.format.empty()) throw UsageError("--json has its own form: leave --format out, or add --out PATH");
    return std::make_unique<JsonWriter>(console, arguments, std::nullopt);
  }
  if (arguments.format.empty() || arguments.format == "table") {
    return std::make_unique<TextWriter>(console, rows_shown(arguments, console), arguments.plan);
  }
  return make_rows_writer(arguments, num_queries, console);
}

}  // namespace skyrank::tools
