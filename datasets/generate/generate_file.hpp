#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <stop_token>

#include <skyrank/batch.hpp>

#include "datasets/input/files.hpp"

namespace skyrank::datasets {

struct GenerateFileOptions {
  int threads = 0;               ///< 0: all cores the process may use
  std::size_t memory_bytes = 0;  ///< memory that may be taken; 0: without a limit
  std::function<void(std::uint64_t rows_done, std::uint64_t rows)> progress = {};  ///< from any thread, one at a time
  std::stop_token stop = {};  ///< CancelledError soon after a stop is requested
};

/// Writes the table that generate() makes to a file, which appears complete or not at all (see write()). Two blocks of
/// rows are in memory: one is made while the other is written. A block is a row group or a record batch of 2^20 rows,
/// or of 2^19, 2^18, ... rows where memory is too small. The rows do not depend on the size of blocks.
///
/// ResourceError where memory is too small for blocks of 1,024 rows; else throws as generate_rows() and write() do.
void generate_file(const GeneratorSpec& spec, const std::filesystem::path& file, Format format,
                   const GenerateFileOptions& options = {});

}  // namespace skyrank::datasets
