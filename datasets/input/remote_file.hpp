#pragma once

#include <arrow/io/type_fwd.h>
#include <arrow/type_fwd.h>

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include <skyrank/error.hpp>

namespace arrow::fs {
class FileSystem;
}

// Files of file systems that Arrow reads by their URIs, such as `s3://bucket/key`. The build of Arrow decides which
// there are.
namespace skyrank::datasets {

/// A file that stays open. Reading from several threads at once is safe.
class RemoteFile {
 public:
  /// DataError where there is no such file or Arrow has no such file system, ResourceError where it cannot be reached.
  /// CancelledError soon after a stop is requested, also while the other machine does not answer.
  RemoteFile(const std::string& uri, const std::stop_token& stop);

  std::int64_t size() const { return size_; }
  /// Reads [position, position + size), all of it in the file.
  arrow::Result<std::shared_ptr<arrow::Buffer>> read(std::int64_t position, std::int64_t size,
                                                     const std::stop_token& stop) const;
  /// Returns true if the file has the size and the time of its last change that it had when it was opened.
  bool is_unchanged(const std::stop_token& stop) const;

 private:
  struct Opened;

  std::string uri_;
  std::shared_ptr<arrow::fs::FileSystem> files_;
  std::string path_;  // within the file system
  std::shared_ptr<arrow::io::RandomAccessFile> file_;
  std::int64_t size_ = 0;
  std::int64_t modified_ns_ = 0;
};

/// A file that a URI stands for.
struct RemoteName {
  std::string uri;
  bool in_folder = false;  ///< found in a folder that was named, rather than named itself
};

/// Returns the files that a URI names, sorted bytewise: one file; all that match a `*`; or all below a folder, but
/// those whose names begin with '.' or '_'. DataError at `where` where there is none, and as RemoteFile; a stop is that
/// of this thread's query.
std::vector<RemoteName> expand_remote(const std::string& uri, const Location& where);

}  // namespace skyrank::datasets
