#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <stop_token>

#include <skyrank/batch.hpp>

#include "datasets/files.hpp"

namespace skyrank::datasets {

struct GenerateFileOptions {
  int threads = 0;               ///< 0: all cores the process may use
  std::size_t memory_bytes = 0;  ///< memory that may be taken; 0: without a limit
  std::function<void(std::uint64_t rows_done, std::uint64_t rows)> progress = {};  ///< from any thread, one at a time
  std::stop_token stop = {};  ///< CancelledError soon after a stop is requested
};

/// Writes the table that generate() makes to a file, which appears complete or not at all (see write()). Two blocks of
/// rows are in memory at a time, one that is made and one that is written. A block has 2^20 rows, which are a row group
/// or a record batch, and half as many, a quarter and so on where memory is too small for them; rows are the same.
///
/// ResourceError where memory is too small for blocks of 1,024 rows; else throws as generate_rows() and write() do.
void generate_file(const GeneratorSpec& spec, const std::filesystem::path& file, Format format,
                   const GenerateFileOptions& options = {});

}  // namespace skyrank::datasets
