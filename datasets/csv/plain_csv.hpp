#pragma once

#include <arrow/io/type_fwd.h>
#include <arrow/type_fwd.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "datasets/csv/csv.hpp"
#include "datasets/input/input.hpp"
#include "datasets/input/read_options.hpp"

// The quick parser for the usual CSV: columns of integers, floats and texts, of whole files and of blocks of them. Each
// thread reads some records into memory that stays in its cache, converts the fields of the columns that are read as it
// comes to them, and steps over the others. A file as a whole is never in memory.
namespace skyrank::datasets {

/// Delimited text that is read block by block.
struct CsvFile {
  std::shared_ptr<arrow::io::RandomAccessFile> bytes;
  std::string name;  ///< name of the file, for messages
  char delimiter = ',';
  char decimal = '.';  ///< see CsvText, also for the others
  std::int64_t skipped_lines = 0;
  std::optional<bool> header = {};

  /// Returns some bytes from the start as a text.
  CsvText text(std::shared_ptr<arrow::Buffer> start) const;
};

/// Bytes that are read at once.
struct PlainCsvBytes {
  std::int64_t sample = std::int64_t{64} << 10;  ///< start of the file that decides the types
  std::int64_t block = std::int64_t{1} << 20;
};

/// Returns the table of csv_table, or null where only csv_table can tell what the file holds: its first `sample` bytes
/// have no record, or a column of another type; a later field has no value of its column's type; a record has the wrong
/// number of fields; a quoted field holds the last line break of a block. `meter` expects one pass over the file, and
/// another one if the result is null.
std::shared_ptr<arrow::Table> plain_csv_table(const CsvFile& file, const ReadOptions& options, ReadMeter& meter,
                                              const PlainCsvBytes& bytes = {});

/// Returns the table of csv_block, where `types` names the types of all columns, or null where only csv_block can tell
/// what the records hold: a type is none of the parser's, or what plain_csv_table says of records.
std::shared_ptr<arrow::Table> plain_csv_block(const CsvText& records, const CsvHeader& header,
                                              const std::vector<std::string>& columns, const ReadOptions& options,
                                              const GivenTypes& types);

}  // namespace skyrank::datasets
