#include "datasets/csv/plain_csv.hpp"

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/builder.h>
#include <arrow/chunked_array.h>
#include <arrow/io/interfaces.h>
#include <arrow/table.h>
#include <arrow/type.h>
#include <arrow/util/thread_pool.h>
#include <arrow/util/utf8.h>
#include <arrow/util/value_parsing.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <mutex>
#include <new>
#include <optional>
#include <skyrank/error.hpp>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "datasets/arrow/arrow_table.hpp"
#include "datasets/arrow/arrow_threads.hpp"
#include "datasets/arrow/number_text.hpp"
#include "datasets/csv/csv.hpp"
#include "datasets/csv/csv_form.hpp"
#include "datasets/csv/csv_scan.hpp"
#include "engine/stop.hpp"

namespace skyrank::datasets {
namespace {

using TypePtr = std::shared_ptr<arrow::DataType>;

/// A column that the parser steps over.
struct Unread {};
using PlainColumn = std::variant<Unread, arrow::Int64Builder, arrow::DoubleBuilder, arrow::StringBuilder>;

bool begins_number(char c) { return c == '-' || (c >= '0' && c <= '9'); }

/// Returns true where a number, which ends before `end`, may be a code such as 007.
bool has_leading_zero(const char* number, const char* end) {
  if (*number == '-') ++number;
  return *number == '0' && end - number > 1 && number[1] != '.' && number[1] != 'e' && number[1] != 'E';
}

/// Properties of a file that its blocks share.
struct PlainFormat {
  std::string name;  ///< name of the file, for messages
  char delimiter = ',';
  char decimal = '.';
  std::vector<std::string> nulls;
  std::vector<TypePtr> types;  ///< types by field; null for one that is not read
};

/// Parses blocks of whole records.
class PlainParser {
 public:
  explicit PlainParser(const PlainFormat& format) : format_(format), columns_(format.types.size()) {
    for (const char c : {format.delimiter, '\n', '\r'}) ends_field_[static_cast<unsigned char>(c)] = true;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (format.types[i] == nullptr) continue;
      switch (format.types[i]->id()) {
        case arrow::Type::INT64: columns_[i].emplace<arrow::Int64Builder>(); break;
        case arrow::Type::DOUBLE: columns_[i].emplace<arrow::DoubleBuilder>(); break;
        default:
          columns_[i].emplace<arrow::StringBuilder>();
          has_texts_ = true;
          break;
      }
    }
  }

  /// Parses records that all end in a line break. Returns false where csv_table must.
  bool parse(std::string_view records) {
    if (has_texts_ && !arrow::util::ValidateUTF8(records)) return false;
    reserve(records);
    end_ = records.data() + records.size();
    for (const char* at = records.data(); at != end_;) {
      const bool is_empty_line = *at == '\n' || *at == '\r';
      if (!is_empty_line) at = read_fields(at);
      if (at != nullptr) at = skip_line_break(at);
      if (at == nullptr) return false;
    }
    return true;
  }

  /// Takes the values of the columns that are read, by field.
  arrow::ArrayVector take() {
    arrow::ArrayVector values(columns_.size());
    for_each_builder([&](auto& column, std::size_t field) { return column.Finish(&values[field]); });
    return values;
  }

 private:
  template <class Use>
  void for_each_builder(const Use& use) {
    for (std::size_t field = 0; field < columns_.size(); ++field) {
      const auto use_builder = [&](auto& column) {
        if constexpr (!std::is_same_v<decltype(column), Unread&>) return use(column, field);
        return arrow::Status::OK();
      };
      check(std::visit(use_builder, columns_[field]), format_.name, "columns");
    }
  }

  /// Makes room for all that these records can hold.
  void reserve(std::string_view records) {
    const auto rows = std::ranges::count(records, '\n');
    for_each_builder([&](auto& column, std::size_t /*field*/) {
      if constexpr (std::is_same_v<decltype(column), arrow::StringBuilder&>) {
        ARROW_RETURN_NOT_OK(column.ReserveData(static_cast<std::int64_t>(records.size())));
      }
      return column.Reserve(rows);
    });
  }

  // Each of these returns the place behind what it read, or null where csv_table must read the file. All of them stop
  // at the line break that ends the records.

  const char* read_fields(const char* at) {
    for (PlainColumn& column : columns_) {
      if (&column != columns_.data() && *at++ != format_.delimiter) return nullptr;
      at = std::visit([&](auto& values) { return read(values, at); }, column);
      if (at == nullptr) return nullptr;
    }
    return at;
  }

