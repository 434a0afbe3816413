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

/// The format of a file by its extension, in any case: .csv, .tsv, .jsonl, .parquet, .arrow, .feather, .ipc;
/// DataError with the known extensions otherwise.
Format format_of(const std::filesystem::path& file);

/// File names for a list of paths and globs (`*`, `?`, `[...]`), relative to `base` unless absolute. Patterns stay in
/// their order, the matches of one pattern are sorted bytewise. A name that exists as written is never read as a glob.
/// DataError at `where` when a pattern matches nothing or a file is named twice.
std::vector<std::filesystem::path> expand_files(const std::vector<std::string>& patterns,
                                                const std::filesystem::path& base, const Location& where = {});

}  // namespace skyrank::datasets
