#include "datasets/columnar/footer/parquet_read_cost.hpp"

#include <parquet/metadata.h>

#include <algorithm>

namespace skyrank::datasets {
namespace {

// Seconds of one thread, from 476 columns of random files by pyarrow, DuckDB and Polars, on an AMD EPYC; half again as
// much, as other servers read more slowly. Nine in ten predictions were within twice the measured times.
constexpr double kChunk = 14e-6;
constexpr double kDictionary = 6e-6;  ///< dictionary of a chunk
constexpr double kByte = 0.3e-9;      ///< byte of values as they are stored, or made of indices
constexpr double kIndex = 0.8e-9;
constexpr double kText = 40e-9;        ///< text that is made
constexpr double kIndexOfText = 2e-9;  ///< text that stays an index

/// Seconds that a codec takes.
struct CodecCost {
  double chunk = 0;  ///< seconds for a state of the decoder
  double byte = 0;   ///< seconds for a byte that comes out of it
  double saved = 0;  ///< more seconds, for each of them beyond those in storage
};

CodecCost cost_of(parquet::Compression::type codec) {
  switch (codec) {
    case parquet::Compression::UNCOMPRESSED: return {};
    case parquet::Compression::SNAPPY:
    case parquet::Compression::LZ4:
    case parquet::Compression::LZ4_FRAME:
    case parquet::Compression::LZ4_HADOOP: return {.saved = 1e-9};
    case parquet::Compression::ZSTD: return {.chunk = 18e-6, .byte = 1e-9, .saved = 0.7e-9};
    default: return {.chunk = 18e-6, .byte = 4e-9};
  }
}

double width_of(parquet::Type::type type) {
  switch (type) {
    case parquet::Type::BOOLEAN: return 1;
    case parquet::Type::INT32:
    case parquet::Type::FLOAT: return 4;
    case parquet::Type::INT96: return 12;
    case parquet::Type::FIXED_LEN_BYTE_ARRAY: return 16;
    default: return 8;
  }
}

}  // namespace

void ParquetReadCost::add(const parquet::ColumnChunkMetaData& chunk, bool has_indices) {
  const auto values = static_cast<double>(std::max<std::int64_t>(chunk.num_values(), 0));
  const auto decompressed = static_cast<double>(std::max<std::int64_t>(chunk.total_uncompressed_size(), 0));
  const auto stored = static_cast<double>(std::max<std::int64_t>(chunk.total_compressed_size(), 0));
  const CodecCost codec = cost_of(chunk.compression());
  const double value = !is_text_     ? kByte * width_of(chunk.type()) + (has_indices ? kIndex : 0)
                       : has_indices ? kIndexOfText
                                     : kText;
  chunks_ += 1;
  values_ += values;
  seconds_of_values_ += values * value + codec.byte * decompressed + codec.saved * std::max(decompressed - stored, 0.0);
  seconds_of_chunks_ += kChunk + codec.chunk + (chunk.has_dictionary_page() ? kDictionary : 0);
}

ReadCost ParquetReadCost::cost() const {
  return {.value = seconds_of_values_ / std::max(values_, 1.0), .unit = seconds_of_chunks_ / std::max(chunks_, 1.0)};
}

}  // namespace skyrank::datasets
