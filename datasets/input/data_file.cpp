#include "datasets/input/data_file.hpp"

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>
#include <arrow/memory_pool.h>
#include <arrow/result.h>
#include <arrow/status.h>
#include <arrow/util/io_util.h>
#include <arrow/util/parallel.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <skyrank/error.hpp>
#include <string_view>

#include "datasets/input/random_access.hpp"
#include "datasets/input/uri.hpp"
#include "engine/machine_memory.hpp"
#include "engine/stop.hpp"

namespace skyrank::datasets {
namespace {

// Bytes between two looks at the stop token, and the unit in which threads share a file.
constexpr std::int64_t kChunk = std::int64_t{8} << 20;

[[noreturn]] void refuse(const std::string& name, int error) {
  const std::string message = name + ": cannot be read: " + std::strerror(error);
  if (error == ENOENT || error == ENOTDIR || error == ENAMETOOLONG) throw DataError(message);
  throw ResourceError(message);
}

// Formats that say on their first bytes what they are; all else is text.
bool starts_as_binary(std::string_view text) {
  return text.starts_with("PAR1") || text.starts_with("ARROW1") || text.starts_with("\xFF\xFF\xFF\xFF");
}

/// Content of a pipe, block by block.
class PipeContent {
 public:
  PipeContent(int descriptor, const std::string& name, const std::stop_token& stop)
      : descriptor_(descriptor), name_(name), stop_(stop) {}

  std::shared_ptr<arrow::Buffer> read() {
    auto buffer = arrow::AllocateResizableBuffer(0);
    check(buffer.status(), name_, "memory");
    buffer_ = *std::move(buffer);
    while (wait() && append()) {
    }
    check(buffer_->Resize(used_), name_, "memory");
    return buffer_;
  }

 private:
  static constexpr int kPollMilliseconds = 50;
  static constexpr std::int64_t kRead = std::int64_t{1} << 20;
  static constexpr std::int64_t kLongestLine = std::int64_t{1} << 30;

  /// Waits for bytes; false at the end.
  bool wait() const {
    for (;;) {
      if (exec::is_stopped(stop_)) throw CancelledError("reading " + name_ + " was cancelled");
      pollfd ready{descriptor_, POLLIN, 0};
      const int n = ::poll(&ready, 1, kPollMilliseconds);
      if (n < 0 && errno != EINTR) refuse(name_, errno);
      if (n <= 0) continue;
      // Without a writer, but with bytes left, both are set.
      return (ready.revents & (POLLIN | POLLERR)) != 0;
    }
  }

  /// Appends what is there; false at the end.
  bool append() {
    if (used_ + kRead > buffer_->capacity()) grow();
    const ssize_t n = ::read(descriptor_, buffer_->mutable_data() + used_, static_cast<std::size_t>(kRead));
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return true;
    if (n < 0) refuse(name_, errno);
    const std::string_view bytes(reinterpret_cast<const char*>(buffer_->data()) + used_, static_cast<std::size_t>(n));
    used_ += n;
    refuse_endless_line(bytes);
    return n > 0;
  }

  void grow() {
    const std::int64_t wanted = std::max(2 * buffer_->capacity(), 2 * kRead);
    if (static_cast<std::size_t>(used_) > exec::machine_memory() / 2) {
      throw ResourceError(name_ + ": has given " + std::to_string(used_ >> 20) +
                          " MiB and not ended; what comes through a pipe must fit half of the memory that the process "
                          "may use");
    }
    check(buffer_->Resize(wanted, false), name_, "memory for what the pipe gives");
  }

  void refuse_endless_line(std::string_view bytes) {
    const std::size_t end = bytes.find_last_of("\r\n");
    line_ = end == std::string_view::npos ? line_ + static_cast<std::int64_t>(bytes.size())
                                          : static_cast<std::int64_t>(bytes.size() - end);
    if (line_ <= kLongestLine || starts_as_binary(std::string_view(*buffer_))) return;
    throw DataError("a line is longer than 1 GiB", {name_, 0, 0});
  }

  int descriptor_;
  const std::string& name_;
  const std::stop_token& stop_;
  std::shared_ptr<arrow::ResizableBuffer> buffer_;
  std::int64_t used_ = 0;
  std::int64_t line_ = 0;  // bytes since the last line break
};

/// Reads [position, position + size) in full; false if the file ends before.
arrow::Result<bool> read_range(int descriptor, std::int64_t position, std::int64_t size, std::uint8_t* out,
                               const std::stop_token& stop) {
  while (size > 0) {
    if (exec::is_stopped(stop)) return arrow::Status::Cancelled("reading");
    const ssize_t n = ::pread(descriptor, out, static_cast<std::size_t>(std::min(size, kChunk)), position);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return arrow::internal::IOErrorFromErrno(errno, "cannot be read");
    if (n == 0) return false;
    position += n;
    size -= n;
    out += n;
  }
  return true;
}

}  // namespace

class DataFile::Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  /// A temporary file's, which that one closes.
  explicit Descriptor(std::shared_ptr<const exec::TemporaryFile> owner)
      : owner_(std::move(owner)), fd_(owner_->descriptor()) {}
  ~Descriptor() {
    if (owner_ == nullptr) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  std::shared_ptr<const exec::TemporaryFile> owner_;
  int fd_;
};

/// Tells one content of a file from another.
struct DataFile::Version {
  dev_t device = 0;
  ino_t inode = 0;
  std::int64_t size = 0;
  std::int64_t modified_s = 0;
  std::int64_t modified_ns = 0;

