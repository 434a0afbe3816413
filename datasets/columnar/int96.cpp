#include "datasets/columnar/int96.hpp"

#include <parquet/column_reader.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/properties.h>
#include <parquet/schema.h>
#include <parquet/types.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>

#include <skyrank/error.hpp>
#include <skyrank/types.hpp>

namespace skyrank::datasets {
namespace {

constexpr std::int64_t kJulianEpoch = 2'440'588;   // 1970-01-01 in Julian days, which INT96 counts
constexpr std::int64_t kDay = 86'400'000'000'000;  // nanoseconds

/// Returns true if the time fits 64 bits of nanoseconds from 1970. Arrow before version 25 wrote times before 1970 as
/// the midnight after them and the nanoseconds back from it, which are negative.
bool fits(const parquet::Int96& value) {
  const std::int64_t day = std::int64_t{value.value[2]} - kJulianEpoch;
  const auto time = static_cast<std::int64_t>(std::uint64_t{value.value[1]} << 32 | value.value[0]);
  const Int128 ticks = Int128{day} * kDay + time;
  return -kDay < time && time < kDay && ticks == static_cast<std::int64_t>(ticks);
}

bool all_fit(parquet::Int96Reader& column) {
  std::array<parquet::Int96, 1024> values{};
  std::array<std::int16_t, values.size()> levels{};
  while (column.HasNext()) {
    std::int64_t count = 0;
    static_cast<void>(column.ReadBatch(std::int64_t{values.size()}, levels.data(), nullptr, values.data(), &count));
    if (!std::ranges::all_of(std::span(values).first(static_cast<std::size_t>(count)), fits)) return false;
  }
  return true;
}

}  // namespace

void refuse_wide_int96(const ColumnarFile& file, parquet::ParquetFileReader& reader, const std::vector<int>& groups,
                       const std::vector<int>& leaves) {
  for (const int leaf : leaves) {
    const parquet::ColumnDescriptor& column = *reader.metadata()->schema()->Column(leaf);
    if (column.physical_type() != parquet::Type::INT96 || column.max_repetition_level() > 0) continue;
    for (const int group : groups) {
      const auto values = reader.RowGroup(group)->Column(leaf);
      if (all_fit(static_cast<parquet::Int96Reader&>(*values))) continue;
      throw DataError(
          file.name + ": column '" + column.name() +
          "' has timestamps of 96 bits outside the years 1678 to 2261, which nanoseconds cannot hold; write "
          "the column as timestamps of microseconds");
    }
  }
}

}  // namespace skyrank::datasets
