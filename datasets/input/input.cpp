#include "datasets/input/input.hpp"

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>
#include <arrow/memory_pool.h>
#include <arrow/result.h>
#include <arrow/status.h>
#include <arrow/util/io_util.h>
#include <arrow/util/thread_pool.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <limits>
#include <mutex>
#include <skyrank/error.hpp>
#include <utility>

#include "datasets/input/random_access.hpp"
#include "datasets/input/read_options.hpp"
#include "engine/machine_memory.hpp"
#include "engine/stop.hpp"

namespace skyrank::datasets {
namespace {

class BufferFile final : public RandomAccess {
 public:
  BufferFile(std::shared_ptr<arrow::Buffer> buffer, BytesRead on_read)
      : RandomAccess(buffer->size(), std::move(on_read)), buffer_(std::move(buffer)) {}

  bool supports_zero_copy() const override { return true; }

 private:
  arrow::Result<std::shared_ptr<arrow::Buffer>> range(std::int64_t position, std::int64_t size) override {
    return arrow::SliceBuffer(buffer_, position, size);
  }
  arrow::Status copy_range(std::int64_t position, std::int64_t size, void* out) override {
    if (size > 0) std::memcpy(out, buffer_->data() + position, static_cast<std::size_t>(size));
    return arrow::Status::OK();
  }

  std::shared_ptr<arrow::Buffer> buffer_;
};

/// Counts the blocks that a consumer holds.
class BlocksInUse {
 public:
  explicit BlocksInUse(BytesRead on_read)
      : limit_(std::max(kMinBlocks, kBlocksPerThread * arrow::GetCpuThreadPoolCapacity())),
        on_read_(std::move(on_read)) {}

  void add() {
    std::unique_lock lock(mutex_);
    // Waits with a time limit, as a consumer may need more blocks before it can release one: a record may span many.
    released_.wait_for(lock, kPatience, [&] { return blocks_ < limit_; });
    ++blocks_;
  }

  void release(std::int64_t bytes) {
    const std::scoped_lock lock(mutex_);
    --blocks_;
    if (on_read_) on_read_(static_cast<std::uint64_t>(bytes));
    released_.notify_one();
  }

  void stop_reporting() {
    const std::scoped_lock lock(mutex_);
    on_read_ = {};
  }

 private:
  static constexpr int kMinBlocks = 16;
  static constexpr int kBlocksPerThread = 4;
  static constexpr std::chrono::milliseconds kPatience{200};

  std::mutex mutex_;
  std::condition_variable released_;
  int blocks_ = 0;
  int limit_;
  BytesRead on_read_;
};

/// A slice of a buffer that tells when nobody needs it any more.
class Block final : public arrow::Buffer {
 public:
  Block(std::shared_ptr<arrow::Buffer> whole, std::int64_t position, std::int64_t size,
        std::shared_ptr<BlocksInUse> in_use)
      : arrow::Buffer(std::move(whole), position, size), in_use_(std::move(in_use)) {
    in_use_->add();
  }
  ~Block() override { in_use_->release(size()); }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

 private:
  std::shared_ptr<BlocksInUse> in_use_;
};

class BlockStream final : public arrow::io::InputStream {
 public:
  BlockStream(std::shared_ptr<arrow::Buffer> buffer, BytesRead on_read, std::stop_token stop)
      : buffer_(std::move(buffer)),
        in_use_(std::make_shared<BlocksInUse>(std::move(on_read))),
        stop_(std::move(stop)) {}

  arrow::Status Close() override {
    closed_ = true;
    in_use_->stop_reporting();
    return arrow::Status::OK();
  }
  bool closed() const override { return closed_; }
  arrow::Result<std::int64_t> Tell() const override { return position_; }