  explicit Version(const struct stat& status)
      : device(status.st_dev),
        inode(status.st_ino),
        size(status.st_size),
        modified_s(status.st_mtim.tv_sec),
        modified_ns(status.st_mtim.tv_nsec) {}
  bool operator==(const Version&) const = default;
};

class DataFile::Reader final : public RandomAccess {
 public:
  Reader(std::shared_ptr<Descriptor> descriptor, std::int64_t size, std::stop_token stop, BytesRead on_read)
      : RandomAccess(size, std::move(on_read)), descriptor_(std::move(descriptor)), stop_(std::move(stop)) {}

 private:
  arrow::Result<std::shared_ptr<arrow::Buffer>> range(std::int64_t position, std::int64_t size) override {
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> buffer, arrow::AllocateBuffer(size));
    ARROW_RETURN_NOT_OK(copy_range(position, size, buffer->mutable_data()));
    return buffer;
  }
  arrow::Status copy_range(std::int64_t position, std::int64_t size, void* out) override {
    ARROW_ASSIGN_OR_RAISE(const bool complete,
                          read_range(descriptor_->get(), position, size, static_cast<std::uint8_t*>(out), stop_));
    return complete ? arrow::Status::OK() : arrow::Status::IOError("it became shorter");
  }

  std::shared_ptr<Descriptor> descriptor_;
  std::stop_token stop_;
};

class DataFile::RemoteReader final : public RandomAccess {
 public:
  RemoteReader(std::shared_ptr<RemoteFile> file, std::stop_token stop, BytesRead on_read)
      : RandomAccess(file->size(), std::move(on_read)), file_(std::move(file)), stop_(std::move(stop)) {}

 private:
  arrow::Result<std::shared_ptr<arrow::Buffer>> range(std::int64_t position, std::int64_t size) override {
    if (exec::is_stopped(stop_)) return arrow::Status::Cancelled("reading");
    return file_->read(position, size, stop_);
  }
  arrow::Status copy_range(std::int64_t position, std::int64_t size, void* out) override {
    ARROW_ASSIGN_OR_RAISE(const auto bytes, range(position, size));
    if (size > 0) std::memcpy(out, bytes->data(), static_cast<std::size_t>(size));
    return arrow::Status::OK();
  }

  std::shared_ptr<RemoteFile> file_;
  std::stop_token stop_;
};

std::shared_ptr<PipeCache> make_pipe_cache() { return std::make_shared<PipeCache>(); }

std::shared_ptr<arrow::Buffer> PipeCache::read(int descriptor, const std::string& name, const std::stop_token& stop) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) refuse(name, errno);
  const std::scoped_lock lock(mutex_);
  auto& content = contents_[{status.st_dev, status.st_ino}];
  if (content == nullptr) content = PipeContent(descriptor, name, stop).read();
  return content;
}

std::shared_ptr<DataFile> PipeCache::unpacked(const std::string& name,
                                              const std::function<std::shared_ptr<DataFile>()>& unpack) {
  const std::scoped_lock lock(mutex_);
  auto& text = texts_[name];
  if (text == nullptr) text = unpack();
  return text;
}

std::string PipeCache::version_of(const DataFile& file) { return file.version(); }

DataFile::DataFile(const std::filesystem::path& path, PipeCache& pipes, std::stop_token stop)
    : path_(path), name_(path.string()), stop_(std::move(stop)) {
  if (datasets::is_remote(name_)) {
    remote_ = std::make_shared<RemoteFile>(name_, stop_);
    return;
  }
  struct stat status {};
  // Before opening, as opening some devices has effects.
  if (::stat(path_.c_str(), &status) != 0) refuse(name_, errno);
  refuse_other_kinds(status.st_mode, status.st_rdev);
  reopen();
  // Files without a size (pipes, /proc) must be read to know it.
  if (!S_ISREG(status.st_mode) || version_->size == 0) {
    piped_ = pipes.read(descriptor_->get(), name_, stop_);
    close();
  }
}

DataFile::DataFile(std::string name, std::unique_ptr<exec::TemporaryFile> content, std::stop_token stop)
    : name_(std::move(name)), stop_(std::move(stop)), temporary_(std::move(content)) {
  reopen();
}

DataFile::~DataFile() = default;
DataFile::DataFile(DataFile&&) noexcept = default;
DataFile& DataFile::operator=(DataFile&&) noexcept = default;

