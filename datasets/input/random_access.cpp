#include "datasets/input/random_access.hpp"

#include <arrow/buffer.h>
#include <arrow/status.h>
#include <arrow/util/future.h>

#include <algorithm>
#include <utility>

namespace skyrank::datasets {

RandomAccess::RandomAccess(std::int64_t size, BytesRead on_read) : size_(size), on_read_(std::move(on_read)) {}

arrow::Status RandomAccess::Close() {
  const std::scoped_lock lock(mutex_);
  closed_ = true;
  on_read_ = {};
  return arrow::Status::OK();
}

bool RandomAccess::closed() const {
  const std::scoped_lock lock(mutex_);
  return closed_;
}

arrow::Status RandomAccess::Seek(std::int64_t position) {
  ARROW_RETURN_NOT_OK(available(position, 0));
  position_ = position;
  return arrow::Status::OK();
}

arrow::Result<std::shared_ptr<arrow::Buffer>> RandomAccess::Read(std::int64_t bytes) {
  ARROW_ASSIGN_OR_RAISE(auto buffer, ReadAt(position_, bytes));
  position_ += buffer->size();
  return buffer;
}

arrow::Result<std::int64_t> RandomAccess::Read(std::int64_t bytes, void* out) {
  ARROW_ASSIGN_OR_RAISE(const std::int64_t n, ReadAt(position_, bytes, out));
  position_ += n;
  return n;
}

arrow::Result<std::shared_ptr<arrow::Buffer>> RandomAccess::ReadAt(std::int64_t position, std::int64_t bytes) {
  ARROW_ASSIGN_OR_RAISE(const std::int64_t n, available(position, bytes));
  ARROW_ASSIGN_OR_RAISE(auto buffer, range(position, n));
  report(n);
  return buffer;
}

arrow::Result<std::int64_t> RandomAccess::ReadAt(std::int64_t position, std::int64_t bytes, void* out) {
  ARROW_ASSIGN_OR_RAISE(const std::int64_t n, available(position, bytes));
  ARROW_RETURN_NOT_OK(copy_range(position, n, out));
  report(n);
  return n;
}

#if ARROW_VERSION_MAJOR >= 25
arrow::Future<std::shared_ptr<arrow::Buffer>> RandomAccess::ReadAsync(const arrow::io::IOContext& context,
                                                                      std::int64_t position, std::int64_t bytes, bool) {
  return ReadAsync(context, position, bytes);
}
#endif

arrow::Future<std::shared_ptr<arrow::Buffer>> RandomAccess::ReadAsync(const arrow::io::IOContext&,
                                                                      std::int64_t position, std::int64_t bytes) {
  return arrow::Future<std::shared_ptr<arrow::Buffer>>::MakeFinished(ReadAt(position, bytes));
}

/// Sizes come from the file's content: no more is read, or allocated, than the file has.
arrow::Result<std::int64_t> RandomAccess::available(std::int64_t position, std::int64_t bytes) const {
  if (position < 0 || bytes < 0 || position > size_) return arrow::Status::Invalid("a place outside the file");
  return std::min(bytes, size_ - position);
}

void RandomAccess::report(std::int64_t bytes) {
  const std::scoped_lock lock(mutex_);
  if (on_read_) on_read_(static_cast<std::uint64_t>(bytes));
}

}  // namespace skyrank::datasets
