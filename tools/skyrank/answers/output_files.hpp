#pragma once

#include <filesystem>
#include <stop_token>

#include <skyrank/query.hpp>
#include <skyrank/table.hpp>

#include "datasets/input/files.hpp"
#include "tools/skyrank/commands.hpp"

namespace skyrank::tools {

/// The files that `--out` and `--format` ask for: one file where a single query is answered and the path ends in the
/// suffix of a format, else a folder with a file for each query.
class OutputFiles {
 public:
  /// Makes the folder where it is missing. UsageError for arguments that contradict each other, QueryError for an
  /// unknown format, ResourceError where the folder cannot be made.
  OutputFiles(const RunArguments& arguments, std::size_t num_queries);

  /// Writes an answer whole or not at all, and returns its file. ResourceError, CancelledError.
  std::filesystem::path write(const Query& query, const Table& answer, const std::stop_token& stop) const;

 private:
  std::filesystem::path path_;
  bool is_file_;
  datasets::Format format_;
  int threads_;
};

}  // namespace skyrank::tools
