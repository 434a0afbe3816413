#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <skyrank/error.hpp>

namespace skyrank::datasets {

/// The file formats that SkyRank reads or writes.
enum class Format {
  csv,      ///< comma separated, RFC 4180; read and written
  tsv,      ///< the same with tabs; read only
  jsonl,    ///< one JSON object a line; written only
  parquet,  ///< read and written
  arrow,    ///< Arrow IPC; both the file and the stream form are read, the file form is written
};

/// "csv", "jsonl", ... as `--format` spells them.
std::string_view to_string(Format format);

/// The format that `--format` names; QueryError listing the formats that can be written otherwise.
Format parse_output_format(std::string_view name);

/// Purpose for which a file is opened.
enum class Access { read, write };

/// The format of a file by its extension, in any case: .csv, .tsv, .jsonl, .parquet, .arrow, .feather, .ipc.
std::optional<Format> known_format(const std::filesystem::path& file);

/// The same; DataError listing the extensions that can be read, or those that can be written, where there is none.
Format format_of(const std::filesystem::path& file, Access access = Access::read);

/// File names for a list of paths and globs (`*`, `?`, `[...]`), relative to `base` unless absolute. Patterns stay in
/// their order, the matches of one pattern are sorted bytewise. A name that exists as written is never read as a glob.
/// A folder stands for all files in it and in its folders whose format can be read by their extension, but those whose
/// names begin with '.' or '_' (markers and files under way).
/// DataError at `where` when a pattern matches nothing or a file is named twice.
std::vector<std::filesystem::path> expand_files(const std::vector<std::string>& patterns,
                                                const std::filesystem::path& base, const Location& where = {});

}  // namespace skyrank::datasets
