#include <algorithm>
#include <string_view>

#include "engine/query/bound.hpp"

namespace skyrank::query {

std::optional<int> Schema::find(std::string_view name) const {
  const auto found = std::find_if(fields.begin(), fields.end(), [&](const Field& field) { return field.name == name; });
  if (found == fields.end()) return std::nullopt;
  return static_cast<int>(found - fields.begin());
}

Schema schema_of(const Table& table) {
  Schema schema;
  for (const Column& column : table.columns()) schema.fields.push_back({column.name(), column.type()});
  return schema;
}

}  // namespace skyrank::query
