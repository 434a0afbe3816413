#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <skyrank/table.hpp>

#include "datasets/write/writer.hpp"
#include "engine/files/output_file.hpp"

// Writes tables that come block by block, in each format.
namespace skyrank::datasets {

/// Writes a table to a file block by block. All blocks have the columns of the first one.
class BlockWriter {
 public:
  virtual ~BlockWriter() = default;

  /// Writes the rows of a block: a record batch of an Arrow file, one or more row groups of a Parquet file.
  virtual void append(const Table& block) = 0;

  /// Writes what follows the last block. There has been one, perhaps without rows.
  virtual void finish() {}

  /// Gives up where memory ran out elsewhere: the destructor then writes nothing more.
  virtual void abandon() noexcept {}
};

/// Takes the next bytes of a text.
using TextSink = std::function<void(std::string_view)>;

/// Returns a writer of CSV or JSON lines.
std::unique_ptr<BlockWriter> text_blocks(Format format, const WriteOptions& options, TextSink sink);

/// Returns a writer of Parquet files; `name` stands for the file in errors. The output must outlive it.
std::unique_ptr<BlockWriter> parquet_blocks(exec::OutputFile& output, const std::string& name);

/// The same for Arrow files.
std::unique_ptr<BlockWriter> ipc_blocks(exec::OutputFile& output, const std::string& name);

}  // namespace skyrank::datasets
