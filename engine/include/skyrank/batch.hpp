#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <skyrank/error.hpp>
#include <skyrank/export.hpp>
#include <skyrank/query.hpp>
#include <skyrank/table_spec.hpp>

// Reads batches: tables and queries over them in one YAML file (engine/docs/query-language.md).
namespace skyrank {
inline namespace v0 {

/// Tables and queries over them, as a YAML file states them.
struct SKYRANK_EXPORT Batch {
  std::vector<TableSpec> tables;    ///< in the order of the file
  std::vector<Query> queries;       ///< in the order of the file
  std::filesystem::path directory;  ///< folder that relative file names start from
  std::vector<int> devices = {};    ///< GPUs to use, by their numbers, for EngineOptions::devices; empty: not said

  const TableSpec& table(std::string_view name) const;  ///< BindError with the nearest name
  const Query& query(std::string_view name) const;      ///< BindError with the nearest name
};

/// Limits on text that strangers wrote.
struct BatchLimits {
  std::size_t max_bytes = std::size_t{16} << 20;        ///< bytes of the whole text
  int max_depth = 100;                                  ///< levels of nested lists and maps
  std::size_t max_nodes = 1'000'000;                    ///< scalars, lists and maps in all
  std::size_t max_scalar_bytes = std::size_t{1} << 20;  ///< bytes of one scalar
};

/// Parses a YAML batch. QueryError with file, line and column for malformed YAML, unknown or duplicate keys, wrong
/// types and anything beyond `limits`; anchors and aliases are refused.
SKYRANK_EXPORT Batch parse_batch(std::string_view yaml, const std::string& source, const BatchLimits& limits = {});

/// The same for what there is no mistake in; all mistakes are added to `mistakes`, by their places.
SKYRANK_EXPORT Batch parse_batch(std::string_view yaml, const std::string& source, const BatchLimits& limits,
                                 std::vector<QueryError>& mistakes);

/// Reads and parses a file; ResourceError when it cannot be read.
SKYRANK_EXPORT Batch read_batch(const std::filesystem::path& file, const BatchLimits& limits = {});

/// The same for what there is no mistake in, as above.
SKYRANK_EXPORT Batch read_batch(const std::filesystem::path& file, const BatchLimits& limits,
                                std::vector<QueryError>& mistakes);

}  // namespace v0
}  // namespace skyrank
