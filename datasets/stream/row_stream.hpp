#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include <skyrank/table.hpp>

#include "datasets/input/read_options.hpp"

namespace arrow {
class Schema;
class Table;
}  // namespace arrow

// Rows that come one after the other, through a pipe or in a file that grows, as tables of one schema.
namespace skyrank::datasets {

/// How a stream is read. Of `reading` its format, which must be there, delimiter, header, spellings of NULL, threads
/// and stop count.
struct StreamOptions {
  ReadOptions reading;
  bool follow = false;         ///< waits for more at the end of a regular file
  std::int64_t skip_rows = 0;  ///< rows to leave out at the beginning of a regular file; DataError for fewer
  std::int64_t max_rows = 0;   ///< most rows of a table; 0: as many as have come
};

/// Reads rows of another format.
class StreamReader;

/// Rows of CSV, of JSON lines (an object a line) or of an Arrow stream, with the columns of a schema and their types.
/// Other columns are left out; a key that an object of JSON lacks is NULL. A line that is wrong is a DataError with its
/// number, thrown after all rows before it were returned, whatever has come of the stream behind it.
class RowStream {
 public:
  /// Opens a file, or the standard input as `-`. Throws as GrowingFile, and DataError for a format that is no stream.
  RowStream(const std::filesystem::path& file, const Table& schema, StreamOptions options);
  ~RowStream();
  RowStream(const RowStream&) = delete;
  RowStream& operator=(const RowStream&) = delete;

  /// Waits for rows, and returns one or more of them; nothing at the end. CancelledError soon after a stop.
  std::optional<Table> next();

 private:
  bool fill();
  std::shared_ptr<arrow::Table> typed(const arrow::Table& rows) const;

  std::string name_;
  StreamOptions options_;
  std::shared_ptr<arrow::Schema> schema_;
  std::unique_ptr<StreamReader> reader_;
  std::shared_ptr<arrow::Table> rows_;  // that were read and not returned, from `begin_` on
  std::int64_t begin_ = 0;
  std::int64_t skipped_ = 0;
};

}  // namespace skyrank::datasets