void DataFile::refuse_other_kinds(unsigned mode, std::uint64_t device) const {
  constexpr unsigned kMemoryDevices = 1;
  constexpr unsigned kNullDevice = 3;
  constexpr unsigned kTty = 5;
  constexpr unsigned kVirtualTerminals = 4;
  const char* advice = "; name a file or a pipe";
  if (S_ISDIR(mode)) throw DataError(name_ + ": is a folder; name a file in it, or use a glob");
  if (S_ISSOCK(mode)) throw DataError(name_ + ": is a socket" + advice);
  if (S_ISBLK(mode)) throw DataError(name_ + ": is a block device" + advice);
  if (!S_ISCHR(mode)) return;
  const unsigned kind = major(device);
  const bool null = kind == kMemoryDevices && minor(device) == kNullDevice;
  const bool terminal = kind == kTty || kind == kVirtualTerminals || (kind >= 136 && kind <= 143);
  if (!null && !terminal) throw DataError(name_ + ": is a device, which has no end" + advice);
}

std::int64_t DataFile::stored_size() const {
  if (remote_ != nullptr) return remote_->size();
  return piped_ != nullptr ? piped_->size() : version_->size;
}

std::uint64_t DataFile::size() const { return static_cast<std::uint64_t>(stored_size()); }

void DataFile::reopen() {
  if (descriptor_ != nullptr || remote_ != nullptr) return;
  if (temporary_ != nullptr) {
    descriptor_ = std::make_shared<Descriptor>(temporary_);
  } else {
    // Without O_NONBLOCK, opening a FIFO waits for a writer and hears no stop.
    const int fd = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) refuse(name_, errno);
    descriptor_ = std::make_shared<Descriptor>(fd);
  }
  struct stat status {};
  if (::fstat(descriptor_->get(), &status) != 0) refuse(name_, errno);
  Version version(status);
  if (version_ == nullptr) version_ = std::make_unique<Version>(version);
  if (version != *version_) refuse_changed(name_);
}

void DataFile::close() { descriptor_.reset(); }

void refuse_changed(const std::string& name) {
  throw DataError(name + ": changed while it was read; run again when no other program writes to it");
}

std::string DataFile::version() const {
  if (version_ == nullptr) return name_;
  std::string version = name_;
  for (const auto part : {static_cast<std::int64_t>(version_->device), static_cast<std::int64_t>(version_->inode),
                          version_->size, version_->modified_s, version_->modified_ns}) {
    version += ' ' + std::to_string(part);
  }
  return version;
}

void DataFile::check_unchanged() const {
  if (remote_ != nullptr && !remote_->is_unchanged(stop_)) refuse_changed(name_);
  if (piped_ != nullptr || descriptor_ == nullptr) return;
  struct stat status {};
  if (::fstat(descriptor_->get(), &status) != 0) refuse(name_, errno);
  if (Version(status) != *version_) refuse_changed(name_);
}

std::shared_ptr<arrow::Buffer> DataFile::prefix(std::int64_t bytes) {
  if (piped_ != nullptr) return arrow::SliceBuffer(piped_, 0, std::min(bytes, piped_->size()));
  auto read = reader({})->ReadAt(0, bytes);
  check_unchanged();
  check(read.status(), name_, "cannot be read");
  return *std::move(read);
}

std::shared_ptr<arrow::Buffer> DataFile::content(int threads) {
  if (piped_ != nullptr) return piped_;
  const std::shared_ptr<arrow::io::RandomAccessFile> file = reader({});
  const std::int64_t size = stored_size();
  auto allocated = arrow::AllocateBuffer(size);
  check(allocated.status(), name_, "memory for its content");
  std::shared_ptr<arrow::Buffer> buffer = *std::move(allocated);
  // By value: where the pool fails to take a task, those that it took before outlive this call.
  const auto read_chunk = [buffer, size, file, stop = exec::current_stop()](int chunk) -> arrow::Status {
    const exec::StopScope heard(stop);
    const std::int64_t begin = chunk * kChunk;
    return file->ReadAt(begin, std::min(kChunk, size - begin), buffer->mutable_data() + begin).status();
  };
  const auto chunks = static_cast<int>((size + kChunk - 1) / kChunk);
  const arrow::Status read = arrow::internal::OptionalParallelFor(threads != 1, chunks, read_chunk);
  check_unchanged();
  check(read, name_, "content");
  return buffer;
}

std::shared_ptr<arrow::io::RandomAccessFile> DataFile::reader(BytesRead on_read) {
  if (piped_ != nullptr) return open_buffer(piped_, std::move(on_read));
  if (remote_ != nullptr) return std::make_shared<RemoteReader>(remote_, stop_, std::move(on_read));
  reopen();
  return std::make_shared<Reader>(descriptor_, version_->size, stop_, std::move(on_read));
}

}  // namespace skyrank::datasets