  arrow::Result<std::shared_ptr<arrow::Buffer>> Read(std::int64_t bytes) override {
    if (stop_.stop_requested() || query_stop_.stop_requested()) return arrow::Status::Cancelled("reading");
    const std::int64_t n = std::min(bytes, buffer_->size() - position_);
    auto block = std::make_shared<Block>(buffer_, position_, n, in_use_);
    position_ += n;
    return block;
  }
  arrow::Result<std::int64_t> Read(std::int64_t bytes, void* out) override {
    ARROW_ASSIGN_OR_RAISE(const auto block, Read(bytes));
    if (block->size() > 0) std::memcpy(out, block->data(), static_cast<std::size_t>(block->size()));
    return block->size();
  }

 private:
  std::shared_ptr<arrow::Buffer> buffer_;
  std::shared_ptr<BlocksInUse> in_use_;
  std::stop_token stop_;
  const std::stop_token query_stop_ = exec::current_stop();  // others than the query's thread read
  std::int64_t position_ = 0;
  bool closed_ = false;
};

/// The default pool for what a file of some size can hold.
class DecodingPool final : public arrow::MemoryPool {
 public:
  explicit DecodingPool(int size_bits) : size_bits_(size_bits), pool_(arrow::default_memory_pool()) {}

  using arrow::MemoryPool::Allocate;
  using arrow::MemoryPool::Free;
  using arrow::MemoryPool::Reallocate;
  arrow::Status Allocate(std::int64_t size, std::int64_t alignment, std::uint8_t** out) override {
    if (exceeds(size, kMaxExpansionBits)) return refuse(size);
    const arrow::Status status = pool_->Allocate(size, alignment, out);
    return status.ok() || !exceeds(size, kUsualExpansionBits) ? status : refuse(size);
  }
  arrow::Status Reallocate(std::int64_t old_size, std::int64_t new_size, std::int64_t alignment,
                           std::uint8_t** memory) override {
    if (exceeds(new_size, kMaxExpansionBits)) return refuse(new_size);
    const arrow::Status status = pool_->Reallocate(old_size, new_size, alignment, memory);
    return status.ok() || !exceeds(new_size, kUsualExpansionBits) ? status : refuse(new_size);
  }
  void Free(std::uint8_t* buffer, std::int64_t size, std::int64_t alignment) override {
    pool_->Free(buffer, size, alignment);
  }
  std::int64_t bytes_allocated() const override { return pool_->bytes_allocated(); }
  std::int64_t max_memory() const override { return pool_->max_memory(); }
  std::int64_t total_bytes_allocated() const override { return pool_->total_bytes_allocated(); }
  std::int64_t num_allocations() const override { return pool_->num_allocations(); }
  std::string backend_name() const override { return pool_->backend_name(); }

 private:
  // A page of a million equal doubles takes some tens of bytes of Parquet: 2^20 bytes for each of the file is more than
  // any writer reaches, 2^12 more than nearly all do.
  static constexpr int kMaxExpansionBits = 20;
  static constexpr int kUsualExpansionBits = 12;
  static constexpr std::int64_t kAlwaysPlausible = std::int64_t{64} << 20;

  bool exceeds(std::int64_t size, int expansion_bits) const {
    if (size <= kAlwaysPlausible) return false;
    const int bits = size_bits_ + expansion_bits;
    return bits < std::numeric_limits<std::int64_t>::digits && size > (std::int64_t{1} << bits);
  }
  static arrow::Status refuse(std::int64_t size) {
    return arrow::Status::Invalid("the file is damaged: it asks for a block of ", size,
                                  " bytes, more than its content can need");
  }

