#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <iosfwd>
#include <optional>
#include <stop_token>

#include <skyrank/table.hpp>

#include "datasets/input/files.hpp"

// Tables as files of all formats.
namespace skyrank::datasets {

struct WriteOptions {
  int threads = 0;            ///< 0: all cores the process may use
  std::stop_token stop = {};  ///< CancelledError soon after a stop is requested
};

/// Writes a table to a file, which appears complete or not at all and keeps its mode (see OutputFile); whatever fails
/// leaves nothing behind and an existing file as it was. Devices and pipes are written in place. ResourceError with
/// path and reason when the system refuses; DataError for a format that is not written and for values that the format
/// does not hold (Parquet has no timestamps in seconds: they become milliseconds).
///
/// CSV: header, `\n`, quotes only where needed (also around strings that would read as NULL), numbers in the shortest
/// form that reads back to the same value, NULL as an empty field (NULL where it is the only column). JSON lines: NULL
/// is null; NaN and the infinities are the strings "NaN", "Infinity", "-Infinity" (as in protobuf's JSON mapping).
/// CancelledError soon after a stop is requested.
void write(const Table& table, const std::filesystem::path& file, Format format, const WriteOptions& options = {});

/// Makes the next rows of a table; returns nothing at its end. There is at least one block, perhaps without rows, and
/// all have the columns of the first one.
using NextBlock = std::function<std::optional<Table>()>;

/// Rows of a row group of Parquet: few enough to read parts, many enough to compress and to read fast.
inline constexpr std::int64_t kRowsPerGroup = std::int64_t{1} << 20;

/// Writes a table to a file as write() does, without ever holding more of it than two blocks: one is made while the
/// other is written. A block becomes a record batch of an Arrow file, and one row group of a Parquet file or several of
/// kRowsPerGroup rows. What `next` throws ends the writing, and is thrown on.
void write_blocks(const NextBlock& next, const std::filesystem::path& file, Format format,
                  const WriteOptions& options = {});

/// The same bytes as write() to a stream, csv or jsonl only. ResourceError when the stream fails.
void write(const Table& table, std::ostream& out, Format format, const WriteOptions& options = {});

struct TextOptions {
  /// Rows shown, the first and the last; the number left out stands between. Negative: all.
  std::int64_t max_rows = -1;
  int max_cell_width = 40;    ///< terminal columns; longer text ends in "…"
  std::stop_token stop = {};  ///< CancelledError soon after a stop is requested
};

/// A table for people: aligned columns, numbers to the right, text to the left, NULL spelled out. A float32 is
/// shown in the digits that tell it from other float32 values (files spell its exact value).
/// ResourceError when the stream fails.
void write_text(const Table& table, std::ostream& out, const TextOptions& options = {});

}  // namespace skyrank::datasets
