#include "datasets/columnar/checks/chunk_places.hpp"

#include <parquet/metadata.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include <skyrank/error.hpp>

#include "datasets/columnar/footer/column_chunk.hpp"

namespace skyrank::datasets {
namespace {

struct ChunkBytes {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  int row_group = 0;
  int leaf = 0;
};

/// Returns the bytes of all chunks that have values; those that lie nowhere are found where they are read. Writers give
/// chunks without values any place.
std::vector<ChunkBytes> chunks_of(const parquet::FileMetaData& file, std::span<const int> leaves) {
  std::vector<ChunkBytes> chunks;
  for (int i = 0; i < file.num_row_groups(); ++i) {
    const auto group = file.RowGroup(i);
    for (const int leaf : leaves) {
      const auto chunk = group->ColumnChunk(leaf);
      if (chunk->num_values() == 0) continue;
      const std::int64_t begin = first_byte_of(*chunk);
      const std::int64_t size = chunk->total_compressed_size();
      if (begin < 0 || size <= 0 || size > std::numeric_limits<std::int64_t>::max() - begin) continue;
      chunks.push_back({begin, begin + size, i, leaf});
    }
  }
  return chunks;
}

}  // namespace

void refuse_common_bytes(const parquet::FileMetaData& file, std::span<const int> leaves, const std::string& name) {
  std::vector<ChunkBytes> chunks = chunks_of(file, leaves);
  std::ranges::sort(chunks, {}, &ChunkBytes::begin);
  const auto overlap = [](const ChunkBytes& a, const ChunkBytes& b) { return b.begin < a.end; };
  const auto found = std::ranges::adjacent_find(chunks, overlap);
  if (found == chunks.end()) return;
  const auto name_of_chunk = [&](const ChunkBytes& chunk) { return name_of({file, chunk.row_group, chunk.leaf}); };
  throw DataError(name + ": not a Parquet file that can be read, or damaged: " + name_of_chunk(found[0]) + " and " +
                  name_of_chunk(found[1]) + " have bytes of the file in common");
}

}  // namespace skyrank::datasets
