#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <skyrank/error.hpp>
#include <skyrank/types.hpp>

// Files as batches and commands name them: formats, patterns, folders, and stated types of columns.
namespace skyrank::datasets {

/// The file formats that SkyRank reads or writes.
enum class Format {
  csv,      ///< comma separated, RFC 4180; read and written
  tsv,      ///< the same with tabs; read only
  jsonl,    ///< one JSON object a line; read and written
  parquet,  ///< read and written
  arrow,    ///< Arrow IPC; both the file and the stream form are read, the file form is written
};

/// How a file of text is compressed as a whole.
enum class Compression { none, gzip, zstd };

/// "csv", "jsonl", ... as `--format` spells them.
std::string_view to_string(Format format);

/// The format that `--format` names; QueryError listing the formats that can be written otherwise.
Format parse_output_format(std::string_view name);

/// The format that `format:` of a table names; DataError at `where` listing those that can be read otherwise.
Format parse_input_format(std::string_view name, const Location& where = {});

/// The delimiter that `delimiter:` of a table means: one character of ASCII, or `tab` or `\\t`. DataError at `where`
/// for anything else, and for a quote and a line break.
char parse_delimiter(std::string_view text, const Location& where = {});

/// The decimal sign that `decimal:` of a table means, a point or a comma. DataError at `where` for anything else.
char parse_decimal_sign(std::string_view text, const Location& where = {});

/// A type that is stated for a column, rather than inferred from its values.
struct StatedType {
  DataType type;
  bool any_unit = false;  ///< true for timestamps of the first unit that holds all values
  std::string name;       ///< the type as it was stated
};

/// The type that `types:` of a table means for a column, as `describe` spells types; `timestamp` stands for one of any
/// unit. DataError at `where` with the nearest name for anything else.
StatedType parse_column_type(std::string_view name, const std::string& column, const Location& where = {});

/// Names of files, and the format that they begin with.
struct NamesWithFormat {
  std::vector<std::string> names;
  std::optional<Format> format;
};

/// Takes the format off names such as `csv:-` or `jsonl:part-*`, as long as there is no file `base`/`csv:-`. DataError
/// at `where` where some names begin with one format, and others with none or another.
NamesWithFormat split_formats(const std::vector<std::string>& names, const std::filesystem::path& base,
                              const Location& where = {});

/// Purpose for which a file is opened.
enum class Access { read, write };

/// The compression of a file by its last extension, in any case: .gz or .zst.
Compression compression_of(const std::filesystem::path& file);

/// The format of a file by its extension, in any case: .csv, .tsv, .jsonl, .ndjson, .parquet, .arrow, .feather, .ipc;
/// of text also before the extension of a compression (.csv.gz).
std::optional<Format> known_format(const std::filesystem::path& file);

/// The same; DataError listing the extensions that can be read, or those that can be written, where there is none.
Format format_of(const std::filesystem::path& file, Access access = Access::read);

/// Returns true for a name that is a URI, such as file:///path, rather than a path.
bool is_uri(std::string_view name);

/// Returns "; did you mean 'data/hotels.csv'?" for the end of a message about a file that does not exist: the file of
/// its folder whose name is near, or that differs in the extension alone. Tells where a link leads that has this name.
/// Empty if there is none, or it is not sure.
std::string did_you_mean_file(const std::filesystem::path& missing);

/// Files that a folder stands for.
enum class FolderFiles { of_known_formats, all };

/// File names for a list of paths and globs (`*`, `?`, `[...]`), relative to `base` unless absolute. Patterns stay in
/// their order, the matches of one pattern are sorted bytewise. A name that exists as written is never read as a glob.
/// A folder stands for all files in it and in its folders whose format can be read by their extension, or for all files
/// if `folders` says so, but those whose names begin with '.' or '_' (markers and files under way). `-` is the standard
/// input, a URI `file:///path` names that path, and other URIs name files, folders and patterns with `*` of the file
/// systems that Arrow is built with (s3://bucket/key).
/// DataError at `where` when a pattern matches nothing, a file is named twice, or Arrow has no such file system.
std::vector<std::filesystem::path> expand_files(const std::vector<std::string>& patterns,
                                                const std::filesystem::path& base, const Location& where = {},
                                                FolderFiles folders = FolderFiles::of_known_formats);

}  // namespace skyrank::datasets
