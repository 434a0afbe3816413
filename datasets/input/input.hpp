#pragma once

#include <arrow/io/interfaces.h>
#include <arrow/type_fwd.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>

#include <skyrank/error.hpp>

// Progress, buffers as files and streams, limits of memory and errors, which all readers share.
namespace skyrank::datasets {

struct ReadOptions;  // datasets/reader.hpp

/// Called with the number of bytes just read, never from two threads at once.
using BytesRead = std::function<void(std::uint64_t)>;

/// Counts the work of reading in bytes. The total grows where bytes turn out to be needed again, such as text that is
/// parsed a second time for another type.
class ReadMeter {
 public:
  using Report = std::function<void(std::uint64_t done, std::uint64_t total)>;

  /// Starts a meter that tells `report`, if there is one, of each change.
  explicit ReadMeter(Report report) : report_(std::move(report)) {}

  std::uint64_t done() const { return done_; }
  std::uint64_t total() const { return total_; }
  /// Announces work.
  void expect(std::uint64_t bytes) { total_ += bytes; }
  /// Counts work as done; never more than is expected.
  void add(std::uint64_t bytes) { set_done(done_ + bytes); }
  void set_done(std::uint64_t bytes) {
    done_ = std::min(bytes, total_);
    if (report_) report_(done_, total_);
  }

 private:
  Report report_;
  std::uint64_t done_ = 0;
  std::uint64_t total_ = 0;
};

/// One pass over bytes that a meter expects. At its end all of them count as done, however many it reported before.
class MeteredPass {
 public:
  MeteredPass(ReadMeter& meter, std::uint64_t bytes) : meter_(meter), begin_(meter.done()), bytes_(bytes) {}

  /// Starts over.
  void restart() { meter_.set_done(begin_); }
  /// Counts the bytes before `position` as done, once there are enough more of them.
  void reach(std::uint64_t position) {
    constexpr std::uint64_t kStep = std::uint64_t{1} << 20;
    if (begin_ + position >= meter_.done() + kStep) meter_.set_done(begin_ + position);
  }
  void finish() { meter_.set_done(begin_ + bytes_); }

 private:
  ReadMeter& meter_;
  std::uint64_t begin_;
  std::uint64_t bytes_;
};

/// A buffer as an Arrow file that hands out slices without copying and reports what was read.
std::shared_ptr<arrow::io::RandomAccessFile> open_buffer(std::shared_ptr<arrow::Buffer> buffer, BytesRead on_read);

/// A buffer as a stream of blocks. A block counts as read when its consumer lets go of it, and a consumer that falls
/// behind is waited for, so that `on_read` follows the work and not the reading ahead.
/// A consumer's threads may hold blocks for longer than its result takes: close the stream before `on_read` dies.
/// Ends as cancelled soon after a stop is requested.
std::shared_ptr<arrow::io::InputStream> open_blocks(std::shared_ptr<arrow::Buffer> buffer, BytesRead on_read,
                                                    std::stop_token stop = {});

/// Closes a stream also where its reader ends in an exception: tasks that the reader leaves behind hold blocks of it,
/// and must not tell a listener that is gone.
class ClosedAtEnd {
 public:
  explicit ClosedAtEnd(std::shared_ptr<arrow::io::InputStream> stream) : stream_(std::move(stream)) {}
  ~ClosedAtEnd() { static_cast<void>(stream_->Close()); }
  ClosedAtEnd(const ClosedAtEnd&) = delete;
  ClosedAtEnd& operator=(const ClosedAtEnd&) = delete;
  const std::shared_ptr<arrow::io::InputStream>& stream() const { return stream_; }

 private:
  std::shared_ptr<arrow::io::InputStream> stream_;
};

/// Returns the bytes of text that are read as a whole within so much memory: beside the text there are its columns,
/// which may be several times as large, and what they are made of.
std::int64_t max_whole_text(std::size_t memory_bytes);

/// Throws TextTooLarge for a text of more bytes.
[[noreturn]] void refuse_large_text(const std::string& name, std::int64_t max_bytes);

/// Throws the ResourceError for a record, which begins at `place`, of more than `max_bytes` bytes.
[[noreturn]] void refuse_long_record(const Location& place, std::int64_t max_bytes);

/// Returns how many columns of a text fit so much memory, whatever their rows: each has a name, types, bounds and
/// buffers.
std::size_t max_columns(std::size_t memory_bytes);

/// Throws ResourceError where so many columns of a text do not fit the memory that reading may take, whatever their
/// rows.
void refuse_many_columns(std::size_t columns, const std::string& name, const ReadOptions& options);

/// Throws ResourceError where the names of so many columns, of which each step of a query has its list, do not fit the
/// memory that reading may take.
void refuse_many_names(std::size_t columns, const std::string& name, const ReadOptions& options);

/// Returns the memory that reading text, or decompressed columns as a whole, may take.
std::size_t memory_for_text(const ReadOptions& options);

/// The memory pool in which the content of a file of `file_bytes` is decoded. Sizes in a damaged file can be
/// arbitrarily large: an allocation that no file of that size needs is refused as invalid, without asking the system.
/// Pools live as long as the process, as buffers may.
arrow::MemoryPool* decoding_pool(std::uint64_t file_bytes);

/// Returns true where memory ran out, also where a library below Arrow turned the exception into text.
bool is_out_of_memory(const arrow::Status& status);

/// DataError "name: what: Arrow's message" unless the status is ok; ResourceError when memory ran out or the system
/// refused to read, CancelledError when a stop was requested.
void check(const arrow::Status& status, const std::string& name, const std::string& what);

}  // namespace skyrank::datasets
