#pragma once

#include <arrow/type_fwd.h>

#include <string>
#include <string_view>

// Schemas that files bring, before anything recursive follows them.
namespace skyrank::datasets {

/// Levels of fields within fields that a schema may have. A column of numbers has one.
inline constexpr int kMaxSchemaLevels = 100;

/// Throws the DataError for a schema with more levels.
[[noreturn]] void refuse_levels(const std::string& file);

/// Returns a name in single quotes. Bytes of a name that is not UTF-8 become escapes such as \xff.
std::string quoted_name(std::string_view name);

/// Throws DataError where a schema has more than kMaxSchemaLevels, or a name in it is not UTF-8.
void check_schema(const arrow::Schema& schema, const std::string& file);

}  // namespace skyrank::datasets
