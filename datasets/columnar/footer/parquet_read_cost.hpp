#pragma once

#include <skyrank/source.hpp>

namespace parquet {
class ColumnChunkMetaData;
}

namespace skyrank::datasets {

/// Prices reading a column by the codecs, encodings and sizes of its chunks.
class ParquetReadCost {
 public:
  explicit ParquetReadCost(bool is_text) : is_text_(is_text) {}

  /// Adds a chunk. `has_indices` says if all of its values are indices into a dictionary.
  void add(const parquet::ColumnChunkMetaData& chunk, bool has_indices);
  /// Returns the mean over all chunks.
  ReadCost cost() const;

 private:
  bool is_text_;
  double chunks_ = 0;
  double values_ = 0;
  double seconds_of_values_ = 0;
  double seconds_of_chunks_ = 0;
};

}  // namespace skyrank::datasets
