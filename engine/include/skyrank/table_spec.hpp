#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <skyrank/error.hpp>
#include <skyrank/export.hpp>

// Declares tables as a batch states them: files with the options to read them, or a generator.
namespace skyrank {
inline namespace v0 {

/// The form of a table's CSV files; files of other formats have no use for it.
struct CsvSpec {
  std::optional<bool> header;               ///< true if the first line holds the column names; nothing: recognised
  std::string delimiter;                    ///< one character of ASCII, or `tab`; empty means recognised
  std::string decimal;                      ///< decimal sign of numbers, `.` or `,`; empty means recognised
  std::optional<std::int64_t> skip;         ///< lines before the header; nothing means recognised
  std::string comment;                      ///< beginning of lines that are no records, such as `#`; empty: none are
  std::vector<std::string> null_spellings;  ///< besides the empty field; empty means NULL, null, NA and N/A

  bool operator==(const CsvSpec&) const = default;
};

/// A table of generated rows.
struct GeneratorSpec {
  std::string distribution;  ///< a name that `skyrank generate --list` prints
  std::int64_t rows = 0;     ///< number of rows, >= 0
  int dims = 1;              ///< number of columns, >= 1
  std::uint64_t seed = 1;    ///< equal seeds give equal tables

  bool operator==(const GeneratorSpec&) const = default;
};

/// The description of a table: its name, and the files or the generator that it comes from. The library only reads and
/// prints it; an application decides how it becomes a Table or a Source, as the command line does.
struct SKYRANK_EXPORT TableSpec {
  std::string name;                ///< name of the table
  std::vector<std::string> files;  ///< paths or globs, as written; relative to the batch file
  std::string format;              ///< format of the files, such as `csv`; empty means by their extensions
  CsvSpec csv;                     ///< form of CSV files
  std::string encoding;            ///< encoding of text, such as `utf-16` or `windows-1252`; empty: recognised
  std::string records;             ///< JSON: path of the records, such as `data.items`; empty: recognised
  bool flatten = false;            ///< JSON: members of objects are columns, such as `address.city`
  std::map<std::string, std::string> types;  ///< types of columns that are stated, such as `date` or `decimal(12,2)`
  std::optional<GeneratorSpec> generator;    ///< instead of files
  Location location;                         ///< place of the name in the batch; not compared

  /// Returns true if the descriptions are equal, whatever their places.
  bool operator==(const TableSpec& other) const;
};

/// The former name of TableSpec; its `header`, `delimiter` and `null_spellings` are members of `csv`.
using TableSource [[deprecated("use TableSpec")]] = TableSpec;

}  // namespace v0
}  // namespace skyrank
