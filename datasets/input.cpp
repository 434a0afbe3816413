#include "datasets/input.hpp"

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>
#include <arrow/result.h>
#include <arrow/status.h>
#include <arrow/util/future.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <skyrank/error.hpp>
#include <utility>

namespace skyrank::datasets {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

class MappedBuffer final : public arrow::Buffer {
 public:
  MappedBuffer(void* address, std::int64_t size)
      : arrow::Buffer(static_cast<const std::uint8_t*>(address), size), address_(address) {}
  ~MappedBuffer() override { ::munmap(address_, static_cast<std::size_t>(size())); }

 private:
  void* address_;
};

[[noreturn]] void refuse(const std::filesystem::path& file, int error) {
  const std::string message = file.string() + ": cannot be read: " + std::strerror(error);
  if (error == ENOENT || error == ENOTDIR || error == ENAMETOOLONG) throw DataError(message);
  throw ResourceError(message);
}

std::shared_ptr<arrow::Buffer> read_to_end(int fd, const std::filesystem::path& file) {
  std::string bytes;
  std::string chunk(std::size_t{1} << 20, '\0');
  for (;;) {
    const ssize_t n = ::read(fd, chunk.data(), chunk.size());
    if (n == 0) return arrow::Buffer::FromString(std::move(bytes));
    if (n > 0) bytes.append(chunk, 0, static_cast<std::size_t>(n));
    if (n < 0 && errno != EINTR) refuse(file, errno);
  }
}

class BufferFile final : public arrow::io::RandomAccessFile {
 public:
  BufferFile(std::shared_ptr<arrow::Buffer> buffer, BytesRead on_read)
      : buffer_(std::move(buffer)), on_read_(std::move(on_read)) {}

  arrow::Status Close() override {
    closed_ = true;
    return arrow::Status::OK();
  }
  bool closed() const override { return closed_; }
  arrow::Result<std::int64_t> Tell() const override { return position_; }
  arrow::Result<std::int64_t> GetSize() override { return buffer_->size(); }
  bool supports_zero_copy() const override { return true; }

  arrow::Status Seek(std::int64_t position) override {
    if (position < 0 || position > buffer_->size()) return arrow::Status::Invalid("a place outside the file");
    position_ = position;
    return arrow::Status::OK();
  }
  arrow::Result<std::shared_ptr<arrow::Buffer>> Read(std::int64_t bytes) override {
    ARROW_ASSIGN_OR_RAISE(auto slice, ReadAt(position_, bytes));
    position_ += slice->size();
    return slice;
  }
  arrow::Result<std::int64_t> Read(std::int64_t bytes, void* out) override {
    ARROW_ASSIGN_OR_RAISE(const std::int64_t n, ReadAt(position_, bytes, out));
    position_ += n;
    return n;
  }
  arrow::Result<std::shared_ptr<arrow::Buffer>> ReadAt(std::int64_t position, std::int64_t bytes) override {
    if (position < 0 || bytes < 0 || position > buffer_->size()) {
      return arrow::Status::Invalid("a place outside the file");
    }
    const std::int64_t n = std::min(bytes, buffer_->size() - position);
    report(n);
    return arrow::SliceBuffer(buffer_, position, n);
  }
  // At once: a slice needs no other thread, and one that cannot be started is waited for without end.
  arrow::Future<std::shared_ptr<arrow::Buffer>> ReadAsync(const arrow::io::IOContext&, std::int64_t position,
                                                          std::int64_t bytes, bool) override {
    return arrow::Future<std::shared_ptr<arrow::Buffer>>::MakeFinished(ReadAt(position, bytes));
  }
  arrow::Future<std::shared_ptr<arrow::Buffer>> ReadAsync(const arrow::io::IOContext& context, std::int64_t position,
                                                          std::int64_t bytes) override {
    return ReadAsync(context, position, bytes, true);
  }
  arrow::Result<std::int64_t> ReadAt(std::int64_t position, std::int64_t bytes, void* out) override {
    ARROW_ASSIGN_OR_RAISE(const auto slice, ReadAt(position, bytes));
    if (slice->size() > 0) std::memcpy(out, slice->data(), static_cast<std::size_t>(slice->size()));
    return slice->size();
  }

 private:
  void report(std::int64_t bytes) {
    if (!on_read_) return;
    const std::scoped_lock lock(mutex_);
    on_read_(static_cast<std::uint64_t>(bytes));
  }

  std::shared_ptr<arrow::Buffer> buffer_;
  BytesRead on_read_;
  std::mutex mutex_;
  std::int64_t position_ = 0;
  bool closed_ = false;
};

}  // namespace

std::shared_ptr<arrow::Buffer> map_file(const std::filesystem::path& file) {
  const Descriptor descriptor(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (descriptor.get() < 0) refuse(file, errno);
  struct stat status {};
  if (::fstat(descriptor.get(), &status) != 0) refuse(file, errno);
  if (S_ISDIR(status.st_mode)) throw DataError(file.string() + ": is a folder; name a file in it, or use a glob");
  // Files without a size (pipes, /proc) must be read to know it.
  if (!S_ISREG(status.st_mode) || status.st_size == 0) return read_to_end(descriptor.get(), file);
  void* address =
      ::mmap(nullptr, static_cast<std::size_t>(status.st_size), PROT_READ, MAP_PRIVATE, descriptor.get(), 0);
  if (address == MAP_FAILED) refuse(file, errno);
  return std::make_shared<MappedBuffer>(address, status.st_size);
}

std::shared_ptr<arrow::io::RandomAccessFile> open_buffer(std::shared_ptr<arrow::Buffer> buffer, BytesRead on_read) {
  return std::make_shared<BufferFile>(std::move(buffer), std::move(on_read));
}

void check(const arrow::Status& status, const std::string& name, const std::string& what) {
  if (status.ok()) return;
  const std::string message = name + ": " + what + ": " + status.message();
  if (status.IsOutOfMemory()) throw ResourceError(name + ": out of memory: " + status.message());
  throw DataError(message);
}

}  // namespace skyrank::datasets
