#include "datasets/input/remote_file.hpp"

#include <arrow/buffer.h>
#include <arrow/filesystem/filesystem.h>
#include <arrow/io/interfaces.h>
#include <arrow/result.h>
#include <arrow/status.h>
#include <arrow/util/config.h>
#include <arrow/util/io_util.h>
#ifdef ARROW_S3
#include <arrow/filesystem/s3fs.h>
#endif
#include <fnmatch.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <new>
#include <string_view>
#include <utility>

#include "datasets/input/input.hpp"
#include "datasets/input/remote_call.hpp"
#include "datasets/input/uri.hpp"

namespace skyrank::datasets {
namespace {

using arrow::fs::FileInfo;
using arrow::fs::FileType;

/// A file system, and a path in it.
struct RemotePath {
  std::shared_ptr<arrow::fs::FileSystem> files;
  std::string path;
};

/// Has the library behind S3 end before the process destroys its statics, some of which are made by the first uses of
/// buckets: what is registered after them runs before. Ending it twice does nothing.
void end_s3_at_exit() {
#ifdef ARROW_S3
  if (std::atexit([] { static_cast<void>(arrow::fs::EnsureS3Finalized()); }) != 0) throw std::bad_alloc();
#endif
}

RemotePath place_of(const std::string& uri, const Location& where) {
  RemotePath place;
  auto files = arrow::fs::FileSystemFromUri(uri, &place.path);
  if (scheme_of(uri) == "s3") end_s3_at_exit();
  if (files.status().IsIOError()) throw ResourceError(uri + ": cannot be reached: " + files.status().message());
  if (!files.ok()) {
    throw DataError("'" + uri + "' cannot be opened: " + files.status().message() +
                        "; files are read from paths, from file:///path, and from s3://bucket/key where Arrow is built "
                        "with S3; what another program fetches can come through a pipe, with '-'",
                    where);
  }
  place.files = *std::move(files);
  return place;
}

[[noreturn]] void refuse(const std::string& uri, const arrow::Status& status, const Location& where) {
  if (is_out_of_memory(status)) throw ResourceError(uri + ": out of memory: " + status.message());
  if (arrow::internal::ErrnoFromStatus(status) == ENOENT) throw DataError("there is no file '" + uri + "'", where);
  throw ResourceError(uri + ": cannot be read: " + status.message());
}

template <class Value>
Value required(arrow::Result<Value> result, const std::string& uri, const Location& where) {
  if (!result.ok()) refuse(uri, result.status(), where);
  return *std::move(result);
}

bool is_hidden(std::string_view name) { return name.starts_with('.') || name.starts_with('_'); }

/// Returns true if a file below a folder, or a folder between them, is hidden.
bool has_hidden_part(std::string_view below) {
  for (std::size_t begin = 0; begin < below.size();) {
    const std::size_t end = std::min(below.find('/', begin), below.size());
    if (is_hidden(below.substr(begin, end - begin))) return true;
    begin = end + 1;
  }
  return false;
}

/// Paths of all files below a folder, relative to it and sorted.
std::vector<std::string> files_below(const RemotePath& place, const std::string& folder, const std::string& uri,
                                     const Location& where) {
  arrow::fs::FileSelector all;
  all.base_dir = folder;
  all.allow_not_found = true;
  all.recursive = true;
  std::vector<std::string> paths;
  const std::string begin = folder.ends_with('/') ? folder : folder + "/";
  for (const FileInfo& info : required(place.files->GetFileInfo(all), uri, where)) {
    if (info.type() == FileType::File && info.path().starts_with(begin))
      paths.push_back(info.path().substr(begin.size()));
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::vector<RemoteName> matches(const RemotePath& place, const std::string& uri, const Location& where) {
  const std::string_view named = without_query(uri);
  // URI and file system spell the folders before the pattern differently.
  const std::size_t uri_folder = named.rfind('/', named.find('*')) + 1;
  const std::size_t folder = place.path.rfind('/', place.path.find('*'));
  if (folder == std::string::npos) throw DataError("'" + uri + "': a pattern needs a folder before it", where);
  const std::string pattern = place.path.substr(folder + 1);
  std::vector<RemoteName> names;
  for (const std::string& path : files_below(place, place.path.substr(0, folder), uri, where)) {
    if (::fnmatch(pattern.c_str(), path.c_str(), FNM_PATHNAME | FNM_PERIOD) != 0) continue;
    names.push_back({std::string(uri.substr(0, uri_folder)) + encode_percent(path) + uri.substr(named.size()), false});
  }
  if (names.empty()) throw DataError("no file matches '" + uri + "'", where);
  return names;
}

}  // namespace

/// Result of opening a file.
struct RemoteFile::Opened {
  RemotePath place;
  std::shared_ptr<arrow::io::RandomAccessFile> file;
  std::int64_t size = 0;
  std::int64_t modified_ns = 0;

  explicit Opened(const std::string& uri) : place(place_of(uri, {})) {
    const FileInfo info = required(place.files->GetFileInfo(place.path), uri, {});
    if (info.type() == FileType::NotFound) throw DataError("there is no file '" + uri + "'");
    if (info.type() == FileType::Directory) throw DataError(uri + ": is a folder; name a file in it, or use a glob");
    file = required(place.files->OpenInputFile(place.path), uri, {});
    size = required(file->GetSize(), uri, {});
    modified_ns = info.mtime().time_since_epoch().count();
  }
};

RemoteFile::RemoteFile(const std::string& uri, const std::stop_token& stop) : uri_(uri) {
  Opened opened = remote_call(uri, stop, [uri] { return Opened(uri); });
  files_ = std::move(opened.place.files);
  path_ = std::move(opened.place.path);
  file_ = std::move(opened.file);
  size_ = opened.size;
  modified_ns_ = opened.modified_ns;
}

arrow::Result<std::shared_ptr<arrow::Buffer>> RemoteFile::read(std::int64_t position, std::int64_t size,
                                                               const std::stop_token& stop) const {
  std::shared_ptr<arrow::Buffer> bytes;
  try {
    const auto read = [file = file_, position, size] { return file->ReadAt(position, size); };
    ARROW_ASSIGN_OR_RAISE(bytes, remote_call(uri_, stop, read));
  } catch (const CancelledError&) {
    return arrow::Status::Cancelled("reading");
  }
  if (bytes->size() == size) return bytes;
  return arrow::Status::IOError("it became shorter");
}

bool RemoteFile::is_unchanged(const std::stop_token& stop) const {
  const auto look = [files = files_, path = path_] { return files->GetFileInfo(path); };
  const FileInfo info = required(remote_call(uri_, stop, look), uri_, {});
  return info.type() == FileType::File && info.size() == size_ &&
         info.mtime().time_since_epoch().count() == modified_ns_;
}

namespace {

std::vector<RemoteName> names_of(const std::string& uri, const Location& where) {
  const RemotePath place = place_of(uri, where);
  if (without_query(uri).find('*') != std::string_view::npos) return matches(place, uri, where);
  const FileInfo info = required(place.files->GetFileInfo(place.path), uri, where);
  if (info.type() == FileType::NotFound) throw DataError("there is no file '" + uri + "'", where);
  if (info.type() != FileType::Directory) return {{uri, false}};
  const std::string_view named = without_query(uri);
  std::vector<RemoteName> names;
  for (const std::string& path : files_below(place, place.path, uri, where)) {
    if (has_hidden_part(path)) continue;
    const std::string slash = named.ends_with('/') ? "" : "/";
    names.push_back({std::string(named) + slash + encode_percent(path) + uri.substr(named.size()), true});
  }
  return names;
}

}  // namespace

std::vector<RemoteName> expand_remote(const std::string& uri, const Location& where) {
  return remote_call(uri, {}, [uri, where] { return names_of(uri, where); });
}

}  // namespace skyrank::datasets