  static const char* skip_line_break(const char* at) {
    if (*at == '\r') ++at;
    return *at == '\n' ? at + 1 : nullptr;
  }

  const char* read(const Unread& /*column*/, const char* at) const { return skip_field(at); }

  const char* read(arrow::StringBuilder& column, const char* at) const {
    const char* const end = skip_field(at);
    if (end == nullptr) return nullptr;
    const CsvField field{{at, end}, *at == '"'};
    if (field.quoted) {
      column.UnsafeAppend(field.text());
    } else if (is_null(field.raw)) {
      column.UnsafeAppendNull();
    } else {
      column.UnsafeAppend(field.raw);
    }
    return end;
  }

  template <class Type>
  const char* read(arrow::NumericBuilder<Type>& column, const char* at) const {
    typename Type::c_type value{};
    // The quick conversion knows no decimal comma.
    const bool is_quick = std::is_same_v<Type, arrow::Int64Type> || format_.decimal == '.';
    if (is_quick && begins_number(*at)) {
      const auto [end, error] = std::from_chars(at, end_, value);
      const bool is_whole = error == std::errc{} && ends_field(*end);
      if (is_whole && !has_leading_zero(at, end)) return append(column, value) ? end : nullptr;
    }
    return read_unusual(column, at);
  }

  /// Reads what may be NULL, and numbers in quotes or of forms such as " 1", "+1" and "nan".
  template <class Type>
  const char* read_unusual(arrow::NumericBuilder<Type>& column, const char* at) const {
    const char* const end = skip_field(at);
    if (end == nullptr) return nullptr;
    const CsvField field{{at, end}, *at == '"'};
    const std::string text = field.text();
    if (field.quoted ? text.empty() : is_null(text)) {
      column.UnsafeAppendNull();
      return end;
    }
    const std::string pointed = format_.decimal == '.' ? std::string() : with_decimal_point(text);
    const std::string_view number = trim_blanks(format_.decimal == '.' ? text : pointed);
    typename Type::c_type value{};
    if (is_code(number)) return nullptr;
    if (!arrow::internal::ParseValue<Type>(number.data(), number.size(), &value)) return nullptr;
    return append(column, value) ? end : nullptr;
  }

  template <class Type>
  static bool append(arrow::NumericBuilder<Type>& column, typename Type::c_type value) {
    // An integer among floats may have lost digits.
    if constexpr (std::is_same_v<Type, arrow::DoubleType>) {
      if (std::fabs(value) >= 0x1p53) return false;
    }
    column.UnsafeAppend(value);
    return true;
  }

  const char* skip_field(const char* at) const {
    if (*at != '"') {
      while (!ends_field(*at)) ++at;
      return at;
    }
    const std::string_view rest(at, static_cast<std::size_t>(end_ - at));
    const std::size_t end = end_of_quoted(rest, 1);
    return end < rest.size() && ends_field(rest[end]) ? at + end : nullptr;
  }

  bool ends_field(char c) const { return ends_field_[static_cast<unsigned char>(c)]; }
  bool is_null(std::string_view text) const { return std::ranges::find(format_.nulls, text) != format_.nulls.end(); }

  const PlainFormat& format_;
  std::array<bool, 256> ends_field_{};
  std::vector<PlainColumn> columns_;
  bool has_texts_ = false;
  const char* end_ = nullptr;
};

/// The records of a file, and how many bytes of them are parsed at once.
struct RecordBytes {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t block = 0;
};

/// A file that several threads parse, block by block.
class PlainReading {
 public:
  PlainReading(CsvFile file, PlainFormat format, const RecordBytes& bytes, ReadMeter& meter, std::stop_token stop)
      : file_(std::move(file)),
        format_(std::move(format)),
        begin_(bytes.begin),
        size_(bytes.end),
        block_(bytes.block),
        meter_(&meter),
        stop_(std::move(stop)) {}

  /// Parses blocks until there is none left, in any number of threads at once.
  void run() {
    try {
      PlainParser parser(format_);
      std::vector<char> buffer(static_cast<std::size_t>(block_) + 1);
      while (const auto block = next(buffer)) {
        if (!parser.parse(block->records)) return give_up();
        keep(*block, parser.take());
      }
    } catch (...) {
      give_up();
      throw;
    }
  }

  /// Returns the values by block and field; nothing where csv_table must read the file.
  std::optional<std::vector<arrow::ArrayVector>> take() {
    const std::scoped_lock lock(mutex_);
    if (!gave_up_) return std::move(values_);
    meter_->expect(parsed_);
    return std::nullopt;
  }

