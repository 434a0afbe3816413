#include <arrow/array/util.h>
#include <arrow/buffer.h>
#include <arrow/chunked_array.h>
#include <arrow/io/interfaces.h>
#include <arrow/table.h>
#include <arrow/type.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <skyrank/error.hpp>
#include <string_view>
#include <utility>

#include "datasets/csv/csv.hpp"
#include "datasets/csv/csv_scan.hpp"
#include "datasets/input/input.hpp"
#include "datasets/json/json_lines.hpp"
#include "datasets/stream/stream_reader.hpp"

// Streams of text. What has come is cut behind its last whole record, and read as a part of a file is.
namespace skyrank::datasets {
namespace {

using TablePtr = std::shared_ptr<arrow::Table>;

constexpr int kMaxTries = 8;  // to find the wrong record of some
constexpr std::size_t kMaxRecordBytes = std::size_t{64} << 20;

/// Whole records, and the number of the line on which they begin.
struct Records {
  std::string_view text;
  std::int64_t first_line = 1;
};

/// Reads text record by record.
class TextReader : public StreamReader {
 public:
  TextReader(std::unique_ptr<GrowingFile> file, const ReadOptions& options)
      : file_(std::move(file)), options_(options) {}

  TablePtr read() override {
    if (failure_) std::rethrow_exception(failure_);
    for (;;) {
      const std::size_t size = begin() ? end_of_records(text_, line_, at_end_) : 0;
      if (size > 0) {
        TablePtr rows = parse_up_to_failure({std::string_view(text_).substr(0, size), line_});
        take(size);
        if (rows->num_rows() > 0) return rows;
        if (failure_) std::rethrow_exception(failure_);
        continue;
      }
      if (at_end_) return nullptr;
      if (text_.size() > kMaxRecordBytes) {
        refuse_long_record({file_->name(), line_, 0}, static_cast<std::int64_t>(kMaxRecordBytes));
      }
      at_end_ = !file_->read(text_, kStreamBytes);
    }
  }

 protected:
  const std::string& name() const { return file_->name(); }
  const ReadOptions& options() const { return options_; }
  std::string_view text() const { return text_; }
  bool at_end() const { return at_end_; }

  /// Drops what has been read.
  void take(std::size_t size) {
    line_ += count_line_breaks(std::string_view(text_).substr(0, size));
    text_.erase(0, size);
  }

 private:
  /// Reads what comes before the records. Returns false where more of it has to come.
  virtual bool begin() { return true; }
  /// Returns where the last whole record of a text ends; 0 where there is none. At the end of the stream all records
  /// are whole.
  virtual std::size_t end_of_records(std::string_view text, std::int64_t first_line, bool at_end) const = 0;
  /// Returns the size of the whole records before the one that has a line.
  virtual std::size_t size_before(const Records& records, std::int64_t line) const = 0;
  virtual TablePtr parse(const Records& records) const = 0;

  /// Reads the records before the first one that is wrong, and keeps the error for the next call.
  TablePtr parse_up_to_failure(Records records) {
    for (int tries = 0;; ++tries) {
      try {
        return parse(records);
      } catch (const DataError& error) {
        if (!failure_) failure_ = std::current_exception();
        const std::size_t size = size_before_error(records, error.location().line);
        if (size == 0 || tries == kMaxTries) std::rethrow_exception(failure_);
        records.text = records.text.substr(0, size);
      }
    }
  }

  /// Returns the size of the records before a wrong line. Where that is behind the last one, such as the end of a
  /// bracket that nobody closes, the last line is taken to be wrong.
  std::size_t size_before_error(const Records& records, std::int64_t line) const {
    if (line <= records.first_line) return 0;
    const std::size_t size = size_before(records, line);
    if (size < records.text.size()) return size;
    return size_before(records, records.first_line + count_line_breaks(records.text) - 1);
  }

  std::unique_ptr<GrowingFile> file_;
  ReadOptions options_;
  std::string text_;
  std::int64_t line_ = 1;  // on which `text_` begins
  bool at_end_ = false;
  std::exception_ptr failure_;
};

/// JSON lines, an object a line.
class JsonReader final : public TextReader {
 public:
  using TextReader::TextReader;

 private:
  std::size_t end_of_records(std::string_view text, std::int64_t /*first_line*/, bool at_end) const override {
    const std::size_t size = at_end ? text.size() : text.rfind('\n') + 1;  // npos + 1 is 0
    const bool is_blank = text.substr(0, size).find_first_not_of(" \t\r\n") == std::string_view::npos;
    return is_blank && at_end ? 0 : size;
  }

  std::size_t size_before(const Records& records, std::int64_t line) const override {
    std::size_t size = 0;
    for (std::int64_t at = records.first_line; at < line && size != std::string_view::npos; ++at) {
      size = records.text.find('\n', size);
      size += size == std::string_view::npos ? 0 : 1;
    }
    return size;
  }

