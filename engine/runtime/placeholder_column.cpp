#include "engine/placeholder_column.hpp"

#include <memory>
#include <utility>

namespace skyrank::exec {

Column placeholder_column(std::string name, DataType type, std::int64_t rows) {
  // All rows are the one value that these bytes hold, as the column's stride is zero.
  alignas(Int128) static constexpr Int128 kZero = 0;
  if (type.type != Type::string) return Column::view_strided(std::move(name), type, &kZero, rows, 0);
  static constexpr std::int32_t kOffsets[2] = {0, 0};
  static constexpr char kNoCharacters[1] = {};
  ColumnData empty_string;
  empty_string.type = type;
  empty_string.layout = Layout::utf8;
  empty_string.length = 1;
  empty_string.values = kNoCharacters;
  empty_string.offsets32 = kOffsets;
  ColumnData data;
  data.type = type;
  data.layout = Layout::dictionary;
  data.length = rows;
  data.values = &kZero;
  data.dictionary = std::make_shared<const ColumnData>(std::move(empty_string));
  return Column(std::move(name), std::move(data));
}

}  // namespace skyrank::exec
