#pragma once

#include <arrow/io/type_fwd.h>
#include <arrow/type_fwd.h>

#include <cstdint>
#include <memory>
#include <string>

#include "datasets/input/input.hpp"
#include "datasets/input/read_options.hpp"

// A quick reader for the usual CSV: columns of integers, floats and texts. Each thread reads a block of the file into
// memory that stays in its cache, converts the fields of the columns that are read as it comes to them, and steps over
// the others. The text as a whole is never in memory.
namespace skyrank::datasets {

/// Delimited text that is read block by block.
struct CsvFile {
  std::shared_ptr<arrow::io::RandomAccessFile> bytes;
  std::string name;  ///< name of the file, for messages
  char delimiter = ',';
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

}  // namespace skyrank::datasets