  int size_bits_;
  arrow::MemoryPool* pool_;
};

}  // namespace

std::shared_ptr<arrow::io::RandomAccessFile> open_buffer(std::shared_ptr<arrow::Buffer> buffer, BytesRead on_read) {
  return std::make_shared<BufferFile>(std::move(buffer), std::move(on_read));
}

std::shared_ptr<arrow::io::InputStream> open_blocks(std::shared_ptr<arrow::Buffer> buffer, BytesRead on_read,
                                                    std::stop_token stop) {
  return std::make_shared<BlockStream>(std::move(buffer), std::move(on_read), std::move(stop));
}

std::int64_t max_whole_text(std::size_t memory_bytes) {
  constexpr std::size_t kTimes = 6;
  constexpr std::size_t kAlways = std::size_t{1} << 20;  // whoever reads has as much beside the limit
  return static_cast<std::int64_t>(std::max(memory_bytes / kTimes, kAlways));
}

void refuse_large_text(const std::string& name, std::int64_t max_bytes) {
  throw TextTooLarge(name + ": the text has more than " + std::to_string(max_bytes / 1'000'000) +
                     " MB, which is all that fits the limit of memory where a text must be read as a whole; raise the "
                     "limit or split the file");
}

void refuse_long_record(const Location& place, std::int64_t max_bytes) {
  throw ResourceError("a record is longer than " + std::to_string(max_bytes / 1000) +
                          " kB, more than the limit of memory leaves for one; raise the limit, or close the quote or "
                          "bracket that begins there",
                      place);
}

std::size_t max_columns(std::size_t memory_bytes) {
  constexpr std::size_t kBytesOfColumn = std::size_t{4} << 10;
  constexpr std::size_t kAlways = 256;
  return std::max(memory_bytes / kBytesOfColumn, kAlways);
}

void refuse_many_columns(std::size_t columns, const std::string& name, const ReadOptions& options) {
  if (columns <= max_columns(memory_for_text(options))) return;
  throw ResourceError(name + ": has " + std::to_string(columns) +
                      " columns to read, which do not fit the limit of memory whatever their rows; raise the limit or "
                      "select some of them");
}

void refuse_many_names(std::size_t columns, const std::string& name, const ReadOptions& options) {
  constexpr std::size_t kBytesOfName = 384;
  constexpr std::size_t kAlways = 4'096;
  if (columns <= std::max(memory_for_text(options) / kBytesOfName, kAlways)) return;
  throw ResourceError(name + ": has " + std::to_string(columns) +
                      " columns, whose names do not fit the limit of memory; raise the limit");
}

std::size_t memory_for_text(const ReadOptions& options) {
  return options.memory_bytes > 0 ? options.memory_bytes : exec::machine_memory() / 2;
}

std::int64_t text_block_bytes(std::size_t memory_bytes) {
  constexpr std::size_t kShareOfMemory = 64;
  constexpr std::size_t kMin = std::size_t{256} << 10;
  constexpr std::size_t kMax = std::size_t{16} << 20;
  const std::size_t memory = memory_bytes > 0 ? memory_bytes : exec::machine_memory() / 2;
  return static_cast<std::int64_t>(std::clamp(memory / kShareOfMemory, kMin, kMax));
}

arrow::MemoryPool* decoding_pool(std::uint64_t file_bytes) {
  static std::array<DecodingPool*, 65> pools{};
  static std::mutex mutex;
  const auto bits = static_cast<int>(std::bit_width(file_bytes));
  const std::scoped_lock lock(mutex);
  auto*& pool = pools[static_cast<std::size_t>(bits)];
  if (pool == nullptr) pool = new DecodingPool(bits);  // NOLINT(cppcoreguidelines-owning-memory): never destroyed
  return pool;
}

bool is_out_of_memory(const arrow::Status& status) {
  return status.IsOutOfMemory() || status.message().find("std::bad_alloc") != std::string::npos;
}

namespace {

/// Returns true where the system refused to read, also where Arrow's reader of messages kept only the text of it.
bool is_of_the_system(const arrow::Status& status) {
  return arrow::internal::ErrnoFromStatus(status) != 0 || status.message().find("Detail: [errno ") != std::string::npos;
}

}  // namespace

void check(const arrow::Status& status, const std::string& name, const std::string& what) {
  if (status.ok()) return;
  if (status.IsCancelled()) throw CancelledError("reading " + name + " was cancelled");
  const std::string message = name + ": " + what + ": " + status.message();
  if (is_out_of_memory(status)) throw ResourceError(name + ": out of memory: " + status.message());
  if (is_of_the_system(status)) throw ResourceError(message);
  throw DataError(message);
}

}  // namespace skyrank::datasets