  /// Ends all runs soon. They no longer use the meter.
  void close() {
    const std::scoped_lock lock(mutex_);
    begin_ = size_;
    meter_ = nullptr;
  }

 private:
  struct Block {
    std::size_t index;
    std::string_view records;
  };

  /// Reads the next records into a buffer.
  std::optional<Block> next(std::vector<char>& buffer) {
    const std::scoped_lock lock(mutex_);
    if (begin_ == size_) return std::nullopt;
    if (exec::is_stopped(stop_)) throw CancelledError("reading " + file_.name + " was cancelled");
    const std::int64_t length = std::min(block_, size_ - begin_);
    check(file_.bytes->ReadAt(begin_, length, buffer.data()).status(), file_.name, "content");
    std::string_view records(buffer.data(), static_cast<std::size_t>(length));
    if (begin_ + length == size_ && !records.ends_with('\n')) {
      buffer[records.size()] = '\n';
      begin_ = size_;
      return Block{blocks_++, {buffer.data(), records.size() + 1}};
    }
    records = records.substr(0, records.rfind('\n') + 1);
    if (records.empty()) {  // a record longer than a block
      gave_up_ = true;
      begin_ = size_;
      return std::nullopt;
    }
    begin_ += static_cast<std::int64_t>(records.size());
    return Block{blocks_++, records};
  }

  void keep(const Block& block, arrow::ArrayVector values) {
    const std::scoped_lock lock(mutex_);
    if (meter_ == nullptr) return;  // closed
    values_.resize(std::max(values_.size(), block.index + 1));
    values_[block.index] = std::move(values);
    parsed_ += block.records.size();
    meter_->add(block.records.size());
  }

  void give_up() {
    const std::scoped_lock lock(mutex_);
    gave_up_ = true;
    begin_ = size_;
  }

  const CsvFile file_;
  const PlainFormat format_;
  std::mutex mutex_;  // over all below
  std::int64_t begin_;
  const std::int64_t size_;
  const std::int64_t block_;
  ReadMeter* meter_;
  std::stop_token stop_;
  std::size_t blocks_ = 0;
  std::uint64_t parsed_ = 0;
  std::vector<arrow::ArrayVector> values_;  // by block
  bool gave_up_ = false;
};

/// Joins the values of blocks into one array for each field that was read, several fields side by side.
std::vector<arrow::ArrayVector> joined_blocks(std::vector<arrow::ArrayVector> blocks, std::size_t fields, int threads) {
  std::vector<arrow::ArrayVector> values(fields);
  for (arrow::ArrayVector& block : blocks) {
    for (std::size_t field = 0; field < fields; ++field) {
      if (block[field] != nullptr) values[field].push_back(std::move(block[field]));
    }
  }
  return join_chunks(std::move(values), threads > 1);
}

/// Reads the types of columns from the start of a file; nothing where it does not tell them.
std::optional<std::vector<TypePtr>> sample_types(const CsvText& start, const CsvHeader& header,
                                                 const std::vector<std::string>& columns, const ReadOptions& options) {
  const std::size_t end = start.view().rfind('\n');
  if (end == std::string_view::npos || end <= header.begin) return std::nullopt;
  CsvText records = start;
  records.bytes = arrow::SliceBuffer(start.bytes, static_cast<std::int64_t>(header.begin),
                                     static_cast<std::int64_t>(end + 1 - header.begin));
  records.first_line = header.first_line;
  records.skipped_lines = 0;
  std::vector<TypePtr> types(header.fields);
  const std::vector<std::size_t> places = places_of(columns, header.names);
  try {
    const auto table = csv_block(records, header, columns, options, {});
    for (std::size_t i = 0; i < places.size(); ++i) types[places[i]] = table->column(static_cast<int>(i))->type();
  } catch (const NeedsWholeText&) {
    return std::nullopt;
  } catch (const DataError&) {  // csv_table tells it with its line
    return std::nullopt;
  }
  return types;
}

/// Bytes of the mark with which a file may begin.
std::int64_t mark_bytes(const CsvText& text) {
  const bool has_mark = text.first_line == 1 && text.view().starts_with(kByteOrderMark);
  return has_mark ? static_cast<std::int64_t>(kByteOrderMark.size()) : 0;
}

bool is_plain(const TypePtr& type) {
  return type == nullptr || type->id() == arrow::Type::INT64 || type->id() == arrow::Type::DOUBLE ||
         type->id() == arrow::Type::STRING;
}

/// Parses records, in blocks side by side, whose columns have the given types by field, null for one that is not read.
/// Null where a type is none of the parser's, or the records are not plain.
std::shared_ptr<arrow::Table> parse_records(const CsvFile& file, const RecordBytes& bytes, const CsvHeader& header,
                                            const std::vector<std::string>& columns, std::vector<TypePtr> types,
                                            const ReadOptions& options, ReadMeter& meter) {
  const PlainFormat format{file.name, file.delimiter, file.decimal, null_spellings(options), std::move(types)};
  const bool null_is_number = std::ranges::any_of(
      format.nulls, [](const std::string& spelling) { return spelling != "-" && begins_number(spelling.c_str()[0]); });
  // from_chars would read over a delimiter that a number may hold.
  const bool number_holds_delimiter =
      std::string_view("+-.0123456789Ee").find(file.delimiter) != std::string_view::npos;
  if (null_is_number || number_holds_delimiter) return nullptr;
  if (columns.empty() || !std::ranges::all_of(format.types, is_plain)) return nullptr;
  arrow::util::InitializeUTF8();
  const auto reading = std::make_shared<PlainReading>(file, format, bytes, meter, options.stop);
  // Also where a pool fails to take a task: those that it took before go on.
  const auto close = [](PlainReading* open) { open->close(); };
  const std::unique_ptr<PlainReading, decltype(close)> closed(reading.get(), close);
  const int threads = options.threads == 1 ? 1 : arrow::GetCpuThreadPoolCapacity();
  run_each(threads > 1, static_cast<std::size_t>(threads), [reading](std::size_t /*task*/) { reading->run(); });
  auto blocks = reading->take();
  if (!blocks) return nullptr;
  const std::vector<arrow::ArrayVector> values = joined_blocks(*std::move(blocks), header.fields, threads);
  arrow::FieldVector fields;
  std::vector<std::shared_ptr<arrow::ChunkedArray>> chunked;
  for (const std::size_t field : places_of(columns, header.names)) {
    fields.push_back(arrow::field(header.names[field], format.types[field]));
    chunked.push_back(std::make_shared<arrow::ChunkedArray>(values[field], format.types[field]));
  }
  return arrow::Table::Make(arrow::schema(std::move(fields)), std::move(chunked));
}

}  // namespace

