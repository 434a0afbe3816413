#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "datasets/file/input_file.hpp"
#include "datasets/input/files_source.hpp"
#include "datasets/input/read_options.hpp"

// Files of text as sources whose units are blocks of whole records. A first pass over the text finds the ends of the
// blocks and the types of the columns; queries then parse the blocks and columns that they need again. Memory holds a
// few blocks at a time, at the price of parsing twice.
namespace skyrank::datasets {

/// Some consecutive records of a file.
struct TextBlock {
  std::size_t file = 0;           ///< place of the file among those of the table
  std::int64_t begin = 0;         ///< offset of the first byte
  std::int64_t size = 0;          ///< bytes
  std::int64_t first_line = 1;    ///< number of the line at `begin`,
  std::int64_t first_column = 1;  ///< and the place in it, which is not 1 where a JSON record begins within a line
  std::int64_t rows = 0;
  bool is_plain = false;  ///< CSV: the quick parser took it
};

/// A column of the table.
struct TextColumn {
  std::string name;
  std::shared_ptr<arrow::DataType> type;     ///< type that values are parsed as
  std::optional<UnitStatistics> statistics;  ///< by block
};

/// The result of the first walk.
struct TextTable {
  std::vector<std::string> stored_names;  ///< all columns of the files
  std::vector<TextColumn> columns;        ///< columns that are read
  std::vector<UnsupportedColumn> unsupported;
  std::vector<TextBlock> blocks;
};

/// Bytes of a block in memory.
struct BlockText {
  std::shared_ptr<arrow::Buffer> bytes;
  std::string name;  ///< name of the file
  const TextBlock& block;
};

/// The whole records at the start of a piece of a text.
struct WholeRecords {
  std::int64_t size = 0;  ///< bytes; 0 where there is no whole record
  std::int64_t lines = 0;
};

/// Takes the whole records of a piece that begins where `block` does, and notes in `block` what it holds. `at_end` says
/// that the piece is the last one.
using TakeBlock =
    std::function<WholeRecords(const std::shared_ptr<arrow::Buffer>& piece, TextBlock& block, bool at_end)>;

/// Cuts a file into blocks of about `options.block_bytes`, from `first` on. Blocks share `overlap` bytes: 1 for the
/// line break between them. Returns false where the file must be read whole, as a record is longer than 1 GiB.
/// ResourceError, with the place where a record begins, if it does not fit the memory that reading may take.
bool cut_into_blocks(const InputFile& file, const TextBlock& first, std::int64_t overlap, const ReadOptions& options,
                     const TakeBlock& take);

/// Returns the header of a CSV file; nothing where the whole text is needed to tell the columns, or it is longer than
/// what may be read as a whole.
std::optional<CsvHeader> csv_header_of(const InputFile& file, const ReadOptions& options);

/// A source over the blocks of files of one format.
class TextSource : public FilesSource {
 public:
  const Table& schema() const override { return schema_; }
  const std::vector<SourceUnit>& units() const override { return units_; }
  std::uint64_t bytes() const override { return bytes_; }
  std::optional<UnitStatistics> statistics(int column) const override { return column_of(column).statistics; }
  SourceRows read(std::span<const std::size_t> units, std::span<const int> columns) const override;
  SourceRows read_rows(std::span<const RowId> rows, std::span<const int> columns) const override;
  std::size_t file_of(std::size_t unit) const override { return table_.blocks[unit].file; }
  std::vector<std::string> stored_names() const override { return table_.stored_names; }

 protected:
  TextSource(std::vector<InputFile> files, TextTable table, const ReadOptions& options);

  const ReadOptions& options() const { return options_; }
  const InputFile& file(std::size_t index) const { return files_[index]; }
  const TextColumn& column_of(int column) const { return table_.columns[static_cast<std::size_t>(column)]; }

 private:
  /// Parses some columns of a block, in their types.
  virtual std::shared_ptr<arrow::Table> parse(const BlockText& text, std::span<const int> columns,
                                              bool threads) const = 0;

  std::shared_ptr<arrow::Table> read_block(std::size_t unit, std::span<const int> columns, bool threads) const;
  Table in_schema(const Table& read, std::span<const int> columns, std::int64_t rows) const;

  std::vector<InputFile> files_;
  TextTable table_;
  ReadOptions options_;
  Table schema_;
  std::vector<SourceUnit> units_;
  std::uint64_t bytes_ = 0;
  mutable std::mutex mutex_;  // over opening and closing files
};

/// Opens files of CSV as blocks of about `options.block_bytes`. Null where only `read` can tell the columns and their
/// types, or what is wrong with them. DataError for malformed records, as `read`.
std::shared_ptr<const TextSource> csv_source(std::vector<InputFile> files, const ReadOptions& options);

/// The same for JSON lines.
std::shared_ptr<const TextSource> json_source(std::vector<InputFile> files, const ReadOptions& options);

}  // namespace skyrank::datasets