  TablePtr parse(const Records& records) const override {
    const auto buffer = arrow::Buffer::FromString(std::string(records.text));
    JsonText text{.file = open_buffer(buffer, {}),
                  .size = buffer->size(),
                  .name = name(),
                  .stop = options().stop,
                  .first = {records.first_line, 1}};
    if (records.text.find_first_not_of(" \t\r\n") == std::string_view::npos) return with_all_columns({}, 0);
    JsonLines lines = scan_json_lines(text, &options());
    std::vector<std::string> names;
    for (const std::string& column : *options().columns) {
      if (lines.find(column) != nullptr) names.push_back(column);
    }
    JsonReading reading{.types = options().types, .is_part = false, .values = std::move(lines.values)};
    return with_all_columns(json_table(text, lines, names, std::move(reading)), lines.rows);
  }

  /// Adds columns of NULL for keys that no object has.
  TablePtr with_all_columns(const TablePtr& read, std::int64_t rows) const {
    arrow::FieldVector fields;
    std::vector<std::shared_ptr<arrow::ChunkedArray>> columns;
    for (const std::string& column : *options().columns) {
      auto values = read == nullptr ? nullptr : read->GetColumnByName(column);
      if (values == nullptr) {
        auto nulls = arrow::MakeArrayOfNull(arrow::null(), rows);
        check(nulls.status(), name(), "column '" + column + "'");
        values = std::make_shared<arrow::ChunkedArray>(*std::move(nulls));
      }
      fields.push_back(arrow::field(column, values->type()));
      columns.push_back(std::move(values));
    }
    return arrow::Table::Make(arrow::schema(std::move(fields)), std::move(columns), rows);
  }
};

/// Delimited text.
class CsvReader final : public TextReader {
 public:
  CsvReader(std::unique_ptr<GrowingFile> file, const ReadOptions& options)
      : TextReader(std::move(file), options), delimiter_(options.delimiter.value_or(',')) {}

 private:
  bool begin() override {
    if (header_) return true;
    CsvScanner first(text(), delimiter_);
    const bool is_there = first.next() && !first.unterminated();
    const bool is_whole = is_there && (first.end() < text().size() || text().ends_with('\n'));
    if (!is_whole && !at_end()) return false;
    if (text().empty()) return false;
    // The record, and line breaks behind it.
    const std::size_t size = is_there ? first.end() : text().size();
    const auto record = arrow::Buffer::FromString(std::string(text().substr(0, size)) + "\n\n");
    const CsvText prefix{.bytes = record, .name = name(), .delimiter = delimiter_};
    std::optional<CsvHeader> header = csv_header(prefix, options());
    if (!header) {
      csv_names(prefix, options());  // tells what is wrong
      throw DataError("the last column of a stream needs a name; the line ends in its delimiter", {name(), 1, 0});
    }
    header_ = std::move(header);
    if (options().header.value_or(true)) take(size);
    return true;
  }

  std::size_t end_of_records(std::string_view text, std::int64_t first_line, bool at_end) const override {
    if (at_end) return text.size();
    std::size_t end = 0;
    for (CsvScanner scanner(text, delimiter_, first_line); scanner.next();) {
      // Behind a carriage return there may come a line feed.
      const bool is_whole = scanner.end() < text.size() || text.ends_with('\n');
      if (scanner.unterminated() || !is_whole) break;
      end = scanner.end();
    }
    return end;
  }

  std::size_t size_before(const Records& records, std::int64_t line) const override {
    std::size_t size = 0;
    for (CsvScanner scanner(records.text, delimiter_, records.first_line); scanner.next();) {
      if (scanner.line() > line) break;
      if (scanner.line() == line) return size;
      last_begin_ = size;
      size = scanner.end();
    }
    return last_begin_;  // the line is one within the last record
  }

  TablePtr parse(const Records& records) const override {
    // Records begin with the line break before them, as those of a file do.
    const bool has_break = records.first_line > 1;
    const auto bytes = arrow::Buffer::FromString((has_break ? "\n" : "") + std::string(records.text));
    const CsvText text{bytes, name(), delimiter_, records.first_line - (has_break ? 1 : 0)};
    try {
      return csv_block(text, *header_, *options().columns, options(), {});
    } catch (const NeedsWholeText&) {  // of columns without a stated type, of which there are none
      throw DataError("cannot be read", {name(), records.first_line, 0});
    }
  }

  char delimiter_;
  std::optional<CsvHeader> header_;
  mutable std::size_t last_begin_ = 0;
};

}  // namespace

std::unique_ptr<StreamReader> csv_reader(std::unique_ptr<GrowingFile> file, const ReadOptions& options) {
  return std::make_unique<CsvReader>(std::move(file), options);
}

std::unique_ptr<StreamReader> json_reader(std::unique_ptr<GrowingFile> file, const ReadOptions& options) {
  return std::make_unique<JsonReader>(std::move(file), options);
}

}  // namespace skyrank::datasets
