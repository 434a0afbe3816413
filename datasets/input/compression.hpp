#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>

#include "datasets/files.hpp"

namespace skyrank::datasets {

/// Returns how a file is compressed, by its first bytes.
Compression sniff_compression(const arrow::Buffer& start);

/// Decompresses a whole file, of one or several gzip members or zstd frames. DataError naming `name` where it is
/// damaged or cut short, ResourceError where the content needs more than half of this machine's memory, CancelledError
/// soon after a stop is requested.
std::shared_ptr<arrow::Buffer> decompress(const std::shared_ptr<arrow::Buffer>& bytes, Compression compression,
                                          const std::string& name, const std::stop_token& stop);

/// Decompresses the start of a file to at most `bytes` bytes. Damage ends the result rather than being an error.
std::shared_ptr<arrow::Buffer> decompress_prefix(const std::shared_ptr<arrow::Buffer>& start, Compression compression,
                                                 const std::string& name, std::int64_t bytes);

}  // namespace skyrank::datasets
