#include "datasets/input/range_stream.hpp"

#include <arrow/buffer.h>
#include <arrow/status.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace skyrank::datasets {

RangeStream::RangeStream(std::shared_ptr<arrow::io::RandomAccessFile> file, std::int64_t begin, std::int64_t end,
                         std::int64_t ahead, arrow::MemoryPool* pool)
    : file_(std::move(file)), position_(begin), end_(end), ahead_(ahead), pool_(pool) {}

arrow::Result<std::string_view> RangeStream::Peek(std::int64_t bytes) {
  // Arrow first asks for far more than nearly all headers take, and for more where that did not suffice.
  constexpr std::int64_t kFirstAsked = std::int64_t{16} * 1024;
  passing_over_ = false;
  looked_from_ = position_;
  return look(unread(bytes <= kFirstAsked ? ahead_ : bytes));
}

arrow::Result<std::shared_ptr<arrow::Buffer>> RangeStream::Read(std::int64_t bytes) {
  const std::int64_t size = unread(bytes);
  const std::int64_t begin = position_;
  if (std::exchange(passing_over_, false)) {
    position_ += size;
    return std::make_shared<arrow::Buffer>(nullptr, 0);
  }
  ARROW_ASSIGN_OR_RAISE(const std::string_view read, look(size));
  position_ += size;
  return arrow::SliceBuffer(window_, begin - window_begin_, std::min(size, static_cast<std::int64_t>(read.size())));
}

arrow::Result<std::int64_t> RangeStream::Read(std::int64_t bytes, void* out) {
  const bool is_wanted = !passing_over_;
  ARROW_ASSIGN_OR_RAISE(const auto read, Read(bytes));
  if (!is_wanted) return unread(bytes);
  if (read->size() > 0) std::memcpy(out, read->data(), static_cast<std::size_t>(read->size()));
  return read->size();
}

std::int64_t RangeStream::unread(std::int64_t bytes) const {
  return std::clamp<std::int64_t>(bytes, 0, end_ - position_);
}

/// Returns the next bytes, `bytes` of them or more, fewer only where the file has become shorter.
arrow::Result<std::string_view> RangeStream::look(std::int64_t bytes) {
  const auto known = [this] {
    if (window_ == nullptr || position_ < window_begin_ || position_ > window_begin_ + window_->size()) {
      return std::string_view();
    }
    return std::string_view(*window_).substr(static_cast<std::size_t>(position_ - window_begin_));
  };
  const std::string_view kept = known();
  const auto kept_bytes = static_cast<std::int64_t>(kept.size());
  if (kept_bytes >= bytes && window_ != nullptr) return kept;
  ARROW_ASSIGN_OR_RAISE(auto next, unused_memory());
  ARROW_RETURN_NOT_OK(next->Resize(bytes, /*shrink_to_fit=*/false));
  if (!kept.empty()) std::memcpy(next->mutable_data(), kept.data(), kept.size());
  ARROW_ASSIGN_OR_RAISE(const std::int64_t read,
                        file_->ReadAt(position_ + kept_bytes, bytes - kept_bytes, next->mutable_data() + kept_bytes));
  ARROW_RETURN_NOT_OK(next->Resize(kept_bytes + read, /*shrink_to_fit=*/false));
  window_ = std::move(next);
  window_begin_ = position_;
  return known();
}

/// Returns memory that neither the window nor a buffer that was returned is in.
arrow::Result<std::shared_ptr<arrow::ResizableBuffer>> RangeStream::unused_memory() {
  const auto unused = std::ranges::find_if(memory_, [](const auto& buffer) { return buffer.use_count() == 1; });
  if (unused != memory_.end()) return *unused;
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::ResizableBuffer> fresh, arrow::AllocateResizableBuffer(0, pool_));
  memory_.push_back(fresh);
  return fresh;
}

}  // namespace skyrank::datasets
