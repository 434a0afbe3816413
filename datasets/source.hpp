#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <skyrank/batch.hpp>
#include <skyrank/source.hpp>
#include <skyrank/table.hpp>

#include "datasets/reader.hpp"

// Tables and sources as batches name them: files, or generated rows.
namespace skyrank::datasets {

struct LoadOptions {
  std::optional<std::vector<std::string>> columns;  ///< read only these, in this order; nothing means all
  /// See ReadOptions.
  std::function<std::vector<std::string>(const std::vector<std::string>& names)> choose_columns = {};
  bool skip_unsupported = false;                         ///< leave those of `columns` that cannot be read out
  int threads = 0;                                       ///< 0: all cores the process may use
  std::int64_t block_bytes = 0;                          ///< see ReadOptions
  std::size_t memory_bytes = 0;                          ///< see ReadOptions
  std::function<void(const std::string&)> on_note = {};  ///< see ReadOptions
  Progress progress;
  std::stop_token stop = {};         ///< CancelledError soon after a stop is requested
  std::shared_ptr<PipeCache> pipes;  ///< shared by calls that load several tables; null: one for this call
};

/// Reads the files of a batch's table, which are relative to `base`, or runs its generator. Throws as `read`,
/// `expand_files` and `generate` do.
Table load(const TableSpec& spec, const std::filesystem::path& base, const LoadOptions& options = {});

/// Opens the same table as a source that is read as far as queries need it; returns nothing where only `load` can.
std::shared_ptr<const Source> open_source(const TableSpec& spec, const std::filesystem::path& base,
                                          const LoadOptions& options = {});

/// Opens the table as a source where it can be one, else loads it; text that is too large for that is read in blocks.
std::shared_ptr<const Source> open_or_load(const TableSpec& spec, const std::filesystem::path& base,
                                           const LoadOptions& options = {});

/// Returns the table's column names, without reading or generating rows.
ColumnNames column_names(const TableSpec& spec, const std::filesystem::path& base, const LoadOptions& options = {});

/// Returns the table without its rows, for binding queries. Reads CSV files, as their types depend on all values, but
/// only the metadata of Parquet and Arrow files.
Table load_schema(const TableSpec& spec, const std::filesystem::path& base, const LoadOptions& options = {});

}  // namespace skyrank::datasets
