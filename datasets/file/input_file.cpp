#include "datasets/file/input_file.hpp"

#include <arrow/buffer.h>

#include <algorithm>
#include <skyrank/error.hpp>
#include <string_view>
#include <utility>

#include "datasets/columnar/formats.hpp"
#include "datasets/input/compression.hpp"
#include "datasets/input/uri.hpp"

namespace skyrank::datasets {
namespace {

// Bytes that tell a format.
constexpr std::int64_t kStart = 64;

/// The format of what no name tells, as `/dev/stdin`, by its first bytes.
Format sniff_format(const arrow::Buffer& bytes) {
  const std::string_view start(bytes);
  if (const ColumnarFormat* const columnar = columnar_format_of(start)) return columnar->format;
  const std::size_t first = start.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && start[first] == '{' ? Format::jsonl : Format::csv;
}

}  // namespace

InputFile::InputFile(const std::filesystem::path& file, const ReadOptions& options)
    : name_(file.string()),
      stop_(options.stop),
      memory_bytes_(memory_for_text(options)),
      max_text_bytes_(max_whole_text(memory_for_text(options))),
      max_columns_(max_columns(memory_for_text(options))),
      delimiter_(options.delimiter) {
  std::error_code error;
  const bool remote = is_remote(name_);
  const auto kind = remote ? std::filesystem::file_type::regular : std::filesystem::status(file, error).type();
  if (kind == std::filesystem::file_type::directory) throw DataError(name_ + ": is a directory, not a file");
  // The extension first: a picture should be refused by its name, not by its first bytes.
  std::optional<Format> format = options.format ? options.format : known_format(file);
  const bool has_own_name = kind == std::filesystem::file_type::regular && !name_.starts_with("/dev/");
  if (!format && (has_own_name || error)) format = format_of(file);
  data_ = std::make_shared<DataFile>(file, *options.pipes, options.stop);
  compression_ = compression_of(file);
  if (!known_format(file) && compression_ == Compression::none && (!format || columnar_format(*format) == nullptr)) {
    compression_ = sniff_compression(*data_->prefix(kStart));
  }
  format_ = format ? *format : sniff_format(*text_prefix(kStart));
  if (is_compressed() && is_columnar()) {
    throw DataError(name_ + ": is compressed as a whole, which files of format " + std::string(to_string(format_)) +
                    " cannot be; decompress it");
  }
  if (is_json()) json_lines_ = options.pipes->findings_in<std::optional<JsonLines>>(*data_);
  if (!options.folder_root) return;
  folders_ =
      folder_values(remote ? std::filesystem::path(decode_percent(without_query(name_))) : file, *options.folder_root);
}

std::shared_ptr<arrow::Buffer> InputFile::text_prefix(std::int64_t bytes) const {
  // A block of text needs more bytes than this compressed text has, or all of them.
  const auto start = data_->prefix(is_compressed() ? std::max(bytes, kCompressedStart) : bytes);
  return is_compressed() ? decompress_prefix(start, compression_, name_, bytes) : start;
}

std::shared_ptr<arrow::Buffer> InputFile::text(int threads) const {
  refuse_too_large();
  const auto bytes = data_->content(threads);
  return is_compressed() ? decompress(bytes, compression_, {name_, max_text_bytes_}, stop_) : bytes;
}

void InputFile::refuse_too_large() const {
  if (data_->size() > static_cast<std::uint64_t>(max_text_bytes_)) refuse_large_text(name_, max_text_bytes_);
}

void InputFile::unpack(PipeCache& pipes) {
  if (!is_compressed()) return;
  data_ = pipes.unpacked(name_, [&] { return unpacked(*data_, compression_, stop_); });
  compression_ = Compression::none;
}

char InputFile::delimiter() const { return delimiter_.value_or(format_ == Format::tsv ? '\t' : ','); }

CsvText InputFile::csv(std::shared_ptr<arrow::Buffer> text) const { return {std::move(text), name_, delimiter()}; }

ColumnarFile InputFile::columnar(BytesRead on_read) const {
  return {data_->reader(std::move(on_read)), data_->size(), name_, memory_bytes_};
}

JsonText InputFile::json(int threads, ReadMeter* meter) const {
  // Bytes of another machine are read at once.
  if (is_compressed() || data_->is_remote()) return json_part(text(threads), {1, 1}, threads);
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
          .threads = threads};
}

const JsonLines& InputFile::json_lines(const ReadOptions& options, ReadMeter* meter) const {
  if (!*json_lines_) {
    *json_lines_ = scan_json_lines(json(options.threads, meter), meter == nullptr ? nullptr : &options);
  }
  return **json_lines_;
}

}  // namespace skyrank::datasets
