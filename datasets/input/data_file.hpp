#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <utility>

#include "datasets/input/input.hpp"
#include "datasets/input/remote_file.hpp"
#include "engine/temporary_file.hpp"

// Files as they are opened: ordinary ones, which others may change at any time, and pipes, which give their bytes once.
namespace skyrank::datasets {

class DataFile;

/// Remembers what pipes gave, texts that were decompressed into temporary files, and what readers found in files. What
/// is opened again, for another table or query of the same run, is read from here.
class PipeCache {
 public:
  /// The content of the pipe, FIFO, or terminal `descriptor`, read to its end unless it was before. Waits for a writer
  /// if there is none yet. DataError for a line without end, ResourceError for more than half of the memory that the
  /// process may use, CancelledError soon after a stop is requested.
  std::shared_ptr<arrow::Buffer> read(int descriptor, const std::string& name, const std::stop_token& stop);

  /// The text of a compressed file; `unpack` decompresses it when it is asked for first.
  std::shared_ptr<DataFile> unpacked(const std::string& name, const std::function<std::shared_ptr<DataFile>()>& unpack);

  /// Returns what the readers of one format found in a file that is read in some form, empty at first. Another version
  /// of a file is another one.
  template <class Findings>
  std::shared_ptr<Findings> findings_in(const DataFile& file, const std::string& form) {
    const std::scoped_lock lock(mutex_);
    auto& findings = findings_[version_of(file) + form];
    if (findings == nullptr) findings = std::make_shared<Findings>();
    return std::static_pointer_cast<Findings>(findings);
  }

  /// Returns true for the first of equal notes.
  bool is_new(const std::string& note) {
    const std::scoped_lock lock(mutex_);
    return notes_.insert(note).second;
  }

 private:
  static std::string version_of(const DataFile& file);

  std::mutex mutex_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::shared_ptr<arrow::Buffer>> contents_;  // by device and inode
  std::map<std::string, std::shared_ptr<DataFile>> texts_;                                      // by name of the file
  std::map<std::string, std::shared_ptr<void>> findings_;
  std::set<std::string> notes_;
};

/// Throws DataError for a file whose content another program changed meanwhile.
[[noreturn]] void refuse_changed(const std::string& name);

/// A file whose content is read into memory of this process, never mapped: another program that cuts it short can
/// neither end the process nor change values that were checked. A change between the first opening and the end of
/// reading is an error, unless the file was replaced as a whole after it was opened last.
class DataFile {
 public:
  /// Opens a path or a URI of a file system of Arrow's. DataError when there is no such file, or when it is a folder, a
  /// socket or a device; ResourceError with the system's reason otherwise.
  DataFile(const std::filesystem::path& path, PipeCache& pipes, std::stop_token stop);
  /// Takes a temporary file with the content of one called `name`. It stays open.
  DataFile(std::string name, std::unique_ptr<exec::TemporaryFile> content, std::stop_token stop);
  ~DataFile();
  DataFile(DataFile&&) noexcept;
  DataFile& operator=(DataFile&&) noexcept;

  const std::string& name() const { return name_; }
  /// Returns true for what can be read only once.
  bool is_pipe() const { return piped_ != nullptr; }
  /// Returns true for a file of a file system of Arrow's, where each read is a request.
  bool is_remote() const { return remote_ != nullptr; }
  /// Size in bytes; of a pipe, of what it gave.
  std::uint64_t size() const;

  /// At most `bytes` bytes from the start.
  std::shared_ptr<arrow::Buffer> prefix(std::int64_t bytes);
  /// All bytes; read with Arrow's thread pool unless `threads` is 1.
  std::shared_ptr<arrow::Buffer> content(int threads);
  /// Bytes on demand; for as long as the file is not closed.
  std::shared_ptr<arrow::io::RandomAccessFile> reader(BytesRead on_read);

  /// Returns a name of the file and its present content.
  std::string version() const;
  /// DataError if the file is no longer what it was when it was opened first.
  void check_unchanged() const;
  /// Lets go of the descriptor; whatever reads next opens the file again.
  void close();

 private:
  class Descriptor;
  class Reader;
  class RemoteReader;
  struct Version;

  void reopen();
  void refuse_other_kinds(unsigned mode, std::uint64_t device) const;
  std::int64_t stored_size() const;

  std::filesystem::path path_;
  std::string name_;
  std::stop_token stop_;
  std::shared_ptr<Descriptor> descriptor_;
  std::unique_ptr<Version> version_;
  std::shared_ptr<arrow::Buffer> piped_;  // content of what cannot be read twice
  std::shared_ptr<RemoteFile> remote_;    // of a URI; stays open
  std::shared_ptr<const exec::TemporaryFile> temporary_;
};

}  // namespace skyrank::datasets
