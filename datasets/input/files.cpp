#include "datasets/input/files.hpp"

#include <glob.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <new>
#include <set>
#include <system_error>
#include <utility>

#include "datasets/input/remote_file.hpp"
#include "datasets/input/uri.hpp"
#include "engine/text.hpp"

namespace skyrank::datasets {
namespace {

struct Extension {
  std::string_view extension;
  Format format;
};

constexpr std::array<Extension, 9> kExtensions{{{".csv", Format::csv},
                                                {".tsv", Format::tsv},
                                                {".jsonl", Format::jsonl},
                                                {".ndjson", Format::jsonl},
                                                {".json", Format::jsonl},
                                                {".parquet", Format::parquet},
                                                {".arrow", Format::arrow},
                                                {".feather", Format::arrow},
                                                {".ipc", Format::arrow}}};

/// Extension of documents, whose records may be an array.
constexpr std::string_view kDocument = ".json";

constexpr std::array kRead{Format::csv, Format::tsv, Format::jsonl, Format::parquet, Format::arrow};
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
  std::string list;
  for (const Extension& known : kExtensions) {
    if (access == Access::write && (known.format == Format::tsv || known.extension == kDocument)) continue;
    list += (list.empty() ? "" : " ") + std::string(known.extension);
  }
  return access == Access::read ? list + "; text also compressed: .csv.gz .csv.zst" : list;
}

/// A path, or a URI without its query: what has an extension.
std::filesystem::path name_of(const std::filesystem::path& file) {
  return is_remote(file.native()) ? std::filesystem::path(without_query(file.native())) : file;
}

bool is_text(Format format) { return format == Format::csv || format == Format::tsv || format == Format::jsonl; }

/// The files that a search found.
struct Matches {
  glob_t list{};

