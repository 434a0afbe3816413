#include "datasets/generate/generate_file.hpp"

#include <algorithm>
#include <optional>
#include <skyrank/error.hpp>
#include <string>

#include "datasets/generate/generate.hpp"
#include "datasets/write/writer.hpp"

namespace skyrank::datasets {
namespace {

constexpr std::int64_t kMinRows = 1024;

/// Bytes that a block takes for each byte of its values: another block is there at the same time, and the writer holds
/// what becomes of a column.
constexpr std::int64_t kShare = 4;

std::int64_t bytes_per_row(const Table& schema) {
  std::int64_t bytes = 0;
  for (const Column& column : schema.columns()) bytes += column.data().stride;
  return bytes;
}

/// Rows of a block that fit the memory.
std::int64_t rows_per_block(std::int64_t row_bytes, std::size_t memory_bytes) {
  std::int64_t rows = kRowsPerGroup;
  const auto needed = [&] { return static_cast<std::size_t>(kShare * rows * row_bytes); };
  if (memory_bytes == 0) return rows;
  while (rows > kMinRows && needed() > memory_bytes) rows /= 2;
  if (needed() <= memory_bytes) return rows;
  throw ResourceError("generating takes about " + std::to_string(needed()) + " bytes of memory, and the limit is " +
                      std::to_string(memory_bytes));
}

}  // namespace

void generate_file(const GeneratorSpec& spec, const std::filesystem::path& file, Format format,
                   const GenerateFileOptions& options) {
  const Table schema = generate_rows(spec, {0, 0}, 1);
  const std::int64_t step = rows_per_block(bytes_per_row(schema), options.memory_bytes);
  std::int64_t begin = 0;
  const auto next = [&]() -> std::optional<Table> {
    if (begin > 0 && begin >= spec.rows) return std::nullopt;
    if (options.progress) options.progress(static_cast<std::uint64_t>(begin), static_cast<std::uint64_t>(spec.rows));
    const RowRange rows{begin, std::min(begin + step, spec.rows)};
    begin += step;
    return generate_rows(spec, rows, options.threads, {}, options.stop);
  };
  write_blocks(next, file, format, {.threads = options.threads, .stop = options.stop});
}

}  // namespace skyrank::datasets
