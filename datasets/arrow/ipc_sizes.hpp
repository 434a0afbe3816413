#pragma once

#include <arrow/io/type_fwd.h>
#include <arrow/result.h>
#include <arrow/type_fwd.h>

#include <cstddef>
#include <cstdint>
#include <vector>

// Sizes that the messages of Arrow IPC announce. Buffers may be compressed, each behind the number of bytes that it
// takes in memory: these are known before anything is decompressed.
// https://arrow.apache.org/docs/format/Columnar.html#compression
namespace skyrank::datasets {

/// A record batch.
struct IpcBatchSizes {
  std::int64_t rows = 0;
  std::size_t stored = 0;           ///< bytes of its values in the file
  std::vector<std::size_t> fields;  ///< bytes in memory, by top-level field
};

/// All messages of a file or stream.
struct IpcSizes {
  std::vector<IpcBatchSizes> batches;
  std::size_t dictionaries = 0;  ///< bytes of all dictionaries in memory
  bool is_compressed = false;    ///< some buffers are

  /// Returns the bytes in memory of fields of a batch.
  std::size_t of(std::size_t batch, const std::vector<int>& fields) const;
};

/// Reads the sizes of the batches that the footer of an IPC file names. DataError for sizes that cannot be.
arrow::Result<IpcSizes> ipc_file_sizes(arrow::io::RandomAccessFile& file, const arrow::Schema& schema);

/// The same for a stream, up to its end.
arrow::Result<IpcSizes> ipc_stream_sizes(arrow::io::RandomAccessFile& file, const arrow::Schema& schema);

}  // namespace skyrank::datasets
