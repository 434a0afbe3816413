#include "datasets/columnar/footer/column_chunk.hpp"

#include <parquet/exception.h>
#include <parquet/metadata.h>
#include <parquet/schema.h>

#include <algorithm>

namespace skyrank::datasets {

std::int64_t first_byte_of(const parquet::ColumnChunkMetaData& chunk) {
  const std::int64_t data = chunk.data_page_offset();
  const bool has_dictionary = chunk.has_dictionary_page() && chunk.dictionary_page_offset() > 0;
  return has_dictionary ? std::min(data, chunk.dictionary_page_offset()) : data;
}

ByteRange range_of(const parquet::ColumnChunkMetaData& chunk, std::int64_t file_bytes) {
  // Old writers left the dictionary's header out of the size (PARQUET-816).
  constexpr std::int64_t kHeader = 100;
  const std::int64_t begin = first_byte_of(chunk);
  const std::int64_t size = chunk.total_compressed_size();
  if (begin < 0 || size < 0 || begin > file_bytes) throw parquet::ParquetException("a column chunk is not in the file");
  return {begin, std::min(file_bytes, begin + std::min(size, file_bytes - begin) + kHeader)};
}

std::string name_of(const ChunkPlace& place) {
  return "column '" + place.file.schema()->Column(place.leaf)->path()->ToDotString() + "' of row group " +
         std::to_string(place.row_group);
}

}  // namespace skyrank::datasets
