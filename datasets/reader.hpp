#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <skyrank/table.hpp>

namespace skyrank::datasets {

/// Called now and then while files are read, from any thread but never from two at once; `bytes_total` is the size of
/// all files of the table.
using Progress = std::function<void(std::uint64_t bytes_done, std::uint64_t bytes_total)>;

struct ReadOptions {
  bool header = true;                       ///< CSV: the first record holds the names; else they are c0, c1, ...
  std::vector<std::string> null_spellings;  ///< CSV: besides the empty field; empty means NULL, null, NA, N/A
  std::optional<std::vector<std::string>> columns;  ///< read only these, in this order; nothing means all
  int threads = 0;                                  ///< 0: all cores the process may use
  Progress progress;
};

/// A column that a file has and SkyRank has no type for, such as a list.
struct UnsupportedColumn {
  std::string name;
  std::string type;  ///< in the file format's words
};

/// What a table's columns are called.
struct ColumnNames {
  std::vector<std::string> names;              ///< readable columns, in the file's order
  std::vector<UnsupportedColumn> unsupported;  ///< the others; reading one by name is a DataError
};

/// Names of the columns of the first file, without reading its data.
ColumnNames column_names(const std::vector<std::filesystem::path>& files, const ReadOptions& options = {});

/// The files' rows one after the other as one table. The format goes by the extension (see format_of).
///
/// All files have the same set of column names; the first file gives the order. Types that differ become the narrowest
/// type that holds both exactly (int8 and int16: int16; int64 and uint64: uint64; date and timestamp: timestamp). CSV
/// columns are read again as the wider type, so a number among strings stays as it is spelled. DataError naming file
/// and column where there is no such type or a value does not fit.
///
/// CSV columns are typed by all their values: int64, else uint64, boolean (true/false), date, timestamp, float64
/// (nearest double; also integers with a plus sign), string. A column of integers beyond both int64 and uint64, and a
/// number beyond float64 (1e400), are DataErrors with file and line rather than rounded. `nan` and `inf` are floats.
/// Quoted fields are never NULL. A column without any value is float64. A trailing column without a name is dropped
/// when all its fields are empty (lines that end in a comma); other columns without a name are called c<index>. Empty
/// lines are skipped. A record may have up to 1 GiB.
///
/// Parquet and Arrow: dictionaries of anything but strings are decoded; bytes are strings where they are UTF-8; the
/// types SkyRank lacks (lists, structs, times, decimals of more than 38 digits) are left out unless `options.columns` asks for them.
///
/// Files are mapped into memory, so none may be cut short while it is read, nor while a table of uncompressed Arrow
/// columns is used. `options.threads` above 1 sets the size of Arrow's thread pool for the whole process.
///
/// DataError: not a file, malformed content, an unknown column; ResourceError: the system refuses to read.
Table read(const std::vector<std::filesystem::path>& files, const ReadOptions& options = {});

/// `read` without the rows: right names and types. Parquet and Arrow files are not read beyond their metadata.
Table read_schema(const std::vector<std::filesystem::path>& files, const ReadOptions& options = {});

/// `read` of CSV text in memory; `name` stands for the file in messages. The text is not referenced afterwards.
Table read_csv(std::string_view text, const std::string& name, const ReadOptions& options = {});

}  // namespace skyrank::datasets
