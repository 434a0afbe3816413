#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <skyrank/export.hpp>
#include <skyrank/query.hpp>

namespace skyrank {

/// `generate:` of a table in a batch.
struct GeneratorSpec {
  std::string distribution;
  std::int64_t rows = 0;
  int dims = 1;
  std::uint64_t seed = 1;

  bool operator==(const GeneratorSpec&) const = default;
};

/// Where a batch says a table comes from; `datasets/` turns it into a Table.
struct SKYRANK_EXPORT TableSource {
  std::string name;
  std::vector<std::string> files;           ///< paths or globs, as written; relative to the batch file
  bool header = true;                       ///< CSV: the first line holds the column names
  std::vector<std::string> null_spellings;  ///< CSV: besides the empty field; empty means the reader's defaults
  std::optional<GeneratorSpec> generator;   ///< instead of files
  Location location;

  bool operator==(const TableSource& other) const;
};

struct SKYRANK_EXPORT Batch {
  std::vector<TableSource> tables;
  std::vector<Query> queries;
  std::filesystem::path directory;  ///< what relative file names are relative to

  const TableSource& table(std::string_view name) const;  ///< BindError with the nearest name
  const Query& query(std::string_view name) const;        ///< BindError with the nearest name
};

/// Limits on text that strangers wrote.
struct BatchLimits {
  std::size_t max_bytes = std::size_t{16} << 20;
  int max_depth = 64;
  std::size_t max_nodes = 1'000'000;
  std::size_t max_scalar_bytes = std::size_t{1} << 20;
};

/// Parses a YAML batch. QueryError with file, line and column for malformed YAML, unknown or duplicate keys, wrong
/// types and anything beyond `limits`; anchors and aliases are refused.
SKYRANK_EXPORT Batch parse_batch(std::string_view yaml, const std::string& source, const BatchLimits& limits = {});

/// Reads and parses a file; ResourceError when it cannot be read.
SKYRANK_EXPORT Batch read_batch(const std::filesystem::path& file, const BatchLimits& limits = {});

}  // namespace skyrank