  Matches() = default;
  ~Matches() { ::globfree(&list); }
  Matches(const Matches&) = delete;
  Matches& operator=(const Matches&) = delete;
};

/// Ends a search where the system lacks something; folders that may not be read hold no match.
int ends_search(const char* /*folder*/, int error) {
  return error == ENOMEM || error == EMFILE || error == ENFILE || error == EIO ? 1 : 0;
}

/// Throws std::bad_alloc, and DataError where the system cannot look through folders.
std::vector<std::string> matches_of(const std::string& pattern, const Location& where) {
  Matches found;
  errno = 0;
  const int status = ::glob(pattern.c_str(), GLOB_NOSORT, &ends_search, &found.list);
  if (status == GLOB_NOSPACE || (status == GLOB_ABORTED && errno == ENOMEM)) throw std::bad_alloc();
  if (status == GLOB_ABORTED) {
    throw DataError("cannot look for files like '" + pattern + "': " + std::generic_category().message(errno), where);
  }
  std::vector<std::string> matches(found.list.gl_pathv, found.list.gl_pathv + found.list.gl_pathc);
  std::sort(matches.begin(), matches.end());
  return matches;
}

[[noreturn]] void refuse_empty_folder(const std::string& folder, const Location& where) {
  throw DataError("the folder '" + folder + "' holds no file that can be read (" + extensions(Access::read) + ")",
                  where);
}

/// Leaves out documents beside other data of a folder: they rather describe it. DataError for a folder without files.
std::vector<std::string> without_documents(std::vector<std::string> files, const std::string& folder,
                                           const Location& where, FolderFiles folders) {
  if (files.empty()) refuse_empty_folder(folder, where);
  const auto is_document = [](const std::string& file) {
    return lower_case(name_of(file).extension().string()) == kDocument;
  };
  if (folders == FolderFiles::all || std::ranges::all_of(files, is_document)) return files;
  std::erase_if(files, is_document);
  return files;
}

/// Identity of a folder, whichever path leads to it.
using FolderId = std::pair<dev_t, ino_t>;

FolderId id_of(const std::filesystem::path& folder) {
  struct stat status {};
  if (::stat(folder.c_str(), &status) != 0) return {};
  return {status.st_dev, status.st_ino};
}

/// Returns the files below a folder, sorted. Links to folders are followed, but not back to a folder around them.
std::vector<std::string> files_below(const std::filesystem::path& folder, const Location& where, FolderFiles folders) {
  namespace fs = std::filesystem;
  std::vector<std::string> files;
  std::vector<FolderId> around = {id_of(folder)};  // the folders around an entry, from the outermost
  std::error_code error;
  fs::recursive_directory_iterator entry(folder, fs::directory_options::follow_directory_symlink, error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    const bool hidden = name.starts_with('.') || name.starts_with('_');
    std::error_code ignored;
    if (entry->is_directory(ignored)) {
      around.resize(static_cast<std::size_t>(entry.depth()) + 1);
      const FolderId id = id_of(entry->path());
      if (hidden || std::ranges::find(around, id) != around.end()) entry.disable_recursion_pending();
      around.push_back(id);
    } else if (!hidden && (folders == FolderFiles::all || known_format(entry->path()))) {
      files.push_back(entry->path().string());
    }
  }
  if (error) throw ResourceError(folder.string() + ": cannot be listed: " + error.message());
  std::sort(files.begin(), files.end());
  return without_documents(std::move(files), folder.string(), where, folders);
}

std::vector<std::string> with_folders_expanded(const std::vector<std::string>& matches, const Location& where,
                                               FolderFiles folders) {
  std::vector<std::string> files;
  for (const std::string& match : matches) {
    std::error_code ignored;
    if (!std::filesystem::is_directory(match, ignored)) {
      files.push_back(match);
      continue;
    }
    for (std::string& file : files_below(match, where, folders)) files.push_back(std::move(file));
  }
  return files;
}

/// The path that a URI of the scheme `file` names.
std::string path_of_uri(const std::string& uri, const Location& where) {
  std::string path = uri.substr(uri.find(':') + 1);
  for (const std::string_view host : {"//localhost/", "///"}) {
    if (path.starts_with(host)) path.erase(0, host.size() - 1);
  }
  if (path.starts_with('/') && !path.starts_with("//")) return decode_percent(path);
  throw DataError("'" + uri + "' names no absolute path; write file:///path/to/file, or the path alone", where);
}

/// Files of another machine. Of a folder, only those whose format is known.
std::vector<std::string> remote_files(const std::string& uri, const Location& where, FolderFiles folders) {
  std::vector<std::string> files;
  for (RemoteName& name : expand_remote(uri, where)) {
    if (name.in_folder && folders != FolderFiles::all && !known_format(name.uri)) continue;
    files.push_back(std::move(name.uri));
  }
  return without_documents(std::move(files), uri, where, folders);
}

/// The format that a name such as `csv:-` begins with.
std::optional<Format> format_before(const std::string& name, const std::filesystem::path& base) {
  for (const Format format : kRead) {
    if (!name.starts_with(std::string(to_string(format)) + ":")) continue;
    std::error_code ignored;
    if (!std::filesystem::exists(base / name, ignored)) return format;
  }
  return std::nullopt;
}

std::vector<std::string> expand(const std::string& name, const std::filesystem::path& base, const Location& where,
                                FolderFiles folders) {
  if (name.empty()) throw DataError("a file name is empty", where);
  if (name == "-") return {"/dev/stdin"};
  // Errors other than "not found" are left to the reader, which reports them.
  std::error_code error;
  if (std::filesystem::exists(base / name, error) || error) {
    return with_folders_expanded({(base / name).string()}, where, folders);
  }
  if (is_remote(name)) return remote_files(name, where, folders);
  if (!scheme_of(name).empty()) return expand(path_of_uri(name, where), base, where, folders);
  const std::filesystem::path as_written = base / name;
  if (name.find_first_of("*?[") == std::string::npos) {
    throw DataError("there is no file '" + as_written.string() + "'" + did_you_mean_file(as_written), where);
  }
  const bool absolute = std::filesystem::path(name).is_absolute();
  std::vector<std::string> matches =
      matches_of(absolute || base.empty() ? name : escape_glob(base.string()) + "/" + name, where);
  if (matches.empty()) throw DataError("no file matches '" + as_written.string() + "'", where);
  return with_folders_expanded(matches, where, folders);
}

/// The type that a text such as decimal(12,2) names.
std::optional<DataType> decimal_type(std::string_view name) {
  constexpr std::string_view kBegin = "decimal(";
  const std::size_t comma = name.find(',');
  if (!name.starts_with(kBegin) || !name.ends_with(')') || comma == std::string_view::npos) return std::nullopt;
  const auto number = [](std::string_view text) {
    while (text.starts_with(' ')) text.remove_prefix(1);
    int value = -1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc{} && end == text.data() + text.size() ? value : -1;
  };
  const int digits = number(name.substr(kBegin.size(), comma - kBegin.size()));
  const int decimals = number(name.substr(comma + 1, name.size() - comma - 2));
  if (digits < 1 || digits > kMaxDigits128 || decimals < 0 || decimals > digits) return std::nullopt;
  return DataType::decimal(digits, decimals);
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

Format parse_input_format(std::string_view name, const Location& where) {
  std::vector<std::string> names;
  for (const Format format : kRead) {
    if (to_string(format) == name) return format;
    names.emplace_back(to_string(format));
  }
  throw DataError("unknown format '" + std::string(name) + "'" + query::did_you_mean(name, names) +
                      " (formats are csv, tsv, jsonl, parquet, arrow)",
                  where);
}

bool is_uri(std::string_view name) { return !scheme_of(name).empty(); }

char parse_delimiter(std::string_view text, const Location& where) {
  if (text == "tab" || text == "\\t") return '\t';
  const bool is_usable = text.size() == 1 && static_cast<unsigned char>(text[0]) < 0x80 && text[0] != '"' &&
                         text[0] != '\n' && text[0] != '\r' && text[0] != '\0';
  if (is_usable) return text[0];
  throw DataError(
      "a delimiter is one character of ASCII other than a quote and a line break, such as ';', or 'tab'; "
      "found '" +
          std::string(text) + "'",
      where);
}

char parse_decimal_sign(std::string_view text, const Location& where) {
  if (text == "." || text == ",") return text[0];
  throw DataError("a decimal sign is '.' or ','; found '" + std::string(text) + "'", where);
}

StatedType parse_column_type(std::string_view name, const std::string& column, const Location& where) {
  static const std::vector<DataType> kTypes = {Type::boolean,
                                               Type::int8,
                                               Type::int16,
                                               Type::int32,
                                               Type::int64,
                                               Type::uint8,
                                               Type::uint16,
                                               Type::uint32,
                                               Type::uint64,
                                               Type::float32,
                                               Type::float64,
                                               Type::date,
                                               {Type::timestamp, TimeUnit::second},
                                               {Type::timestamp, TimeUnit::millisecond},
                                               {Type::timestamp, TimeUnit::microsecond},
                                               {Type::timestamp, TimeUnit::nanosecond},
                                               Type::string};
  if (name == "timestamp") return {Type::timestamp, true, "timestamp"};
  if (const auto decimal = decimal_type(name)) return {*decimal, false, to_string(*decimal)};
  std::vector<std::string> names = {"timestamp"};
  for (const DataType& type : kTypes) {
    names.push_back(to_string(type));
    if (names.back() == name) return {type, false, names.back()};
  }
  throw DataError("column '" + column + "': unknown type '" + std::string(name) + "'" +
                      query::did_you_mean(name, names) +
                      " (types are bool, int8 to int64, uint8 to uint64, float32, float64, decimal(p,s), date, "
                      "timestamp and string)",
                  where);
}

NamesWithFormat split_formats(const std::vector<std::string>& names, const std::filesystem::path& base,
                              const Location& where) {
  NamesWithFormat split;
  for (const std::string& name : names) {
    const std::optional<Format> format = format_before(name, base);
    if (&name != &names.front() && format != split.format) {
      throw DataError("'" + name + "' and '" + names.front() +
                          "' are of different formats by their names; all files that begin with a format need the same",
                      where);
    }
    split.format = format;
    split.names.push_back(format ? name.substr(name.find(':') + 1) : name);
  }
  return split;
}

Compression compression_of(const std::filesystem::path& file) {
  const std::string extension = lower_case(name_of(file).extension().string());
  if (extension == ".gz") return Compression::gzip;
  return extension == ".zst" ? Compression::zstd : Compression::none;
}

std::optional<Format> known_format(const std::filesystem::path& file) {
  const bool compressed = compression_of(file) != Compression::none;
  const std::filesystem::path name = name_of(file);
  const std::string extension = lower_case((compressed ? name.stem() : name).extension().string());
  for (const Extension& known : kExtensions) {
    if (known.extension == extension && (!compressed || is_text(known.format))) return known.format;
  }
  return std::nullopt;
}

Format format_of(const std::filesystem::path& file, Access access) {
  const std::string extension = lower_case(name_of(file).extension().string());
  const bool may_be_compressed = access == Access::read || compression_of(file) == Compression::none;
  const bool may_be_document = access == Access::read || extension != kDocument;
  if (const auto format = known_format(file); format && may_be_compressed && may_be_document) return *format;
  throw DataError(file.string() + ": the extension '" + extension + "' names no format that can be " +
                  (access == Access::read ? "read" : "written") + "; known are " + extensions(access));
}

std::string did_you_mean_file(const std::filesystem::path& missing) {
  constexpr int kMaxEntries = 1'000;
  std::error_code no_link;
  if (const std::filesystem::path target = std::filesystem::read_symlink(missing, no_link); !no_link) {
    return "; the link of this name leads to '" + target.string() + "', which does not exist";
  }
  const std::filesystem::path folder = missing.has_parent_path() ? missing.parent_path() : ".";
  std::vector<std::string> names;
  std::vector<std::string> stems;  // of files with the same extension, which would make unlike names look alike
  std::error_code ignored;
  std::filesystem::directory_iterator entry(folder, ignored);
  for (int i = 0; i < kMaxEntries && entry != std::filesystem::directory_iterator(); ++i, entry.increment(ignored)) {
    const std::filesystem::path name = entry->path().filename();
    if (name.stem() == missing.stem()) names.push_back(name.string());
    if (name.extension() == missing.extension()) stems.push_back(name.stem().string());
  }
  std::string nearest = query::nearest_name(missing.stem().string(), stems);
  if (!nearest.empty()) nearest += missing.extension().string();
  if (nearest.empty() && names.size() == 1) nearest = names.front();
  return nearest.empty() ? "" : "; did you mean '" + (missing.parent_path() / nearest).string() + "'?";
}

std::vector<std::filesystem::path> expand_files(const std::vector<std::string>& patterns,
                                                const std::filesystem::path& base, const Location& where,
                                                FolderFiles folders) {
  std::vector<std::filesystem::path> files;
  std::set<std::string> seen;
  for (const std::string& pattern : patterns) {
    for (std::string& match : expand(pattern, base, where, folders)) {
      if (!seen.insert(match).second) throw DataError("the file '" + match + "' is named twice", where);
      files.emplace_back(std::move(match));
    }
  }
  if (files.empty()) throw DataError("no file is named", where);
  return files;
}

}  // namespace skyrank::datasets
