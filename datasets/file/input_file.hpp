#pragma once

#include <arrow/type_fwd.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "datasets/columnar/columnar.hpp"
#include "datasets/csv/csv.hpp"
#include "datasets/csv/csv_form.hpp"
#include "datasets/csv/plain_csv.hpp"
#include "datasets/file/folder_columns.hpp"
#include "datasets/input/compression.hpp"
#include "datasets/input/data_file.hpp"
#include "datasets/input/files.hpp"
#include "datasets/input/read_options.hpp"
#include "datasets/json/json_lines.hpp"

// One file of a table, whatever its format: where its bytes come from, how they are compressed, and what its name and
// first bytes say about it. Readers of formats ask it for text, or for columns.
namespace skyrank::datasets {

/// A file of a table, opened, with all that its name and its first bytes tell.
class InputFile {
 public:
  /// Opens a file. DataError for a folder and for an extension that names no format, else as DataFile.
  InputFile(const std::filesystem::path& file, const ReadOptions& options);

  const std::string& name() const { return name_; }
  Format format() const { return format_; }
  bool is_csv() const { return format_ == Format::csv || format_ == Format::tsv; }
  bool is_json() const { return format_ == Format::jsonl; }
  bool is_columnar() const { return !is_csv() && !is_json(); }
  DataFile& data() const { return *data_; }
  const std::shared_ptr<DataFile>& shared_data() const { return data_; }
  const std::vector<FolderValue>& folders() const { return folders_; }

  /// The whole text of the file, decompressed. Throws TextTooLarge.
  std::shared_ptr<arrow::Buffer> text(int threads) const;
  /// Throws TextTooLarge where the stored bytes alone tell that the text cannot be read as a whole.
  void refuse_too_large() const;
  /// Decompresses the text into a temporary file, which takes the place of this one. Once a run, as `pipes` keeps it.
  void unpack(PipeCache& pipes);
  /// At most `bytes` bytes of the text from its start.
  std::shared_ptr<arrow::Buffer> text_prefix(std::int64_t bytes) const;
  /// Returns true if the stored bytes are not the text, but must be decoded or changed to be it.
  bool is_stored_otherwise() const { return !coding_.is_plain() || is_rewritten(); }

  /// Text of this file as CSV.
  CsvText csv(std::shared_ptr<arrow::Buffer> text) const;
  /// This file as CSV whose text `bytes` are, to be read block by block.
  CsvFile csv_file(std::shared_ptr<arrow::io::RandomAccessFile> bytes) const;
  /// Text of this file as JSON lines, which is read part by part; decompressed as a whole if need be.
  JsonText json(int threads, ReadMeter* meter = nullptr) const;
  /// Some bytes of this file as JSON lines, and the number of their first line.
  JsonText json_part(std::shared_ptr<arrow::Buffer> bytes, TextPlace first, int threads) const;
  /// The columns of JSON lines in the whole text; found once in a run. Brings values too if there is a meter for them.
  const JsonLines& json_lines(const ReadOptions& options, ReadMeter* meter) const;
  /// Lets go of the values that were taken along.
  JsonValuesByName take_json_values() const { return std::exchange((*json_lines_)->values, {}); }
  /// The same after it was called once.
  const JsonLines& json_lines() const { return **json_lines_; }
  /// The file as one of columns.
  ColumnarFile columnar(BytesRead on_read) const;

 private:
  void recognise_csv_form(const ReadOptions& options);
  void recognise_document(const ReadOptions& options);
  void tell(const std::string& note, const ReadOptions& options) const;
  void refuse_archive(std::string_view start) const;
  std::string stored_form() const;
  bool is_rewritten() const { return !comment_.empty() || records_.has_value(); }
  std::shared_ptr<arrow::Buffer> rewritten(std::shared_ptr<arrow::Buffer> text) const;

  static constexpr std::int64_t kCompressedStart = std::int64_t{64} << 10;

  std::string name_;
  std::stop_token stop_;
  std::size_t memory_bytes_;     // that reading may take
  std::int64_t max_text_bytes_;  // that are read as a whole
  std::size_t max_columns_;
  std::shared_ptr<DataFile> data_;
  Format format_ = Format::csv;
  CsvForm form_;
  TextCoding coding_;
  std::string comment_;                              // beginning of lines of CSV that are no records; empty: none are
  std::optional<std::vector<std::string>> records_;  // path in a JSON document; nothing: the text is JSON lines
  bool flatten_ = false;
  std::vector<FolderValue> folders_;
  std::shared_ptr<std::optional<JsonLines>> json_lines_;  // shared by files of the run with the same content
};

/// Runs `read`. Where the file changed meanwhile, this is the error to report: what was read, or what was wrong with
/// it, means nothing.
template <class Read>
auto read_unchanged(const InputFile& file, Read read) {
  try {
    auto result = read();
    file.data().check_unchanged();
    file.data().close();
    return result;
  } catch (const DataError&) {
    file.data().check_unchanged();
    throw;
  }
}

}  // namespace skyrank::datasets
