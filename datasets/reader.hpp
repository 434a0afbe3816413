#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <skyrank/source.hpp>
#include <skyrank/table.hpp>

#include "datasets/input/read_options.hpp"

// Tables and sources from files of all formats.
namespace skyrank::datasets {

/// Returns the names of the columns of the first file, without reading its data.
ColumnNames column_names(const std::vector<std::filesystem::path>& files, const ReadOptions& options = {});

/// Reads files as one table, their rows in the order of the files. The extension decides the format (see format_of).
///
/// All files have the same set of column names; the first file gives the order. Types that differ become the narrowest
/// type that holds both exactly (int8 and int16: int16; date and timestamp: timestamp). Where that depends on the
/// values, they decide: signed integers and uint64 become uint64 or int64, integers and floats become float64, and
/// values that would lose a digit are a DataError. CSV columns are read again as the wider type, so a number among
/// strings stays as it is spelled. DataError naming file and column where there is no such type or a value does not
/// fit.
///
/// CSV columns are typed by all their values: int64, else uint64, boolean (true/false), date, timestamp, float64
/// (nearest double; also integers with a plus sign), string. A column of integers beyond both int64 and uint64, an
/// integer beside floats that float64 does not hold (2^53 + 1), and a number beyond float64 (1e400) are DataErrors with
/// file and line rather than rounded. `nan` and `inf` are floats.
/// A quoted empty field is NULL in a column whose other values are no text; other quoted fields are never NULL. A
/// column without any value is float64. A trailing column without a name is dropped when all its fields are empty
/// (lines that end in a comma); other columns without a name are called c<index>. Empty lines are skipped. A record may
/// have up to 1 GiB.
///
/// JSON lines are objects whose keys are the columns, typed by all their values: boolean, int64, else uint64, else
/// float64, and texts as in CSV: date, timestamp, string. A key that an object lacks is NULL. Keys with objects or
/// lists are columns of a type that SkyRank lacks; values of different types (1 and "a") are a DataError with file and
/// line.
///
/// Columns of `options.types` get the type that is stated for them: a text that is no value of it is a DataError with
/// file and line. Files of Parquet and Arrow, which state types of their own, must have that type already.
///
/// Text may be compressed (.csv.gz, .jsonl.zst).
///
/// Parquet and Arrow: dictionaries of anything but strings are decoded. Columns of bytes are strings if all their
/// values are UTF-8. Other columns of bytes and those of types that SkyRank lacks (lists, structs, times, decimals of
/// more than 38 digits) are left out and become the table's `unsupported()`, bytes only if they are among the columns
/// read. If `options.columns` names one, it is a DataError unless `options.skip_unsupported` is set.
///
/// With `options.folder_root`, folders `key=value` of the files' paths are columns behind the stored ones: int64, dates
/// or strings by all their values; `__HIVE_DEFAULT_PARTITION__` is NULL. A stored column of the same name is a
/// DataError.
///
/// Files are read into memory of this process; one that changes while it is read is a DataError. Pipes are read once,
/// to their end; the first bytes of a pipe or file below /dev whose name has no known extension tell its format and
/// compression, CSV if nothing else. `options.threads` above 1 sets the size of Arrow's thread pool for the whole
/// process.
///
/// DataError: not a file, malformed content, an unknown column; ResourceError: the system refuses to read;
/// TextTooLarge: reading the text would take more than `options.memory_bytes`.
Table read(const std::vector<std::filesystem::path>& files, const ReadOptions& options = {});

/// Returns the table of `read` without its rows. Parquet and Arrow files are not read beyond their metadata.
Table read_schema(const std::vector<std::filesystem::path>& files, const ReadOptions& options = {});

/// Opens files as a source that is read as far as queries need it. Returns nothing if types or columns of the table
/// depend on all values, so that only `read` can. The files stay open, and one that changes later is a DataError as
/// well.
///
/// With `options.block_bytes`, CSV and JSON lines are sources, too, unless they come through a pipe: a first pass finds
/// types, bounds and records, and queries parse the blocks that they need again. Memory holds a few blocks at a time.
/// Compressed text is decompressed into a temporary file.
std::shared_ptr<const Source> open_source(const std::vector<std::filesystem::path>& files,
                                          const ReadOptions& options = {});

/// Reads CSV text in memory as `read` does a file; `name` is its name in messages. The text is not referenced
/// afterwards.
Table read_csv(std::string_view text, const std::string& name, const ReadOptions& options = {});

}  // namespace skyrank::datasets
