#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

namespace arrow::io {
class RandomAccessFile;
}

namespace skyrank::datasets {

/// The bytes of a file: mapped where it is a regular file, else (pipes) read to the end.
/// DataError when there is no such file or it is a folder, ResourceError with the system's reason otherwise.
std::shared_ptr<arrow::Buffer> map_file(const std::filesystem::path& file);

/// Called with the number of bytes just read, never from two threads at once.
using BytesRead = std::function<void(std::uint64_t)>;

/// A buffer as an Arrow file that hands out slices without copying and reports what was read.
std::shared_ptr<arrow::io::RandomAccessFile> open_buffer(std::shared_ptr<arrow::Buffer> buffer, BytesRead on_read);

/// DataError "name: what: Arrow's message" unless the status is ok; ResourceError when memory ran out.
void check(const arrow::Status& status, const std::string& name, const std::string& what);

}  // namespace skyrank::datasets
