#include "datasets/file/input_file.hpp"

#include <arrow/buffer.h>

#include <algorithm>
#include <array>
#include <skyrank/error.hpp>
#include <string_view>
#include <utility>

#include "datasets/columnar/formats.hpp"
#include "datasets/input/encoding.hpp"
#include "datasets/input/uri.hpp"
#include "datasets/json/json_document.hpp"

namespace skyrank::datasets {
namespace {

// Bytes that tell a format.
constexpr std::int64_t kStart = 64;

/// The format of what no name tells, as `/dev/stdin`, by its first bytes.
Format sniff_format(const arrow::Buffer& bytes) {
  const std::string_view start(bytes);
  if (const ColumnarFormat* const columnar = columnar_format_of(start)) return columnar->format;
  const std::size_t first = start.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && (start[first] == '{' || start[first] == '[') ? Format::jsonl : Format::csv;
}

/// Returns true for names of text of whatever format, and of archives and workbooks, which their first bytes tell.
bool is_told_by_bytes(const std::filesystem::path& file) {
  const std::string extension = file.extension().string();
  constexpr std::array<std::string_view, 8> kExtensions = {"", ".txt", ".dat", ".tab", ".zip", ".xlsx", ".xls", ".ods"};
  return std::ranges::find(kExtensions, extension) != kExtensions.end();
}

bool holds_nul(const arrow::Buffer& bytes) { return std::string_view(bytes).find('\0') != std::string_view::npos; }

}  // namespace

InputFile::InputFile(const std::filesystem::path& file, const ReadOptions& options)
    : name_(file.string()),
      stop_(options.stop),
      memory_bytes_(memory_for_text(options)),
      max_text_bytes_(max_whole_text(memory_for_text(options))),
      max_columns_(max_columns(memory_for_text(options))) {
  std::error_code error;
  const bool remote = is_remote(name_);
  const auto kind = remote ? std::filesystem::file_type::regular : std::filesystem::status(file, error).type();
  if (kind == std::filesystem::file_type::directory) throw DataError(name_ + ": is a directory, not a file");
  // The extension first: a picture should be refused by its name, not by its first bytes.
  std::optional<Format> format = options.format ? options.format : known_format(file);
  const bool has_own_name = kind == std::filesystem::file_type::regular && !name_.starts_with("/dev/");
  const bool is_told_by_name = (has_own_name || error) && !is_told_by_bytes(file);
  if (!format && is_told_by_name) format = format_of(file);
  data_ = std::make_shared<DataFile>(file, *options.pipes, options.stop);
  coding_.compression = compression_of(file);
  const bool may_be_text = !format || columnar_format(*format) == nullptr;
  if (!known_format(file) && coding_.compression == Compression::none && may_be_text) {
    coding_.compression = sniff_compression(*data_->prefix(kStart));
  }
  if (may_be_text) {
    const auto start = text_prefix(kStart);
    refuse_archive(std::string_view(*start));
    coding_.encoding = options.encoding.value_or(sniff_encoding(std::string_view(*start)));
    if (!options.encoding && !coding_.encoding.empty()) tell("recognised encoding " + coding_.encoding, options);
  }
  if (!format && has_own_name) {
    const auto start = text_prefix(kStart);
    if (columnar_format_of(std::string_view(*start)) == nullptr && holds_nul(*start)) format_of(file);  // throws
  }
  format_ = format ? *format : sniff_format(*text_prefix(kStart));
  if (coding_.compression != Compression::none && is_columnar()) {
    throw DataError(name_ + ": is compressed as a whole, which files of format " + std::string(to_string(format_)) +
                    " cannot be; decompress it");
  }
  if (is_columnar()) coding_.encoding.clear();  // it is of text
  if (is_json()) {
    flatten_ = options.flatten;
    recognise_document(options);
    json_lines_ = options.pipes->findings_in<std::optional<JsonLines>>(*data_, stored_form());
  }
  if (is_csv()) recognise_csv_form(options);
  if (!options.folder_root) return;
  folders_ =
      folder_values(remote ? std::filesystem::path(decode_percent(without_query(name_))) : file, *options.folder_root);
}

std::shared_ptr<arrow::Buffer> InputFile::text_prefix(std::int64_t bytes) const {
  // A block of text needs more bytes than this compressed text has, or all of them.
  const auto start = data_->prefix(coding_.is_plain() ? bytes : std::max(2 * bytes, kCompressedStart));
  const auto text = coding_.is_plain() ? start : decode_prefix(start, coding_, name_, bytes);
  return comment_.empty() ? text : without_comments(*text, comment_, form_);
}

std::shared_ptr<arrow::Buffer> InputFile::text(int threads) const {
  refuse_too_large();
  const auto bytes = data_->content(threads);
  return rewritten(coding_.is_plain() ? bytes : decode(bytes, coding_, {name_, max_text_bytes_}, stop_));
}

void InputFile::refuse_too_large() const {
  if (data_->size() > static_cast<std::uint64_t>(max_text_bytes_)) refuse_large_text(name_, max_text_bytes_);
}

void InputFile::unpack(PipeCache& pipes) {
  if (!is_stored_otherwise()) return;
  data_ = pipes.unpacked(name_ + stored_form(), [&] {
    if (!is_rewritten()) return unpacked(*data_, coding_, stop_);
    try {
      return as_file(name_, *text(1), stop_);
    } catch (const TextTooLarge&) {
      throw ResourceError(
          name_ + ": is too large for the limit of memory to be read " +
          (comment_.empty() ? "as a JSON document; convert it to JSON lines" : "with comments; remove them") +
          ", or raise the limit");
    }
  });
  coding_ = {};
  comment_.clear();
  records_.reset();
}

std::string InputFile::stored_form() const {
  std::string form = " " + coding_.encoding + " " + comment_;
  if (flatten_) form += " flat";
  if (records_) form += " records";
  for (const std::string& key : records_.value_or(std::vector<std::string>())) form += "." + key;
  return form;
}

std::shared_ptr<arrow::Buffer> InputFile::rewritten(std::shared_ptr<arrow::Buffer> text) const {
  if (records_) return records_of_document(*text, name_, *records_);
  return comment_.empty() ? text : without_comments(*text, comment_, form_);
}

void InputFile::tell(const std::string& note, const ReadOptions& options) const {
  // One note is enough for the files of a folder that are alike.
  const std::string folder = std::filesystem::path(name_).parent_path().string();
  if (options.on_note && options.pipes->is_new(folder + " " + note)) options.on_note(name_ + ": " + note);
}

void InputFile::refuse_archive(std::string_view start) const {
  if (start.starts_with("PK\x03\x04")) {
    const std::string archive = name_.starts_with("/dev/") ? "archive.zip" : name_;
    throw DataError(name_ + ": is a zip archive or a workbook of a spreadsheet; export the workbook as CSV, or give " +
                    "the file in the archive through a pipe: unzip -p '" + archive +
                    "' | skyrank sql \"SELECT * FROM '-' ...\"");
  }
  if (start.starts_with("\xD0\xCF\x11\xE0")) {
    throw DataError(name_ + ": is a workbook of a spreadsheet; export it as CSV");
  }
}

void InputFile::recognise_document(const ReadOptions& options) {
  if (!options.records.empty()) {
    records_ = options.records;
  } else if (begins_with_array(std::string_view(*text_prefix(kStart)))) {
    records_.emplace();
  }
}

void InputFile::recognise_csv_form(const ReadOptions& options) {
  const auto start = text_prefix(kCsvFormBytes);
  const char usual = format_ == Format::tsv ? '\t' : ',';
  form_ = recognise_csv(std::string_view(*start), start->size() < kCsvFormBytes, usual, options);
  comment_ = options.comment;
  if (!comment_.empty()) {
    const auto records = without_comments(*start, comment_, form_);
    form_ = recognise_csv(std::string_view(*records), start->size() < kCsvFormBytes, usual, options);
  }
  if (!form_.note.empty()) tell(form_.note, options);
}

CsvText InputFile::csv(std::shared_ptr<arrow::Buffer> text) const { return csv_file(nullptr).text(std::move(text)); }

CsvFile InputFile::csv_file(std::shared_ptr<arrow::io::RandomAccessFile> bytes) const {
  return {std::move(bytes), name_, form_.delimiter, form_.decimal, form_.skipped_lines, form_.header};
}

ColumnarFile InputFile::columnar(BytesRead on_read) const {
  return {data_->reader(std::move(on_read)), data_->size(), name_, memory_bytes_};
}

JsonText InputFile::json(int threads, ReadMeter* meter) const {
  // Bytes of another machine are read at once.
  if (is_stored_otherwise() || data_->is_remote()) return json_part(text(threads), {1, 1}, threads);
  JsonText text = json_part(nullptr, {1, 1}, threads);
  text.file = data_->reader({});
  text.size = static_cast<std::int64_t>(data_->size());
  if (meter != nullptr) text.on_read = [meter](std::uint64_t bytes) { meter->add(bytes); };
  return text;
}

JsonText InputFile::json_part(std::shared_ptr<arrow::Buffer> bytes, TextPlace first, int threads) const {
  const std::int64_t size = bytes == nullptr ? 0 : bytes->size();
  return {.file = bytes == nullptr ? nullptr : open_buffer(std::move(bytes), {}),
          .size = size,
          .name = name_,
          .stop = stop_,
          .first = first,
          .max_keys = max_columns_,
          .max_record_bytes = std::min(max_text_bytes_, std::int64_t{1} << 30),
          .threads = threads,
          .flatten = flatten_};
}

const JsonLines& InputFile::json_lines(const ReadOptions& options, ReadMeter* meter) const {
  if (!*json_lines_) {
    *json_lines_ = scan_json_lines(json(options.threads, meter), meter == nullptr ? nullptr : &options);
  }
  return **json_lines_;
}

}  // namespace skyrank::datasets
