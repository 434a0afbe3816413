#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "engine/query/bound.hpp"

namespace skyrank::query {

/// Finds the fields of a schema by name in constant time, for queries that name many. The schema must outlive it.
class SchemaPlaces {
 public:
  explicit SchemaPlaces(const Schema& schema) : schema_(schema) {
    for (std::size_t i = 0; i < schema.fields.size(); ++i) places_.emplace(schema.fields[i].name, static_cast<int>(i));
  }

  const Schema& schema() const { return schema_; }

  std::optional<int> find(std::string_view name) const {
    const auto found = places_.find(name);
    return found == places_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  const Schema& schema_;
  std::unordered_map<std::string_view, int> places_;
};

/// Binds one of several expressions over a schema.
BoundExpression bind_expression(const Expression& expression, const SchemaPlaces& places);

}  // namespace skyrank::query
