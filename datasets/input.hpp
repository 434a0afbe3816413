#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace arrow::io {
class InputStream;
class RandomAccessFile;
}  // namespace arrow::io

namespace skyrank::datasets {

/// Called with the number of bytes just read, never from two threads at once.
using BytesRead = std::function<void(std::uint64_t)>;

/// A buffer as an Arrow file that hands out slices without copying and reports what was read.
std::shared_ptr<arrow::io::RandomAccessFile> open_buffer(std::shared_ptr<arrow::Buffer> buffer, BytesRead on_read);

/// A buffer as a stream of blocks. A block counts as read when its consumer lets go of it, and a consumer that falls
/// behind is waited for, so that `on_read` follows the work and not the reading ahead.
/// A consumer's threads may hold blocks for longer than its result takes: close the stream before `on_read` dies.
std::shared_ptr<arrow::io::InputStream> open_blocks(std::shared_ptr<arrow::Buffer> buffer, BytesRead on_read);

/// The memory pool in which the content of a file of `file_bytes` is decoded. Sizes in a damaged file can be
/// arbitrarily large: an allocation that no file of that size needs is refused as invalid, without asking the system.
/// Pools live as long as the process, as buffers may.
arrow::MemoryPool* decoding_pool(std::uint64_t file_bytes);

/// DataError "name: what: Arrow's message" unless the status is ok; ResourceError when memory ran out or the system
/// refused to read, CancelledError when a stop was requested.
void check(const arrow::Status& status, const std::string& name, const std::string& what);

}  // namespace skyrank::datasets
