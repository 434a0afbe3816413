#include "tools/skyrank/answers/output_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <system_error>

#include "datasets/write/writer.hpp"

namespace skyrank::tools {
namespace {

void create_folder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (std::filesystem::exists(folder) && !std::filesystem::is_directory(folder)) {
    throw UsageError(fmt::format("--out {}: is a file, not a folder", folder.string()));
  }
  if (error) throw ResourceError(fmt::format("{}: {}", folder.string(), error.message()));
}

/// Refuses the suffixes of files that SkyRank does not write, so that a table is not looked for in a folder of that
/// name.
void refuse_other_suffix(const std::filesystem::path& path) {
  constexpr std::array kOthers{".txt", ".json", ".yaml", ".yml", ".xls", ".xlsx", ".ods",
                               ".sql", ".db",   ".avro", ".orc", ".pq",  ".zip",  ".html"};
  const std::string suffix = path.extension().string();
  if (std::ranges::find(kOthers, suffix) == kOthers.end()) return;
  throw UsageError(
      fmt::format("--out {0}: answers are written as .csv, .jsonl, .parquet or .arrow, not as {1}; a folder "
                  "of this name is {0}/",
                  path.string(), suffix));
}

/// Returns the format of a single file at `path`; nothing where the path is that of a folder.
std::optional<datasets::Format> format_of_file(const std::filesystem::path& path) {
  std::error_code ignored;
  if (!path.has_filename() || std::filesystem::is_directory(path, ignored)) return std::nullopt;
  const std::string suffix = path.extension().string();
  if ((suffix == ".gz" || suffix == ".zst") && datasets::known_format(path.stem())) {
    throw UsageError(fmt::format("--out {}: answers are not compressed; name a file such as {}", path.string(),
                                 path.stem().string()));
  }
  refuse_other_suffix(path);
  return datasets::known_format(path);
}

void check_single_file(const RunArguments& arguments, datasets::Format format, std::size_t num_queries) {
  const std::string path = arguments.out.string();
  if (num_queries != 1) {
    throw UsageError(
        fmt::format("--out {} is one file and the batch has {} queries: choose one with --query NAME, or "
                    "name a folder",
                    path, num_queries));
  }
  if (!arguments.format.empty() && arguments.format != datasets::to_string(format)) {
    throw UsageError(fmt::format("--out {} and --format {} are different formats: leave --format out, or name a folder",
                                 path, arguments.format));
  }
}

}  // namespace

OutputFiles::OutputFiles(const RunArguments& arguments, std::size_t num_queries)
    : path_(arguments.out), threads_(arguments.threads) {
  if (arguments.format == "table")
    throw UsageError("--format table is for terminals; with --out, choose csv, jsonl, parquet or arrow");
  const auto format = format_of_file(path_);
  is_file_ = format.has_value();
  if (is_file_) check_single_file(arguments, *format, num_queries);
  const std::string by_default(is_file_ ? datasets::to_string(*format) : "csv");
  format_ = datasets::parse_output_format(arguments.format.empty() ? by_default : arguments.format);
  if (!is_file_) create_folder(path_);
}

std::filesystem::path OutputFiles::write(const Query& query, const Table& answer, const std::stop_token& stop) const {
  auto file = is_file_ ? path_ : path_ / fmt::format("{}.{}", query.name(), datasets::to_string(format_));
  datasets::write(answer, file, format_, {.threads = threads_, .stop = stop});
  return file;
}

}  // namespace skyrank::tools
