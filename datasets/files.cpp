#include "datasets/files.hpp"

#include <glob.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <system_error>

#include "engine/text.hpp"

namespace skyrank::datasets {
namespace {

struct Extension {
  std::string_view extension;
  Format format;
};

constexpr std::array<Extension, 7> kExtensions{{{".csv", Format::csv},
                                                {".tsv", Format::tsv},
                                                {".jsonl", Format::jsonl},
                                                {".parquet", Format::parquet},
                                                {".arrow", Format::arrow},
                                                {".feather", Format::arrow},
                                                {".ipc", Format::arrow}}};

constexpr std::array kWritten{Format::csv, Format::jsonl, Format::parquet, Format::arrow};

std::string lower_case(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

std::string escape_glob(const std::string& path) {
  std::string escaped;
  for (const char c : path) {
    if (c == '*' || c == '?' || c == '[' || c == '\\') escaped.push_back('\\');
    escaped.push_back(c);
  }
  return escaped;
}

// Extensions of the formats that can be read, or written, with spaces between.
std::string extensions(Access access) {
  const Format excluded = access == Access::read ? Format::jsonl : Format::tsv;
  std::string list;
  for (const Extension& known : kExtensions) {
    if (known.format != excluded) list += (list.empty() ? "" : " ") + std::string(known.extension);
  }
  return list;
}

std::vector<std::string> matches_of(const std::string& pattern) {
  std::vector<std::string> matches;
  glob_t found{};
  if (::glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found) == 0) {
    matches.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  }
  ::globfree(&found);
  std::sort(matches.begin(), matches.end());
  return matches;
}

bool is_readable(const std::filesystem::path& file) {
  const auto format = known_format(file);
  return format && *format != Format::jsonl;
}

std::vector<std::string> files_below(const std::filesystem::path& folder, const Location& where) {
  namespace fs = std::filesystem;
  std::vector<std::string> files;
  std::error_code error;
  fs::recursive_directory_iterator entry(folder, fs::directory_options::follow_directory_symlink, error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    const bool hidden = name.starts_with('.') || name.starts_with('_');
    std::error_code ignored;
    if (entry->is_directory(ignored)) {
      constexpr int kMaxDepth = 64;  // links can lead in circles
      if (hidden || entry.depth() >= kMaxDepth) entry.disable_recursion_pending();
    } else if (!hidden && is_readable(entry->path())) {
      files.push_back(entry->path().string());
    }
  }
  if (error) throw ResourceError(folder.string() + ": cannot be listed: " + error.message());
  if (files.empty()) {
    throw DataError(
        "the folder '" + folder.string() + "' holds no file that can be read (" + extensions(Access::read) + ")",
        where);
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<std::string> with_folders_expanded(const std::vector<std::string>& matches, const Location& where) {
  std::vector<std::string> files;
  for (const std::string& match : matches) {
    std::error_code ignored;
    if (!std::filesystem::is_directory(match, ignored)) {
      files.push_back(match);
      continue;
    }
    for (std::string& file : files_below(match, where)) files.push_back(std::move(file));
  }
  return files;
}

std::vector<std::string> expand(const std::string& pattern, const std::filesystem::path& base, const Location& where) {
  if (pattern.empty()) throw DataError("a file name is empty", where);
  const std::filesystem::path as_written = base / pattern;
  // Other than "not there", what keeps a file from being looked at is for the reader to find and report.
  std::error_code error;
  if (std::filesystem::exists(as_written, error) || error) {
    return with_folders_expanded({as_written.string()}, where);
  }
  if (pattern.find_first_of("*?[") == std::string::npos) {
    throw DataError("there is no file '" + as_written.string() + "'", where);
  }
  const bool absolute = std::filesystem::path(pattern).is_absolute();
  std::vector<std::string> matches =
      matches_of(absolute || base.empty() ? pattern : escape_glob(base.string()) + "/" + pattern);
  if (matches.empty()) throw DataError("no file matches '" + as_written.string() + "'", where);
  return with_folders_expanded(matches, where);
}

}  // namespace

std::string_view to_string(Format format) {
  switch (format) {
    case Format::csv: return "csv";
    case Format::tsv: return "tsv";
    case Format::jsonl: return "jsonl";
    case Format::parquet: return "parquet";
    case Format::arrow: return "arrow";
  }
  return "?";
}

Format parse_output_format(std::string_view name) {
  for (const Format format : kWritten) {
    if (to_string(format) == name) return format;
  }
  const std::vector<std::string> names = {"csv", "jsonl", "parquet", "arrow"};
  throw QueryError("unknown format '" + std::string(name) + "'" + query::did_you_mean(name, names) +
                   " (formats are csv, jsonl, parquet, arrow)");
}

std::optional<Format> known_format(const std::filesystem::path& file) {
  const std::string extension = lower_case(file.extension().string());
  for (const Extension& known : kExtensions) {
    if (known.extension == extension) return known.format;
  }
  return std::nullopt;
}

Format format_of(const std::filesystem::path& file, Access access) {
  if (const auto format = known_format(file)) return *format;
  throw DataError(file.string() + ": the extension '" + lower_case(file.extension().string()) +
                  "' names no format that can be " + (access == Access::read ? "read" : "written") + "; known are " +
                  extensions(access));
}

std::vector<std::filesystem::path> expand_files(const std::vector<std::string>& patterns,
                                                const std::filesystem::path& base, const Location& where) {
  std::vector<std::filesystem::path> files;
  std::set<std::string> seen;
  for (const std::string& pattern : patterns) {
    for (std::string& match : expand(pattern, base, where)) {
      if (!seen.insert(match).second) throw DataError("the file '" + match + "' is named twice", where);
      files.emplace_back(std::move(match));
    }
  }
  if (files.empty()) throw DataError("no file is named", where);
  return files;
}

}  // namespace skyrank::datasets
