#include <algorithm>
#include <string_view>

#include "engine/column_traits.hpp"
#include "engine/query/bound.hpp"

namespace skyrank::query {

std::optional<int> Schema::find(std::string_view name) const {
  const auto found = std::find_if(fields.begin(), fields.end(), [&](const Field& field) { return field.name == name; });
  if (found == fields.end()) return std::nullopt;
  return static_cast<int>(found - fields.begin());
}

Schema schema_of(const Table& table) {
  Schema schema;
  for (const Column& column : table.columns())
    schema.fields.push_back({column.name(), column.type(), exec::order_of(column.data())});
  return schema;
}

}  // namespace skyrank::query