CsvText CsvFile::text(std::shared_ptr<arrow::Buffer> start) const {
  return {.bytes = std::move(start),
          .name = name,
          .delimiter = delimiter,
          .decimal = decimal,
          .skipped_lines = skipped_lines,
          .header = header};
}

std::shared_ptr<arrow::Table> plain_csv_table(const CsvFile& file, const ReadOptions& options, ReadMeter& meter,
                                              const PlainCsvBytes& bytes) {
  const auto size = file.bytes->GetSize();
  check(size.status(), file.name, "cannot be read");
  if (*size <= bytes.sample) return nullptr;
  const auto start = file.bytes->ReadAt(0, bytes.sample);
  check(start.status(), file.name, "cannot be read");
  const CsvText text = file.text(*start);
  const auto header = csv_header(text, options);
  if (!header) return nullptr;
  const std::vector<std::string> columns = options.columns.value_or(header->names);
  auto types = sample_types(text, *header, columns, options);
  if (!types) return nullptr;
  const std::int64_t begin = header->begin == 0 ? mark_bytes(text) : static_cast<std::int64_t>(header->begin);
  return parse_records(file, {begin, *size, bytes.block}, *header, columns, *std::move(types), options, meter);
}

std::shared_ptr<arrow::Table> plain_csv_block(const CsvText& records, const CsvHeader& header,
                                              const std::vector<std::string>& columns, const ReadOptions& options,
                                              const GivenTypes& types) {
  std::vector<TypePtr> by_field(header.fields);
  const std::vector<std::size_t> places = places_of(columns, header.names);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const auto type = types.find(columns[i]);
    if (type == types.end() || places[i] == header.names.size()) return nullptr;
    by_field[places[i]] = type->second;
  }
  const std::int64_t size = records.bytes->size();
  const RecordBytes bytes{mark_bytes(records), size, std::min(PlainCsvBytes().block, size)};
  ReadMeter unheard({});
  const CsvFile file{open_buffer(records.bytes, {}), records.name, records.delimiter, records.decimal};
  return parse_records(file, bytes, header, columns, std::move(by_field), options, unheard);
}

}  // namespace skyrank::datasets
